//! What figures are read from: a row is a segment, an interval, an operation or a whole session.

use super::{Interval, Opening, OperationInterval, Summary, timeline::SegmentTotal};
use crate::{knobs::Knobs, stats::Latency};

/// What figures are read from.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    /// When its stretch began, in seconds of the session.
    pub start_s: f64,
    /// When it ended.
    pub t_s: f64,
    /// How long that was.
    pub length_s: f64,
    /// The segment; 0 of a whole session.
    pub segment: u32,
    /// Its knobs, where one setting held.
    pub knobs: Option<&'a Knobs>,
    /// Good replies.
    pub ops: u64,
    /// Those of them that came after the end of the load, or of the segment.
    pub drained: u64,
    /// Whether these are in the rate: in open loop, and in the drain's own.
    pub counts_drained: bool,
    /// Good replies per second under load; `None` where no time under load was measured.
    pub ops_per_s: Option<f64>,
    /// Reads that found their key, and those that did not.
    pub hits: u64,
    /// See [`hits`](Self::hits).
    pub misses: u64,
    /// Writes that lost a race: a `cas` whose item somebody else had changed.
    pub conflicts: u64,
    /// Requests that failed.
    pub errors: u64,
    /// Bytes read from the server, and bytes written to it.
    pub bytes_in: u64,
    /// See [`bytes_in`](Self::bytes_in).
    pub bytes_out: u64,
    /// What is known of all operations together only; `None` of one of them.
    pub whole: Option<Whole>,
    /// From the write of a request to its reply.
    pub service: &'a Latency,
    /// From when it was due; `None` in closed loop.
    pub response: Option<&'a Latency>,
    /// What connections took to open; `None` of an operation.
    pub opening: Option<&'a Opening>,
    /// The share of a core that redyno's busiest worker used.
    pub client_cpu: Option<f64>,
    /// The server's share of a core.
    pub server_cpu: Option<f64>,
}

/// What no operation has of its own.
#[derive(Debug, Clone, Copy)]
pub struct Whole {
    /// Requests that were due.
    pub due: u64,
    /// Requests that were given up on purpose.
    pub shed: u64,
    /// Requests that were due and not sent at the end.
    pub unsent: u64,
    /// How late the oldest due, unsent request was at most.
    pub behind_us: u64,
    /// Seconds without any connection, because all were lost.
    pub outage_s: f64,
}

/// The row of a record of the load.
macro_rules! row {
    ($record:ident, $start_s:expr, $t_s:expr, $segment:expr, $counts_drained:expr) => {
        Row {
            start_s: $start_s,
            t_s: $t_s,
            length_s: $record.length_s,
            segment: $segment,
            knobs: None,
            ops: $record.ops,
            drained: $record.drained,
            counts_drained: $counts_drained,
            ops_per_s: ($record.length_s > 0.0).then_some($record.ops_per_s),
            hits: $record.hits,
            misses: $record.misses,
            conflicts: $record.conflicts,
            errors: $record.errors.values().sum(),
            whole: Some(Whole {
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
            opening: Some(&$record.opening),
            client_cpu: $record.client.as_ref().map(|client| client.cpu),
            server_cpu: None,
        }
    };
}

impl<'a> Row<'a> {
    /// A segment, at the moment `now_s` of the session. Under load its length is the time under load.
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
            ..row
        }
    }

    /// An interval.
    pub fn of_interval(interval: &'a Interval) -> Self {
        let start_s = interval.t_s - interval.length_s - interval.paused_s;
        let counts_drained = interval.drain || interval.response.is_some();
        row!(interval, start_s, interval.t_s, interval.segment, counts_drained)
    }

    /// An operation in this interval.
    pub fn of_operation(self, operation: &'a OperationInterval) -> Self {
        Self {
            ops: operation.ops,
            drained: operation.drained,
            ops_per_s: (self.length_s > 0.0)
                .then(|| operation.in_rate(self.counts_drained) as f64 / self.length_s),
            hits: operation.hits,
            misses: operation.misses,
            conflicts: operation.conflicts,
            bytes_in: operation.bytes_in,
            bytes_out: operation.bytes_out,
            whole: None,
            errors: operation.errors.values().sum(),
            service: &operation.service,
            response: None,
            opening: None,
            client_cpu: None,
            server_cpu: None,
            ..self
        }
    }

    /// A whole session, of which `length_s` were under load.
    pub fn of_summary(summary: &'a Summary) -> Self {
        row!(summary, 0.0, summary.length_s, 0, summary.response.is_some())
    }

    /// The same under these knobs.
    pub fn under(self, knobs: &'a Knobs) -> Self {
        Self { knobs: Some(knobs), ..self }
    }

    /// Whether requests are due in it whatever the server does.
    pub(super) fn is_open(&self) -> bool {
        self.knobs.map_or(self.response.is_some(), |knobs| knobs.load && knobs.rate.is_some())
    }
}
