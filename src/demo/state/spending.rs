//! Commands that take as long as the script of faults says: when each ends.
//!
//! ```text
//! script   ├── GET ──┤├── GET ──┤├── GET ──┤      each begins where the one before it had to end
//! thread   ├── GET ────┤├─ GET ──┤├─ GET ───┤     however late the system woke it from that
//! ```
//! So a load that never lets the server idle finds exactly as many commands a second as there is time for. Pure.

use std::time::Duration;

/// How much of what the system cost it the server makes up for. A thread that sleeps is woken some tenths of a millisecond
/// late, and on a busy machine later; what is longer is a stall like any other's.
const MADE_UP_NS: u64 = 5_000_000;

/// How far the time is spent.
#[derive(Debug, Default)]
pub(super) struct Spending {
    /// When the last command had to end; `None` if nobody waited behind it.
    spent_ns: Option<u64>,
}

impl Spending {
    /// When a command ends that comes at `now_ns` and takes `length`.
    pub(super) fn spend(&mut self, now_ns: u64, length: Duration) -> u64 {
        let begin_ns = self.spent_ns.map_or(now_ns, |ns| ns.max(now_ns.saturating_sub(MADE_UP_NS)));
        let end_ns = begin_ns.saturating_add(u64::try_from(length.as_nanos()).unwrap_or(u64::MAX));
        self.spent_ns = Some(end_ns);
        end_ns
    }

    /// Nobody asks any more.
    pub(super) fn end(&mut self) {
        self.spent_ns = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1000;
    const LENGTH: Duration = Duration::from_micros(100);

    #[test]
    fn what_waits_makes_up_for_late_wake_ups() {
        let mut spending = Spending::default();
        let mut now_ns = 7 * US;
        for n in 1..=100 {
            let end_ns = spending.spend(now_ns, LENGTH);
            assert_eq!(end_ns, 7 * US + n * 100 * US);
            // Woken late, by more than a command takes.
            now_ns = end_ns.max(now_ns) + 160 * US * (n % 2);
        }
    }

    #[test]
    fn alone_a_command_takes_no_less_and_a_stall_is_not_made_up_for() {
        let mut spending = Spending::default();
        spending.spend(0, LENGTH);
        spending.end();
        assert_eq!(spending.spend(130 * US, LENGTH), 230 * US);
        assert_eq!(spending.spend(1_000_000 * US, LENGTH), 1_000_000 * US - MADE_UP_NS + 100 * US);
        assert_eq!(spending.spend(0, Duration::MAX), u64::MAX);
    }
}
