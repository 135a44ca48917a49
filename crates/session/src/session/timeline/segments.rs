//! The results of each segment in the timeline.

use std::{collections::VecDeque, sync::Arc};

use super::{GaugeMeans, Seconds};
use crate::{
    probe::Ping,
    session::{Interval, Segment, Span, Summary},
    stats::Latency,
};

/// The largest number of listed segments. For older segments, only the settings of each segment and one sum of all
/// figures are kept.
const KEPT: usize = 200;

/// One segment, and the sum of its intervals.
#[derive(Debug, Clone)]
pub struct SegmentTotal {
    /// The record of the segment: its start, its number and its load settings.
    pub start: Segment,
    /// The end of the segment; `None` for the current segment.
    pub ended_s: Option<f64>,
    /// The sum of all intervals of the segment.
    pub total: Interval,
    /// The values of single seconds of the segment, for comparisons.
    pub seconds: Seconds,
    /// The round trips of PING in the segment.
    pub pings: Latency,
    /// PINGs without a good reply in the segment.
    pub pings_lost: u64,
    /// The means of gauges in the segment.
    pub gauges: GaugeMeans,
    /// Whether a search does not count this segment. Either the last trial in the segment was disturbed, or the segment
    /// is the pause after a failed trial.
    pub is_uncounted: bool,
    /// The time without a recording, between two files, in seconds.
    unrecorded_s: f64,
    cpu: (f64, f64),
}

impl SegmentTotal {
    /// Returns the mean share of a core that the server used during this segment, from polls of its CPU time.
    pub fn cpu(&self) -> Option<f64> {
        Self::mean_cpu(&[self])
    }

    /// Returns the mean share of a core that the server used during several segments.
    pub fn mean_cpu(segments: &[&Self]) -> Option<f64> {
        let (sum, length_s) =
            segments.iter().fold((0.0, 0.0), |sum, segment| (sum.0 + segment.cpu.0, sum.1 + segment.cpu.1));
        (length_s > 0.0).then(|| sum / length_s)
    }

    /// Returns whether the load was measured. A measured load has answered, failed or dropped requests in the segment.
    /// Prefills and warm-ups do not count as measured.
    pub fn is_measured(&self) -> bool {
        let is_loaded = self.start.knobs.load && self.start.aside().is_none();
        is_loaded && (self.total.ops > 0 || !self.total.errors.is_empty() || self.total.shed > 0)
    }

    /// Returns the recorded length of the segment in seconds. The current segment lasts to `now_s`.
    pub fn length_s(&self, now_s: f64) -> f64 {
        (self.ended_s.unwrap_or(now_s) - self.start.t_s - self.unrecorded_s).max(0.0)
    }
}

/// The segments of a session.
#[derive(Debug, Clone)]
pub struct Segments {
    /// The largest number of listed segments.
    most: usize,
    /// The listed segments. Copies of the list share the segments that have not changed.
    kept: VecDeque<Arc<SegmentTotal>>,
    older: Summary,
    /// The settings of the segments that are no longer listed, oldest first.
    older_starts: Vec<Arc<Segment>>,
    /// The rate of the current segment's last trial, if this trial of a search failed.
    failed_rate: Option<u32>,
    /// The number of segments that are no longer listed.
    pub forgotten: u64,
}

impl Default for Segments {
    fn default() -> Self {
        let (kept, older_starts) = (VecDeque::new(), Vec::new());
        Self { most: KEPT, kept, older: Summary::default(), older_starts, failed_rate: None, forgotten: 0 }
    }
}

/// Returns the rate of the pause after a failed trial of a search. The result is half the rate of the trial, both in
/// requests per second.
pub fn rate_of_pause(trial: u32) -> u32 {
    (trial / 2).max(1)
}

impl Segments {
    /// Returns a list that keeps all segments.
    pub(super) fn all() -> Self {
        Self { most: usize::MAX, ..Self::default() }
    }

    /// Returns the current segment.
    pub fn current(&self) -> Option<&SegmentTotal> {
        self.kept.back().map(Arc::as_ref)
    }

    /// Returns the settings of all segments, including the segments that are no longer listed, oldest first.
    pub fn starts(&self) -> impl DoubleEndedIterator<Item = &Segment> {
        self.older_starts.iter().map(Arc::as_ref).chain(self.iter().map(|segment| &segment.start))
    }

    /// Returns the settings at `t_s`. At the border of two segments, returns the settings of the earlier segment.
    pub fn start_at(&self, t_s: f64) -> Option<&Segment> {
        let listed = self.iter().rev().map(|segment| &segment.start).find(|start| start.t_s < t_s);
        let older = || self.older_starts[..self.older_starts.partition_point(|start| start.t_s < t_s)].last();
        let first = || self.starts().next().filter(|start| start.t_s <= t_s);
        listed.or_else(|| older().map(Arc::as_ref)).or_else(first)
    }

    /// Returns the segment at `t_s`, if this segment is still listed. At the border of two segments, returns the
    /// earlier segment.
    pub fn holding_at(&self, t_s: f64) -> Option<&SegmentTotal> {
        let began_before = |segment: &&SegmentTotal| segment.start.t_s < t_s;
        let first = || self.iter().next().filter(|segment| segment.start.t_s <= t_s);
        self.iter().rev().find(began_before).or_else(first)
    }

    /// Returns the latest segment with good replies.
    pub fn last_busy(&self) -> Option<&SegmentTotal> {
        self.iter().rev().find(|segment| segment.total.ops > 0)
    }

    /// Returns the listed segments, oldest first: the last 200. Earlier segments are included only in the
    /// [`starts`](Self::starts) and in the [`summary`](Self::summary).
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &SegmentTotal> {
        self.kept.iter().map(Arc::as_ref)
    }

    /// Returns the listed segments under load, without prefill and warm-up. If there are none, returns all
    /// listed segments.
    pub fn measured(&self) -> Vec<&SegmentTotal> {
        let is_measured = |of: &&SegmentTotal| of.start.knobs.load && of.start.aside().is_none();
        let measured: Vec<_> = self.iter().filter(is_measured).collect();
        if measured.is_empty() { self.iter().collect() } else { measured }
    }

    /// Returns the sum of all segments except prefill and warm-up. The summary contains no messages of errors.
    pub fn summary(&self) -> Summary {
        let mut sum = self.older.clone();
        self.iter().for_each(|segment| add(&mut sum, segment));
        sum
    }

    pub(super) fn begin(&mut self, start: &Segment) {
        // The load has begun no later than this node's segment without load.
        if let Some(current) = self.kept.back_mut().filter(|_| start.is_part)
            && (current.start.segment == start.segment || current.start.t_s >= start.t_s)
        {
            let current = Arc::make_mut(current);
            current.total.segment = start.segment;
            current.start = Segment { t_s: current.start.t_s.max(start.t_s), ..start.clone() };
            return;
        }
        if let Some(current) = self.kept.back_mut() {
            let current = Arc::make_mut(current);
            current.ended_s = Some(start.t_s);
            // A clone releases the unused capacity.
            current.total = current.total.clone();
        }
        let total = Interval { segment: start.segment, ..Interval::default() };
        let pause_rate = self.failed_rate.take().map(rate_of_pause);
        let is_uncounted = pause_rate.is_some() && start.knobs.rate == pause_rate;
        let (start, seconds) = (start.clone(), Seconds::default());
        let (cpu, pings) = ((0.0, 0.0), Latency::default());
        let begun = SegmentTotal {
            start,
            ended_s: None,
            total,
            seconds,
            pings,
            pings_lost: 0,
            gauges: GaugeMeans::default(),
            is_uncounted,
            unrecorded_s: 0.0,
            cpu,
        };
        self.kept.push_back(Arc::new(begun));
        if self.kept.len() > self.most
            && let Some(oldest) = self.kept.pop_front()
        {
            add(&mut self.older, &oldest);
            self.keep_start(&oldest.start);
            self.forgotten += 1;
        }
    }

    /// Stores the settings of a segment that is no longer listed. Equal workloads are stored once.
    fn keep_start(&mut self, start: &Segment) {
        let mut start = start.clone();
        if let Some(last) = self.older_starts.last()
            && last.knobs.workload == start.knobs.workload
        {
            start.knobs.workload = last.knobs.workload.clone();
        }
        self.older_starts.push(Arc::new(start));
    }

    /// Returns the segment with this number, if this segment is still listed.
    pub fn numbered(&self, number: u32) -> Option<&SegmentTotal> {
        self.iter().find(|segment| segment.start.segment == number)
    }

    /// Adds a report of the ping probe to its segment. A report that ends with a segment may arrive after the beginning
    /// of the next segment.
    pub(super) fn push_pings(&mut self, Span { t_s, body: ping, .. }: &Span<Ping>) {
        let at = self.kept.iter().rposition(|segment| segment.start.t_s < *t_s).unwrap_or_default();
        if let Some(segment) = self.kept.get_mut(at) {
            let segment = Arc::make_mut(segment);
            segment.pings.merge(&ping.rtt);
            segment.pings_lost += ping.errors.values().sum::<u64>();
        }
    }

    /// Adds a time without a recording, between two files, to the current segment.
    pub(super) fn push_gap(&mut self, length_s: f64) {
        if let Some(current) = self.kept.back_mut() {
            Arc::make_mut(current).unrecorded_s += length_s;
        }
    }

    /// Adds the result of a search's trial to the current segment.
    pub(super) fn push_trial(&mut self, rate: u32, is_held: bool, is_disturbed: bool) {
        self.failed_rate = (!is_held).then_some(rate);
        if let Some(current) = self.kept.back_mut() {
            Arc::make_mut(current).is_uncounted = is_disturbed;
        }
    }

    /// Adds figures of the server or of redyno's machine to the means of the current segment.
    pub(super) fn push_gauges(&mut self, add: impl FnOnce(&mut GaugeMeans)) {
        if let Some(current) = self.kept.back_mut() {
            add(&mut Arc::make_mut(current).gauges);
        }
    }

    /// Adds the share of a core that the server used from `since_s` to now. Ignores the share if the current segment
    /// began after `since_s`.
    pub(super) fn push_cpu(&mut self, since_s: f64, length_s: f64, cpu: f64) {
        if let Some(current) = self.kept.back_mut().filter(|current| current.start.t_s <= since_s) {
            let (sum, over_s) = &mut Arc::make_mut(current).cpu;
            *sum += cpu * length_s;
            *over_s += length_s;
        }
    }

    /// Adds an interval to its segment, without its results by node. If the segment is no longer listed, the interval is
    /// added to the sum of older segments.
    pub(super) fn push(&mut self, interval: &Interval) {
        match self.of_interval(interval) {
            Some(segment) => {
                segment.total.add_whole(interval);
                segment.seconds.push(interval);
            }
            // The segment is no longer listed. Such a late interval contains replies to requests that were
            // sent under load.
            None => self.older.add(interval, true),
        }
    }

    /// Adds the results by node and by agent to the segment of the interval, if this segment is still listed.
    pub(super) fn push_by_node(&mut self, interval: &Interval) {
        if let Some(segment) = self.of_interval(interval) {
            segment.total.add_nodes(interval);
        }
    }

    fn of_interval(&mut self, interval: &Interval) -> Option<&mut SegmentTotal> {
        let of = self.kept.iter_mut().rev().find(|segment| segment.start.segment == interval.segment);
        of.map(Arc::make_mut)
    }
}

fn add(sum: &mut Summary, segment: &SegmentTotal) {
    if segment.start.aside().is_none() {
        sum.add(&segment.total, segment.start.knobs.load);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::Knobs;

    fn segment(number: u32, warmup: bool) -> Segment {
        let knobs = Knobs { load: true, ..Knobs::default() };
        Segment { warmup, ..Segment::new(f64::from(number), number, knobs) }
    }

    fn interval(segment: u32, ops: u64) -> Interval {
        Interval { segment, ops, length_s: 0.25, ..Interval::default() }
    }

    #[test]
    fn late_replies_count_for_the_segment_of_their_request() {
        let mut segments = Segments::default();
        segments.begin(&segment(1, false));
        segments.push(&interval(1, 10));
        segments.begin(&segment(2, false));
        segments.push(&interval(2, 5));
        segments.push(&Interval { length_s: 0.0, ..interval(1, 3) });
        let ops: Vec<_> = segments.iter().map(|s| (s.total.ops, s.ended_s)).collect();
        assert_eq!(ops, [(13, Some(2.0)), (5, None)]);
    }

    #[test]
    fn pings_count_for_the_segment_at_whose_end_their_report_ends() {
        let mut segments = Segments::default();
        let report = |t_s, pings| {
            Span::new(
                t_s,
                0.25,
                Ping { rtt: crate::stats::fixture::repeated(1_000, pings), ..Ping::default() },
            )
        };
        segments.begin(&segment(1, false));
        segments.push_pings(&report(1.25, 25));
        segments.begin(&segment(2, false));
        segments.push_pings(&report(2.0, 5));
        segments.push_pings(&report(2.25, 7));
        assert_eq!(segments.iter().map(|s| s.pings.count()).collect::<Vec<_>>(), [30, 7]);
    }

    #[test]
    fn the_summary_leaves_the_warm_up_out_and_keeps_forgotten_segments() {
        let mut segments = Segments::default();
        segments.begin(&segment(1, true));
        segments.push(&interval(1, 1000));
        for number in 2..=302 {
            segments.begin(&segment(number, false));
            segments.push(&interval(number, 2));
        }
        assert_eq!(segments.iter().count(), 200);
        assert_eq!(segments.forgotten, 102);
        let at = |t_s| segments.start_at(t_s).map(|start| start.segment);
        assert_eq!(
            [0.5, 1.0, 1.5, 102.5, 103.0, 103.5, 999.0].map(at),
            [None, Some(1), Some(1), Some(102), Some(102), Some(103), Some(302)]
        );
        assert_eq!(segments.starts().count(), 302);
        let summary = segments.summary();
        assert_eq!((summary.ops, summary.length_s), (602, 301.0 * 0.25));
        assert_eq!(summary.ops_per_s, 8.0);
    }
}
