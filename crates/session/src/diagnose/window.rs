//! The values of a figure in the last seconds, each with its time, for the rules of findings.

use std::collections::VecDeque;

use crate::session::Interval;

/// The values of the last `length_s` seconds, oldest first.
#[derive(Debug, Clone)]
pub(super) struct RecentValues<T> {
    length_s: f64,
    kept: VecDeque<(f64, T)>,
}

impl<T> RecentValues<T> {
    /// Creates an empty window of `length_s` seconds.
    pub(super) fn new(length_s: f64) -> Self {
        Self { length_s, kept: VecDeque::new() }
    }

    /// Adds a value at the time `t_s`, and removes values that are too old. Values may arrive out of
    /// order: redyno reports a stall after its end, with the time when the stall began.
    pub(super) fn push(&mut self, t_s: f64, value: T) {
        let at = self.kept.partition_point(|(then_s, _)| *then_s <= t_s);
        self.kept.insert(at, (t_s, value));
        let newest_s = self.kept.back().map_or(t_s, |(newest_s, _)| *newest_s);
        self.forget(newest_s);
    }

    /// Removes the values that are too old at `t_s`.
    pub(super) fn forget(&mut self, t_s: f64) {
        while self.kept.front().is_some_and(|(then_s, _)| *then_s <= t_s - self.length_s) {
            self.kept.pop_front();
        }
    }

    /// Returns the values after `from_s`, newest first.
    pub(super) fn since(&self, from_s: f64) -> impl Iterator<Item = &T> {
        self.kept.iter().rev().take_while(move |(t_s, _)| *t_s > from_s).map(|(_, value)| value)
    }

    /// Returns the values up to `until_s`, oldest first.
    pub(super) fn until(&self, until_s: f64) -> impl Iterator<Item = &T> {
        self.kept.iter().take_while(move |(t_s, _)| *t_s <= until_s).map(|(_, value)| value)
    }

    /// Returns the time of the last value before the newest values for which `is` returns true. Returns `None` if `is`
    /// returns false for the newest value. A rate covers the time since the previous value.
    pub(super) fn begun_s(&self, is: impl Fn(&T) -> bool) -> Option<f64> {
        let such = self.kept.iter().rev().take_while(|(_, value)| is(value)).count();
        (such > 0).then(|| self.kept[self.kept.len().saturating_sub(such + 1)].0)
    }

    /// Returns the time of the newest value for which `is` returns true.
    pub(super) fn last_s(&self, is: impl Fn(&T) -> bool) -> Option<f64> {
        self.kept.iter().rev().find(|(_, value)| is(value)).map(|(t_s, _)| *t_s)
    }

    /// Returns the newest value.
    pub(super) fn last(&self) -> Option<&T> {
        self.kept.back().map(|(_, value)| value)
    }
}

/// Returns the median of the values, or the upper of the two middle values; `None` without values.
pub(super) fn middle(mut values: Vec<u64>) -> Option<u64> {
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

/// Returns the total length of the intervals, in seconds.
pub(super) fn length_s(parts: &[Interval]) -> f64 {
    parts.iter().map(|part| part.length_s).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_with_an_earlier_time_hides_no_other() {
        let mut recent = RecentValues::new(20.0);
        for (t_s, value) in [(25.0, "slow log"), (10.0, "stall"), (26.0, "last")] {
            recent.push(t_s, value);
        }
        assert_eq!(recent.since(16.0).collect::<Vec<_>>(), [&"last", &"slow log"]);
        assert_eq!(recent.since(9.0).count(), 3);
    }
}
