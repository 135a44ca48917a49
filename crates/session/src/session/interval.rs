//! What the load did, in all and by command: in a stretch of one segment, and while it was on. Intervals of a segment merge
//! without loss.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::{Map, Value};

use super::{
    Client,
    part::{add_counts, is_nothing, merge_some, per_s},
};
use crate::{protocol::OTHER, stats::Latency, workload::MAX_OPERATIONS};

/// A record of what the load did, with what every one of them holds behind what is its own.
macro_rules! of_the_load {
    ($(#[$about:meta])* $record:ident { $($own:tt)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        pub struct $record {
            $($own)*
            /// Bytes read from the server.
            pub bytes_in: u64,
            /// Bytes written to it.
            pub bytes_out: u64,
            /// What servers said unasked: pushes of RESP3, such as the invalidations of `CLIENT TRACKING`.
            #[serde(default, skip_serializing_if = "is_nothing")]
            pub pushes: u64,
            /// Good replies.
            pub ops: u64,
            /// Those of them that came after the end of the load, or of their segment: its drain.
            #[serde(default, skip_serializing_if = "is_nothing")]
            pub drained: u64,
            /// Good replies per second of `length_s`; 0 when that is nothing. In closed loop those that were drained are in
            /// no rate but the drain's own; in open loop they are replies to what was due within the time, and count.
            pub ops_per_s: f64,
            /// Reads that found their key.
            pub hits: u64,
            /// Reads that did not.
            pub misses: u64,
            /// Requests that found their key changed by another: memcached's `cas` that is answered with `EXISTS`.
            #[serde(default, skip_serializing_if = "is_nothing")]
            pub conflicts: u64,
            /// Requests that failed, by kind: answered with an error, or lost with their connection, or due while there was
            /// none. They are neither in `ops` nor in a distribution.
            pub errors: BTreeMap<String, u64>,
            /// Connections that were lost, idle or not, by kind.
            #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
            pub connections_lost: BTreeMap<String, u64>,
            /// Attempts to connect that failed, by kind.
            #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
            pub connects_failed: BTreeMap<String, u64>,
            /// How late the oldest request that was due and not sent was at most; in closed loop nothing is due before it
            /// is sent.
            pub behind_us: u64,
            /// Requests that were due, by the schedule's own count: an open loop counts a request when it is sent or passed
            /// over, a closed one when it is sent. Over a segment `ops` + `errors` + `shed` + `unsent` are as many, when its
            /// last replies are in.
            pub due: u64,
            /// Requests of an open loop that were due and given up on purpose: they would have been too late (`--backlog
            /// shed`), or the rate was turned before there was a connection for them.
            pub shed: u64,
            /// Requests of an open loop that were due and not sent when the load ended or was turned off.
            pub unsent: u64,
            /// From the write of a request to the last byte of its reply.
            pub service: Latency,
            /// From when a request was due to the last byte of its reply; `null` in closed loop, where it is `service`.
            pub response: Option<Latency>,
            /// What connections took to open.
            #[serde(flatten)]
            pub opening: Opening,
            /// What the load generator itself cost; `null` in a stretch without length.
            pub client: Option<Client>,
        }

        impl $record {
            /// Adds what both hold but for lengths, rate and what redyno cost.
            fn add_load(&mut self, later: &Interval) {
                self.bytes_in += later.bytes_in;
                self.bytes_out += later.bytes_out;
                self.pushes += later.pushes;
                self.ops += later.ops;
                self.drained += later.drained;
                self.hits += later.hits;
                self.misses += later.misses;
                self.conflicts += later.conflicts;
                self.behind_us = self.behind_us.max(later.behind_us);
                self.due += later.due;
                self.shed += later.shed;
                self.unsent += later.unsent;
                add_counts(&mut self.errors, &later.errors);
                add_counts(&mut self.connections_lost, &later.connections_lost);
                add_counts(&mut self.connects_failed, &later.connects_failed);
                self.service.merge(&later.service);
                self.opening.merge(&later.opening);
                merge_some(&mut self.response, later.response.as_ref());
            }
        }
    };
}

of_the_load! {
    /// What the load did in a stretch of one segment.
    ///
    /// Requests belong to the segment in which they were written. Replies that arrive after the end of the segment, or of
    /// the load, come in an interval of their own, its drain. What a worker reports late has `length_s` 0.
    Interval {
        /// When the stretch ended.
        pub t_s: f64,
        /// Of which node, from 0.
        #[serde(default, skip_serializing_if = "is_nothing")]
        pub node: u16,
        /// How long it was, without the time in which this process was stopped.
        pub length_s: f64,
        /// Whether it is the drain of its segment: from its end to the last reply. It is no time under load.
        #[serde(default, skip_serializing_if = "is_nothing")]
        pub drain: bool,
        /// How long this process was stopped in it (Ctrl-Z, `kill -STOP`); segments and sums count it as time.
        #[serde(default, skip_serializing_if = "is_nothing")]
        pub paused_s: f64,
        /// How long of the stretch there was no connection at all, because all were lost. No latency is counted in it.
        #[serde(default, skip_serializing_if = "is_nothing")]
        pub outage_s: f64,
        /// The tick that it ended in, as of a [`Span`](super::Span).
        pub tick: u64,
        /// The segment that all of its requests belong to.
        pub segment: u32,
        /// How long the oldest request without a reply had been waiting at the end of the stretch, since it was written: a
        /// stall shows before its replies are in. 0 where each connection had a reply in it.
        #[serde(default, skip_serializing_if = "is_nothing")]
        pub waiting_us: u64,
        /// Connections that carried load at the end of the stretch; a client that is between two of them on purpose counts.
        pub clients: u32,
        /// The same by operation.
        pub commands: BTreeMap<String, OperationInterval>,
        /// Requests on the wire that were answered, by command as the server's statistics count them: an operation may be
        /// several, and what holds it together (MULTI, EXEC), what connections are greeted with (`AUTH`, `HELLO`,
        /// `SELECT`, `CLIENT|SETNAME`) and what a setup asks for is none.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        pub requests: BTreeMap<String, u64>,
    }
}

of_the_load! {
    /// What the load did while it was on, without its warm-up.
    Summary {
        /// Seconds under load: from the first connection, or the first failure to have one, to the last moment at which
        /// requests were sent. The wait for the last replies is not in it, and what these bring is.
        pub length_s: f64,
        /// Seconds of these without any connection, because all were lost.
        pub outage_s: f64,
        /// The first message of each kind of error.
        pub first_errors: BTreeMap<String, String>,
    }
}

impl Summary {
    /// Adds an interval, or the sum of a segment; its length counts only if the load was on.
    pub fn add(&mut self, interval: &Interval, loaded: bool) {
        // Whole numbers below 2^53, so the rate gives back what it was made of.
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

/// What connections took to open: no operations, and timed beside them. Files leave out what did not happen.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Opening {
    /// From the first attempt to the socket's connection.
    #[serde(skip_serializing_if = "Latency::is_empty")]
    pub connect: Latency,
    /// From there to the end of the TLS handshake.
    #[serde(skip_serializing_if = "Latency::is_empty")]
    pub handshake: Latency,
    /// From there to the last reply to the greeting.
    #[serde(skip_serializing_if = "Latency::is_empty")]
    pub greeting: Latency,
}

impl Opening {
    /// Adds what `later` holds.
    pub(super) fn merge(&mut self, later: &Self) {
        self.connect.merge(&later.connect);
        self.handshake.merge(&later.handshake);
        self.greeting.merge(&later.greeting);
    }

    /// The stages by their names, in the order in which they come.
    pub fn stages(&self) -> [(&'static str, &Latency); 3] {
        [("connect", &self.connect), ("handshake", &self.handshake), ("greeting", &self.greeting)]
    }

    /// Whether none opened, nor began to.
    pub fn is_empty(&self) -> bool {
        self.connect.is_empty() && self.handshake.is_empty() && self.greeting.is_empty()
    }
}

/// One operation's part of an [`Interval`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OperationInterval {
    /// How often it was answered without an error.
    pub ops: u64,
    /// How often of these after the end of the load, or of the segment.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub drained: u64,
    /// Reads of it that found their key.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub hits: u64,
    /// Reads of it that did not.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub misses: u64,
    /// Requests of it that found their key changed by another.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub conflicts: u64,
    /// Errors by kind.
    pub errors: BTreeMap<String, u64>,
    /// Bytes read as replies to it.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub bytes_in: u64,
    /// Bytes written of it; likewise.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub bytes_out: u64,
    /// From write to last byte.
    pub service: Latency,
}

impl Interval {
    /// Adds what `later`, an interval of the same segment and of the same kind, holds: the longer stretch of both.
    pub fn merge(&mut self, later: &Self) {
        self.merge_over(later, later.length_s);
        self.paused_s += later.paused_s;
        self.ops_per_s = per_s(self.ops as f64, self.length_s);
    }

    /// Adds what `later` holds to the sum of its segment: time under load, and a drain without its own.
    pub fn add(&mut self, later: &Self) {
        self.merge_over(later, later.load_s());
        self.ops_per_s = per_s(self.in_rate() as f64, self.length_s);
    }

    fn merge_over(&mut self, later: &Self, length_s: f64) {
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
        for (label, later) in &later.commands {
            self.operation(label).merge(later);
        }
        add_counts(&mut self.requests, &later.requests);
    }

    /// Seconds under load that were measured: none in a drain.
    pub fn timed_s(&self) -> f64 {
        if self.drain { 0.0 } else { self.length_s }
    }

    /// Seconds under load, those included in which this process was stopped.
    pub fn load_s(&self) -> f64 {
        if self.drain { 0.0 } else { self.length_s + self.paused_s }
    }

    /// Good replies that the rate of the load counts: in closed loop those that came before its end.
    pub fn in_rate(&self) -> u64 {
        if self.response.is_some() { self.ops } else { self.ops.saturating_sub(self.drained) }
    }

    /// Whether it holds nothing but what came after its time: a drain, or what a worker reported late.
    pub fn is_late(&self) -> bool {
        self.load_s() <= 0.0
    }

    /// The service times of its operations together.
    pub(super) fn of_operations(&self) -> Latency {
        Latency::merged(self.commands.values().map(|operation| &operation.service))
    }

    /// The part of the operation called `label`. A recording that has ever new ones has no more of them than a workload.
    pub(super) fn operation(&mut self, label: &str) -> &mut OperationInterval {
        let is_known = self.commands.contains_key(label) || self.commands.len() < MAX_OPERATIONS;
        self.commands.entry(if is_known { label } else { OTHER }.to_owned()).or_default()
    }

    /// Whether nothing was counted in it.
    pub fn is_blank(&self) -> bool {
        let counts = [&self.errors, &self.connections_lost, &self.connects_failed];
        self.ops + self.due + self.shed + self.unsent == 0
            && self.opening.is_empty()
            && self.requests.is_empty()
            && counts.iter().all(|counts| counts.is_empty())
    }
}

impl OperationInterval {
    /// Good replies that the rate of a load counts: in closed loop those that came before its end.
    pub fn in_rate(&self, is_open: bool) -> u64 {
        if is_open { self.ops } else { self.ops.saturating_sub(self.drained) }
    }

    /// Adds what `later` holds.
    pub fn merge(&mut self, later: &Self) {
        self.ops += later.ops;
        self.drained += later.drained;
        self.hits += later.hits;
        self.misses += later.misses;
        self.conflicts += later.conflicts;
        self.bytes_in += later.bytes_in;
        self.bytes_out += later.bytes_out;
        add_counts(&mut self.errors, &later.errors);
        self.service.merge(&later.service);
    }
}

/// An interval with the cells that a recording leaves out of it.
///
/// # Errors
/// When it is none, or its operations are not what its service times are.
pub(super) fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Box<Interval>, D::Error> {
    let mut fields = Map::<String, Value>::deserialize(deserializer)?;
    if fields.get("service").is_none_or(|service| !service.is_object() || service.get("hdr").is_some()) {
        return Box::deserialize(Value::Object(fields)).map_err(D::Error::custom);
    }
    let nothing = serde_json::to_value(Latency::default()).map_err(D::Error::custom)?;
    let service = fields.insert("service".to_owned(), nothing).unwrap_or_default();
    let mut interval: Box<Interval> = Box::deserialize(Value::Object(fields)).map_err(D::Error::custom)?;
    interval.service = interval.of_operations();
    if service["count"].as_u64() != Some(interval.service.count()) {
        return Err(D::Error::custom("'service' has no cells, and is not what its operations are together"));
    }
    Ok(interval)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::fixture::repeated;

    fn interval(ops: u64, drain: bool, is_open: bool) -> Interval {
        let drained = if drain { ops } else { 0 };
        let part = OperationInterval { ops, drained, ..OperationInterval::default() };
        let response = is_open.then(|| repeated(1000, ops));
        let commands = [("GET".to_owned(), part)].into();
        Interval { length_s: 0.5, ops, drain, drained, response, commands, ..Interval::default() }
    }

    #[test]
    fn replies_after_the_end_are_in_the_rate_of_an_open_loop_alone() {
        for (is_open, rate) in [(false, 100.0), (true, 180.0)] {
            let (mut total, mut sum) = (Interval::default(), Summary::default());
            for (ops, drain) in [(50, false), (50, false), (80, true)] {
                total.add(&interval(ops, drain, is_open));
                sum.add(&interval(ops, drain, is_open), true);
            }
            assert_eq!((total.ops, total.drained, total.length_s, total.ops_per_s), (180, 80, 1.0, rate));
            assert_eq!((sum.ops, sum.drained, sum.length_s, sum.ops_per_s), (180, 80, 1.0, rate));
            assert_eq!(total.commands["GET"].in_rate(is_open) as f64, rate);
        }
    }

    #[test]
    fn a_sum_of_both_loops_counts_each_by_its_rule() {
        let mut sum = Summary::default();
        for is_open in [false, true] {
            for drain in [false, true] {
                sum.add(&interval(70, drain, is_open), true);
            }
        }
        assert_eq!((sum.ops, sum.drained, sum.ops_per_s), (280, 140, 210.0));
    }

    #[test]
    fn the_time_in_which_the_process_was_stopped_is_time_of_the_segment_and_of_no_interval() {
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
