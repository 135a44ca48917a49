//! The messages between a session and its agents. Each message is one entry of a stream on the bus, with JSON
//! in its first field.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::bus::MessageFields;
use crate::{
    endpoint::{NodeOutage, ReadFrom},
    load::AgentSetting,
    untrusted,
};

/// The field of an order.
pub(super) const ORDER: &str = "order";
/// The first field of a report.
pub(super) const REPORT: &str = "report";
/// The name of all further fields of a report. Each of these fields contains one record as a JSON line.
pub(super) const RECORD: &str = "record";

/// The version of this program. The session and all agents must have the same version.
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The time between two repetitions of the last order.
pub(super) const REPEAT_EVERY: Duration = Duration::from_millis(500);
/// The longest time that a read of orders or reports blocks.
pub(super) const WAIT: Duration = Duration::from_millis(100);

/// The settings that do not change during a session. Every order to the agents contains these
/// settings.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Terms {
    /// The identifier of the run. The names of the run's keys contain this identifier.
    pub run: String,
    /// The prefix of the user's keys, if the load uses keys of the user instead of keys of the run.
    pub prefix: Option<String>,
    /// The servers as URIs without user and password. The list has the target, nodes of a cluster, or all servers that
    /// share the keys by consistent hashing.
    pub targets: Vec<String>,
    /// Whether the load uses RESP3. The URIs in `targets` do not show this.
    pub has_resp3: bool,
    /// The division of the load among servers.
    pub layout: LoadLayout,
    /// The kind of cluster nodes that get read-only requests.
    pub read_from: ReadFrom,
    /// The largest number of connections of all agents together, if there is a limit.
    pub max_connections: Option<u32>,
    /// The number of workers of each agent.
    pub threads: usize,
    /// The seed of all random numbers.
    pub seed: u64,
    /// The timeout of a connection.
    pub timeout: Duration,
    /// The limit on the requests of all agents together.
    pub requests: Option<u64>,
}

/// The division of a load among servers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoadLayout {
    /// One server gets all requests.
    #[default]
    Server,
    /// All nodes of a cluster share the requests. An agent connects to one of the named nodes to find all nodes.
    Cluster,
    /// The named servers store the keys by consistent hashing.
    Ring,
    /// The named primary gets the writes, and its replicas get the reads.
    Copies,
}

/// An order of the session to its agents. An order contains all settings, so an agent needs no earlier order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(expecting = "an object with the settings")]
pub(super) struct FleetOrder {
    /// The version of the program.
    pub(super) version: String,
    #[serde(flatten)]
    pub(super) terms: Terms,
    /// The process number of each agent. A process that is not in this list ignores the order.
    pub(super) processes: Vec<u32>,
    /// The start of the session by the clock of the bus, in nanoseconds since 1970. Each order contains a newly
    /// measured value, because clocks drift.
    pub(super) zero_ns: u64,
    /// The setting.
    pub(super) turn: AgentSetting,
    /// Whether the session is over.
    pub(super) is_over: bool,
}

/// A report of an agent. A report of another version may lack fields. The session then refuses its version.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct AgentReport {
    /// The version of the program.
    pub(super) version: String,
    /// The agent's number, from 0.
    pub(super) index: usize,
    /// The number of agents of the fleet, from the agent's command line.
    pub(super) of: usize,
    /// The name of the agent's machine.
    pub(super) host: String,
    /// A random number that identifies the agent's process. With this number, the session notices that two processes
    /// have the same agent number.
    pub(super) process: u32,
    /// The number of the report. Each session's reports are numbered from 0.
    pub(super) number: u64,
    /// The run that the report is about; empty while the agent waits.
    pub(super) run: String,
    /// The largest number of clients that the agent permits.
    pub(super) most_clients: u32,
    /// The number of workers that suits the agent's machine.
    pub(super) threads: usize,
    /// The URIs of the cluster's nodes. A node's position in this list is its number in the agent's intervals.
    pub(super) nodes: Vec<String>,
    /// The last outage of each node, in times of the session. The list is ordered by the agent's node numbers. Without
    /// a cluster, the server has the number 0.
    pub(super) outages: Vec<Option<NodeOutage>>,
    /// The last tick (quarter second) for which all intervals have been reported.
    pub(super) closed_tick: u64,
    /// The number of the agent's setting.
    pub(super) generation: u32,
    /// Whether all requests have been answered. The requests of a prefill count, or the limited number of requests of
    /// the load.
    pub(super) is_done: bool,
    /// The wall clock of the agent's machine minus the clock of the bus, in nanoseconds.
    pub(super) offset_ns: i64,
    /// The largest possible error of the agent's times, in nanoseconds.
    pub(super) error_ns: u64,
    /// The reason why the agent refuses the last order; empty if the agent carries out the order.
    pub(super) refusal: String,
    /// Whether this is the agent's last report about the run.
    pub(super) is_last: bool,
}

impl AgentReport {
    /// Returns the name of the agent's machine.
    pub(super) fn host(&self) -> String {
        named(&self.host, "a machine without a name")
    }

    /// Returns the offset of the agent's wall clock, and the largest possible error of its times, in microseconds.
    pub(super) fn clock_us(&self) -> (f64, f64) {
        (self.offset_ns as f64 / 1e3, self.error_ns as f64 / 1e3)
    }
}

/// The part of every message that contains the version of the sender.
#[derive(Deserialize)]
struct Sender {
    version: String,
}

/// Returns the order in a message.
///
/// # Errors
/// Fails if the message contains no valid order. The error is one line.
pub(super) fn read_order(fields: &MessageFields) -> Result<FleetOrder, String> {
    let text = fields.iter().find(|(name, _)| name == ORDER).map(|(_, text)| text.as_slice());
    let text = text.unwrap_or_default();
    serde_json::from_slice(text).map_err(|error| {
        // Another version has other fields.
        let sender = serde_json::from_slice::<Sender>(text).ok();
        match sender.filter(|sender| sender.version != VERSION) {
            Some(sender) => other_version(&sender.version),
            None => format!("a message from the session is not readable: {error}"),
        }
    })
}

/// Returns `text` of another machine for a message, or `otherwise` if the text is empty.
fn named(text: &str, otherwise: &str) -> String {
    if text.is_empty() { otherwise.to_owned() } else { untrusted::text(text) }
}

/// Returns a program's version for a message.
pub(super) fn redyno_of(version: &str) -> String {
    format!("redyno {}", named(version, "of an unknown version"))
}

/// Returns the error about a session of another version.
pub(super) fn other_version(version: &str) -> String {
    format!("the session runs {}, this agent runs {VERSION}", redyno_of(version))
}

/// Returns the report in a message; `None` if the message is not a report.
pub(super) fn read_report(fields: &MessageFields) -> Option<AgentReport> {
    serde_json::from_slice(&fields.iter().find(|(name, _)| name == REPORT)?.1).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_of_a_version_with_other_fields_names_the_version() {
        let error = |text: &str| read_order(&vec![(ORDER.to_owned(), text.into())]).unwrap_err();
        let other = r#"{"version": "0.0.1", "speed": 7}"#;
        assert_eq!(error(other), format!("the session runs redyno 0.0.1, this agent runs {VERSION}"));
        assert!(error("{").starts_with("a message from the session is not readable: "));
        assert!(error("7").contains("expected an object with the settings"));
    }
}
