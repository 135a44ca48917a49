//! The state of the built-in server: its data, clients, parameters, counters and logs, and the request to stop. The
//! state also contains the schedule of commands that a simulated fault makes slower:
//!
//! ```text
//! script   ├── GET ──┤├── GET ──┤├── GET ──┤      each begins when the previous one had to end
//! thread   ├── GET ────┤├─ GET ──┤├─ GET ───┤     however late the system woke the thread
//! ```
//! If requests are always waiting, the number of commands per second is therefore exact. For example, commands of 100
//! µs run 10 000 times per second.

pub mod config;
mod stats;

pub use self::config::ServerParameters;
pub use self::stats::ServerStats;

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use parking_lot::{Condvar, Mutex};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use self::stats::{SlowEntry, Slowlog, shortened};
use super::{
    channels::{Channels, Tracking, Waiting},
    cluster::{Member, SlotUse},
    reply::{ReplyError, ReplyWriter, RespProtocol},
    request::{ArgumentSpan, RequestArguments},
    store::{Database, Map, databases},
};
use crate::clock::Clock;

/// The number of keys of a database that each round of housekeeping checks for expiry. The limit keeps rounds
/// short.
const SWEPT_PER_TICK: usize = 10_000;

/// The latest and the longest event of one kind in the latency monitor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spike {
    /// The Unix time of the latest event, in seconds.
    pub at_s: u64,
    /// The longest event in the same second as the latest event, in ms.
    pub ms: u64,
    /// The longest event so far, in ms.
    pub max_ms: u64,
}

/// The state of the server, which commands read and change.
pub struct ServerState {
    /// The data.
    pub databases: Vec<Database>,
    /// The parameters.
    pub config: ServerParameters,
    /// The counters.
    pub stats: ServerStats,
    /// The slow log.
    pub slowlog: Slowlog,
    /// The events of the latency monitor, by kind.
    pub spikes: BTreeMap<&'static str, Spike>,
    /// The clients by their numbers.
    pub sessions: Map<usize, ClientSession>,
    /// The random number generator for commands that return random members.
    pub rng: Pcg64Mcg,
    /// The largest size of the data so far, in bytes.
    pub peak_bytes: usize,
    /// The `run_id` in INFO: forty hexadecimal digits, new for each run.
    pub run_id: String,
    /// The time of the current command, in ns since the start.
    pub now_ns: u64,
    /// The place of the server in a cluster, or `None` if the server is alone.
    pub member: Option<Arc<Member>>,
    /// The cost of the requests for each slot on this node.
    pub slot_use: Map<u16, SlotUse>,
    /// The clients that wait for an entry of a stream or a list.
    pub waiting: Waiting,
    /// The subscribers of channels.
    pub channels: Channels,
    /// The clients with CLIENT TRACKING.
    pub tracking: Tracking,
    spending: SlowSchedule,
    stop: Arc<StopSignal>,
    clock: Clock,
    start_unix_us: u64,
}

impl ServerState {
    /// Creates the state of an empty server. `commands` is the size of the command table; the same `seed` gives the
    /// same random values.
    pub fn new(config: ServerParameters, commands: usize, stop: Arc<StopSignal>, seed: u64) -> Self {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        // The id distinguishes runs, so it does not come from the seed.
        let mut id_source = rand::rng();
        Self {
            databases: databases(),
            config,
            stats: ServerStats::new(commands),
            slowlog: Slowlog::default(),
            spikes: BTreeMap::new(),
            sessions: Map::default(),
            rng: Pcg64Mcg::seed_from_u64(seed),
            peak_bytes: 0,
            run_id: (0..5).map(|_| format!("{:08x}", id_source.random::<u32>())).collect(),
            now_ns: 0,
            member: None,
            slot_use: Map::default(),
            waiting: Waiting::default(),
            channels: Channels::default(),
            tracking: Tracking::default(),
            spending: SlowSchedule::default(),
            stop,
            clock: Clock::start(),
            start_unix_us: unix.as_micros() as u64,
        }
    }

    /// Reads the clock, and returns the time in ns since the start.
    pub fn read_clock(&mut self) -> u64 {
        self.now_ns = self.clock.now_ns();
        self.now_ns
    }

    /// Returns the time of the current command in µs since 1970.
    pub fn unix_us(&self) -> u64 {
        self.start_unix_us + self.now_ns / 1000
    }

    /// Returns the time of the current command in ms since 1970.
    pub fn unix_ms(&self) -> u64 {
        self.unix_us() / 1000
    }

    /// Blocks the server for this time, so that no client is served. Returns early if the server is requested to stop.
    pub fn sleep(&self, length: Duration) {
        self.stop.sleep(length);
    }

    /// Makes a command longer by `length`. All clients wait until the command ends. The wait is shorter if earlier
    /// commands took too long.
    pub fn delay_command(&mut self, length: Duration) {
        if length.is_zero() {
            return;
        }
        let now_ns = self.clock.now_ns();
        let end_ns = self.spending.spend(now_ns, length);
        self.sleep(Duration::from_nanos(end_ns.saturating_sub(now_ns)));
    }

    /// Records that the server was idle until now.
    pub fn idled(&mut self) {
        self.spending.end();
    }

    /// Calls `act`, which finds the data in `databases`. In a cluster, the nodes of a shard share their data.
    /// `databases` contains the shared data only during this call, and this node holds the lock of the data.
    pub fn with_data<R>(&mut self, act: impl FnOnce(&mut Self) -> R) -> R {
        let Some(member) = self.member.clone() else { return act(self) };
        let mut data = member.shared.databases(member.shard);
        std::mem::swap(&mut *data, &mut self.databases);
        let result = act(self);
        std::mem::swap(&mut *data, &mut self.databases);
        result
    }

    /// Returns the mode of the server, as INFO and HELLO name it.
    pub fn mode(&self) -> &'static str {
        if self.member.is_some() { "cluster" } else { "standalone" }
    }

    /// Returns whether the server is a replica.
    pub fn is_replica(&self) -> bool {
        self.member.as_ref().is_some_and(|member| !member.is_primary())
    }

    /// Returns the size of all databases in bytes.
    pub fn used_bytes(&self) -> usize {
        self.databases.iter().map(|database| database.bytes).sum()
    }

    /// Returns whether the data is below `maxmemory`.
    pub fn has_room(&self) -> bool {
        self.config.maxmemory == 0 || self.used_bytes() as u64 <= self.config.maxmemory
    }

    /// Runs one round of housekeeping: removes expired keys, and updates the rates and the highest memory use. There
    /// are `hz` rounds of housekeeping per second.
    pub fn tick(&mut self) {
        let now_ms = self.unix_ms();
        for database in &mut self.databases {
            database.set_now(now_ms);
            database.sweep(SWEPT_PER_TICK);
        }
        self.peak_bytes = self.peak_bytes.max(self.used_bytes());
        self.stats.sample(self.now_ns);
    }

    /// Adds an event to the latency monitor if the event was at least as long as `latency-monitor-threshold`.
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
    pub fn fail(&mut self, failure: &ReplyError, reply: &mut ReplyWriter<'_>) {
        let text = &failure.0;
        self.stats.count_error(text.split(' ').next().unwrap_or(text));
        reply.error(text);
    }

    /// Adds a command to the slow log. `us` is the run time of the command in µs.
    pub fn note_slow(&mut self, client: usize, arguments: RequestArguments<'_>, us: u64) {
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
pub struct ClientSession {
    /// The address of the client, such as `127.0.0.1:50000`, or the path of the unix socket.
    pub address: String,
    /// The name that the client has set with CLIENT SETNAME or HELLO; empty if the client has no name.
    pub name: String,
    /// The number of the database that the client has selected.
    pub database: usize,
    /// The client's protocol.
    pub protocol: RespProtocol,
    /// Whether the client is authenticated, or no password is needed.
    pub authenticated: bool,
    /// The requests that the client has queued since MULTI.
    pub transaction: Option<Transaction>,
    /// Whether the client's next request was redirected with ASK.
    pub asking: bool,
    /// Whether the client reads from replicas.
    pub readonly: bool,
    /// Whether the client will be disconnected when all replies so far are sent.
    pub leaving: bool,
    /// The end of the client's wait for an entry of a stream or a list, or `None` if the client does not
    /// wait.
    pub waits_until_ns: Option<u64>,
}

/// The requests between MULTI and EXEC.
#[derive(Debug, Clone, Default)]
pub struct Transaction {
    /// The queued requests, in the order of their arrival.
    pub queued: Vec<Queued>,
    /// Whether a request was refused. If so, EXEC discards all requests.
    pub broken: bool,
}

/// A queued request, which runs at EXEC.
#[derive(Debug, Clone)]
pub struct Queued {
    /// The number of the command in the command table.
    pub id: usize,
    /// The time by which a fault makes the command longer.
    pub slow: Duration,
    bytes: Vec<u8>,
    spans: Vec<ArgumentSpan>,
}

impl Transaction {
    /// Adds a request.
    pub fn queue(&mut self, id: usize, arguments: RequestArguments<'_>, slow: Duration) {
        let (bytes, spans) = (arguments.bytes.to_vec(), arguments.spans.to_vec());
        self.queued.push(Queued { id, slow, bytes, spans });
    }
}

impl Queued {
    /// Returns the arguments; argument 0 is the command's name.
    pub fn arguments(&self) -> RequestArguments<'_> {
        RequestArguments { bytes: &self.bytes, spans: &self.spans }
    }
}

/// The longest delay, in nanoseconds, that later commands make up for. The operating system wakes a sleeping
/// thread some tenths of a millisecond late, or more on a busy machine. The server does not make up for
/// longer delays.
const MADE_UP_NS: u64 = 5_000_000;

/// The schedule of commands that a fault makes longer.
#[derive(Debug, Default)]
pub(super) struct SlowSchedule {
    /// The scheduled end of the last command, or `None` if the server has been idle since then.
    spent_ns: Option<u64>,
}

impl SlowSchedule {
    /// Returns the scheduled end of a command that begins at `now_ns` and takes `length`.
    pub(super) fn spend(&mut self, now_ns: u64, length: Duration) -> u64 {
        let begin_ns = self.spent_ns.map_or(now_ns, |ns| ns.max(now_ns.saturating_sub(MADE_UP_NS)));
        let end_ns = begin_ns.saturating_add(u64::try_from(length.as_nanos()).unwrap_or(u64::MAX));
        self.spent_ns = Some(end_ns);
        end_ns
    }

    /// Records that no requests are waiting.
    pub(super) fn end(&mut self) {
        self.spent_ns = None;
    }
}

/// The request to stop, which the server's thread shares with its owner.
#[derive(Debug, Default)]
pub struct StopSignal {
    is_requested: Mutex<bool>,
    requested: Condvar,
}

impl StopSignal {
    /// Requests the server to stop.
    pub fn request(&self) {
        *self.is_requested.lock() = true;
        self.requested.notify_all();
    }

    /// Returns whether the server was requested to stop.
    pub fn is_requested(&self) -> bool {
        *self.is_requested.lock()
    }

    /// Blocks the server's thread for this time, or until the server is requested to stop.
    pub fn sleep(&self, length: Duration) {
        // If the thread is woken early, it sleeps for the rest of the time.
        let mut is_requested = self.is_requested.lock();
        self.requested.wait_while_for(&mut is_requested, |is_requested| !*is_requested, length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1000;
    const LENGTH: Duration = Duration::from_micros(100);

    #[test]
    fn waiting_commands_make_up_for_late_wake_ups() {
        let mut spending = SlowSchedule::default();
        let mut now_ns = 7 * US;
        for n in 1..=100 {
            let end_ns = spending.spend(now_ns, LENGTH);
            assert_eq!(end_ns, 7 * US + n * 100 * US);
            // Woken late, by more than a command takes.
            now_ns = end_ns.max(now_ns) + 160 * US * (n % 2);
        }
    }

    #[test]
    fn a_single_command_is_not_shortened_and_a_stall_is_not_made_up_for() {
        let mut spending = SlowSchedule::default();
        spending.spend(0, LENGTH);
        spending.end();
        assert_eq!(spending.spend(130 * US, LENGTH), 230 * US);
        assert_eq!(spending.spend(1_000_000 * US, LENGTH), 1_000_000 * US - MADE_UP_NS + 100 * US);
        assert_eq!(spending.spend(0, Duration::MAX), u64::MAX);
    }

    #[test]
    fn a_sleep_ends_when_the_server_is_requested_to_stop() {
        let stop = Arc::new(StopSignal::default());
        let sleeper = std::thread::spawn({
            let stop = Arc::clone(&stop);
            move || stop.sleep(Duration::MAX)
        });
        stop.request();
        sleeper.join().unwrap();
    }
}
