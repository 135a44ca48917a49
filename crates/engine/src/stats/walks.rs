//! HdrHistogram's two ways to iterate over a distribution: by percentiles and by values. redis-benchmark prints the
//! results of both ways.

use super::{
    Latency,
    totals::{longest, place},
};

/// The length of the first steps over values: 100 µs.
const STEP_NS: u64 = 100_000;
/// Above this value, the steps over values are longer: 2 ms.
const LONG_FROM_NS: u64 = 2_000_000;
/// The length of the longer steps over values: 1 ms.
const LONG_STEP_NS: u64 = 1_000_000;

/// A point of an iteration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IterationPoint {
    /// The share of values up to this point, in percent. In an iteration over percentiles, this field is the target
    /// percentile instead.
    pub percent: f64,
    /// The largest value of the cell, in nanoseconds.
    pub value_ns: u64,
    /// The number of values up to this point.
    pub count: u64,
}

/// Iterates over percentiles as redis-benchmark does. Each percentile is in the middle between the previous percentile
/// and 100. A percentile is skipped if it is in the same cell as the previous percentile. The last value appears twice,
/// because the iteration also ends with this value.
pub fn over_percentiles(latency: &Latency) -> Vec<IterationPoint> {
    let mut levels = percentile_steps(latency, 1);
    levels.dedup_by(|next, before| next.count == before.count && next.count < latency.count());
    levels
}

/// Iterates over percentiles. Each halving of the distance to 100 has `steps` steps, at least 1. The last value appears
/// twice, because the iteration also ends with this value.
pub fn percentile_steps(latency: &Latency, steps: u32) -> Vec<IterationPoint> {
    let (mut levels, mut seen, mut last_ns, mut percent) = (Vec::new(), 0, 0, 0.0);
    for (value_ns, n) in cells(latency) {
        seen += n;
        last_ns = value_ns;
        let reached = 100.0 * seen as f64 / latency.count() as f64;
        while percent <= reached {
            levels.push(IterationPoint { percent, value_ns, count: seen });
            percent += 100.0 / (f64::from(steps) * half_distance(percent));
            if seen == latency.count() {
                break;
            }
        }
    }
    levels.push(IterationPoint { percent: 100.0, value_ns: last_ns, count: seen });
    levels
}

/// Returns HdrHistogram's half distance of a percentile. The half distance is 2 from percentile 0 on, 4 from 50 on, 8
/// from 75 on, and so on.
fn half_distance(percent: f64) -> f64 {
    2_f64.powi(((100.0 / (100.0 - percent)).ln() / 2_f64.ln()) as i32 + 1)
}

/// Iterates over values in even steps, and skips steps without values.
pub fn over_values(latency: &Latency) -> Vec<IterationPoint> {
    let mut cells = cells(latency).peekable();
    let (mut levels, mut seen): (Vec<IterationPoint>, u64) = (Vec::new(), 0);
    let (mut at_ns, mut step_ns) = (STEP_NS, STEP_NS);
    while seen < latency.count() {
        let value_ns = longest(place(at_ns));
        while let Some((_, n)) = cells.next_if(|(cell_ns, _)| *cell_ns <= value_ns) {
            seen += n;
        }
        if levels.last().is_none_or(|level| level.count != seen) {
            let percent = 100.0 * seen as f64 / latency.count() as f64;
            levels.push(IterationPoint { percent, value_ns, count: seen });
        }
        at_ns += step_ns;
        if value_ns > LONG_FROM_NS {
            step_ns = LONG_STEP_NS;
        }
    }
    levels
}

/// Returns the cells of `latency`, and one additional cell for all values over range.
fn cells(latency: &Latency) -> impl Iterator<Item = (u64, u64)> {
    let beyond = (latency.max_ns(), latency.over_range());
    latency.cells().chain([beyond].into_iter().filter(|(_, n)| *n > 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::fixture::latency_of;

    fn rows(levels: &[IterationPoint]) -> Vec<(String, u64)> {
        levels.iter().map(|level| (format!("{:.3}", level.percent), level.count)).collect()
    }

    /// The percentiles and counts that redis-benchmark printed for 1000 requests.
    #[test]
    fn percentiles_halve_the_rest_and_the_end_appears_twice() {
        let levels = over_percentiles(&latency_of(1..=1000));
        let expected = [
            ("0.000", 1),
            ("50.000", 500),
            ("75.000", 750),
            ("87.500", 875),
            ("93.750", 938),
            ("96.875", 969),
            ("98.438", 985),
            ("99.219", 993),
            ("99.609", 997),
            ("99.805", 999),
            ("99.902", 1000),
            ("100.000", 1000),
        ];
        assert_eq!(rows(&levels), expected.map(|(percent, n)| (percent.to_owned(), n)));
    }

    /// Iterates like memtier_benchmark, in ten steps for each halving of the distance to 100.
    #[test]
    fn smaller_steps_are_kept_even_in_the_same_cell() {
        let levels = percentile_steps(&latency_of((0..60).map(|_| 5).chain((0..40).map(|_| 9))), 10);
        let percents: Vec<_> = levels.iter().map(|level| level.percent).collect();
        assert_eq!(
            percents[..14],
            [0.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0, 40.0, 45.0, 50.0, 52.5, 55.0, 57.5]
        );
        assert_eq!(percents[14..], [60.0, 62.5, 100.0]);
        let counts: Vec<_> = levels.iter().map(|level| level.count).collect();
        assert_eq!((counts[14], counts[15], counts[16]), (60, 100, 100));
    }

    #[test]
    fn a_single_cell_is_the_first_and_the_last() {
        let levels = over_percentiles(&latency_of([5, 5, 5]));
        assert_eq!(rows(&levels), [("0.000".to_owned(), 3), ("100.000".to_owned(), 3)]);
        let none = over_percentiles(&Latency::default());
        assert_eq!(rows(&none), [("100.000".to_owned(), 0)]);
        assert_eq!(over_values(&Latency::default()), []);
    }

    #[test]
    fn percentiles_in_the_same_cell_are_skipped() {
        let latency = latency_of((0..60).map(|_| 5).chain((0..40).map(|_| 9)));
        assert_eq!(
            rows(&over_percentiles(&latency)),
            [("0.000".to_owned(), 60), ("75.000".to_owned(), 100), ("100.000".to_owned(), 100)]
        );
    }

    #[test]
    fn values_have_steps_of_a_tenth_of_a_millisecond_and_later_of_one() {
        let latency = latency_of([150_000, 250_000, 250_000, 2_050_000, 2_150_000, 70_000_000_000]);
        let levels = over_values(&latency);
        let rows: Vec<_> = levels
            .iter()
            .map(|level| ((level.value_ns as f64 / 1e6 * 10.0).round() / 10.0, level.count))
            .collect();
        assert_eq!(rows, [(0.1, 0), (0.2, 1), (0.3, 3), (2.1, 4), (3.1, 5), (70_061.7, 6)]);
    }
}
