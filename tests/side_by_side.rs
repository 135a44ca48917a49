//! One session measures two targets on one axis: what each is asked, answers and suffers is reported for it alone.

use std::{collections::BTreeSet, sync::Arc};

use crate::support::{
    Server,
    session::{Driven, Past, at_port, events, intervals, plan},
};
use redyno::{
    knobs::Knobs,
    load::LoadPlan,
    session::{Record, Recording, SessionWriter, Timeline, TimelineOptions},
    workload::preset,
};

fn knobs(load: bool) -> Knobs {
    let workload = preset("mixed").unwrap();
    Knobs { load, clients: 10, keyspace: 1000, workload, ..Knobs::default() }
}

/// A session over both servers, with load on those that are to have it.
fn start(servers: &[Server; 2], loads: [bool; 2]) -> Driven {
    let side = |(server, load): (&Server, bool)| {
        (LoadPlan { threads: 2, ..plan(at_port(server.port())) }, knobs(load))
    };
    Driven::start_beside(servers.iter().zip(loads).map(side).collect())
}

/// What of these is this node's.
fn of_node(records: &[Arc<Record>], node: u16) -> impl Iterator<Item = &Record> {
    records.iter().map(AsRef::as_ref).filter(move |record| record.is_of(node))
}

/// Waits until target number `target` has so many good replies in its segment number `segment`.
fn wait_for_work(session: &mut Driven, target: u16, segment: u32, ops: u64) {
    session.wait_for(&format!("{ops} ops of target {target} in its segment {segment}"), |records| {
        let own: Vec<_> = of_node(records, target).collect();
        let mine = own.iter().filter_map(|record| match record {
            Record::Interval(interval) if interval.segment == segment => Some(interval.ops),
            _ => None,
        });
        (mine.sum::<u64>() >= ops).then_some(())
    });
}

fn assert_counts_are_the_servers(past: &Past, server: &Server) {
    past.assert_every_request_has_one_end();
    for (label, command) in [("GET", "get"), ("SET", "set")] {
        assert_eq!(past.ops()[label], server.calls(&[], command), "{label}");
    }
    assert_eq!(past.errors().len(), 0, "{:?}", past.errors());
}

#[test]
fn two_targets_under_the_same_load_are_counted_apart_as_they_count_themselves() {
    let servers = [Server::redis().start(), Server::valkey().start()];
    let mut session = start(&servers, [true, true]);
    (0..2).for_each(|target| wait_for_work(&mut session, target, 1, 2000));
    let mut other = knobs(true);
    other.pipeline = 8;
    (0..2).for_each(|target| session.live().set_knobs(target, other.clone()));
    (0..2).for_each(|target| wait_for_work(&mut session, target, 2, 2000));
    let past = session.finish();
    for (target, server) in (0..2).zip(&servers) {
        let own = past.of(target);
        assert_counts_are_the_servers(&own, server);
        let mut timeline = Timeline::new(TimelineOptions::default());
        own.records.iter().for_each(|record| timeline.push(record));
        let segments: Vec<_> = timeline.segments.iter().map(|s| s.start.knobs.pipeline).collect();
        assert_eq!(segments, [1, 8]);
        let ops: Vec<_> = timeline.segments.iter().map(|segment| segment.total.ops).collect();
        assert_eq!(ops, [own.segment(1).ops, own.segment(2).ops]);
        let pings = own.records.iter().filter(|record| matches!(&***record, Record::Ping(_)));
        assert!(pings.count() > 0, "each target is pinged");
        assert_eq!(own.end.summary.ops, own.intervals().map(|interval| interval.ops).sum::<u64>());
    }
    let ticks = |target| -> BTreeSet<u64> { past.of(target).intervals().map(|i| i.tick).collect() };
    assert!(ticks(0).intersection(&ticks(1)).count() > 0, "their ticks have the same numbers");
    let last = past.records.last().unwrap();
    assert!(matches!(&**last, Record::End(_)), "the first target's end is the session's");
}

#[test]
fn load_that_goes_from_one_target_to_the_other_is_in_the_segments_of_each() {
    let servers = [Server::redis().start(), Server::valkey().start()];
    let mut session = start(&servers, [true, false]);
    wait_for_work(&mut session, 0, 1, 1000);
    session.live().carry(0);
    session.live().set_knobs(1, knobs(true));
    session.live().carry(1);
    wait_for_work(&mut session, 1, 2, 1000);
    let past = session.finish();
    let [first, second] = [past.of(0), past.of(1)];
    assert_counts_are_the_servers(&first, &servers[0]);
    assert_counts_are_the_servers(&second, &servers[1]);
    let segments = |past: &Past| -> Vec<(bool, f64)> {
        let segments = past.records.iter().filter_map(|record| match &**record {
            Record::Segment(segment) => Some((segment.knobs.load, segment.t_s)),
            _ => None,
        });
        segments.collect()
    };
    let ([(true, _), (false, ended_s)], [(false, _), (true, begun_s)]) =
        (&segments(&first)[..], &segments(&second)[..])
    else {
        panic!("{:?} {:?}", segments(&first), segments(&second))
    };
    assert!(begun_s >= ended_s, "it begins where it goes to when it has ended where it was");
    assert_eq!(second.segment(1).ops, 0);
    // What was in flight when the load went off belongs to the segment before.
    assert_eq!(first.segment(2).ops, 0);
}

#[test]
fn an_outage_of_one_target_is_none_of_the_other() {
    let mut servers = [Server::redis().start(), Server::redis().start()];
    let mut session = start(&servers, [true, true]);
    (0..2).for_each(|target| wait_for_work(&mut session, target, 1, 1000));
    servers[1].kill();
    session.wait_for("the loss", |records| {
        let lost = of_node(records, 1).filter_map(|record| match record {
            Record::Event(event) => Some(event.what.name()),
            _ => None,
        });
        let shown: BTreeSet<_> = lost.collect();
        (shown.contains("load lost") && shown.contains("ping lost")).then_some(())
    });
    servers[1].restart();
    session.wait_for("its return", |records| {
        let back = |record: &Record| matches!(record, Record::Event(e) if e.what.name() == "load back");
        of_node(records, 1).any(back).then_some(())
    });
    let past = session.finish();
    let [first, second] = [past.of(0), past.of(1)];
    assert_eq!(events(&first.records), [""; 0]);
    assert_counts_are_the_servers(&first, &servers[0]);
    assert_eq!(first.end.summary.outage_s, 0.0);
    assert_eq!(second.end.summary.connections_lost["reset"], 10);
    second.assert_every_request_has_one_end();
}

#[test]
fn both_targets_are_in_the_recording_by_the_second() {
    let servers = [Server::redis().start(), Server::redis().start()];
    let mut session = start(&servers, [false, false]);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("both.jsonl");
    let (recording, listener) = Recording::start(SessionWriter::create(&path).unwrap()).unwrap();
    session.live().listen(listener);
    // The recording contains only the load that begins after this line.
    (0..2).for_each(|target| session.live().set_knobs(target, knobs(true)));
    session.wait_for("two seconds", |records| intervals(records).any(|i| i.t_s > 2.2).then_some(()));
    let past = session.finish();
    recording.finish().unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let read: Vec<Record> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for target in 0..2 {
        let own: Vec<_> = read.iter().filter(|record| record.is_of(target)).collect();
        let ops = own.iter().map(|record| match record {
            Record::Interval(interval) => interval.ops,
            _ => 0,
        });
        assert_eq!(ops.sum::<u64>(), past.of(target).end.summary.ops);
        let stretches = own.iter().filter(|record| matches!(record, Record::Interval(_))).count();
        assert!(stretches < past.of(target).intervals().count(), "ticks become seconds: {stretches}");
    }
}

#[test]
fn a_recording_that_is_stopped_by_hand_ends_with_the_sum_of_each_target() {
    let mut servers = [Server::redis().start(), Server::redis().start()];
    let mut session = start(&servers, [true, true]);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("both.jsonl");
    let (recording, listener) = Recording::start(SessionWriter::create(&path).unwrap()).unwrap();
    session.live().listen(listener);
    (0..2).for_each(|target| wait_for_work(&mut session, target, 1, 1000));
    servers[1].kill();
    session.wait_for("the loss", |records| {
        let lost = |record: &Record| matches!(record, Record::Event(e) if e.what.name() == "error");
        of_node(records, 1).any(lost).then_some(())
    });
    session.wait_for("the loss in the file", |_| {
        std::fs::read_to_string(&path).unwrap().contains("\"event\":\"first_error\"").then_some(())
    });
    recording.stop();
    recording.finish().unwrap();
    session.finish();
    let text = std::fs::read_to_string(&path).unwrap();
    let read: Vec<Record> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for target in 0..2 {
        let own: Vec<_> = read.iter().filter(|record| record.is_of(target)).collect();
        let ops =
            own.iter().map(|record| if let Record::Interval(i) = record { i.ops } else { 0 }).sum::<u64>();
        let ends: Vec<_> =
            own.iter().filter_map(|r| if let Record::End(end) = r { Some(end) } else { None }).collect();
        let [end] = &ends[..] else { panic!("{} ends of target {target}", ends.len()) };
        assert_eq!((end.summary.ops, end.summary.ops > 0), (ops, true), "target {target}");
        assert_eq!(end.summary.first_errors.is_empty(), target == 0, "{:?}", end.summary.first_errors);
    }
    assert!(matches!(read.last(), Some(Record::End(_))), "the first target's end is the recording's");
}
