//! Tests that every written record of a session can be read again, for all numbers that a server may report.

use std::collections::BTreeMap;

use super::super::*;
use crate::{
    events::{PrefillResult, ShiftReport},
    gauge::{GAUGES, Gauges},
    host::{HostSample, Process},
    knobs::{Knobs, MAX_CLIENTS, MAX_KEYSPACE, MAX_PIPELINE},
    probe::{Intrinsic, Ping, Wake},
    server::{CommandStat, LatencyEvent, Status},
    session::{
        Interval, Mark, Moment, OperationInterval, Segment, ServerIdentity, SessionEnd, SessionStart,
        SessionWriter, Span, Summary,
    },
    stats::fixture::latency_of,
};

/// The largest number in redyno's own counts. JSON numbers above this limit are not exact integers.
const MOST: u64 = (1 << 53) - 1;

/// Returns a status of a server with the largest possible numbers.
fn status() -> Status {
    let mut gauges = Gauges::default();
    GAUGES.iter().for_each(|gauge| gauges.set(*gauge, Some(f64::MAX)));
    gauges.derive();
    let stat = CommandStat {
        calls: u64::MAX,
        usec: u64::MAX,
        failed: Some(u64::MAX),
        rejected: Some(u64::MAX),
        times: Some(vec![(u64::MAX, u64::MAX)].into()),
        since_start_us: [("p50".to_owned(), f64::MAX)].into(),
    };
    let seen =
        LatencyEvent { name: "fork".to_owned(), age_s: Some(u64::MAX), last_ms: u64::MAX, max_ms: u64::MAX };
    Status {
        poll_s: Some(f64::MAX),
        gauges,
        command_stats: [("get".to_owned(), stat)].into(),
        latency_events: vec![seen],
        ..Status::default()
    }
}

/// Returns a sample of a host with the largest possible numbers.
fn host() -> HostSample {
    let (pid, name, core) = (u32::MAX, "x".to_owned(), Some(u32::MAX));
    let process = Process { pid, name, cpu: f64::MAX, core, state: Some('T') };
    HostSample {
        sample_s: Some(1.0),
        gauges: status().gauges,
        cores: vec![f64::MAX; 2],
        busy: vec![process.clone()],
        server: Some(process),
        clock_source: "tsc".to_owned(),
        missing: std::sync::Arc::new(
            [("swap".to_owned(), "this system has no /proc/vmstat".to_owned())].into(),
        ),
    }
}

fn events() -> Vec<EventKind> {
    let (n, s, text) = (u64::MAX, f64::MAX, String::new);
    let errors: BTreeMap<_, _> = [("OOM".to_owned(), n)].into();
    let prefilled = PrefillResult {
        requests: n,
        answered: n,
        length_s: s,
        errors,
        looked_for: n,
        there: n,
        unseen: None,
    };
    vec![
        EventKind::SlowCommand { us: n, command: text(), client: None, arguments: Vec::new() },
        EventKind::MoreSlowCommands { entries: n, unread: n },
        EventKind::SlowBefore { entries: n, calls: n, command: text(), us: n },
        EventKind::SlowEvent { of: text(), last_ms: n, max_ms: n },
        EventKind::Forked { held_us: Some(n) },
        EventKind::SnapshotEnded { length_s: Some(s), outcome: text() },
        EventKind::RewriteEnded { length_s: Some(s), outcome: text() },
        EventKind::EvictionBegan { keys: n },
        EventKind::EvictionEnded { keys: n, length_s: s },
        EventKind::RejectionBegan { connections: n },
        EventKind::RejectionEnded { connections: n, length_s: s },
        EventKind::BlockingBegan { clients: n },
        EventKind::BlockingEnded { clients: n, length_s: s },
        EventKind::ReplicasChanged { from: n, to: n },
        EventKind::ConnectionsLost {
            lost: n,
            clients: n,
            cause: text(),
            unreported: n,
            server: None,
            of: None,
        },
        EventKind::MoreConnectionsLost { times: n },
        EventKind::ConnectionsBack { connections: n, after_s: s, server: None, heir: Some(text()) },
        EventKind::Paused { length_s: s },
        EventKind::NotRecorded { length_s: s },
        EventKind::AgentPaused { agent: usize::MAX, host: text(), length_s: s },
        EventKind::Stalled { longest_s: s, length_s: Some(s) },
        EventKind::Shifted {
            shift: ShiftReport { from: s, to: s, length_s: Some(s), ..ShiftReport::default() },
        },
        EventKind::Prefilled { prefilled },
        EventKind::OutputLost { lines: n },
        EventKind::LineSkipped { line: n, why: text() },
        EventKind::MoreLinesSkipped { lines: n },
    ]
}

fn records() -> Vec<Record> {
    let knobs = Knobs {
        clients: MAX_CLIENTS,
        pipeline: MAX_PIPELINE,
        rate: Some(u32::MAX),
        keyspace: MAX_KEYSPACE,
        ..Knobs::default()
    };
    let service = latency_of([1, u64::MAX >> 12]);
    let own = OperationInterval { ops: MOST, service: service.clone(), ..OperationInterval::default() };
    let interval = Interval {
        t_s: 1.0,
        ops: MOST,
        ops_per_s: 1e15,
        bytes_in: MOST,
        due: MOST,
        behind_us: MOST,
        errors: [("OOM".to_owned(), MOST)].into(),
        commands: [("GET".to_owned(), own)].into(),
        service: service.clone(),
        ..Interval::default()
    };
    let summary = Summary { ops: MOST, bytes_out: MOST, service, ..Summary::default() };
    let end = SessionEnd { t_s: 1.0, summary, peak_ops_per_s: Some(1e15), ..SessionEnd::default() };
    let mut all = vec![
        Record::Segment(Segment::new(0.0, u32::MAX, knobs)),
        Record::Interval(Box::new(interval)),
        Record::Ping(Box::new(Span::new(1.0, 1.0, Ping::default()))),
        Record::Wake(Span::new(1.0, 1.0, Wake::default())),
        Record::Intrinsic(Span::new(1.0, 1.0, Intrinsic::default())),
        Record::Server(Box::new(Moment::new(1.0, status()))),
        Record::Host(Box::new(Moment::new(1.0, host()))),
        Record::Mark(Mark { t_s: 1.0, text: "mine".to_owned() }),
    ];
    all.extend(events().into_iter().map(|what| Record::Event(Event::new(1.0, what))));
    all.extend(all.clone().into_iter().map(|record| record.at_node(1)));
    all.push(Record::End(Box::new(end)));
    all
}

#[test]
fn every_kind_of_record_with_the_largest_numbers_is_read_as_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("session.jsonl");
    let mut writer = SessionWriter::create(&path).unwrap();
    let session = Record::Session(SessionStart::now(ServerIdentity::default()));
    let written: Vec<_> = std::iter::once(session).chain(records()).collect();
    written.iter().for_each(|record| writer.write(record).unwrap());
    writer.finish().unwrap();
    let mut reader = Reader::open(&path).unwrap();
    for record in written {
        assert_eq!(reader.next_record().unwrap(), Some(record));
    }
    assert_eq!(reader.next_record().unwrap(), None);
}
