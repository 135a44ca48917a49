//! Servers that send faster than anybody can read, or hardly at all: the load ends when it is asked to, gives up what brings
//! no reply, and keeps what does.

use std::{
    sync::atomic::{AtomicUsize, Ordering::SeqCst},
    time::Duration,
};

use crate::scripted::{Crowd, Peer};
use crate::support::{
    program::run,
    session::{Driven, Past, intervals, plan},
};
use redyno::{demo, knobs::Knobs, load::LoadPlan, session::Record, workload::Workload};

fn gets(clients: u32, pipeline: u32) -> Knobs {
    Knobs {
        load: true,
        clients,
        pipeline,
        workload: Workload::ratio(0, 1),
        keyspace: 1000,
        ..Knobs::default()
    }
}

/// Answers everything but GETs, which `answer` does until it hangs up.
fn answering(answer: impl Fn(&mut Peer) -> bool + Send + Sync + 'static) -> Crowd {
    Crowd::start(move |peer, _| {
        while let Some(command) = peer.command() {
            if !command.starts_with("GET") {
                peer.say("+OK\r\n");
            } else if !answer(peer) {
                return;
            }
        }
    })
}

fn count(past: &Past, kind: &str) -> u64 {
    past.errors().get(kind).copied().unwrap_or(0)
}

#[test]
fn an_endless_answer_is_a_timeout_and_holds_up_neither_the_others_nor_the_end() {
    for (begin, piece) in [
        ("", ">0\r\n"),
        ("", "|0\r\n"),
        ("", "*1\r\n"),
        ("$99999999999\r\n", "x"),
        (">1\r\n$99999999999\r\n", "x"),
    ] {
        let flood = piece.repeat(256 * 1024 / piece.len());
        // Every second connection that asks is flooded; the others are answered.
        let asking = AtomicUsize::new(0);
        let server = Crowd::start(move |peer, _| {
            let mut is_flooded = None;
            while let Some(command) = peer.command() {
                if !command.starts_with("GET") {
                    peer.say("+OK\r\n");
                } else if *is_flooded.get_or_insert_with(|| asking.fetch_add(1, SeqCst) % 2 == 1) {
                    peer.say(begin);
                    while peer.has_said(&flood) {}
                } else {
                    peer.say("$-1\r\n");
                }
            }
        });
        let plan = LoadPlan { timeout: Duration::from_millis(500), ..plan(server.target()) };
        let mut session = Driven::start(&plan, gets(4, 1));
        session.wait_for("timeouts, and good replies all the while", |records| {
            let late: u64 = intervals(records).filter_map(|i| i.errors.get("timeout")).sum();
            let good = intervals(records).filter(|i| i.ops > 0).count();
            (late >= 2 && good >= 3).then_some(())
        });
        let past = session.finish();
        let kinds: Vec<_> = past.errors().into_keys().filter(|kind| kind != "unanswered").collect();
        assert_eq!(kinds, ["timeout"], "{begin:?} {piece:?}");
    }
}

#[test]
fn two_new_kinds_of_errors_in_one_read_are_both_reported_and_counted() {
    let server = answering(|peer| {
        peer.command();
        peer.say("-OOM full\r\n-BUSY script\r\n");
        true
    });
    let mut session = Driven::start(&plan(server.target()), gets(1, 2));
    session.wait_for("errors", |records| {
        (intervals(records).filter_map(|i| i.errors.get("BUSY")).sum::<u64>() >= 10).then_some(())
    });
    let past = session.finish();
    assert_eq!(count(&past, "OOM"), count(&past, "BUSY"));
    let shown = &past.end.summary.first_errors;
    assert_eq!((shown["OOM"].as_str(), shown["BUSY"].as_str()), ("OOM full", "BUSY script"));
}

/// Ten replies, one every 300 ms, at a timeout of 2 s.
#[test]
fn a_batch_whose_replies_flow_is_waited_for() {
    let server = answering(|peer| {
        std::thread::sleep(Duration::from_millis(300));
        peer.say("$-1\r\n");
        true
    });
    let plan = LoadPlan { timeout: Duration::from_secs(2), ..plan(server.target()) };
    let mut session = Driven::start(&plan, gets(1, 10));
    session.wait_for("two batches", |records| {
        (intervals(records).map(|i| i.ops).sum::<u64>() >= 20).then_some(())
    });
    let past = session.finish();
    assert_eq!(count(&past, "timeout"), 0, "{:?}", past.errors());
}

#[test]
fn a_reply_that_trickles_is_given_up() {
    let server = answering(|peer| {
        peer.say("$1000000\r\n");
        while peer.has_said("x") {
            std::thread::sleep(Duration::from_millis(10));
        }
        false
    });
    let plan = LoadPlan { timeout: Duration::from_millis(300), ..plan(server.target()) };
    let mut session = Driven::start(&plan, gets(1, 1));
    session.wait_for("timeouts", |records| {
        (intervals(records).filter_map(|i| i.errors.get("timeout")).sum::<u64>() >= 2).then_some(())
    });
    assert_eq!(session.finish().end.summary.ops, 0);
}

/// One by one a worker passed over what was due, and heard neither of the end nor of Ctrl-C.
#[test]
fn the_highest_rate_ends_when_it_is_asked_to() {
    for arrivals in ["constant", "poisson"] {
        let server = demo::start(demo::Options::default()).unwrap();
        let port = server.address.port().to_string();
        let args =
            ["-p", &port, "--headless", "--json", "--load", "--yes", "--duration", "1", "--ratio", "0:1"];
        let pace = ["--rate", "4294967295", "--backlog", "shed", "--arrivals", arrivals];
        let outcome = run(&[&args[..], &pace].concat());
        let records = outcome.records();
        let Some(Record::End(end)) = records.last() else { panic!("no end record: {outcome:?}") };
        let due = 4_294_967_295.0 * end.summary.length_s;
        let ended = end.summary.ops as f64 + end.summary.shed as f64;
        assert!(end.summary.ops > 0 && ended <= due * 1.01 && ended > due * 0.1, "{ended} of {due} due");
        server.stop().unwrap();
    }
}
