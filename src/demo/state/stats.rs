//! Counters: calls by command, errors by prefix, bytes.

use std::collections::{BTreeMap, VecDeque};

use super::durations::DurationCounts;
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

/// The rate of commands is that of so many samples; with ten a second, of the 1.6 s that Redis shows.
const SAMPLES: usize = 16;

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
    /// Of late, the newest first: when, and how many commands had run.
    samples: VecDeque<(u64, u64)>,
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
            None => drop(self.errors.insert(prefix.to_owned(), 1)),
        }
    }

    /// Samples the number of commands.
    pub fn sample(&mut self, now_ns: u64) {
        self.samples.push_front((now_ns, self.commands_processed));
        self.samples.truncate(SAMPLES + 1);
    }

    /// Commands per second, of late.
    pub fn ops_per_s(&self) -> f64 {
        match (self.samples.front(), self.samples.back()) {
            (Some((now_ns, now)), Some((then_ns, then))) if now_ns > then_ns => {
                (now - then) as f64 * SECOND_NS as f64 / (now_ns - then_ns) as f64
            }
            _ => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_that_of_the_last_sixteen_samples() {
        let mut stats = Stats::new(1);
        for tick in 0..=32 {
            stats.commands_processed = tick.max(16) * 100;
            stats.sample(tick * SECOND_NS / 10);
        }
        assert_eq!(stats.ops_per_s().round(), 1000.0);
        stats.count_error("ERR");
        stats.reset();
        assert_eq!((stats.commands.len(), stats.errors.len(), stats.ops_per_s()), (1, 0, 0.0));
    }
}
