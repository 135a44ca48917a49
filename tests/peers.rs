//! What redyno has and lacks, as its pages say: each row of docs/peers.md, and each word of the lists of what is not there, is
//! held against the program.

use std::{
    collections::{BTreeMap, BTreeSet},
    thread,
    time::Duration,
};

use redyno::{demo, stats::Recorder};
use serde_json::Value;

use crate::{
    lines::PROMISES,
    readme::pages,
    scripted::Crowd,
    support::{
        Server,
        program::{Outcome, redyno, run},
        terminal::Terminal,
    },
};

fn page(name: &str) -> String {
    let (_, text) = pages().into_iter().find(|(path, _)| path.ends_with(name)).unwrap();
    text
}

/// The first two cells of each row of the first table of a page.
fn rows(text: &str) -> Vec<(String, String)> {
    let table = text.lines().skip_while(|line| !line.starts_with("|---")).skip(1);
    let row = |line: &str| {
        let mut cells = line.split('|').map(|cell| cell.trim().to_owned()).skip(1);
        Some((cells.next()?, cells.next()?))
    };
    table.take_while(|line| line.starts_with('|')).filter_map(row).collect()
}

/// A second or so of load on `port`: its records.
fn load(port: &str, more: &[&str]) -> Vec<Value> {
    let usual = ["-p", port, "--headless", "--json", "--yes"];
    let out = run(&[&usual[..], more].concat()).expect_code(0).out;
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn summary(records: &[Value]) -> &Value {
    &records.last().expect("records")["summary"]
}

fn built_in(faults: &[&str]) -> demo::Handle {
    let faults = faults.iter().map(|fault| fault.parse().unwrap()).collect();
    demo::start(demo::Options { faults, ..demo::Options::default() }).unwrap()
}

/// Another setting begins with a key, and no restart.
fn turns_on_a_screen() {
    let server = built_in(&[]);
    let port = server.address.port().to_string();
    let mut terminal = Terminal::start(&redyno(&["-p", &port, "--load", "--yes", "-c", "2"]), 120, 36);
    terminal.wait_for_text("segment 1");
    terminal.press("\u{1b}[C");
    terminal.wait_for_text("segment 2");
    terminal.press("q");
    terminal.wait_for("the end of the screen", |_| terminal.is_given_back().then_some(()));
}

fn has_an_open_loop() {
    let server = Server::redis().start();
    for arrivals in ["constant", "poisson"] {
        let open = ["--rate", "500", "-n", "300", "-c", "4", "--arrivals", arrivals];
        let records = load(&server.port_text(), &open);
        assert!(records.iter().any(|record| record["knobs"]["arrivals"] == arrivals));
        let summary = summary(&records);
        assert_eq!((&summary["due"], &summary["ops"]), (&300.into(), &300.into()), "{summary}");
        let [response, service] = ["response", "service"].map(|times| summary[times]["count"].as_u64());
        assert_eq!((response, service), (Some(300), Some(300)), "response time beside service time");
    }
}

/// Ten requests in one write, and a reply every 20 ms: the first took a tenth of the last.
fn times_each_request_of_a_batch() {
    let crowd = Crowd::start(|peer, _| {
        while let Some(command) = peer.command() {
            if command.starts_with("GET") {
                thread::sleep(Duration::from_millis(20));
                peer.say("$-1\r\n");
            } else {
                peer.say("+PONG\r\n");
            }
        }
    });
    let port = crowd.port().to_string();
    let records = load(&port, &["-c", "1", "-P", "10", "-n", "10", "--workload", "get"]);
    let service = &summary(&records)["service"];
    let [min, max] = ["min_us", "max_us"].map(|name| service[name].as_f64().unwrap());
    assert!(max > 180_000.0 && max - min > 150_000.0, "{service}");
}

fn has_a_wide_histogram() {
    const MINUTE_NS: u64 = 60_000_000_000;
    let mut recorder = Recorder::new();
    recorder.record(1);
    recorder.record(MINUTE_NS);
    let latency = recorder.latency();
    assert_eq!((latency.min_ns(), latency.max_ns(), latency.over_range()), (1, MINUTE_NS, 0));
    for ns in [1_u64, 999, 123_456_789, MINUTE_NS] {
        let mut alone = Recorder::new();
        alone.record(ns);
        let cell = alone.latency().cells().next().unwrap().0;
        assert!(cell.abs_diff(ns) * 1000 <= ns, "three digits of {ns}: {cell}");
    }
}

fn counts_errors_by_kind() {
    let server = built_in(&["error OOM on GET 50%"]);
    let port = server.address.port().to_string();
    let records = load(&port, &["-n", "400", "-c", "2", "--workload", "get"]);
    let summary = summary(&records);
    let errors = summary["errors"]["OOM"].as_u64().unwrap();
    assert!(errors > 0 && summary["service"]["count"] == summary["ops"], "{summary}");
    assert_eq!(summary["ops"].as_u64().unwrap() + errors, 400);
}

/// A recording whose thread was always busy.
fn says_when_the_client_is_the_limit() {
    let text = std::fs::read_to_string("tests/fixtures/recording.jsonl").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("busy.jsonl");
    let busy = |line: &str| {
        let mut record: Value = serde_json::from_str(line).unwrap();
        if record["kind"] == "interval" {
            record["client"]["cpu"] = 0.99.into();
        }
        record.to_string() + "\n"
    };
    std::fs::write(&file, text.lines().map(busy).collect::<String>()).unwrap();
    let out = run(&["replay", file.to_str().unwrap(), "--headless"]).expect_code(0).out;
    assert!(out.contains("client limit: "), "{out}");
}

fn has_probes_and_the_server_on_one_axis() {
    let server = Server::redis().start();
    let records = load(&server.port_text(), &["-c", "2", "--rate", "50", "--duration", "1.5"]);
    for kind in ["interval", "ping", "wake", "server"] {
        let has = |record: &Value| record["kind"] == kind && record["t_s"].is_number();
        assert!(records.iter().any(has), "no {kind}");
    }
}

/// A line of the pages that begins so is run by `tests/lines`.
fn is_run(part: &str) {
    assert!(PROMISES.iter().any(|promise| promise.line.contains(part)), "no line is run with {part}");
}

fn removes_what_it_wrote() {
    let server = Server::redis().start();
    server.cli(&["SET", "redyno:mine", "a user's"]);
    load(&server.port_text(), &["-n", "200", "-c", "2", "--workload", "set"]);
    assert_eq!(server.cli(&["KEYS", "*"]), "redyno:mine");
}

fn loads_all_nodes_of_a_cluster() {
    let nodes = crate::cluster::two();
    load(&nodes[0].port_text(), &["-n", "400", "-c", "2", "--workload", "set"]);
    let calls: Vec<_> = nodes.iter().map(|node| node.calls(&[], "set")).collect();
    assert!(calls.iter().all(|calls| *calls > 0) && calls.iter().sum::<u64>() == 400, "{calls:?}");
}

fn speaks_memcached() {
    let server = Server::memcached().start();
    let uri = format!("memcached://127.0.0.1:{}", server.port());
    for command in [&["get", "{key}"][..], &["mg", "{key}", "v"]] {
        let args = ["-u", &uri, "--headless", "--json", "--yes", "-n", "50", "-c", "2", "--"];
        let outcome = run(&[&args[..], command].concat()).expect_code(0);
        let last: Value = serde_json::from_str(outcome.out.lines().next_back().unwrap()).unwrap();
        assert_eq!(last["summary"]["ops"], 50, "{command:?}: {last}");
    }
}

fn exports_in_each_form() {
    let forms = ["csv", "json", "hlog", "openmetrics", "markdown", "memtier-json", "redis-benchmark-csv"];
    for form in forms {
        let out = run(&["export", "tests/fixtures/recording.jsonl", "--format", form]).expect_code(0).out;
        assert!(!out.is_empty(), "{form}");
    }
}

/// A row of docs/peers.md, what its cell of redyno says, and what that is held against.
type Row = (&'static str, &'static str, fn());

const ROWS: &[Row] = &[
    ("screen on which you change settings during the run", "yes", turns_on_a_screen),
    ("open loop: requests are due on a schedule", "yes, constant or Poisson", has_an_open_loop),
    (
        "service time, and response time from the time when a request is due",
        "yes, per request",
        has_an_open_loop,
    ),
    (
        "when the latency of a request in a deep pipeline ends",
        "the last byte of its own reply",
        times_each_request_of_a_batch,
    ),
    ("histogram", "1 ns to 60 s, 3 digits", has_a_wide_histogram),
    ("errors counted by kind, and not in latencies", "yes", counts_errors_by_kind),
    (
        "reports when the client is the limit",
        "yes, with the reason, during the run",
        says_when_the_client_is_the_limit,
    ),
    (
        "probes and the server's own figures on the same time axis",
        "yes",
        has_probes_and_the_server_on_one_axis,
    ),
    ("finds the highest rate under a latency limit", "yes", || is_run("--find 'p99<1ms'")),
    ("compares two settings in alternation, with a confidence interval", "yes", || {
        is_run("ab -p 6379 --from");
    }),
    ("removes what it wrote", "yes, exactly that", removes_what_it_wrote),
    (
        "cluster with all of its nodes",
        "yes, all are loaded and [watched](cluster.md)",
        loads_all_nodes_of_a_cluster,
    ),
    ("memcached", "yes, text and meta commands", speaks_memcached),
    ("your own commands, key distributions, data sets", "yes", || {
        is_run("-- 3: SET {key}");
        is_run("--distribution 'zipfian 1.2'");
        is_run("--dataset docs.csv");
    }),
    (
        "export: CSV, HDR log, Prometheus",
        "yes, and JSON, Markdown, memtier's JSON and redis-benchmark's CSV",
        exports_in_each_form,
    ),
];

#[test]
fn each_row_of_what_redyno_has_is_true_of_the_program() {
    let shown = rows(&page("docs/peers.md"));
    let known: Vec<_> = ROWS.iter().map(|(row, says, _)| ((*row).to_owned(), (*says).to_owned())).collect();
    assert_eq!(shown, known, "say in tests/peers.rs what a row is held against");
    // Two rows may be held against one thing.
    let checks: BTreeMap<usize, fn()> = ROWS.iter().map(|(_, _, holds)| (*holds as usize, *holds)).collect();
    thread::scope(|scope| checks.into_values().for_each(|holds| drop(scope.spawn(holds))));
}

/// The words in code, and the others of a list, of the section of a page that begins with this heading.
fn listed(page: &str, heading: &str) -> Vec<String> {
    let (_, section) = page.split_once(heading).unwrap();
    let section = section.split("\n## ").next().unwrap();
    section.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn with_option(command: &str, option: &str) -> Outcome {
    run(&[&[command, "-p", "1"], &option.split(' ').collect::<Vec<_>>()[..]].concat())
}

#[test]
fn what_is_not_there_is_refused_and_said_so() {
    let bench = listed(&page("docs/bench.md"), "## What is not there\n");
    assert_eq!(bench, ["--mptcp", "--rdma", "--fuzz"]);
    for option in &bench {
        let outcome = with_option("bench", option).expect_code(1);
        let shown = format!("{}{}", outcome.out, outcome.err);
        let part =
            if ["--rdma", "--fuzz"].contains(&option.as_str()) { "Invalid option" } else { "not supported" };
        assert!(shown.contains(part) && shown.contains(option.as_str()), "{option}: {shown}");
    }
    let memtier = listed(&page("docs/memtier.md"), "## What is not there\n");
    let help = run(&["memtier", "--help"]).expect_code(0).out;
    let (_, absent) = help.split_once("\nNot supported, with redyno's alternative:\n").unwrap();
    let absent = absent.lines().filter(|line| line.contains("[<VALUE>]"));
    let absent = absent.filter_map(|line| line.split_whitespace().next());
    let values = ["memcache_binary", "--data-size-pattern S"];
    let absent: BTreeSet<_> = absent.chain(values).collect();
    assert_eq!(memtier.iter().map(String::as_str).collect::<BTreeSet<_>>(), absent);
    for option in &memtier {
        // A value of an option of memtier's that has others.
        let given = if option == "memcache_binary" { "-P memcache_binary" } else { option };
        let outcome = with_option("memtier", given).expect_code(2);
        assert!(outcome.err.contains(&format!("{option} is not supported by redyno memtier")), "{outcome:?}");
    }
}

#[test]
fn a_sentinel_is_not_loaded() {
    // Its address alone does not name the service whose primary is meant.
    let sentinel = Crowd::start(|peer, _| {
        while let Some(command) = peer.command() {
            match command.split(' ').next().unwrap_or_default() {
                "PING" => peer.say("+PONG\r\n"),
                "INFO" => peer.say("$43\r\nredis_version:7.0.15\r\nredis_mode:sentinel\r\n\r\n"),
                _ => peer.say("-ERR unknown command\r\n"),
            }
        }
    });
    let port = sentinel.port().to_string();
    let outcome = run(&["-p", &port, "--headless", "--load", "--yes", "--duration", "1"]);
    assert!(outcome.code() == 1 && outcome.err.contains("is a Sentinel"), "{outcome:?}");
}
