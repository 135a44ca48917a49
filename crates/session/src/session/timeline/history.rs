//! The history of a whole session in limited memory. The history is fine near the present, and coarser further back.
//!
//! ```text
//!  level 2      level 1    level 0
//! [  1 s   ][  1 s   ][½ s][½ s][¼][¼][¼][¼] now
//! ```
//! A cell (time slot) that is too old for its level is merged with its neighbour into one cell of the next level. Cells
//! of each level are twice as long as the cells of the level before. Each level has the same number of cells, so each
//! level reaches twice as far back as the level before. A day needs nine levels. [`Merge`] defines how values are
//! merged. Counts are never lost. Time without a value is a gap and needs no memory. If a part of a recording was read
//! again, the history of this part has a last level. Cells of the last level are not merged.

use std::collections::VecDeque;

/// The largest number of a step (the shortest time slot): 2^53. No session reaches this number. All later moments would
/// be counted in the last step.
const LAST_STEP: f64 = 9_007_199_254_740_992.0;

/// A value of a time slot that can be merged with the value of the next time slot.
pub trait Merge {
    /// Merges this value with the value of a later time slot.
    fn merge(&mut self, later: Self);
}

/// Values over time, one for each time slot.
#[derive(Debug, Clone)]
pub struct History<T> {
    step_s: f64,
    /// The number of time slots of each level.
    kept: u64,
    newest: u64,
    /// The last level. Its time slots are not merged.
    coarsest: usize,
    /// The longest time between the beginning of a measurement and the beginning of its time slot, in seconds.
    longest_s: f64,
    levels: Vec<VecDeque<StoredSlot<T>>>,
}

#[derive(Debug, Clone)]
struct StoredSlot<T> {
    /// The number of the time slot in its level.
    index: u64,
    /// The start of the earliest measurement in the time slot, in seconds.
    since_s: f64,
    /// The end of the latest measurement that was longer than the time slot, in seconds. 0 if there was no such
    /// measurement.
    until_s: f64,
    value: T,
}

/// A time slot of a history: its value, and the period of the value.
pub struct TimeSlot<'a, T> {
    /// The start of the time slot, in seconds.
    pub start_s: f64,
    /// The start of the value's period, in seconds. This start is before `start_s` if a measurement was longer than the
    /// time slot.
    pub from_s: f64,
    /// The end of the value's period, in seconds. This end is a little after the time slot if a long measurement ended
    /// late.
    pub to_s: f64,
    /// The value of the time slot.
    pub value: &'a T,
}

impl<T: Default + Merge> History<T> {
    /// Returns an empty history. The newest `kept` time slots are `step_s` seconds long. Older time slots are
    /// longer, but at most `most_s` seconds. If `step_s` is longer than `most_s`, all time slots have the
    /// length `step_s`.
    pub fn new(step_s: f64, kept: usize, most_s: f64) -> Self {
        let (kept, coarsest) = (kept.max(2) as u64, (most_s / step_s).max(1.0).log2() as usize);
        Self { step_s, kept, newest: 0, coarsest, longest_s: 0.0, levels: Vec::new() }
    }

    /// Returns the value of the time slot for a measurement of `length_s` seconds that ended at `t_s`. Creates the time
    /// slot if needed.
    ///
    /// A measurement belongs to the time slot that contains the middle of its last `step_s` seconds. The measurement
    /// may therefore end a little after its time slot. A measurement that is longer than its time slot also covers time
    /// before the slot.
    pub fn entry(&mut self, t_s: f64, length_s: f64) -> &mut T {
        let inside = t_s - (length_s.min(self.step_s) / 2.0).max(self.step_s * 1e-6);
        let step = (inside / self.step_s).clamp(0.0, LAST_STEP) as u64;
        let since_s = (t_s - length_s).max(0.0);
        self.longest_s = self.longest_s.max(step as f64 * self.step_s - since_s);
        if step > self.newest {
            self.newest = step;
            self.age();
        }
        let is_long = length_s > self.step_s * 1.5;
        let level = self.level_of(step);
        let slot = self.slot(level, step >> level);
        slot.since_s = slot.since_s.min(since_s);
        if is_long {
            slot.until_s = slot.until_s.max(t_s);
        }
        &mut slot.value
    }

    /// Returns the length of the time slot at `t_s`, in seconds.
    pub fn cell_s(&self, t_s: f64) -> f64 {
        let level = self.level_of((t_s / self.step_s).clamp(0.0, LAST_STEP) as u64);
        self.step_s * 2_f64.powi(level as i32)
    }

    /// Returns the level in which a step (a time slot of the shortest length) is stored at present.
    fn level_of(&self, step: u64) -> usize {
        (0..64).find(|level| !self.is_too_old(*level, step >> level)).unwrap_or(0)
    }

    fn is_too_old(&self, level: usize, index: u64) -> bool {
        // Both cells of a pair move to the next level together, so that no coarse cell overlaps a fine cell.
        level < self.coarsest && (index | 1) + self.kept <= self.newest >> level
    }

    fn slot(&mut self, level: usize, index: u64) -> &mut StoredSlot<T> {
        while self.levels.len() <= level {
            self.levels.push(VecDeque::new());
        }
        let cells = &mut self.levels[level];
        // A new cell nearly always follows the last cell.
        let is_last = cells.back().is_none_or(|last| last.index < index);
        let at = if is_last { cells.len() } else { cells.partition_point(|slot| slot.index < index) };
        if cells.get(at).is_none_or(|slot| slot.index != index) {
            cells.insert(at, StoredSlot { index, since_s: f64::INFINITY, until_s: 0.0, value: T::default() });
        }
        &mut cells[at]
    }

    fn age(&mut self) {
        let mut level = 0;
        while level < self.levels.len() {
            while self.levels[level].front().is_some_and(|oldest| self.is_too_old(level, oldest.index)) {
                let Some(old) = self.levels[level].pop_front() else { break };
                let into = self.slot(level + 1, old.index >> 1);
                into.since_s = into.since_s.min(old.since_s);
                into.until_s = into.until_s.max(old.until_s);
                into.value.merge(old.value);
            }
            level += 1;
        }
    }

    /// Returns the time slots that overlap the period from `from_s` to `to_s`, oldest first.
    pub fn between(&self, from_s: f64, to_s: f64) -> impl DoubleEndedIterator<Item = TimeSlot<'_, T>> {
        let reach_s = self.longest_s;
        self.levels.iter().enumerate().rev().flat_map(move |(level, slots)| {
            let step_s = self.step_s * 2_f64.powi(level as i32);
            let first = self.first(level, from_s);
            let end = slots.partition_point(|slot| slot.index as f64 * step_s - reach_s < to_s - 1e-9);
            let cells = slots.range(first..end.max(first)).map(move |slot| {
                let start_s = slot.index as f64 * step_s;
                let from_s = start_s.min(slot.since_s);
                let to_s = (start_s + step_s).max(slot.until_s);
                TimeSlot { start_s, from_s, to_s, value: &slot.value }
            });
            cells.filter(move |cell| cell.from_s < to_s - 1e-9)
        })
    }

    /// Returns the place of the first slot of a level that ends after `from_s`.
    fn first(&self, level: usize, from_s: f64) -> usize {
        let step_s = self.step_s * 2_f64.powi(level as i32);
        self.levels[level].partition_point(|slot| (slot.index + 1) as f64 * step_s <= from_s + 1e-9)
    }

    /// Returns the number of time slots.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.levels.iter().map(VecDeque::len).sum()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone, Default, PartialEq)]
    struct Sum(u64);

    impl Merge for Sum {
        fn merge(&mut self, later: Self) {
            self.0 += later.0;
        }
    }

    fn all(history: &History<Sum>) -> Vec<(f64, f64, u64)> {
        history.between(0.0, f64::INFINITY).map(|cell| (cell.from_s, cell.to_s, cell.value.0)).collect()
    }

    #[test]
    fn time_slots_are_short_near_the_end_and_longer_before() {
        let mut history = History::<Sum>::new(1.0, 4, f64::INFINITY);
        (1..=12).for_each(|s| history.entry(f64::from(s), 1.0).0 += 1);
        let cells = all(&history);
        assert_eq!(cells[cells.len() - 1], (11.0, 12.0, 1));
        assert!(cells[0].1 - cells[0].0 >= 2.0, "{cells:?}");
        assert!(cells.windows(2).all(|pair| pair[0].1 == pair[1].0), "{cells:?}");
    }

    #[test]
    fn a_late_measurement_is_in_its_own_cell_and_a_long_one_covers_its_whole_time() {
        let mut history = History::<Sum>::new(0.25, 100, f64::INFINITY);
        history.entry(0.252, 0.252).0 = 1;
        history.entry(1.5, 1.0).0 = 2;
        assert_eq!(all(&history), [(0.0, 0.25, 1), (0.5, 1.5, 2)]);
        let early: Vec<_> = history.between(0.6, 0.7).map(|cell| cell.value.0).collect();
        assert_eq!(early, [2]);
    }

    #[test]
    fn consecutive_long_measurements_leave_no_gap() {
        let mut history = History::<Sum>::new(0.25, 100, f64::INFINITY);
        // The ends of polls once a second, some of them a little late.
        let ends = [1.0, 2.12, 3.01, 4.11, 5.1];
        let mut before = 0.0;
        for t_s in ends {
            history.entry(t_s, t_s - before).0 += 1;
            before = t_s;
        }
        let cells = all(&history);
        assert!(cells.windows(2).all(|pair| pair[0].1 >= pair[1].0), "{cells:?}");
    }

    #[test]
    fn a_long_gap_needs_no_memory_and_loses_no_value() {
        let mut history = History::<Sum>::new(0.25, 8, f64::INFINITY);
        (1..100).for_each(|tick| history.entry(f64::from(tick) * 0.25, 0.25).0 += 1);
        history.entry(1e12, 0.25).0 += 1;
        history.entry(f64::INFINITY, 0.25).0 += 1;
        assert!(history.len() < 60, "{}", history.len());
        assert_eq!(all(&history).iter().map(|(.., n)| n).sum::<u64>(), 101);
    }

    #[test]
    fn a_history_with_a_limit_gets_no_longer_time_slots() {
        let filled = |longest_s: f64| {
            let mut history = History::<Sum>::new(0.25, 4, longest_s);
            (1..=400).for_each(|tick| history.entry(f64::from(tick) * 0.25, 0.25).0 += 1);
            history
        };
        for (longest_s, first) in [(0.1, (0.0, 0.25, 1)), (0.99, (0.0, 0.5, 2)), (1.0, (0.0, 1.0, 4))] {
            let history = filled(longest_s);
            assert_eq!(all(&history)[0], first);
            assert_eq!((history.cell_s(0.3), history.cell_s(100.0)), (first.1, 0.25));
        }
        let usual = filled(f64::INFINITY);
        assert_eq!(usual.cell_s(0.3), all(&usual)[0].1);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_whatever_the_order(times in proptest::collection::vec(0.0_f64..5000.0, 1..400)) {
            let mut history = History::<Sum>::new(0.25, 16, f64::INFINITY);
            times.iter().for_each(|t_s| history.entry(*t_s, 0.25).0 += 1);
            let cells = all(&history);
            prop_assert_eq!(cells.iter().map(|(.., n)| n).sum::<u64>(), times.len() as u64);
            prop_assert!(cells.windows(2).all(|pair| pair[0].1 <= pair[1].1));
            prop_assert!(history.len() <= 16 * 16);
        }
    }
}
