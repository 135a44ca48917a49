//! The built-in server's counters: calls of each command, errors with each prefix, and network traffic.
//!
//! The run times of each command are counted in the buckets of `LATENCY HISTOGRAM`.
//!
//! This file also contains the slow log.

use std::collections::{BTreeMap, VecDeque};

use crate::{clock::SECOND_NS, demo::request::RequestArguments};

/// The statistics of a command since the start or the last CONFIG RESETSTAT.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandStats {
    /// The number of times that the command ran.
    pub calls: u64,
    /// The total run time, in ns.
    pub ns: u64,
    /// The number of requests with the command that were refused before it ran.
    pub rejected: u64,
    /// The number of times that the command ran and failed.
    pub failed: u64,
    /// The number of runs by run time.
    pub durations: DurationCounts,
}

/// Traffic since the start or the last CONFIG RESETSTAT.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NetCounters {
    /// Accepted connections.
    pub connections: u64,
    /// The number of connections that were refused because of `maxclients`.
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

/// The rate of commands is computed from this number of samples. With ten samples a second, the samples cover
/// 1.6 s, as in Redis.
const SAMPLES: usize = 16;

/// All counters.
#[derive(Debug, Default)]
pub struct ServerStats {
    /// The statistics of each command, by its number in the command table.
    pub commands: Vec<CommandStats>,
    /// The number of error replies with each prefix.
    pub errors: BTreeMap<String, u64>,
    /// Commands that ran.
    pub commands_processed: u64,
    /// Traffic.
    pub net: NetCounters,
    /// Recent samples, the newest first. Each sample has a time in nanoseconds, and the number of commands until this
    /// time.
    samples: VecDeque<(u64, u64)>,
}

impl ServerStats {
    /// Returns counters of zero, for a table of `commands` commands.
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

    /// Adds a sample. A sample consists of `now_ns` and the number of commands so far.
    pub fn sample(&mut self, now_ns: u64) {
        self.samples.push_front((now_ns, self.commands_processed));
        self.samples.truncate(SAMPLES + 1);
    }

    /// Returns the recent rate of commands per second.
    pub fn ops_per_s(&self) -> f64 {
        match (self.samples.front(), self.samples.back()) {
            (Some((now_ns, now)), Some((then_ns, then))) if now_ns > then_ns => {
                (now - then) as f64 * SECOND_NS as f64 / (now_ns - then_ns) as f64
            }
            _ => 0.0,
        }
    }
}

/// The number of durations in each bucket of `LATENCY HISTOGRAM`. The upper bound of a bucket is twice the
/// upper bound of the previous bucket.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DurationCounts {
    counts: [u64; BUCKETS],
}

/// The number of buckets. The buckets cover durations from 1 µs to more than an hour.
const BUCKETS: usize = 32;

/// Returns the longest duration in bucket `index`, in ns. Redis counts durations in an HDR histogram with two
/// significant digits, and reports the counts up to 1024 ns × 2^n. With two digits, all durations up to
/// 1032 ns × 2^n − 1 ns count as at most 1024 ns × 2^n.
fn border_ns(index: usize) -> u64 {
    (1032 << index) - 1
}

impl DurationCounts {
    /// Counts a duration.
    pub fn add(&mut self, ns: u64) {
        // 1032 is slightly above 2^10: the bit length gives the bucket or the one above it.
        let guess = (u64::BITS - (ns >> 10).leading_zeros()) as usize;
        let index = if guess > 0 && ns <= border_ns(guess - 1) { guess - 1 } else { guess };
        self.counts[index.min(BUCKETS - 1)] += 1;
    }

    /// Returns the upper bound in µs of each bucket that is not empty, with the number of durations up to this bound.
    pub fn cumulative(&self) -> Vec<(u64, u64)> {
        let mut total = 0;
        let mut listed = Vec::new();
        for (index, count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            total += count;
            listed.push((border_ns(index) / 1000, total));
        }
        listed
    }
}

/// The largest number of arguments in an entry of the slow log, as in Redis.
const KEPT_ARGUMENTS: usize = 32;
/// The largest number of bytes of an argument in the slow log, as in Redis.
const KEPT_BYTES: usize = 128;

/// An entry of the slow log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SlowEntry {
    /// The id of the entry, counted from 0.
    pub id: u64,
    /// Unix time in seconds.
    pub at_s: u64,
    /// The run time of the command, in µs.
    pub us: u64,
    /// The arguments of the command, shortened.
    pub arguments: Vec<Vec<u8>>,
    /// The client's address.
    pub address: String,
    /// The client's name.
    pub name: String,
}

/// The slow log.
#[derive(Debug, Default)]
pub struct Slowlog {
    /// The entries, newest first.
    pub entries: VecDeque<SlowEntry>,
    next_id: u64,
}

impl Slowlog {
    /// Adds an entry with the next id, and removes the oldest entries beyond `max_len`.
    pub fn add(&mut self, entry: SlowEntry, max_len: usize) {
        self.entries.push_front(SlowEntry { id: self.next_id, ..entry });
        self.next_id += 1;
        self.entries.truncate(max_len);
    }
}

/// Returns the arguments of a request as the slow log shows them: shortened if they are many or long.
pub fn shortened(arguments: RequestArguments<'_>) -> Vec<Vec<u8>> {
    let all = arguments.len();
    let kept = if all > KEPT_ARGUMENTS { KEPT_ARGUMENTS - 1 } else { all };
    let cut = |argument: &[u8]| match argument.split_at_checked(KEPT_BYTES) {
        Some((kept, more)) if !more.is_empty() => {
            [kept, format!("... ({} more bytes)", more.len()).as_bytes()].concat()
        }
        _ => argument.to_vec(),
    };
    let more = (kept < all).then(|| format!("... ({} more arguments)", all - kept).into_bytes());
    arguments.from(0).take(kept).map(cut).chain(more).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::request::parse;

    #[test]
    fn the_rate_is_that_of_the_last_sixteen_samples() {
        let mut stats = ServerStats::new(1);
        for tick in 0..=32 {
            stats.commands_processed = tick.max(16) * 100;
            stats.sample(tick * SECOND_NS / 10);
        }
        assert_eq!(stats.ops_per_s().round(), 1000.0);
        stats.count_error("ERR");
        stats.reset();
        assert_eq!((stats.commands.len(), stats.errors.len(), stats.ops_per_s()), (1, 0, 0.0));
    }

    #[test]
    fn durations_fall_into_the_buckets_of_redis() {
        let borders: Vec<u64> = (0..10).map(|index| border_ns(index) / 1000).collect();
        assert_eq!(borders, [1, 2, 4, 8, 16, 33, 66, 132, 264, 528]);
        let mut counts = DurationCounts::default();
        for ns in [0, 1031, 1032, 2063, 2064, 4127] {
            counts.add(ns);
        }
        assert_eq!(counts.cumulative(), [(1, 2), (2, 4), (4, 6)]);
        counts.add(u64::MAX);
        assert_eq!(counts.cumulative().last().map(|(_, total)| *total), Some(7));
    }

    fn short(request: &str) -> Vec<String> {
        let line = format!("{request}\n");
        let mut spans = Vec::new();
        parse(line.as_bytes(), &mut spans).unwrap();
        let short = shortened(RequestArguments { bytes: line.as_bytes(), spans: &spans });
        short.into_iter().map(|word| String::from_utf8(word).unwrap()).collect()
    }

    #[test]
    fn long_requests_are_shortened_with_a_note() {
        assert_eq!(short("GET a"), ["GET", "a"]);
        assert_eq!(short(&"x".repeat(128)), ["x".repeat(128)]);
        assert_eq!(short(&"x".repeat(130)), [format!("{}... (2 more bytes)", "x".repeat(128))]);
        let many = short(&"a ".repeat(40));
        assert_eq!((many.len(), many[31].as_str()), (32, "... (9 more arguments)"));
    }

    #[test]
    fn ids_continue_when_old_entries_are_removed() {
        let entry = SlowEntry { at_s: 1, us: 2, ..SlowEntry::default() };
        let mut log = Slowlog::default();
        for _ in 0..3 {
            log.add(entry.clone(), 2);
        }
        assert!(log.entries.iter().map(|entry| entry.id).eq([2, 1]));
        log.entries.clear();
        log.add(entry, 2);
        assert_eq!(log.entries[0].id, 3);
    }
}
