//! What leaves a session is what was measured: the same from a recording and from the session itself, under the same names.

use std::{fs, path::Path};

use redyno::{export::Format, session::Record};
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
    let exports = Format::ALL.map(Format::name);
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
    for format in Format::ALL.map(Format::name) {
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
    let told = &whole["summary"];
    assert_eq!(told["ops"], 3000);
    assert_eq!(told["service_p99_us"].as_f64(), service.percentile(0.99).map(|ns| ns as f64 / 1e3));
    assert_eq!(told["response_max_us"].as_f64(), sum.response.as_ref().map(|all| all.max_ns() as f64 / 1e3));
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

#[test]
fn what_a_recording_has_not_is_told_and_nothing_is_left_behind() {
    let folder = tempfile::tempdir().unwrap();
    let (recording, _) = session(folder.path());
    let out = folder.path().join("out").display().to_string();
    for (args, told) in [
        (
            &["--format", "xml"][..],
            "there are csv, ndjson, json, hlog, hgrm, markdown, openmetrics, memtier-json",
        ),
        (&["--format", "hlog", "--rows", "segments"], "--rows is for csv and ndjson"),
        (&["--format", "csv", "--tag", "GET"], "--tag is for hgrm"),
        (&["--format", "hgrm", "--tag", "HGET"], "there are GET, SET and response"),
        (&["--format", "csv", "--target", "1"], "there is one, number 0"),
    ] {
        let outcome = run(&[&["export", &recording, "-o", &out][..], args].concat()).expect_code(2);
        assert!(outcome.err.contains(told) && outcome.err.lines().count() == 1, "{}", outcome.err);
        assert!(!Path::new(&out).exists(), "{args:?}");
    }
    let missing = run(&["export", "/nowhere", "--format", "csv"]).expect_code(1);
    assert!(missing.err.contains("cannot read /nowhere"), "{}", missing.err);
}
