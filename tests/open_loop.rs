//! The open loop: requests are due whatever the server does, and each of them is accounted for.

use std::{collections::BTreeMap, time::Duration};

use crate::support::{
    Server,
    program::{Outcome, Running, redyno, run},
    session::{Driven, Past, at_port, intervals, plan},
};
use redyno::{
    demo,
    knobs::{Arrivals, Backlog, Knobs},
    load::LoadPlan,
    session::{Record, Summary},
    stats::Latency,
    workload::Workload,
};

fn open(rate: u32) -> Knobs {
    Knobs {
        load: true,
        rate: Some(rate),
        workload: Workload::ratio(0, 1),
        keyspace: 1000,
        ..Knobs::default()
    }
}

fn summary(outcome: &Outcome) -> Summary {
    match outcome.records().pop() {
        Some(Record::End(end)) => end.summary,
        last => panic!("no end record but {last:?}"),
    }
}

/// How many took longer than `ns`.
fn longer_than(latency: &Latency, ns: u64) -> u64 {
    latency.cells().filter(|(value, _)| *value > ns).map(|(_, n)| n).sum::<u64>() + latency.over_range()
}

/// Every request that was due has one end, and what was due is what the rate says.
fn assert_accounted(past: &Past, rate: f64) {
    let due = past.end.summary.due as f64;
    let expected = rate * past.end.summary.length_s;
    // The ends of the load lie between two requests.
    assert!((due - expected).abs() <= 1.0, "{due} and not {expected}");
}

/// memtier_benchmark and wrk stop asking while the server stands still (coordinated omission): one slow request a
/// connection is all that they see.
#[test]
fn a_stall_shows_in_every_response_time_that_it_made_late() {
    const STALL_NS: u64 = 1_000_000_000;
    let server = demo::start(demo::Options {
        faults: vec!["stall 1s after 1s".parse().unwrap()],
        ..demo::Options::default()
    })
    .unwrap();
    let mut session = Driven::start(&plan(at_port(server.address.port())), open(1000));
    session.wait_for("the stall, and that it is made up for", |records| {
        let mut after = intervals(records).skip_while(|interval| interval.behind_us < 700_000);
        let is_over = after.any(|interval| interval.behind_us < 20_000);
        is_over.then_some(())
    });
    let past = session.finish();
    server.stop().unwrap();
    let summary = &past.end.summary;
    assert_eq!((summary.shed, summary.errors.len()), (0, 0), "the stall costs no request");
    // A thousand were due in the stall, one a millisecond: nine tenths of them waited a tenth of it or longer. Those
    // that were written into it are at most one a connection.
    assert!(longer_than(summary.response.as_ref().unwrap(), STALL_NS / 10) >= 890);
    assert!((1..=150).contains(&longer_than(&summary.service, STALL_NS / 10)), "{:?}", summary.service);
    assert!(summary.response.as_ref().unwrap().max_ns() >= STALL_NS * 9 / 10);
    assert_accounted(&past, 1000.0);
}

#[test]
fn what_is_shed_is_counted_and_the_others_are_not_late() {
    let server = demo::start(demo::Options {
        faults: vec!["stall 1s after 1s".parse().unwrap()],
        ..demo::Options::default()
    })
    .unwrap();
    let knobs = Knobs { backlog: Backlog::Shed, clients: 5, ..open(1000) };
    let mut session = Driven::start(&plan(at_port(server.address.port())), knobs);
    session.wait_for("requests that are shed, and replies after them", |records| {
        let mut shed = 0;
        intervals(records).find_map(|interval| {
            shed += interval.shed;
            (shed >= 900 && interval.shed == 0 && interval.ops > 100).then_some(())
        })
    });
    let past = session.finish();
    server.stop().unwrap();
    // Only what was written into the stall waited long.
    let late = longer_than(past.end.summary.response.as_ref().unwrap(), 500_000_000);
    assert!((1..=5).contains(&late), "{late}");
    assert_accounted(&past, 1000.0);
}

/// rpc-perf and others leave the time in their own queue out.
#[test]
fn waiting_for_a_free_connection_is_in_the_response_time() {
    let server = demo::start(demo::Options {
        faults: vec!["delay GET 20ms".parse().unwrap()],
        ..demo::Options::default()
    })
    .unwrap();
    // One connection answers 50 a second; twice as many are due.
    let knobs = Knobs { clients: 1, ..open(100) };
    let mut session = Driven::start(&plan(at_port(server.address.port())), knobs);
    session.wait_for("a backlog", |records| {
        intervals(records).any(|interval| interval.behind_us > 400_000).then_some(())
    });
    let past = session.finish();
    server.stop().unwrap();
    let response = past.end.summary.response.as_ref().unwrap();
    assert!(response.max_ns() > 400_000_000);
    assert!(
        longer_than(response, 2 * past.end.summary.service.value_at_quantile(0.5)) > response.count() / 2
    );
    assert_accounted(&past, 100.0);
    let summary = &past.end.summary;
    assert!(
        summary.unsent > 20 && summary.shed == 0,
        "what was due at the end and not sent is shown: {summary:?}"
    );
}

#[test]
fn a_batch_never_waits_to_be_full() {
    let server = Server::redis().start();
    let knobs = Knobs { clients: 1, pipeline: 100, ..open(50) };
    let mut session = Driven::start(&plan(at_port(server.port())), knobs);
    let ops = session.wait_for("replies", |records| {
        let ops: u64 = intervals(records).map(|interval| interval.ops).sum();
        (ops > 20).then_some(ops)
    });
    assert!(ops < 100, "a batch of 100 is due after two seconds, {ops} were answered before");
    session.finish();
}

#[test]
fn poisson_arrivals_are_sent_and_answered_like_any_other() {
    let server = Server::redis().start();
    let knobs = Knobs { arrivals: Arrivals::Poisson, ..open(5000) };
    let mut session = Driven::start(&LoadPlan { threads: 2, ..plan(at_port(server.port())) }, knobs);
    session.wait_for_work(1, 50, 5000);
    let past = session.finish();
    let summary = &past.end.summary;
    assert_eq!(server.calls(&[], "get"), summary.ops);
    assert_eq!(summary.response.as_ref().unwrap().count(), summary.ops);
    // Five standard deviations of a Poisson count either way.
    let (due, expected) = (past.end.summary.due as f64, 5000.0 * summary.length_s);
    assert!((due - expected).abs() < 5.0 * expected.sqrt(), "{due} and not {expected}");
}

#[test]
fn turning_the_rate_counts_what_the_old_one_owed_in_its_own_segment() {
    let server = Server::redis().start();
    let mut session = Driven::start(&plan(at_port(server.port())), open(1000));
    session.wait_for_work(1, 50, 100);
    server.pause();
    session.wait_for("a backlog", |records| {
        intervals(records).any(|interval| interval.behind_us > 300_000).then_some(())
    });
    let slower = session.turn(|knobs| knobs.rate = Some(100));
    server.resume();
    session.wait_for_work(slower, 50, 20);
    let past = session.finish();
    let first = past.segment(1);
    assert!(first.shed > 200, "{}", first.shed);
    let second = past.segment(slower);
    for (segment, rate) in [(first, 1000.0), (second, 100.0)] {
        let expected = rate * segment.length_s;
        assert!((segment.due as f64 - expected).abs() <= 1.0, "{} and not {expected}", segment.due);
    }
}

#[test]
fn requests_that_come_due_without_a_connection_fail_as_it_did() {
    let mut server = Server::redis().start();
    let mut session = Driven::start(&plan(at_port(server.port())), open(1000));
    session.wait_for_work(1, 50, 100);
    server.kill();
    session.wait_for("failures", |records| {
        let refused: u64 = intervals(records).filter_map(|interval| interval.errors.get("refused")).sum();
        (refused > 300).then_some(())
    });
    server.restart();
    let seen = session.wait_for("an interval", |records| Some(intervals(records).count()));
    session.wait_for("replies again", |records| {
        intervals(records).skip(seen).any(|interval| interval.ops > 200).then_some(())
    });
    let past = session.finish();
    assert_accounted(&past, 1000.0);
    let summary = &past.end.summary;
    assert!(summary.connections_lost.values().sum::<u64>() >= 50, "{:?}", summary.connections_lost);
    assert!(summary.connects_failed["refused"] > 0, "{:?}", summary.connects_failed);
}

#[test]
fn exactly_as_many_requests_as_asked_for_are_sent() {
    let server = Server::redis().start();
    let port = server.port_text();
    for (n, options) in [
        ("1", &["-P", "16"][..]),
        ("1003", &["-P", "16", "--threads", "3"]),
        ("2k", &["-c", "7", "--threads", "2"]),
        ("501", &["--rate", "5k", "--arrivals", "poisson", "--threads", "2", "-P", "4"]),
    ] {
        server.cli(&["CONFIG", "RESETSTAT"]);
        let asked = if n == "2k" { 2000 } else { n.parse::<u64>().unwrap() };
        let args = [&["-p", &port, "-n", n, "--ratio", "1:1", "--headless", "--json"], options].concat();
        let outcome = run(&args).expect_code(0);
        assert_eq!(summary(&outcome).ops, asked, "{args:?}");
        assert_eq!(server.calls(&[], "get") + server.calls(&[], "set"), asked, "{args:?}");
    }
}

#[test]
fn the_warm_up_does_not_count_against_the_number_of_requests() {
    let server = Server::redis().start();
    let args =
        ["-p", &server.port_text(), "-n", "1000", "--warmup", "0.5", "--headless", "--json", "-c", "5"];
    let outcome = run(&args).expect_code(0);
    assert_eq!(summary(&outcome).ops, 1000);
    let sent = server.calls(&[], "get") + server.calls(&[], "set");
    assert!(sent > 1000, "{sent}");
}

/// What is due at the border and not sent yet counts for the warm-up, and so does not count against the number either.
#[test]
fn nor_do_requests_of_the_warm_up_that_are_sent_behind_its_end() {
    let server = Server::redis().start();
    let port = server.port_text();
    // More than one client can send: some always wait to be sent.
    let args = ["-p", &port, "-n", "1000", "--warmup", "0.3", "--rate", "100k", "-c", "1"];
    for _ in 0..3 {
        let sum = summary(&run(&[&args[..], &["--headless", "--yes", "--json"]].concat()).expect_code(0));
        assert_eq!((sum.ops, sum.due), (1000, 1000));
    }
}

#[test]
fn the_program_says_response_beside_service() {
    let server = Server::redis().start();
    let port = server.port_text();
    let running = Running::start(redyno(&["-p", &port, "--headless", "--rate", "500", "--duration", "1.6"]));
    let outcome = running.end().expect_code(0);
    for word in ["rate 500/s", "response", "send lag"] {
        assert!(outcome.out.contains(word), "{word} is missing:\n{}", outcome.out);
    }
    let closed = run(&["-p", &port, "--headless", "-n", "1000"]).expect_code(0);
    assert!(!closed.out.contains("response"), "{}", closed.out);
}

#[test]
fn no_kind_of_error_is_left_in_an_undisturbed_run() {
    let server = Server::redis().start();
    let mut session = Driven::start(
        &LoadPlan { timeout: Duration::from_secs(30), ..plan(at_port(server.port())) },
        open(2000),
    );
    session.wait_for_work(1, 50, 2000);
    assert_eq!(session.finish().errors(), BTreeMap::new());
}
