//! Tracks the connection of the ping probe, and decides which of its losses the session reports.

use super::lost_connections::REPORT_EVERY_NS;
use crate::{events::EventKind, units::grouped};

/// Tracks the connection of the ping probe, and decides which of its losses the session reports.
#[derive(Debug, Default)]
pub(super) struct LostPings {
    is_lost: bool,
    last_reported_ns: Option<u64>,
    /// The time and the cause of a loss that no event has reported yet.
    waiting: Option<(u64, String)>,
    /// The number of losses that no event has reported yet, because there were too many.
    unreported: u64,
}

impl LostPings {
    /// Adds a loss at `at_ns`. An outage is reported once, even if later attempts to connect fail with another error.
    /// An error reply of the server, such as WRONGPASS, is always reported.
    pub(super) fn lost(&mut self, at_ns: u64, cause: String, is_reply: bool) -> Option<(u64, EventKind)> {
        if !std::mem::replace(&mut self.is_lost, true) || is_reply {
            self.waiting = Some((at_ns, cause));
            self.last_reported_ns = self.last_reported_ns.filter(|_| !is_reply);
        }
        self.report(at_ns)
    }

    /// Returns the event about the loss that waits to be reported. Returns `None` if the last such event is not long
    /// enough ago.
    pub(super) fn report(&mut self, now_ns: u64) -> Option<(u64, EventKind)> {
        let is_quiet = self.last_reported_ns.is_none_or(|last| now_ns >= last + REPORT_EVERY_NS);
        let (at_ns, mut cause) = self.waiting.take_if(|_| is_quiet)?;
        self.last_reported_ns = Some(now_ns);
        match std::mem::take(&mut self.unreported) {
            0 => {}
            n => cause += &format!(" (and {} more since the last report)", grouped(n)),
        }
        Some((at_ns, EventKind::PingLost { cause }))
    }

    /// Returns an event about the losses that no event has reported yet, if there are any. The session calls this
    /// function at its end.
    pub(super) fn rest(&mut self, now_ns: u64) -> Option<(u64, EventKind)> {
        self.last_reported_ns = None;
        let waiting = self.report(now_ns);
        let cause = format!("{} more losses; PINGs were soon answered again", grouped(self.unreported));
        waiting.or((self.unreported > 0).then_some((now_ns, EventKind::PingLost { cause })))
    }

    /// Ends the outage at `at_ns`.
    pub(super) fn back(&mut self, at_ns: u64) -> Option<(u64, EventKind)> {
        self.is_lost = false;
        let is_unreported = self.waiting.take().is_some();
        self.unreported += u64::from(is_unreported);
        (!is_unreported).then_some((at_ns, EventKind::PingBack))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::seconds;

    const MS: u64 = 1_000_000;

    fn words(all: Vec<(u64, EventKind)>) -> Vec<String> {
        let line = |(at_ns, what): (u64, EventKind)| format!("{:.2} {}: {what}", seconds(at_ns), what.name());
        all.into_iter().map(line).collect()
    }

    #[test]
    fn pings_that_are_lost_again_and_again_are_one_pair_of_events_a_second() {
        let mut pings = LostPings::default();
        let mut events = Vec::new();
        for n in 0..40 {
            events.extend(pings.lost(n * 50 * MS, "closed".to_owned(), false));
            events.extend(pings.report(n * 50 * MS + 10 * MS));
            events.extend(pings.back(n * 50 * MS + 20 * MS));
        }
        assert_eq!(
            words(events),
            [
                "0.00 ping lost: closed",
                "0.02 ping back: pings are answered again",
                "1.00 ping lost: closed (and 19 more since the last report)",
                "1.02 ping back: pings are answered again",
            ]
        );
        assert_eq!(pings.lost(1990 * MS, "closed".to_owned(), false), None);
        let lasting = pings.report(2000 * MS).into_iter().collect();
        assert_eq!(words(lasting), ["1.99 ping lost: closed (and 19 more since the last report)"]);
        let answer = pings.lost(2010 * MS, "WRONGPASS".to_owned(), true).into_iter().collect();
        assert_eq!(words(answer), ["2.01 ping lost: WRONGPASS"]);
    }

    #[test]
    fn pings_lost_in_the_last_second_are_in_an_event_at_the_end() {
        let mut pings = LostPings::default();
        for n in 0..3 {
            pings.lost(n * MS, "closed".to_owned(), false);
            pings.back(n * MS);
        }
        let rest = |pings: &mut LostPings| words(pings.rest(9 * MS).into_iter().collect());
        assert_eq!(rest(&mut pings), ["0.01 ping lost: 2 more losses; PINGs were soon answered again"]);
        let mut pings = LostPings { last_reported_ns: Some(0), unreported: 2, ..LostPings::default() };
        assert_eq!(pings.lost(8 * MS, "closed".to_owned(), false), None);
        assert_eq!(rest(&mut pings), ["0.01 ping lost: closed (and 2 more since the last report)"]);
        assert_eq!(rest(&mut LostPings::default()), [""; 0]);
    }
}
