//! Builds a sample of this machine's figures from counters. Rates are the differences between the counters now and in
//! the previous sample.

use std::sync::Arc;

use super::HostSample;
use crate::gauge::{Gauge, Gauges};

/// The shortest time over which rates and shares are computed, in seconds. The kernel counts CPU time in hundredths of
/// a second.
const SHORTEST_S: f64 = 0.1;

/// A sample under construction.
pub(super) struct SampleBuilder<'a> {
    /// The content of the sample so far.
    pub(super) sample: HostSample,
    /// The counters at the previous reading. Each counter is stored under the gauge that is computed from it.
    counters: &'a mut Gauges,
}

impl<'a> SampleBuilder<'a> {
    /// Begins a sample `passed_s` seconds after the previous sample. `counters` are the counters of the
    /// previous sample.
    pub(super) fn new(passed_s: Option<f64>, counters: &'a mut Gauges) -> Self {
        let sample_s = passed_s.filter(|s| *s >= SHORTEST_S);
        Self { sample: HostSample { sample_s, ..HostSample::default() }, counters }
    }

    /// Continues another sample.
    pub(super) fn after(sample: HostSample, counters: &'a mut Gauges) -> Self {
        Self { sample, counters }
    }

    /// Sets a gauge to a value. A value of -0, such as an empty sum, becomes 0.
    pub(super) fn level(&mut self, gauge: Gauge, value: Option<f64>) {
        self.sample.gauges.set(gauge, value.map(|value| value + 0.0));
    }

    /// Sets a gauge to the increase of `counter` per second. The gauge has no value in the first sample, and in a
    /// sample less than 0.1 s after the previous sample. The gauge also has no value if the counter has decreased.
    pub(super) fn rate(&mut self, gauge: Gauge, counter: Option<f64>) {
        let added = counter.zip(self.counters.get(gauge)).map(|(now, before)| now - before);
        self.counters.set(gauge, counter);
        let rate = added.filter(|added| *added >= 0.0).zip(self.sample.sample_s);
        self.level(gauge, rate.map(|(added, passed_s)| added / passed_s));
    }

    /// Sets a gauge to a share. The share is the increase of `counter_s`, in seconds, divided by the time since the
    /// previous sample. The share is at most 1. The quotient can be larger than 1. One reason is that the counter and
    /// redyno's clock are not read at the same moment. Another reason is that the counter may add up the times of
    /// several cores.
    pub(super) fn share(&mut self, gauge: Gauge, counter_s: Option<f64>) {
        self.rate(gauge, counter_s);
        let share = self.sample.gauges.get(gauge).map(|share| share.min(1.0));
        self.level(gauge, share);
    }

    /// Records that a part of the sample cannot be read, and why.
    pub(super) fn add_missing(&mut self, part: &str, why: impl Into<String>) {
        Arc::make_mut(&mut self.sample.missing).insert(part.to_owned(), why.into());
    }

    /// Returns the value of `read`. If the reading has failed, records the reason and returns `None`.
    pub(super) fn known<T>(&mut self, part: &str, read: Result<T, String>) -> Option<T> {
        read.map_err(|why| self.add_missing(part, why)).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_needs_two_readings_that_do_not_go_back() {
        let mut counters = Gauges::default();
        let mut rate = |passed_s: Option<f64>, counter: f64| {
            let mut draft = SampleBuilder::new(passed_s, &mut counters);
            draft.rate(Gauge::HostSwapIn, Some(counter));
            draft.sample.gauges.get(Gauge::HostSwapIn)
        };
        assert_eq!(rate(None, 100.0), None);
        assert_eq!(rate(Some(2.0), 110.0), Some(5.0));
        assert_eq!(rate(Some(1.0), 4.0), None);
        assert_eq!(rate(Some(1.0), 5.0), Some(1.0));
        assert_eq!(rate(Some(0.01), 6.0), None);
    }
}
