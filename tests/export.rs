//! What leaves a session is what was measured: the same from a recording and from the session itself, under the same names.

use std::{fs, path::Path, process::Command};

use redyno::{
    app::SEGMENT_COLUMNS,
    export::{Format, Rows},
    gauge::GAUGES,
    session::{Record, figures::FIGURES},
    stats::PERCENTILES,
};
use serde_json::Value;

use crate::support::{
    Server,
    program::{records, run},
};

/// A run with a warm-up and a rate, recorded and exported as it goes on.
fn session(folder: &Path) -> (String, Vec<Record>) {
    let server = Server::redis().start();
    let file = |name: &str| folder.join(name).display().to_string();
    let recording = file("s.jsonl");
    let exports = Format::ALL.map(|format| format.name);
    let exports = exports.map(|format| format!("--export={format}:{}", file(&format!("live.{format}"))));
    let port = server.port_text();
    let load =
        ["-p", &port, "--headless", "--yes", "-c", "4", "--rate", "2000", "--warmup", "0.5", "-n", "3000"];
    let exports = exports.iter().map(String::as_str);
    run(&load.into_iter().chain(["--record", &recording]).chain(exports).collect::<Vec<_>>()).expect_code(0);
    let text = fs::read_to_string(&recording).unwrap();
    (recording, records(&text))
}

fn exported(recording: &str, args: &[&str]) -> String {
    run(&[&["export", recording][..], args].concat()).expect_code(0).out
}

#[test]
fn every_format_is_the_same_from_the_session_and_from_its_recording() {
    let folder = tempfile::tempdir().unwrap();
    let (recording, _) = session(folder.path());
    for format in Format::ALL.map(|format| format.name) {
        let live = fs::read_to_string(folder.path().join(format!("live.{format}"))).unwrap();
        assert_eq!(exported(&recording, &["--format", format]), live, "{format}");
        let out = folder.path().join(format!("out.{format}")).display().to_string();
        let to_file = ["export", &recording, "--format", format, "-o", &out];
        assert_eq!(run(&to_file).expect_code(0).out, "");
        assert_eq!(fs::read_to_string(&out).unwrap(), live, "{format}");
        assert!(run(&to_file).expect_code(1).err.contains("is there already"), "never overwritten");
    }
}

#[test]
fn its_figures_are_those_of_the_records() {
    let folder = tempfile::tempdir().unwrap();
    let (recording, records) = session(folder.path());
    let Some(Record::End(end)) = records.last() else { panic!("{records:?}") };
    let (sum, service) = (&end.summary, &end.summary.service);
    assert_eq!(sum.ops, 3000);
    let whole: Value = serde_json::from_str(&exported(&recording, &["--format", "json"])).unwrap();
    let shown = &whole["summary"];
    assert_eq!(shown["ops"], 3000);
    assert_eq!(shown["service_p99_us"].as_f64(), service.percentile(0.99).map(|ns| ns as f64 / 1e3));
    assert_eq!(shown["response_max_us"].as_f64(), sum.response.as_ref().map(|all| all.max_ns() as f64 / 1e3));
    let of = |figure: &str| {
        whole["operations"].as_array().unwrap().iter().map(|row| row[figure].as_u64().unwrap()).sum::<u64>()
    };
    assert_eq!(of("ops"), 3000);
    let table = exported(&recording, &["--format", "csv", "--rows", "operations"]);
    let mut rows = csv::Reader::from_reader(table.as_bytes());
    let columns = rows.headers().unwrap().clone();
    let at = |name: &str| columns.iter().position(|column| column == name).unwrap();
    let loaded = rows.records().map(Result::unwrap).filter(|row| &row[at("phase")] == "load");
    assert_eq!(loaded.map(|row| row[at("ops")].parse::<u64>().unwrap()).sum::<u64>(), 3000);
    let percentiles = exported(&recording, &["--format", "hgrm"]);
    assert!(percentiles.contains("Total count    =         3000"), "{percentiles}");
    let metrics = exported(&recording, &["--format", "openmetrics"]);
    let ops = metrics
        .lines()
        .filter_map(|line| line.strip_prefix("redyno_ops_total{")?.rsplit_once(' ')?.1.parse::<u64>().ok());
    assert_eq!(ops.sum::<u64>(), 3000, "{metrics}");
}

/// What a percentile is called in exports, behind what it is of.
fn exported_name(of: &str, percentile: &str) -> String {
    format!("{of}{}_us", percentile.replace('.', ""))
}

#[test]
fn every_figure_of_the_screens_tables_is_in_the_json_and_in_csv_under_the_same_name() {
    let folder = tempfile::tempdir().unwrap();
    let (recording, _) = session(folder.path());
    let columns = |rows: Rows| {
        let table = exported(&recording, &["--format", "csv", "--rows", rows.name()]);
        assert!(table.lines().count() > 1, "no row of {}", rows.name());
        table.lines().next().unwrap().split(',').map(str::to_owned).collect::<Vec<_>>()
    };
    let whole: Value = serde_json::from_str(&exported(&recording, &["--format", "json"])).unwrap();
    let fields = |part: &Value| part.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    // Any table of figures is of constants of this table; that of segments says which it shows.
    let mut of_load: Vec<_> =
        FIGURES.iter().chain(&SEGMENT_COLUMNS).map(|figure| figure.name.to_owned()).collect();
    for of in ["service_", "response_"] {
        of_load.extend(PERCENTILES.iter().map(|percentile| exported_name(of, percentile.name)));
        of_load.extend(["min_us", "mean_us", "max_us"].map(|figure| format!("{of}{figure}")));
    }
    let mut of_probes = ["samples", "lost", "min_us", "mean_us", "max_us"].map(str::to_owned).to_vec();
    of_probes.extend(PERCENTILES.iter().map(|percentile| exported_name("", percentile.name)));
    let of_server = GAUGES.iter().map(|gauge| gauge.about().name.to_owned()).collect();
    for (names, rows, part) in [
        (&of_load, Rows::Intervals, &whole["summary"]),
        (&of_load, Rows::Operations, &whole["operations"][0]),
        (&of_load, Rows::Segments, &whole["segments"][0]),
        (&of_probes, Rows::Probes, &whole["probes"][0]),
        (&of_server, Rows::Server, &whole["server"]),
    ] {
        let (columns, fields) = (columns(rows), fields(part));
        for name in names {
            assert!(columns.contains(name) && fields.contains(name), "{name} of {}", rows.name());
        }
    }
    for probe in ["ping", "wake"] {
        assert!(whole["probes"].as_array().unwrap().iter().any(|row| row["kind"] == probe), "{probe}");
    }
}

/// What an independent reader makes of a recording and of its interval log: operations of all intervals that count, by command;
/// count and percentiles of all untagged histograms together.
const READER: &str = r##"
import json, sys
from hdrh.histogram import HdrHistogram
recording, log = sys.argv[1:]
aside, operations = set(), {}
for line in open(recording):
    record = json.loads(line)
    if record["kind"] == "segment" and (record.get("warmup") or record.get("prefill")):
        aside.add(record["segment"])
    if record["kind"] == "interval" and record["segment"] not in aside:
        for name, part in record["commands"].items():
            operations[name] = operations.get(name, 0) + part["ops"]
whole, seconds = HdrHistogram(1, 60_000_000_000, 3), 0
for line in open(log):
    if not line.startswith(("#", '"', "Tag=")):
        whole.add(HdrHistogram.decode(line.strip().split(",")[3]))
        seconds += 1
percentiles = {str(p): whole.get_value_at_percentile(p) for p in (50, 90, 95, 99, 99.9)}
print(json.dumps({"operations": operations, "count": whole.get_total_count(), "seconds": seconds, "percentiles": percentiles}))
"##;

/// Where the Python package hdrhistogram is: from `HDRHISTOGRAM`, or where tests/run puts it.
fn hdrhistogram() -> String {
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/target/hdrhistogram");
    std::env::var("HDRHISTOGRAM").unwrap_or_else(|_| kept.to_owned())
}

#[test]
fn other_readers_find_the_summary_in_the_records_and_in_the_interval_log() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::redis().start();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let (recording, log) = (file("s.jsonl"), file("s.hlog"));
    let (port, export) = (server.port_text(), format!("hlog:{log}"));
    let load = ["-p", &port, "--headless", "--yes", "-c", "4", "--rate", "10000", "--warmup", "0.5"];
    let files = ["-n", "20000", "--record", &recording, "--export", &export];
    run(&[&load[..], &files].concat()).expect_code(0);
    let whole: Value = serde_json::from_str(&exported(&recording, &["--format", "json"])).unwrap();
    let mut reader = Command::new("python3");
    reader.args(["-c", READER, &recording, &log]).env("PYTHONPATH", hdrhistogram());
    let read = reader.output().unwrap();
    let missing =
        "Python's hdrhistogram is missing: tests/run installs it, or set HDRHISTOGRAM to where it is";
    assert!(read.status.success(), "{missing}: {}", String::from_utf8_lossy(&read.stderr));
    let read: Value = serde_json::from_slice(&read.stdout).unwrap();
    assert!(read["seconds"].as_u64().unwrap() >= 2, "{read}");
    for row in whole["operations"].as_array().unwrap() {
        assert_eq!(read["operations"][row["operation"].as_str().unwrap()], row["ops"], "{row}");
    }
    assert_eq!(read["count"], whole["summary"]["ops"]);
    for (percentile, figure) in [("50", "p50"), ("90", "p90"), ("95", "p95"), ("99", "p99"), ("99.9", "p999")]
    {
        let ns = read["percentiles"][percentile].as_f64().unwrap();
        let shown = whole["summary"][format!("service_{figure}_us")].as_f64().unwrap();
        assert_eq!(ns / 1e3, shown, "p{percentile}");
    }
}

#[test]
fn what_a_recording_has_not_is_reported_and_nothing_is_left_behind() {
    let folder = tempfile::tempdir().unwrap();
    let (recording, _) = session(folder.path());
    let out = folder.path().join("out").display().to_string();
    for (args, shown) in [
        (
            &["--format", "xml"][..],
            "there are csv, ndjson, json, hlog, hgrm, markdown, openmetrics, memtier-json",
        ),
        (&["--format", "hlog", "--rows", "segments"], "--rows is for csv and ndjson"),
        (&["--format", "csv", "--tag", "GET"], "--tag is for hgrm"),
        (&["--format", "hgrm", "--tag", "HGET"], "it has GET, SET and response"),
        (&["--format", "csv", "--target", "1"], "it has one, number 0"),
    ] {
        let outcome = run(&[&["export", &recording, "-o", &out][..], args].concat()).expect_code(2);
        assert!(outcome.err.contains(shown) && outcome.err.lines().count() == 1, "{}", outcome.err);
        assert!(!Path::new(&out).exists(), "{args:?}");
    }
    let missing = run(&["export", "/nowhere", "--format", "csv"]).expect_code(1);
    assert!(missing.err.contains("cannot read /nowhere"), "{}", missing.err);
}

#[test]
fn rows_that_a_recording_has_not_are_reported_in_one_line_under_the_heading() {
    let folder = tempfile::tempdir().unwrap();
    let (recording, _) = session(folder.path());
    for rows in Rows::ALL {
        for (format, heading) in [("csv", 1), ("ndjson", 0)] {
            let name = rows.name();
            let args = ["export", &recording, "--format", format, "--rows", name];
            let outcome = run(&args).expect_code(0);
            let expected = match rows {
                Rows::Nodes | Rows::Agents => {
                    assert_eq!(outcome.out.lines().count(), heading, "{}", outcome.out);
                    format!("redyno: --rows {name}: the recording has no such row ({})\n", rows.about())
                }
                _ => String::new(),
            };
            assert_eq!(outcome.err, expected, "{name}");
        }
    }
}

#[test]
fn a_name_that_begins_like_a_formula_is_text_in_a_spreadsheet() {
    let server = Server::redis().start();
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (workload, recording) = (place("w.toml"), place("s.jsonl"));
    let operation = |name: &str| format!("[[operation]]\nname = '{name}'\nsteps = ['PING']\n");
    let names = ["=1+1", "+1+1", "-1+1", "@SUM(1)"];
    fs::write(&workload, format!("name = '=2'\n{}", names.map(operation).concat())).unwrap();
    let port = server.port_text();
    let load = ["-p", &port, "--headless", "--yes", "-c", "1", "-n", "200", "--workload", &workload];
    run(&[&load[..], &["--record", &recording]].concat()).expect_code(0);
    for args in [&["--format", "csv", "--rows", "operations"][..], &["--format", "redis-benchmark-csv"]] {
        let text = exported(&recording, args);
        assert!(names.iter().all(|name| text.contains(&format!("'{name}"))), "{text}");
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        for cell in
            reader.records().flat_map(|row| row.unwrap().iter().map(str::to_owned).collect::<Vec<_>>())
        {
            let is_formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r']);
            assert!(!is_formula || cell.parse::<f64>().is_ok(), "{cell}");
        }
    }
}
