//! The CSV of redis-benchmark: one row for each test, with all cells in quotes. `redyno bench` and the export of a
//! session use the same writer. In an export, each operation is a row.

use super::{
    Format, FormatContents,
    csv::inert,
    sheet::{Sheet, SummarySink},
};
use crate::stats::Latency;

/// The first row, with the names of the columns.
pub const HEADER: &str = "\"test\",\"rps\",\"avg_latency_ms\",\"min_latency_ms\",\"p50_latency_ms\",\
    \"p95_latency_ms\",\"p99_latency_ms\",\"max_latency_ms\"\n";

/// Returns the row of a test. As in redis-benchmark, the title is not escaped.
pub fn row(title: &str, requests_per_s: f64, latency: &Latency) -> String {
    let figures = figures_ms(latency).map(|figure| format!(",\"{figure:.3}\"")).concat();
    format!("\"{title}\",\"{requests_per_s:.2}\"{figures}\n")
}

/// Returns mean, minimum, p50, p95, p99 and maximum of the latency, in milliseconds.
pub fn figures_ms(latency: &Latency) -> [f64; 6] {
    let ms = |ns: u64| ns as f64 / 1e6;
    let at = |quantile| ms(latency.value_at_quantile(quantile));
    [latency.mean_ns() / 1e6, ms(latency.min_ns()), at(0.5), at(0.95), at(0.99), ms(latency.max_ns())]
}

/// The CSV of redis-benchmark.
pub const BENCHMARK_CSV: Format = Format::new(
    "redis-benchmark-csv",
    "csv",
    "redis-benchmark's --csv, each operation as a test",
    FormatContents::Summary,
    |_, _| SummarySink::of(None, rows),
);

/// Returns the heading, and a row for each operation. The rows cover the whole load except the warm-up.
fn rows(sheet: &Sheet, _: Option<&str>) -> Vec<String> {
    let sum = sheet.timeline.summary();
    let length_s = sum.length_s;
    let per_s = |ops: u64| if length_s > 0.0 { ops as f64 / length_s } else { 0.0 };
    let operations = sheet.timeline.operations();
    // Quotes in a title are doubled here, because otherwise a quote would end the cell. redis-benchmark does
    // not double quotes.
    let rows = operations
        .iter()
        .map(|(name, part)| row(&inert(name).replace('"', "\"\""), per_s(part.in_rate()), &part.service));
    std::iter::once(HEADER.to_owned()).chain(rows).collect()
}
