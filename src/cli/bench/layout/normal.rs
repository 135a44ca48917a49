//! A page a test: what was asked, two tables of the distribution, and a summary.

use std::fmt::Write as _;

use super::{Report, ms};
use crate::stats::walks::{self, Level};

pub(super) fn page(report: &Report) -> String {
    let mut page = head(report);
    page += "\nLatency by percentile distribution:\n";
    page += &table(report, &walks::over_percentiles(report.latency()));
    page += "\nCumulative distribution of latencies:\n";
    page += &table(report, &walks::over_values(report.latency()));
    page + &summary(report)
}

fn head(report: &Report) -> String {
    let Report { title, requests, setting, payload, .. } = report;
    let mut head = format!("====== {title} ======\n");
    // A String takes everything.
    let _ = writeln!(head, "  {requests} requests completed in {:.2} seconds", report.end.summary.length_s);
    let _ = writeln!(head, "  {} parallel clients", setting.clients);
    let _ = writeln!(head, "  {payload} bytes payload");
    let _ = writeln!(head, "  keep alive: {}", setting.keep_alive);
    if let Some(config) = &setting.config {
        let _ = writeln!(head, "  host configuration \"save\": {}", config.save);
        let _ = writeln!(head, "  host configuration \"appendonly\": {}", config.appendonly);
    }
    match setting.threads {
        0 => head += "  multi-thread: no\n",
        threads => {
            let _ = writeln!(head, "  multi-thread: yes\n  threads: {threads}");
        }
    }
    head
}

fn table(report: &Report, levels: &[Level]) -> String {
    let line = |level: &Level| {
        let (value, count) = (ms(level.value_ns), level.count * report.commands);
        format!("{:.3}% <= {value:.3} milliseconds (cumulative count {count})\n", level.percent)
    };
    levels.iter().map(line).collect()
}

fn summary(report: &Report) -> String {
    let mut summary = format!(
        "\nSummary:\n  throughput summary: {:.2} requests per second\n  latency summary (msec):\n   ",
        report.requests_per_s
    );
    for name in ["avg", "min", "p50", "p95", "p99", "max"] {
        let _ = write!(summary, " {name:>9}");
    }
    summary += "\n   ";
    for figure in report.figures_ms() {
        let _ = write!(summary, " {figure:>9.3}");
    }
    summary + "\n"
}
