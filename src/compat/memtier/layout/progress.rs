//! The line that is drawn again each second while a run goes on, also where nobody looks.

use crate::{
    compat::memtier::asked::MemtierOptions,
    session::{Interval, Summary},
};

/// How far a run is.
pub(in crate::compat::memtier) struct Progress<'a> {
    run: u32,
    asked: &'a MemtierOptions,
    all: Summary,
    /// Since the last line.
    last: Summary,
}

impl<'a> Progress<'a> {
    /// That of the run with this number, from 1.
    pub(in crate::compat::memtier) fn new(run: u32, asked: &'a MemtierOptions) -> Self {
        Self { run, asked, all: Summary::default(), last: Summary::default() }
    }

    /// Adds a stretch; the line, when a second has passed since the one before.
    pub(in crate::compat::memtier) fn add(&mut self, interval: &Interval) -> Option<String> {
        self.all.add(interval, true);
        self.last.add(interval, true);
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
        let lost = all.connections_lost.values().chain(all.connects_failed.values());
        let errors = match lost.sum::<u64>() {
            0 => String::new(),
            n => format!(" {n} conn errors"),
        };
        let (run, threads, clients) = (self.run, self.asked.threads, self.asked.clients);
        format!(
            "[RUN #{run} {percent:.0}%, {:>3} secs] {threads:>2} threads {clients:>2} conns{errors}: {:>11} ops, {:>7.0} \
             (avg: {:>7.0}) ops/sec, {}/sec (avg: {}/sec), {:>5.2} (avg: {:>5.2}) msec latency\r",
            all.length_s as u64,
            all.ops,
            per_s(&last, last.ops),
            per_s(all, all.ops),
            size(per_s(&last, last.bytes_in + last.bytes_out)),
            size(per_s(all, all.bytes_in + all.bytes_out)),
            last.service.mean_ns() / 1e6,
            all.service.mean_ns() / 1e6,
        )
    }
}

/// So many in the time of a sum, as a rate.
fn per_s(sum: &Summary, count: u64) -> f64 {
    if sum.length_s > 0.0 { count as f64 / sum.length_s } else { 0.0 }
}

/// Bytes as memtier_benchmark writes them.
fn size(bytes: f64) -> String {
    let units = [("GB", 30), ("MB", 20), ("KB", 10)];
    let (unit, shift) =
        units.into_iter().find(|(_, shift)| bytes >= f64::from(1 << shift)).unwrap_or(("KB", 10));
    format!("{:.2}{unit}", bytes / f64::from(1 << shift))
}
