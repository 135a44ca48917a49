//! The results of the load by operation, for an interval or a session. Intervals can be merged without loss.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    AgentState, Client, Opening, ReceiverResults, StepTimes,
    part::{add_counts, add_up, merge_some, per_s},
};
use crate::{
    protocol::OTHER,
    stats::{Latency, lean},
    workload::MAX_OPERATIONS,
};

/// Defines a record of the load: the record's own fields, and after them the fields that all such records share.
macro_rules! of_the_load {
    ($(#[$about:meta])* $record:ident { $($own:tt)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        pub struct $record {
            $($own)*
            /// Bytes read from the server.
            pub bytes_in: u64,
            /// Bytes written to the server.
            pub bytes_out: u64,
            /// Pushes that servers sent (RESP3), such as the invalidations of `CLIENT TRACKING`.
            #[serde(default, skip_serializing_if = "crate::stats::is_default")]
            pub pushes: u64,
            /// Good replies.
            pub ops: u64,
            /// Good replies after the end of the load or segment (the drain). `ops` includes these replies.
            #[serde(default, skip_serializing_if = "crate::stats::is_default")]
            pub drained: u64,
            /// Good replies per second of `length_s`; 0 if `length_s` is 0. Drained replies are replies after the end
            /// of the segment. In open loop, the rate includes drained replies, because their requests were due in
            /// time. In closed loop, only the rate of the drain itself includes drained replies.
            pub ops_per_s: f64,
            /// Reads that found their key.
            pub hits: u64,
            /// Reads that did not find their key.
            pub misses: u64,
            /// Requests that were refused because another client had changed their key: memcached's `cas` with the
            /// reply `EXISTS`.
            #[serde(default, skip_serializing_if = "crate::stats::is_default")]
            pub conflicts: u64,
            /// Failed requests by kind: the server answered with an error, the connection was lost, or there was no
            /// connection when the request was due. `ops` and the distributions exclude failed requests.
            pub errors: BTreeMap<String, u64>,
            /// Redirected requests by kind. A cluster node refused the request and redyno sent the request again. Or a
            /// read went to a primary because no replica answered (`no-replica`). `errors` excludes redirected
            /// requests.
            #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
            pub redirects: BTreeMap<String, u64>,
            /// Lost connections by kind, including idle connections.
            #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
            pub connections_lost: BTreeMap<String, u64>,
            /// Failed attempts to connect by kind.
            #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
            pub connects_failed: BTreeMap<String, u64>,
            /// The longest delay from the due time of a request to its sending, in µs; 0 in closed loop.
            pub behind_us: u64,
            /// Requests that were due: all sent requests and, in open loop, also the requests that were not sent. When
            /// the last replies of a segment have arrived, `due` is the sum of the segment's `ops`, `errors`, `shed`
            /// and `unsent`.
            pub due: u64,
            /// Requests of an open loop that redyno dropped. redyno drops a request that would be too late (`--backlog
            /// shed`). redyno also drops a request if the rate changes before a connection is free.
            pub shed: u64,
            /// Requests of an open loop that were due but not sent when the load ended or was switched off.
            pub unsent: u64,
            /// The times from the due time of a request to the last byte of its reply. `null` in closed loop, because
            /// these times are then equal to `service`.
            pub response: Option<Latency>,
            /// The results of the workload's receivers.
            #[serde(flatten)]
            pub arrivals: ReceiverResults,
            /// The times that connections took to open.
            #[serde(flatten)]
            pub opening: Opening,
            /// The cost of the load generator. `null` in an interval with length 0.
            pub client: Option<Client>,
        }

        impl $record {
            /// Adds the shared fields of `later`, except the rate and the cost of redyno.
            fn add_load(&mut self, later: &Interval) {
                add_up!(self += later, bytes_in bytes_out pushes ops drained hits misses conflicts due shed unsent);
                self.behind_us = self.behind_us.max(later.behind_us);
                add_counts(&mut self.errors, &later.errors);
                add_counts(&mut self.redirects, &later.redirects);
                add_counts(&mut self.connections_lost, &later.connections_lost);
                add_counts(&mut self.connects_failed, &later.connects_failed);
                self.service.merge(&later.service);
                self.opening.merge(&later.opening);
                self.arrivals.merge(&later.arrivals);
                merge_some(&mut self.response, later.response.as_ref());
            }
        }
    };
}

of_the_load! {
    /// The results of the load in an interval of one segment.
    ///
    /// A request belongs to the segment in which it was sent. Replies after the end of the segment are in a
    /// separate interval, the drain. Results that a worker reports late are in an interval with `length_s` 0.
    Interval {
        /// The end of the interval, in seconds of the session.
        pub t_s: f64,
        /// The node, from 0.
        #[serde(default, skip_serializing_if = "crate::stats::is_default")]
        pub node: u16,
        /// The length of the interval, without the time in which this process was stopped.
        pub length_s: f64,
        /// Whether this is the drain of the segment, from its end to the last reply. A drain is not time under load.
        #[serde(default, skip_serializing_if = "crate::stats::is_default")]
        pub drain: bool,
        /// The time in which this process was stopped (Ctrl-Z, `kill -STOP`). The lengths of segments and summaries
        /// include this time.
        #[serde(default, skip_serializing_if = "crate::stats::is_default")]
        pub paused_s: f64,
        /// The time without any connection, because all connections were lost. No latency includes this time.
        #[serde(default, skip_serializing_if = "crate::stats::is_default")]
        pub outage_s: f64,
        /// The tick (quarter second) in which the interval ended. See [`Span`](super::Span).
        pub tick: u64,
        /// The segment in which the requests of this interval were sent.
        pub segment: u32,
        /// The age of the oldest unanswered request at the end of the interval. 0 if each connection had a reply in the
        /// interval. This age shows a stall even before the delayed replies arrive.
        #[serde(default, skip_serializing_if = "crate::stats::is_default")]
        pub waiting_us: u64,
        /// Connections that carried load at the end of the interval, including clients that reconnect on purpose.
        pub clients: u32,
        /// The results by operation.
        pub commands: BTreeMap<String, OperationInterval>,
        /// The results by node of a cluster. `ops` is the sum of all nodes. Errors that belong to no node are not in
        /// these results. An example is a request for a slot without an owner.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        pub nodes: BTreeMap<u16, OperationInterval>,
        /// The results by agent of a fleet. `ops` is the sum of all agents.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        pub agents: BTreeMap<u16, OperationInterval>,
        /// The state of each agent of a fleet.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        pub agent_states: BTreeMap<u16, AgentState>,
        /// Requests by hash slot of a cluster, for the busiest slots only. The counts are lower bounds.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        pub slots: BTreeMap<u16, u64>,
        /// The number of nodes of the cluster that own slots; 0 if this number is unknown.
        #[serde(default, skip_serializing_if = "crate::stats::is_default")]
        pub owners: u16,
        /// Answered requests by command, as the server's statistics count them. An operation may consist of several
        /// requests. The counts include MULTI and EXEC around an operation, and commands that prepare the server for
        /// the load. The counts also include the greeting of connections (`AUTH`, `HELLO`, `SELECT`, `CLIENT|SETNAME`).
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        pub requests: BTreeMap<String, u64>,
        /// The times from the write of a request to the last byte of its reply.
        #[serde(deserialize_with = "lean::deserialize")]
        pub service: Latency,
    }
}

of_the_load! {
    /// The results of the whole time under load, without the warm-up.
    Summary {
        /// Seconds under load, from the first connection or failed attempt to the end of sending. This length does not
        /// include the wait for the last replies. The summary counts these replies.
        pub length_s: f64,
        /// Seconds under load without any connection, because all connections were lost.
        pub outage_s: f64,
        /// The first message of each kind of error.
        pub first_errors: BTreeMap<String, String>,
        /// The times from the write of a request to the last byte of its reply.
        pub service: Latency,
    }
}

impl Summary {
    /// Adds an interval, or the sum of a segment. The length is added only if `loaded` is set.
    pub fn add(&mut self, interval: &Interval, loaded: bool) {
        // Whole numbers below 2^53 are exact, so length × rate gives the number of replies back.
        let is_timed = self.length_s > 0.0;
        let before = if is_timed { (self.ops_per_s * self.length_s).round() } else { self.ops as f64 };
        if loaded {
            let length_s = interval.load_s();
            Client::merge(&mut self.client, self.length_s, interval.client.as_ref(), length_s);
            self.length_s += length_s;
            self.outage_s += interval.outage_s;
        }
        self.add_load(interval);
        self.ops_per_s = per_s(before + interval.in_rate() as f64, self.length_s);
    }
}

/// The results of one operation, or of one node of a cluster, in an [`Interval`]. The results of a node do not include
/// hits and misses.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OperationInterval {
    /// Good replies to the operation.
    pub ops: u64,
    /// Good replies that arrived after the end of the load or segment. `ops` includes these replies.
    #[serde(default, skip_serializing_if = "crate::stats::is_default")]
    pub drained: u64,
    /// In closed loop, replies after the end of the segment (drained replies), which do not count in rates. Only sums
    /// of intervals have this count.
    #[serde(skip)]
    pub out_of_rate: u64,
    /// Reads of the operation that found their key.
    #[serde(default, skip_serializing_if = "crate::stats::is_default")]
    pub hits: u64,
    /// Reads of the operation that did not find their key.
    #[serde(default, skip_serializing_if = "crate::stats::is_default")]
    pub misses: u64,
    /// Requests of the operation that were refused because another client has changed their key.
    #[serde(default, skip_serializing_if = "crate::stats::is_default")]
    pub conflicts: u64,
    /// Good replies to the operation with at least one read that did not find its key. `misses` counts every such read,
    /// also in operations with an error.
    #[serde(default, skip_serializing_if = "crate::stats::is_default")]
    pub not_found: u64,
    /// Errors by kind.
    pub errors: BTreeMap<String, u64>,
    /// Answered requests to a node by command, as in [`Interval::requests`]. Only results of nodes have these counts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub requests: BTreeMap<String, u64>,
    /// Bytes read as replies to the operation.
    #[serde(default, skip_serializing_if = "crate::stats::is_default")]
    pub bytes_in: u64,
    /// Bytes written for requests of the operation.
    #[serde(default, skip_serializing_if = "crate::stats::is_default")]
    pub bytes_out: u64,
    /// The times from the write of a request to the last byte of its reply.
    pub service: Latency,
    /// The times from the due time of a request to the last byte of its reply; `None` in closed loop. Recordings do not
    /// contain this distribution by operation.
    #[serde(skip)]
    pub response: Option<Latency>,
    /// The times of the steps of an operation with several steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<Box<StepTimes>>,
}

impl Interval {
    /// Merges this interval with `later`. The length of a drain (the time after the end of a segment) is
    /// added only to another drain.
    pub fn merge(&mut self, later: &Self) {
        self.merge_over(later, if self.drain { later.length_s } else { later.timed_s() });
        self.add_nodes(later);
        self.paused_s += later.paused_s;
        let counted = if self.drain { self.ops } else { self.in_rate() };
        self.ops_per_s = per_s(counted as f64, self.length_s);
    }

    /// Adds the interval `later` to the sum of its segment. The length of a drain is not added.
    pub fn add(&mut self, later: &Self) {
        self.add_whole(later);
        self.add_nodes(later);
    }

    /// Adds the interval `later` to the sum of its segment, without its results by node and by agent.
    pub(super) fn add_whole(&mut self, later: &Self) {
        self.merge_over(later, later.load_s());
        self.ops_per_s = per_s(self.in_rate() as f64, self.length_s);
    }

    /// Adds `later`, which is `length_s` seconds long, without its results by node and by agent.
    pub(super) fn merge_over(&mut self, later: &Self, length_s: f64) {
        Client::merge(&mut self.client, self.length_s, later.client.as_ref(), length_s);
        self.t_s = self.t_s.max(later.t_s);
        self.tick = self.tick.max(later.tick);
        self.length_s += length_s;
        self.outage_s += later.outage_s;
        self.waiting_us = self.waiting_us.max(later.waiting_us);
        if length_s > 0.0 {
            self.clients = later.clients;
        }
        self.add_load(later);
        let is_open = later.response.is_some();
        for (label, later) in &later.commands {
            self.operation(label).add(later, is_open);
        }
        add_counts(&mut self.requests, &later.requests);
    }

    /// Returns the measured seconds under load. Returns 0 in a drain (the time after a segment until its last reply).
    pub fn timed_s(&self) -> f64 {
        if self.drain { 0.0 } else { self.length_s }
    }

    /// Returns the seconds under load, including the time in which this process was stopped.
    pub fn load_s(&self) -> f64 {
        if self.drain { 0.0 } else { self.length_s + self.paused_s }
    }

    /// Returns the number of good replies that count in the load's rate: in closed loop, all except drained replies.
    pub fn in_rate(&self) -> u64 {
        if self.response.is_some() { self.ops } else { self.ops.saturating_sub(self.drained) }
    }

    /// Returns whether all results are late. The results are late if the interval is a drain, or is from a worker's
    /// late report.
    pub fn is_late(&self) -> bool {
        self.load_s() <= 0.0
    }

    /// Returns the service times of all operations together.
    pub(super) fn of_operations(&self) -> Latency {
        Latency::merged(self.commands.values().map(|operation| &operation.service))
    }

    /// Returns the results of the operation `label`. The caller can add further results to these results. If there are
    /// more operations than a workload may have, the further operations share one entry.
    pub(super) fn operation(&mut self, label: &str) -> &mut OperationInterval {
        let is_known = self.commands.contains_key(label) || self.commands.len() < MAX_OPERATIONS;
        self.commands.entry(if is_known { label } else { OTHER }.to_owned()).or_default()
    }

    /// Returns whether all counts are 0.
    pub fn is_blank(&self) -> bool {
        let counts = [&self.errors, &self.redirects, &self.connections_lost, &self.connects_failed];
        let is_calm = self.opening.is_empty() && self.arrivals.is_empty() && self.requests.is_empty();
        let sum = self.ops + self.due + self.shed + self.unsent;
        is_calm && counts.iter().all(|counts| counts.is_empty()) && sum == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{session::figures::Row, stats::fixture::repeated};

    fn interval(ops: u64, drain: bool, is_open: bool) -> Interval {
        let drained = if drain { ops } else { 0 };
        let part = OperationInterval { ops, drained, ..OperationInterval::default() };
        let response = is_open.then(|| repeated(1000, ops));
        let commands = [("GET".to_owned(), part)].into();
        Interval { length_s: 0.5, ops, drain, drained, response, commands, ..Interval::default() }
    }

    #[test]
    fn drained_replies_are_in_the_rate_of_an_open_loop_only() {
        for (is_open, rate) in [(false, 100.0), (true, 180.0)] {
            let (mut total, mut sum) = (Interval::default(), Summary::default());
            for (ops, drain) in [(50, false), (50, false), (80, true)] {
                total.add(&interval(ops, drain, is_open));
                sum.add(&interval(ops, drain, is_open), true);
            }
            assert_eq!((total.ops, total.drained, total.length_s, total.ops_per_s), (180, 80, 1.0, rate));
            assert_eq!((sum.ops, sum.drained, sum.length_s, sum.ops_per_s), (180, 80, 1.0, rate));
            assert_eq!(total.commands["GET"].in_rate() as f64, rate);
        }
    }

    #[test]
    fn a_sum_of_open_and_closed_loop_counts_each_by_its_rule() {
        let (mut sum, mut operation) = (Summary::default(), OperationInterval::default());
        for is_open in [false, true] {
            let mut total = Interval::default();
            for drain in [false, true] {
                sum.add(&interval(70, drain, is_open), true);
                total.add(&interval(70, drain, is_open));
            }
            operation.merge(&total.commands["GET"]);
        }
        assert_eq!((sum.ops, sum.drained, sum.ops_per_s), (280, 140, 210.0));
        assert_eq!(Row::of_summary(&sum).of_operation(&operation).ops_per_s, Some(210.0));
    }

    #[test]
    fn a_pause_is_in_the_length_of_the_segment_and_not_of_the_interval() {
        let paused = Interval { paused_s: 2.0, ..interval(50, false, true) };
        let (mut total, mut sum) = (Interval::default(), Summary::default());
        total.add(&paused);
        sum.add(&paused, true);
        assert_eq!((total.length_s, total.ops_per_s), (2.5, 20.0));
        assert_eq!((sum.length_s, sum.ops_per_s), (2.5, 20.0));
        let mut merged = interval(50, false, true);
        merged.merge(&paused);
        assert_eq!((merged.length_s, merged.paused_s, merged.ops_per_s), (1.0, 2.0, 100.0));
    }
}
