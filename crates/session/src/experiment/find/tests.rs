//! Tests of searches for the highest rate on simulated servers, without and with disturbances.

use super::*;
use crate::{
    experiment::simulated::{SimulatedSession, TICK_S},
    session::{ReceivedMessages, ReceiverResults},
    stats::{fixture::repeated, simulated::NoiseSource},
    workload::{Settings, WorkloadChoice},
};

/// Returns a server that answers at most `capacity` requests per second, each in `service_us` microseconds. At a higher
/// rate, requests wait for a second.
fn server(capacity: f64, service_us: u64) -> impl FnMut(&Knobs, f64) -> Interval {
    move |knobs, _| {
        let rate = knobs.rate.map_or(f64::INFINITY, f64::from);
        let ops_per_s = rate.min(capacity);
        let ops = (ops_per_s * TICK_S).round() as u64;
        let wait_us = if rate > capacity { 1_000_000 } else { 0 };
        let response = knobs.rate.map(|_| repeated((service_us + wait_us) * 1000, ops));
        Interval {
            ops,
            ops_per_s,
            service: repeated(service_us * 1000, ops),
            response,
            ..Interval::default()
        }
    }
}

fn find(limit: &str, capacity: f64) -> (Find, SimulatedSession) {
    let knobs = Knobs { load: true, ..Knobs::default() };
    let mut find = Find::new(limit.parse().unwrap(), knobs.clone());
    let mut session = SimulatedSession::new(knobs);
    session.drive(&mut find, server(capacity, 400));
    (find, session)
}

#[test]
fn the_highest_rate_is_found_and_is_the_last_segment() {
    for capacity in [900.0, 10_000.0, 123_456.0] {
        let (find, session) = find("p99<1ms", capacity);
        let found = find.found.as_ref().unwrap();
        assert!((0.97..=1.0).contains(&(found.value as f64 / capacity)), "{capacity}: {found:?}");
        assert!(
            (found.lower, found.value) == (found.value, found.lower)
                && found.upper.unwrap() as f64 > capacity
        );
        assert_eq!(session.knobs.rate.map(u64::from), Some(found.value));
        assert!(session.now_s() < 45.0, "{}", session.now_s());
        assert_eq!((find.ending(), find.bounds().0.map(u64::from)), (Some(&Ending::Done), Some(found.lower)));
        assert_eq!(session.sent.last(), Some(&Order::Event(EventKind::Found { found: found.clone() })));
        let trials = session.sent.iter().filter(|sent| matches!(sent, Order::Event(EventKind::Tried { .. })));
        assert_eq!(trials.count(), find.tried.len());
        assert!(find.report().starts_with("p99<1ms is met up to "), "{}", find.report());
    }
}

#[test]
fn a_limit_of_the_delivery_is_kept_by_the_messages_and_not_by_their_senders() {
    let workload = WorkloadChoice::find("pubsub", &Settings::default()).unwrap().workload;
    let knobs = Knobs { load: true, workload, ..Knobs::default() };
    let mut find = Find::new("delivery p99<1s".parse().unwrap(), knobs.clone());
    let (mut session, mut sent) = (SimulatedSession::new(knobs), server(10_000.0, 400));
    session.drive(&mut find, |knobs, t_s| {
        let interval = sent(knobs, t_s);
        // Above 5000 messages per second, the subscribers are too slow.
        let took_ns = if interval.ops_per_s > 5000.0 { 2_000_000_000 } else { 20_000_000 };
        let got = ReceivedMessages { times: repeated(took_ns, interval.ops), ..ReceivedMessages::default() };
        let arrivals = ReceiverResults { delivery: Some(got.into()), ..ReceiverResults::default() };
        Interval { arrivals, ..interval }
    });
    let found = find.found.as_ref().unwrap();
    assert!((4850..=5000).contains(&found.value) && found.limit == "delivery p99<1s", "{found:?}");
}

#[test]
fn a_limit_that_no_rate_keeps_is_reported() {
    let (find, session) = find("p50<300us", 10_000.0);
    assert_eq!((find.found.as_ref(), find.bounds()), (None, (None, find.bounds().1)));
    assert_eq!(find.ending(), Some(&Ending::NotHeld("no rate keeps p50<300us".to_owned())));
    assert!(matches!(session.sent.last(), Some(Order::Event(EventKind::NothingFound { .. }))));
    assert!(session.now_s() < 60.0);
    assert_eq!(session.knobs, Knobs { load: true, ..Knobs::default() });
}

/// Tests that the load does not stay at the rate of the last trial.
#[test]
fn a_search_without_a_result_restores_the_settings_from_before_it() {
    let before = Knobs { load: true, rate: Some(333), ..Knobs::default() };
    for capacity_ends_s in [9.0, 20.0] {
        let mut find = Find::new("p99<10s".parse().unwrap(), before.clone());
        let mut session = SimulatedSession::new(before.clone());
        session.drive(&mut find, queueing(|t_s| t_s >= capacity_ends_s));
        assert!(matches!(find.ending(), Some(Ending::Undecided(_))), "{:?}", find.ending());
        assert_eq!(session.knobs, before);
    }
    let mut find = Find::new("p99<10s".parse().unwrap(), before.clone());
    let mut session = SimulatedSession::new(before.clone());
    session.drive_until(&mut find, queueing(|_| false), 8.0);
    assert_ne!(session.knobs, before);
    assert_eq!(find.interrupt(Interruption::Fleet("lost".to_owned())), [Order::SetKnobs(before)]);
}

/// Returns a server that answers 1000 requests per second and queues more requests. While `is_taken`, the server
/// answers no request, as if another process used its core.
fn queueing(mut is_taken: impl FnMut(f64) -> bool) -> impl FnMut(&Knobs, f64) -> Interval {
    let (mut backlog, mut rate_before) = (0.0, None);
    move |knobs, t_s| {
        let could = if is_taken(t_s) { 0.0 } else { 1000.0 * TICK_S };
        let due = knobs.rate.map_or(could, |rate| f64::from(rate) * TICK_S);
        // Due requests that were not sent are dropped when the rate changes.
        backlog = if knobs.rate == rate_before { backlog } else { 0.0 };
        rate_before = knobs.rate;
        let ops = (backlog + due).min(could);
        backlog += due - ops;
        let waited_ns = 1_000_000 + (backlog * 1e6) as u64;
        let ops = ops.round() as u64;
        let response = knobs.rate.map(|_| repeated(waited_ns, ops));
        let ops_per_s = ops as f64 / TICK_S;
        Interval { ops, ops_per_s, service: repeated(1_000_000, ops), response, ..Interval::default() }
    }
}

/// Returns the search on a server that answers 1000 requests per second, and the length of the search in seconds.
fn found_beside(limit: &str, is_taken: impl FnMut(f64) -> bool) -> (Find, f64) {
    let knobs = Knobs { load: true, ..Knobs::default() };
    let mut find = Find::new(limit.parse().unwrap(), knobs.clone());
    let mut session = SimulatedSession::new(knobs);
    session.drive(&mut find, queueing(is_taken));
    (find, session.now_s())
}

/// Tests that the search does not trust disturbed trials, and tries the higher bound. An earlier version reported 219/s
/// as the highest rate.
#[test]
fn with_another_process_the_found_rate_is_right_or_there_is_none() {
    let mut decided = 0;
    for limit in ["p99<10s", "p99<20ms"] {
        for run in 0..100_u64 {
            // The other process takes between 3 % and 15 % of the ticks (quarter seconds), depending on the
            // run.
            let seldom = -1.9 + 0.9 * (run % 10) as f64 / 10.0;
            let mut chance = NoiseSource::new(run);
            let (find, took_s) = found_beside(limit, |_| chance.normal() < seldom);
            assert!(took_s <= 175.0, "{took_s}");
            let trials = &find.tried;
            match find.ending() {
                Some(Ending::Done) => {
                    decided += 1;
                    let found = find.found.as_ref().unwrap();
                    assert!((900..=1020).contains(&found.value), "{limit} {run}: {found:?} {trials:#?}");
                    let above = |tried: &&TrialResult| tried.is_full && u64::from(tried.rate) > found.value;
                    let failed =
                        trials.iter().filter(above).filter(|tried| !tried.is_held && !tried.is_disturbed);
                    assert!(failed.count() > 0, "{trials:#?}");
                }
                Some(Ending::Undecided(why)) => assert!(why.contains("is not clear: "), "{why}"),
                other => panic!("{other:?}"),
            }
        }
    }
    // A stall of 250 ms disturbs most trials, and a search does not use disturbed trials.
    assert!(decided >= 60, "{decided} of 200");
}

#[test]
fn the_first_trial_has_nine_tenths_of_the_rate_of_the_closed_loop() {
    let (find, _) = found_beside("p99<10s", |_| false);
    assert_eq!(find.tried[0].rate, 900);
    assert_eq!(find.ending(), Some(&Ending::Done));
}

#[test]
fn a_server_that_dies_leaves_the_search_undecided_with_the_reason() {
    for (dies_s, why) in
        [(0.0, "in a closed loop no request succeeded"), (9.0, "in the last one, no request succeeded")]
    {
        let (find, took_s) = found_beside("p99<10s", |t_s| t_s >= dies_s);
        let Some(Ending::Undecided(words)) = find.ending() else { panic!("{:?}", find.ending()) };
        assert!(words.ends_with(why) && took_s < 40.0, "{words} after {took_s} s");
    }
}

#[test]
fn a_stopped_search_is_not_clear() {
    let knobs = Knobs { load: true, ..Knobs::default() };
    let mut find = Find::new("p99<10s".parse().unwrap(), knobs.clone());
    let mut session = SimulatedSession::new(knobs);
    session.drive_until(&mut find, queueing(|_| false), 8.0);
    find.stop();
    assert_eq!((find.found.as_ref(), find.is_over()), (None, true));
    assert!(
        find.answer().starts_with("the highest rate for p99<10s is not clear: it was stopped"),
        "{}",
        find.answer()
    );
}

#[test]
fn a_search_that_is_cut_off_reports_the_rates_that_were_tried() {
    let cut_off = |end_s| {
        let knobs = Knobs { load: true, ..Knobs::default() };
        let mut find = Find::new("p99<1ms".parse().unwrap(), knobs.clone());
        // Above 6000/s, replies are slow.
        let measured = |knobs: &Knobs, t_s| {
            server(10_000.0, if knobs.rate > Some(6000) { 2000 } else { 400 })(knobs, t_s)
        };
        SimulatedSession::new(knobs).drive_until(&mut find, measured, end_s);
        find
    };
    assert_eq!(cut_off(2.0).report(), "the search is unfinished: no trial shows whether p99<1ms is met\n");
    let both =
        |find: &Find| Some((find.narrowing().0?, find.narrowing().1?)).filter(|_| find.ending().is_none());
    let cut_off = (3..60).map(|s| cut_off(f64::from(s))).find_map(|find| Some((both(&find)?, find)));
    let ((lower, upper), find) = cut_off.expect("a time with both bounds before the end");
    let tried = |rate: u32, is_held| find.tried.iter().any(|it| (it.rate, it.is_held) == (rate, is_held));
    assert!(tried(lower, true) && tried(upper, false), "{find:?}");
    let [lower, upper] = [lower, upper].map(|rate| units::rate(rate.into()));
    let line = format!("the search is unfinished: p99<1ms was met at {lower}, not at {upper}\n");
    assert_eq!(find.report(), line);
}

#[test]
fn a_rate_with_failed_requests_does_not_keep_the_limit() {
    let knobs = Knobs { load: true, ..Knobs::default() };
    let mut find = Find::new("p99<1ms".parse().unwrap(), knobs.clone());
    let mut well = server(10_000.0, 400);
    SimulatedSession::new(knobs).drive(&mut find, |knobs, t_s| {
        let is_much = knobs.rate.is_some_and(|rate| rate > 5000);
        let errors = if is_much { [("OOM".to_owned(), 1)].into() } else { std::collections::BTreeMap::new() };
        Interval { errors, ..well(knobs, t_s) }
    });
    let value = find.found.as_ref().unwrap().value;
    assert!((4900..=5000).contains(&value), "{value}");
}
