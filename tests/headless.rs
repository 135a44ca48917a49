//! The program without a screen: a stream of records that anything can read, or lines for people, and one end
//! whatever brought it about.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::Stdio,
};

use crate::support::{
    Server, calls,
    program::{Running, records, redyno, run},
    wait_for,
};
use redyno::session::{Interval, Reader, Record, Segment, SessionEnd};
use rustix::process::Signal;

/// A session of one second under load, as JSON.
fn one_second<'a>(port: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let usual = ["-p", port, "--headless", "--json", "--duration", "1", "-c", "20", "--load"];
    [&usual, more].concat()
}

fn intervals(records: &[Record]) -> Vec<&Interval> {
    let all = records.iter();
    all.filter_map(|record| if let Record::Interval(interval) = record { Some(&**interval) } else { None })
        .collect()
}

fn segments(records: &[Record]) -> Vec<&Segment> {
    let all = records.iter();
    all.filter_map(|record| if let Record::Segment(segment) = record { Some(segment) } else { None })
        .collect()
}

fn end(records: &[Record]) -> &SessionEnd {
    match records.last() {
        Some(Record::End(end)) => end,
        other => panic!("the last record is {other:?}"),
    }
}

#[test]
fn the_records_begin_with_the_session_and_end_with_the_sum_of_all_intervals() {
    for server in [Server::redis().start(), Server::valkey().start()] {
        let port = server.port_text();
        let outcome = run(&one_second(&port, &["--ratio", "1:1", "--threads", "2"])).expect_code(0);
        let records = outcome.records();
        let Record::Session(session) = &records[0] else { panic!("{:?} comes first", records[0]) };
        assert_eq!(session.target.address, format!("127.0.0.1:{port}"));
        assert!(["redis 7.", "valkey 9."].iter().any(|name| session.target.server.starts_with(name)));
        let place = |wanted: fn(&Record) -> bool| records.iter().position(wanted).unwrap();
        assert!(
            place(|record| matches!(record, Record::Segment(_)))
                < place(|record| matches!(record, Record::Interval(_)))
        );
        let summary = &end(&records).summary;
        let intervals = intervals(&records);
        assert!(summary.ops > 0 && summary.errors.is_empty(), "{summary:?}");
        assert_eq!(intervals.iter().map(|interval| interval.ops).sum::<u64>(), summary.ops);
        assert_eq!(intervals.iter().map(|interval| interval.service.count()).sum::<u64>(), summary.ops);
        assert_eq!(summary.service.count(), summary.ops);
        let stats = server.cli(&["INFO", "commandstats"]);
        assert_eq!(calls(&stats, "get") + calls(&stats, "set"), summary.ops);
        for kind in ["ping", "wake", "server"] {
            assert!(outcome.out.contains(&format!("{{\"kind\":\"{kind}\",")), "no {kind} record");
        }
    }
}

#[test]
fn the_hdr_text_of_a_record_is_read_by_any_hdr_library() {
    use base64::Engine as _;
    let server = Server::redis().start();
    let outcome = run(&one_second(&server.port_text(), &[])).expect_code(0);
    let last: serde_json::Value = serde_json::from_str(outcome.out.lines().last().unwrap()).unwrap();
    let service = &last["summary"]["service"];
    let bytes = base64::engine::general_purpose::STANDARD.decode(service["hdr"].as_str().unwrap()).unwrap();
    let histogram: hdrhistogram::Histogram<u64> =
        hdrhistogram::serialization::Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
    assert_eq!(Some(histogram.len()), service["count"].as_u64());
    let p50_ns = service["p50_us"].as_f64().unwrap() * 1e3;
    assert!(histogram.equivalent(histogram.value_at_quantile(0.5), p50_ns.round() as u64), "{p50_ns}");
}

#[test]
fn every_interval_says_what_the_client_itself_cost() {
    let server = Server::redis().start();
    let records = run(&one_second(&server.port_text(), &["--threads", "2"])).expect_code(0).records();
    let summary = end(&records).summary.client.as_ref().unwrap();
    let of_intervals = intervals(&records);
    // What comes after the end of the load is no time under it, and has no cost.
    let with_length: Vec<_> = of_intervals.iter().filter(|interval| interval.timed_s() > 0.0).collect();
    let clients: Vec<_> = with_length.iter().map(|interval| interval.client.as_ref().unwrap()).collect();
    assert!(!clients.is_empty());
    for client in &clients {
        // One that the machine kept waiting for all of the stretch tells its part with the next.
        assert!((1..=2).contains(&client.workers.len()), "{client:?}");
        assert!(client.workers.iter().all(|worker| worker.cpu > 0.0), "{client:?}");
        assert_eq!(client.late, None, "in closed loop nothing is due before it is sent");
        assert_eq!(client.run_delay.is_some(), cfg!(target_os = "linux"), "{client:?}");
    }
    // What a worker reported late, on a busy machine, is in an interval without length.
    let all = of_intervals.iter().filter_map(|interval| interval.client.as_ref());
    let reads: u64 = all.map(|client| client.readable_to_read.count()).sum();
    let ops: u64 = with_length.iter().map(|interval| interval.ops).sum();
    assert!(reads >= ops, "each reply was read after some wake-up: {reads} and {ops}");
    assert_eq!(summary.readable_to_read.count(), reads);
    assert_eq!(summary.workers.len(), 2);
}

#[test]
fn the_readable_form_has_a_heading_a_line_a_second_and_a_summary() {
    // On a busy machine, an entry of the slow log would come before the heading.
    let server = Server::redis().with_args(&["--slowlog-log-slower-than", "-1"]).start();
    // No --headless: stdout is no terminal.
    let args = ["-p", &server.port_text(), "--duration", "2", "-c", "5", "--load"];
    let outcome = run(&args).expect_code(0);
    let lines: Vec<_> = outcome.out.lines().collect();
    assert!(lines[0].starts_with("redyno 0.") && lines[0].contains("  redis 7."), "{}", outcome.out);
    assert!(lines[1].starts_with("segment 1: 5 clients × 1, rate max, SET:GET 1:10"), "{}", outcome.out);
    assert!(lines[2].trim_start().starts_with("time      ops/s      p50"), "{}", outcome.out);
    assert!(lines.iter().filter(|line| line.contains(" s ") && line.contains(" | ")).count() >= 2);
    let summary = outcome.out.split_once("\n\n").unwrap().1;
    assert!(summary.contains(" measured, ") && summary.contains("\n  load      "), "{summary}");
    assert!(summary.contains(" ops in ") && summary.contains("\n  service   p50 "), "{summary}");
    assert!(!outcome.out.contains('\x1b'), "no terminal, no escapes");
}

#[test]
fn a_signal_ends_a_session_with_all_that_was_measured() {
    let server = Server::redis().start();
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let port = server.port_text();
        let running =
            Running::start(redyno(&["-p", &port, "--headless", "--json", "--load", "--rate", "1000"]));
        running.wait_for_lines(1, r#""kind":"interval""#);
        running.signal(signal);
        let outcome = running.end().expect_code(130);
        assert!(end(&outcome.records()).summary.ops > 0);
        assert!(!outcome.err.contains("panicked"), "{}", outcome.err);
    }
    let running =
        Running::start(redyno(&["-p", &server.port_text(), "--headless", "--load", "--rate", "1000"]));
    running.wait_for_lines(1, "segment 1: ");
    running.signal(Signal::INT);
    let outcome = running.end().expect_code(130);
    assert!(outcome.out.contains(" measured, "), "{}", outcome.out);
}

#[test]
fn a_reader_that_has_had_enough_ends_the_session_quietly() {
    let server = Server::redis().start();
    for form in [&["--json"][..], &[]] {
        let port = server.port_text();
        let args = [&["-p", &port, "--headless", "--load", "--rate", "1000"], form].concat();
        let mut child =
            redyno(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        assert!(first.contains("redyno 0."), "{first}");
        // The reader is dropped here, and the pipe with it.
        let status = crate::support::program::end_of(&mut child);
        let mut err = String::new();
        std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut err).unwrap();
        assert_eq!(status.code(), Some(0), "{err}");
        assert!(!err.contains("panicked") && err.starts_with("removed "), "{err}");
    }
}

#[test]
fn a_recording_holds_what_stdout_says() {
    let server = Server::redis().start();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("session.jsonl");
    let outcome = run(&one_second(&server.port_text(), &["--record", path.to_str().unwrap()])).expect_code(0);
    let mut reader = Reader::open(&path).unwrap();
    for shown in outcome.records() {
        assert_eq!(reader.next_record().unwrap(), Some(shown));
    }
    assert_eq!(reader.next_record().unwrap(), None);
    let recorded = std::fs::read_to_string(&path).unwrap();
    assert!(recorded.len() < outcome.out.len(), "it leaves out what its reader computes: {recorded}");
}

#[test]
fn a_recording_that_is_there_is_not_touched() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("session.jsonl");
    std::fs::write(&path, "earlier").unwrap();
    let server = Server::redis().start();
    let outcome = run(&one_second(&server.port_text(), &["--record", path.to_str().unwrap()])).expect_code(1);
    assert!(outcome.err.contains("is there already") && outcome.err.lines().count() == 1, "{}", outcome.err);
    assert_eq!((outcome.out.as_str(), std::fs::read_to_string(&path).unwrap().as_str()), ("", "earlier"));
    assert_eq!(server.calls(&[], "hset"), 0, "nothing was written before the refusal");
}

/// Lines of a file that are whole; the last one may be cut.
fn whole_lines(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.rfind('\n').map_or(String::new(), |at| text[..=at].to_owned())
}

#[test]
fn a_killed_session_leaves_a_recording_that_can_be_read() {
    let server = Server::redis().start();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("session.jsonl");
    let args = [
        "-p",
        &server.port_text(),
        "--headless",
        "--load",
        "--rate",
        "1000",
        "--record",
        path.to_str().unwrap(),
    ];
    let running = Running::start(redyno(&args));
    wait_for("two intervals in the file", || {
        (whole_lines(&path).matches(r#""kind":"interval""#).count() >= 2).then_some(())
    });
    running.signal(Signal::KILL);
    let status = running.end().status;
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9));
    let records = records(&whole_lines(&path));
    assert!(matches!(records[0], Record::Session(_)));
    assert!(intervals(&records).len() >= 2);
}

#[test]
fn the_warm_up_is_a_segment_of_its_own_and_in_no_sum() {
    let server = Server::redis().start();
    let outcome = run(&one_second(&server.port_text(), &["--warmup", "1"])).expect_code(0);
    let records = outcome.records();
    let warm: Vec<_> = segments(&records).iter().map(|s| (s.segment, s.warmup)).collect();
    assert_eq!(warm, [(1, true), (2, false)]);
    let ops =
        |segment| -> u64 { intervals(&records).iter().filter(|i| i.segment == segment).map(|i| i.ops).sum() };
    assert!(ops(1) > 0);
    assert_eq!(end(&records).summary.ops, ops(2));
    assert_eq!(server.calls(&[], "get") + server.calls(&[], "set"), ops(1) + ops(2));
}

#[test]
fn a_session_without_load_has_pings_and_no_interval() {
    let server = Server::valkey().start();
    let args = ["-p", &server.port_text(), "--headless", "--json", "--duration", "1"];
    let records = run(&args).expect_code(0).records();
    assert!(intervals(&records).is_empty() && !segments(&records)[0].knobs.load);
    assert!(records.iter().any(|record| matches!(record, Record::Ping(ping) if ping.body.rtt.count() > 0)));
    assert_eq!(end(&records).summary.ops, 0);
}

/// Sets keys on the server until it is killed, which leaves them there.
fn set_keys(port: &str, seed: &str) {
    let running = Running::start(redyno(&[
        "-p",
        port,
        "--headless",
        "--json",
        "--workload",
        "set",
        "-c",
        "1",
        "-r",
        "900000000000",
        "--rate",
        "200",
        "--seed",
        seed,
        "--yes",
    ]));
    running.wait_for_lines(2, r#""kind":"interval""#);
    running.signal(Signal::KILL);
    running.end();
}

#[test]
fn the_same_seed_asks_the_same_and_another_seed_something_else() {
    let keys = |seed| {
        let server = Server::redis().start();
        set_keys(&server.port_text(), seed);
        server
            .cli(&["KEYS", "redyno:*:*"])
            .lines()
            // Each run has a prefix of its own.
            .map(|key| key.rsplit(':').next().unwrap_or_default().to_owned())
            .collect::<std::collections::BTreeSet<_>>()
    };
    let (first, second, other) = (keys("11"), keys("11"), keys("12"));
    assert!(first.len() > 50 && second.len() > 50);
    // One run may have come further than the other; what the shorter one asked, the longer one asked too.
    let (shorter, longer) = if first.len() < second.len() { (&first, &second) } else { (&second, &first) };
    assert!(shorter.is_subset(longer), "{:?}", shorter.difference(longer));
    assert!(first.is_disjoint(&other));
}
