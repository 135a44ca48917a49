//! Clients that pause between batches, and sessions that come and go.

use crate::support::{
    Server,
    program::run,
    session::{Driven, at_port, intervals, plan},
};
use redyno::{
    knobs::Knobs,
    load::{LoadPlan, RequestLimit},
    workload::Workload,
};

fn gets(clients: u32) -> Knobs {
    Knobs { load: true, clients, workload: Workload::ratio(0, 1), keyspace: 1000, ..Knobs::default() }
}

#[test]
fn a_client_pauses_after_each_reply_and_no_service_time_includes_the_pause() {
    let server = Server::valkey().start();
    let plan = LoadPlan { requests: Some(RequestLimit::Shared(100)), ..plan(at_port(server.port())) };
    let mut session = Driven::start(&plan, Knobs { think: Some("5ms".parse().unwrap()), ..gets(1) });
    session.wait_for_the_end();
    let past = session.finish();
    let summary = &past.end.summary;
    let pauses_s = 99.0 * 0.005;
    assert_eq!((summary.ops, past.errors()), (100, [].into()));
    assert!(summary.length_s >= pauses_s, "{}", summary.length_s);
    let served_s: f64 = summary.service.mean_ns() * 100.0 / 1e9;
    assert!(served_s <= summary.length_s - pauses_s, "{served_s} of {}", summary.length_s);
}

#[test]
fn a_pause_ends_when_think_time_is_turned_off() {
    let server = Server::valkey().start();
    let think = Some("1h".parse().unwrap());
    let mut session = Driven::start(&plan(at_port(server.port())), Knobs { think, ..gets(4) });
    session.wait_for_work(1, 4, 0);
    let none = session.turn(|knobs| knobs.think = None);
    session.wait_for_work(none, 4, 1000);
    let past = session.finish();
    assert_eq!((past.errors(), past.segment(1).ops), ([].into(), 0), "the first pauses are parts of an hour");
}

#[test]
fn a_pause_continues_during_a_reconnect_so_sessions_may_be_shorter_than_pauses() {
    let server = Server::valkey().start();
    let [think, session_length] = ["400ms", "100ms"].map(|text| Some(text.parse().unwrap()));
    let knobs = Knobs { think, session_length, ..gets(4) };
    let mut session = Driven::start(&plan(at_port(server.port())), knobs);
    session.wait_for_work(1, 4, 12);
    let past = session.finish();
    let opened = past.end.summary.opening.greeting.count();
    assert!(opened > past.end.summary.ops, "{opened} connections for {} requests", past.end.summary.ops);
}

#[test]
fn a_prefill_does_not_pause() {
    let server = Server::valkey().start();
    let port = server.port_text();
    let load = ["--prefill", "-r", "1000", "--think", "1h", "--ratio", "0:1", "-c", "2", "--duration", "1"];
    run(&[&["-p", &port, "--headless", "--yes"], &load[..]].concat()).expect_code(0);
    assert_eq!(server.calls(&[], "set"), 1000);
}

#[test]
fn the_plan_names_pauses_and_sessions_and_a_rate_refuses_pauses() {
    let rests = ["--plan", "-p", "1", "--think", "exponential 20ms", "--session-length", "30s"];
    let plan = run(&rests).expect_code(0).out;
    assert!(plan.contains("50 clients, pipeline 1, think exponential 20ms, sessions 30s\n"), "{plan}");
    let refused = run(&["-p", "1", "--think", "5ms", "--rate", "9"]).expect_code(2).err;
    assert!(refused.starts_with("redyno: think time needs a closed loop; leave out the rate"), "{refused}");
}

#[test]
fn a_session_ends_after_its_length_whether_its_client_is_busy_or_idle_and_nothing_is_lost() {
    let server = Server::valkey().start();
    // In the open loop, most clients are idle when their session ends.
    for rate in [None, Some(50)] {
        let session_length = Some("10ms..30ms".parse().unwrap());
        let mut session =
            Driven::start(&plan(at_port(server.port())), Knobs { rate, session_length, ..gets(8) });
        let opened = |records: &[_]| -> u64 { intervals(records).map(|i| i.opening.greeting.count()).sum() };
        session.wait_for("sessions of each client", |records| (opened(records) >= 80).then_some(()));
        let kept = session.turn(|knobs| knobs.session_length = None);
        session.wait_for_work(kept, 8, 60);
        let past = session.finish();
        assert!(past.segment(kept).opening.greeting.count() <= 8, "those that were being opened");
        let summary = &past.end.summary;
        assert_eq!((past.errors(), &summary.connections_lost), ([].into(), &[].into()));
        assert_eq!((&summary.connects_failed, summary.outage_s), (&[].into(), 0.0));
    }
}
