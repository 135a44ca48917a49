//! The values of each second of a segment in the timeline. Comparisons of segments estimate the noise from
//! these values.

use crate::{
    session::Interval,
    stats::{Latency, Series, TimeSeries},
};

/// The shortest time that counts as a full second, in seconds. Ticks (quarter seconds) may end a little early or late.
const SECOND_S: f64 = 0.95;
/// The smallest number of latencies for one value of the p99.
const ENOUGH: u64 = 1000;

/// The values of single seconds of a segment, in order. When there are too many values, each pair of neighbours is
/// replaced by its mean. The values therefore cover the whole segment.
///
/// Replies after the end of the segment are excluded.
#[derive(Debug, Clone, Default)]
pub struct Seconds {
    /// The good replies in each second.
    pub ops_per_s: PerSecond,
    /// The median service time of each second, in nanoseconds. With fewer than 1000 replies per second, each value
    /// covers more than a second.
    pub service_p50_ns: PerSecond,
    /// The p99 of the service times, in nanoseconds, for the same periods as the medians.
    pub service_p99_ns: PerSecond,
    /// The p99 of the response times, in nanoseconds. Empty in closed loop.
    pub response_p99_ns: PerSecond,
    length_s: f64,
    ops: u64,
    service: LatencyBatch,
    response: LatencyBatch,
}

/// The values of one quantity in single seconds of a segment.
#[derive(Debug, Clone, Default)]
pub struct PerSecond {
    series: Series,
    /// The total time of the added values, in seconds.
    length_s: f64,
    /// The number of added values.
    added: u32,
}

impl PerSecond {
    fn add(&mut self, length_s: f64, value: f64) {
        self.series.add(value);
        self.length_s += length_s;
        self.added += 1;
    }

    /// Returns the values as a time series that begins at `start_s`.
    pub fn stretch(&self, start_s: f64) -> TimeSeries<'_> {
        let of = self.series.each;
        let each_s = self.length_s / f64::from(self.added.max(1)) * f64::from(of);
        TimeSeries { start_s, each_s, of, values: &self.series.values }
    }
}

/// A collection of latencies. The collection is complete when its latencies cover a second, and are enough for a p99.
#[derive(Debug, Clone, Default)]
struct LatencyBatch {
    length_s: f64,
    latency: Latency,
}

impl LatencyBatch {
    /// Adds latencies of `length_s` seconds. Returns the collected latencies when the collection is complete.
    fn push(&mut self, length_s: f64, latency: &Latency) -> Option<Self> {
        self.length_s += length_s;
        self.latency.merge(latency);
        let is_whole = self.length_s >= SECOND_S && self.latency.count() >= ENOUGH;
        is_whole.then(|| std::mem::take(self))
    }

    fn add_to(&self, track: &mut PerSecond, percentile: f64) {
        if let Some(ns) = self.latency.percentile(percentile) {
            track.add(self.length_s, ns as f64);
        }
    }
}

impl Seconds {
    pub(super) fn push(&mut self, interval: &Interval) {
        let (length_s, ops) = (interval.timed_s(), interval.ops);
        if length_s <= 0.0 {
            return;
        }
        self.length_s += length_s;
        self.ops += ops;
        if self.length_s >= SECOND_S {
            self.ops_per_s.add(self.length_s, self.ops as f64 / self.length_s);
            (self.length_s, self.ops) = (0.0, 0);
        }
        if let Some(piece) = self.service.push(length_s, &interval.service) {
            piece.add_to(&mut self.service_p50_ns, 0.5);
            piece.add_to(&mut self.service_p99_ns, 0.99);
        }
        let response = interval.response.as_ref().filter(|response| !response.is_empty());
        if let Some(piece) = response.and_then(|response| self.response.push(length_s, response)) {
            piece.add_to(&mut self.response_p99_ns, 0.99);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::fixture::latency_of;

    fn tick(ops: u64, latencies: u64) -> Interval {
        let service = latency_of(1000..1000 + latencies);
        Interval { length_s: 0.25, ops, service, ..Interval::default() }
    }

    fn values(track: &PerSecond) -> &[f64] {
        track.stretch(0.0).values
    }

    #[test]
    fn four_ticks_are_a_second_and_late_replies_none() {
        let mut seconds = Seconds::default();
        (0..9).for_each(|n| seconds.push(&tick(100 + n, 300)));
        seconds.push(&Interval { length_s: 0.0, ops: 1_000_000, ..Interval::default() });
        assert_eq!(values(&seconds.ops_per_s), [406.0, 422.0]);
        assert_eq!(values(&seconds.service_p99_ns).len(), 2);
        assert!(values(&seconds.response_p99_ns).is_empty());
    }

    #[test]
    fn a_slow_load_has_a_p99_of_more_than_a_second() {
        let mut seconds = Seconds::default();
        (0..16).for_each(|_| seconds.push(&tick(100, 100)));
        let (ops, p50, p99) = (seconds.ops_per_s, seconds.service_p50_ns, seconds.service_p99_ns);
        assert_eq!((values(&ops).len(), values(&p50).len(), values(&p99).len()), (4, 1, 1));
        assert_eq!(
            (ops.stretch(7.0).each_s, p99.stretch(7.0).each_s, p99.stretch(7.0).start_s),
            (1.0, 2.5, 7.0)
        );
    }

    #[test]
    fn a_second_without_a_reply_counts_as_one() {
        let mut seconds = Seconds::default();
        (0..4).for_each(|_| seconds.push(&tick(0, 0)));
        assert_eq!(values(&seconds.ops_per_s), [0.0]);
        assert!(values(&seconds.service_p99_ns).is_empty());
    }
}
