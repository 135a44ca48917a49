//! A segment second by second: what a comparison with another needs to know its noise.

use crate::{
    session::Interval,
    stats::{Latency, Reservoir},
};

/// The shortest stretch that counts as a second: ticks end a little early or late.
const SECOND_S: f64 = 0.95;
/// So many latencies give a p99 that means something.
const ENOUGH: u64 = 1000;

/// Single seconds of a segment: a bounded sample of them, from all of its time.
///
/// Replies that came after the segment's end are in none of them.
#[derive(Debug, Clone, Default)]
pub struct Seconds {
    ops_per_s: Reservoir,
    service_p99_ns: Reservoir,
    response_p99_ns: Reservoir,
    length_s: f64,
    ops: u64,
    service: Stretch,
    response: Stretch,
}

/// Latencies of at least a second that are not yet enough for a p99.
#[derive(Debug, Clone, Default)]
struct Stretch {
    length_s: f64,
    latency: Latency,
}

impl Stretch {
    /// Adds a piece; the p99 of the stretch if that ends it.
    fn push(&mut self, length_s: f64, latency: &Latency) -> Option<f64> {
        self.length_s += length_s;
        self.latency.merge(latency);
        if self.length_s < SECOND_S || self.latency.count() < ENOUGH {
            return None;
        }
        let p99_ns = std::mem::take(self).latency.percentile(0.99)?;
        Some(p99_ns as f64)
    }
}

impl Seconds {
    /// Good replies per second of single seconds.
    pub fn ops_per_s(&self) -> &[f64] {
        self.ops_per_s.values()
    }

    /// The p99 of the service time in ns, of single seconds; of longer stretches where a second has fewer than 1000
    /// replies.
    pub fn service_p99_ns(&self) -> &[f64] {
        self.service_p99_ns.values()
    }

    /// The same of the response time; empty in closed loop.
    pub fn response_p99_ns(&self) -> &[f64] {
        self.response_p99_ns.values()
    }

    pub(super) fn push(&mut self, interval: &Interval) {
        let Interval { length_s, ops, .. } = *interval;
        if length_s <= 0.0 {
            return;
        }
        self.length_s += length_s;
        self.ops += ops;
        if self.length_s >= SECOND_S {
            self.ops_per_s.add(self.ops as f64 / self.length_s);
            (self.length_s, self.ops) = (0.0, 0);
        }
        if let Some(p99_ns) = self.service.push(length_s, &interval.service) {
            self.service_p99_ns.add(p99_ns);
        }
        let response = interval.response.as_ref().filter(|response| !response.is_empty());
        if let Some(p99_ns) = response.and_then(|response| self.response.push(length_s, response)) {
            self.response_p99_ns.add(p99_ns);
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

    #[test]
    fn four_ticks_are_a_second_and_late_replies_none() {
        let mut seconds = Seconds::default();
        (0..9).for_each(|n| seconds.push(&tick(100 + n, 300)));
        seconds.push(&Interval { length_s: 0.0, ops: 1_000_000, ..Interval::default() });
        assert_eq!(seconds.ops_per_s(), [406.0, 422.0]);
        assert_eq!(seconds.service_p99_ns().len(), 2);
        assert!(seconds.response_p99_ns().is_empty());
    }

    #[test]
    fn a_slow_load_has_a_p99_of_more_than_a_second() {
        let mut seconds = Seconds::default();
        (0..16).for_each(|_| seconds.push(&tick(100, 100)));
        assert_eq!((seconds.ops_per_s().len(), seconds.service_p99_ns().len()), (4, 1));
    }

    #[test]
    fn a_second_without_a_reply_counts_as_one() {
        let mut seconds = Seconds::default();
        (0..4).for_each(|_| seconds.push(&tick(0, 0)));
        assert_eq!(seconds.ops_per_s(), [0.0]);
        assert!(seconds.service_p99_ns().is_empty());
    }
}
