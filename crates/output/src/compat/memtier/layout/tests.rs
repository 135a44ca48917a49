use super::*;
use crate::{
    compat::memtier::parse::tests::options,
    endpoint::Target,
    export::memtier::ResultRow,
    session::{Interval, OperationInterval},
    stats::Latency,
};

/// Returns the results of a second with 1000 GETs and 100 SETs.
fn results(requests: &RunRequests) -> Results {
    let latencies = |n: u64| Latency::of(&(1..=n).map(|n| n * 10_000).collect::<Vec<_>>());
    let part = |ops| OperationInterval {
        ops,
        hits: ops / 4,
        misses: ops - ops / 4,
        bytes_in: 1024 * ops,
        service: latencies(ops),
        ..OperationInterval::default()
    };
    let row = |ops| ResultRow { all: part(ops), in_rate: part(ops), seconds: [(0, part(ops))].into() };
    let mut results = Results::none(requests.rows.len(), 1_700_000_000_000);
    results.rows[0] = row(100);
    results.rows[1] = row(1000);
    results.totals = row(1100);
    results.length_s = 1.0;
    results
}

fn page(line: &str) -> String {
    let options = options(line);
    let requests = RunRequests::of(&options).unwrap();
    let results = results(&requests);
    let report =
        MemtierReport { title: "ALL STATS", options: &options, requests: &requests, results: &results };
    head(&options) + &table(&report) + &distribution(&report)
}

#[test]
fn a_page_is_that_of_memtier_benchmark() {
    in_snapshots(|| insta::assert_snapshot!("memtier_page", page("--test-time 5")));
}

#[test]
fn the_table_of_user_commands_has_no_hits_and_has_the_requested_percentiles() {
    let page =
        page("--command set --command hgetall --print-percentiles 50,99.95 -n allkeys --key-maximum 9");
    let lines: Vec<_> = page.lines().collect();
    assert_eq!(lines[2], "10        Requests per client");
    assert_eq!(lines[6], "=".repeat(9 + 13 + 16 * 3 + 13));
    assert_eq!(
        lines[7],
        "Type          Ops/sec    Avg. Latency     p50 Latency p99.950 Latency       KB/sec "
    );
    assert!(lines[9].starts_with("Sets           100.00         0.50500 "), "{page}");
    assert!(lines[10].starts_with("Hgetalls      1000.00 "), "{page}");
    assert!(page.ends_with("---\n"));
}

#[test]
fn transactions_have_a_column_of_those_that_were_aborted() {
    let page = page("--command multi --command exec --transaction --print-percentiles 50 -n 9");
    let lines: Vec<Vec<_>> = page.lines().map(|line| line.split_whitespace().collect()).collect();
    let rows = lines.iter().skip(7).filter(|cells| cells.len() > 1).take(4);
    let rows: Vec<_> = rows.map(|cells| cells[..3].join(" ")).collect();
    assert_eq!(rows[..2], ["Type Ops/sec Aborts/sec", "Multis 100.00 ---"]);
    assert_eq!(rows[2..], ["Execs 1000.00 750.00", "Totals 1100.00 750.00"]);
}

#[test]
fn the_json_has_memtiers_names_and_units() {
    let json = |line: &str| {
        let options = options(line);
        let requests = RunRequests::of(&options).unwrap();
        let results = results(&requests);
        let report =
            MemtierReport { title: "ALL STATS", options: &options, requests: &requests, results: &results };
        serde_json::to_string_pretty(&json(&options, &Target::default(), &[report], None)).unwrap()
    };
    let value: serde_json::Value = serde_json::from_str(&json("-n 5")).unwrap();
    let steps = value["ALL STATS"]["GET"].as_array().unwrap();
    assert_eq!(steps[0], serde_json::json!({ "<=msec": 0.01, "percent": 0.0 }));
    assert_eq!(value["run information"]["Requests per client"], 5);
    let theirs = include_str!("../../../../../../tests/fixtures/memtier-2f74d61.json");
    let theirs: serde_json::Value = serde_json::from_str(theirs).unwrap();
    for path in [
        "",
        "/run information",
        "/ALL STATS/Runtime",
        "/ALL STATS/Sets",
        "/ALL STATS/Waits",
        "/ALL STATS/Totals/Percentile Latencies",
        "/ALL STATS/Totals/Time-Serie/0",
    ] {
        let names = |of: &serde_json::Value| {
            of.pointer(path).unwrap().as_object().unwrap().keys().cloned().collect::<Vec<_>>()
        };
        assert_eq!(names(&value), names(&theirs), "{path}");
    }

    let text = json("--test-time 5 --key-maximum 99 -a secret --hide-histogram");
    assert!(!text.contains("secret"));
    let (head, rest) = text.split_once("HISTFAAA").unwrap();
    let tail = rest.split("HISTFAAA").map(|part| &part[part.find('"').unwrap()..]);
    let without_texts = [head].into_iter().chain(tail).collect::<Vec<_>>().join("HISTFAAA...");
    in_snapshots(|| insta::assert_snapshot!("memtier_json", without_texts));
}

fn in_snapshots(assert: impl FnOnce()) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../../snapshots/cli"));
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(assert);
}

#[test]
fn a_line_is_drawn_each_second() {
    let options = options("-n 1000 -c 5 -t 2");
    let mut progress = Progress::new(1, &options, None);
    let interval = Interval {
        length_s: 0.25,
        ops: 500,
        bytes_in: 1 << 20,
        service: Latency::of(&[2_000_000]),
        ..Interval::default()
    };
    let mut lines = Vec::new();
    for _ in 0..5 {
        if progress.add(&interval) {
            lines.push(progress.line());
        }
    }
    assert_eq!(
        lines,
        [
            "[RUN #1 20%,   1 secs]  2 threads  5 conns:        2000 ops,    2000 (avg:    2000) ops/sec, 4.00MB/sec \
          (avg: 4.00MB/sec),  2.00 (avg:  2.00) msec latency\r"
        ]
    );
}

#[test]
fn percentiles_have_as_many_decimals_as_memtier_benchmark_gives_them() {
    let written = [50.0, 99.5, 99.9, 99.99, 99.999, 100.0].map(digits);
    assert_eq!(written, ["50", "99.5", "99.9", "99.990", "99.999", "100"]);
}
