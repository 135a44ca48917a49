//! The line that is drawn again each second while a run goes on, also where nobody looks.

use crate::{compat::memtier::asked::Asked, session::Interval, stats::Latency};

/// How far a run is.
pub(in crate::compat::memtier) struct Progress<'a> {
    run: u32,
    asked: &'a Asked,
    all: Sums,
    /// Since the last line.
    last: Sums,
}

#[derive(Default)]
struct Sums {
    length_s: f64,
    ops: u64,
    bytes: u64,
    latency: Latency,
    connection_errors: u64,
}

impl Sums {
    fn add(&mut self, interval: &Interval) {
        self.length_s += interval.load_s();
        self.ops += interval.ops;
        self.bytes += interval.bytes_in + interval.bytes_out;
        self.latency.merge(&interval.service);
        let lost = interval.connections_lost.values().chain(interval.connects_failed.values());
        self.connection_errors += lost.sum::<u64>();
    }

    fn per_s(&self, count: u64) -> f64 {
        if self.length_s > 0.0 { count as f64 / self.length_s } else { 0.0 }
    }

    fn mean_ms(&self) -> f64 {
        self.latency.mean_ns() / 1e6
    }
}

impl<'a> Progress<'a> {
    /// That of the run with this number, from 1.
    pub(in crate::compat::memtier) fn new(run: u32, asked: &'a Asked) -> Self {
        Self { run, asked, all: Sums::default(), last: Sums::default() }
    }

    /// Adds a stretch; the line, when a second has passed since the one before.
    pub(in crate::compat::memtier) fn add(&mut self, interval: &Interval) -> Option<String> {
        self.all.add(interval);
        self.last.add(interval);
        (self.last.length_s >= 1.0).then(|| self.line())
    }

    /// How long the run has been under load, in seconds.
    pub(in crate::compat::memtier) fn length_s(&self) -> f64 {
        self.all.length_s
    }

    /// The line as it is now.
    pub(in crate::compat::memtier) fn line(&mut self) -> String {
        let (all, last) = (&self.all, std::mem::take(&mut self.last));
        let percent = match (self.asked.requests_in_all(), self.asked.test_time_s) {
            (Some(requests), _) => 100.0 * all.ops as f64 / requests.max(1) as f64,
            (None, Some(seconds)) => 100.0 * all.length_s / seconds as f64,
            (None, None) => 0.0,
        };
        let errors = match all.connection_errors {
            0 => String::new(),
            n => format!(" {n} conn errors"),
        };
        let (run, threads, clients) = (self.run, self.asked.threads, self.asked.clients);
        format!(
            "[RUN #{run} {percent:.0}%, {:>3} secs] {threads:>2} threads {clients:>2} conns{errors}: {:>11} ops, {:>7.0} \
             (avg: {:>7.0}) ops/sec, {}/sec (avg: {}/sec), {:>5.2} (avg: {:>5.2}) msec latency\r",
            all.length_s as u64,
            all.ops,
            last.per_s(last.ops),
            all.per_s(all.ops),
            size(last.per_s(last.bytes)),
            size(all.per_s(all.bytes)),
            last.mean_ms(),
            all.mean_ms(),
        )
    }
}

/// Bytes as memtier_benchmark writes them.
fn size(bytes: f64) -> String {
    let units = [("GB", 30), ("MB", 20), ("KB", 10)];
    let (unit, shift) =
        units.into_iter().find(|(_, shift)| bytes >= f64::from(1 << shift)).unwrap_or(("KB", 10));
    format!("{:.2}{unit}", bytes / f64::from(1 << shift))
}
