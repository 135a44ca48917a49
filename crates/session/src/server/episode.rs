//! Finds the beginning and the end of evictions and similar activities in the polls of a server. Each beginning and
//! each end is reported as an event. This module does no I/O.

use crate::{
    clock::{SECOND_NS, seconds},
    events::EventKind,
};

/// A burst is over after this time without a further occurrence, in nanoseconds.
const QUIET_NS: u64 = 3 * SECOND_NS;

/// Finds the beginning and the end of bursts. Contains the present burst, if there is one.
#[derive(Debug, Default)]
pub(super) struct BurstTracker {
    /// The time of the previous count, in nanoseconds.
    asked_ns: Option<u64>,
    burst: Option<Burst>,
}

#[derive(Debug)]
struct Burst {
    began_ns: u64,
    last_ns: u64,
    sum: u64,
    most: u64,
}

/// The beginning or the end of a burst.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Border {
    /// A burst begins with this number of occurrences.
    Begins(u64),
    /// A burst is over. The fields are the total number of occurrences, the largest number in one poll, and the length
    /// in seconds. The length starts at the last poll before the burst.
    Ends { sum: u64, most: u64, length_s: f64 },
}

impl BurstTracker {
    /// Adds `n` occurrences that happened between the previous poll and `at_ns`. Returns the beginning or the end of a
    /// burst, if there is one.
    pub(super) fn take(&mut self, at_ns: u64, n: u64) -> Option<Border> {
        let began_ns = self.asked_ns.replace(at_ns).unwrap_or(at_ns);
        match &mut self.burst {
            None if n > 0 => {
                self.burst = Some(Burst { began_ns, last_ns: at_ns, sum: n, most: n });
                Some(Border::Begins(n))
            }
            None => None,
            Some(burst) if n > 0 => {
                burst.last_ns = at_ns;
                burst.sum = burst.sum.saturating_add(n);
                burst.most = burst.most.max(n);
                None
            }
            Some(burst) if at_ns - burst.last_ns >= QUIET_NS => {
                let length_s = seconds(burst.last_ns - burst.began_ns);
                let border = Border::Ends { sum: burst.sum, most: burst.most, length_s };
                self.burst = None;
                Some(border)
            }
            Some(_) => None,
        }
    }
}

/// Bursts of evicted keys and of rejected connections, from two counters.
#[derive(Debug, Default)]
pub(super) struct LimitBursts {
    counted: [Option<u64>; 2],
    evictions: BurstTracker,
    rejections: BurstTracker,
}

impl LimitBursts {
    /// Compares both counters with their previous values and returns the events. After a restart of the server, or if a
    /// counter has decreased (CONFIG RESETSTAT, `stats reset`), the difference counts as 0.
    pub(super) fn take(&mut self, at_ns: u64, counted: [Option<u64>; 2], is_same: bool) -> Vec<EventKind> {
        let before = std::mem::replace(&mut self.counted, counted);
        let added = |place: usize| counted[place]?.checked_sub(before[place]?).filter(|_| is_same);
        let [evicted, rejected] = [added(0), added(1)].map(Option::unwrap_or_default);
        let evictions = self.evictions.take(at_ns, evicted).map(eviction);
        evictions.into_iter().chain(self.rejections.take(at_ns, rejected).map(rejection)).collect()
    }
}

fn eviction(border: Border) -> EventKind {
    match border {
        Border::Begins(keys) => EventKind::EvictionBegan { keys },
        Border::Ends { sum: keys, length_s, .. } => EventKind::EvictionEnded { keys, length_s },
    }
}

fn rejection(border: Border) -> EventKind {
    match border {
        Border::Begins(connections) => EventKind::RejectionBegan { connections },
        Border::Ends { sum: connections, length_s, .. } => {
            EventKind::RejectionEnded { connections, length_s }
        }
    }
}

/// The smallest number of expired keys per second during a burst. Removing fewer keys takes the server less than a
/// millisecond.
const LEAST_EXPIRED: f64 = 1_000.0;
/// The smallest ratio of the expired keys in a burst to the usual number.
const TIMES_USUAL: f64 = 5.0;
/// The weight of one poll in the average that gives the usual number. With this weight, the average follows a
/// change within half a minute.
const USUAL_WEIGHT: f64 = 1.0 / 30.0;

/// Bursts of expired keys. In a burst, far more keys than usual expire per second, or the server reaches its time limit
/// for expiry.
#[derive(Debug, Default)]
pub(super) struct Expiry {
    /// The previous counts: their time, the number of expired keys, and how often the time limit was reached.
    counted: Option<(u64, u64, u64)>,
    /// The usual number of expired keys per second, outside of bursts.
    usual: Option<f64>,
    burst: BurstTracker,
}

impl Expiry {
    /// Returns the event for the new values of both counters, if there is one. After a restart of the server, or if a
    /// counter has decreased, there is no event.
    pub(super) fn take(&mut self, at_ns: u64, counted: [Option<u64>; 2], is_same: bool) -> Option<EventKind> {
        let (keys, capped) = (counted[0]?, counted[1].unwrap_or(0));
        let before = self.counted.replace((at_ns, keys, capped)).filter(|_| is_same);
        let added = before.and_then(|(then_ns, keys_then, capped_then)| {
            let length_s = seconds(at_ns.saturating_sub(then_ns)).max(0.001);
            Some((keys.checked_sub(keys_then)?, capped.checked_sub(capped_then)?, length_s))
        });
        let mut burst = 0;
        if let Some((keys, capped, length_s)) = added {
            let per_s = keys as f64 / length_s;
            let usual = *self.usual.get_or_insert(if capped > 0 { 0.0 } else { per_s });
            if per_s >= LEAST_EXPIRED && (per_s >= usual * TIMES_USUAL || capped > 0) {
                burst = keys;
            } else {
                self.usual = Some(usual + (per_s - usual) * USUAL_WEIGHT);
            }
        }
        Some(match self.burst.take(at_ns, burst)? {
            Border::Begins(keys) => EventKind::ExpiryBegan { keys },
            Border::Ends { sum: keys, length_s, .. } => EventKind::ExpiryEnded { keys, length_s },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn far_more_expired_keys_than_usual_are_a_burst() {
        let events = |counts: &[(u64, u64)]| {
            let (mut expiry, mut sums) = (Expiry::default(), [0, 0]);
            let mut events = Vec::new();
            for (s, (keys, capped)) in counts.iter().enumerate() {
                sums = [sums[0] + keys, sums[1] + capped];
                events.extend(expiry.take(s as u64 * SECOND_NS, sums.map(Some), true));
            }
            events.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert!(events(&[(3000, 0); 60]).is_empty(), "this many always expire");
        assert!(events(&[(0, 0), (0, 0), (900, 0), (0, 0)]).is_empty(), "few");
        let burst = [(5, 0), (5, 0), (90_000, 3), (80_000, 4), (5, 0), (5, 0), (5, 0), (5, 0)];
        assert_eq!(events(&burst), ["90 000 keys expired in a second", "ended: 170 000 keys in 2 s"]);
        let at_once = [(0, 0), (90_000, 3), (90_000, 0), (0, 0), (0, 0), (0, 0)];
        assert_eq!(events(&at_once).len(), 2, "the limit shows it in the first second");
        let mut expiry = Expiry::default();
        expiry.take(0, [Some(5), None], true);
        assert_eq!(expiry.take(SECOND_NS, [Some(900_000), None], false), None, "another process");
        assert_eq!(expiry.take(2 * SECOND_NS, [None, None], true), None);
    }

    #[test]
    fn the_start_and_the_end_of_a_burst_are_reported_once() {
        let mut episode = BurstTracker::default();
        let counts = [0, 5, 7, 0, 0, 3, 0, 0, 0, 0, 0, 2];
        let borders: Vec<_> = counts
            .into_iter()
            .enumerate()
            .filter_map(|(s, n)| Some((s, episode.take(s as u64 * SECOND_NS, n)?)))
            .collect();
        let over = Border::Ends { sum: 15, most: 7, length_s: 5.0 };
        // The first occurrences were between 0 and 1 s.
        assert_eq!(borders, [(1, Border::Begins(5)), (8, over), (11, Border::Begins(2))]);
    }
}
