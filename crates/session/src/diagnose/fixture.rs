//! Recordings for tests of findings: the records of some seconds of a healthy server, with changes.

use super::{Finding, Findings, Severity};
use crate::{
    events::EventKind,
    gauge::{Gauge, Gauges},
    host::{HostSample, Process},
    knobs::Knobs,
    probe::{Ping, Wake},
    server::{CommandStat, Status},
    session::{Event, Host, Moment, Record, Segment, ServerIdentity, SessionStart, Span},
    stats::{Recorder, fixture::latency_of},
};

/// One second of a server that serves 3000 GETs a second on a machine of four cores, and of redyno's own probes.
pub(super) struct Second {
    /// The number of the second, from 0.
    pub(super) n: u32,
    pub(super) status: Status,
    pub(super) host: HostSample,
    pub(super) events: Vec<EventKind>,
    pub(super) ping: Ping,
    pub(super) wake_ns: u64,
}

impl Second {
    pub(super) fn healthy(n: u32) -> Self {
        let get = CommandStat { calls: 3000, usec: 9000, ..CommandStat::default() };
        let info = CommandStat { calls: 1, usec: 300, ..CommandStat::default() };
        let status = Status {
            name: "redis".to_owned(),
            version: "7.0.15".to_owned(),
            role: "master".to_owned(),
            poll_s: Some(1.0),
            gauges: Gauges::from([
                (Gauge::Cpu, 0.08),
                (Gauge::OpsPerS, 3000.0),
                (Gauge::Clients, 52.0),
                (Gauge::NewConnections, 1.0),
                (Gauge::ExpiredKeys, 12.0),
                (Gauge::EvictedKeys, 0.0),
                (Gauge::Hits, 2850.0),
                (Gauge::Misses, 150.0),
                (Gauge::HitRate, 0.95),
                (Gauge::UsedMemory, 80e6),
                (Gauge::MaxMemory, 0.0),
                (Gauge::Aof, 0.0),
                (Gauge::AofOk, 1.0),
                (Gauge::SavedOk, 1.0),
                (Gauge::Saving, 0.0),
                (Gauge::LastFork, 400.0),
            ]),
            command_stats: [("get".to_owned(), get), ("info".to_owned(), info)].into(),
            own: [("info".to_owned(), 1)].into(),
            ..Status::default()
        };
        let host = HostSample {
            sample_s: Some(1.0),
            gauges: Gauges::from([
                (Gauge::HostCpu, 0.2),
                (Gauge::HostSteal, 0.0),
                (Gauge::ServerCpu, 0.08),
                (Gauge::ServerRunDelay, 0.01),
                (Gauge::ServerFaults, 0.0),
                (Gauge::HostSwapIn, 0.0),
                (Gauge::HugePages, 0.0),
                (Gauge::HostDisk, 0.02),
                (Gauge::AcceptQueue, 0.0),
                (Gauge::AcceptLimit, 511.0),
            ]),
            server: Some(Process {
                pid: 900,
                name: "redis-server".to_owned(),
                cpu: 0.08,
                core: Some(3),
                ..Process::default()
            }),
            clock_source: "tsc".to_owned(),
            ..HostSample::default()
        };
        let mut second = Self { n, status, host, events: Vec::new(), ping: Ping::default(), wake_ns: 80_000 };
        second.ping(&[(90_000, 30), (140_000, 65), (400_000, 5)]);
        second
    }

    /// Sets the PING times of the second: pairs of a time in nanoseconds and the number of PINGs with this time.
    pub(super) fn ping(&mut self, times: &[(u64, u64)]) {
        let mut recorder = Recorder::new();
        times.iter().for_each(|&(ns, n)| recorder.record_n(ns, n));
        let rtt = recorder.latency();
        self.ping = Ping { kernel: Some(rtt.clone()), rtt, ..Ping::default() };
    }

    pub(super) fn records(self) -> Vec<Record> {
        let t_s = f64::from(self.n) + 1.0;
        let mut records: Vec<_> =
            self.events.into_iter().map(|what| Record::Event(Event::new(t_s - 0.1, what))).collect();
        records.push(Record::Server(Box::new(Moment::new(t_s - 0.05, self.status))));
        records.push(Record::Host(Box::new(Moment::new(t_s - 0.02, self.host))));
        records.push(Record::Ping(Box::new(Span::new(t_s, 1.0, self.ping))));
        let late = latency_of([self.wake_ns]);
        records.push(Record::Wake(Span::new(t_s, 1.0, Wake { late })));
        records
    }
}

/// Returns the first records of a session without load.
pub(super) fn begun() -> Vec<Record> {
    let host = Host { cores: 4, ..Host::default() };
    let session = SessionStart { host, ..SessionStart::now(ServerIdentity::default()) };
    vec![
        Record::Session(session),
        Record::Segment(Segment::new(0.0, 1, Knobs { load: false, ..Knobs::default() })),
    ]
}

/// Returns the records of the first `n` seconds of a session without load; `change` modifies each second.
pub(super) fn seconds(n: u32, change: impl Fn(&mut Second)) -> Vec<Record> {
    let each = |n| {
        let mut second = Second::healthy(n);
        change(&mut second);
        second.records()
    };
    begun().into_iter().chain((0..n).flat_map(each)).collect()
}

/// Returns the findings at the end of these seconds.
pub(super) fn found(n: u32, change: impl Fn(&mut Second)) -> Vec<Finding> {
    found_on("redis 7.0.15", n, change)
}

/// Returns the findings about `server` (name and version) at the end of these seconds.
pub(super) fn found_on(server: &str, n: u32, change: impl Fn(&mut Second)) -> Vec<Finding> {
    let (mut findings, mut records) = (Findings::default(), seconds(n, change));
    if let Record::Session(session) = &mut records[0] {
        server.clone_into(&mut session.target.server);
    }
    records.iter().for_each(|record| drop(findings.push(record)));
    let all = findings.now();
    let advised = |finding: &Finding| finding.severity == Severity::Note || !finding.next.is_empty();
    assert!(all.iter().all(advised), "a finding without a next step: {all:#?}");
    all
}

/// Returns the only finding at the end of these seconds.
pub(super) fn first(n: u32, change: impl Fn(&mut Second)) -> Finding {
    let mut found = found(n, change);
    assert_eq!(found.len(), 1, "{found:#?}");
    found.remove(0)
}
