//! Measures how much of the server's time the requests of the control plane take. Expensive requests are then sent less
//! often. This module does no I/O.
//!
//! ```text
//! commands sent ─► own calls ─┐
//!                             ├─► µs of the main thread for each request ─► polls until it is sent again
//! INFO commandstats ──────────┘
//! ```

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use parking_lot::Mutex;

use super::{CommandStat, ServerError, Status};
use crate::{
    endpoint::{Address, SideCalls, Target},
    gauge::Gauge,
    workload::command_traits,
};

/// The number of latest costs of a request. Their median decides how often redyno sends the request. A single high cost
/// usually means that the main thread was stopped. redyno should then still poll as often as before.
const REMEMBERED: usize = 5;
/// The time of the main thread that a poll may use for CLIENT LIST, in microseconds: 0.2 % of the second between two
/// polls.
const CLIENTS_US: f64 = 2_000.0;
/// The time of the main thread that a poll may use for LATENCY HISTOGRAM, in microseconds: 0.1 %.
const TIMES_US: f64 = 1_000.0;
/// The time of the main thread that a poll may use for all other requests, in microseconds: 0.2 %.
const OTHERS_US: f64 = 2_000.0;
/// The number of polls from one CLIENT LIST to the next, if CLIENT LIST is cheap.
const CLIENTS_EVERY: u32 = 5;
/// The longest pause between two polls, as a multiple of the usual pause.
const MOST_POLLS: u32 = 10;
/// The time of the main thread to write a byte of a reply, in microseconds. Writing 1 GB takes a second.
const WRITING_US: f64 = 1e-3;

/// The assumed time of CLIENT LIST for each byte of its reply, in microseconds. redyno uses this time if the server
/// does not report the times of commands. A reply of 1.75 MB about 5000 clients took 5 to 38 ms.
const LISTING_US: f64 = 1e-2;

/// The commands of a key scan that the server counts as hits.
const LOOKUPS: [&str; 3] = ["object|freq", "pttl", "type"];

/// Newer commands with subcommands. The table of commands does not list their subcommands.
const NEWER_GROUPS: [&str; 2] = ["commandlog", "hotkeys"];

/// The commands that a connection has sent, and the parameters that it has set. Clones share the same state.
#[derive(Debug, Clone, Default)]
pub(super) struct SentCommands {
    so_far: Arc<Mutex<SentSoFar>>,
    /// The counts of the commands of redyno's side connections, and the address of this connection's server.
    pub(super) side: (SideCalls, Address),
}

#[derive(Debug, Default)]
struct SentSoFar {
    calls: BTreeMap<String, u64>,
    parameters: BTreeMap<String, String>,
}

impl SentCommands {
    /// Creates the record of the commands that a new connection to `target` sends. The record also counts the commands
    /// that redyno's side connections send to `target` from now on.
    pub(super) fn to(target: &Target) -> Self {
        Self { side: (target.side_calls.clone(), target.address.clone()), ..Self::default() }
    }

    /// Counts a command with its first argument.
    pub(super) fn count(&self, command: &str, first: Option<&str>) {
        let mut name = command.to_lowercase();
        // Since Redis 7, the server's statistics count each subcommand separately.
        let is_group = command_traits(&command.to_uppercase()).group || NEWER_GROUPS.contains(&name.as_str());
        if let Some(first) = first.filter(|_| is_group) {
            name = format!("{name}|{}", first.to_lowercase());
        }
        *self.so_far.lock().calls.entry(name).or_default() += 1;
    }

    /// Returns the calls since the previous call of this function, by their names in Redis 7. Calls of side connections
    /// are not included.
    pub(super) fn take(&self) -> BTreeMap<String, u64> {
        std::mem::take(&mut self.so_far.lock().calls)
    }

    /// Returns the calls on side connections since the previous call of this function, by their names in Redis 7.
    pub(super) fn take_side(&self) -> BTreeMap<String, u64> {
        let (side, address) = &self.side;
        side.take(address)
    }

    /// Notes that this connection will set a parameter now.
    pub(super) fn set(&self, name: &str, value: &str) {
        self.so_far.lock().parameters.insert(name.to_owned(), value.to_owned());
    }

    /// Forgets that this connection set a parameter, if the server has refused the new value. A later change of this
    /// parameter then counts as a change by another client.
    pub(super) fn note_failed_set(&self, name: &str, error: &ServerError) {
        if !error.ends_connection() {
            self.so_far.lock().parameters.remove(name);
        }
    }

    /// Returns whether this connection has set the parameter to a value for which `is_it` returns true. Each value is
    /// found only once.
    pub(super) fn take_set(&self, name: &str, is_it: impl FnOnce(&str) -> bool) -> bool {
        let mut sent = self.so_far.lock();
        let is_own = sent.parameters.get(name).is_some_and(|value| is_it(value));
        if is_own {
            sent.parameters.remove(name);
        }
        is_own
    }
}

/// Finds redyno's own calls in the server's statistics. If the server executes a call on another connection
/// after the poll, a later poll finds this call.
#[derive(Debug, Default)]
pub(super) struct OwnCalls {
    /// The calls that no poll has found yet.
    unseen: BTreeMap<String, u64>,
    /// The calls that were sent before each of the last [`REMEMBERED`] polls. Older calls are no longer expected,
    /// because the server may have refused their connection.
    recent: VecDeque<BTreeMap<String, u64>>,
}

impl OwnCalls {
    /// Returns redyno's own calls in `stats`, under the names in `stats`. Before Redis 7, subcommands are
    /// counted under the name of their command. `sent` contains the calls since the previous poll.
    pub(super) fn find(
        &mut self,
        sent: BTreeMap<String, u64>,
        stats: &BTreeMap<String, CommandStat>,
    ) -> BTreeMap<String, u64> {
        let (mut own, mut expected) = (BTreeMap::new(), std::mem::take(&mut self.unseen));
        sent.iter().for_each(|(name, calls)| *expected.entry(name.clone()).or_default() += calls);
        self.recent.push_back(sent);
        self.recent.drain(..self.recent.len().saturating_sub(REMEMBERED));
        for (name, mut calls) in expected {
            let command = name.split('|').next().unwrap_or_default();
            if let Some((known, stat)) = stats.get_key_value(&name).or_else(|| stats.get_key_value(command)) {
                let of_command = own.entry(known.clone()).or_insert(0);
                let seen = calls.min(stat.calls - *of_command);
                (*of_command, calls) = (*of_command + seen, calls - seen);
            }
            let recent = self.recent.iter().filter_map(|sent| sent.get(&name)).sum();
            if calls.min(recent) > 0 {
                self.unseen.insert(name, calls.min(recent));
            }
        }
        own.retain(|_, calls| *calls > 0);
        own
    }
}

/// Subtracts redyno's own reads of keys from the server's commands per second, keyspace hits and misses. A key scan
/// therefore does not change these figures.
pub(super) fn subtract_key_scans(own: &BTreeMap<String, u64>, status: &mut Status) {
    let calls = |name: &str| own.get(name).copied().unwrap_or(0) as f64;
    let scanned: f64 = LOOKUPS.into_iter().map(calls).sum();
    let all = scanned + calls("scan") + calls("memory|usage");
    // The check of redyno's marker, a SISMEMBER and an EXISTS, finds two keys.
    let found = scanned + 2.0 * calls("sismember");
    // Before redyno writes its marker, its reads of the marker and of the list of runs miss.
    let read = scanned + ["sismember", "exists", "smembers", "hmget"].into_iter().map(calls).sum::<f64>();
    let missed = (read - status.gauges.get(Gauge::Hits).unwrap_or_default()).max(0.0);
    let per_s = status.per_s(all).unwrap_or_default();
    for (gauge, own) in [(Gauge::Hits, found), (Gauge::Misses, missed), (Gauge::OpsPerS, per_s)] {
        let value = status.gauges.get(gauge).map(|value| (value - own).max(0.0));
        status.gauges.set(gauge, value);
    }
    status.gauges.derive();
}

/// The frequency of one request.
struct RequestPace {
    /// The smallest number of polls from one request to the next.
    least: u32,
    /// The time of the main thread that the request may take per poll, in microseconds.
    allowed_us: f64,
    costs_us: VecDeque<f64>,
    /// The number of polls until the request is sent again.
    waits: u32,
}

impl RequestPace {
    fn new(least: u32, allowed_us: f64) -> Self {
        Self { least, allowed_us, costs_us: VecDeque::new(), waits: 0 }
    }

    /// Returns the number of polls from one request to the next.
    fn gap(&self) -> u32 {
        let mut costs: Vec<_> = self.costs_us.iter().copied().collect();
        costs.sort_by(f64::total_cmp);
        let usual_us = costs.get(costs.len().saturating_sub(1) / 2).copied().unwrap_or(0.0);
        self.least.max((usual_us / self.allowed_us).ceil() as u32)
    }

    /// Returns whether the request is sent in this poll.
    fn is_due(&mut self) -> bool {
        self.waits = self.waits.saturating_sub(1);
        if self.waits == 0 {
            self.waits = self.gap();
            return true;
        }
        false
    }

    /// Adds the measured cost of the request, in microseconds.
    fn learn(&mut self, us: f64) {
        if us > 0.0 {
            self.costs_us.push_back(us);
            if self.costs_us.len() > REMEMBERED {
                self.costs_us.pop_front();
            }
            self.waits = self.waits.max(self.gap());
        }
    }
}

/// The frequency of each request of a poll.
pub(super) struct Paces {
    clients: RequestPace,
    times: RequestPace,
    others: RequestPace,
}

impl Default for Paces {
    fn default() -> Self {
        let (clients, times) = (RequestPace::new(CLIENTS_EVERY, CLIENTS_US), RequestPace::new(1, TIMES_US));
        Self { clients, times, others: RequestPace::new(1, OTHERS_US) }
    }
}

impl Paces {
    /// Returns whether this poll sends CLIENT LIST, and whether it sends LATENCY HISTOGRAM.
    pub(super) fn due(&mut self) -> (bool, bool) {
        (self.clients.is_due(), self.times.is_due())
    }

    /// Adds the costs of a poll's requests. `listed` is the size of the previous reply to CLIENT LIST, in bytes.
    pub(super) fn learn(&mut self, status: &Status, listed: usize) {
        let (mut clients_us, mut times_us, mut others_us) = (0.0, 0.0, 0.0);
        if status.command_stats.is_empty() {
            clients_us = listed as f64 * LISTING_US;
        }
        for name in status.own.keys() {
            let us = status.own_us(name);
            match name.as_str() {
                "client|list" | "client" => clients_us += us + listed as f64 * WRITING_US,
                "latency|histogram" => times_us += us,
                name if ["info", "slowlog", "commandlog", "latency", "config"]
                    .contains(&name.split('|').next().unwrap_or_default()) =>
                {
                    others_us += us;
                }
                // The commands of orders are not limited, because a person gives the orders.
                _ => {}
            }
        }
        self.clients.learn(clients_us);
        self.times.learn(times_us);
        self.others.learn(others_us);
    }

    /// Returns the length of the pause after this poll, as a multiple of the usual pause.
    pub(super) fn pause(&self) -> u32 {
        self.others.gap().min(MOST_POLLS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::command_stats::CommandCounters;

    fn calls(calls: &[(&str, u64)]) -> BTreeMap<String, u64> {
        calls.iter().map(|(name, calls)| ((*name).to_owned(), *calls)).collect()
    }

    /// Returns the statistics between two recorded replies. redyno made `own` calls.
    fn status(before: &str, now: &str, own: &[(&str, u64)]) -> Status {
        let [before, now] = [before, now].map(CommandCounters::parse);
        let command_stats = now.since(&before).unwrap();
        let own = OwnCalls::default().find(calls(own), &command_stats);
        Status { poll_s: Some(1.0), command_stats, own, ..Status::default() }
    }

    /// Replies of Redis 7.0 with 5000 clients. redyno and another client each sent CLIENT LIST once.
    const BEFORE: &str = "cmdstat_info:calls=10,usec=1500\r\ncmdstat_client|list:calls=2,usec=50000\r\n\
                          cmdstat_latency|histogram:calls=9,usec=900\r\n";
    const NOW: &str = "cmdstat_info:calls=12,usec=1800\r\ncmdstat_client|list:calls=4,usec=100000\r\n\
                       cmdstat_latency|histogram:calls=10,usec=58900\r\n";

    #[test]
    fn expensive_requests_are_sent_less_often_until_they_are_cheap_again() {
        let mut paces = Paces::default();
        let asked = |paces: &mut Paces, polls| {
            let due: Vec<_> = (0..polls).map(|_| paces.due()).collect();
            (due.iter().filter(|due| due.0).count(), due.iter().filter(|due| due.1).count())
        };
        assert_eq!(asked(&mut paces, 10), (2, 10), "the costs are unknown");
        let status = status(BEFORE, NOW, &[("info", 2), ("client|list", 1), ("latency|histogram", 1)]);
        assert_eq!((status.own_us("client|list"), status.own_us("latency|histogram")), (25_000.0, 58_000.0));
        paces.learn(&status, 1_750_000);
        // 25 ms and 1.75 ms for writing are 14 times 2 ms, and 58 ms are 58 times 1 ms.
        assert_eq!(asked(&mut paces, 14 * 58), (58, 14));
        assert_eq!(paces.pause(), 1, "INFO costs 0.3 ms");
        let cheap = "cmdstat_latency|histogram:calls=11,usec=59000\r\n";
        let cheap = self::status(
            "cmdstat_latency|histogram:calls=10,usec=58900\r\n",
            cheap,
            &[("latency|histogram", 1)],
        );
        (0..3).for_each(|_| paces.learn(&cheap, 0));
        asked(&mut paces, 58);
        assert_eq!(asked(&mut paces, 10).1, 10);
    }

    #[test]
    fn without_command_statistics_the_size_of_the_list_counts() {
        let mut paces = Paces::default();
        paces.learn(&Status::default(), 1_750_000);
        let lists = (0..90).filter(|_| paces.due().0).count();
        assert_eq!(lists, 10, "17.5 ms are 9 times 2 ms, so every ninth poll sends it");
    }

    #[test]
    fn all_polls_slow_down_but_not_after_one_slow_reply() {
        let mut paces = Paces::default();
        let info = |usec| {
            let now = format!("cmdstat_info:calls=2,usec={usec}");
            status("cmdstat_info:calls=0,usec=0", &now, &[("info", 2)])
        };
        for usec in [300, 40_000, 300] {
            paces.learn(&info(usec), 0);
            assert_eq!(paces.pause(), 1, "{usec}");
        }
        (0..5).for_each(|_| paces.learn(&info(7000), 0));
        assert_eq!(paces.pause(), 4);
    }

    #[test]
    fn own_calls_have_the_servers_names_and_are_subtracted_in_proportion() {
        let target = Target::default();
        let sent = SentCommands::to(&target);
        sent.count("CONFIG", Some("GET"));
        sent.count("INFO", Some("commandstats"));
        sent.count("PING", None);
        let own = sent.take();
        assert!(sent.take().is_empty());
        let now = "cmdstat_config:calls=4,usec=100\r\ncmdstat_info:calls=1,usec=70\r\n";
        let mut status = status("", now, &[]);
        status.own = OwnCalls::default().find(own, &status.command_stats);
        assert_eq!(status.own, calls(&[("config", 1), ("info", 1)]));
        let config = status.of_others("config").unwrap();
        assert_eq!((config.calls, config.usec, status.of_others("info")), (3, 75, None));
        assert_eq!((status.own_us("config"), status.own_us("info")), (25.0, 70.0));
    }

    #[test]
    fn own_calls_that_a_poll_has_overtaken_belong_to_one_of_the_next_polls() {
        let mut all = OwnCalls::default();
        let mut own = |sent: &[_], now| all.find(calls(sent), &status("", now, &[]).command_stats);
        let scan = "cmdstat_scan:calls=2,usec=8\r\n";
        assert_eq!(own(&[("scan", 3), ("cluster|slots", 1)], scan), calls(&[("scan", 2)]));
        let next = format!("{scan}cmdstat_cluster:calls=4,usec=1\r\n");
        assert_eq!(own(&[], &next), calls(&[("cluster", 1), ("scan", 1)]));
        let hello = "cmdstat_hello:calls=7,usec=8\r\n";
        assert_eq!(own(&[("hello", 9)], ""), calls(&[]));
        assert_eq!(own(&[], hello), calls(&[("hello", 7)]));
        (0..REMEMBERED).for_each(|_| assert_eq!(own(&[], ""), calls(&[])));
        assert_eq!(own(&[], hello), calls(&[]), "two found no place, so these are of others");
    }

    #[test]
    fn a_key_scan_changes_neither_the_hit_rate_nor_the_commands_per_second() {
        let gauges = [(Gauge::Hits, 1060.0), (Gauge::Misses, 60.0), (Gauge::OpsPerS, 2500.0)].into();
        let mut status = Status { poll_s: Some(2.0), gauges, ..Status::default() };
        subtract_key_scans(&calls(&[("pttl", 1000), ("memory|usage", 1000), ("info", 2)]), &mut status);
        let now = [Gauge::Hits, Gauge::HitRate, Gauge::OpsPerS].map(|gauge| status.gauges.get(gauge));
        assert_eq!(now, [Some(60.0), Some(0.5), Some(1500.0)]);
        status.gauges = [(Gauge::Hits, 0.0), (Gauge::Misses, 4.0)].into();
        subtract_key_scans(&calls(&[("sismember", 1), ("exists", 1), ("smembers", 2)]), &mut status);
        assert_eq!(status.gauges.get(Gauge::HitRate), None, "only redyno has read");
    }

    #[test]
    fn a_parameter_that_redyno_set_is_found_once() {
        let sent = SentCommands::default();
        sent.set("hz", "20");
        assert!(!sent.take_set("hz", |value| value == "50"));
        assert!(sent.take_set("hz", |value| value == "20"));
        assert!(!sent.take_set("hz", |value| value == "20"));
    }
}
