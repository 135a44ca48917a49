//! The percentile table of a latency distribution, as HdrHistogram prints it (`outputPercentileDistribution`
//! in Java).

use std::fmt::Write as _;

use super::{Latency, recorder::empty_cells};

/// The number of rows for each halving of the distance to 100 %, which is the default of HdrHistogram's tools.
const TICKS_PER_HALF: u32 = 5;
/// The number of nanoseconds in a millisecond, which is the unit of the values.
const SCALE: f64 = 1e6;

/// Writes the distribution as a table. A row contains four numbers: a value in ms, the share of latencies at or below
/// this value, the number of these latencies, and 1/(1 − share). Below the rows are the mean, the deviation, the
/// maximum and the count. Values over range are in no row, and are counted at the end of the table.
pub fn percentile_table(latency: &Latency) -> String {
    let mut histogram = empty_cells();
    for (value_ns, n) in latency.cells() {
        histogram.record_n(value_ns, n).expect("a cell lies within the range");
    }
    let mut text =
        format!("{:>12} {:>14} {:>10} {:>14}\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)");
    let mut below = 0;
    for step in histogram.iter_quantiles(TICKS_PER_HALF) {
        below += step.count_since_last_iteration();
        let (value, share) = (step.value_iterated_to() as f64 / SCALE, step.quantile_iterated_to());
        // Writing to a string cannot fail.
        let _ = if share < 1.0 {
            writeln!(text, "{value:12.6} {share:2.12} {below:10} {:14.2}", 1.0 / (1.0 - share))
        } else {
            writeln!(text, "{value:12.6} {share:2.12} {below:10}")
        };
    }
    let _ = write!(
        text,
        "#[Mean    = {:12.6}, StdDeviation   = {:12.6}]\n#[Max     = {:12.6}, Total count    = {:12}]\n\
         #[Buckets = {:12}, SubBuckets     = {:12}]\n",
        histogram.mean() / SCALE,
        histogram.stdev() / SCALE,
        latency.max_ns() as f64 / SCALE,
        histogram.len(),
        histogram.buckets(),
        2048
    );
    if latency.over_range() > 0 {
        let _ = writeln!(text, "#[{} values above 60 s are in no row]", latency.over_range());
    }
    text
}
