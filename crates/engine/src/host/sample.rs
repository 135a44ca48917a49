//! A sample of this machine and, if the server runs on it, of the server's process.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::gauge::Gauges;

/// A sample: the figures of this machine since the previous sample.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct HostSample {
    /// The time since the previous sample, in seconds, or `None` for the first sample. The first sample contains no
    /// rates or shares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample_s: Option<f64>,
    /// The gauges (sampled figures) of the machine and of the server's process. Rates are per second.
    #[serde(flatten)]
    pub gauges: Gauges,
    /// The used share of each core, by the number of the core.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cores: Vec<f64>,
    /// The processes that use most CPU time, the busiest first. The processes of redyno and of the server are not
    /// included.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub busy: Vec<Process>,
    /// The server's process, if it runs on this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<Process>,
    /// The kernel's clock source, such as `tsc` or `kvm-clock`. The text is empty if the clock source is unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub clock_source: String,
    /// The parts that cannot be read, each with the reason. Samples with the same parts may share the map.
    #[serde(default, skip_serializing_if = "crate::stats::is_default")]
    pub missing: Arc<BTreeMap<String, String>>,
}

/// A process of this machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Process {
    /// The process ID.
    pub pid: u32,
    /// The name of the process, without arguments.
    pub name: String,
    /// The number of cores that the process used since the previous sample.
    pub cpu: f64,
    /// The core on which the busiest thread of the process ran last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core: Option<u32>,
    /// The state of the server's main thread: `R` if it runs or waits for a core, `S` if it sleeps, `D` if it waits for
    /// a disk, `T` if it is stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<char>,
}
