//! Finds level shifts: times when a measured figure stays away from its usual level.
//!
//! ```text
//!   values  ─► cells of 10 s, the last 10 minutes ─► usual level and spread
//!                                                         │
//!            ▁▂▁▁▂▁▁▇█▇▇█▇▇▂▁▁▂                           ▼
//!                   └─────┘ outside for 3 s: a shift, until the figure is inside for 3 s
//! ```
//! The usual level is called the *baseline*. The values of a shift do not change the baseline. If a shift lasts for
//! minutes, its level becomes the baseline. A baseline contains only the values of the last 10 minutes, so the baseline
//! follows a slow rise. For example, no shift is found if a figure takes an hour to double.

use std::collections::VecDeque;

/// The length of a cell in seconds. A baseline has its first level after this time.
const CELL_S: f64 = 10.0;
/// The smallest number of values in a cell. The median of fewer values is not robust.
const LEAST_VALUES: usize = 3;
/// The largest number of cells in a baseline. All cells together cover 10 minutes.
const CELLS: usize = 60;
/// The smallest spread, as a share of the level. Without this minimum, a tiny change of an almost constant figure would
/// count as a shift.
const LEAST_SPREAD: f64 = 0.05;
/// In a normal distribution, the ratio of the interquartile range to the standard deviation.
const QUARTILES_TO_DEVIATION: f64 = 1.349;
/// The smallest distance of a shift from the usual level, as a multiple of the spread. Noise rarely reaches this number
/// of standard deviations.
const SPREADS: f64 = 6.0;
/// A shift begins when a figure is outside its usual level for this time, in seconds. The shift ends when the figure is
/// back for the same time.
const HELD_S: f64 = 3.0;
/// After a shift has lasted this long, in seconds, its level becomes the usual level.
const SETTLED_S: f64 = 180.0;
/// A value covers the time since the previous value, but at most this many seconds. A longer gap between
/// values is not part of a shift.
const LONGEST_GAP_S: f64 = 5.0;

/// The usual level of a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UsualLevel {
    /// The median.
    pub level: f64,
    /// The spread of the values around the median, comparable to a standard deviation.
    pub spread: f64,
}

/// The values of a figure in the last 10 minutes, as medians of 10 s.
#[derive(Debug, Clone, Default)]
pub struct Baseline {
    opened_s: f64,
    open: Vec<f64>,
    /// The cells, oldest first. Equal neighbours are one entry with their number, because most figures rarely change.
    cells: VecDeque<(UsualLevel, usize)>,
    /// The usual level, or `None` during the first 10 s.
    pub usual: Option<UsualLevel>,
}

impl Baseline {
    /// Adds the value at the time `t_s`, in seconds of the session.
    pub fn push(&mut self, t_s: f64, value: f64) {
        if self.open.is_empty() {
            self.opened_s = t_s;
        }
        self.open.push(value);
        if t_s - self.opened_s < CELL_S - 1.0 || self.open.len() < LEAST_VALUES {
            return;
        }
        let Some(new) = usual_level(&self.open) else { return };
        self.open.clear();
        match self.cells.back_mut() {
            Some((last, n)) if *last == new => *n += 1,
            _ => self.cells.push_back((new, 1)),
        }
        if self.cells.iter().map(|(_, n)| n).sum::<usize>() > CELLS
            && let Some((_, n)) = self.cells.front_mut()
        {
            *n -= 1;
            self.cells.pop_front_if(|(_, n)| *n == 0);
        }
        let (levels, within) = (self.each(|cell| cell.level), self.each(|cell| cell.spread));
        self.usual = usual_level(&levels).map(|between| {
            let spread = between.spread.max(quantile(&within, 0.5).unwrap_or(0.0));
            UsualLevel { spread: spread.max(between.level.abs() * LEAST_SPREAD), ..between }
        });
    }

    /// Returns a figure of each cell.
    fn each(&self, figure: impl Fn(&UsualLevel) -> f64) -> Vec<f64> {
        self.cells.iter().flat_map(|(cell, n)| std::iter::repeat_n(figure(cell), *n)).collect()
    }

    /// Returns the usual level. During the first 10 s, returns the median of the values so far, or `None` without
    /// values.
    fn level(&self) -> Option<f64> {
        self.usual.map(|usual| usual.level).or_else(|| quantile(&self.open, 0.5))
    }
}

/// Returns the median of `values`, and the spread of `values` around the median.
fn usual_level(values: &[f64]) -> Option<UsualLevel> {
    let [low, level, high] = [0.25, 0.5, 0.75].map(|share| quantile(values, share));
    Some(UsualLevel { level: level?, spread: (high? - low?) / QUARTILES_TO_DEVIATION })
}

/// Returns the quantile of `values` for `share`, 0 to 1, rounded to the nearest value.
fn quantile(values: &[f64], share: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    sorted.get((share * last as f64).round() as usize).copied()
}

/// The smallest difference from the usual level that counts as a shift. A shift must reach both the smallest ratio and
/// the smallest difference.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ShiftThreshold {
    /// The smallest ratio of the higher and the lower level.
    pub factor: f64,
    /// The smallest difference of the levels, in the unit of the figure.
    pub least: f64,
}

impl ShiftThreshold {
    /// Returns 1 if `value` is above the usual level, -1 if `value` is below it, and 0 otherwise. The difference must
    /// be at least `part` times the smallest difference.
    fn side(self, usual: UsualLevel, value: f64, part: f64) -> i8 {
        let away = value - usual.level;
        let is_far = away.abs() >= self.least * part && away.abs() >= SPREADS * part * usual.spread;
        let (low, high) = (value.min(usual.level), value.max(usual.level));
        match is_far && high >= low * self.factor.powf(part) {
            true if away > 0.0 => 1,
            true => -1,
            false => 0,
        }
    }
}

/// A level shift.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LevelShift {
    /// The time when the shift began, in seconds of the session.
    pub since_s: f64,
    /// The usual level before the shift.
    pub from: f64,
    /// The level of the figure during the shift so far.
    pub to: f64,
    /// How the shift ended, or `None` while the shift lasts.
    pub end: Option<ShiftEnd>,
}

/// The end of a level shift.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ShiftEnd {
    /// The figure is at its usual level again. The first number is the time of the return, in seconds of the session.
    /// The second number is the present value of the figure.
    Back(f64, f64),
    /// The figure has moved to the other side of its usual level. A new shift begins there. The numbers have the same
    /// meaning as for `Back`.
    Crossed(f64, f64),
    /// The shift has lasted so long that its level has become the usual level.
    NewLevel,
}

/// Watches a figure and reports its level shifts.
#[derive(Debug, Clone, Default)]
pub struct LevelWatch {
    difference: ShiftThreshold,
    baseline: Baseline,
    last: Option<(f64, f64)>,
    /// The current shift, and the baseline of the values during the shift.
    shift: Option<(LevelShift, Baseline)>,
    /// The latest values, which may begin or end a shift, each with its time.
    doubtful: Vec<(f64, f64)>,
    /// The time when the first of the latest values began, in seconds of the session.
    doubtful_since_s: f64,
    side: i8,
}

impl LevelWatch {
    /// Creates a watch of a figure without earlier values.
    pub fn new(difference: ShiftThreshold) -> Self {
        Self { difference, ..Self::default() }
    }

    /// Creates a watch of a figure that was 0 until `until_s`, in seconds of the session.
    pub fn after_zero(difference: ShiftThreshold, until_s: f64) -> Self {
        let zero = UsualLevel { level: 0.0, spread: 0.0 };
        let baseline = Baseline { cells: [(zero, 1)].into(), usual: Some(zero), ..Baseline::default() };
        Self { baseline, last: Some((until_s, 0.0)), ..Self::new(difference) }
    }

    /// Returns the last value, and the usual level before the current shift.
    pub fn last_and_usual(&self) -> Option<(f64, UsualLevel)> {
        self.last.map(|(_, value)| value).zip(self.baseline.usual)
    }

    /// Returns the current shift.
    pub fn shift(&self) -> Option<LevelShift> {
        self.shift
            .as_ref()
            .map(|(shift, during)| LevelShift { to: during.level().unwrap_or(shift.to), ..*shift })
    }

    /// Adds a value that covers the time up to `t_s`, in seconds of the session. Returns a shift that begins or ends
    /// with this value.
    pub fn push(&mut self, t_s: f64, value: f64) -> Option<LevelShift> {
        let before_s = self.last.map_or(t_s, |(before_s, _)| before_s.max(t_s - LONGEST_GAP_S));
        self.last = Some((t_s, value));
        let Some(usual) = self.baseline.usual else {
            self.baseline.push(t_s, value);
            return None;
        };
        match &mut self.shift {
            None => {
                let side = self.difference.side(usual, value, 1.0);
                if side != self.side {
                    self.settle();
                    (self.side, self.doubtful_since_s) = (side, before_s);
                }
                if side == 0 {
                    self.baseline.push(t_s, value);
                    return None;
                }
                self.doubtful.push((t_s, value));
                (t_s - self.doubtful_since_s >= HELD_S).then(|| self.begin(usual))
            }
            Some((shift, during)) => {
                // A shift ends only at half of the difference. Otherwise, a figure near the border would
                // begin and end shifts again and again.
                if self.difference.side(usual, value, 0.5) == self.side {
                    self.doubtful.drain(..).for_each(|(t_s, value)| during.push(t_s, value));
                    during.push(t_s, value);
                    let is_settled = t_s - shift.since_s >= SETTLED_S && during.usual.is_some();
                    return is_settled.then(|| self.end(ShiftEnd::NewLevel)).flatten();
                }
                if self.doubtful.is_empty() {
                    self.doubtful_since_s = before_s;
                }
                self.doubtful.push((t_s, value));
                if t_s - self.doubtful_since_s < HELD_S {
                    return None;
                }
                let other = -self.side;
                let is_beyond = |value: f64| self.difference.side(usual, value, 1.0) == other;
                let beyond = self.doubtful.iter().rev().take_while(|(_, value)| is_beyond(*value)).count();
                if beyond == 0 {
                    return self.end(ShiftEnd::Back(self.doubtful_since_s, value));
                }
                let (ended, before) = (self.doubtful_since_s, self.doubtful.len() - beyond);
                let crossed_s = self.doubtful[..before].last().map_or(ended, |(t_s, _)| *t_s);
                // A single outlier does not decide between the two ends.
                if t_s - crossed_s < HELD_S {
                    return None;
                }
                let kept = self.doubtful.split_off(before);
                self.doubtful_since_s = crossed_s;
                let shift = self.end(ShiftEnd::Crossed(ended, value));
                (self.doubtful, self.side) = (kept, other);
                shift
            }
        }
    }

    /// Adds the latest values to the baseline, because these values do not belong to a shift.
    fn settle(&mut self) {
        self.doubtful.drain(..).for_each(|(t_s, value)| self.baseline.push(t_s, value));
    }

    fn begin(&mut self, usual: UsualLevel) -> LevelShift {
        let mut during = Baseline::default();
        self.doubtful.drain(..).for_each(|(t_s, value)| during.push(t_s, value));
        let to = during.level().unwrap_or(usual.level);
        let shift = LevelShift { since_s: self.doubtful_since_s, from: usual.level, to, end: None };
        self.shift = Some((shift, during));
        shift
    }

    fn end(&mut self, end: ShiftEnd) -> Option<LevelShift> {
        let shift = self.shift();
        let (_, during) = self.shift.take()?;
        if end == ShiftEnd::NewLevel {
            self.baseline = during;
        }
        self.settle();
        self.side = 0;
        shift.map(|shift| LevelShift { end: Some(end), ..shift })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATENCY: ShiftThreshold = ShiftThreshold { factor: 2.0, least: 0.2 };

    /// Returns the beginnings and ends of shifts in a series with one value per second.
    fn shifts(values: impl IntoIterator<Item = f64>) -> Vec<(usize, LevelShift)> {
        let mut watch = LevelWatch::new(LATENCY);
        let found = values.into_iter().zip(1_usize..).map(|(value, s)| (s, watch.push(s as f64, value)));
        found.filter_map(|(s, shift)| Some((s, shift?))).collect()
    }

    /// Values around `level` that vary by a tenth.
    fn around(level: f64, n: usize) -> impl Iterator<Item = f64> {
        (0..n).map(move |s| level * (1.0 + 0.1 * ((s * 7919 % 11) as f64 / 5.0 - 1.0)))
    }

    #[test]
    fn a_shift_begins_after_three_seconds_and_ends_when_the_figure_is_back() {
        let found = shifts(around(0.4, 12).chain(around(4.9, 38)).chain(around(0.4, 20)));
        let [(began_s, began), (ended_s, ended)] = &found[..] else { panic!("{found:?}") };
        assert_eq!((*began_s, began.since_s, began.end), (15, 12.0, None));
        assert!((began.from - 0.4).abs() < 0.05 && (began.to - 4.9).abs() < 0.5, "{began:?}");
        let Some(ShiftEnd::Back(at_s, value)) = ended.end else { panic!("{ended:?}") };
        assert_eq!((*ended_s, at_s), (53, 50.0));
        assert!(value < 0.5 && (ended.to - 4.9).abs() < 0.5, "{ended:?}");
    }

    #[test]
    fn a_jump_to_the_other_side_ends_a_shift_and_begins_another_at_the_same_time() {
        for between in [0, 1] {
            let low = around(2.0, between).chain(around(0.05, 20));
            let found = shifts(around(2.0, 12).chain(around(9.0, 20)).chain(low));
            let [(15, _), (ended_s, ended), (began_s, began)] = &found[..] else { panic!("{found:?}") };
            let Some(ShiftEnd::Crossed(at_s, value)) = ended.end else { panic!("{ended:?}") };
            assert_eq!((*ended_s, at_s, *began_s), (35 + between, 32.0, 36 + between));
            assert!(value < 0.1 && began.end.is_none() && began.to < 0.1, "{found:?}");
            assert_eq!(began.since_s, 32.0 + between as f64);
        }
    }

    #[test]
    fn an_outlier_on_the_other_side_does_not_hide_that_the_figure_is_back() {
        let back = [2.0, 2.0, 0.05].into_iter().chain(around(2.0, 20));
        let found = shifts(around(2.0, 12).chain(around(9.0, 20)).chain(back));
        let [(15, _), (36, ended)] = &found[..] else { panic!("{found:?}") };
        assert!(matches!(ended.end, Some(ShiftEnd::Back(32.0, _))), "{ended:?}");
    }

    #[test]
    fn noise_single_values_and_small_differences_are_no_shifts() {
        assert_eq!(shifts(around(0.4, 600)), []);
        // Ten times as much, but less than 0.2.
        assert_eq!(shifts(around(0.01, 60).chain(around(0.1, 60))), []);
        let peaks = around(0.4, 300).enumerate().map(|(s, value)| if s % 20 < 2 { 9.0 } else { value });
        assert_eq!(shifts(peaks), []);
        // A figure that always jumps has a wide spread.
        let jumps = (0..300).map(|s| if s / 4 % 2 == 0 { 0.4 } else { 2.0 });
        assert_eq!(shifts(jumps), []);
    }

    #[test]
    fn a_slow_rise_is_no_shift() {
        let rise = |s: usize| 0.4 * 100_f64.powf(s as f64 / 3600.0);
        assert_eq!(shifts((0..3600).map(rise)), []);
        assert_eq!(shifts((0..600).map(|s| 1.0 + s as f64 / 600.0)), []);
    }

    #[test]
    fn a_level_that_lasts_for_minutes_becomes_the_baseline() {
        let found = shifts(around(0.4, 60).chain(around(4.9, 400)).chain(around(0.4, 30)));
        let ends: Vec<_> = found.iter().map(|(s, shift)| (*s, shift.end)).collect();
        let [(63, None), (_, Some(ShiftEnd::NewLevel)), (463, None)] = ends[..] else { panic!("{ends:?}") };
        assert!(found[2].1.from > 4.0 && found[2].1.to < 1.0, "{found:?}");
    }

    #[test]
    fn a_figure_that_was_always_zero_can_rise() {
        let mut watch = LevelWatch::after_zero(LATENCY, 10.0);
        let found: Vec<_> = (11..=13).map(|s| watch.push(f64::from(s), 0.9).is_some()).collect();
        assert_eq!(found, [false, false, true]);
    }

    #[test]
    fn memory_is_bounded() {
        let mut baseline = Baseline::default();
        (0..100_000).for_each(|s: u32| baseline.push(f64::from(s), f64::from(s * 7919 % 997)));
        assert!(baseline.cells.len() <= CELLS && baseline.open.len() <= 10);
        let mut constant = Baseline::default();
        (0..10_000).for_each(|s| constant.push(f64::from(s), 5.0));
        assert_eq!((constant.cells.len(), constant.each(|cell| cell.level)), (1, vec![5.0; CELLS]));
    }
}
