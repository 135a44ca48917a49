//! Merges the quarter-second records of a live session into the one-second records of a recording.
//!
//! Merging loses no information. A merged record of the load or of PING never contains results of two segments, or of
//! two different seconds.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    Interval, Record, Span,
    part::{add_counts, merge_some},
};
use crate::probe;

/// The largest delay of the last interval of a second, in seconds. A worker ends an interval only when it wakes up.
pub(super) const LATE_S: f64 = 0.125;

/// Merges a session's quarter-second records into one-second records. Keeps each interval until its
/// second is over.
#[derive(Debug, Clone, Default)]
pub struct Coalesce {
    /// The records of each node that are not returned yet.
    nodes: BTreeMap<u16, HeldBack>,
    /// The start of the last segment of any node, in seconds of the session.
    segment_s: f64,
}

/// The records of one node that are not returned yet.
#[derive(Debug, Clone, Default)]
struct HeldBack {
    second: Option<f64>,
    /// The intervals that are not returned yet. The key consists of the segment's number, whether the length is 0, and
    /// whether the interval is a drain (the last replies of a segment). Only intervals with the same key are merged.
    intervals: BTreeMap<(u32, bool, bool), Box<Interval>>,
    ping: Option<Span<probe::Ping>>,
    /// The pings of the segments that have ended since the last flush.
    earlier_pings: Vec<Span<probe::Ping>>,
    wake: Option<Span<probe::Wake>>,
    intrinsic: Option<Span<probe::Intrinsic>>,
}

impl Coalesce {
    /// Adds a record. Returns the records that are complete and can be written now, in order.
    pub fn push(&mut self, record: &Arc<Record>) -> Vec<Arc<Record>> {
        if let Record::Segment(segment) = &**record {
            self.segment_s = segment.t_s;
        }
        let node = self.nodes.entry(record.node().unwrap_or_default()).or_default();
        if let (Record::Ping(span), Some(held)) = (&**record, &node.ping) {
            if span.t_s < held.t_s {
                return vec![Arc::clone(record)]; // late replies of an earlier segment
            }
            if (held.t_s..span.t_s).contains(&self.segment_s) {
                node.earlier_pings.extend(node.ping.take());
            }
        }
        node.push(record)
    }

    /// Returns all records that were not returned before. Call this if a session ends without an end record.
    pub fn rest(&mut self) -> Vec<Arc<Record>> {
        let mut out = Vec::new();
        self.nodes.values_mut().for_each(|sum| sum.flush(&mut out));
        out
    }
}

impl HeldBack {
    fn push(&mut self, record: &Arc<Record>) -> Vec<Arc<Record>> {
        let mut out = Vec::new();
        if matches!(**record, Record::Segment(_) | Record::End(_)) {
            self.flush(&mut out);
            out.push(Arc::clone(record));
            return out;
        }
        let Some(t_s) = record.length_s().and(record.t_s()) else { return vec![Arc::clone(record)] };
        let second = (t_s - LATE_S).floor();
        if self.second.is_some_and(|sum| second > sum) {
            self.flush(&mut out);
        }
        self.second = Some(self.second.map_or(second, |sum| sum.max(second)));
        self.hold(record);
        out
    }

    fn hold(&mut self, record: &Record) {
        match record {
            Record::Interval(interval) => {
                let is_late = interval.length_s <= 0.0;
                self.intervals
                    .entry((interval.segment, is_late, interval.drain))
                    .and_modify(|sum| sum.merge(interval))
                    .or_insert_with(|| interval.clone());
            }
            Record::Ping(span) => hold_span(&mut self.ping, span, merge_pings),
            Record::Wake(span) => hold_span(&mut self.wake, span, |sum, new| sum.late.merge(&new.late)),
            Record::Intrinsic(span) => hold_span(&mut self.intrinsic, span, |sum, new| {
                sum.gentle = new.gentle;
                sum.busy_ns += new.busy_ns;
                sum.runs += new.runs;
                sum.gaps.merge(&new.gaps);
                sum.remaining_s = new.remaining_s;
            }),
            _ => {}
        }
    }

    fn flush(&mut self, out: &mut Vec<Arc<Record>>) {
        self.second = None;
        let interval = |of| Arc::new(Record::Interval(of));
        for span in std::mem::take(&mut self.earlier_pings) {
            let is_earlier = |_: &_, of: &mut Box<Interval>| !of.drain && of.t_s <= span.t_s;
            out.extend(self.intervals.extract_if(.., is_earlier).map(|(_, of)| interval(of)));
            out.push(Arc::new(Record::Ping(Box::new(span))));
        }
        out.extend(std::mem::take(&mut self.intervals).into_values().map(interval));
        out.extend(self.ping.take().map(|span| Arc::new(Record::Ping(Box::new(span)))));
        out.extend(self.wake.take().map(|span| Arc::new(Record::Wake(span))));
        out.extend(self.intrinsic.take().map(|span| Arc::new(Record::Intrinsic(span))));
    }
}

fn hold_span<T: Clone>(sum: &mut Option<Span<T>>, span: &Span<T>, merge: impl FnOnce(&mut T, &T)) {
    match sum {
        None => *sum = Some(span.clone()),
        Some(sum) => {
            (sum.t_s, sum.tick) = (span.t_s, span.tick);
            sum.length_s += span.length_s;
            merge(&mut sum.body, &span.body);
        }
    }
}

/// Adds the ping record `new` to `sum`, which contains the earlier ping records. Fields that describe the end
/// of the period are taken from `new`.
fn merge_pings(sum: &mut probe::Ping, new: &probe::Ping) {
    sum.rtt.merge(&new.rtt);
    sum.timing = new.timing.or(sum.timing);
    merge_some(&mut sum.send, new.send.as_ref());
    merge_some(&mut sum.kernel, new.kernel.as_ref());
    merge_some(&mut sum.pickup, new.pickup.as_ref());
    add_counts(&mut sum.left_out, &new.left_out);
    sum.tcp = new.tcp;
    add_counts(&mut sum.errors, &new.errors);
    sum.waiting_us = new.waiting_us;
    sum.unanswered.clone_from(&new.unanswered);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        knobs::Knobs,
        probe::{TcpRtt, Timing},
        session::Segment,
        stats::fixture::latency_of,
    };

    fn interval(segment: u32, t_s: f64, ops: u64) -> Arc<Record> {
        let ops_per_s = ops as f64 * 4.0;
        Arc::new(Record::Interval(Box::new(Interval {
            t_s,
            length_s: 0.25,
            segment,
            ops,
            ops_per_s,
            ..Interval::default()
        })))
    }

    fn all(records: &[Arc<Record>]) -> Vec<(u32, f64, f64, u64)> {
        let mut coalesce = Coalesce::default();
        let mut out: Vec<_> = records.iter().flat_map(|r| coalesce.push(r)).collect();
        out.extend(coalesce.rest());
        let figures = |r: &Arc<Record>| match &**r {
            Record::Interval(i) => Some((i.segment, i.t_s, i.length_s, i.ops)),
            _ => None,
        };
        out.iter().filter_map(figures).collect()
    }

    #[test]
    fn four_ticks_make_a_second() {
        let ticks: Vec<_> = (1..=8).map(|tick| interval(1, f64::from(tick) * 0.25 + 0.002, 10)).collect();
        assert_eq!(all(&ticks), [(1, 1.002, 1.0, 40), (1, 2.002, 1.0, 40)]);
    }

    fn ping(t_s: f64, body: probe::Ping) -> Arc<Record> {
        Arc::new(Record::Ping(Box::new(Span::new(t_s, 0.25, body))))
    }

    #[test]
    fn merged_pings_keep_all_their_parts() {
        let tick = |ns: u64| probe::Ping {
            rtt: latency_of([ns + 7, ns + 9]),
            timing: Some(Timing::Kernel),
            send: Some(latency_of([1])),
            kernel: Some(latency_of([ns])),
            pickup: Some(latency_of([6])),
            left_out: [("shared read".to_owned(), 1)].into(),
            tcp: Some(TcpRtt { rtt_us: ns as u32, rtt_var_us: 3, rtt_min_us: None }),
            errors: BTreeMap::new(),
            waiting_us: ns,
            unanswered: latency_of([ns * 1_000]),
        };
        let unknown = probe::Ping { timing: None, ..probe::Ping::default() };
        let ticks = [ping(0.25, unknown), ping(0.5, tick(100)), ping(0.75, tick(900)), ping(1.0, tick(300))];
        let mut coalesce = Coalesce::default();
        assert!(ticks.iter().all(|tick| coalesce.push(tick).is_empty()));
        let second = coalesce.rest();
        let body = probe::Ping {
            rtt: latency_of([107, 109, 907, 909, 307, 309]),
            timing: Some(Timing::Kernel),
            send: Some(latency_of([1, 1, 1])),
            kernel: Some(latency_of([100, 900, 300])),
            pickup: Some(latency_of([6, 6, 6])),
            left_out: [("shared read".to_owned(), 3)].into(),
            tcp: Some(TcpRtt { rtt_us: 300, rtt_var_us: 3, rtt_min_us: None }),
            errors: BTreeMap::new(),
            waiting_us: 300,
            unanswered: latency_of([300_000]),
        };
        assert_eq!(second, [Arc::new(Record::Ping(Box::new(Span::new(1.0, 1.0, body))))]);
    }

    #[test]
    fn pings_of_two_segments_are_never_merged() {
        let pings = |t_s, n| ping(t_s, probe::Ping { rtt: latency_of(vec![5; n]), ..probe::Ping::default() });
        let segment = |t_s, number| Arc::new(Record::Segment(Segment::new(t_s, number, Knobs::default())));
        let records = [
            segment(0.0, 1),
            pings(0.25, 1),
            segment(0.4, 2),
            pings(0.4, 2),
            interval(1, 0.4, 9),
            pings(0.5, 4),
            interval(2, 0.5, 9),
            pings(0.75, 8),
            pings(0.4, 16),
        ];
        let mut coalesce = Coalesce::default();
        let mut out: Vec<_> = records.iter().flat_map(|record| coalesce.push(record)).collect();
        out.extend(coalesce.rest());
        let seen = |record: &Arc<Record>| match &**record {
            Record::Ping(span) => Some((span.t_s, span.body.rtt.count())),
            Record::Interval(interval) => Some((interval.t_s, interval.ops)),
            _ => None,
        };
        let seen: Vec<_> = out.iter().filter_map(seen).collect();
        assert_eq!(seen, [(0.25, 1), (0.4, 16), (0.4, 9), (0.4, 2), (0.5, 9), (0.75, 12)]);
    }

    #[test]
    fn late_replies_are_not_merged_into_the_rate_of_their_second() {
        let mut late = interval(1, 1.0, 90);
        if let Record::Interval(late) = Arc::make_mut(&mut late) {
            (late.length_s, late.ops_per_s) = (0.0, 0.0);
        }
        let ticks = [interval(1, 0.75, 10), interval(1, 1.0, 10), late.clone(), late];
        assert_eq!(all(&ticks), [(1, 1.0, 0.5, 20), (1, 1.0, 0.0, 180)]);
    }

    #[test]
    fn a_drain_is_merged_only_with_the_same_drain() {
        let mut drain = interval(1, 1.0, 90);
        if let Record::Interval(drain) = Arc::make_mut(&mut drain) {
            (drain.drain, drain.drained) = (true, 90);
        }
        let ticks = [interval(1, 0.75, 10), interval(1, 1.0, 10), drain];
        assert_eq!(all(&ticks), [(1, 1.0, 0.5, 20), (1, 1.0, 0.25, 90)]);
    }

    #[test]
    fn intervals_of_two_segments_are_never_merged() {
        let border = Arc::new(Record::Segment(Segment::new(0.6, 2, Knobs::default())));
        let records =
            [interval(1, 0.25, 1), interval(1, 0.5, 1), border, interval(1, 0.6, 1), interval(2, 1.0, 5)];
        assert_eq!(all(&records), [(1, 0.5, 0.5, 2), (1, 0.6, 0.25, 1), (2, 1.0, 0.25, 5)]);
    }
}
