//! Pauses of a session: times when the whole process was stopped (Ctrl-Z, `kill -STOP`). Nothing is measured during a
//! pause. The lengths of records therefore exclude pauses, and charts show pauses as gaps.
//!
//! If replies arrive during a pause, redyno reads them only after the pause. The latencies of these replies include the
//! pause. The event about the pause says this.

use super::Span;
use crate::{
    clock::{SECOND_NS, seconds},
    probe::ProbeReport,
    signals::ContinueWatch,
};

/// The shortest pause, in nanoseconds. A shorter pause may also be the effect of a busy machine.
const SHORTEST_NS: u64 = SECOND_NS / 2;
/// The largest number of pauses that are kept. New records need only the last few pauses.
const KEPT: usize = 16;

/// The latest pauses: start and end, in nanoseconds of the session.
#[derive(Debug, Clone, Default)]
pub(super) struct Pauses(Vec<(u64, u64)>);

impl Pauses {
    /// Adds a pause.
    pub(super) fn push(&mut self, pause: (u64, u64)) {
        if self.0.len() == KEPT {
            self.0.remove(0);
        }
        self.0.push(pause);
    }

    /// Returns the length of a period without its pauses, in seconds. The period is `length_s` seconds long, and ends
    /// at `end_s`.
    pub(super) fn left_s(&self, end_s: f64, length_s: f64) -> f64 {
        let start_s = end_s - length_s;
        let overlap =
            |(from, to): &(u64, u64)| (seconds(*to).min(end_s) - seconds(*from).max(start_s)).max(0.0);
        (length_s - self.0.iter().map(overlap).sum::<f64>()).max(0.0)
    }

    /// Returns the record of a probe's report. The length in the record excludes the pauses.
    pub(super) fn span<T>(&self, report: ProbeReport<T>) -> Span<T> {
        let (end_s, length_s) = (seconds(report.end_ns), seconds(report.end_ns - report.start_ns));
        Span::new(end_s, self.left_s(end_s, length_s), report.body)
    }
}

/// Detects a pause. In a pause, a round of a loop took much too long, and the process received SIGCONT.
pub(crate) struct PauseWatch {
    continued: ContinueWatch,
    last_ns: u64,
}

impl PauseWatch {
    /// Returns a detector whose first round begins at `now_ns`.
    pub(crate) fn begin(now_ns: u64) -> Self {
        Self { continued: ContinueWatch::watch(), last_ns: now_ns }
    }

    /// Ends a round at `now_ns`, and returns the pause in this round, if there was a pause.
    pub(crate) fn look(&mut self, now_ns: u64) -> Option<(u64, u64)> {
        let from = std::mem::replace(&mut self.last_ns, now_ns);
        let is_long = now_ns.saturating_sub(from) >= SHORTEST_NS;
        (is_long && self.continued.take()).then_some((from, now_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_of_a_period_excludes_pauses() {
        let mut pauses = Pauses::default();
        pauses.push((6 * SECOND_NS, 14 * SECOND_NS));
        assert_eq!(pauses.left_s(14.25, 8.5), 0.5);
        assert_eq!(pauses.left_s(6.0, 1.0), 1.0);
        assert_eq!(pauses.left_s(10.0, 1.0), 0.0);
        assert_eq!(pauses.left_s(20.0, 1.0), 1.0);
    }

    #[test]
    fn a_long_round_is_a_pause_only_after_sigcont() {
        let mut watch = PauseWatch::begin(0);
        assert_eq!(watch.look(SECOND_NS), None, "a busy machine");
        signal_hook::low_level::raise(signal_hook::consts::SIGCONT).unwrap();
        assert_eq!(watch.look(3 * SECOND_NS), Some((SECOND_NS, 3 * SECOND_NS)));
        assert_eq!(watch.look(5 * SECOND_NS), None);
    }
}
