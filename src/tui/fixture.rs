//! Sessions for tests of the screen: a recorded session, and sessions with generated records.

use std::{collections::BTreeMap, path::Path};

use crate::{
    events::EventKind,
    gauge::{Gauge, Gauges},
    knobs::Knobs,
    probe::{Intrinsic, Ping, TcpRtt, Timing, Wake},
    server::{CommandStat, LatencyEvent, Status},
    session::{
        Client, Encryption, Event, Host, Interval, Moment, Reader, Record, Segment, ServerIdentity,
        SessionStart, Span, WorkerCost,
    },
    stats::{Latency, Recorder},
};

/// Returns pings with these round trip times. The time between the kernel timestamps is 80 % of each round trip time.
fn stamped(rtt: Latency) -> Ping {
    let part = |hundredths: u64| {
        let mut recorder = Recorder::new();
        for (ns, n) in rtt.cells() {
            (0..n).for_each(|_| recorder.record(ns * hundredths / 100));
        }
        Some(recorder.latency())
    };
    Ping {
        timing: Some(Timing::Kernel),
        send: part(3),
        kernel: part(80),
        pickup: part(17),
        tcp: Some(TcpRtt { rtt_us: 58, rtt_var_us: 9, rtt_min_us: Some(41) }),
        rtt,
        ..Ping::default()
    }
}

/// A session that grows by ticks of a quarter of a second.
#[derive(Clone)]
pub struct GeneratedSession {
    tick: u64,
    random: u64,
    segment: u32,
    knobs: Knobs,
    recorder: Recorder,
    /// The commands per second that other clients send.
    others: f64,
}

impl GeneratedSession {
    /// Creates a session with these knobs. Also returns its first records.
    pub fn new(knobs: Knobs) -> (Self, Vec<Record>) {
        let target = ServerIdentity {
            address: "127.0.0.1:6379".to_owned(),
            name: None,
            server: "redis 7.0.15".to_owned(),
            mode: "standalone".to_owned(),
            role: "master".to_owned(),
            built_in: false,
            tls: Encryption::None,
        };
        let start = SessionStart {
            schema: crate::session::SCHEMA,
            from_s: 0.0,
            tool: "redyno".to_owned(),
            started: "2026-01-01T00:00:00Z".to_owned(),
            utc_offset_s: None,
            target,
            nodes: std::sync::Arc::default(),
            members: Vec::new(),
            host: Host::default(),
        };
        let mut session = Self {
            tick: 0,
            random: 7,
            segment: 0,
            knobs: knobs.clone(),
            recorder: Recorder::new(),
            others: 0.0,
        };
        let records = vec![Record::Session(start), session.turn(knobs)];
        (session, records)
    }

    /// Changes the knobs.
    pub fn turn(&mut self, knobs: Knobs) -> Record {
        self.knobs = knobs.clone();
        self.segment += 1;
        Record::Segment(Segment::new(self.now_s(), self.segment, knobs))
    }

    /// Returns the end of the last tick, in seconds of the session.
    pub fn now_s(&self) -> f64 {
        self.tick as f64 / 4.0
    }

    fn random(&mut self) -> f64 {
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns `n` latencies around `median_us`, with a long tail.
    fn latency(&mut self, n: usize, median_us: f64) -> Latency {
        self.recorder.reset();
        for _ in 0..n {
            let (body, rare) = (self.random(), self.random());
            let tail = if rare < 0.0008 {
                9.0
            } else if rare < 0.02 {
                2.2
            } else {
                1.0
            };
            self.recorder.record((median_us * 1e3 * (0.8 + 0.5 * body * body) * tail) as u64);
        }
        self.recorder.latency()
    }

    /// Returns the records of the next tick.
    pub fn next_tick(&mut self) -> Vec<Record> {
        self.tick += 1;
        let (t_s, length_s) = (self.now_s(), 0.25);
        let (clients, pipeline) = (f64::from(self.knobs.clients), f64::from(self.knobs.pipeline));
        let wobble = 0.94 + 0.08 * self.random() + 0.03 * (t_s / 5.0).sin();
        let able = 125_000.0 * clients / (clients + 18.0) * (1.0 + pipeline.ln() * 0.9) * wobble;
        let rate = self.knobs.rate.map_or(able, |rate| able.min(f64::from(rate)));
        let mut records = Vec::new();
        if self.knobs.load {
            let median_us = (clients * pipeline / able * 1e6).max(60.0);
            // With this many samples, every second has a p99.9.
            let service = self.latency(2600, median_us);
            let ops = (rate * length_s) as u64;
            let segment = self.segment;
            let clients = self.knobs.clients;
            // A due request may have to wait for a free connection.
            let response = self.knobs.rate.map(|_| self.latency(2600, median_us * 1.4));
            let behind_us = if self.knobs.rate.is_some() { (self.random() * 900.0) as u64 } else { 0 };
            let interval = Interval {
                behind_us,
                response,
                t_s,
                length_s,
                segment,
                ops,
                ops_per_s: rate,
                clients,
                service,
                ..Interval::default()
            };
            records.push(Record::Interval(Box::new(interval)));
        }
        let busy = if self.knobs.load { rate / able } else { 0.0 };
        let rtt = self.latency(25, 60.0 + 180.0 * busy);
        records.push(Record::Ping(Box::new(Span::new(t_s, length_s, stamped(rtt)))));
        let late = self.latency(100, 55.0);
        records.push(Record::Wake(Span::new(t_s, length_s, Wake { late })));
        if self.tick.is_multiple_of(4) {
            records.push(Record::Server(Box::new(Moment::new(
                t_s,
                self.status(rate * busy + self.others * wobble, busy),
            ))));
        }
        records
    }

    fn status(&mut self, ops_per_s: f64, busy: f64) -> Status {
        Status {
            name: "redis".to_owned(),
            version: "7.0.15".to_owned(),
            mode: "standalone".to_owned(),
            role: "master".to_owned(),
            policy: Some("noeviction".to_owned()),
            poll_s: Some(1.0),
            gauges: self.gauges(ops_per_s, busy),
            command_stats: command_stats(ops_per_s as u64),
            own: [("info", 2), ("slowlog|get", 1), ("config|get", 1)]
                .map(|(n, calls)| (n.to_owned(), calls))
                .into(),
            latency_events: vec![LatencyEvent {
                name: "command".to_owned(),
                age_s: Some(75),
                last_ms: 14,
                max_ms: 31,
            }],
            config: std::sync::Arc::new(config()),
            ..Status::default()
        }
    }

    fn gauges(&self, ops_per_s: f64, busy: f64) -> Gauges {
        let mut gauges = Gauges::from([
            (Gauge::Uptime, 93_784.0 + (self.tick / 4) as f64),
            (Gauge::Clients, f64::from(self.knobs.clients) + 2.0),
            (Gauge::BlockedClients, 0.0),
            (Gauge::UsedMemory, 14_300_000.0),
            (Gauge::ResidentMemory, 21_000_000.0),
            (Gauge::PeakMemory, 15_100_000.0),
            (Gauge::Fragmentation, 1.47),
            (Gauge::MaxMemory, 0.0),
            (Gauge::OpsPerS, ops_per_s.round() + 100.0),
            (Gauge::Hits, 910.0),
            (Gauge::Misses, 90.0),
            (Gauge::Keys, 100_000.0),
            (Gauge::EvictedKeys, 0.0),
            (Gauge::ExpiredKeys, 0.0),
            (Gauge::Cpu, 0.03 + 0.94 * busy),
            (Gauge::MaxClients, 10_000.0),
            (Gauge::InputBuffer, 20_480.0),
            (Gauge::OutputBuffer, 0.0),
            (Gauge::RejectedClients, 0.0),
            (Gauge::Saving, 0.0),
            (Gauge::SavedOk, 1.0),
            (Gauge::SaveTook, 1.0),
            (Gauge::Unsaved, 4321.0),
            (Gauge::Aof, 0.0),
            (Gauge::LastFork, 412.0),
            (Gauge::Replicas, 1.0),
            (Gauge::ReplicaLag, 14.0),
            (Gauge::BytesIn, 4_100_000.0),
            (Gauge::BytesOut, 600_000.0),
        ]);
        gauges.derive();
        gauges
    }

    /// Returns records of `n` errors of the same kind in the last tick.
    pub fn errors(&self, kind: &str, n: u64, message: &str) -> Vec<Record> {
        let t_s = self.now_s();
        let interval = Interval {
            t_s,
            segment: self.segment,
            errors: [(kind.to_owned(), n)].into(),
            ..Interval::default()
        };
        let what = EventKind::FirstError { error: kind.to_owned(), message: message.to_owned() };
        vec![Record::Interval(Box::new(interval)), Record::Event(Event::new(t_s, what))]
    }

    /// Returns the next tick of a client with a single worker, which uses `cpu` of a core.
    pub fn next_tick_of_client(&mut self, cpu: f64) -> Vec<Record> {
        let mut records = self.next_tick();
        for record in &mut records {
            if let Record::Interval(interval) = record {
                interval.client = Some(Client::of(vec![WorkerCost {
                    cpu,
                    run_delay: Some(0.01),
                    ..WorkerCost::default()
                }]));
            }
        }
        records
    }

    /// Returns an event at the present moment.
    fn event(&self, what: EventKind) -> Record {
        Record::Event(Event::new(self.now_s(), what))
    }

    /// Replaces the figures in `record` by the figures of a tick without connections. Returns whether a tick without
    /// connections has this kind of record.
    fn is_out(&self, record: &mut Record) -> bool {
        if let Record::Interval(interval) = record {
            let Interval { t_s, length_s, segment, .. } = **interval;
            **interval = Interval { t_s, length_s, segment, outage_s: length_s, ..Interval::default() };
        }
        matches!(record, Record::Interval(_) | Record::Wake(_))
    }

    /// Returns one report of a gentle intrinsic probe.
    pub fn intrinsic(&mut self) -> Record {
        let gaps = self.latency(1000, 40.0);
        let body = Intrinsic { gentle: true, busy_ns: 25_000_000, runs: 600_000, gaps, remaining_s: None };
        Record::Intrinsic(Span::new(self.now_s(), 0.25, body))
    }
}

/// Returns an entry of the slow log.
pub fn slow_command(us: u64, command: &str, client: Option<&str>) -> EventKind {
    EventKind::SlowCommand {
        us,
        command: command.to_owned(),
        client: client.map(str::to_owned),
        arguments: Vec::new(),
    }
}

fn command_stats(ops: u64) -> BTreeMap<String, CommandStat> {
    let stat = |(name, calls, usec, rejected): (&str, u64, u64, u64)| {
        // One request in twenty takes a little longer, and one in five hundred much longer.
        let times = vec![(1, calls - calls / 20), (4, calls / 20 - calls / 500), (132, calls / 500)].into();
        let stat = CommandStat {
            calls,
            usec,
            failed: Some(0),
            rejected: Some(rejected),
            times: Some(times),
            ..CommandStat::default()
        };
        (name.to_owned(), stat)
    };
    let load = [("get", ops * 10 / 11, ops, 0), ("set", ops / 11, ops / 8, 3), ("ping", 100, 40, 0)];
    let poll = [("info", 2, 210, 0), ("slowlog|get", 1, 4, 0), ("config|get", 1, 19, 0)];
    load.into_iter().chain(poll).filter(|(_, calls, ..)| *calls > 0).map(stat).collect()
}

/// Returns all server parameters except one, which this server does not have.
fn config() -> BTreeMap<String, String> {
    let values = [
        ("maxmemory", "0"),
        ("maxmemory-policy", "noeviction"),
        ("save", "3600 1 300 100 60 10000"),
        ("appendonly", "no"),
        ("appendfsync", "everysec"),
        ("io-threads", "1"),
        ("hz", "10"),
        ("latency-monitor-threshold", "5"),
        ("slowlog-log-slower-than", "10000"),
    ];
    values.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

/// Returns the recording of a real server that the README's pictures show. The recording lasts 70 s. It begins with 50
/// clients. A period with 100 clients has a stall of one second, a fork and a mark. The last periods have pipeline 16,
/// and an open loop with a slow script.
pub fn recorded() -> Vec<Record> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/session.jsonl");
    let mut reader = Reader::open(Path::new(path)).expect("the recording is there");
    std::iter::from_fn(|| reader.next_record().expect("it can be read")).collect()
}

/// Returns a minute without load from redyno, in which other clients send 90 000 commands per second.
pub fn monitored() -> Vec<Record> {
    let (made, mut records) = GeneratedSession::new(Knobs::default());
    let mut made = GeneratedSession { others: 90_000.0, ..made };
    (0..240).for_each(|_| records.extend(made.next_tick()));
    records
}

/// Returns 35 s under load, with errors, an intrinsic probe, an outage of two seconds, and 1.5 s without any
/// measurement.
pub fn outage() -> Vec<Record> {
    let (mut made, mut records) =
        GeneratedSession::new(Knobs { load: true, clients: 200, ..Knobs::default() });
    for tick in 1..=140 {
        let mut of_tick = made.next_tick();
        if (104..112).contains(&tick) {
            of_tick.retain_mut(|record| made.is_out(record));
        }
        if !(20..26).contains(&tick) {
            records.extend(of_tick);
        }
        if tick >= 60 {
            records.push(made.intrinsic());
        }
        match tick {
            28 => {
                records.extend(made.errors("LOADING", 37, "LOADING Redis is loading the dataset in memory"));
            }
            103 => {
                let cause = "reset".to_owned();
                let lost = EventKind::ConnectionsLost {
                    lost: 200,
                    clients: 200,
                    cause,
                    unreported: 0,
                    server: None,
                    of: None,
                };
                records.push(made.event(lost));
            }
            104 => {
                let cause = "connection refused".to_owned();
                records.push(made.event(EventKind::Unreachable { cause }));
            }
            112 => records.push(made.event(EventKind::Reachable)),
            113 => {
                records.push(made.event(EventKind::ConnectionsBack {
                    connections: 200,
                    after_s: 2.1,
                    server: None,
                    heir: None,
                }));
            }
            _ => {}
        }
    }
    records
}
