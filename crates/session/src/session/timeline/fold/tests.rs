//! Tests of the timeline: its windows, totals and errors after some records.

use super::*;
use crate::{
    knobs::Knobs,
    server::ConnectedClients,
    session::{Summary, timeline::Level},
    stats::{Latency, fixture::repeated},
};

fn segment(t_s: f64, number: u32) -> Record {
    Record::Segment(Segment::new(t_s, number, Knobs::default()))
}

fn interval(segment: u32, t_s: f64, length_s: f64, latency: Latency) -> Record {
    let ops = latency.count();
    let service = latency;
    Record::Interval(Box::new(Interval { t_s, length_s, segment, ops, service, ..Interval::default() }))
}

fn fold(records: impl IntoIterator<Item = Record>) -> Timeline {
    let mut timeline = Timeline::default();
    records.into_iter().for_each(|record| timeline.push(&record));
    timeline
}

#[test]
fn a_tick_sums_the_throughput_of_all_its_segments_and_mixes_no_percentile() {
    let timeline = fold([
        segment(0.0, 1),
        interval(1, 0.1, 0.1, repeated(1_000, 100)),
        segment(0.1, 2),
        interval(2, 0.25, 0.15, repeated(500_000, 50)),
        interval(1, 0.25, 0.0, repeated(90_000_000, 1)),
    ]);
    let second = timeline.window(0.0, 1.0, 1);
    assert_eq!(second.load()[0].as_ref().map(|cell| cell.ops), Some(151));
    let cell = second.levels(Measure::Service)[0].unwrap();
    assert!(cell.get(Level::P50).is_some_and(|ns| ns.abs_diff(500_000) < 16_000));
    assert_eq!(cell.get(Level::Max), Some(90_000_000));
    assert_eq!(timeline.lane(Measure::Service).minute().count(), 50);
    let totals: Vec<_> = timeline.segments.iter().map(|s| s.total.ops).collect();
    assert_eq!(totals, [101, 50]);
}

#[test]
fn rates_are_of_the_current_segment_and_none_without_measurement() {
    let mut timeline = fold([segment(0.0, 1), interval(1, 0.25, 0.25, repeated(1_000, 100))]);
    assert_eq!((timeline.ops_per_s(), timeline.ops_per_s_minute()), (Some(400.0), Some(400.0)));
    timeline.push(&segment(0.25, 2));
    assert_eq!(timeline.ops_per_s(), None);
    timeline.push(&interval(2, 0.5, 0.25, repeated(1_000, 10)));
    assert_eq!((timeline.ops_per_s(), timeline.ops_per_s_minute()), (Some(40.0), Some(40.0)));
}

#[test]
fn a_late_tick_does_not_lower_the_rate_of_the_minute() {
    let mut timeline = fold([segment(0.2, 1), interval(1, 0.252, 0.052, repeated(1_000, 52))]);
    assert!(timeline.ops_per_s_minute().is_some_and(|rate| (rate - 1000.0).abs() < 1e-6));
    for tick in 2..=400 {
        timeline.push(&interval(1, f64::from(tick) * 0.25 + 0.002, 0.25, repeated(1_000, 250)));
    }
    assert!(timeline.ops_per_s_minute().is_some_and(|rate| (rate - 1000.0).abs() < 1e-6));
}

#[test]
fn time_without_measurements_is_a_gap() {
    let timeline = fold([
        segment(0.0, 1),
        interval(1, 1.0, 0.25, repeated(1_000, 100)),
        interval(1, 4.0, 0.25, repeated(1_000, 100)),
    ]);
    let window = timeline.window(-1.0, 4.0, 5);
    let known: Vec<_> = window.levels(Measure::Service).iter().map(Option::is_some).collect();
    assert_eq!(known, [false, true, false, false, true]);
    assert_eq!(window.load()[2], None);
}

#[test]
fn a_status_covers_the_seconds_since_the_previous_status() {
    let status = |t_s, cpu| {
        let gauges = [(Gauge::Cpu, cpu)].into();
        Record::Server(Box::new(Moment::new(t_s, Status { gauges, ..Status::default() })))
    };
    let timeline = fold([status(0.99, 0.1), status(2.01, 0.2), status(60.0, 0.3)]);
    let server = timeline.window(0.0, 60.0, 60).server();
    let cpu = [0, 1, 3, 53, 55, 59]
        .map(|second: usize| server[second].as_ref().and_then(|c| c.highest(Gauge::Cpu)));
    assert_eq!(cpu, [Some(0.1), Some(0.2), None, None, Some(0.3), Some(0.3)]);
}

#[test]
fn errors_come_from_load_and_ping_with_their_first_message() {
    let errors = [("OOM".to_owned(), 3)].into();
    let lost = [("timeout".to_owned(), 25)].into();
    let what = EventKind::FirstError { error: "OOM".to_owned(), message: "OOM no memory".to_owned() };
    let timeline = fold([
        Record::Interval(Box::new(Interval { t_s: 1.0, length_s: 0.25, errors, ..Interval::default() })),
        Record::Ping(Box::new(Span::new(1.0, 0.25, Ping { errors: lost, ..Ping::default() }))),
        Record::Event(Event::new(1.0, what)),
    ]);
    let errors = timeline.window(0.0, 1.0, 1).errors();
    assert_eq!(errors[0].as_ref().map(ErrorCell::of_requests), Some(3), "without the errors of PING");
    let kinds: Vec<_> = timeline.errors.by_count().into_iter().map(|(k, e)| (k, e.count)).collect();
    assert_eq!(kinds, [("timeout", 25), ("OOM", 3)]);
    let before = timeline.at(0.9).errors().into_owned();
    let pings = before.by_count().into_iter().map(|(kind, error)| (kind, error.ping));
    assert!(pings.eq([("timeout", Some("PING")), ("OOM", None)]), "{before:?}");
    let summary = timeline.summary();
    assert_eq!(summary.first_errors.get("OOM").map(String::as_str), Some("OOM no memory"));
}

#[test]
fn the_summary_of_the_end_record_replaces_the_sum() {
    let summary = Summary { ops: 7, ..Summary::default() };
    let timeline = fold([
        segment(0.0, 1),
        interval(1, 0.25, 0.25, repeated(1_000, 100)),
        Record::End(Box::new(SessionEnd { t_s: 1.0, summary: summary.clone(), ..SessionEnd::default() })),
    ]);
    assert_eq!(timeline.summary(), summary);
}

#[test]
fn the_last_client_list_is_kept_until_the_next_one() {
    let status = |t_s, total: Option<u64>| {
        let clients = total.map(|total| ConnectedClients { total, ..ConnectedClients::default() });
        Record::Server(Box::new(Moment::new(t_s, Status { clients, ..Status::default() })))
    };
    let total =
        |records: Vec<Record>| fold(records).status.unwrap().body.clients.map(|clients| clients.total);
    assert_eq!(total(vec![status(1.0, None)]), None);
    assert_eq!(total(vec![status(1.0, Some(7)), status(2.0, None), status(3.0, None)]), Some(7));
    assert_eq!(total(vec![status(1.0, Some(7)), status(2.0, None), status(6.0, Some(9))]), Some(9));
}
