//! From values to heights; pure arithmetic.

/// A logarithmic scale of whole decades of nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogScale {
    /// The lowest value, a power of ten.
    pub lowest_ns: u64,
    /// The highest value, a power of ten.
    pub highest_ns: u64,
}

impl LogScale {
    /// The smallest one that holds all `values`, at least two decades, so that noise does not look like a
    /// mountain. 10 µs to 10 ms without values.
    pub fn covering(values: impl Iterator<Item = u64>) -> Self {
        let (lowest, highest) =
            values.fold((u64::MAX, 0), |(low, high), ns| (low.min(ns.max(1)), high.max(ns.max(1))));
        if highest == 0 {
            return Self { lowest_ns: 10_000, highest_ns: 10_000_000 };
        }
        // An hour in nanoseconds has 13 digits; the powers stay far within 64 bits.
        let lowest_ns = 10_u64.pow(lowest.ilog10());
        let highest_ns = 10_u64.pow((highest - 1).max(1).ilog10() + 1).max(lowest_ns.saturating_mul(100));
        Self { lowest_ns, highest_ns }
    }

    /// The height of `ns` among `steps` steps, from 1: what was measured is never drawn as nothing.
    pub fn step(&self, ns: u64, steps: usize) -> usize {
        let decades = (self.highest_ns as f64 / self.lowest_ns as f64).log10();
        let share = (ns.max(1) as f64 / self.lowest_ns as f64).log10() / decades;
        1 + (share.clamp(0.0, 1.0) * steps.saturating_sub(1) as f64).round() as usize
    }
}

/// The top of a linear axis from 0 for values up to `highest`: a round number whose half is one too.
pub fn linear_top(highest: f64) -> f64 {
    if !highest.is_finite() || highest <= 0.0 {
        return 1.0;
    }
    let power = 10_f64.powf(highest.log10().floor());
    // A hair of slack: a value a rounding error above a round number does not need twice the axis.
    let steps = [1.0, 1.2, 1.6, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0].map(|step| step * power);
    steps.into_iter().find(|top| highest <= top * (1.0 + 1e-9)).unwrap_or(10.0 * power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_scale_has_whole_decades_and_at_least_two() {
        let scale = |values: &[u64]| LogScale::covering(values.iter().copied());
        assert_eq!(scale(&[]), LogScale { lowest_ns: 10_000, highest_ns: 10_000_000 });
        assert_eq!(scale(&[150_000, 310_000]), LogScale { lowest_ns: 100_000, highest_ns: 10_000_000 });
        assert_eq!(scale(&[12_000, 7_000_000]), LogScale { lowest_ns: 10_000, highest_ns: 10_000_000 });
        assert_eq!(scale(&[0]), LogScale { lowest_ns: 1, highest_ns: 100 });
        assert_eq!(scale(&[1_000, 100_000]), LogScale { lowest_ns: 1_000, highest_ns: 100_000 });
    }

    #[test]
    fn what_was_measured_is_never_drawn_as_nothing() {
        let scale = LogScale { lowest_ns: 1_000, highest_ns: 1_000_000 };
        assert_eq!((scale.step(0, 8), scale.step(1_000, 8), scale.step(1_000_000, 8)), (1, 1, 8));
        assert_eq!(scale.step(u64::MAX, 16), 16);
    }

    #[test]
    fn a_linear_axis_ends_at_a_round_number() {
        let tops = [0.0, 0.7, 1.0, 121_300.0, 950.0, f64::NAN].map(linear_top);
        assert_eq!(tops, [1.0, 0.8, 1.0, 160_000.0, 1000.0, 1.0]);
    }
}
