//! The messages on the bus: one entry each, whose first field is JSON.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::bus::Fields;
use crate::{endpoint::ReadFrom, load::Turn};

/// The field of an order.
pub(super) const ORDER: &str = "order";
/// The first field of a report.
pub(super) const REPORT: &str = "report";
/// Each further field of a report: one record, as a JSON line.
pub(super) const RECORD: &str = "record";

/// The version of this program, which session and agents have in common.
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// How often the last order is repeated.
pub(super) const REPEAT_EVERY: Duration = Duration::from_millis(500);
/// How long a read of orders or reports waits.
pub(super) const WAIT: Duration = Duration::from_millis(100);

/// What all agents get once, in each order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Terms {
    /// The run, which names the keys.
    pub run: String,
    /// The prefix of keys that belong to the user, if the load is on those.
    pub prefix: Option<String>,
    /// The servers as URIs without user and password: the target, or nodes of a cluster, or all servers of a ring.
    pub targets: Vec<String>,
    /// How the load is divided among servers.
    pub layout: Layout,
    /// The nodes of a cluster that get requests which only read.
    pub read_from: ReadFrom,
    /// The largest number of connections of all agents together, if there is a limit.
    pub max_connections: Option<u32>,
    /// The workers of each agent.
    pub threads: usize,
    /// The seed of all random numbers.
    pub seed: u64,
    /// The timeout of a connection.
    pub timeout: Duration,
    /// The limit on the requests of all agents together.
    pub requests: Option<u64>,
}

/// How a load is divided among servers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layout {
    /// One server gets all requests.
    #[default]
    Server,
    /// All nodes of a cluster; an agent finds them by one of the named nodes.
    Cluster,
    /// The named servers store the keys by consistent hash.
    Ring,
    /// The named primary gets the writes, and its replicas the reads.
    Copies,
}

/// An order of the session. It is the whole setting, so that an agent needs no earlier one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Order {
    /// The version of the program.
    pub(super) version: String,
    #[serde(flatten)]
    pub(super) terms: Terms,
    /// The processes of the agents, by number. A process that is not listed does not obey.
    pub(super) processes: Vec<u64>,
    /// The time of the bus at which the session began, in nanoseconds since 1970; renewed, since clocks drift.
    pub(super) zero_ns: u64,
    /// The setting.
    pub(super) turn: Turn,
    /// Whether the session is over.
    pub(super) is_over: bool,
}

/// A report of an agent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Report {
    /// The version of the program.
    pub(super) version: String,
    /// The agent's number, from 0.
    pub(super) index: usize,
    /// How many agents there are, as the agent was started.
    pub(super) of: usize,
    /// The name of the agent's machine.
    pub(super) host: String,
    /// A random number of the agent's process, so that two processes with the same number are noticed.
    pub(super) process: u64,
    /// The number of the report, from 0 in each session of this process.
    pub(super) number: u64,
    /// The run that the report is about; empty while the agent waits.
    pub(super) run: String,
    /// The most clients that the agent takes.
    pub(super) most_clients: u32,
    /// The nodes of the cluster as URIs, by the numbers that they have in the intervals of this agent.
    pub(super) nodes: Vec<String>,
    /// The last tick of which all intervals have been reported.
    pub(super) closed_tick: u64,
    /// The number of the agent's setting.
    pub(super) generation: u32,
    /// Whether all requests of the prefill, or of the limit, in this setting are answered.
    pub(super) is_done: bool,
    /// The largest possible error of the agent's times, in nanoseconds.
    pub(super) error_ns: u64,
    /// Why the agent does not obey the last order; empty if it does.
    pub(super) refusal: String,
    /// Whether this is the agent's last report about the run.
    pub(super) is_last: bool,
}

/// Returns the order in a message.
///
/// # Errors
/// Why it is none; a line.
pub(super) fn read_order(fields: &Fields) -> Result<Order, String> {
    let text = fields.iter().find(|(name, _)| name == ORDER).map(|(_, text)| text.as_slice());
    serde_json::from_slice(text.unwrap_or_default())
        .map_err(|error| format!("an order is not readable: {error}"))
}

/// Returns the report in a message, if it is one.
pub(super) fn read_report(fields: &Fields) -> Option<Report> {
    serde_json::from_slice(&fields.iter().find(|(name, _)| name == REPORT)?.1).ok()
}
