//! Divides the run time of a probe into ticks. A tick ends at a multiple of its length, so the ticks of all threads end
//! at the same times.

use std::time::Duration;

use super::ProbeReport;

/// The current tick of a probe.
pub(super) struct Ticker {
    length_ns: u64,
    /// The time when this tick began, in ns.
    pub(super) start_ns: u64,
    /// The time when this tick ends, in ns.
    pub(super) end_ns: u64,
}

impl Ticker {
    /// Creates a ticker. The first tick begins at `now_ns` and ends at the next multiple of `length`. A length of zero
    /// counts as 1 ns.
    pub(super) fn new(length: Duration, now_ns: u64) -> Self {
        let length_ns = u64::try_from(length.as_nanos()).unwrap_or(u64::MAX).max(1);
        let mut ticker = Self { length_ns, start_ns: 0, end_ns: 0 };
        ticker.restart(now_ns);
        ticker
    }

    /// Begins a new tick at `now_ns`, after a time without reports.
    pub(super) fn restart(&mut self, now_ns: u64) {
        self.start_ns = now_ns;
        self.end_ns = (now_ns / self.length_ns).saturating_add(1).saturating_mul(self.length_ns);
    }

    /// Closes the tick if it is over at `now_ns`. If a thread has slept through several ticks, the thread sends one
    /// report for all these ticks. redyno does not know the tick of each sample.
    pub(super) fn close_if_over<T>(
        &mut self,
        now_ns: u64,
        body: impl FnOnce() -> T,
    ) -> Option<ProbeReport<T>> {
        self.over(now_ns).map(|end_ns| self.close(end_ns, body()))
    }

    /// Returns the end of the tick if the tick is over at `now_ns`. If several ticks were missed, returns the end of
    /// the last of these ticks.
    pub(super) fn over(&self, now_ns: u64) -> Option<u64> {
        (now_ns >= self.end_ns).then(|| now_ns / self.length_ns * self.length_ns)
    }

    /// Closes the tick at `at_ns`, before the planned end of the tick.
    pub(super) fn close<T>(&mut self, at_ns: u64, body: T) -> ProbeReport<T> {
        let report = ProbeReport { start_ns: self.start_ns, end_ns: at_ns, body };
        self.restart(at_ns);
        report
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn closed(ticker: &mut Ticker, now_ns: u64) -> Option<(u64, u64)> {
        ticker.close_if_over(now_ns, || ()).map(|report| (report.start_ns, report.end_ns))
    }

    #[test]
    fn ticks_end_at_absolute_multiples_and_follow_each_other() {
        let mut ticker = Ticker::new(Duration::from_nanos(250), 30);
        assert_eq!(closed(&mut ticker, 249), None);
        assert_eq!(closed(&mut ticker, 251), Some((30, 250)));
        assert_eq!(closed(&mut ticker, 500), Some((250, 500)));
    }

    #[test]
    fn several_missed_ticks_are_one_report() {
        let mut ticker = Ticker::new(Duration::from_nanos(250), 0);
        assert_eq!(closed(&mut ticker, 1_130), Some((0, 1_000)));
        assert_eq!(ticker.end_ns, 1_250);
    }

    #[test]
    fn a_tick_may_be_closed_before_its_end() {
        let mut ticker = Ticker::new(Duration::from_nanos(250), 250);
        let report = ticker.close(300, ());
        assert_eq!((report.start_ns, report.end_ns, ticker.end_ns), (250, 300, 500));
    }

    #[test]
    fn an_endless_tick_does_not_overflow() {
        assert_eq!(closed(&mut Ticker::new(Duration::MAX, 7), u64::MAX - 1), None);
    }
}
