//! Tests of comparisons with simulated runs.

use std::collections::BTreeMap;

use super::*;
use crate::{
    knobs::{Arrivals, Knobs},
    session::{
        Client, Interval, OperationInterval, ReceivedMessages, Record, Segment, ServerIdentity, SessionStart,
        Timeline,
        figures::{self, Row},
    },
    stats::{
        Reason, Verdict,
        fixture::{latency_of, repeated},
        simulated::NoiseSource,
    },
    workload::Workload,
};

mod conditions;

/// Returns a recording that began at `hour`. `seconds` has the replies and the service time of each second.
fn recording(server: &str, hour: u32, knobs: &Knobs, seconds: &[(u64, f64)]) -> Timeline {
    let target = ServerIdentity { server: server.to_owned(), ..ServerIdentity::default() };
    let mut session = SessionStart::now(target);
    session.started = format!("2026-11-22T{hour:02}:00:00Z");
    let mut timeline = Timeline::with_all_segments();
    timeline.push(&Record::Session(session));
    timeline.push(&Record::Segment(Segment::new(0.0, 1, Knobs { load: true, ..knobs.clone() })));
    for (n, (ops, us)) in seconds.iter().enumerate() {
        let service = latency_of((0..400).map(|n| (us * 1000.0 * (1.0 + f64::from(n) / 400.0)) as u64));
        let response = knobs.rate.map(|_| service.clone());
        let command =
            OperationInterval { ops: ops / 2, service: service.clone(), ..OperationInterval::default() };
        timeline.push(&Record::Interval(Box::new(Interval {
            t_s: 1.0 + n as f64,
            length_s: 1.0,
            segment: 1,
            ops: *ops,
            ops_per_s: *ops as f64,
            service,
            response,
            commands: [("GET".to_owned(), command.clone()), ("SET".to_owned(), command)].into(),
            ..Interval::default()
        })));
    }
    timeline
}

fn run_at(hour: u32, knobs: &Knobs, ops: u64, us: f64) -> Run {
    let mut chance = NoiseSource::new(u64::from(hour) + ops);
    let mut noise = || 1.0 + 0.01 * chance.normal();
    let seconds: Vec<_> = (0..30).map(|_| ((ops as f64 * noise()) as u64, us * noise())).collect();
    Run::of("a.jsonl", &recording("redis 7.0.15", hour, knobs, &seconds), None).unwrap()
}

fn row<'a>(compared: &'a RunComparison, name: &str) -> &'a Difference {
    compared.table.rows.iter().find(|row| row.name() == name).unwrap()
}

#[test]
fn a_planned_workload_is_compared_as_a_recording_contains_it() {
    let of = |step: &str| {
        let mut workload = Workload::clone(&Workload::ratio(1, 1));
        workload.operations[1].steps = vec![step.to_owned()];
        Knobs { load: true, workload: workload.into(), ..Knobs::default() }
    };
    let long = format!("SET {{key}} {}", "x".repeat(600));
    let base = run_at(1, &of(&crate::untrusted::text(&long)), 100, 100.0);
    assert_eq!(planned_mismatches(&base, &of(&long)), [""; 0]);
    let other = "workload: operations with the same names but different commands";
    assert_eq!(planned_mismatches(&base, &of("SET {key} y")), [other]);
}

#[test]
fn repeats_distinguish_a_difference_from_noise() {
    let knobs = Knobs::default();
    let side =
        |ops, us, first: u32| -> Vec<_> { (0..3).map(|n| run_at(first + 2 * n, &knobs, ops, us)).collect() };
    let compared = RunComparison::of(&side(10_000, 100.0, 1), &side(10_000, 110.0, 2));
    assert!(!compared.is_sequential);
    assert_eq!(row(&compared, "p99").verdict, Some(Verdict::Worse));
    assert!((row(&compared, "GET p50").change.unwrap() - 0.1).abs() < 0.01);
    let ops = row(&compared, "ops/s");
    assert!(matches!(ops.verdict, Some(Verdict::Same { .. })), "{ops:?}");
    let (low, high) = row(&compared, "p50").interval.unwrap();
    assert!(low < 0.1 && 0.1 < high && high - low < 0.05, "{low} {high}");
    assert!(RunComparison::of(&side(1000, 100.0, 1), &side(1000, 100.0, 10)).is_sequential);
}

#[test]
fn received_and_lost_messages_are_compared() {
    let run = |hour, us: u64, lost| {
        let mut run = run_at(hour, &Knobs::default(), 1000, 50.0);
        let received = ReceivedMessages {
            times: repeated(us * 1000, 3000),
            lost: Some(lost),
            ..ReceivedMessages::default()
        };
        run.segment.total.arrivals.delivery = Some(received.into());
        run
    };
    let compared = RunComparison::of(&[run(1, 90, 0), run(3, 90, 0)], &[run(2, 180, 0), run(4, 180, 6)]);
    assert_eq!(row(&compared, "lost").values, [Some(0.0), Some(6.0)]);
    assert!(row(&compared, "dlv p50").change.is_some_and(|change| (0.98..1.02).contains(&change)));
    assert!(compared.table.rows.iter().all(|row| row.name() != "hand p50"));
}

#[test]
fn several_runs_have_the_largest_maximum_and_the_sum_of_the_errors() {
    let run = |hour, us, errors| {
        let mut run = run_at(hour, &Knobs::default(), 1000, us);
        run.segment.total.errors = [("timeout".to_owned(), errors)].into();
        run
    };
    let (base, new) = ([run(1, 50.0, 1), run(3, 90.0, 5)], [run(2, 70.0, 0), run(4, 60.0, 0)]);
    let max =
        |runs: &[Run; 2]| runs.iter().map(|run| run.segment.total.service.max_ns() as f64).reduce(f64::max);
    let compared = RunComparison::of(&base, &new);
    assert_eq!(row(&compared, "max").values, [max(&base), max(&new)]);
    assert_eq!(row(&compared, "errors").values, [Some(6.0), Some(0.0)]);
}

/// Compares three runs of each of two alternating settings. The second setting has longer service times and less
/// throughput, by the share `more`. Runs of the same setting differ by 2 %, and the seconds of a run by 1 %. Returns
/// how often each figure received each verdict.
fn judged(more: f64, times: u64) -> BTreeMap<(String, &'static str), u64> {
    let knobs = Knobs::default();
    let mut counts = BTreeMap::new();
    for number in 0..times {
        let mut chance = NoiseSource::new(number);
        let mut run = |hour: u32, factor: f64| {
            let factor = factor * (0.02 * chance.normal()).exp();
            let mut second = || factor * (0.01 * chance.normal()).exp();
            let seconds: Vec<_> = (0..5).map(|_| ((10_000.0 / second()) as u64, 100.0 * second())).collect();
            Run::of("a.jsonl", &recording("redis 7.0.15", hour, &knobs, &seconds), None).unwrap()
        };
        let (mut base, mut new) = (Vec::new(), Vec::new());
        for hour in [0, 2, 4] {
            base.push(run(hour, 1.0));
            new.push(run(hour + 1, 1.0 + more));
        }
        for row in RunComparison::of(&base, &new).table.rows {
            let word = row.verdict.map(Verdict::word).unwrap_or_default();
            *counts.entry((row.name(), word)).or_default() += 1;
        }
    }
    counts
}

#[test]
fn repeats_of_one_setting_are_called_different_in_at_most_five_percent() {
    let times = 1000;
    let counts = judged(0.0, times);
    let count = |name: &str, verdict| counts.get(&(name.to_owned(), verdict)).copied().unwrap_or_default();
    for name in ["ops/s", "p50", "p90", "p99", "GET p50", "SET p99"] {
        let wrong = count(name, "better") + count(name, "worse");
        // About 4 % are expected.
        assert!(wrong * 100 <= times * 5, "{name}: {wrong} of {times}");
        assert!(
            wrong + count(name, "no difference") + count(name, "not clear") == times,
            "{name}: {counts:?}"
        );
    }
}

#[test]
fn a_difference_of_10_percent_is_found_if_runs_vary_by_2_percent() {
    let times = 100;
    let counts = judged(0.1, times);
    for name in ["ops/s", "p50", "p90", "p99", "GET p50", "SET p99"] {
        let found = counts.get(&(name.to_owned(), "worse")).copied().unwrap_or_default();
        assert!(found * 20 >= times * 19, "{name}: {found} of {times}");
        assert!(!counts.contains_key(&(name.to_owned(), "better")), "{name}: {counts:?}");
    }
}

#[test]
fn one_run_each_may_be_drift() {
    let knobs = Knobs::default();
    let compared = RunComparison::of(&[run_at(1, &knobs, 10_000, 100.0)], &[run_at(2, &knobs, 8_000, 130.0)]);
    assert!(compared.is_sequential);
    for name in ["ops/s", "p50", "p99"] {
        assert_eq!(row(&compared, name).verdict, Some(Verdict::NotClear(Reason::Drift)), "{name}");
    }
    assert_eq!(row(&compared, "p99.9").verdict, None);
    assert_eq!(row(&compared, "p99.9").words(), "");
}

/// Within one session, the comparison of seconds accounts for the drift of the machine.
#[test]
fn segments_of_one_session_are_judged_by_their_seconds() {
    let knobs = Knobs::default();
    let [base, new] = [run_at(1, &knobs, 10_000, 100.0), run_at(1, &knobs, 8_000, 130.0)];
    let of = |figure| {
        let mut later = new.segment.clone();
        later.start.t_s = 30.0;
        Difference::of_segments(&base.segment, &later, figure, 60.0)
    };
    let ops = of(figures::OPS_PER_S);
    assert_eq!((ops.verdict, ops.words().as_str()), (Some(Verdict::Worse), "worse: more than noise"));
    assert!((ops.change.unwrap() + 0.2).abs() < 0.01 && ops.range().unwrap().starts_with("-2"), "{ops:?}");
    assert_eq!(of(figures::SERVICE_P99).verdict, Some(Verdict::Worse));
    let longest = of(figures::SERVICE_MAX);
    assert!(longest.change.is_some() && longest.verdict.is_none(), "{longest:?}");
}

#[test]
fn an_unclear_verdict_has_a_reason_and_says_what_would_decide() {
    let words = |reason| {
        let unjudged = Difference::unjudged(None, figures::SERVICE_P99, [None, None]);
        Difference { verdict: Some(Verdict::NotClear(reason)), ..unjudged }.words()
    };
    let after = |first, second| words(Reason::MoreSeconds { first, second });
    assert_eq!(after(None, 90.0), "not clear: about 90 s more would decide");
    assert_eq!(after(Some(70.0), 1.0), "not clear: about 1 s more, and 70 s more of the base, would decide");
    assert_eq!(words(Reason::Drift), "not clear: drift is possible; repeat both in alternation");
}

#[test]
fn settings_that_differ_are_named() {
    let base = run_at(1, &Knobs::default(), 1000, 100.0);
    let differs = |knobs: Knobs, server: &str| {
        let other = recording(server, 2, &knobs, &[(1000, 100.0)]);
        mismatches(std::slice::from_ref(&base), &[Run::of("b", &other, None).unwrap()])
    };
    assert_eq!(differs(Knobs::default(), "redis 7.2.0"), [""; 0], "another version is no other kind");
    assert_eq!(differs(Knobs::default(), "valkey 8.1.0"), ["target: redis and valkey"]);
    assert_eq!(differs(Knobs { clients: 7, ..Knobs::default() }, "redis 8"), ["clients: 50 and 7"]);
    let two = differs(Knobs { rate: Some(500), pipeline: 3, ..Knobs::default() }, "redis 8");
    assert_eq!(two, ["pipeline: 1 and 3", "rate: max and 500/s"]);
    let get = Knobs { workload: Workload::ratio(0, 1), ..Knobs::default() };
    assert_eq!(differs(get, "redis 8"), ["workload: SET:GET 1:10 and GET"]);
    let larger = Knobs { value_size: 100, keyspace: 7, ..Knobs::default() };
    assert_eq!(differs(larger, "redis 8"), ["value size: 32 and 100", "keys: 10 k keys and 7 keys"]);
    let hot = Knobs::default().workload.with_distribution("zipfian".parse().unwrap());
    let hot = Knobs { workload: hot, reconnect: Some(9), ..Knobs::default() };
    let expected = ["keys: 10 k keys and 10 k keys, zipfian 0.99", "reconnect: never and 9"];
    assert_eq!(differs(hot, "redis 8"), expected);
    let open = |arrivals| Knobs { rate: Some(500), arrivals, ..Knobs::default() };
    let [even, poisson] = [Arrivals::Constant, Arrivals::Poisson].map(|arrivals| {
        [Run::of("b", &recording("redis 8", 2, &open(arrivals), &[(500, 100.0)]), None).unwrap()]
    });
    assert_eq!(mismatches(&even, &poisson), ["rate: 500/s and 500/s poisson"]);
}

#[test]
fn another_kind_of_target_is_named() {
    let base = run_at(1, &Knobs::default(), 1000, 100.0);
    let other = |change: fn(&mut ServerIdentity)| {
        let mut run = base.clone();
        change(&mut run.session.target);
        mismatches(std::slice::from_ref(&base), &[run])
    };
    assert_eq!(
        other(|target| target.server = "memcached 1.6.18".to_owned()),
        ["target: redis and memcached"]
    );
    assert_eq!(other(|target| target.built_in = true), ["target: redis and the built-in server"]);
    assert_eq!(other(|target| target.mode = "cluster".to_owned()), ["target: redis and redis cluster"]);
    assert_eq!(other(|target| target.address = "elsewhere:1".to_owned()), [""; 0]);
}

#[test]
fn operations_with_the_same_name_may_have_different_commands() {
    let asks = |command: &str| {
        let workload = Workload::of_commands(&command.split(' ').map(str::to_owned).collect::<Vec<_>>());
        let knobs = Knobs { workload: workload.unwrap().into(), ..Knobs::default() };
        [Run::of("a", &recording("redis 8", 1, &knobs, &[(500, 100.0)]), None).unwrap()]
    };
    let (one, two) = (asks("LRANGE {key} 0 9"), asks("LRANGE {key} 0 99"));
    assert_eq!(mismatches(&one, &one), [""; 0]);
    assert_eq!(mismatches(&one, &two), ["workload: operations with the same names but different commands"]);
}

#[test]
fn the_segment_must_be_given_if_there_are_several() {
    let mut timeline = recording("redis 7", 1, &Knobs::default(), &[(1000, 100.0)]);
    let second = Knobs { load: true, clients: 9, ..Knobs::default() };
    timeline.push(&Record::Segment(Segment::new(1.0, 2, second)));
    let interval = Interval { t_s: 2.0, length_s: 1.0, segment: 2, ops: 5, ..Interval::default() };
    timeline.push(&Record::Interval(Box::new(interval)));
    let error = Run::of("a", &timeline, None).unwrap_err();
    assert!(error.starts_with("a has 2 segments under load (1: 50 clients × 1,"), "{error}");
    assert!(error.ends_with("; name one: a#1"), "{error}");
    assert_eq!(Run::of("a", &timeline, Some(2)).unwrap().name, "a#2");
    assert!(Run::of("a", &timeline, Some(3)).unwrap_err().starts_with("a has no segment 3"));
    assert_eq!(Run::of("a", &Timeline::default(), None).unwrap_err(), "a has no segment under load");
}

/// A setting with only failed requests also counts as a run.
#[test]
fn a_segment_with_only_errors_is_a_run() {
    let mut timeline = recording("redis 7", 1, &Knobs::default(), &[]);
    let mut fail = |segment| {
        let errors = [("WRONGTYPE".to_owned(), 640)].into();
        let failed = Interval { t_s: 2.0, length_s: 1.0, segment, errors, ..Interval::default() };
        timeline.push(&Record::Interval(Box::new(failed)));
        let run = Run::of("a", &timeline, None);
        timeline.push(&Record::Segment(Segment::new(
            2.0,
            segment + 1,
            Knobs { load: true, ..Knobs::default() },
        )));
        run
    };
    let failed = fail(1).unwrap();
    let compared = RunComparison::of(&[run_at(1, &Knobs::default(), 1000, 50.0)], &[failed]);
    assert_eq!(row(&compared, "errors").values, [Some(0.0), Some(640.0)]);
    assert!(fail(2).unwrap_err().starts_with("a has 2 segments under load ("));
}

/// Returns a session of 30 s without load, in which PING takes `ping_us` and the server has this number of `clients`.
fn monitored(ping_us: u64, clients: f64) -> Timeline {
    let mut timeline = Timeline::default();
    timeline.push(&Record::Session(SessionStart::now(ServerIdentity::default())));
    timeline.push(&Record::Segment(Segment::new(0.0, 1, Knobs::default())));
    for t_s in (1..=30).map(f64::from) {
        let rtt = repeated(ping_us * 1000, 100);
        let ping = crate::probe::Ping { rtt, ..Default::default() };
        timeline.push(&Record::Ping(Box::new(crate::session::Span::new(t_s, 1.0, ping))));
        let gauges = [(crate::gauge::Gauge::Clients, clients)].into();
        let status = crate::server::Status { gauges, poll_s: Some(1.0), ..Default::default() };
        timeline.push(&Record::Server(Box::new(crate::session::Moment::new(t_s, status))));
    }
    timeline
}

#[test]
fn sessions_without_load_are_compared_on_ping_and_gauges() {
    let run = |ping_us, clients| Run::of("night", &monitored(ping_us, clients), None).unwrap();
    let compared = RunComparison::of(&[run(100, 10.0)], &[run(150, 20.0)]);
    assert_eq!(compared.mismatches, Vec::<String>::new());
    let rows: Vec<_> =
        compared.table.rows.iter().map(|row| [row.name(), row.written(0), row.written(1)]).collect();
    assert_eq!(rows[0], ["ping p50", "100 µs", "150 µs"]);
    assert_eq!(rows.last().unwrap(), &["clients", "10", "20"]);
    let four = |ping_us| [100_u64, 101, 102, 103].map(|n| run(ping_us * n, 10.0));
    let judged = RunComparison::of(&four(1), &four(2)).table.rows;
    let loaded = run_at(1, &Knobs::default(), 1000, 100.0);
    let misfits = RunComparison::of(&[loaded], &[run(100, 10.0)]).mismatches;
    assert_eq!(misfits, ["night has no segment under load"]);
    assert!(judged[0].words().starts_with("worse"), "{judged:?}");
    assert_eq!(judged.last().unwrap().words(), "", "clients are neither better nor worse");
}
