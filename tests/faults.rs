//! Errors and broken servers under load: each is counted by its kind, the run goes on or ends with its reason, and no
//! count is wrong. Tests that guard against what a peer does wrong name the peer.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use rustix::process::Signal;

use crate::scripted::Crowd;
use crate::support::{
    Server,
    program::{Outcome, Running, redyno},
    session::{Driven, Past, at_port, intervals, plan},
    wait_for,
};
use redyno::{
    endpoint::{Credentials, Password, Target},
    knobs::Knobs,
    load::LoadPlan,
    protocol::MAX_KINDS,
    session::{Event, Record},
    workload::Workload,
};

const GET: &str = "*2\r\n$3\r\nGET\r\n$19\r\nredyno:000000000000\r\n";

fn gets(clients: u32) -> Knobs {
    Knobs { load: true, clients, workload: Workload::ratio(0, 1), keyspace: 1000, ..Knobs::default() }
}

/// Waits until `n` errors of this kind have come, and the run went on to `ops` good replies.
fn wait_for_errors(session: &mut Driven, kind: &str, n: u64, ops: u64) {
    session.wait_for(kind, |records| {
        let errors: u64 = intervals(records).filter_map(|interval| interval.errors.get(kind)).sum();
        let good: u64 = intervals(records).map(|interval| interval.ops).sum();
        (errors >= n && good >= ops).then_some(())
    });
}

fn shown(records: &[Arc<Record>]) -> Vec<&Event> {
    records
        .iter()
        .filter_map(|record| match &**record {
            Record::Event(event) => Some(event),
            _ => None,
        })
        .collect()
}

/// What was sent is what was answered, well or not.
fn assert_exact(past: &Past, context: &str) {
    let sent: u64 = past.intervals().map(|interval| interval.bytes_out).sum();
    assert_eq!(sent % GET.len() as u64, 0, "{context}: a request was counted in part");
    let of_requests: u64 =
        past.intervals().flat_map(|i| i.commands.values()).flat_map(|part| part.errors.values()).sum();
    let summary = &past.end.summary;
    assert_eq!(summary.ops + of_requests, sent / GET.len() as u64, "{context}: {:?}", past.errors());
    assert_eq!(summary.service.count(), summary.ops, "{context}: an error is in the percentiles");
    assert_eq!(summary.errors, past.errors(), "{context}");
}

/// valkey-benchmark and resp-benchmark exit at the first error reply; memtier counts it as an operation.
#[test]
fn an_error_reply_is_counted_and_the_run_goes_on() {
    for code in ["LOADING", "OOM", "READONLY", "BUSY", "MASTERDOWN", "CLUSTERDOWN", "MISCONF", "ERR"] {
        let server = Crowd::start(move |peer, _| {
            for n in 0.. {
                let Some(command) = peer.command() else { return };
                match (command.starts_with("GET"), n % 5) {
                    (true, 4) => peer.say(&format!("-{code} as a server says it\r\n")),
                    (true, _) => peer.say("$-1\r\n"),
                    (false, _) => peer.say("+OK\r\n"),
                }
            }
        });
        let mut session = Driven::start(&plan(server.target()), gets(4));
        wait_for_errors(&mut session, code, 20, 80);
        let past = session.finish();
        assert_eq!(past.errors().keys().collect::<Vec<_>>(), [code]);
        assert_exact(&past, code);
        assert_eq!(past.end.summary.first_errors[code], format!("{code} as a server says it"));
        assert_eq!(past.end.summary.misses, past.end.summary.ops);
    }
}

/// valkey-benchmark exits at the first of these.
#[test]
fn the_errors_of_real_servers_are_counted_and_the_run_goes_on() {
    let mut master = Server::redis().start();
    let port = master.port_text();
    for (code, replica) in [("READONLY", Server::redis()), ("MASTERDOWN", Server::valkey())] {
        let server = replica.with_args(&["--replica-serve-stale-data", "no"]).start();
        let mut session = Driven::start(
            &plan(at_port(server.port())),
            Knobs { workload: Workload::ratio(1, 1), ..gets(5) },
        );
        session.wait_for_work(1, 5, 100);
        server.cli(&["REPLICAOF", "127.0.0.1", &port]);
        if code == "MASTERDOWN" {
            master.kill();
        }
        wait_for_errors(&mut session, code, 100, 100);
        server.cli(&["REPLICAOF", "NO", "ONE"]);
        let before = session.wait_for("good replies", |records| {
            Some(intervals(records).map(|interval| interval.ops).sum::<u64>())
        });
        wait_for_errors(&mut session, code, 100, before + 5000);
        let past = session.finish();
        assert_eq!(past.ops()["SET"], server.calls(&[], "set"), "{code}");
        assert_eq!(past.end.summary.service.count(), past.end.summary.ops);
    }
    let server = Server::redis().with_args(&["--busy-reply-threshold", "1"]).start();
    let mut session = Driven::start(&plan(at_port(server.port())), gets(5));
    session.wait_for_work(1, 5, 100);
    std::thread::scope(|scope| {
        let script = scope.spawn(|| server.cli(&["EVAL", "while true do end", "0"]));
        wait_for_errors(&mut session, "BUSY", 100, 100);
        wait_for("the script's end", || (server.cli(&["SCRIPT", "KILL"]) == "OK").then_some(()));
        script.join().unwrap();
    });
    let past = session.finish();
    assert_eq!(past.errors().keys().collect::<Vec<_>>(), ["BUSY"]);
    assert_eq!(past.ops()["GET"], server.calls(&[], "get"));
}

/// A server that invents error codes must not grow memory, and none of its errors may be lost.
#[test]
fn a_server_that_invents_errors_has_the_first_kinds_distinguished_and_the_others_counted() {
    let server = Crowd::start(|peer, connection| {
        for n in 0.. {
            match peer.command() {
                None => return,
                Some(command) if command.starts_with("GET") => peer.say(&format!("-E{connection}X{n} x\r\n")),
                Some(_) => peer.say("+OK\r\n"),
            }
        }
    });
    let mut session = Driven::start(&plan(server.target()), gets(3));
    wait_for_errors(&mut session, "other", 3000, 0);
    let past = session.finish();
    assert_exact(&past, "invented codes");
    assert_eq!(past.errors().len(), MAX_KINDS + 1);
    assert!(past.end.summary.first_errors.len() <= MAX_KINDS + 1);
    assert!(shown(&past.records).len() < 2 * MAX_KINDS + 10);
}

/// A pair of events however many connections, each loss counted, and the time of the outage beside the latencies.
#[test]
fn a_killed_and_restarted_server_is_one_outage_with_its_length_and_its_connections() {
    let mut server = Server::redis().start();
    let plan = LoadPlan { threads: 2, ..plan(at_port(server.port())) };
    let mut session = Driven::start(&plan, gets(50));
    session.wait_for_work(1, 50, 1000);
    server.kill();
    session.wait_for("two ticks without a connection", |records| {
        (intervals(records).filter(|interval| interval.outage_s > 0.2).count() >= 2).then_some(())
    });
    server.restart();
    session.wait_for("load back", |records| {
        shown(records).iter().any(|event| event.what.name() == "load back").then_some(())
    });
    session.wait_for("work without an outage", |records| {
        let last = intervals(records).last()?;
        (last.ops > 0 && last.outage_s == 0.0 && last.clients == 50).then_some(())
    });
    let past = session.finish();
    let loads: Vec<_> =
        shown(&past.records).into_iter().filter(|event| event.what.name().starts_with("load ")).collect();
    let [lost, back] = loads[..] else { panic!("one pair: {loads:?}") };
    assert!(lost.what.to_string().starts_with("50 of 50 connections: "), "{lost:?}");
    assert!(back.what.to_string().starts_with("50 connections after "), "{back:?}");
    let outage_s = past.end.summary.outage_s;
    let total_s: f64 = past.intervals().map(|interval| interval.outage_s).sum();
    assert!((outage_s - total_s).abs() < 1e-6);
    // All connections are lost a moment after the first, and the first is back a moment before the last.
    assert!(outage_s > 0.4 && outage_s <= back.t_s - lost.t_s, "{outage_s} {lost:?} {back:?}");
    // In a tick that was an outage from end to end nothing was measured.
    let during: Vec<_> = past
        .intervals()
        .filter(|interval| interval.length_s > 0.0 && interval.outage_s >= interval.length_s - 1e-6)
        .map(|interval| (interval.t_s, interval.length_s, interval.outage_s, interval.ops))
        .collect();
    assert!(!during.is_empty() && during.iter().all(|(.., ops)| *ops == 0), "{during:?}");
    let pings = shown(&past.records).iter().filter(|event| event.what.name() == "ping lost").count();
    assert_eq!(pings, 1, "{:?}", shown(&past.records));
    assert_exact(&past, "restart");
}

/// Ends with the reply that it has begun, says half of one, or nothing: counts stay exact.
#[test]
fn broken_servers_are_counted_by_kind_and_the_run_goes_on() {
    type Answer = fn(&mut crate::scripted::Peer, usize) -> bool;
    let cases: [(&str, &str, Answer); 5] = [
        ("closes after each reply", "", |peer, _| {
            peer.say("$-1\r\n");
            false
        }),
        ("closes without a reply", "reset", |_, _| false),
        ("answers garbage", "protocol", |peer, n| {
            peer.say(if n % 10 == 9 { "HTTP/1.1 400 Bad Request\r\n\r\n" } else { "$-1\r\n" });
            true
        }),
        ("begins a reply and goes silent", "timeout", |peer, n| {
            peer.say(if n % 10 == 9 { "$100\r\nhalf" } else { "$-1\r\n" });
            true
        }),
        ("answers twice", "protocol", |peer, n| {
            peer.say(if n % 10 == 9 { "$-1\r\n$-1\r\n" } else { "$-1\r\n" });
            true
        }),
    ];
    for (what, kind, answer) in cases {
        let server = Crowd::start(move |peer, _| {
            let mut n = 0;
            while let Some(command) = peer.command() {
                if !command.starts_with("GET") {
                    peer.say("+OK\r\n");
                    continue;
                }
                if !answer(peer, n) {
                    return;
                }
                n += 1;
            }
        });
        // Short only where it is waited for: a busy machine may take longer for an answer.
        let timeout = Duration::from_millis(if kind == "timeout" { 300 } else { 30_000 });
        let plan = LoadPlan { timeout, ..plan(server.target()) };
        let mut session = Driven::start(&plan, gets(4));
        session.wait_for(what, |records| {
            let count =
                |kind: &str| intervals(records).filter_map(|i| i.connections_lost.get(kind)).sum::<u64>();
            let enough = kind.is_empty() || count(kind) >= 12;
            let good: u64 = intervals(records).map(|interval| interval.ops).sum();
            (enough && (good >= 20 || kind == "reset")).then_some(())
        });
        let past = session.finish();
        assert_exact(&past, what);
        let errors = past.errors();
        let expected = ["reset", kind];
        assert!(errors.keys().all(|kind| expected.contains(&kind.as_str())), "{what}: {errors:?}");
        let names: Vec<_> =
            shown(&past.records).into_iter().filter(|event| event.what.name() == "load lost").collect();
        let length_s = past.end.t_s;
        assert!(names.len() as f64 <= length_s + 10.0, "{what}: {} events in {length_s} s", names.len());
    }
}

/// The connect succeeds, and nothing ever comes: no client is working, and nothing is a latency.
#[test]
fn a_server_that_accepts_and_never_answers_is_timeouts_and_an_outage() {
    let server = Crowd::start(|peer, _| while peer.command().is_some() {});
    let plan = LoadPlan { timeout: Duration::from_millis(300), ..plan(server.target()) };
    let mut session = Driven::start(&plan, gets(8));
    session.wait_for("attempts that failed", |records| {
        let failed: u64 = intervals(records).filter_map(|i| i.connects_failed.get("timeout")).sum();
        (failed >= 16).then_some(())
    });
    let past = session.finish();
    assert_eq!(past.errors(), BTreeMap::new(), "no request was sent");
    assert_eq!(past.end.summary.connects_failed.keys().collect::<Vec<_>>(), ["timeout"]);
    assert_eq!((past.end.summary.ops, past.end.summary.service.count()), (0, 0));
    assert!(past.end.summary.outage_s > 0.0);
}

/// Three seconds, within the timeout: late replies and no errors, and the connections stand.
#[test]
fn a_server_that_is_stopped_for_three_seconds_loses_nothing() {
    let server = Server::redis().start();
    let mut session = Driven::start(&plan(at_port(server.port())), gets(20));
    session.wait_for_work(1, 20, 1000);
    let ids = server.load_ids();
    let now = session.wait_for("the time", |records| Some(intervals(records).last()?.t_s));
    server.pause();
    session.wait_for("three seconds", |records| (intervals(records).last()?.t_s > now + 3.2).then_some(()));
    server.resume();
    session.wait_for("work", |records| (intervals(records).last()?.ops > 0).then_some(()));
    assert_eq!(server.load_ids(), ids);
    let past = session.finish();
    assert_eq!((past.errors(), past.end.summary.outage_s), (BTreeMap::new(), 0.0));
    assert!(past.end.summary.service.max_ns() >= 2_900_000_000);
    assert_exact(&past, "SIGSTOP");
    assert_eq!(past.ops()["GET"], server.calls(&[], "get"));
}

/// A server with the user `ann`, who may do everything for now.
fn with_ann() -> Server {
    Server::redis().with_args(&["--user", "ann", "on", ">pw", "~*", "&*", "+@all"]).start()
}

fn as_ann(server: &Server, more: &[&str]) -> Running {
    let port = server.port_text();
    let args = ["-p", &port, "--user", "ann", "-a", "pw", "--headless", "--json", "--load", "--rate", "1000"];
    let running = Running::start(redyno(&[&args, more].concat()));
    running.wait_for("good replies", |out| out.contains(r#""kind":"interval""#).then_some(()));
    running
}

fn assert_stopped(outcome: Outcome, kind: &str) {
    let outcome = outcome.expect_code(1);
    let records = outcome.records();
    let Some(Record::End(end)) = records.last() else { panic!("no end record: {outcome:?}") };
    let counts = [&end.summary.errors, &end.summary.connects_failed];
    assert!(
        counts.iter().any(|counts| counts.contains_key(kind)) && end.summary.ops > 0,
        "{:?}",
        end.summary
    );
    let events = records.iter().filter(|r| matches!(r, Record::Event(e) if e.what.name() == "load stopped"));
    assert_eq!(events.count(), 1);
    let lines: Vec<_> = outcome.err.lines().filter(|line| line.contains("refuses the load")).collect();
    let [line] = lines[..] else { panic!("one line: {}", outcome.err) };
    assert!(line.starts_with("redyno: the server refuses the load ('") && line.contains(kind), "{line}");
    assert!(line.contains("; --keep-going counts such errors"), "{line}");
    assert!(!outcome.err.contains("pw"), "a password is shown: {}", outcome.err);
}

/// memtier goes on for ever on a server that refuses every request; redis-benchmark exits at every error alike.
#[test]
fn a_refusal_for_good_ends_the_run_with_its_reason() {
    let server = with_ann();
    let running = as_ann(&server, &[]);
    server.cli(&["ACL", "SETUSER", "ann", "-get"]);
    assert_stopped(running.end(), "NOPERM");

    let server = with_ann();
    let running = as_ann(&server, &[]);
    server.cli(&["ACL", "SETUSER", "ann", "resetpass", ">another"]);
    server.cli(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
    assert_stopped(running.end(), "WRONGPASS");

    let server = Server::redis().start();
    let port = server.port_text();
    let running = Running::start(redyno(&["-p", &port, "--headless", "--json", "--load", "--rate", "1000"]));
    running.wait_for("good replies", |out| out.contains(r#""kind":"interval""#).then_some(()));
    server.cli(&["CONFIG", "SET", "requirepass", "secret"]);
    server.cli(&["-a", "secret", "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
    assert_stopped(running.end(), "NOAUTH");
}

#[test]
fn a_refusal_for_good_is_counted_with_keep_going() {
    let server = with_ann();
    let running = as_ann(&server, &["--keep-going"]);
    server.cli(&["ACL", "SETUSER", "ann", "-get"]);
    running.wait_for_lines(3, r#""NOPERM":"#);
    server.cli(&["ACL", "SETUSER", "ann", "+get"]);
    let before = running.out().len();
    running.wait_for("good GETs again", |out| {
        let lines = out[before..].lines().filter(|line| line.contains(r#""kind":"interval""#));
        lines.into_iter().any(|line| line.ends_with('}') && line.contains(r#""errors":{},"#)).then_some(())
    });
    running.signal(rustix::process::Signal::INT);
    let outcome = running.end().expect_code(130);
    let records = outcome.records();
    let Some(Record::End(end)) = records.last() else { panic!("no end record") };
    assert_eq!(end.summary.errors.keys().collect::<Vec<_>>(), ["NOPERM"]);
}

/// A load that is refused from the first request on: the user was let in, and may not read.
#[test]
fn a_session_of_the_engine_alone_counts_refusals_as_any_error() {
    let server = with_ann();
    server.cli(&["ACL", "SETUSER", "ann", "-get"]);
    let credentials = Credentials { user: Some("ann".into()), password: Password::new("pw") };
    let target = Target { credentials: Some(credentials), ..at_port(server.port()) };
    let mut session = Driven::start(&plan(target), gets(5));
    wait_for_errors(&mut session, "NOPERM", 100, 0);
    let past = session.finish();
    assert_exact(&past, "NOPERM");
    assert_eq!(past.end.summary.ops, 0);
}

/// Its backlog is worked off as fast as the connections allow, which is not the client's doing either.
#[test]
fn a_server_that_was_stopped_is_called_slow_and_never_the_clients_limit() {
    let server = Server::redis().start();
    let port = server.port_text();
    let options = ["-p", &port, "--yes", "--rate", "2000", "--duration", "60"];
    let running = Running::start(redyno(&options));
    running.wait_for_lines(2, " | ");
    server.pause();
    running.wait_for_lines(1, "slow server: PING waited");
    server.resume();
    running.wait_for_lines(1, "slow server: no longer");
    running.signal(Signal::INT);
    let out = running.end().out;
    let stopped = out.split("slow server: ").nth(1).unwrap();
    assert!(!stopped.contains("client limit: thread load"), "{out}");
}
