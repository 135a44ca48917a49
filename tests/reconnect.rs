//! Connections that are not kept: as many as the server counts, timed beside the operations, and no loss.

use crate::support::{
    Server,
    certificates::TlsServer,
    program::run,
    session::{Driven, Past, at_port, events, intervals, plan},
};
use redyno::{
    knobs::Knobs,
    load::{LoadPlan, RequestLimit},
    session::Record,
    workload::Workload,
};

fn gets(clients: u32, reconnect: u32) -> Knobs {
    let workload = Workload::ratio(0, 1);
    Knobs { load: true, clients, reconnect: Some(reconnect), workload, keyspace: 1000, ..Knobs::default() }
}

/// How many connections the server has accepted.
fn accepted(server: &Server) -> u64 {
    let stats = server.cli(&["INFO", "stats"]);
    let line = stats.lines().find_map(|line| line.strip_prefix("total_connections_received:"));
    line.unwrap().trim().parse().unwrap()
}

/// Nothing was lost, nothing failed, nobody waited.
fn assert_nothing_was_lost(past: &Past) {
    let summary = &past.end.summary;
    assert_eq!((past.errors(), &summary.connections_lost), ([].into(), &[].into()));
    assert_eq!((&summary.connects_failed, summary.outage_s), (&[].into(), 0.0));
    assert_eq!((summary.shed, summary.unsent), (0, 0));
    assert_eq!(events(&past.records), [""; 0]);
}

#[test]
fn a_client_makes_a_new_connection_after_so_many_replies_and_never_cuts_a_batch() {
    for (pipeline, requests, connections) in [(1, 1000, 100), (16, 1600, 100), (3, 1200, 100)] {
        let server = Server::redis().start();
        let plan =
            LoadPlan { requests: Some(RequestLimit::Shared(requests)), ..plan(at_port(server.port())) };
        let before = accepted(&server);
        let mut session = Driven::start(&plan, Knobs { pipeline, ..gets(1, 10) });
        session.wait_for_the_end();
        let past = session.finish();
        assert_nothing_was_lost(&past);
        let opening = &past.end.summary.opening;
        assert_eq!((past.end.summary.ops, opening.greeting.count()), (requests, connections));
        assert_eq!(opening.connect.count(), connections);
        // The ping's, and that of the question.
        assert_eq!(accepted(&server) - before, connections + 2);
        assert_eq!(server.calls(&[], "get"), requests);
    }
}

#[test]
fn many_clients_that_reconnect_lose_no_request_and_wait_for_nothing() {
    let server = Server::valkey().start();
    for rate in [None, Some(3000)] {
        let plan = LoadPlan {
            threads: 2,
            requests: Some(RequestLimit::Shared(5000)),
            ..plan(at_port(server.port()))
        };
        let asked = server.calls(&[], "get");
        let mut session = Driven::start(&plan, Knobs { rate, ..gets(20, 1) });
        session.wait_for_the_end();
        let past = session.finish();
        assert_nothing_was_lost(&past);
        assert_eq!((past.end.summary.ops, server.calls(&[], "get") - asked), (5000, 5000));
        // What the last ones to end had made for more is not used.
        let opened = past.end.summary.opening.greeting.count();
        assert!((5000..=5020).contains(&opened), "{opened}");
    }
}

/// With one client there is no other connection meanwhile.
#[test]
fn what_comes_due_between_two_connections_waits_and_is_no_error() {
    let server = Server::redis().start();
    let plan = LoadPlan { requests: Some(RequestLimit::Shared(500)), ..plan(at_port(server.port())) };
    let mut session = Driven::start(&plan, Knobs { rate: Some(50_000), ..gets(1, 1) });
    session.wait_for_the_end();
    let past = session.finish();
    assert_nothing_was_lost(&past);
    assert_eq!((past.end.summary.due, past.end.summary.ops), (500, 500));
}

#[test]
fn handshake_and_password_are_part_of_every_connection() {
    let (authority, server) = TlsServer::usual(&["--requirepass", "pw"]);
    let port = server.port_text();
    let ca = authority.file("ca.pem");
    let args = ["-h", "localhost", "-p", &port, "--tls", "--cacert", &ca, "-a", "pw", "--yes", "--headless"];
    let load = ["--json", "--reconnect", "5", "-c", "1", "-n", "200", "--ratio", "0:1"];
    let mut records = run(&[&args[..], &load].concat()).expect_code(0).records();
    let Some(Record::End(end)) = records.pop() else { panic!("no end") };
    let opening = &end.summary.opening;
    let counts = opening.stages().map(|(_, took)| took.count());
    assert_eq!((end.summary.ops, counts), (200, [40; 3]));
    assert!(end.summary.errors.is_empty(), "{:?}", end.summary);
    let asked = records.iter().filter_map(|record| match record {
        Record::Interval(interval) => interval.requests.get("AUTH").or(interval.requests.get("HELLO")),
        _ => None,
    });
    assert_eq!(asked.sum::<u64>(), 40);
}

#[test]
fn it_is_turned_while_the_load_runs() {
    let server = Server::redis().start();
    let mut session = Driven::start(&plan(at_port(server.port())), Knobs { reconnect: None, ..gets(4, 1) });
    session.wait_for_work(1, 4, 100);
    let often = session.turn(|knobs| knobs.reconnect = Some(2));
    session.wait_for_work(often, 4, 1000);
    let never = session.turn(|knobs| knobs.reconnect = None);
    session.wait_for_work(never, 4, 100);
    let connected = server.load_ids();
    session.wait_for_work(never, 4, 1000);
    assert_eq!((server.load_ids(), connected.len()), (connected, 4));
    let past = session.finish();
    assert_nothing_was_lost(&past);
    let opened = |segment| past.segment(segment).opening.greeting.count();
    let (first, second) = (opened(1), past.segment(often));
    assert_eq!(first, 4);
    assert!(opened(often) >= second.ops / 3, "{} for {}", opened(often), second.ops);
    assert!(opened(never) <= 4);
}

#[test]
fn a_server_that_goes_is_still_an_outage_and_comes_back() {
    let mut server = Server::redis().start();
    let mut session = Driven::start(&plan(at_port(server.port())), gets(4, 3));
    session.wait_for_work(1, 4, 100);
    server.kill();
    session.wait_for("refusals", |records| {
        intervals(records)
            .any(|i| i.connects_failed.contains_key("refused") && i.outage_s > 0.0)
            .then_some(())
    });
    server.restart();
    let answered = |records: &[_]| intervals(records).map(|i| i.ops).sum::<u64>();
    let before = session.wait_for("a count", |records| Some(answered(records)));
    session.wait_for("new replies", |records| (answered(records) > before + 100).then_some(()));
    let past = session.finish();
    assert!(events(&past.records).contains(&"load lost"), "{:?}", events(&past.records));
    assert!(past.end.summary.outage_s > 0.0);
}

#[test]
fn the_lines_say_how_many_connections_opened_and_how_long_that_took() {
    let server = Server::redis().start();
    let port = server.port_text();
    let args = ["-p", &port, "--headless", "--yes", "--reconnect", "1", "-c", "1", "-n", "400"];
    let shown = run(&args).expect_code(0).out;
    for part in [
        "10 k keys, reconnect 1\n",
        "| opened/s conn p50 conn p99  tls p50  tls p99 greet p50 greet p99 |",
        "  opened    400 connections, ",
        "  connect   p50 ",
        "  greeting  p50 ",
    ] {
        assert!(shown.contains(part), "{part}:\n{shown}");
    }
    assert!(!shown.contains("  handshake "), "{shown}");
    let refused = run(&["-p", &port, "--reconnect", "0"]).expect_code(2).err;
    assert!(refused.ends_with("'--reconnect <N>': it must be between 1 and 4294967295\n"), "{refused}");
}
