//! Writes a made-up recording of so many hours, to see how a long one is shown and what it costs:
//!
//! ```sh
//! cargo run --release --example generate_session -- 8 /tmp/long.jsonl
//! redyno replay /tmp/long.jsonl
//! ```
//! Every ten minutes a knob is turned; once an hour, half past, a reply takes 70 ms.

use std::{error::Error, path::PathBuf};

use redyno::{
    events::EventKind,
    gauge::Gauge,
    knobs::Knobs,
    probe::{Ping, Wake},
    server::Status,
    session::{
        Event, Interval, Moment, OperationInterval, Record, Segment, ServerIdentity, SessionStart,
        SessionWriter, Span, Tally,
    },
    stats::{Latency, Recorder},
};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(hours), Some(path)) = (args.next(), args.next()) else {
        return Err("usage: generate_session HOURS FILE".into());
    };
    let seconds = (hours.parse::<f64>()? * 3600.0) as u32;
    let mut session =
        Session { writer: SessionWriter::create(&PathBuf::from(path))?, tally: Tally::default(), random: 7 };
    let target = ServerIdentity {
        address: "127.0.0.1:6379".to_owned(),
        server: "redis 7.0.15".to_owned(),
        mode: "standalone".to_owned(),
        role: "master".to_owned(),
        ..ServerIdentity::default()
    };
    session.write(&Record::Session(SessionStart::now(target)))?;
    for second in 0..seconds {
        session.second(second)?;
    }
    let end = session.tally.end(f64::from(seconds));
    session.write(&Record::End(Box::new(end)))
}

struct Session {
    writer: SessionWriter,
    tally: Tally,
    random: u64,
}

impl Session {
    fn write(&mut self, record: &Record) -> Result<(), Box<dyn Error>> {
        self.tally.push(record);
        Ok(self.writer.write(record)?)
    }

    fn random(&mut self) -> f64 {
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// `n` latencies from `least_us` on with a tail that falls off over three decades.
    fn latency(&mut self, n: u32, least_us: f64, longest_us: Option<f64>) -> Latency {
        let mut recorder = Recorder::new();
        for _ in 0..n {
            let (body, tail) = (self.random(), self.random());
            recorder.record((least_us * 1e3 * (1.0 + 2.0 * body * body) * tail.max(1e-5).powf(-0.35)) as u64);
        }
        longest_us.into_iter().for_each(|us| recorder.record((us * 1e3) as u64));
        recorder.latency()
    }

    fn server(&mut self, t_s: f64, clients: u32, ops_per_s: f64) -> Result<(), Box<dyn Error>> {
        let cpu = 0.8 + 0.15 * self.random();
        let body = Status {
            name: "redis".to_owned(),
            version: "7.0.15".to_owned(),
            mode: "standalone".to_owned(),
            role: "master".to_owned(),
            gauges: [
                (Gauge::Clients, f64::from(clients) + 2.0),
                (Gauge::UsedMemory, 14_300_000.0),
                (Gauge::OpsPerS, ops_per_s),
                (Gauge::Cpu, cpu),
            ]
            .into(),
            ..Status::default()
        };
        self.write(&Record::Server(Box::new(Moment::new(t_s, body))))
    }

    fn second(&mut self, second: u32) -> Result<(), Box<dyn Error>> {
        let (t_s, length_s) = (f64::from(second + 1), 1.0);
        let segment = second / 600 + 1;
        let clients = 50 + 10 * (segment % 7);
        if second.is_multiple_of(600) {
            let knobs = Knobs { load: true, clients, ..Knobs::default() };
            self.write(&Record::Segment(Segment::new(f64::from(second), segment, knobs)))?;
        }
        let longest_us = (second % 3600 == 1800).then_some(70_000.0 + f64::from(second));
        let get = self.latency(20_000, 200.0 + f64::from(clients), longest_us);
        let set = self.latency(2_000, 220.0 + f64::from(clients), None);
        let service = Latency::merged([&get, &set]);
        let ops = service.count();
        let of = |latency: Latency| OperationInterval {
            ops: latency.count(),
            service: latency,
            ..OperationInterval::default()
        };
        let commands = [("GET".to_owned(), of(get)), ("SET".to_owned(), of(set))].into();
        let ops_per_s = ops as f64;
        let load = Interval {
            t_s,
            length_s,
            segment,
            ops,
            ops_per_s,
            clients,
            service,
            commands,
            ..Interval::default()
        };
        self.write(&Record::Interval(Box::new(load)))?;
        let rtt = self.latency(100, 90.0, None);
        self.write(&Record::Ping(Box::new(Span::new(t_s, length_s, Ping { rtt, ..Ping::default() }))))?;
        let late = self.latency(900, 55.0, None);
        self.write(&Record::Wake(Span::new(t_s, length_s, Wake { late })))?;
        self.server(t_s, clients, ops_per_s)?;
        if longest_us.is_some() {
            let what = EventKind::SlowCommand {
                us: 70_000,
                command: "KEYS *".to_owned(),
                client: None,
                arguments: Vec::new(),
            };
            self.write(&Record::Event(Event::new(t_s, what)))?;
        }
        Ok(())
    }
}
