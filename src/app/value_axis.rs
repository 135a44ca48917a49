//! The vertical axis of a chart: which values it shows, and when it changes.
//!
//! ```text
//!   high ┤╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌▲╌╌   beyond: clipped, with a mark
//!        │      ▁▁▂▁▁▁▂▁▁▁▁▂▁█▁    what should be seen, with a margin on both sides
//!    low ┤╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌
//! ```
//! An axis that followed its values would move the picture under the eye. So it stays as it is until something that
//! should be seen lies beyond it, or until it has become much too long.

/// How values are spread over an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Spread {
    /// From 0, in equal steps.
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
