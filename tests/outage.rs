//! What goes wrong on the other side is counted by kind and reported; the session goes on, and what was measured stays
//! true.

use std::{
    collections::BTreeMap,
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicU16, Ordering},
    },
    time::Duration,
};

use crate::support::{
    Server,
    program::{Running, redyno},
    session::{Driven, Past, at_port, events, intervals, plan},
};
use redyno::{
    demo,
    endpoint::{Address, Resolver, Target},
    knobs::Knobs,
    load::LoadPlan,
    session::Record,
    workload::Workload,
};
use rustix::process::Signal;

fn knobs(workload: Arc<Workload>) -> Knobs {
    Knobs { load: true, workload, keyspace: 1000, ..Knobs::default() }
}

/// Waits until `n` more stretches with a reply and all clients have come.
fn wait_for_more_work(session: &mut Driven, n: usize) {
    let working =
        |records: &[Arc<Record>]| intervals(records).filter(|i| i.clients == 50 && i.ops > 0).count();
    let before = session.wait_for("the intervals", |records| Some(working(records)));
    session.wait_for("replies again", |records| (working(records) >= before + n).then_some(()));
}

fn wait_for_event(session: &mut Driven, name: &str) {
    session.wait_for(name, |records| events(records).contains(&name).then_some(()));
}

#[test]
fn a_server_that_is_killed_and_started_again_is_an_outage_and_no_end() {
    for mut server in [Server::redis().start(), Server::valkey().start()] {
        let mut session = Driven::start(
            &LoadPlan { threads: 2, ..plan(at_port(server.port())) },
            knobs(Workload::ratio(1, 1)),
        );
        session.wait_for_work(1, 50, 1000);
        server.kill();
        wait_for_event(&mut session, "load lost");
        wait_for_event(&mut session, "ping lost");
        session.wait_for("refused attempts", |records| {
            intervals(records).any(|i| i.connects_failed.contains_key("refused")).then_some(())
        });
        server.restart();
        wait_for_event(&mut session, "load back");
        wait_for_event(&mut session, "ping back");
        wait_for_more_work(&mut session, 2);
        let past = session.finish();
        let summary = &past.end.summary;
        // None where all were answered before the end was seen.
        let lost = summary.errors.get("reset").copied().unwrap_or(0);
        assert!(lost <= 50, "a connection has one request in flight: {lost}");
        assert!(summary.errors.keys().all(|kind| kind == "reset"), "{:?}", summary.errors);
        assert_eq!(summary.connections_lost, [("reset".to_owned(), 50)].into());
        // An attempt to connect can be reset too, while the dying server still listens.
        let failed = &summary.connects_failed;
        assert!(
            failed["refused"] > 0 && failed.keys().all(|kind| kind == "refused" || kind == "reset"),
            "{failed:?}"
        );
        assert_eq!(summary.errors, past.errors());
        assert_eq!(summary.first_errors.keys().collect::<Vec<_>>(), ["refused", "reset"]);
        assert!(!events(&past.records).contains(&"worker died"));
    }
}

/// Both servers are there all the time: who believes its first lookup goes on connecting to the old one.
#[test]
fn a_name_that_leads_elsewhere_after_a_loss_is_followed() {
    let [old, new] = [Server::redis().start(), Server::redis().start()];
    let port = Arc::new(AtomicU16::new(old.port()));
    let asked = Arc::clone(&port);
    let resolver = Resolver::new(move |_, _| {
        Ok(vec![SocketAddr::from((Ipv4Addr::LOCALHOST, asked.load(Ordering::SeqCst)))])
    });
    let address = Address::Tcp { host: "a.name".to_owned(), port: 1 };
    let target = Target { address, resolver, ..Target::default() };
    let mut session = Driven::start(&LoadPlan { threads: 2, ..plan(target) }, knobs(Workload::ratio(1, 1)));
    session.wait_for_work(1, 50, 1000);
    // What was looked up a moment ago is not looked up again.
    session.wait_for("half a second", |records| intervals(records).any(|i| i.t_s > 0.5).then_some(()));
    assert_eq!(new.load_ids().len(), 0);
    port.store(new.port(), Ordering::SeqCst);
    old.cli(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
    session.wait_for("the clients at the new server", |_| (new.load_ids().len() == 50).then_some(()));
    wait_for_more_work(&mut session, 2);
    let past = session.finish();
    assert_eq!(past.end.summary.connects_failed, BTreeMap::new());
    assert_eq!(past.end.summary.connections_lost, [("reset".to_owned(), 50)].into());
    let served = |command: &str| old.calls(&[], command) + new.calls(&[], command);
    let counted = past.ops();
    let lost: u64 = past.errors().values().sum();
    for (command, name) in [("GET", "get"), ("SET", "set")] {
        assert!((counted[command]..=counted[command] + lost).contains(&served(name)), "{name}");
    }
}

#[test]
fn a_server_that_hangs_for_a_second_is_no_error_and_its_stall_is_in_the_maxima() {
    let server = Server::redis().start();
    let mut session = Driven::start(&plan(at_port(server.port())), knobs(Workload::ratio(1, 1)));
    session.wait_for_work(1, 50, 1000);
    server.pause();
    session.wait_for("a request that has waited for a second, while it waits", |records| {
        intervals(records).any(|interval| interval.waiting_us >= 1_000_000).then_some(())
    });
    server.resume();
    wait_for_more_work(&mut session, 2);
    let past = session.finish();
    assert_eq!(past.errors(), BTreeMap::new());
    let waits = intervals(&past.records).map(|interval| interval.waiting_us).filter(|us| *us > 250_000);
    assert!(waits.collect::<Vec<_>>().is_sorted(), "it grows, and is none when the reply is there");
    let second_ns = 1_000_000_000;
    assert!(past.end.summary.service.max_ns() >= second_ns);
    let pings = past.records.iter().filter_map(|record| match &**record {
        Record::Ping(ping) => Some(&ping.body.rtt),
        _ => None,
    });
    let rtt = redyno::stats::Latency::merged(pings);
    let late: u64 = rtt.cells().filter(|(ns, _)| *ns > second_ns / 10).map(|(_, n)| n).sum();
    assert!(rtt.max_ns() >= second_ns);
    assert!(late >= 85, "a second without an answer is about ninety late PINGs and not one: {late}");
    assert_eq!(past.ops()["SET"], server.calls(&[], "set"));
    assert_eq!(past.ops()["GET"], server.calls(&[], "get"));
}

#[test]
fn errors_of_a_real_server_are_counted_as_it_counts_them() {
    for server in [Server::redis().start(), Server::valkey().start()] {
        let mut session = Driven::start(&plan(at_port(server.port())), knobs(Workload::ratio(1, 1)));
        session.wait_for_work(1, 50, 1000);
        server.cli(&["CONFIG", "SET", "maxmemory", "1"]);
        session.wait_for("OOM", |records| {
            intervals(records).any(|i| i.errors.get("OOM").is_some_and(|n| *n > 1000)).then_some(())
        });
        let past = session.finish();
        let stats = server.cli(&["INFO", "commandstats"]);
        let set = stats.lines().find(|line| line.starts_with("cmdstat_set:")).unwrap();
        assert!(set.contains(&format!(",rejected_calls={},", past.errors()["OOM"])), "{set}");
        assert_eq!(past.errors().len(), 1);
        assert_eq!(past.ops()["SET"], server.calls(&[], "set"));
        assert_eq!(past.ops()["GET"], server.calls(&[], "get"));
        assert!(past.end.summary.first_errors["OOM"].starts_with("OOM command not allowed"));
    }
}

/// A session of GETs alone against the built-in server with this fault, until `kind` has come ten times.
fn with_fault(fault: &str, kind: &str) -> Past {
    let options = demo::Options { faults: vec![fault.parse().unwrap()], ..demo::Options::default() };
    let server = demo::start(options).unwrap();
    // Short only where it is waited for: a busy machine may take longer for an answer.
    let timeout = Duration::from_millis(if kind == "timeout" { 300 } else { 30_000 });
    let plan = LoadPlan { timeout, ..plan(at_port(server.address.port())) };
    let knobs = Knobs { clients: 10, pipeline: 4, ..knobs(Workload::ratio(0, 1)) };
    let mut session = Driven::start(&plan, knobs);
    session.wait_for(&format!("{kind} by '{fault}'"), |records| {
        let n: u64 = intervals(records).filter_map(|interval| interval.errors.get(kind)).sum();
        (n >= 10 && intervals(records).map(|interval| interval.ops).sum::<u64>() > 1000).then_some(())
    });
    let past = session.finish();
    server.stop().unwrap();
    past
}

#[test]
fn every_request_that_was_sent_is_an_operation_or_an_error_of_its_kind() {
    let request = "*2\r\n$3\r\nGET\r\n$19\r\nredyno:000000000000\r\n".len() as u64;
    for (fault, kind) in [
        ("error LOADING 2%", "LOADING"),
        ("error MISCONF every 300", "MISCONF"),
        ("garbage on GET every 500", "protocol"),
        ("reset on GET every 500", "reset"),
        ("cut close on GET every 500", "reset"),
        ("cut on GET every 2000", "timeout"),
    ] {
        let past = with_fault(fault, kind);
        let errors = past.errors();
        assert_eq!(errors.keys().collect::<Vec<_>>(), [kind], "{fault}");
        let sent: u64 = past.intervals().map(|interval| interval.bytes_out).sum();
        assert_eq!(past.end.summary.ops + errors[kind], sent / request, "{fault}: {errors:?}");
        assert_eq!(sent % request, 0, "{fault}: a request was written in part");
        assert_eq!(past.end.summary.service.count(), past.end.summary.ops, "{fault}");
        assert_eq!(past.end.summary.hits + past.end.summary.misses, past.end.summary.ops, "{fault}");
        assert_eq!(past.end.summary.first_errors.keys().collect::<Vec<_>>(), [kind], "{fault}");
        let shown = &past.end.summary.first_errors[kind];
        assert!(
            !shown.is_empty() && (kind.chars().any(char::is_lowercase) || shown.starts_with(kind)),
            "{shown}"
        );
    }
}

#[test]
fn the_program_goes_on_through_a_restart_and_says_when_it_was() {
    let mut server = Server::redis().start();
    let port = server.port_text();
    let running = Running::start(redyno(&["-p", &port, "--headless", "--json", "--load", "--rate", "1000"]));
    running.wait_for_lines(1, r#""kind":"interval""#);
    server.kill();
    running.wait_for_lines(1, r#""name":"load lost""#);
    running.wait_for_lines(1, r#""name":"unreachable""#);
    server.restart();
    running.wait_for_lines(1, r#""name":"load back""#);
    running.wait_for_lines(1, r#""name":"reachable""#);
    let before = running.wait_for("intervals", |out| Some(out.matches(r#""kind":"interval""#).count()));
    running.wait_for_lines(before + 2, r#""kind":"interval""#);
    running.signal(Signal::INT);
    let outcome = running.end().expect_code(130);
    assert!(!outcome.err.contains("panicked"), "{}", outcome.err);
    let records = outcome.records();
    let Some(Record::End(end)) = records.last() else { panic!("no end record") };
    assert!(end.summary.connects_failed.contains_key("refused"), "{:?}", end.summary.connects_failed);
    assert_eq!(server.cli(&["DBSIZE"]), "0", "the keys of the second life are removed too");
}

#[test]
fn a_server_that_hangs_at_the_end_does_not_hold_the_session() {
    let server = Server::redis().start();
    let port = server.port_text();
    let running = Running::start(redyno(&["-p", &port, "--headless", "--json", "--load"]));
    running.wait_for_lines(1, r#""kind":"interval""#);
    server.pause();
    running.signal(Signal::INT);
    let outcome = running.end().expect_code(130);
    let records = outcome.records();
    let Some(Record::End(end)) = records.last() else { panic!("no end record") };
    assert_eq!(end.summary.errors, BTreeMap::from([("unanswered".to_owned(), 50)]));
    assert!(outcome.err.contains("may be left on the server"), "{}", outcome.err);
    assert!(outcome.err.contains("`redyno clean -h 127.0.0.1 -p "), "{}", outcome.err);
    assert!(outcome.err.contains("` removes them"), "{}", outcome.err);
}
