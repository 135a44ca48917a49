//! Sums the ping probe's reports in windows of a fixed length, for the modes with redis-cli's output.

use std::{
    ops::ControlFlow,
    sync::mpsc::{Receiver, channel},
    time::Duration,
};

use anyhow::Context as _;

use super::{plan::OneshotPlan, run::Streams, trouble::PingErrors};
use crate::signals::Signal;
use crate::{
    clock::Clock,
    endpoint::{ReachError, UNVERIFIED, reach},
    probe::{Ping, PingPlan, PingProbe, ProbeMessage, ProbeReport},
    stats::Latency,
    units,
};

/// The longest tick. A tick is the time between two reports of the probe. A line is redrawn at each tick.
const LONGEST_TICK: Duration = Duration::from_millis(100);

/// The time limit for the diagnosis of a server that sent no PONGs.
pub(super) const REACH_LIMIT: Duration = Duration::from_millis(300);

/// A window of round trips.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct LatencyWindow {
    /// The round trips in the window so far.
    pub rtt: Latency,
    /// The waiting times of the unanswered PINGs at the end of the window. There are values only if the longest waiting
    /// time exceeds twice the median round trip.
    pub unanswered: Latency,
    /// The length of the window so far, in nanoseconds.
    pub length_ns: u64,
}

impl LatencyWindow {
    /// Returns the round trips, and the waiting times of unanswered pings.
    pub(super) fn all(&self) -> Latency {
        Latency::merged([&self.rtt, &self.unanswered])
    }

    /// Returns whether the window has no samples.
    pub(super) fn is_empty(&self) -> bool {
        self.rtt.is_empty() && self.unanswered.is_empty()
    }

    /// Returns the warning about the waiting times in the figures of the window, if there are any.
    pub(super) fn note(&self) -> Option<String> {
        let (pings, are, they) = match self.unanswered.count() {
            0 => return None,
            1 => ("ping", "is", "it is"),
            _ => ("pings", "are", "they are"),
        };
        let oldest = units::latency(self.unanswered.max_ns());
        Some(format!(
            "{} {pings} {are} unanswered, the oldest for {oldest}; {they} counted in the figures with the wait so far",
            self.unanswered.count()
        ))
    }
}

/// The change of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WindowChange {
    /// The window grew by the time between two reports.
    Grew,
    /// The window is full. The next window begins.
    Full,
    /// The window ended early, because the run ends.
    Cut,
}

/// Pings the plan's server in windows of `length`. Passes each state of each window to `draw`, until `draw` stops or
/// `stop` receives a signal.
///
/// # Errors
/// Fails if there was no sample at all, or if `draw` or the streams fail. Without a sample, the error contains a
/// diagnosis.
pub(super) fn windows(
    plan: &OneshotPlan,
    length: Duration,
    stop: &Receiver<Signal>,
    streams: &mut Streams,
    mut draw: impl FnMut(&mut Streams, &LatencyWindow, WindowChange) -> anyhow::Result<ControlFlow<()>>,
) -> anyhow::Result<()> {
    let mut windows = WindowSeries::new(length);
    let mut trouble = PingErrors::new(plan.target.address.to_string(), plan.target.dialect.words().pong);
    if plan.target.tls.as_ref().is_some_and(|tls| !tls.is_verified()) {
        streams.warn(UNVERIFIED)?;
    }
    let (messages, inbox) = channel();
    let ping = PingPlan { tick: windows.tick, ..PingPlan::new(plan.target.clone()) };
    let probe = PingProbe::start(ping, Clock::start(), messages).context("cannot start the ping thread")?;
    let mut next = ControlFlow::Continue(());
    while next.is_continue() && stop.try_recv().is_err() {
        // The probe sends a report every tick, so `recv` waits for a tick at most. `recv` fails only when the
        // probe has ended.
        let message = inbox.recv().context("the ping thread ended before its time")?;
        trouble.handle_probe_message(&message, streams)?;
        if let ProbeMessage::Ping(report) = &message {
            let moment = windows.add(report);
            next = draw(streams, &windows.open, moment)?;
            windows.start_next_after(moment);
        }
    }
    drop(probe);
    if next.is_continue() {
        // After a signal, the figures also include the tick in progress.
        for message in inbox {
            trouble.handle_probe_message(&message, streams)?;
            if let ProbeMessage::Ping(report) = &message {
                windows.add(report);
            }
        }
        let _ = draw(streams, &windows.open, WindowChange::Cut)?;
    }
    // The diagnosis includes the counts.
    anyhow::ensure!(
        !windows.answered.is_empty(),
        "{}{}",
        trouble.diagnosis(windows.end_ns),
        wrong_protocol(plan)
    );
    Ok(trouble.sum_up(streams)?)
}

/// Returns the reason why replies are missing, if PINGs cannot show the cause. Either only one side uses TLS, or the
/// server is not of the expected kind.
fn wrong_protocol(plan: &OneshotPlan) -> String {
    use ReachError::{Memcached, Redis, SpeaksPlain, SpeaksTls, TooOld};
    match reach(&plan.target, REACH_LIMIT) {
        Err(error @ (SpeaksTls(_) | SpeaksPlain(_) | TooOld(_) | Memcached(_) | Redis(_))) => {
            format!("; {error}")
        }
        _ => String::new(),
    }
}

/// The current window, and the settings of all windows.
struct WindowSeries {
    tick: Duration,
    length_ns: u64,
    open: LatencyWindow,
    full_at_ns: u64,
    end_ns: u64,
    /// The round trips of all windows.
    answered: Latency,
}

impl WindowSeries {
    /// Creates windows of `length`. A window consists of whole ticks.
    fn new(length: Duration) -> Self {
        let ticks = length.as_nanos().div_ceil(LONGEST_TICK.as_nanos()).max(1);
        let tick_ns = u64::try_from(length.as_nanos() / ticks).unwrap_or(u64::MAX);
        let length_ns = tick_ns.saturating_mul(u64::try_from(ticks).unwrap_or(u64::MAX));
        Self {
            tick: Duration::from_nanos(tick_ns),
            length_ns,
            open: LatencyWindow::default(),
            full_at_ns: length_ns,
            end_ns: 0,
            answered: Latency::default(),
        }
    }

    fn add(&mut self, report: &ProbeReport<Ping>) -> WindowChange {
        self.open.rtt.merge(&report.body.rtt);
        self.open.length_ns += report.end_ns.saturating_sub(report.start_ns);
        self.end_ns = report.end_ns;
        self.answered.merge(&report.body.rtt);
        // A PING without a reply is usual for a short time, and is then no sign of a stall.
        let unusual_ns = self.answered.value_at_quantile(0.5).saturating_mul(2);
        let waits = &report.body.unanswered;
        self.open.unanswered = if waits.max_ns() > unusual_ns { waits.clone() } else { Latency::default() };
        if self.end_ns >= self.full_at_ns { WindowChange::Full } else { WindowChange::Grew }
    }

    fn start_next_after(&mut self, moment: WindowChange) {
        if moment == WindowChange::Full {
            self.open = LatencyWindow::default();
            self.full_at_ns = (self.end_ns / self.length_ns + 1) * self.length_ns;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::fixture::{latency_of, repeated};

    fn moments(windows: &mut WindowSeries, ticks: &[(u64, u64)]) -> Vec<WindowChange> {
        let add = |&(start_ns, end_ns): &(u64, u64)| {
            let moment = windows.add(&ProbeReport { start_ns, end_ns, body: Ping::default() });
            windows.start_next_after(moment);
            moment
        };
        ticks.iter().map(add).collect()
    }

    #[test]
    fn a_window_consists_of_whole_ticks_of_at_most_a_tenth_of_a_second() {
        for (length_ms, tick_ms) in [(1_000, 100), (250, 83), (10, 10), (15_000, 100)] {
            let windows = WindowSeries::new(Duration::from_millis(length_ms));
            assert_eq!(windows.tick.as_millis() as u64, tick_ms);
            assert_eq!(windows.length_ns % windows.tick.as_nanos() as u64, 0);
        }
    }

    #[test]
    fn waits_that_are_longer_than_usual_are_in_a_window_until_they_end() {
        let mut windows = WindowSeries::new(Duration::from_secs(1));
        let mut unanswered_after = |rtt: Latency, unanswered: Latency| {
            let body = Ping { rtt, unanswered, ..Ping::default() };
            windows.add(&ProbeReport { start_ns: 0, end_ns: 1, body });
            windows.open.unanswered.count()
        };
        assert_eq!(unanswered_after(repeated(100_000, 10), latency_of([150_000])), 0, "on its way");
        assert_eq!(unanswered_after(Latency::default(), latency_of([5_000_000, 95_000_000])), 2);
        assert_eq!(unanswered_after(latency_of([105_000_000, 195_000_000]), Latency::default()), 0);
    }

    #[test]
    fn a_late_report_does_not_shift_the_windows_after_it() {
        let mut windows = WindowSeries::new(Duration::from_millis(200));
        let tick = 100_000_000;
        let ticks = [(1, tick), (tick, 2 * tick), (2 * tick, 5 * tick), (5 * tick, 6 * tick)];
        assert_eq!(
            moments(&mut windows, &ticks),
            [WindowChange::Grew, WindowChange::Full, WindowChange::Full, WindowChange::Full]
        );
    }
}
