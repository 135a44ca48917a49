//! The time axis that all charts share: columns of equal length.
//!
//! ```text
//!   0.25 s a column   ▆▅▆▆▇▅▅▆▆▇
//!   full              ▆▅▆▆▇▅▅▆▆▇▆▅▆▆▅▅▆▇▆▅▆▆▇▅
//!   0.26 s            ▆▅▆▆▇▅▅▆▆▇▆▅▆▆▅▅▆▇▆▅▆▆▇▅    a twentieth longer, and room for what comes
//!   2 s, and moves    ▅▆▆▇▆▅▆▆▅▅▆▇▆▅▆▆▇▅▆▆▇▅▅▆
//! ```
//! At first, a session fills the axis from the left, in columns of a quarter of a second. When the axis is full, the
//! columns become longer in small steps. The whole session therefore stays visible, and the screen seldom redraws the
//! picture. If the user has chosen to see the last minutes, the columns have a largest length. With columns of this
//! length, the view scrolls. Columns begin at whole multiples of their length. The picture therefore does not move
//! while the length stays the same. A still picture is easy to read and needs few bytes on a slow terminal connection.
//!
//! This file also has the vertical axis of a chart: its range of values, and the conditions under which this range
//! changes.
//!
//! ```text
//!   high ┤╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌▲╌╌   beyond: clipped, with a mark
//!        │      ▁▁▂▁▁▁▂▁▁▁▁▂▁█▁    what should be seen, with a margin on both sides
//!    low ┤╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌
//! ```
//! If the range followed every value, the picture would move all the time. The range therefore changes only if an
//! important value is outside, or if the range is much larger than needed.

use std::cmp::Ordering;

use crate::{
    clock::{TICK_NS, seconds},
    session::{Timeline, timeline::Window},
};

/// The horizontal axis of a chart. The axis defines the period of time in each column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeAxis {
    /// The number of the first column after the axis. Column 0 begins at the start of the session.
    pub end: u64,
    /// The number of columns.
    pub columns: u16,
    /// The length of a column, in seconds.
    pub step_s: f64,
}

impl TimeAxis {
    /// Returns an axis with `columns` columns of `step_s` seconds each. The axis contains the time `t_s`. A session
    /// that is shorter than the axis fills the axis from `begins_s` on. In a longer session, `t_s` is in the last
    /// column.
    pub fn holding(t_s: f64, begins_s: f64, columns: u16, step_s: f64) -> Self {
        let first = (begins_s / step_s + 1e-9) as u64;
        Self { end: (newest(t_s, step_s) + 1).max(first + u64::from(columns)), columns, step_s }
    }

    /// Returns the time when the first column begins, in seconds.
    pub fn from_s(&self) -> f64 {
        self.start_s(0)
    }

    /// Returns the time when the last column ends, in seconds.
    pub fn to_s(&self) -> f64 {
        self.end as f64 * self.step_s
    }

    /// Returns the length of the whole axis, in seconds.
    pub fn length_s(&self) -> f64 {
        f64::from(self.columns) * self.step_s
    }

    /// Returns the end of the columns that a session fills. The session ends at `ends_s`. The result is the end of the
    /// last filled column in seconds, and the number of filled columns.
    pub fn until(&self, ends_s: f64) -> (f64, usize) {
        let shown = ((ends_s.min(self.to_s()) - self.from_s()) / self.step_s).ceil().max(0.0);
        (self.from_s() + shown * self.step_s, shown as usize)
    }

    /// Returns the measurements in the columns. Measurements after `ends_s` are left out.
    pub fn window<'a>(&self, timeline: &'a Timeline, ends_s: f64) -> Window<'a> {
        let (to_s, shown) = self.until(ends_s);
        timeline.window(self.from_s(), to_s, shown).until(ends_s)
    }

    /// Returns the time when `column` begins, in seconds. This time may be in the future.
    pub fn start_s(&self, column: u16) -> f64 {
        (self.end - u64::from(self.columns) + u64::from(column)) as f64 * self.step_s
    }

    /// Returns the column that contains the moment `t_s`. Returns `None` if the axis does not contain this moment. A
    /// moment between two columns belongs to the later column.
    pub fn column(&self, t_s: f64) -> Option<u16> {
        self.of_number(number_at(t_s, self.step_s))
    }

    /// Returns the column that contains the moment `t_s`, as [`interval_at`] does. `known_s` is the latest known
    /// moment.
    pub fn column_at(&self, t_s: f64, known_s: f64) -> Option<u16> {
        self.of_number(interval_at(t_s, known_s, self.step_s))
    }

    /// Returns the column that contains the moment `t_s`, or ends at this moment.
    pub fn column_ending(&self, t_s: f64) -> Option<u16> {
        self.of_number((t_s / self.step_s - 1e-6).max(0.0) as u64)
    }

    fn of_number(&self, number: u64) -> Option<u16> {
        let from_end = self.end.checked_sub(1 + number)?;
        u64::from(self.columns).checked_sub(1 + from_end).map(|column| column as u16)
    }
}

/// The length of the shortest column, in seconds. At the start of a session, columns have this length.
const SHORTEST_S: f64 = 0.25;
/// Each step makes columns longer by this factor.
const GROWTH: f64 = 1.05;

/// Makes the shortest column longer, step by step, until it is at least `least_s` seconds long. Returns the resulting
/// length in seconds.
pub(super) fn grown(least_s: f64) -> f64 {
    let times = ((least_s / SHORTEST_S).ln() / GROWTH.ln() - 1e-9).ceil();
    SHORTEST_S * GROWTH.powi(times.max(0.0) as i32)
}

/// Returns the number of the interval of `step_s` seconds that contains the moment `t_s`. Interval 0 begins at the
/// start of the session. A moment between two intervals belongs to the later interval. The latest known moment,
/// `known_s`, belongs to the interval that ends at this moment, because nothing was measured later.
///
/// The cursor, the charts, the figures and the events all use this function, so they show the same interval.
pub(super) fn interval_at(t_s: f64, known_s: f64, step_s: f64) -> u64 {
    number_at(t_s, step_s).min(newest(known_s, step_s))
}

fn number_at(t_s: f64, step_s: f64) -> u64 {
    (t_s.max(0.0) / step_s + 1e-9) as u64
}

/// Returns the number of the newest interval. This interval shows a measurement that ended at `known_s`. A measurement
/// may end less than half a tick (an eighth of a second) after its interval.
pub(super) fn newest(known_s: f64, step_s: f64) -> u64 {
    ((known_s - step_s.min(seconds(TICK_NS)) / 2.0) / step_s).max(0.0) as u64
}

/// The scale of an axis: linear or logarithmic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AxisScale {
    /// Equal differences of values have equal distances.
    #[default]
    Linear,
    /// Equal ratios of values have equal distances.
    Log,
}

/// The range of values from the bottom of a chart to its top.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ValueAxis {
    /// The value at the bottom. On a logarithmic axis, this value is above 0.
    pub low: f64,
    /// The value at the top, above `low`.
    pub high: f64,
    /// The scale between bottom and top.
    pub scale: AxisScale,
}

/// The minimum length of a logarithmic axis, in decades. On a shorter axis, noise would look large.
const LEAST_DECADES: f64 = 1.0;
/// The margin below and above the important values, in decades.
const MARGINS: (f64, f64) = (0.05, 0.08);
/// The largest empty part at either end of a logarithmic axis, in decades. An axis with a larger empty part
/// is replaced.
const TOO_LONG: f64 = 0.35;

/// Values that a linear axis should show.
#[derive(Debug, Clone, PartialEq)]
pub struct ValueRanges {
    /// The typical value. A change by a tenth of this value should be visible.
    pub usual: f64,
    /// Ranges, each from its lowest to its highest value. The last range is the most important one, and the
    /// axis always shows it. The axis also shows the earlier ranges if a change by a tenth of the typical
    /// value is then still visible.
    pub ranges: Vec<(f64, f64)>,
}

/// The minimum length of a linear axis, as a share of the typical value. On a shorter axis, noise would look large.
const LEAST_LENGTH: f64 = 0.5;
/// The maximum length of a linear axis that shows optional ranges, as a share of the typical value. The first
/// number is for a new axis, and the second number for an axis that is kept. With these lengths, a tenth of
/// the typical value is more than one dot on a chart 16 dots high.
const MOST_LENGTH: (f64, f64) = (1.2, 1.5);
/// The margin below and above the important values, as a share of their range.
const MARGIN: f64 = 0.06;
/// The largest ratio of a linear axis to the necessary length. A longer axis is replaced.
const TOO_MANY_TIMES: f64 = 1.6;

impl ValueAxis {
    /// Returns a logarithmic axis for the values from `low` to `high`, all above 0. The result is the axis `kept` if
    /// this axis still fits, otherwise a new axis.
    pub fn log(kept: Option<Self>, low: f64, high: f64) -> Self {
        kept.filter(|kept| kept.scale == AxisScale::Log && kept.still_fits(low, high))
            .unwrap_or_else(|| Self::fitting(low, high))
    }

    fn fitting(low: f64, high: f64) -> Self {
        let (low, high) = (low.log10() - MARGINS.0, high.log10() + MARGINS.1);
        let missing = (LEAST_DECADES - (high - low)).max(0.0);
        // Latencies vary more upwards than downwards.
        let (low, high) = (low - missing / 4.0, high + missing * 3.0 / 4.0);
        Self { low: 10_f64.powf(low), high: 10_f64.powf(high), scale: AxisScale::Log }
    }

    fn still_fits(&self, low: f64, high: f64) -> bool {
        let is_short = (self.high / self.low).log10() <= LEAST_DECADES + 1e-9;
        let room = [low / self.low, self.high / high].map(f64::log10);
        room.iter().all(|decades| *decades >= 0.0 && (is_short || *decades <= TOO_LONG))
    }

    /// Returns a linear axis for the `wanted` rates, all at least 0. The result is the axis `kept` if this axis still
    /// fits, otherwise a new axis. If all rates are 0, the labels still differ.
    pub fn linear(kept: Option<Self>, wanted: &ValueRanges) -> Option<Self> {
        let usual = wanted.usual.max(1.0);
        let kept = kept.filter(|kept| kept.scale == AxisScale::Linear);
        let holds = |kept: &Self, (low, high): (f64, f64)| kept.low <= low && high <= kept.high;
        // The limit for keeping a range is wider than the limit for adding a range; otherwise the axis would
        // alternate between two lengths.
        let most = |range| match kept.filter(|kept| holds(kept, range)) {
            Some(_) => MOST_LENGTH.1 * usual,
            None => MOST_LENGTH.0 * usual,
        };
        let is_short = |range: &&(f64, f64)| range.1 - range.0 <= most(**range);
        let range = *wanted.ranges.iter().find(is_short).or(wanted.ranges.last())?;
        let fitting = Self::linear_around(range, usual);
        let long =
            (TOO_MANY_TIMES * fitting.length()).min((MOST_LENGTH.1 * usual).max(fitting.length() * 1.2));
        Some(kept.filter(|kept| holds(kept, range) && kept.length() <= long).unwrap_or(fitting))
    }

    fn linear_around((low, high): (f64, f64), usual: f64) -> Self {
        let missing = (LEAST_LENGTH * usual - (high - low)).max(0.0) / 2.0;
        let margin = (high - low + 2.0 * missing) * MARGIN;
        let (low, high) = (low - missing - margin, high + missing + margin);
        Self { low: low.max(0.0), high: high + (-low).max(0.0), scale: AxisScale::Linear }
    }

    fn length(&self) -> f64 {
        self.high - self.low
    }

    /// Returns the position of `value`. 0 is the bottom, and 1 is the top. The position of a value outside the axis is
    /// below 0 or above 1.
    pub fn share(&self, value: f64) -> f64 {
        match self.scale {
            AxisScale::Linear => (value - self.low) / (self.high - self.low),
            AxisScale::Log => (value / self.low).log10() / (self.high / self.low).log10(),
        }
    }

    /// Returns the value at this share of the axis, from 0 at the bottom to 1 at the top.
    pub fn value(&self, share: f64) -> f64 {
        match self.scale {
            AxisScale::Linear => self.low + (self.high - self.low) * share,
            AxisScale::Log => self.low * (self.high / self.low).powf(share),
        }
    }
}

/// Returns the quantile of `values` at `share`, from 0 to 1. `compare` defines the order of the values.
pub(super) fn at<T: Copy>(share: f64, mut values: Vec<T>, compare: fn(&T, &T) -> Ordering) -> Option<T> {
    values.sort_unstable_by(compare);
    let last = values.len().checked_sub(1)?;
    values.get((share * last as f64) as usize).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_column_contains_the_present_moment_and_its_own_end() {
        let axis = TimeAxis::holding(100.0, 0.0, 40, 1.0);
        assert_eq!((axis.start_s(39), axis.from_s(), axis.to_s()), (99.0, 60.0, 100.0));
        assert_eq!((axis.column(99.9), axis.column(60.0), axis.column(59.9)), (Some(39), Some(0), None));
        assert_eq!(TimeAxis::holding(100.25, 0.0, 40, 1.0).start_s(39), 100.0);
        assert_eq!(
            (axis.column(100.1), axis.column(100.0), axis.column_ending(100.0)),
            (None, None, Some(39))
        );
    }

    #[test]
    fn a_young_session_fills_the_axis_from_the_left() {
        let axis = TimeAxis::holding(2.5, 0.0, 10, 1.0);
        assert_eq!((axis.start_s(0), axis.start_s(2), axis.start_s(9)), (0.0, 2.0, 9.0));
        assert_eq!((axis.column(0.0), axis.column(2.4)), (Some(0), Some(2)));
        assert_eq!(TimeAxis::holding(10.25, 0.0, 10, 1.0).column(0.0), None);
        assert_eq!(TimeAxis::holding(0.0, 0.0, 0, 1.0).column(0.0), None);
    }

    #[test]
    fn columns_grow_by_a_twentieth_from_a_quarter_of_a_second_on() {
        assert_eq!((grown(0.0), grown(0.25), grown(0.2501)), (0.25, 0.25, 0.25 * 1.05));
        for n in 0..2000 {
            let least_s = 0.25 * 1.013_f64.powi(n);
            let length_s = grown(least_s);
            assert!(
                length_s >= least_s * (1.0 - 1e-9) && length_s < least_s * 1.0501,
                "{least_s} {length_s}"
            );
        }
    }

    #[test]
    fn columns_have_any_length() {
        let axis = TimeAxis::holding(3600.0, 0.0, 60, 60.0);
        assert_eq!((axis.from_s(), axis.column(90.0), axis.length_s()), (0.0, Some(1), 3600.0));
        assert_eq!(TimeAxis::holding(1.0, 0.0, 100, 0.1).column(0.3), Some(3));
    }

    fn log(low: f64, high: f64) -> ValueAxis {
        ValueAxis::log(None, low, high)
    }

    #[test]
    fn a_log_axis_contains_the_values_with_a_margin_and_is_at_least_a_decade_long() {
        let axis = log(290e3, 9e6);
        assert!(axis.low < 290e3 && axis.low > 240e3 && axis.high > 9e6 && axis.high < 11e6, "{axis:?}");
        let narrow = log(100e3, 110e3);
        assert!((narrow.high / narrow.low).log10() > 0.999, "{narrow:?}");
        assert!(narrow.share(100e3) > 0.2 && narrow.share(110e3) < 0.5, "{narrow:?}");
    }

    #[test]
    fn a_log_axis_changes_only_when_values_leave_it_or_a_large_part_of_it_is_empty() {
        let mut axis = log(300e3, 5e6);
        let first = axis;
        for n in 0..100 {
            let wobble = 1.0 + 0.05 * f64::from(n).sin();
            axis = ValueAxis::log(Some(axis), 300e3 * wobble, 5e6 / wobble);
            assert_eq!(axis, first);
        }
        axis = ValueAxis::log(Some(axis), 300e3, 12e6);
        assert!(axis.high > 12e6);
        let grown = axis;
        axis = ValueAxis::log(Some(axis), 300e3, 7e6);
        assert_eq!(axis, grown, "not much too long");
        axis = ValueAxis::log(Some(axis), 300e3, 5e6);
        assert_eq!(axis, first);
    }

    fn linear(kept: Option<ValueAxis>, usual: f64, ranges: &[(f64, f64)]) -> ValueAxis {
        ValueAxis::linear(kept, &ValueRanges { usual, ranges: ranges.to_vec() }).unwrap()
    }

    #[test]
    fn a_linear_axis_shows_all_ranges_while_a_change_by_a_tenth_stays_visible() {
        let around = linear(None, 160.0, &[(150.0, 170.0)]);
        assert!(around.low > 100.0 && around.high < 220.0, "{around:?}");
        let with_a_dip = linear(None, 160.0, &[(0.0, 170.0), (150.0, 170.0)]);
        assert_eq!(with_a_dip.low, 0.0);
        assert!(with_a_dip.high > 170.0 && with_a_dip.high < 200.0, "{with_a_dip:?}");
        assert_eq!(linear(None, 160.0, &[(150.0, 600.0), (150.0, 170.0)]), around);
        // A required range is shown, however long it is.
        let long = linear(None, 160.0, &[(0.0, 900.0)]);
        assert!(long.low == 0.0 && long.high > 900.0, "{long:?}");
        let idle = linear(None, 0.0, &[(0.0, 0.0)]);
        assert!(idle.share(0.0) >= 0.0 && idle.high > 0.2, "{idle:?}");
    }

    #[test]
    fn a_linear_axis_neither_follows_noise_nor_alternates() {
        let mut axes = vec![linear(None, 160.0, &[(150.0, 170.0)])];
        for n in 0..200 {
            let noise = 8.0 * f64::from(n).sin();
            // All values are within 1.2 times the typical one.
            let ranges = [(0.0, 192.0 + noise), (150.0 + noise / 2.0, 170.0)];
            axes.push(linear(axes.last().copied(), 160.0 + noise / 4.0, &ranges));
        }
        axes.dedup();
        assert!(axes.len() <= 3, "{axes:?}");
        let wide = axes[axes.len() - 1];
        assert_eq!(linear(Some(wide), 16.0, &[(15.0, 17.0)]), linear(None, 16.0, &[(15.0, 17.0)]));
    }

    #[test]
    fn share_is_the_inverse_of_value() {
        let linear = ValueAxis { low: 0.0, high: 200.0, scale: AxisScale::Linear };
        for axis in [log(1e3, 1e6), linear] {
            for share in [0.0, 0.25, 1.0] {
                assert!((axis.share(axis.value(share)) - share).abs() < 1e-9);
            }
            assert!(
                axis.share(axis.high * 2.0) > 1.0 && axis.share(axis.low / 2.0 - 1.0) < 0.0
                    || axis.low == 0.0
            );
        }
    }
}
