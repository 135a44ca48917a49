//! due = ops + errors + shed + unsent, to the request, and the rate that a run really had.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use crate::support::{
    Server,
    program::{Outcome, Running, redyno, run},
    session::{Driven, Past, at_port, intervals, plan},
};
use redyno::{
    demo,
    knobs::{Arrivals, Backlog, Knobs},
    load::{LoadPlan, RequestLimit},
    session::{Interval, Record, Summary},
    workload::Workload,
};
use rustix::process::Signal;

fn gets(clients: u32) -> Knobs {
    Knobs { load: true, clients, workload: Workload::ratio(0, 1), keyspace: 1000, ..Knobs::default() }
}

fn summary(outcome: &Outcome) -> Summary {
    match outcome.records().pop() {
        Some(Record::End(end)) => end.summary,
        last => panic!("no end record but {last:?}"),
    }
}

/// Waits until a tick has passed in which nothing was answered.
fn wait_for_silence(session: &mut Driven) {
    session.wait_for("silence", |records| {
        let last = intervals(records).last()?;
        (last.ops == 0 && last.length_s > 0.2).then_some(())
    });
}

#[test]
fn each_unanswered_request_counts_and_no_idle_connection_does() {
    let server = Server::redis().start();
    let mut session = Driven::start(&plan(at_port(server.port())), Knobs { pipeline: 16, ..gets(3) });
    session.wait_for_work(1, 3, 100);
    server.pause();
    wait_for_silence(&mut session);
    let past = session.finish();
    assert_eq!(past.errors(), [("unanswered".to_owned(), 48)].into());
    let opening = &past.end.summary.opening;
    assert_eq!((opening.connect.count(), opening.greeting.count()), (3, 3));
    assert!(opening.handshake.is_empty());
}

#[test]
fn the_rate_is_that_of_the_time_under_load_whatever_the_last_replies_take() {
    let server = demo::start(demo::Options {
        faults: vec!["delay GET 700ms".parse().unwrap()],
        ..demo::Options::default()
    })
    .unwrap();
    let port = server.address.port().to_string();
    let rate = ["--rate", "400", "-c", "800", "--ratio", "0:1"];
    // 600 requests, in a second and a half or by their number.
    for end in [["--duration", "1.5"], ["-n", "600"]] {
        let args = [&["-p", &port, "--headless", "--json", "--load", "--yes"], &rate[..], &end].concat();
        let summary = summary(&run(&args).expect_code(0));
        let Summary { ops, due, length_s, ops_per_s, .. } = summary;
        assert!((ops_per_s - 400.0).abs() < 3.0, "{ops} in {length_s} s are {ops_per_s}");
        assert_eq!((due, summary.errors), (ops, [].into()));
    }
    server.stop().unwrap();
}

/// 50 clients on a server that takes a second were said to do 91.5/s in 1.1 s, for 45.5/s: the replies that came after the end
/// counted as if they had come before it.
#[test]
fn what_is_answered_after_the_end_is_a_drain_and_in_no_rate_of_a_closed_loop() {
    let server = demo::start(demo::Options {
        faults: vec!["delay GET 300ms".parse().unwrap()],
        ..demo::Options::default()
    })
    .unwrap();
    let port = server.address.port().to_string();
    let args = ["-p", &port, "--headless", "--json", "--load", "--yes", "-c", "50", "--ratio", "0:1"];
    for (rate, is_open) in [(&[][..], false), (&["--rate", "100"], true)] {
        let outcome = run(&[&args, rate, &["--duration", "1.1"]].concat()).expect_code(0);
        let sum = summary(&outcome);
        let records = outcome.records();
        let intervals = || {
            records.iter().filter_map(|record| match record {
                Record::Interval(interval) => Some(&**interval),
                _ => None,
            })
        };
        let (drains, load): (Vec<&Interval>, Vec<_>) = intervals().partition(|interval| interval.drain);
        let [drain] = drains[..] else { panic!("{drains:?}") };
        let in_time: u64 = load.iter().map(|interval| interval.ops).sum();
        assert_eq!((sum.drained, sum.ops, sum.due), (drain.ops, in_time + drain.ops, sum.ops));
        assert!(drain.ops > 0 && drain.drained == drain.ops && drain.length_s > 0.0, "{drain:?}");
        let counted = if is_open { sum.ops } else { in_time };
        assert!((sum.ops_per_s - counted as f64 / sum.length_s).abs() < 1e-6, "{sum:?}");
        // A busy machine may open the first connection after the first tick.
        for interval in intervals().filter(|interval| interval.length_s > 0.0) {
            assert!(
                (interval.ops_per_s - interval.ops as f64 / interval.length_s).abs() < 1e-6,
                "{interval:?}"
            );
        }
        if !is_open {
            // Each client waits for one reply at the end.
            assert_eq!(drain.ops, 50);
        }
    }
    server.stop().unwrap();
}

/// Every connection has a batch that is not answered, and requests come due that none is free for.
#[test]
fn what_is_owed_at_the_end_and_what_is_unanswered_are_two_counts() {
    let server = Server::redis().start();
    let knobs = Knobs { rate: Some(1000), pipeline: 4, ..gets(3) };
    let plan = LoadPlan { threads: 2, ..plan(at_port(server.port())) };
    let mut session = Driven::start(&plan, knobs);
    session.wait_for_work(1, 3, 100);
    server.pause();
    wait_for_silence(&mut session);
    let past = session.finish();
    let summary = &past.end.summary;
    let unanswered = summary.errors["unanswered"];
    assert!((3..=12).contains(&unanswered) && summary.errors.len() == 1, "{:?}", summary.errors);
    assert!(summary.unsent > 100 && summary.shed == 0, "{summary:?}");
    assert!(summary.connections_lost.is_empty(), "it is we who close them: {:?}", summary.connections_lost);
}

#[test]
fn a_load_that_is_turned_off_owes_what_was_due() {
    let server = Server::redis().start();
    let mut session = Driven::start(&plan(at_port(server.port())), Knobs { rate: Some(1000), ..gets(3) });
    session.wait_for_work(1, 3, 100);
    server.pause();
    wait_for_silence(&mut session);
    let off = session.turn(|knobs| knobs.load = false);
    server.resume();
    let on = session.turn(|knobs| knobs.load = true);
    session.wait_for_work(on, 3, 100);
    let past = session.finish();
    let first = past.segment(1);
    assert!(first.unsent > 100 && first.shed == 0 && first.errors.is_empty(), "{first:?}");
    assert_eq!(past.segment(off).due, 0);
    assert_eq!(past.errors(), [].into());
}

/// Turned again and again at rates at which some request is due every few microseconds: none of the old pace is sent that was
/// due after the turn, and none is lost that was due before.
#[test]
fn a_rate_that_is_turned_loses_no_request_and_has_none_too_many() {
    let server = Server::redis().start();
    let plan = LoadPlan { threads: 2, ..plan(at_port(server.port())) };
    let mut session = Driven::start(&plan, Knobs { rate: Some(100_000), pipeline: 16, ..gets(20) });
    session.wait_for_work(1, 20, 1000);
    let turns: Vec<_> = (0..24)
        .map(|n| {
            let rate = 110_000 + 7919 * n;
            let segment = session.turn(|knobs| knobs.rate = Some(rate));
            session.wait_for("replies", |records| {
                intervals(records)
                    .any(|interval| interval.segment == segment && interval.ops > 0)
                    .then_some(())
            });
            (segment, f64::from(rate))
        })
        .collect();
    let past = session.finish();
    let off = turns.into_iter().map(|(segment, rate)| {
        let segment = past.segment(segment);
        segment.due as f64 - rate * segment.length_s
    });
    // Each of the two workers has a grid of its own, which ends between two requests. The thread that turns may be kept waiting
    // by the machine between the time that it reads and the setting that it hands over: one turn may be off by that.
    let off: Vec<_> = off.enumerate().filter(|(_, off)| off.abs() > 2.0).collect();
    assert!(off.len() <= 1, "{off:?} requests too many, or too few");
}

/// What comes after a quota, be it the end or another phase, finds the workers and their connections as they were.
#[test]
fn a_spent_quota_ends_no_worker_and_no_connection() {
    let server = Server::redis().start();
    for rate in [None, Some(20_000)] {
        let plan = LoadPlan {
            threads: 2,
            requests: Some(RequestLimit::Shared(3000)),
            ..plan(at_port(server.port()))
        };
        let mut session = Driven::start(&plan, Knobs { rate, ..gets(6) });
        session.wait_for_the_end();
        let (connected, asked) = (server.load_ids(), server.calls(&[], "get"));
        assert_eq!((connected.len(), asked % 3000), (6, 0));
        let turned = session.turn(|knobs| knobs.pipeline = 4);
        assert_eq!(server.load_ids(), connected);
        let past = session.finish();
        assert_eq!((past.end.summary.ops, past.segment(turned).due), (3000, 0));
        assert_eq!((server.calls(&[], "get"), past.errors()), (asked, [].into()));
    }
}

#[test]
fn a_run_of_a_length_has_all_requests_of_it_and_no_other() {
    let server = Server::redis().start();
    for (rate, threads) in [(1000, 1), (3000, 2)] {
        let length = Some(Duration::from_millis(1200));
        let plan = LoadPlan { threads, length, ..plan(at_port(server.port())) };
        let mut session = Driven::start(&plan, Knobs { rate: Some(rate), ..gets(8) });
        session.wait_for_the_end();
        let past = session.finish();
        let due = past.end.summary.due as f64;
        let segment = past.records.iter().find_map(|record| match &**record {
            Record::Segment(segment) => Some(segment.t_s),
            _ => None,
        });
        let load = past.intervals().filter(|interval| !interval.drain);
        let last = load.map(|interval| interval.t_s).fold(0.0, f64::max);
        let length_s = last - segment.unwrap();
        assert!((length_s - 1.2).abs() < 1e-6, "the load ends when it is asked to: after {length_s} s");
        let expected = f64::from(rate) * past.end.summary.length_s;
        // A worker's requests are due from its own first connection on; the time counts from the first of all.
        assert!(due <= expected + threads as f64, "{due} and not {expected}");
        assert!(threads > 1 || due >= expected - 1.0, "{due} and not {expected}");
    }
}

#[test]
fn a_run_that_ends_by_its_number_of_requests_knows_what_its_last_tick_cost() {
    let server = Server::redis().start();
    let port = server.port_text();
    let outcome = run(&["-p", &port, "--headless", "--json", "-n", "2000", "--threads", "1"]).expect_code(0);
    let client = summary(&outcome).client.expect("it is measured");
    assert!(client.cpu > 0.0, "{client:?}");
}

#[test]
fn records_that_a_knob_cuts_have_their_clients() {
    let server = Server::redis().start();
    let mut session = Driven::start(&plan(at_port(server.port())), gets(7));
    session.wait_for_work(1, 7, 100);
    for clients in [9, 7, 9] {
        let segment = session.turn(|knobs| knobs.clients = clients);
        session.wait_for_work(segment, clients, 100);
    }
    let past = session.finish();
    let measured = past.intervals().filter(|interval| interval.timed_s() > 0.0);
    let seen: BTreeSet<u32> = measured.skip(1).map(|interval| interval.clients).collect();
    assert!(seen.iter().all(|clients| (7..=9).contains(clients)), "{seen:?}");
}

/// Between the last poll and the end: INFO is asked once a second.
#[test]
fn what_happens_in_the_last_second_is_reported() {
    // A single command is slow: of many, only the longest are shown.
    let options = ["--slowlog-log-slower-than", "200000", "--enable-debug-command", "yes"];
    let server = Server::redis().with_args(&options).start();
    let port = server.port_text();
    let running = Running::start(redyno(&["-p", &port, "--headless", "--json", "--duration", "30"]));
    // With the first come what was there before; the second follows a look at the slow log for certain.
    running.wait_for_lines(2, r#""kind":"server""#);
    server.cli(&["DEBUG", "SLEEP", "0.25"]);
    running.signal(Signal::INT);
    let outcome = running.end().expect_code(130);
    assert!(outcome.out.contains("DEBUG SLEEP from"), "{}", outcome.out);
}

/// Each fault in an open loop of two workers, while every knob is turned; [`Driven::finish`] does the sum.
#[test]
fn every_request_has_one_end_whatever_breaks_and_is_turned() {
    for (n, (fault, kind)) in [
        ("error LOADING 2%", "LOADING"),
        ("garbage on GET every 100", "protocol"),
        ("reset on GET every 100", "reset"),
        ("cut close on GET every 100", "reset"),
        ("cut on GET every 300", "timeout"),
        ("stall 400ms after 500ms", ""),
    ]
    .into_iter()
    .enumerate()
    {
        let server =
            demo::start(demo::Options { faults: vec![fault.parse().unwrap()], ..demo::Options::default() })
                .unwrap();
        let target = at_port(server.address.port());
        // Short only where it is waited for: a busy machine may take longer for an answer.
        let timeout = Duration::from_millis(if kind == "timeout" { 300 } else { 30_000 });
        let plan = LoadPlan { threads: 2, timeout, ..plan(target) };
        let arrivals = if n % 3 == 1 { Arrivals::Poisson } else { Arrivals::Constant };
        let backlog = if n % 2 == 0 { Backlog::Queue } else { Backlog::Shed };
        let knobs = Knobs { rate: Some(2000), pipeline: 4, arrivals, backlog, ..gets(10) };
        let mut session = Driven::start(&plan, knobs);
        let work = |session: &mut Driven, segment: u32| {
            session.wait_for("replies", |records| {
                let mine = intervals(records).filter(|interval| interval.segment == segment);
                (mine.map(|interval| interval.ops).sum::<u64>() > 300).then_some(())
            });
        };
        work(&mut session, 1);
        let turns: [&dyn Fn(&mut Knobs); 7] = [
            &|knobs| knobs.rate = Some(5000),
            &|knobs| knobs.clients = 1,
            &|knobs| knobs.clients = 20,
            &|knobs| knobs.load = false,
            &|knobs| knobs.load = true,
            &|knobs| knobs.rate = None,
            &|knobs| (knobs.rate, knobs.pipeline) = (Some(1000), 1),
        ];
        for turn in turns {
            let segment = session.turn(turn);
            if session.knobs().load {
                work(&mut session, segment);
            }
        }
        let past = session.finish();
        server.stop().unwrap();
        let errors = past.errors();
        assert!(kind.is_empty() || errors[kind] > 0, "{fault}: {errors:?}");
        let lost = past.end.summary.connections_lost.get(kind).is_some_and(|n| *n > 0);
        assert_eq!(lost, kind.starts_with(|c: char| c.is_lowercase()), "{fault}: {:?}", past.end.summary);
    }
}

#[test]
fn turning_the_rate_in_an_outage_loses_no_request() {
    let mut server = Server::redis().start();
    let plan = LoadPlan { threads: 2, ..plan(at_port(server.port())) };
    let mut session = Driven::start(&plan, Knobs { rate: Some(1000), ..gets(10) });
    session.wait_for_work(1, 10, 100);
    server.kill();
    let wait_for_failures = |session: &mut Driven, segment: u32| {
        session.wait_for("failures", |records| {
            let mine = intervals(records).filter(|interval| interval.segment == segment);
            (mine.filter_map(|interval| interval.errors.get("refused")).sum::<u64>() > 200).then_some(())
        });
    };
    wait_for_failures(&mut session, 1);
    let turned = session.turn(|knobs| knobs.rate = Some(3000));
    wait_for_failures(&mut session, turned);
    server.restart();
    session.wait_for_work(turned, 10, 100);
    let past = session.finish();
    let segment = past.segment(turned);
    let expected = 3000.0 * segment.length_s;
    assert!((segment.due as f64 - expected).abs() <= 2.0, "{} and not {expected}", segment.due);
    assert_eq!((past.segment(1).shed, segment.shed), (0, 0));
}

#[test]
fn a_warm_up_has_its_own_sum_and_the_length_is_what_comes_after_it() {
    let server = Server::redis().start();
    let port = server.port_text();
    let load = ["--rate", "2000", "-c", "500", "--warmup", "1", "--duration", "0.8"];
    let args = [&["-p", &port, "--headless", "--json"], &load[..]].concat();
    let records: Vec<_> = run(&args).expect_code(0).records().into_iter().map(Arc::new).collect();
    let Some(Record::End(end)) = records.last().map(|record| (**record).clone()) else {
        panic!("no end record")
    };
    let past = Past { records, end: *end };
    past.assert_every_request_has_one_end();
    let measured = past.segment(2);
    assert!((measured.length_s - 0.8).abs() < 1e-6 && past.segment(1).ops > 0, "{}", measured.length_s);
    assert!((measured.due as f64 - 1600.0).abs() <= 2.0, "{}", measured.due);
    assert_eq!(past.end.summary.due, measured.due);
}

/// What comes due in an outage is lost, and what is shed is not sent: both are of the number that was asked for.
#[test]
fn the_number_of_requests_is_that_of_those_that_are_due_whatever_becomes_of_them() {
    for backlog in [Backlog::Queue, Backlog::Shed] {
        let mut server = Server::redis().start();
        let plan = LoadPlan {
            threads: 2,
            requests: Some(RequestLimit::Shared(3000)),
            ..plan(at_port(server.port()))
        };
        let mut session = Driven::start(&plan, Knobs { rate: Some(1000), backlog, ..gets(4) });
        session.wait_for_work(1, 4, 200);
        server.kill();
        session.wait_for("requests that come due in the outage", |records| {
            intervals(records).any(|interval| interval.errors.contains_key("refused")).then_some(())
        });
        server.restart();
        session.wait_for_the_end();
        let past = session.finish();
        let summary = &past.end.summary;
        assert_eq!(summary.due, 3000, "{backlog:?}: {summary:?}");
        assert!(summary.ops < 3000 && summary.errors["refused"] > 0, "{summary:?}");
    }
}
