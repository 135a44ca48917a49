//! The outages of a session: the times when the load had no connection.

use std::collections::VecDeque;

/// The largest number of listed outages.
const KEPT: usize = 1000;
/// The longest gap between two outages that count as one outage, in seconds. Times in records are rounded, so one
/// outage may seem to have a gap.
const JOINED_S: f64 = 0.001;

/// The outages of a session. Interval records contain only the length of an outage, not its start or end. redyno
/// therefore assumes that an outage lasts until the end of its first interval. In later intervals, the outage is
/// assumed to begin at the start of the interval.
#[derive(Debug, Clone, Default)]
pub struct Outages {
    stretches: VecDeque<(f64, f64)>,
    /// The end of the latest interval, in seconds.
    latest_s: f64,
}

impl Outages {
    /// Adds the outage in an interval that was `length_s` seconds long and ended at `t_s`.
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

    /// Returns whether there was an outage at any time between two moments.
    pub fn touch(&self, from_s: f64, to_s: f64) -> bool {
        // The newest outages are requested most often.
        let later = self.stretches.iter().rev().take_while(|(_, end_s)| *end_s > from_s + JOINED_S);
        later.into_iter().any(|(start_s, _)| *start_s < to_s - JOINED_S)
    }

    /// Returns the start of the present outage. Returns `None` if there was a connection at the end of the latest
    /// interval.
    pub fn since_s(&self) -> Option<f64> {
        let lasting = self.stretches.back().filter(|(_, end_s)| *end_s >= self.latest_s - JOINED_S);
        lasting.map(|(start_s, _)| *start_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_spans_intervals_and_ends_within_one() {
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
    fn endless_outages_need_bounded_memory() {
        let mut outages = Outages::default();
        (0..10_000).for_each(|n| outages.push(f64::from(n), 0.25, 0.1));
        assert_eq!(outages.stretches.len(), KEPT);
        assert!(outages.touch(9998.0, 9999.0) && !outages.touch(10.0, 20.0));
    }
}
