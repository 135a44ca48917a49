//! When the load had no connection at all.

use std::collections::VecDeque;

/// How many stretches are kept; of older ones the sums know.
const KEPT: usize = 1000;
/// Stretches that are no further apart are one: intervals give their lengths to the nanosecond, and their ends in
/// seconds.
const JOINED_S: f64 = 0.001;

/// The stretches without a connection, from intervals: each knows how long it had none, not when. So a stretch
/// begins where its first interval leaves room for it at the end, and ends where its last has it at the beginning.
#[derive(Debug, Clone, Default)]
pub struct Outages {
    stretches: VecDeque<(f64, f64)>,
    /// When the latest interval ended.
    latest_s: f64,
}

impl Outages {
    /// Adds the outage of an interval of `length_s` that ended at `t_s`.
    pub(super) fn push(&mut self, t_s: f64, length_s: f64, outage_s: f64) {
        self.latest_s = self.latest_s.max(t_s);
        if outage_s <= 0.0 {
            return;
        }
        match self.stretches.back_mut() {
            Some((_, end_s)) if *end_s >= t_s - length_s - JOINED_S => {
                *end_s = (t_s - length_s + outage_s).max(*end_s);
            }
            _ => self.stretches.push_back((t_s - outage_s, t_s)),
        }
        if self.stretches.len() > KEPT {
            self.stretches.pop_front();
        }
    }

    /// Whether any of the time between two moments was an outage.
    pub fn touch(&self, from_s: f64, to_s: f64) -> bool {
        // The newest are asked for most.
        let later = self.stretches.iter().rev().take_while(|(_, end_s)| *end_s > from_s + JOINED_S);
        later.into_iter().any(|(start_s, _)| *start_s < to_s - JOINED_S)
    }

    /// Since when there is no connection, if there was none at the end of the latest interval.
    pub fn since_s(&self) -> Option<f64> {
        let lasting = self.stretches.back().filter(|(_, end_s)| *end_s >= self.latest_s - JOINED_S);
        lasting.map(|(start_s, _)| *start_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_goes_on_over_intervals_and_ends_in_one() {
        let mut outages = Outages::default();
        outages.push(1.0, 1.0, 0.0);
        outages.push(2.0, 1.0, 0.25);
        assert_eq!(outages.since_s(), Some(1.75));
        outages.push(3.0, 1.0, 1.0);
        outages.push(4.0, 1.0, 0.5);
        assert_eq!(outages.stretches, [(1.75, 3.5)]);
        assert_eq!(outages.since_s(), None);
        let seconds: Vec<_> = (0..5).filter(|s| outages.touch(f64::from(*s), f64::from(*s) + 1.0)).collect();
        assert_eq!(seconds, [1, 2, 3]);
    }

    #[test]
    fn a_server_that_comes_and_goes_for_ever_does_not_grow_memory() {
        let mut outages = Outages::default();
        (0..10_000).for_each(|n| outages.push(f64::from(n), 0.25, 0.1));
        assert_eq!(outages.stretches.len(), KEPT);
        assert!(outages.touch(9998.0, 9999.0) && !outages.touch(10.0, 20.0));
    }
}
