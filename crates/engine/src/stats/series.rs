//! Stores a series of measured values in order. The memory of the series is bounded for any number of values.

/// When the series has this many values, each pair of neighbours is merged. A long series therefore keeps at least half
/// of this number of values.
const MOST_VALUES: usize = 256;

/// Values in the order in which they were added. When there are too many values, each pair of neighbours is replaced by
/// its mean. From then on, each stored value is the mean of twice as many added values. Every added value therefore
/// still has an effect, and slow changes stay visible.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// The stored values: means of [`each`](Self::each) added values. The last added values are not included until they
    /// are enough for a mean.
    pub values: Vec<f64>,
    /// Each stored value is the mean of this number of added values, at least 1.
    pub each: u32,
    /// The sum and the number of the last added values, which are too few for a stored value.
    rest: (f64, u32),
}

impl Default for Series {
    fn default() -> Self {
        Self { values: Vec::new(), each: 1, rest: (0.0, 0) }
    }
}

impl Series {
    /// Adds the next value.
    pub fn add(&mut self, value: f64) {
        self.rest = (self.rest.0 + value, self.rest.1 + 1);
        if self.rest.1 < self.each {
            return;
        }
        self.values.push(self.rest.0 / f64::from(self.each));
        self.rest = (0.0, 0);
        if self.values.len() == MOST_VALUES {
            self.values = self.values.chunks_exact(2).map(|pair| (pair[0] + pair[1]) / 2.0).collect();
            self.each = self.each.saturating_mul(2);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_series_keeps_its_values() {
        let mut series = Series::default();
        [3.0, 1.0, 2.0].into_iter().for_each(|value| series.add(value));
        assert_eq!((series.values, series.each), (vec![3.0, 1.0, 2.0], 1));
    }

    #[test]
    fn a_long_series_consists_of_means_in_order() {
        let mut series = Series::default();
        (0..10_240).for_each(|n| series.add(f64::from(n)));
        assert_eq!((series.values.len(), series.each), (160, 64));
        assert!(series.values.is_sorted());
        assert_eq!(series.values[0], 31.5);
        let mean = series.values.iter().sum::<f64>() / 160.0;
        assert_eq!(mean, 10_239.0 / 2.0, "no value is left out");
    }
}
