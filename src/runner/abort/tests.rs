use std::sync::Arc;

use super::*;
use crate::{
    knobs::Knobs,
    server::Status,
    session::{Moment, ServerIdentity, SessionStart},
    stats::fixture::repeated,
};

/// Returns the reason for the end of a session, if it ends. `seconds` has the latency in each second, in milliseconds.
/// 0 means a second in which requests wait, without any reply.
fn ended(condition: &str, seconds: &[u64]) -> Option<String> {
    ended_after(condition, seconds, |tick| tick.waiting_us = 250_000)
}

/// Returns the same as [`ended`]. `silent` changes the intervals without any reply.
fn ended_after(condition: &str, seconds: &[u64], silent: fn(&mut Interval)) -> Option<String> {
    let mut abort = Abort::of(&[condition.parse().unwrap()]).unwrap().unwrap();
    let mut take = |record: Record| abort.take(&Delivery::Record(Arc::new(record)));
    let knobs = Knobs { load: true, ..Knobs::default() };
    let (started, utc_offset_s) = ("2026-01-01T13:00:00Z".to_owned(), Some(3600));
    let start = SessionStart { started, utc_offset_s, ..SessionStart::now(ServerIdentity::default()) };
    take(Record::Session(start));
    take(Record::Segment(Segment::new(0.0, 1, knobs)));
    for (n, ms) in seconds.iter().flat_map(|ms| [ms; 4]).enumerate() {
        let (t_s, ops) = ((n + 1) as f64 / 4.0, if *ms > 0 { 2000 } else { 0 });
        let service = repeated(ms * 1_000_000, ops);
        let mut tick = Interval { t_s, length_s: 0.25, segment: 1, ops, service, ..Interval::default() };
        if ops == 0 {
            silent(&mut tick);
        }
        let orders = take(Record::Interval(Box::new(tick)));
        if let [Order::Event(EventKind::LoadStopped { cause }), Order::End] = &orders[..] {
            return Some(cause.clone());
        }
        assert_eq!(orders, []);
    }
    assert!(abort.verdict().is_ok());
    None
}

#[test]
fn a_condition_must_be_met_for_five_seconds_in_a_row() {
    assert_eq!(ended("p99 > 5ms", &[9, 9, 9, 9, 1, 9, 9, 9, 9, 1]), None);
    let text = ended("p99 > 5ms", &[1, 9, 9, 9, 9, 9, 9]).unwrap();
    assert!(text.starts_with("--abort-if 'p99 > 5ms' was met for 5 s: p99 9.0"), "{text}");
    assert!(text.ends_with(" at 14:00:06; the run was ended"), "{text}");
}

#[test]
fn a_condition_that_no_second_can_decide_leaves_the_run_undecided() {
    let verdict = |condition: &str, replies| {
        let mut abort = Abort::of(&[condition.parse().unwrap()]).unwrap().unwrap();
        let service = repeated(9_000_000, replies);
        let second =
            Interval { t_s: 1.0, length_s: 1.0, segment: 1, ops: replies, service, ..Interval::default() };
        abort.take(&Delivery::Record(Arc::new(Record::Interval(Box::new(second)))));
        abort.verdict()
    };
    let Err(Failure::Undecided(reason)) = verdict("p99 > 1us", 200) else { panic!("a verdict") };
    assert!(
        reason.starts_with("--abort-if 'p99 > 1us' was never checked: p99 was not measured, or"),
        "{reason}"
    );
    assert!(verdict("p99 > 1us", 2000).is_ok() && verdict("p50 > 1us", 200).is_ok());
}

#[test]
fn seconds_without_a_reply_meet_an_upper_limit_of_a_latency() {
    let silent = ended("p99 > 5ms", &[1, 0, 0, 0, 0, 0]).unwrap();
    assert!(silent.contains("met for 5 s: no reply at 14:00:06"), "{silent}");
    assert!(ended("ops < 100", &[1, 0, 0, 0, 0, 0]).unwrap().contains("ops/s 0"));
    assert_eq!(ended("errors > 0", &[1; 9]), None);
}

#[test]
fn seconds_in_which_no_request_waits_meet_no_condition() {
    let of = |silent| ended_after("p99 > 5ms", &[1, 0, 0, 0, 0, 0], silent).is_some();
    assert!(!of(|_| ()), "the clients think");
    assert!(!of(|tick| tick.pushes = 9));
    assert!(of(|tick| tick.waiting_us = 9));
    assert!(of(|tick| tick.behind_us = 9));
    assert!(of(|tick| tick.due = 9));
    assert!(of(|tick| tick.errors = [("timeout".to_owned(), 9)].into()));
    assert!(of(|tick| tick.outage_s = 0.25));
}

#[test]
fn seconds_in_a_row_may_belong_to_several_segments() {
    let ended = |aside: fn(u32) -> bool| {
        let mut abort = Abort::of(&["p99 > 5ms".parse().unwrap()]).unwrap().unwrap();
        (1..=40_u32).find_map(|n| {
            let knobs = Knobs { load: !aside(n), ..Knobs::default() };
            let service = repeated(9_000_000, 2000);
            let (t_s, length_s, ops) = (f64::from(n) / 4.0, 0.25, 2000);
            let tick = Interval { t_s, length_s, segment: n, ops, service, ..Interval::default() };
            let records =
                [Record::Segment(Segment::new(t_s - 0.25, n, knobs)), Record::Interval(Box::new(tick))];
            let mut orders = records
                .into_iter()
                .flat_map(|record| abort.take(&Delivery::Record(Arc::new(record))))
                .collect::<Vec<_>>();
            orders.pop().map(|_| n)
        })
    };
    assert_eq!(ended(|_| false), Some(20));
    assert_eq!(ended(|n| n % 8 == 0), None, "a pause begins a new count");
}

#[test]
fn a_condition_on_the_cpu_of_the_server_ends_a_run_too() {
    // `is_polled` returns whether the server was polled in a second.
    let ended_if = |condition: &str, is_polled: fn(u32) -> bool| {
        let mut abort = Abort::of(&[condition.parse().unwrap()]).unwrap().unwrap();
        let mut take = |record: Record| abort.take(&Delivery::Record(Arc::new(record)));
        let poll = |t_s| {
            let status = Status { gauges: [(Gauge::Cpu, 0.9)].into(), ..Status::default() };
            Record::Server(Box::new(Moment::new(t_s, status)))
        };
        take(Record::Segment(Segment::new(0.0, 1, Knobs::default())));
        take(poll(0.5));
        take(Record::Segment(Segment::new(0.6, 1, Knobs { load: true, ..Knobs::default() })));
        (1..=11_u32).find(|n| {
            let t_s = f64::from(*n);
            if is_polled(*n) {
                take(poll(t_s - 0.1));
            }
            let second = Interval { t_s, length_s: 1.0, segment: 1, ops: 2000, ..Interval::default() };
            !take(Record::Interval(Box::new(second))).is_empty()
        })
    };
    let ended = |condition| ended_if(condition, |_| true);
    assert_eq!((ended("server_cpu > 0.5"), ended("server_cpu > 0.95")), (Some(5), None));
    assert_eq!(ended_if("server_cpu > 0.5", |n| n % 2 == 0), Some(10), "each poll counts once");
    assert_eq!(ended_if("server_cpu > 0.5", |_| false), None, "a poll before the load does not count");
}

/// Returns the reason for the end of a session without load. `seconds` has the round trip of PING in each second, in
/// milliseconds. 0 means a second in which a PING waits.
fn ended_by_pings(condition: &str, seconds: &[u64]) -> Option<String> {
    let mut abort = Abort::of(&[condition.parse().unwrap()]).unwrap().unwrap();
    let mut take = |record: Record| abort.take(&Delivery::Record(Arc::new(record)));
    take(Record::Segment(Segment::new(0.0, 1, Knobs::default())));
    seconds.iter().flat_map(|ms| [ms; 4]).enumerate().find_map(|(n, ms)| {
        let rtt = repeated(ms * 1_000_000, if *ms > 0 { 25 } else { 0 });
        let waiting_us = if *ms > 0 { 0 } else { 250_000 };
        let ping = Ping { rtt, waiting_us, ..Ping::default() };
        let orders = take(Record::Ping(Box::new(Span::new((n + 1) as f64 / 4.0, 0.25, ping))));
        match &orders[..] {
            [] => None,
            [Order::Mark(mark), Order::End] => Some(mark.text.clone()),
            _ => panic!("{orders:?}"),
        }
    })
}

#[test]
fn a_condition_on_ping_ends_a_session_without_load() {
    let text = ended_by_pings("ping_p90 > 5ms", &[1, 9, 9, 9, 9, 1, 9, 9, 9, 9, 9, 9]).unwrap();
    assert_eq!(
        text,
        "--abort-if 'ping_p90 > 5ms' was met for 5 s: ping p90 9.00 ms at 00:11; the run was ended"
    );
    assert_eq!(ended_by_pings("ping_max > 5ms", &[1, 9, 9, 9, 9, 1, 1]), None);
    let silent = ended_by_pings("ping_p50_us > 5ms", &[1, 0, 0, 0, 0, 0]).unwrap();
    assert!(silent.contains("no reply at 00:06"), "{silent}");
    assert_eq!(ended_by_pings("ping_p50 < 5ms", &[0; 9]), None);
}

#[test]
fn the_p99_of_ping_is_that_of_the_last_15_seconds() {
    let fast = [1; 30];
    assert_eq!(ended_by_pings("ping_p99 > 5ms", &fast), None);
    let slow = [&fast[..], &[9; 5]].concat();
    assert!(ended_by_pings("ping_p99 > 5ms", &slow).unwrap().contains("ping p99 9.00 ms at 00:35"));
    assert_eq!(ended_by_pings("ping_p99 > 5ms", &[9; 8]), None, "too few samples");
    let refused = Abort::of(&["ping_p99.9 > 5ms".parse().unwrap()]).err().unwrap().to_string();
    assert!(
        refused.contains("15 s contain too few PINGs for this percentile; give ping_p99 or"),
        "{refused}"
    );
}

#[test]
fn a_condition_on_a_change_is_refused() {
    let refused = Abort::of(&["p99 > +10%".parse().unwrap()]).err().unwrap().to_string();
    assert!(
        refused.contains("is a condition on the change from another run; give a limit such as"),
        "{refused}"
    );
}
