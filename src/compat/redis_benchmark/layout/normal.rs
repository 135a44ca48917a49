//! A page a test: what was asked, two tables of the distribution, and a summary.

use super::{Report, ms};
use crate::compat::redis_benchmark::server_config::ServerConfig;
use crate::stats::walks::{self, Level};

pub(super) fn page(report: &Report) -> String {
    let mut page = head(report) + &rates(report);
    page += "\nLatency by percentile distribution:\n";
    page += &table(report, &walks::over_percentiles(report.latency()));
    page += "\nCumulative distribution of latencies:\n";
    page += &table(report, &walks::over_values(report.latency()));
    page + &summary(report)
}

fn head(report: &Report) -> String {
    let Report { test, asked, config, .. } = report;
    let (requests, seconds) = (report.requests(), report.end.summary.length_s);
    let config = config.map_or_else(String::new, |ServerConfig { save, appendonly }| {
        format!("  host configuration \"save\": {save}\n  host configuration \"appendonly\": {appendonly}\n")
    });
    let threads = match asked.threads {
        0 => "no".to_owned(),
        threads => format!("yes\n  threads: {threads}"),
    };
    format!(
        "====== {} ======\n  {requests} requests completed in {seconds:.2} seconds\n  {} parallel clients\n  \
         {} bytes payload\n  keep alive: {}\n{config}  multi-thread: {threads}\n",
        test.title, asked.clients, test.payload, asked.keep_alive,
    )
}

fn table(report: &Report, levels: &[Level]) -> String {
    let line = |level: &Level| {
        let (value, count) = (ms(level.value_ns), level.count * report.test.commands);
        format!("{:.3}% <= {value:.3} milliseconds (cumulative count {count})\n", level.percent)
    };
    levels.iter().map(line).collect()
}

fn summary(report: &Report) -> String {
    let per_s = report.requests_per_s();
    let head = "  latency summary (msec):\n";
    format!(
        "\nSummary:\n  throughput summary: {per_s:.2} requests per second\n{head}{}",
        row(report.figures_ms())
    )
}

/// Mean, least, p50, p95, p99 and greatest of something, under their names.
fn row(figures: [f64; 6]) -> String {
    let names = ["avg", "min", "p50", "p95", "p99", "max"].map(|name| format!(" {name:>9}")).concat();
    let figures = figures.map(|figure| format!(" {figure:>9.3}")).concat();
    format!("   {names}\n   {figures}\n")
}

/// What became of a rate that was asked for: the rates in the stretches of the run.
fn rates(report: &Report) -> String {
    let Some(rps) = report.asked.rps.filter(|_| !report.rates.is_empty()) else { return String::new() };
    let mut rates = report.rates.to_vec();
    rates.sort_by(f64::total_cmp);
    let at =
        |quantile: f64| rates[((quantile * rates.len() as f64).ceil() as usize).clamp(1, rates.len()) - 1];
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    let row = row([mean, at(0.0), at(0.5), at(0.95), at(0.99), at(1.0)]);
    format!("\nRPS Summary:\n  target RPS: {:.2}\n  RPS distribution (reqs/sec):\n{row}", f64::from(rps))
}
