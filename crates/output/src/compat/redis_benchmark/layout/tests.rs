use super::*;
use crate::{
    compat::redis_benchmark::command_steps::CommandSteps,
    session::{Interval, Summary},
    stats::Latency,
};

fn config() -> ServerConfig {
    ServerConfig { save: "3600 1 300 100".to_owned(), appendonly: "no".to_owned() }
}

fn test(title: &str, commands: u64) -> Test {
    Test::of(title, CommandSteps::default(), commands, 3)
}

/// Returns the result of a thousand requests. Most requests took between 100 µs and 2 ms, and some took up to 12 ms.
fn end() -> SessionEnd {
    let latencies: Vec<u64> =
        (0..1000_u64).map(|n| 100_000 + n * 1900 + if n % 100 == 99 { n * 10_000 } else { 0 }).collect();
    let service = Latency::of(&latencies);
    let summary = Summary { length_s: 0.04, ops: 1000, ops_per_s: 25_000.0, service, ..Summary::default() };
    SessionEnd { t_s: 0.05, summary, ..SessionEnd::default() }
}

fn lines(options: &BenchOptions, config: Option<&ServerConfig>, commands: u64) -> String {
    let (test, end) = (test("SET", commands), end());
    TestReport { test: &test, options, config, masters: None, end: &end, rates: &[990.0, 1010.0, 1000.0] }
        .lines()
}

fn lines_as(form: OutputFormat, commands: u64) -> String {
    lines(&BenchOptions { form, ..BenchOptions::usual() }, Some(&config()), commands)
}

#[test]
fn a_page_is_that_of_redis_benchmark() {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../../snapshots/cli"));
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| insta::assert_snapshot!("bench_page", lines_as(OutputFormat::Normal, 1)));
}

#[test]
fn threads_are_printed_and_unknown_settings_of_the_server_are_left_out() {
    let page = lines(&BenchOptions { threads: 2, ..BenchOptions::usual() }, None, 3);
    let head: Vec<_> = page.lines().take_while(|line| !line.is_empty()).collect();
    let expected = [
        "====== SET ======",
        "  3000 requests completed in 0.04 seconds",
        "  50 parallel clients",
        "  3 bytes payload",
        "  keep alive: 1",
        "  multi-thread: yes",
        "  threads: 2",
    ];
    assert_eq!(head, expected);
    assert!(page.contains("(cumulative count 3000)\n\nSummary:\n  throughput summary: 75000.00 requests"));
}

#[test]
fn a_requested_rate_is_printed_beside_the_rates_that_were_reached() {
    let page = lines(&BenchOptions { rps: Some(1000), ..BenchOptions::usual() }, Some(&config()), 1);
    let expected = "  multi-thread: no\n\nRPS Summary:\n  target RPS: 1000.00\n  RPS distribution (reqs/sec):\n\
        \x20         avg       min       p50       p95       p99       max\n\
        \x20    1000.000   990.000  1000.000  1010.000  1010.000  1010.000\n\nLatency by percentile";
    assert!(page.contains(expected), "{page}");
}

#[test]
fn a_line_and_a_row_are_those_of_redis_benchmark() {
    assert_eq!(lines_as(OutputFormat::Quiet, 1), "SET: 25000.00 requests per second, p50=1.058 msec\n");
    let row = lines_as(OutputFormat::Csv, 1);
    assert_eq!(row, "\"SET\",\"25000.00\",\"1.104\",\"0.100\",\"1.058\",\"1.919\",\"1.995\",\"11.988\"\n");
    assert_eq!(CSV_HEADER.matches('"').count(), row.matches('"').count());
}

#[test]
fn the_json_is_the_last_record_of_a_session() {
    let line: serde_json::Value = serde_json::from_str(&lines_as(OutputFormat::Json, 2)).unwrap();
    assert_eq!(
        (&line["kind"], &line["test"], &line["requests"], &line["summary"]["ops"]),
        (&"end".into(), &"SET".into(), &2000.into(), &1000.into())
    );
    assert_eq!(line["summary"]["service"]["count"], 1000);
}

#[test]
fn a_drawn_line_is_cleared_by_as_many_spaces() {
    let interval = Interval { ops_per_s: 1000.0, service: Latency::of(&[2_000_000]), ..Interval::default() };
    let of_two = test("GET", 2);
    let mut progress = Progress::new(&of_two, ProgressSuffix::Nothing);
    let first = progress.line(&interval, &end().summary, false);
    let line = "GET: rps=2000.0 (overall: 50000.0) avg_msec=2.000 (overall: 1.104)";
    assert_eq!(first, format!(" \r{line}\r"));
    progress.behind = ProgressSuffix::Requests;
    let second = progress.line(&interval, &end().summary, false);
    assert!(second.starts_with(&format!("{}\rGET: rps=2000.0 ", " ".repeat(line.len()))), "{second:?}");
    assert!(second.ends_with(" 2000 requests\r"), "{second:?}");
    let drawn = second.trim_start().trim_end().len();
    assert_eq!(progress.clear().len(), drawn + 1);
    assert_eq!(progress.clear(), " \r");
}
