//! Helpers for building the records of a session: adding counts and distributions.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub(super) use crate::protocol::add_count;
use crate::stats::Latency;

/// Adds the distribution `from`, if there is one, to `into`.
pub(super) fn merge_some(into: &mut Option<Latency>, from: Option<&Latency>) {
    if let Some(from) = from {
        into.get_or_insert_default().merge(from);
    }
}

/// Adds the named fields of the second record to the same fields of the first record.
macro_rules! add_up {
    ($sum:ident += $part:expr, $($field:ident)+) => {
        $($sum.$field += $part.$field;)+
    };
}

pub(super) use add_up;

/// Adds each count of `from` to the count of the same kind in `into`.
pub fn add_counts(into: &mut BTreeMap<String, u64>, from: &BTreeMap<String, u64>) {
    from.iter().for_each(|(kind, n)| add_count(into, kind, *n));
}

/// Returns `n` divided by the length in seconds; 0 if the length is 0.
pub(super) fn per_s(n: f64, length_s: f64) -> f64 {
    if length_s > 0.0 { n / length_s } else { 0.0 }
}

/// The times of the steps of an operation with several steps. If one step has an error, only this step is
/// left out.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StepTimes {
    /// The times from the write of the first step to its reply.
    pub first: Latency,
    /// The times from the due time of an operation to the reply to its first step; `None` in closed loop. Recordings do
    /// not contain this distribution.
    #[serde(skip)]
    pub first_response: Option<Latency>,
    /// Replies to first steps that did not find their key.
    #[serde(default, skip_serializing_if = "crate::stats::is_default")]
    pub missed: u64,
    /// The times of all later steps together, from the write of the second step to the last reply.
    pub later: Latency,
}

impl StepTimes {
    /// Adds the times of `later`.
    pub(super) fn merge(&mut self, later: &Self) {
        self.first.merge(&later.first);
        self.missed += later.missed;
        self.later.merge(&later.later);
        merge_some(&mut self.first_response, later.first_response.as_ref());
    }
}

/// The times that connections took to open, stage by stage. Latencies of operations do not include these times.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Opening {
    /// The times from the first attempt to connect to the connected socket.
    #[serde(skip_serializing_if = "Latency::is_empty")]
    pub connect: Latency,
    /// The times from the connected socket to the end of the TLS handshake.
    #[serde(skip_serializing_if = "Latency::is_empty")]
    pub handshake: Latency,
    /// The times from the connected socket, or the end of the TLS handshake, to the last reply to the greeting.
    #[serde(skip_serializing_if = "Latency::is_empty")]
    pub greeting: Latency,
}

impl Opening {
    /// Adds the times of `later`.
    pub(super) fn merge(&mut self, later: &Self) {
        self.connect.merge(&later.connect);
        self.handshake.merge(&later.handshake);
        self.greeting.merge(&later.greeting);
    }

    /// Returns the stages of opening a connection in their order, with their names.
    pub fn stages(&self) -> [(&'static str, &Latency); 3] {
        [("connect", &self.connect), ("handshake", &self.handshake), ("greeting", &self.greeting)]
    }

    /// Returns whether no stage of any connection was measured.
    pub fn is_empty(&self) -> bool {
        self.connect.is_empty() && self.handshake.is_empty() && self.greeting.is_empty()
    }
}
