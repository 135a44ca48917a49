//! Finds stalls in a session: periods when PINGs wait much longer than usual. Stalls are found with and without load,
//! on every kind of server.
//!
//! ```text
//!   PINGs due   │ │ │ │ │ │ │ │ │ │ │ │
//!   replies     │ │ │               ││││││ │ │
//!                     └── stall ────┘  from the first PING that is late until the last late reply
//! ```

use std::collections::VecDeque;

use super::Span;
use crate::{
    events::EventKind,
    probe::{Ping, Wake},
};

/// The length of the shortest stall, in seconds: a delay that users notice.
const SHORTEST_S: f64 = 0.1;
/// The length of the shortest stall while the server's usual round trips are unknown, in seconds. Half a second is long
/// for any server.
const SHORTEST_UNKNOWN_S: f64 = 0.5;
/// A wait is a stall only if it is at least this many times the usual p50, p99 and maximum of PING, in this
/// order.
const TIMES_THE_USUAL: [f64; 3] = [10.0, 4.0, 2.0];
/// A stall is over after this time without a late PING, in seconds.
const QUIET_S: f64 = 1.0;
/// The number of wake probe reports that are kept: the reports of one second.
const WAKES: usize = 4;

/// The present stall.
#[derive(Debug, Clone)]
struct OpenStall {
    since_s: f64,
    /// The latest time when a PING was late.
    until_s: f64,
    longest_s: f64,
    /// The end of the latest tick (quarter second) with replies. Before such a tick, this is the beginning of the
    /// stall.
    replied_s: f64,
}

/// Finds stalls in the reports of the ping probe.
#[derive(Debug, Clone, Default)]
pub(super) struct StallWatch {
    stall: Option<OpenStall>,
    /// The due time of the PING that was the oldest unanswered PING at the end of the last tick (quarter second).
    waiting_since_s: Option<f64>,
    /// The delays of this process's wake-ups in each tick (quarter second) of the last second, in seconds.
    own_s: VecDeque<f64>,
}

/// Returns the shortest stall in seconds. `usual_us` are the usual p50, p99 and maximum of PING.
fn shortest_s(usual_us: [Option<f64>; 3]) -> f64 {
    let [Some(p50), Some(p99), Some(max)] = usual_us else { return SHORTEST_UNKNOWN_S };
    let usual_s = [p50, p99, max].map(|us| us / 1e6);
    usual_s.iter().zip(TIMES_THE_USUAL).map(|(usual_s, times)| usual_s * times).fold(SHORTEST_S, f64::max)
}

impl StallWatch {
    /// Adds a report of the wake probe. The wake probe measures the delays of this machine. A wait counts as a stall
    /// only if it is longer than the shortest stall plus the longest recent delay of this machine.
    pub(super) fn push_wake(&mut self, wake: &Wake) {
        self.own_s.push_back(wake.late.max_ns() as f64 / 1e9);
        if self.own_s.len() > WAKES {
            self.own_s.pop_front();
        }
    }

    /// Adds a report of the ping probe. Returns the beginning or the end of a stall, with its time.
    pub(super) fn push(&mut self, span: &Span<Ping>, usual_us: [Option<f64>; 3]) -> Option<(f64, EventKind)> {
        let own_s = self.own_s.iter().copied().fold(0.0, f64::max);
        let shortest_s = shortest_s(usual_us) + own_s;
        let (from_s, to_s) = (span.t_s - span.length_s, span.t_s);
        let waiting_s = span.body.waiting_us as f64 / 1e6;
        let replied_s = span.body.rtt.max_ns() as f64 / 1e9;
        if span.length_s <= 0.0 {
            // Late replies to PINGs of an earlier segment: the time of the report is not that of the replies.
            self.stall.iter_mut().for_each(|stall| stall.longest_s = stall.longest_s.max(replied_s));
            return None;
        }
        let waited_since_s = self.waiting_since_s;
        self.waiting_since_s = (waiting_s > 0.0).then_some(to_s - waiting_s);
        let mut late = None;
        if replied_s >= shortest_s {
            // The time of a reply within the tick is known only if its PING was already waiting at the start of the
            // tick.
            let known_s = waited_since_s.filter(|since_s| (from_s..=to_s).contains(&(since_s + replied_s)));
            let since_s = known_s.unwrap_or(to_s - replied_s);
            late = Some((since_s, since_s + replied_s, replied_s));
        }
        if waiting_s >= shortest_s {
            let since_s = late.map_or(f64::INFINITY, |(since_s, ..)| since_s).min(to_s - waiting_s);
            late = Some((since_s, to_s, waiting_s.max(replied_s)));
        }
        match (&mut self.stall, late) {
            (None, None) => None,
            (None, Some((since_s, until_s, longest_s))) => {
                let since_s = since_s.max(0.0);
                self.stall = Some(OpenStall { since_s, until_s, longest_s, replied_s: since_s });
                Some((since_s, EventKind::Stalled { longest_s, length_s: None }))
            }
            (Some(stall), late) => {
                if let Some((_, until_s, longest_s)) = late {
                    stall.until_s = stall.until_s.max(until_s);
                    stall.longest_s = stall.longest_s.max(longest_s);
                }
                if span.body.rtt.is_empty() {
                    // PINGs that have reached their timeout are no longer among the waiting PINGs.
                    stall.until_s = to_s;
                    stall.longest_s = stall.longest_s.max(to_s - stall.replied_s);
                } else {
                    stall.replied_s = to_s;
                }
                if to_s - stall.until_s < QUIET_S {
                    return None;
                }
                let OpenStall { since_s, until_s, longest_s, .. } = self.stall.take()?;
                let length_s = until_s - since_s;
                let longest_s = longest_s.min(length_s);
                Some((since_s, EventKind::Stalled { longest_s, length_s: Some(length_s) }))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{Latency, fixture::latency_of};

    const USUAL: [Option<f64>; 3] = [Some(400.0), Some(900.0), Some(3000.0)];

    /// Returns the ping record of the tick (quarter second) that ends at `to_s`, for a server that does not
    /// answer in the periods `silent`.
    fn tick(to_s: f64, silent: &[(f64, f64)]) -> Span<Ping> {
        let mut replies = Vec::new();
        let mut oldest_s: Option<f64> = None;
        for n in 0..((to_s * 100.0) as u64) {
            let due_s = n as f64 / 100.0;
            let stretch = silent.iter().find(|(from_s, until_s)| (*from_s..*until_s).contains(&due_s));
            let replied_s = stretch.map_or(due_s + 0.0004, |(_, until_s)| until_s + 0.0004);
            if replied_s >= to_s {
                oldest_s.get_or_insert(due_s);
            } else if replied_s >= to_s - 0.25 {
                replies.push(((replied_s - due_s) * 1e9) as u64);
            }
        }
        let waiting_us = oldest_s.map_or(0, |due_s| ((to_s - due_s) * 1e6) as u64);
        let rtt = if replies.is_empty() { Latency::default() } else { latency_of(replies) };
        Span::new(to_s, 0.25, Ping { rtt, waiting_us, ..Ping::default() })
    }

    fn stalls(silent: &[(f64, f64)], own_s: f64) -> Vec<(f64, EventKind)> {
        let mut watch = StallWatch { own_s: [own_s].into(), ..StallWatch::default() };
        (1..60).filter_map(|n| watch.push(&tick(f64::from(n) / 4.0, silent), USUAL)).collect()
    }

    #[test]
    fn a_stall_lasts_from_the_first_late_ping_to_the_last() {
        for (from_s, until_s) in [(3.0, 4.94), (3.1, 3.3), (5.13, 9.0)] {
            let found = stalls(&[(from_s, until_s)], 0.0);
            let [(begins_s, EventKind::Stalled { length_s: None, .. }), (at_s, ended)] = &found[..] else {
                panic!("{found:?}")
            };
            let EventKind::Stalled { longest_s, length_s: Some(length_s) } = ended else {
                panic!("{ended:?}")
            };
            // If a stall lies within one tick, its start and end are known only roughly.
            assert!((begins_s - from_s).abs() < 0.21 && begins_s == at_s, "{found:?}");
            assert!((length_s - (until_s - from_s)).abs() < 0.02 && longest_s <= length_s, "{found:?}");
            assert!(ended.to_string().starts_with("no reply to PING for"), "{ended}");
        }
    }

    #[test]
    fn late_replies_of_an_earlier_segment_begin_and_end_no_stall() {
        let late = Span::new(4.0, 0.0, Ping { rtt: latency_of([1_940_000_000]), ..Ping::default() });
        let mut watch = StallWatch::default();
        assert_eq!(watch.push(&late, USUAL), None);
        let ticks = (1..60).map(|n| tick(f64::from(n) / 4.0, &[(3.0, 4.94)]));
        let found: Vec<_> = ticks
            .filter_map(|tick| {
                let event = watch.push(&tick, USUAL);
                assert_eq!((tick.t_s == 4.75).then(|| watch.push(&late, USUAL)).flatten(), None);
                event
            })
            .collect();
        assert_eq!(found, stalls(&[(3.0, 4.94)], 0.0));
    }

    #[test]
    fn consecutive_late_replies_are_one_stall_and_redynos_own_delay_is_no_stall() {
        let again = [(3.0, 3.3), (3.6, 3.9), (4.2, 4.5)];
        let found = stalls(&again, 0.0);
        let [_, (_, ended)] = &found[..] else { panic!("{found:?}") };
        assert_eq!(ended.to_string(), "for 1.50 s, replies to PING took up to 300 ms");
        assert_eq!(stalls(&again, 0.3), []);
        assert_eq!(stalls(&[(3.0, 3.05)], 0.0), []);
    }

    #[test]
    fn a_server_that_is_always_slow_has_no_stalls() {
        let mut watch = StallWatch::default();
        let slow = [Some(80_000.0), Some(150_000.0), Some(300_000.0)];
        assert!((1..60).all(|n| watch.push(&tick(f64::from(n) / 4.0, &[(3.0, 3.5)]), slow).is_none()));
    }
}
