//! A row in a table of a session's results: one segment, interval or operation, or the whole session.

use super::{
    Interval, Opening, OperationInterval, ReceiverResults, Summary,
    timeline::{GaugeMeans, SegmentTotal},
};
use crate::{knobs::Knobs, stats::Latency};

/// The results in one row, from which the figures are computed.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    /// The start of the row's period, in seconds of the session.
    pub start_s: f64,
    /// The end of the row's period, in seconds of the session.
    pub t_s: f64,
    /// The length of the row's period, in seconds.
    pub length_s: f64,
    /// The number of the segment; 0 for a whole session.
    pub segment: u32,
    /// The load settings, if they did not change during the row's period.
    pub knobs: Option<&'a Knobs>,
    /// Good replies.
    pub ops: u64,
    /// Good replies that arrived after the end of the load or segment. `ops` includes these replies.
    pub drained: u64,
    /// Whether the row is about a drain (the replies after the end of a segment). Only the rate of
    /// such a row includes all drained replies.
    pub is_drain: bool,
    /// Good replies per second under load; `None` if no time under load was measured.
    pub ops_per_s: Option<f64>,
    /// Reads that found their key; `None` for one node of a cluster.
    pub hits: Option<u64>,
    /// Reads that did not find their key; `None` for one node of a cluster.
    pub misses: Option<u64>,
    /// Writes that were refused because another client changed the item first: memcached's `cas`; `None` for one node
    /// of a cluster.
    pub conflicts: Option<u64>,
    /// Requests that failed.
    pub errors: u64,
    /// Bytes read from the server.
    pub bytes_in: u64,
    /// Bytes written to the server.
    pub bytes_out: u64,
    /// The results that exist only for all operations together; `None` in the row of one operation.
    pub whole: Option<CombinedResults>,
    /// The times from the write of a request to its reply.
    pub service: &'a Latency,
    /// The times from the due time of a request to its reply; `None` in closed loop.
    pub response: Option<&'a Latency>,
    /// The results of the workload's receivers; `None` for one operation.
    pub arrivals: Option<&'a ReceiverResults>,
    /// The times that connections took to open; `None` for one operation.
    pub opening: Option<&'a Opening>,
    /// The share of a core that redyno's busiest worker thread used.
    pub client_cpu: Option<f64>,
    /// The share of a core that the server used.
    pub server_cpu: Option<f64>,
    /// The round trips of PING; only in the row of a segment.
    pub pings: Option<&'a Latency>,
    /// The means of gauges; only in the row of a segment.
    pub gauges: Option<&'a GaugeMeans>,
}

/// The results that exist only for all operations together.
#[derive(Debug, Clone, Copy)]
pub struct CombinedResults {
    /// Requests that were due.
    pub due: u64,
    /// Requests that were due and were dropped without being sent (`--backlog shed`).
    pub shed: u64,
    /// Requests that were due and not sent when the load ended.
    pub unsent: u64,
    /// The longest delay from the due time of a request to its sending, in microseconds.
    pub behind_us: u64,
    /// Seconds without any connection, because all connections were lost.
    pub outage_s: f64,
}

/// Builds a row from the fields that all records of the load share.
macro_rules! row {
    ($record:ident, $start_s:expr, $t_s:expr, $segment:expr, $is_drain:expr) => {
        Row {
            start_s: $start_s,
            t_s: $t_s,
            length_s: $record.length_s,
            segment: $segment,
            knobs: None,
            ops: $record.ops,
            drained: $record.drained,
            is_drain: $is_drain,
            ops_per_s: ($record.length_s > 0.0).then_some($record.ops_per_s),
            hits: Some($record.hits),
            misses: Some($record.misses),
            conflicts: Some($record.conflicts),
            errors: $record.errors.values().sum(),
            whole: Some(CombinedResults {
                due: $record.due,
                shed: $record.shed,
                unsent: $record.unsent,
                behind_us: $record.behind_us,
                outage_s: $record.outage_s,
            }),
            bytes_in: $record.bytes_in,
            bytes_out: $record.bytes_out,
            service: &$record.service,
            response: $record.response.as_ref(),
            arrivals: Some(&$record.arrivals),
            opening: Some(&$record.opening),
            client_cpu: $record.client.as_ref().map(|client| client.cpu),
            server_cpu: None,
            pings: None,
            gauges: None,
        }
    };
}

impl<'a> Row<'a> {
    /// Returns the row of a segment at `now_s` of the session. For a segment with load, the length of the row is the
    /// time under load.
    pub fn of_segment(segment: &'a SegmentTotal, now_s: f64) -> Self {
        let start = &segment.start;
        let row = Self::of_interval(&segment.total);
        let lasted_s = segment.length_s(now_s);
        Self {
            start_s: start.t_s,
            t_s: start.t_s + lasted_s,
            length_s: if start.knobs.load { row.length_s } else { lasted_s },
            segment: start.segment,
            knobs: Some(&start.knobs),
            ops_per_s: row.ops_per_s.filter(|_| start.knobs.load),
            server_cpu: segment.cpu(),
            pings: Some(&segment.pings),
            gauges: Some(&segment.gauges),
            ..row
        }
    }

    /// Returns the row of an interval.
    pub fn of_interval(interval: &'a Interval) -> Self {
        let start_s = interval.t_s - interval.length_s - interval.paused_s;
        row!(interval, start_s, interval.t_s, interval.segment, interval.drain)
    }

    /// Returns the row of one operation, for the period of this row.
    pub fn of_operation(self, operation: &'a OperationInterval) -> Self {
        let in_rate = if self.is_drain { operation.ops } else { operation.in_rate() };
        Self {
            ops: operation.ops,
            drained: operation.drained,
            ops_per_s: (self.length_s > 0.0).then(|| in_rate as f64 / self.length_s),
            hits: Some(operation.hits),
            misses: Some(operation.misses),
            conflicts: Some(operation.conflicts),
            bytes_in: operation.bytes_in,
            bytes_out: operation.bytes_out,
            whole: None,
            errors: operation.errors.values().sum(),
            service: &operation.service,
            response: None,
            arrivals: None,
            opening: None,
            client_cpu: None,
            server_cpu: None,
            pings: None,
            gauges: None,
            ..self
        }
    }

    /// Returns the row of one node of a cluster, for the period of this row. Hits, misses and conflicts are not counted
    /// by node.
    pub fn of_node(self, node: &'a OperationInterval) -> Self {
        Self { hits: None, misses: None, conflicts: None, ..self.of_operation(node) }
    }

    /// Returns the row of a whole session.
    pub fn of_summary(summary: &'a Summary) -> Self {
        row!(summary, 0.0, summary.length_s, 0, false)
    }

    /// Sets the row's load settings.
    pub fn under(self, knobs: &'a Knobs) -> Self {
        Self { knobs: Some(knobs), ..self }
    }

    /// Returns whether the load was an open loop. In an open loop, requests are due at times that do not depend on the
    /// server.
    pub(super) fn is_open(&self) -> bool {
        self.knobs.map_or(self.response.is_some(), |knobs| knobs.load && knobs.rate.is_some())
    }
}
