//! What the server knows beside its data and its sockets: its clients, its parameters, its counters and logs; what its thread
//! used; the end that is asked of it from outside; and when a command ends that the script of faults makes longer:
//!
//! ```text
//! script   ├── GET ──┤├── GET ──┤├── GET ──┤      each begins where the one before it had to end
//! thread   ├── GET ────┤├─ GET ──┤├─ GET ───┤     however late the system woke it from that
//! ```
//! So a load that never lets the server idle finds exactly as many commands a second as there is time for. Pure.

pub mod config;
mod stats;

pub use self::config::Config;
pub use self::stats::Stats;

use std::{
    collections::BTreeMap,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use self::stats::{SlowEntry, Slowlog, shortened};
use super::{
    reply::{Failure, Protocol, Reply},
    request::{Arguments, Span},
    store::{Database, Map},
};
use crate::clock::Clock;

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

/// One client.
#[derive(Debug, Clone, Default)]
pub struct Session {
    /// Its address, `127.0.0.1:50000` or the path of the socket.
    pub address: String,
    /// The name it gave itself.
    pub name: String,
    /// The database it selected.
    pub database: usize,
    /// The protocol it speaks.
    pub protocol: Protocol,
    /// Whether it may run commands.
    pub authenticated: bool,
    /// What it asked for since MULTI.
    pub transaction: Option<Transaction>,
    /// Whether it goes when what is written so far has been sent.
    pub leaving: bool,
}

/// Requests between MULTI and EXEC.
#[derive(Debug, Clone, Default)]
pub struct Transaction {
    /// In the order in which they came.
    pub queued: Vec<Queued>,
    /// A request was refused: EXEC gives up all of them.
    pub broken: bool,
}

/// A request that waits for EXEC, with its bytes.
#[derive(Debug, Clone)]
pub struct Queued {
    /// The command's place in the table.
    pub id: usize,
    /// How much longer it takes, by the script of faults.
    pub slow: Duration,
    bytes: Vec<u8>,
    spans: Vec<Span>,
}

impl Transaction {
    /// Adds a request.
    pub fn queue(&mut self, id: usize, arguments: Arguments<'_>, slow: Duration) {
        let (bytes, spans) = (arguments.bytes.to_vec(), arguments.spans.to_vec());
        self.queued.push(Queued { id, slow, bytes, spans });
    }
}

impl Queued {
    /// What was asked, the command's name first.
    pub fn arguments(&self) -> Arguments<'_> {
        Arguments { bytes: &self.bytes, spans: &self.spans }
    }
}

/// How much of what the system cost it the server makes up for. A thread that sleeps is woken some tenths of a millisecond
/// late, and on a busy machine later; what is longer is a stall like any other's.
const MADE_UP_NS: u64 = 5_000_000;

/// How far the time is spent.
#[derive(Debug, Default)]
pub(super) struct Spending {
    /// When the last command had to end; `None` if nobody waited behind it.
    spent_ns: Option<u64>,
}

impl Spending {
    /// When a command ends that comes at `now_ns` and takes `length`.
    pub(super) fn spend(&mut self, now_ns: u64, length: Duration) -> u64 {
        let begin_ns = self.spent_ns.map_or(now_ns, |ns| ns.max(now_ns.saturating_sub(MADE_UP_NS)));
        let end_ns = begin_ns.saturating_add(u64::try_from(length.as_nanos()).unwrap_or(u64::MAX));
        self.spent_ns = Some(end_ns);
        end_ns
    }

    /// Nobody asks any more.
    pub(super) fn end(&mut self) {
        self.spent_ns = None;
    }
}

/// What the two threads share.
#[derive(Debug, Default)]
pub struct Stop {
    is_told: Mutex<bool>,
    told: Condvar,
}

impl Stop {
    /// Tells the server to stop.
    pub fn tell(&self) {
        *self.lock() = true;
        self.told.notify_all();
    }

    /// Whether the server was asked to stop.
    pub fn is_told(&self) -> bool {
        *self.lock()
    }

    /// For the server: sleeps, or less if it is asked to stop.
    pub fn sleep(&self, length: Duration) {
        // Woken early, it sleeps for what is left.
        drop(self.told.wait_timeout_while(self.lock(), length, |is_told| !*is_told));
    }

    /// A flag is whole at every moment: a panic elsewhere does not spoil it.
    fn lock(&self) -> MutexGuard<'_, bool> {
        self.is_told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1000;
    const LENGTH: Duration = Duration::from_micros(100);

    #[test]
    fn what_waits_makes_up_for_late_wake_ups() {
        let mut spending = Spending::default();
        let mut now_ns = 7 * US;
        for n in 1..=100 {
            let end_ns = spending.spend(now_ns, LENGTH);
            assert_eq!(end_ns, 7 * US + n * 100 * US);
            // Woken late, by more than a command takes.
            now_ns = end_ns.max(now_ns) + 160 * US * (n % 2);
        }
    }

    #[test]
    fn alone_a_command_takes_no_less_and_a_stall_is_not_made_up_for() {
        let mut spending = Spending::default();
        spending.spend(0, LENGTH);
        spending.end();
        assert_eq!(spending.spend(130 * US, LENGTH), 230 * US);
        assert_eq!(spending.spend(1_000_000 * US, LENGTH), 1_000_000 * US - MADE_UP_NS + 100 * US);
        assert_eq!(spending.spend(0, Duration::MAX), u64::MAX);
    }

    #[test]
    fn a_sleep_ends_when_the_server_is_told_to_stop() {
        let stop = Arc::new(Stop::default());
        let sleeper = std::thread::spawn({
            let stop = Arc::clone(&stop);
            move || stop.sleep(Duration::MAX)
        });
        stop.tell();
        sleeper.join().unwrap();
    }
}
