//! The columns of the table of a series.

use serde::{Deserialize, Deserializer, de::Error as _};

use crate::gauge::{GAUGES, Gauge};

/// The layout of the table of a series.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Layout {
    /// The unit that is counted instead of operations.
    pub counted: Option<String>,
    /// Times in milliseconds. For each of these times, a column shows the share of requests that took at most that
    /// long.
    pub within_ms: Vec<f64>,
    /// Gauges of the server and of its machine. For each, a column shows its mean over the load; of one that counts, the
    /// mean per second.
    #[serde(deserialize_with = "gauges")]
    pub gauges: Vec<Gauge>,
}

/// Reads the names of gauges.
fn gauges<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Gauge>, D::Error> {
    let names = Vec::<String>::deserialize(deserializer)?;
    let gauge = |name: &String| {
        GAUGES
            .into_iter()
            .find(|gauge| gauge.about().name == name)
            .ok_or_else(|| D::Error::custom(format!("there is no gauge '{name}'")))
    };
    names.iter().map(gauge).collect()
}
