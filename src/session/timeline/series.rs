//! Values at equal steps of time, with gaps.

use std::collections::VecDeque;

/// Later moments than this step number are taken for it: 2^53 steps are longer than any session.
const LAST_STEP: f64 = 9_007_199_254_740_992.0;

/// A value for each step of time, the newest `kept` of them. A step without a value is a gap.
#[derive(Debug, Clone)]
pub struct Series<T> {
    step_s: f64,
    kept: usize,
    first: u64,
    cells: VecDeque<Option<T>>,
}

impl<T: Default> Series<T> {
    /// An empty series of steps of `step_s` seconds that holds `kept` of them.
    pub fn new(step_s: f64, kept: usize) -> Self {
        Self { step_s, kept: kept.max(1), first: 0, cells: VecDeque::new() }
    }

    /// The length of a step in seconds.
    pub fn step_s(&self) -> f64 {
        self.step_s
    }

    /// The step in which a stretch that ends at `t_s` ends. A border belongs to the step before it.
    pub fn step_ending(&self, t_s: f64) -> u64 {
        (t_s / self.step_s - 1e-6).clamp(0.0, LAST_STEP) as u64
    }

    /// One past the last step that was touched.
    pub fn end(&self) -> u64 {
        self.first + self.cells.len() as u64
    }

    /// The value of `step`; `None` for a gap.
    pub fn get(&self, step: u64) -> Option<&T> {
        let offset = usize::try_from(step.checked_sub(self.first)?).ok()?;
        self.cells.get(offset)?.as_ref()
    }

    /// The value of `step` to write to, made if it is not there; `None` if it is older than what is kept.
    pub fn entry(&mut self, step: u64) -> Option<&mut T> {
        if self.cells.is_empty() || step >= self.end() + self.kept as u64 {
            self.cells.clear();
            self.first = step;
        }
        while self.end() <= step {
            self.cells.push_back(None);
            if self.cells.len() > self.kept {
                self.cells.pop_front();
                self.first += 1;
            }
        }
        while step < self.first && self.cells.len() < self.kept {
            self.cells.push_front(None);
            self.first -= 1;
        }
        let offset = usize::try_from(step.checked_sub(self.first)?).ok()?;
        Some(self.cells.get_mut(offset)?.get_or_insert_default())
    }

    /// The steps that a stretch of `length_s` ending at `t_s` touches, at most as many as are kept, each with
    /// the share of the stretch that lies in it. A stretch without length lies in one step.
    pub fn shares(&self, t_s: f64, length_s: f64) -> impl Iterator<Item = (u64, f64)> + use<T> {
        let last = self.step_ending(t_s);
        let start_s = (t_s - length_s).max(0.0);
        let earliest = (start_s / self.step_s + 1e-6).clamp(0.0, LAST_STEP) as u64;
        let first = earliest.max(last.saturating_sub(self.kept as u64 - 1)).min(last);
        let step_s = self.step_s;
        (first..=last).map(move |step| {
            if first == last || length_s <= 0.0 {
                return (step, if step == last { 1.0 } else { 0.0 });
            }
            let (from, to) = (step as f64 * step_s, (step + 1) as f64 * step_s);
            (step, ((to.min(t_s) - from.max(start_s)) / length_s).max(0.0))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_without_a_value_is_a_gap() {
        let mut series = Series::new(1.0, 10);
        *series.entry(2).unwrap() = 7;
        *series.entry(4).unwrap() = 9;
        let read: Vec<_> = (1..6).map(|step| series.get(step).copied()).collect();
        assert_eq!(read, [None, Some(7), None, Some(9), None]);
    }

    #[test]
    fn the_oldest_go_and_a_far_jump_does_not_fill_the_memory() {
        let mut series = Series::new(1.0, 3);
        for step in 0..5 {
            *series.entry(step).unwrap() = step;
        }
        assert_eq!((series.get(1), series.get(2), series.get(4)), (None, Some(&2), Some(&4)));
        assert_eq!(series.entry(0), None);
        *series.entry(1 << 50).unwrap() = 1;
        assert_eq!(series.cells.len(), 1);
        assert_eq!(series.step_ending(f64::INFINITY), 1 << 53);
    }

    #[test]
    fn a_late_value_finds_its_step_before_the_first() {
        let mut series = Series::new(1.0, 5);
        *series.entry(3).unwrap() = 3;
        *series.entry(1).unwrap() = 1;
        assert_eq!((series.get(1), series.get(2), series.get(3)), (Some(&1), None, Some(&3)));
    }

    #[test]
    fn a_long_stretch_is_shared_out_among_its_steps() {
        let series = Series::<f64>::new(0.25, 100);
        let shares: Vec<_> = series.shares(1.0, 1.0).collect();
        assert_eq!(shares, [(0, 0.25), (1, 0.25), (2, 0.25), (3, 0.25)]);
        assert_eq!(series.shares(0.25, 0.1).collect::<Vec<_>>(), [(0, 1.0)]);
        assert_eq!(series.shares(0.5, 0.0).collect::<Vec<_>>(), [(1, 1.0)]);
        let sum: f64 = series.shares(1.1, 0.6).map(|(_, share)| share).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{sum}");
    }
}
