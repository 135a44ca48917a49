//! A row a test. A title stands as it is, as theirs does, whatever quotes it has.

use super::Report;

/// The first row.
pub(in crate::cli::bench) const HEADER: &str = "\"test\",\"rps\",\"avg_latency_ms\",\"min_latency_ms\",\"p50_latency_ms\",\
    \"p95_latency_ms\",\"p99_latency_ms\",\"max_latency_ms\"\n";

pub(super) fn row(report: &Report) -> String {
    let figures = report.figures_ms().map(|figure| format!(",\"{figure:.3}\"")).concat();
    format!("\"{}\",\"{:.2}\"{figures}\n", report.title, report.requests_per_s)
}
