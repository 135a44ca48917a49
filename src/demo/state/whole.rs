//! The whole state of the server, but for its sockets.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::slowlog::{SlowEntry, Slowlog, shortened};
use super::spending::Spending;
use super::{Config, Session, Stats};
use crate::clock::Clock;
use crate::demo::failure::Failure;
use crate::demo::reply::Reply;
use crate::demo::request::Arguments;
use crate::demo::stop::Stop;
use crate::demo::store::{Database, Map};

/// How many databases there are.
pub const DATABASES: usize = 16;

/// Keys of a database whose expiry one tick of housekeeping looks at, so that a tick stays short.
const SWEPT_PER_TICK: usize = 10_000;

/// The latest moment at which something took long, and the longest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spike {
    /// Unix time of the latest in seconds.
    pub at_s: u64,
    /// The longest of that second in ms.
    pub ms: u64,
    /// The longest ever, in ms.
    pub max_ms: u64,
}

/// Everything that a command can see or change.
#[derive(Debug)]
pub struct State {
    /// The data.
    pub databases: Vec<Database>,
    /// The parameters.
    pub config: Config,
    /// The counters.
    pub stats: Stats,
    /// The slow log.
    pub slowlog: Slowlog,
    /// What the latency monitor saw, by event.
    pub spikes: BTreeMap<&'static str, Spike>,
    /// The clients by their numbers.
    pub sessions: Map<usize, Session>,
    /// Draws members.
    pub rng: Pcg64Mcg,
    /// The highest memory use seen.
    pub peak_bytes: usize,
    /// Forty hexadecimal digits, new for each run.
    pub run_id: String,
    /// The time of the current command, in ns since the start.
    pub now_ns: u64,
    spending: Spending,
    stop: Arc<Stop>,
    clock: Clock,
    start_unix_us: u64,
}

impl State {
    /// An empty server. `commands` is the size of the command table, `seed` makes its draws reproducible.
    pub fn new(config: Config, commands: usize, stop: Arc<Stop>, seed: u64) -> Self {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        // The id tells runs apart, so it does not come from the seed.
        let mut id_source = rand::rng();
        Self {
            databases: (0..DATABASES).map(|_| Database::default()).collect(),
            config,
            stats: Stats::new(commands),
            slowlog: Slowlog::default(),
            spikes: BTreeMap::new(),
            sessions: Map::default(),
            rng: Pcg64Mcg::seed_from_u64(seed),
            peak_bytes: 0,
            run_id: (0..5).map(|_| format!("{:08x}", id_source.random::<u32>())).collect(),
            now_ns: 0,
            spending: Spending::default(),
            stop,
            clock: Clock::start(),
            start_unix_us: unix.as_micros() as u64,
        }
    }

    /// Reads the clock; the time in ns since the start.
    pub fn read_clock(&mut self) -> u64 {
        self.now_ns = self.clock.now_ns();
        self.now_ns
    }

    /// The time of the current command in µs since 1970.
    pub fn unix_us(&self) -> u64 {
        self.start_unix_us + self.now_ns / 1000
    }

    /// The same in ms.
    pub fn unix_ms(&self) -> u64 {
        self.unix_us() / 1000
    }

    /// Stands still, and every client with it. Ends early when the server is told to stop.
    pub fn sleep(&self, length: Duration) {
        if !length.is_zero() {
            self.stop.sleep(length);
        }
    }

    /// Takes `length` for a command, and every client waits; less if it made others wait too long before.
    pub fn spend(&mut self, length: Duration) {
        if length.is_zero() {
            return;
        }
        let now_ns = self.clock.now_ns();
        let end_ns = self.spending.spend(now_ns, length);
        self.sleep(Duration::from_nanos(end_ns.saturating_sub(now_ns)));
    }

    /// Nobody had anything to ask until now.
    pub fn idled(&mut self) {
        self.spending.end();
    }

    /// Bytes of all databases.
    pub fn used_bytes(&self) -> usize {
        self.databases.iter().map(Database::bytes).sum()
    }

    /// Whether the data is below `maxmemory`.
    pub fn has_room(&self) -> bool {
        self.config.maxmemory == 0 || self.used_bytes() as u64 <= self.config.maxmemory
    }

    /// Housekeeping, `hz` times a second: expiry, rates, the peak of memory.
    pub fn tick(&mut self) {
        let now_ms = self.unix_ms();
        for database in &mut self.databases {
            database.set_now(now_ms);
            database.sweep(SWEPT_PER_TICK);
        }
        self.peak_bytes = self.peak_bytes.max(self.used_bytes());
        self.stats.sample(self.now_ns);
    }

    /// Notes in the latency monitor that the server stood still, if that was long enough.
    pub fn note_latency(&mut self, event: &'static str, length: Duration) {
        let ms = length.as_millis() as u64;
        let threshold_ms = self.config.latency_threshold_ms;
        if threshold_ms > 0 && ms >= threshold_ms {
            let at_s = self.unix_us() / 1_000_000;
            let spike = self.spikes.entry(event).or_default();
            let of_this_second = if spike.at_s == at_s { spike.ms } else { 0 };
            *spike = Spike { at_s, ms: ms.max(of_this_second), max_ms: ms.max(spike.max_ms) };
        }
    }

    /// Writes an error reply and counts it by its prefix.
    pub fn fail(&mut self, failure: &Failure, reply: &mut Reply<'_>) {
        let text = &failure.0;
        self.stats.count_error(text.split(' ').next().unwrap_or(text));
        reply.error(text);
    }

    /// Notes in the slow log that a command took `us`.
    pub fn note_slow(&mut self, client: usize, arguments: Arguments<'_>, us: u64) {
        let session = &self.sessions[&client];
        let entry = SlowEntry {
            at_s: self.unix_us() / 1_000_000,
            us,
            arguments: shortened(arguments),
            address: session.address.clone(),
            name: session.name.clone(),
            ..SlowEntry::default()
        };
        self.slowlog.add(entry, self.config.number("slowlog-max-len") as usize);
    }
}
