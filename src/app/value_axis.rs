//! The vertical axis of a chart: which values it shows, and when it changes.
//!
//! ```text
//!   high ┤╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌▲╌╌   beyond: clipped, with a mark
//!        │      ▁▁▂▁▁▁▂▁▁▁▁▂▁█▁    what should be seen, with a margin on both sides
//!    low ┤╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌
//! ```
//! An axis that followed its values would move the picture under the eye. So it stays as it is until something that
//! should be seen lies beyond it, or until it has become much too long.

use std::cmp::Ordering;

/// How values are spread over an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Spread {
    /// In equal steps.
    #[default]
    Linear,
    /// In equal factors.
    Log,
}

/// The values from the foot of a chart to its top.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ValueAxis {
    /// The value at the foot; above 0 where the spread is logarithmic.
    pub low: f64,
    /// The value at the top, above `low`.
    pub high: f64,
    /// How the values between are spread.
    pub spread: Spread,
}

/// A logarithmic axis is a decade long at the least, so that noise does not look like a mountain.
const LEAST_DECADES: f64 = 1.0;
/// The room below and above what should be seen, in decades.
const MARGINS: (f64, f64) = (0.05, 0.08);
/// An axis that has more room than this at either end, in decades, is too long.
const TOO_LONG: f64 = 0.35;

/// What a linear axis shows.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted {
    /// A usual value. A tenth of it is to be seen as a step.
    pub usual: f64,
    /// From the lowest to the highest value of what might be shown, from the most to the least. The last is shown at any
    /// rate, another one if a tenth can be seen beside it.
    pub ranges: Vec<(f64, f64)>,
}

/// A linear axis is at least as long as this share of what is usual, so that noise does not look like a mountain.
const LEAST_LENGTH: f64 = 0.5;
/// It is at most this long for the sake of what need not be shown, and one that is there already this long: of 16 dots
/// a tenth is more than one.
const MOST_LENGTH: (f64, f64) = (1.2, 1.5);
/// The room below and above what should be seen, as a share of that.
const MARGIN: f64 = 0.06;
/// A linear axis that is this many times as long as needed is too long.
const TOO_MANY_TIMES: f64 = 1.6;

impl ValueAxis {
    /// The logarithmic axis on which the values from `low` to `high`, all above 0, are seen: `kept` as long as it will
    /// do, else a new one that fits.
    pub fn log(kept: Option<Self>, low: f64, high: f64) -> Self {
        kept.filter(|kept| kept.spread == Spread::Log && kept.still_fits(low, high))
            .unwrap_or_else(|| Self::fitting(low, high))
    }

    fn fitting(low: f64, high: f64) -> Self {
        let (low, high) = (low.log10() - MARGINS.0, high.log10() + MARGINS.1);
        let missing = (LEAST_DECADES - (high - low)).max(0.0);
        // Latencies rise further than they fall.
        let (low, high) = (low - missing / 4.0, high + missing * 3.0 / 4.0);
        Self { low: 10_f64.powf(low), high: 10_f64.powf(high), spread: Spread::Log }
    }

    fn still_fits(&self, low: f64, high: f64) -> bool {
        let is_short = (self.high / self.low).log10() <= LEAST_DECADES + 1e-9;
        let room = [low / self.low, self.high / high].map(f64::log10);
        room.iter().all(|decades| *decades >= 0.0 && (is_short || *decades <= TOO_LONG))
    }

    /// The linear axis for values of 0 and above on which what is `wanted` is seen: `kept` as long as it will do, else a
    /// new one that fits.
    pub fn linear(kept: Option<Self>, wanted: &Wanted) -> Option<Self> {
        let usual = wanted.usual.max(f64::MIN_POSITIVE);
        let kept = kept.filter(|kept| kept.spread == Spread::Linear);
        let holds = |kept: &Self, (low, high): (f64, f64)| kept.low <= low && high <= kept.high;
        // What is on the axis already stays a little longer than it would be taken in: else both would alternate.
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
        Self { low: low.max(0.0), high: high + (-low).max(0.0), spread: Spread::Linear }
    }

    fn length(&self) -> f64 {
        self.high - self.low
    }

    /// Where `value` stands: 0 is the foot, 1 the top; what is beyond lies below or above.
    pub fn share(&self, value: f64) -> f64 {
        match self.spread {
            Spread::Linear => (value - self.low) / (self.high - self.low),
            Spread::Log => (value / self.low).log10() / (self.high / self.low).log10(),
        }
    }

    /// The value that stands at `share` of the height.
    pub fn value(&self, share: f64) -> f64 {
        match self.spread {
            Spread::Linear => self.low + (self.high - self.low) * share,
            Spread::Log => self.low * (self.high / self.low).powf(share),
        }
    }
}

/// The value that the share `share` of `values` lies below, in the order of `compare`.
pub(super) fn at<T: Copy>(share: f64, mut values: Vec<T>, compare: fn(&T, &T) -> Ordering) -> Option<T> {
    values.sort_unstable_by(compare);
    let last = values.len().checked_sub(1)?;
    values.get((share * last as f64) as usize).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(low: f64, high: f64) -> ValueAxis {
        ValueAxis::log(None, low, high)
    }

    #[test]
    fn it_holds_what_should_be_seen_with_a_margin_and_is_a_decade_at_the_least() {
        let axis = log(290e3, 9e6);
        assert!(axis.low < 290e3 && axis.low > 240e3 && axis.high > 9e6 && axis.high < 11e6, "{axis:?}");
        let narrow = log(100e3, 110e3);
        assert!((narrow.high / narrow.low).log10() > 0.999, "{narrow:?}");
        assert!(narrow.share(100e3) > 0.2 && narrow.share(110e3) < 0.5, "{narrow:?}");
    }

    #[test]
    fn it_stays_while_values_wobble_and_changes_once_when_they_leave_it_or_leave_it_empty() {
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
        ValueAxis::linear(kept, &Wanted { usual, ranges: ranges.to_vec() }).unwrap()
    }

    #[test]
    fn a_linear_axis_shows_all_as_long_as_a_tenth_can_be_seen_beside_it() {
        let around = linear(None, 160.0, &[(150.0, 170.0)]);
        assert!(around.low > 100.0 && around.high < 220.0, "{around:?}");
        let with_a_dip = linear(None, 160.0, &[(0.0, 170.0), (150.0, 170.0)]);
        assert_eq!(with_a_dip.low, 0.0);
        assert!(with_a_dip.high > 170.0 && with_a_dip.high < 200.0, "{with_a_dip:?}");
        assert_eq!(linear(None, 160.0, &[(150.0, 600.0), (150.0, 170.0)]), around);
        // What has to be seen is, however long that is.
        let long = linear(None, 160.0, &[(0.0, 900.0)]);
        assert!(long.low == 0.0 && long.high > 900.0, "{long:?}");
        let idle = linear(None, 0.0, &[(0.0, 0.0)]);
        assert!(idle.share(0.0) >= 0.0 && idle.high > idle.low, "{idle:?}");
    }

    #[test]
    fn a_linear_axis_neither_follows_noise_nor_alternates() {
        let mut axes = vec![linear(None, 160.0, &[(150.0, 170.0)])];
        for n in 0..200 {
            let noise = 8.0 * f64::from(n).sin();
            // All is 1.2 times as long as what is usual, more or less.
            let ranges = [(0.0, 192.0 + noise), (150.0 + noise / 2.0, 170.0)];
            axes.push(linear(axes.last().copied(), 160.0 + noise / 4.0, &ranges));
        }
        axes.dedup();
        assert!(axes.len() <= 3, "{axes:?}");
        let wide = axes[axes.len() - 1];
        assert_eq!(linear(Some(wide), 16.0, &[(15.0, 17.0)]), linear(None, 16.0, &[(15.0, 17.0)]));
    }

    #[test]
    fn a_share_is_the_way_back_from_its_value() {
        let linear = ValueAxis { low: 0.0, high: 200.0, spread: Spread::Linear };
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
