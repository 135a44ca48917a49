//! The scale of a report's chart: maps values to positions in the picture, and chooses the labelled values.

use super::chart::{Chart, Quantity};

/// The range of an axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scale {
    pub(super) quantity: Quantity,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// The maximum number of labels on an axis.
const MOST_TICKS: usize = 9;

impl Scale {
    /// Returns the vertical axis of a chart; `None` without values.
    pub(super) fn y(chart: &Chart) -> Option<Self> {
        let heat = chart.heat.as_ref().map(super::heat_map::HeatMap::range);
        let values = chart.values().chain(heat.into_iter().flat_map(|(low, high)| [low, high]));
        let quantity = chart.y;
        let (low, high) = ends(values.filter(|value| !quantity.is_log() || *value > 0.0))?;
        let (low, high) = match quantity.is_log() {
            true => (low * 0.85, high * 1.15),
            false => (0.0, high.max(f64::MIN_POSITIVE) * 1.08),
        };
        Some(Self { quantity, low, high })
    }

    /// Returns the horizontal axis of a chart; `None` without values. A time axis covers the whole session.
    pub(super) fn x(chart: &Chart, (from_s, until_s): (f64, f64)) -> Option<Self> {
        let quantity = chart.x;
        let (low, high) = ends(chart.xs.iter().copied())?;
        let (low, high) = match quantity {
            Quantity::Time => (low.min(from_s), high.max(until_s)),
            Quantity::Nines => (0.0, high),
            Quantity::KnobLog => (low * 0.9, high * 1.1),
            _ => {
                // Beside a large number, a small distance is lost in rounding.
                let beside = ((high - low) * 0.03).max(0.5).max(high.abs() * 1e-9);
                (low - beside, high + beside)
            }
        };
        Some(Self { quantity, low, high })
    }

    /// Returns the position of a value on the axis, from 0 (low end) to 1 (high end).
    pub(super) fn share(&self, value: f64) -> f64 {
        if self.quantity.is_log() {
            return (value / self.low).ln() / (self.high / self.low).ln();
        }
        (value - self.low) / (self.high - self.low)
    }

    /// Returns the round values that get a label, in ascending order.
    pub(super) fn ticks(&self) -> Vec<f64> {
        match self.quantity {
            Quantity::Nines => (0..=self.high.round() as u32).map(f64::from).collect(),
            quantity if quantity.is_log() => self.factors(),
            Quantity::Time => self.steps(&[1.0, 2.0, 5.0, 10.0, 15.0, 30.0], 60.0),
            _ => self.steps(&[1.0, 2.0, 5.0], 10.0),
        }
    }

    /// Returns the multiples of the smallest step that gives at most [`MOST_TICKS`] values.
    fn steps(&self, steps: &[f64], power: f64) -> Vec<f64> {
        let length = self.high - self.low;
        let least = length / MOST_TICKS as f64;
        // A very short axis must not have a step of zero.
        let mut scale = power.powf((least.max(f64::MIN_POSITIVE).ln() / power.ln()).floor());
        if power > 10.0 {
            scale = scale.max(1.0);
        }
        let all = [scale, scale * power].into_iter().flat_map(|scale| steps.iter().map(move |s| s * scale));
        let step = all.into_iter().find(|step| *step >= least).unwrap_or(scale * power * power);
        let first = (self.low / step).ceil() as i64;
        let all = (first..i64::MAX).map(|n| n as f64 * step);
        all.take_while(|value| *value <= self.high + step * 1e-9).take(MOST_TICKS + 1).collect()
    }

    /// Returns the values 1, 2 and 5 times each power of ten. On a long axis, returns fewer values.
    fn factors(&self) -> Vec<f64> {
        let powers = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
        let within = |digits: &[f64], each: usize| -> Vec<f64> {
            let values = powers
                .clone()
                .step_by(each)
                .flat_map(|power| digits.iter().map(move |d| d * 10_f64.powi(power)));
            values.filter(|value| (self.low..=self.high).contains(value)).collect()
        };
        let tries = [within(&[1.0, 2.0, 5.0], 1), within(&[1.0, 3.0], 1), within(&[1.0], 1)];
        tries.into_iter().find(|ticks| ticks.len() <= MOST_TICKS).unwrap_or_else(|| within(&[1.0], 3))
    }
}

fn ends(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.filter(|value| value.is_finite()).fold(None, |ends, value| {
        let (low, high) = ends.unwrap_or((value, value));
        Some((low.min(value), high.max(value)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(quantity: Quantity, low: f64, high: f64) -> Vec<String> {
        Scale { quantity, low, high }.ticks().into_iter().map(|value| quantity.written(value)).collect()
    }

    #[test]
    fn an_axis_has_round_labels() {
        assert_eq!(
            named(Quantity::Time, 0.0, 76.0),
            ["00:00", "00:10", "00:20", "00:30", "00:40", "00:50", "01:00", "01:10"]
        );
        assert_eq!(named(Quantity::Time, 0.0, 600.0), ["00:00", "02:00", "04:00", "06:00", "08:00", "10:00"]);
        assert_eq!(named(Quantity::Rate, 0.0, 160_000.0).len(), 9);
        assert_eq!(named(Quantity::Latency, 80.0, 900.0), ["100 µs", "200 µs", "500 µs"]);
        assert_eq!(named(Quantity::Latency, 80.0, 2e6).first().unwrap(), "100 µs");
        assert_eq!(named(Quantity::Nines, 0.0, 4.0), ["0 %", "90 %", "99 %", "99.9 %", "99.99 %"]);
    }

    #[test]
    fn an_axis_of_any_length_has_few_labels() {
        for exponent in -3..12 {
            let high = 3.7 * 10_f64.powi(exponent);
            for quantity in [Quantity::Time, Quantity::Rate, Quantity::Knob, Quantity::Cores] {
                let ticks = Scale { quantity, low: 0.0, high }.ticks();
                assert!((1..=MOST_TICKS + 1).contains(&ticks.len()), "{quantity:?} {high}: {ticks:?}");
            }
            let ticks = Scale { quantity: Quantity::Latency, low: 0.1, high: high.max(0.2) }.ticks();
            assert!((1..=MOST_TICKS + 1).contains(&ticks.len()), "{high}: {ticks:?}");
        }
    }

    #[test]
    fn equal_numbers_of_any_size_have_an_axis() {
        let xs = [u64::MAX - 1, u64::MAX].map(|n| n as f64).to_vec();
        for quantity in [Quantity::Knob, Quantity::Rate, Quantity::Time, Quantity::Cores] {
            let ticks = Scale { quantity, low: xs[0], high: xs[1] }.ticks();
            assert!(ticks.len() <= MOST_TICKS + 1, "{quantity:?}: {ticks:?}");
        }
        let highest = xs[1];
        let chart = Chart { x: Quantity::Knob, ..Chart::of("", "", Quantity::Rate, xs, Vec::new()) };
        let scale = Scale::x(&chart, (0.0, 1.0)).unwrap();
        assert!(scale.low < scale.high && (0.0..=1.0).contains(&scale.share(highest)));
        assert!((1..=MOST_TICKS + 1).contains(&scale.ticks().len()), "{:?}", scale.ticks());
    }

    #[test]
    fn a_value_has_its_position_on_the_axis() {
        let log = Scale { quantity: Quantity::Latency, low: 10.0, high: 1000.0 };
        let linear = Scale { quantity: Quantity::Rate, low: 0.0, high: 200.0 };
        assert!((log.share(100.0) - 0.5).abs() < 1e-9 && (linear.share(50.0) - 0.25).abs() < 1e-9);
    }
}
