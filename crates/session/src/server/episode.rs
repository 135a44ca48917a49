//! Finds bursts of events such as evictions, and reports the beginning and the end of each burst. Pure.

use crate::{
    clock::{SECOND_NS, seconds},
    events::EventKind,
};

/// A burst is over after this time without a further occurrence, in nanoseconds.
const QUIET_NS: u64 = 3 * SECOND_NS;

/// The present burst, if there is one.
#[derive(Debug, Default)]
pub(super) struct Episode {
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
    /// A burst is over: its total, the largest number of one poll, and its length. The length of a burst begins at the
    /// last poll before the burst.
    Ends { sum: u64, most: u64, length_s: f64 },
}

impl Episode {
    /// Adds `n` occurrences between the previous poll and `at_ns`. Returns the beginning or the end of a burst, if
    /// there is one.
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
pub(super) struct Bursts {
    counted: [Option<u64>; 2],
    evictions: Episode,
    rejections: Episode,
}

impl Bursts {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_reported_twice_however_long_and_ragged_it_is() {
        let mut episode = Episode::default();
        let counts = [0, 5, 7, 0, 0, 3, 0, 0, 0, 0, 0, 2];
        let borders: Vec<_> = counts
            .into_iter()
            .enumerate()
            .filter_map(|(s, n)| Some((s, episode.take(s as u64 * SECOND_NS, n)?)))
            .collect();
        let over = Border::Ends { sum: 15, most: 7, length_s: 5.0 };
        // The first ones occurred between 0 and 1 s.
        assert_eq!(borders, [(1, Border::Begins(5)), (8, over), (11, Border::Begins(2))]);
    }
}
