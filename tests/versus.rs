//! Two targets under the same load in alternation: one table, an exit code for a script, and both servers left as they were.

use std::{collections::BTreeSet, path::Path};

use redyno::{
    demo,
    session::{Reader, Record},
};
use rustix::process::Signal;

use crate::support::{
    Server, free_port,
    nodes::Nodes,
    program::{Outcome, Running, redyno, run},
    wait_for,
};

const SHORT: [&str; 5] = ["--part", "0.25", "-c", "4", "--anyway"];

fn start(a: &str, b: &str, args: &[&str]) -> Running {
    Running::start(redyno(&[&["versus", a, b], &SHORT[..], args].concat()))
}

fn uri(port: u16) -> String {
    format!("redis://127.0.0.1:{port}")
}

fn built_in(faults: &[&str]) -> demo::Handle {
    let faults = faults.iter().map(|fault| fault.parse().unwrap()).collect();
    demo::start(demo::Options { faults, ..demo::Options::default() }).unwrap()
}

fn json_lines(outcome: &Outcome) -> Vec<serde_json::Value> {
    outcome.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Ends a comparison by a signal after two pairs; its lines, the verdict last.
fn some_pairs(running: Running) -> (Vec<serde_json::Value>, Outcome) {
    running.wait_for_lines(2, "\"kind\":\"pair\"");
    running.signal(Signal::INT);
    let outcome = running.end_of_writing().expect_code(130);
    (json_lines(&outcome), outcome)
}

/// A row of the table: that of all operations together, or of one.
fn row<'a>(verdict: &'a serde_json::Value, figure: &str, operation: Option<&str>) -> &'a serde_json::Value {
    let rows = verdict["table"].as_array().unwrap();
    let is_it = |row: &&serde_json::Value| row["figure"] == figure && row["operation"].as_str() == operation;
    rows.iter().find(is_it).unwrap_or_else(|| panic!("no {figure} of {operation:?} in {verdict}"))
}

/// What is reported of both targets whatever they are.
const SHOWN: [(&str, Option<&str>); 4] =
    [("ops_per_s", None), ("service_p50_us", None), ("ops_per_s", Some("GET")), ("ops_per_s", Some("SET"))];

#[test]
fn the_slower_target_is_named_row_by_row_and_ends_with_3() {
    let (a, b) = (built_in(&["slow load 500us"]), built_in(&["slow load 2ms"]));
    let (a, b) = (a.address.port(), b.address.port());
    let outcome = start(&uri(a), &uri(b), &["--json"]).end_of_writing().expect_code(3);
    let lines = json_lines(&outcome);
    let (verdict, pairs) = lines.split_last().unwrap();
    assert!(pairs.len() >= 9 && pairs.iter().all(|pair| pair["kind"] == "pair"), "{}", outcome.out);
    assert!(pairs[0]["a"]["ops_per_s"].as_f64() > pairs[0]["b"]["ops_per_s"].as_f64(), "{}", pairs[0]);
    assert_eq!((&verdict["verdict"], &verdict["decides"]), (&"worse".into(), &"throughput".into()));
    let row = &verdict["table"][0];
    assert_eq!((&row["figure"], &row["verdict"]), (&"ops_per_s".into(), &"worse".into()));
    assert!(row["a"].as_f64() > row["b"].as_f64() && row["high"].as_f64().unwrap() < 0.0, "{row}");
    for (letter, port) in [("A", a), ("B", b)] {
        let removed = format!("{letter}, 127.0.0.1:{port}: removed ");
        assert!(outcome.err.contains(&removed), "its keys are gone: {}", outcome.err);
    }
    assert!(outcome.err.contains("redyno: B is worse: ops/s -"), "{}", outcome.err);
}

#[test]
fn a_person_gets_one_table_and_one_recording_of_both_nodes() {
    let (a, b) = (built_in(&["slow load 2ms"]), built_in(&[]));
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("both.jsonl");
    let file = file.to_str().unwrap();
    let [a, b] = [a.address.port(), b.address.port()];
    let running = start(&uri(a), &uri(b), &["--record", file]);
    let segments = || {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let segments = text.lines().filter(|line| line.starts_with("{\"kind\":\"segment\""));
        let (of_b, of_a): (Vec<_>, Vec<_>) = segments.partition(|line| line.contains("\"node\":1"));
        [of_a.len(), of_b.len()]
    };
    wait_for("five segments of each", || segments().iter().all(|count| *count > 4).then_some(()));
    running.signal(Signal::INT);
    let outcome = running.end_of_writing().expect_code(130);
    assert_both_are_read_back(file, [a, b]);
    let lines: Vec<_> = outcome.out.lines().collect();
    assert!(lines[0].starts_with("redyno 0.") && lines[0].contains("  4 clients × 1, rate max"), "{lines:?}");
    assert!(lines[1].starts_with("A: 127.0.0.1:") && lines[2].starts_with("B: 127.0.0.1:"), "{lines:?}");
    let shown: Vec<_> = outcome.err.lines().filter(|line| line.starts_with("redyno: load on ")).collect();
    assert!(shown.len() >= 2 && shown[0].starts_with("redyno: load on A, pair 1 of "), "{}", outcome.err);
    // The answer comes before the table.
    assert!(lines[4].contains("clear") || lines[4].contains("B "), "{lines:?}");
    let table =
        lines.iter().position(|line| line.trim_start().starts_with("A ") && line.ends_with("B against A"));
    assert!(lines[table.unwrap() + 1].starts_with("ops/s  "), "{lines:?}");
    for operation in ["GET ops/s", "SET ops/s"] {
        assert!(lines.iter().any(|line| line.starts_with(operation)), "{lines:?}");
    }
    assert!(outcome.out.contains("\npairs "), "{}", outcome.out);
}

/// In a recording of both nodes one carries the load at a time; a report tells of both, an export of the one that is asked for,
/// and a comparison of segments of the first.
fn assert_both_are_read_back(file: &str, ports: [u16; 2]) {
    let mut loads = [false; 2];
    let mut reader = Reader::open(Path::new(file)).unwrap();
    while let Some(record) = reader.next_record().unwrap() {
        if let Record::Segment(segment) = record {
            loads[usize::from(segment.node)] = segment.knobs.load;
            assert_ne!(loads, [true; 2], "{segment:?}");
        }
    }
    let report = format!("{file}.md");
    run(&["report", file, "-o", &report]).expect_code(0);
    let report = std::fs::read_to_string(report).unwrap();
    for (node, port) in ["0", "1"].into_iter().zip(ports) {
        let address = format!("127.0.0.1:{port}");
        assert!(report.contains(&format!("| target | {address} |")), "{report}");
        let json = run(&["export", file, "--format", "json", "--target", node]).expect_code(0).out;
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(
            json["session"]["target"]["address"].as_str(),
            Some(address.as_str()),
            "{}",
            json["session"]
        );
        let ops = json["summary"]["ops"].as_u64();
        assert!(ops > Some(0), "{}", json["summary"]);
        let metrics = run(&["export", file, "--format", "openmetrics", "--target", node]).expect_code(0).out;
        let counts =
            metrics.lines().filter_map(|line| line.strip_prefix("redyno_ops_total{")?.rsplit_once(' '));
        assert_eq!(
            counts.map(|(_, count)| count.parse::<u64>().unwrap()).sum::<u64>(),
            ops.unwrap(),
            "{metrics}"
        );
    }
    let compared = run(&["compare", &format!("{file}#1"), &format!("{file}#3")]).expect_code(0).out;
    assert!(compared.contains(&format!("127.0.0.1:{}", ports[0])), "{compared}");
}

#[test]
fn redis_and_valkey_are_asked_the_same_and_left_empty_after_an_interrupt() {
    let servers = [Server::redis().start(), Server::valkey().start()];
    let [a, b] = servers.each_ref().map(|server| uri(server.port()));
    let (lines, outcome) = some_pairs(start(&a, &b, &["--json", "--workload", "mixed", "--rate", "2k"]));
    let verdict = lines.last().unwrap();
    assert!(verdict["from"].as_str().unwrap().contains("redis 7"), "{verdict}");
    assert!(verdict["to"].as_str().unwrap().contains("valkey "), "{verdict}");
    for (figure, operation) in SHOWN.into_iter().chain([("service_p99_us", None)]) {
        row(verdict, figure, operation);
    }
    assert!(lines.iter().all(|line| line["a"]["errors"].as_u64().unwrap_or(0) == 0), "{}", outcome.out);
    for server in &servers {
        assert!(server.calls(&[], "get") > 0 && server.calls(&[], "set") > 0);
        assert_eq!(server.cli(&["DBSIZE"]), "0");
    }
}

#[test]
fn a_cluster_is_a_target_as_a_whole_and_left_empty() {
    let (nodes, alone) = (Nodes::start(Server::redis, false), Server::valkey().start());
    let [a, other] = [&nodes.0[1], &nodes.0[2]].map(|node| uri(node.port()));
    let b = uri(alone.port());
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("both.jsonl");
    let words = ["--json", "--workload", "mixed", "--rate", "2k", "--record", file.to_str().unwrap()];
    let (lines, outcome) = some_pairs(start(&a, &b, &words));
    for side in ["a", "b"] {
        assert!(lines.iter().all(|line| line[side]["errors"].as_u64().unwrap_or(0) == 0), "{}", outcome.out);
    }
    for server in nodes.0.iter().chain([&alone]) {
        assert!(server.calls(&[], "get") > 0 && server.calls(&[], "set") > 0);
        assert_eq!(server.cli(&["DBSIZE"]), "0", "no key and no marker");
    }
    let by_node = lines.last().unwrap()["nodes"].as_array().unwrap();
    assert!(by_node.iter().all(|row| row["side"] == "A" && row["ops"].as_u64() > Some(0)), "{by_node:?}");
    let named: BTreeSet<_> = by_node.iter().map(|row| row["node"].as_str().unwrap().to_owned()).collect();
    assert_eq!(named, nodes.0.iter().map(|node| format!("127.0.0.1:{}", node.port())).collect());
    let (mut numbers, mut reader) = (BTreeSet::new(), Reader::open(&file).unwrap());
    while let Some(record) = reader.next_record().unwrap() {
        let Record::Interval(interval) = record else { continue };
        numbers.extend(interval.nodes.keys());
        let sum: u64 = interval.nodes.values().map(|part| part.ops).sum();
        assert!(interval.nodes.is_empty() || sum == interval.ops, "{interval:?}");
    }
    assert_eq!(numbers, [0, 2, 4].into(), "none is a number of B");
    let report =
        run(&["report", file.to_str().unwrap(), "-o", directory.path().join("r.md").to_str().unwrap()]);
    report.expect_code(0);
    let report = std::fs::read_to_string(directory.path().join("r.md")).unwrap();
    assert!(named.iter().all(|address| report.contains(address)), "{report}");
    let outcome = run(&["versus", &a, &other]).expect_code(2);
    assert!(outcome.err.contains("both targets are nodes of the same cluster"), "{}", outcome.err);
    let (lines, outcome) = some_pairs(start(&a, &b, &["--json", "--one-node", "--rate", "2k"]));
    assert_eq!(lines.last().unwrap().get("nodes"), None);
    assert!(outcome.err.contains("A, 127.0.0.1:") && outcome.err.contains("MOVED"), "{}", outcome.err);
}

#[test]
fn the_cluster_of_either_side_is_loaded_as_a_whole_beside_memcached() {
    let (memcached, nodes) = (Server::memcached().start(), Nodes::start(Server::redis, false));
    let (one, other) = (format!("memcached://127.0.0.1:{}", memcached.port()), uri(nodes.0[0].port()));
    for (a, b, cluster) in [(&one, &other, "b"), (&other, &one, "a")] {
        let before: Vec<_> = nodes.0.iter().map(|node| node.calls(&[], "get")).collect();
        let (lines, outcome) =
            some_pairs(start(a, b, &["--json", "--workload", "mixed", "--yes", "--rate", "2k"]));
        assert!(
            lines.iter().all(|line| line[cluster]["errors"].as_u64().unwrap_or(0) == 0),
            "{}",
            outcome.out
        );
        for (node, before) in nodes.0.iter().zip(before) {
            assert!(node.calls(&[], "get") > before, "each node gets load");
        }
    }
}

#[test]
fn redis_and_memcached_stand_in_one_table() {
    let servers = [Server::redis().start(), Server::memcached().start()];
    let memcached = format!("memcached://127.0.0.1:{}", servers[1].port());
    let running = start(
        &uri(servers[0].port()),
        &memcached,
        &["--json", "--workload", "mixed", "--yes", "--rate", "2k"],
    );
    let (lines, outcome) = some_pairs(running);
    let verdict = lines.last().unwrap();
    assert!(verdict["to"].as_str().unwrap().contains("memcached 1."), "{verdict}");
    for (figure, operation) in SHOWN {
        let row = row(verdict, figure, operation);
        assert!(row["a"].as_f64() > Some(0.0) && row["b"].as_f64() > Some(0.0), "{row}");
        assert!(row["change"].is_f64(), "{row}");
    }
    assert!(lines.iter().all(|line| line["b"]["errors"].as_u64().unwrap_or(0) == 0), "{}", outcome.out);
    assert_eq!(servers[0].cli(&["DBSIZE"]), "0");
}

#[test]
fn a_workload_that_one_of_both_cannot_be_asked_is_refused_with_its_name() {
    let servers = [Server::redis().start(), Server::memcached().start()];
    let port = servers[1].port();
    let memcached = format!("memcached://127.0.0.1:{port}");
    let words = ["versus", &uri(servers[0].port()), &memcached, "--workload", "queue"];
    let outcome = run(&words).expect_code(2);
    assert!(outcome.err.starts_with(&format!("redyno: B, 127.0.0.1:{port}: ")), "{}", outcome.err);
    assert_eq!(servers[0].calls(&[], "lpush"), 0, "nobody was asked anything");
}

#[test]
fn a_target_that_holds_other_keys_is_asked_about_by_its_name_and_the_other_is_left_empty() {
    let servers = [Server::redis().start(), Server::redis().start()];
    servers[1].cli(&["SET", "theirs", "1"]);
    let [a, b] = servers.each_ref().map(|server| uri(server.port()));
    let outcome = run(&["versus", &a, &b]).expect_code(2);
    let asked = format!("B, 127.0.0.1:{}: ", servers[1].port());
    assert!(outcome.err.contains(&asked) && outcome.err.contains("holds 1 key"), "{}", outcome.err);
    assert!(outcome.err.contains("Give --yes"), "{}", outcome.err);
    assert_eq!((servers[0].cli(&["DBSIZE"]), servers[1].cli(&["KEYS", "*"])), ("0".into(), "theirs".into()));
    let written = ["set", "sadd", "hset"].map(|command| servers[0].calls(&[], command));
    assert_eq!(written, [0; 3], "nothing is written to A before B was asked about");
}

#[test]
fn records_of_a_file_are_refused_where_each_target_would_have_a_part() {
    let words = ["versus", "redis://127.0.0.1:1", "redis://127.0.0.1:2", "--dataset", "docs.csv"];
    assert!(
        run(&words)
            .expect_code(2)
            .err
            .contains("--dataset does not work with versus, since each target would get only some")
    );
}

#[test]
fn options_about_due_requests_are_refused_without_a_rate() {
    let sides = ["versus", "redis://127.0.0.1:1", "redis://127.0.0.1:2"];
    for words in [&sides[..], &["ab", "-p", "1", "--to", "clients 5"]] {
        for option in [["--arrivals", "poisson"], ["--backlog", "shed"]] {
            let outcome = run(&[words, &option].concat()).expect_code(2);
            let line =
                format!("redyno: {} has no effect without a rate (add --rate); leave it out\n", option[0]);
            assert_eq!(outcome.err, line);
        }
    }
}

#[test]
fn a_target_that_cannot_be_reached_is_named() {
    let server = Server::redis().start();
    let nobody = free_port();
    let outcome = run(&["versus", &uri(server.port()), &uri(nobody)]).expect_code(1);
    assert!(outcome.err.starts_with(&format!("redyno: B, 127.0.0.1:{nobody}: ")), "{}", outcome.err);
    assert_eq!(outcome.err.lines().count(), 1, "{}", outcome.err);
    let begun = ["client|setname", "set", "get"].map(|command| server.calls(&[], command));
    assert_eq!(begun, [0; 3], "A is not asked for anything");
}
