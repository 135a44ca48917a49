//! Counters: calls by command, errors by prefix, bytes, and rates sampled from them.

use std::collections::BTreeMap;

use super::latency::DurationCounts;
use crate::clock::SECOND_NS;

/// What one command did since the start or the last CONFIG RESETSTAT.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandStats {
    /// Times it ran.
    pub calls: u64,
    /// Time it ran, in ns.
    pub ns: u64,
    /// Times it was refused before it ran.
    pub rejected: u64,
    /// Times it ran and gave an error.
    pub failed: u64,
    /// How long each run took.
    pub durations: DurationCounts,
}

/// Traffic since the start or the last CONFIG RESETSTAT.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NetCounters {
    /// Connections taken.
    pub connections: u64,
    /// Connections refused because there were too many.
    pub rejected_connections: u64,
    /// Bytes read.
    pub bytes_in: u64,
    /// Bytes written.
    pub bytes_out: u64,
    /// Reads from sockets.
    pub reads: u64,
    /// Writes to sockets.
    pub writes: u64,
}

/// All counters.
#[derive(Debug, Default)]
pub struct Stats {
    /// By the command's place in the table.
    pub commands: Vec<CommandStats>,
    /// Error replies by prefix.
    pub errors: BTreeMap<String, u64>,
    /// Commands that ran.
    pub commands_processed: u64,
    /// Traffic.
    pub net: NetCounters,
    ops: Rate,
}

impl Stats {
    /// Counters for a table of `commands` commands.
    pub fn new(commands: usize) -> Self {
        Self { commands: vec![CommandStats::default(); commands], ..Self::default() }
    }

    /// Sets every counter to zero.
    pub fn reset(&mut self) {
        *self = Self::new(self.commands.len());
    }

    /// Counts a command that ran for `ns`.
    pub fn count_call(&mut self, id: usize, ns: u64, failed: bool) {
        self.commands_processed += 1;
        let counted = &mut self.commands[id];
        counted.calls += 1;
        counted.ns += ns;
        counted.failed += u64::from(failed);
        counted.durations.add(ns);
    }

    /// Counts an error reply.
    pub fn count_error(&mut self, prefix: &str) {
        match self.errors.get_mut(prefix) {
            Some(count) => *count += 1,
            None => {
                self.errors.insert(prefix.to_owned(), 1);
            }
        }
    }

    /// Samples the rate of commands; ten times a second gives the mean over 1.6 s that Redis shows.
    pub fn sample(&mut self, now_ns: u64) {
        self.ops.sample(now_ns, self.commands_processed);
    }

    /// Commands per second, of late.
    pub fn ops_per_s(&self) -> f64 {
        self.ops.samples.iter().sum::<f64>() / self.ops.samples.len() as f64
    }
}

/// A rate as the mean of its last samples.
#[derive(Debug, Default)]
struct Rate {
    samples: [f64; 16],
    next: usize,
    last: Option<(u64, u64)>,
}

impl Rate {
    fn sample(&mut self, now_ns: u64, total: u64) {
        if let Some((then_ns, before)) = self.last.replace((now_ns, total))
            && now_ns > then_ns
        {
            let per_second =
                total.saturating_sub(before) as f64 * SECOND_NS as f64 / (now_ns - then_ns) as f64;
            self.samples[self.next] = per_second;
            self.next = (self.next + 1) % self.samples.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_the_mean_of_the_last_sixteen_samples() {
        let mut stats = Stats::new(1);
        for tick in 0..=16 {
            stats.commands_processed = tick * 100;
            stats.sample(tick * SECOND_NS / 10);
        }
        assert_eq!(stats.ops_per_s().round(), 1000.0);
        stats.count_error("ERR");
        stats.reset();
        assert_eq!((stats.commands.len(), stats.errors.len(), stats.ops_per_s()), (1, 0, 0.0));
    }
}
