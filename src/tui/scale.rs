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

/// Which of the equal bins of a logarithmic scale stand in which row of a chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bins {
    first: usize,
    count: usize,
    /// How many rows the chart has.
    pub rows: u16,
}

impl Bins {
    /// The rows of a chart that holds all bins in `filled`, from a quarter of a decade to a quarter of a decade so that
    /// noise does not move it, and at least one and a half; `None` when there is none or no row.
    pub fn covering(filled: impl Iterator<Item = usize>, a_decade: usize, rows: u16) -> Option<Self> {
        let (lowest, highest) =
            filled.fold((usize::MAX, 0), |(low, high), bin| (low.min(bin), high.max(bin)));
        let quarter = (a_decade / 4).max(1);
        if lowest == usize::MAX || rows == 0 {
            return None;
        }
        let first = lowest / quarter * quarter;
        let end = (highest / quarter + 1) * quarter;
        let least = quarter * 6;
        Some(Self { first, count: (end - first).max(least), rows })
    }

    /// The row of `bin`, from 0 at the bottom; a bin beyond either end is in the row there.
    pub fn row(self, bin: usize) -> u16 {
        let place = bin.saturating_sub(self.first).min(self.count - 1);
        (place * usize::from(self.rows) / self.count) as u16
    }

    /// Whether `bin` has a place of its own.
    pub fn holds(self, bin: usize) -> bool {
        (self.first..self.first + self.count).contains(&bin)
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
    fn bins_fill_the_rows_and_a_narrow_distribution_is_not_blown_up() {
        let bins = |filled: &[usize], rows| Bins::covering(filled.iter().copied(), 24, rows);
        assert_eq!((bins(&[], 5), bins(&[3], 0)), (None, None));
        let wide = bins(&[50, 119], 6).unwrap();
        assert_eq!((wide.row(48), wide.row(50), wide.row(119), wide.row(500)), (0, 0, 5, 5));
        assert!(wide.holds(48) && wide.holds(119) && !wide.holds(120) && !wide.holds(47));
        let narrow = bins(&[60], 6).unwrap();
        assert_eq!((narrow.row(60), narrow.row(95)), (0, 5));
    }

    #[test]
    fn a_linear_axis_ends_at_a_round_number() {
        let tops = [0.0, 0.7, 1.0, 121_300.0, 950.0, f64::NAN].map(linear_top);
        assert_eq!(tops, [1.0, 0.8, 1.0, 160_000.0, 1000.0, 1.0]);
    }
}
