//! The contents of a time slot of the timeline, except latencies: load, errors, pings and the server's
//! figures.

use std::{collections::BTreeMap, sync::Arc};

use super::{ErrorSource, history::Merge};
use crate::{
    gauge::{Gauge, Gauges},
    host::HostSample,
    probe::Ping,
    protocol::OTHER,
    server::{CommandStat, Status},
    session::{Interval, Moment, add_counts},
};

/// The load during a time slot, of all segments together.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LoadCell {
    /// Good replies, except replies after the end of a load or segment.
    pub ops: u64,
    /// The measured time under load, in seconds.
    pub length_s: f64,
    /// The longest time from the moment when a request was due until the request was sent, in microseconds.
    pub behind_us: u64,
    /// The longest time that an unanswered request had waited at the end of a tick (quarter second), in
    /// nanoseconds. The service time of this request is at least as long as this wait.
    pub waiting_ns: u64,
    /// Connections that carried load at the end of the time slot.
    pub clients: u32,
    /// The lowest and the highest rate in replies per second. The rates come from the finest time slots that were
    /// merged into this time slot.
    extremes: Option<(f64, f64)>,
}

impl LoadCell {
    pub(super) fn add(&mut self, interval: &Interval) {
        self.behind_us = self.behind_us.max(interval.behind_us);
        self.waiting_ns = self.waiting_ns.max(interval.waiting_us.saturating_mul(1_000));
        if interval.drain {
            return;
        }
        self.ops += interval.ops;
        self.length_s += interval.length_s;
        if interval.length_s > 0.0 {
            self.clients = interval.clients;
        }
    }

    /// Returns the good replies per second of time under load; `None` if there were only late replies.
    pub fn ops_per_s(&self) -> Option<f64> {
        (self.length_s > 0.0).then(|| self.ops as f64 / self.length_s)
    }

    /// Returns the longest wait for a reply in nanoseconds, if this wait is longer than `latency_ns`.
    pub fn wait_beyond(&self, latency_ns: Option<u64>) -> Option<u64> {
        beyond(self.waiting_ns, latency_ns)
    }

    /// Returns the rates of the slowest and the fastest tick (quarter second) in the time slot, in replies
    /// per second. In older time slots, returns the rates of the slowest and the fastest second.
    pub fn extremes(&self) -> Option<(f64, f64)> {
        self.extremes.or_else(|| self.ops_per_s().map(|rate| (rate, rate)))
    }
}

impl Merge for LoadCell {
    fn merge(&mut self, later: Self) {
        let (mine, other) = (self.extremes(), later.extremes());
        self.extremes = match (mine, other) {
            (Some((low, high)), Some((l, h))) => Some((low.min(l), high.max(h))),
            (one, None) | (None, one) => one,
        };
        self.ops += later.ops;
        self.behind_us = self.behind_us.max(later.behind_us);
        self.waiting_ns = self.waiting_ns.max(later.waiting_ns);
        if later.length_s > 0.0 {
            self.length_s += later.length_s;
            self.clients = later.clients;
        }
    }
}

/// The number of errors of the load and of PING during a time slot, by source and then by kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ErrorCell(pub BTreeMap<ErrorSource, BTreeMap<String, u64>>);

impl ErrorCell {
    /// Returns the number of requests of the load that failed, with all kinds of errors.
    pub fn of_requests(&self) -> u64 {
        let requests = self.0.iter().filter(|(source, _)| source.ping().is_none());
        requests.flat_map(|(_, errors)| errors.values()).sum()
    }
}

impl Merge for ErrorCell {
    fn merge(&mut self, later: Self) {
        later.0.iter().for_each(|(source, errors)| add_counts(self.0.entry(*source).or_default(), errors));
    }
}

/// The counts of the pings during a time slot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PingCell {
    /// Good replies to PING.
    pub answered: u64,
    /// Good replies whose round trip could not be divided into its parts: sending, kernel and reading.
    pub left_out: u64,
    /// The longest time that an unanswered PING had waited at the end of a tick (quarter second), in
    /// nanoseconds. The round trip of this PING is at least as long as this wait.
    pub waiting_ns: u64,
}

impl PingCell {
    /// Returns the counts of one record.
    pub fn of(ping: &Ping) -> Self {
        Self {
            answered: ping.rtt.count(),
            left_out: ping.left_out.values().sum(),
            waiting_ns: ping.waiting_us.saturating_mul(1_000),
        }
    }

    /// Returns whether most round trips could not be divided into their parts. The parts of the other PINGs are then
    /// misleading, because only fast PINGs can be divided during a stall.
    pub fn lacks_parts(&self) -> bool {
        self.left_out * 2 > self.answered
    }

    /// Returns the longest wait for a reply in nanoseconds, if this wait is longer than `rtt_ns`.
    pub fn wait_beyond(&self, rtt_ns: Option<u64>) -> Option<u64> {
        beyond(self.waiting_ns, rtt_ns)
    }
}

/// Returns `waiting_ns`, if this wait is longer than the longest latency.
fn beyond(waiting_ns: u64, longest_ns: Option<u64>) -> Option<u64> {
    (waiting_ns > longest_ns.unwrap_or(0)).then_some(waiting_ns)
}

impl Merge for PingCell {
    fn merge(&mut self, later: Self) {
        self.answered += later.answered;
        self.left_out += later.left_out;
        self.waiting_ns = self.waiting_ns.max(later.waiting_ns);
    }
}

/// The commands that the server ran during a time slot, from the server's own statistics. Commands of redyno's control
/// plane are counted separately.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CommandCell {
    /// The length of the period of these statistics, in seconds.
    pub length_s: f64,
    /// The statistics by command. If there are more than `MOST_COMMANDS` commands, the statistics of the rest are
    /// summed under the name [`OTHER`]. The statistics are boxed, because a map reserves space for eleven values, and a
    /// time slot usually has few commands.
    pub stats: BTreeMap<String, Box<CommandStat>>,
    /// The calls of redyno's control plane, and their time in microseconds.
    pub own: CommandStat,
}

/// A time slot keeps the statistics of at most this many commands separate.
const MOST_COMMANDS: usize = 32;

impl CommandCell {
    /// Returns the commands that the server ran between the previous poll and this poll. The result is empty if these
    /// commands are unknown, for example after the first poll.
    pub fn of(status: &Status) -> Self {
        let mut cell = Self::default();
        if let Some(length_s) = status.poll_s.filter(|s| *s > 0.0 && !status.command_stats.is_empty()) {
            cell.length_s = length_s;
            let of_others = |name: &String| Some((name.clone(), status.of_others(name)?));
            // Sorted by time first: a command with few calls may take most of the time. memcached reports no times.
            let mut by_time: Vec<_> = status.command_stats.keys().filter_map(of_others).collect();
            by_time.sort_by_key(|(_, stat)| std::cmp::Reverse((stat.usec, stat.calls)));
            by_time.iter().for_each(|(name, stat)| cell.add(name, stat));
            cell.own.calls = status.own.values().fold(0, |sum, calls| sum.saturating_add(*calls));
            cell.own.usec = status.own.keys().map(|name| status.own_us(name)).sum::<f64>().round() as u64;
        }
        cell
    }

    fn add(&mut self, name: &str, stat: &CommandStat) {
        let is_known = self.stats.contains_key(name) || self.stats.len() < MOST_COMMANDS;
        match self.stats.get_mut(if is_known { name } else { OTHER }) {
            Some(mine) => mine.merge(stat),
            None => {
                let name = if is_known { name } else { OTHER }.to_owned();
                self.stats.insert(name, Box::new(stat.clone()));
            }
        }
    }

    /// Returns the calls per second of one command; `None` without statistics.
    pub fn per_s(&self, name: &str) -> Option<f64> {
        let calls = self.stats.get(name).map_or(0, |stat| stat.calls);
        (self.length_s > 0.0).then(|| calls as f64 / self.length_s)
    }

    /// Returns the calls per second of all commands; `None` without statistics.
    pub fn all_per_s(&self) -> Option<f64> {
        let calls: f64 = self.stats.values().map(|stat| stat.calls as f64).sum();
        (self.length_s > 0.0).then(|| calls / self.length_s)
    }
}

impl Merge for CommandCell {
    fn merge(&mut self, later: Self) {
        self.length_s += later.length_s;
        later.stats.iter().for_each(|(name, stat)| self.add(name, stat));
        self.own.merge(&later.own);
    }
}

/// The server's figures during a time slot.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServerCell {
    /// The last status of the server in the time slot, without the statistics of commands and the calls of redyno's
    /// control plane. The field `commands` has these statistics.
    pub last: Option<Arc<Moment<Status>>>,
    /// The last sample of redyno's machine in the time slot.
    pub host: Option<Arc<Moment<HostSample>>>,
    /// The highest values of the figures with a chart.
    highest: Gauges,
    /// The commands that the server ran.
    pub commands: CommandCell,
}

/// The figures of the server that have a chart. A time slot has only their highest values, because a session of many
/// nodes has thousands of time slots.
const CHARTED: [Gauge; 7] = [
    Gauge::Cpu,
    Gauge::OpsPerS,
    Gauge::BytesIn,
    Gauge::BytesOut,
    Gauge::UsedMemory,
    Gauge::Clients,
    Gauge::EvictedKeys,
];

impl ServerCell {
    /// Returns the highest value of a figure with a chart in the time slot. For a figure that counts events, returns the
    /// highest rate per second.
    pub fn highest(&self, gauge: Gauge) -> Option<f64> {
        debug_assert!(CHARTED.contains(&gauge), "{gauge:?} has no chart");
        self.highest.get(gauge)
    }

    pub(super) fn add(&mut self, moment: &Moment<Status>) {
        let status = &moment.body;
        let (rates, mut highest) = (status.rates(), Gauges::default());
        CHARTED.into_iter().for_each(|gauge| highest.set(gauge, rates.get(gauge)));
        let commands = CommandCell::of(status);
        let mut last = moment.clone();
        (last.body.command_stats, last.body.own) = Default::default();
        self.merge(Self { highest, last: Some(Arc::new(last)), host: None, commands });
    }

    pub(super) fn add_host(&mut self, moment: Arc<Moment<HostSample>>) {
        keep_later(&mut self.host, Some(moment));
    }
}

impl Merge for ServerCell {
    fn merge(&mut self, later: Self) {
        self.highest.raise(&later.highest);
        self.commands.merge(later.commands);
        keep_later(&mut self.last, later.last);
        keep_later(&mut self.host, later.host);
    }
}

/// Replaces `mine` with `other`, unless `other` is from an earlier moment.
fn keep_later<T>(mine: &mut Option<Arc<Moment<T>>>, other: Option<Arc<Moment<T>>>) {
    if let Some(other) = other.filter(|other| mine.as_ref().is_none_or(|mine| mine.t_s <= other.t_s)) {
        *mine = Some(other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merged_load_keeps_its_slowest_and_fastest_tick() {
        let tick = |ops| {
            let mut cell = LoadCell::default();
            cell.add(&Interval { ops, length_s: 0.25, behind_us: ops, ..Interval::default() });
            cell
        };
        let mut cell = tick(100);
        [tick(25), tick(300)].into_iter().for_each(|later| cell.merge(later));
        assert_eq!((cell.ops, cell.ops_per_s(), cell.behind_us), (425, Some(425.0 / 0.75), 300));
        assert_eq!(cell.extremes(), Some((100.0, 1200.0)));
        let mut late = LoadCell::default();
        late.add(&Interval { ops: 3, ..Interval::default() });
        cell.merge(late);
        assert_eq!((cell.ops, cell.extremes()), (428, Some((100.0, 1200.0))));
    }

    #[test]
    fn parts_of_few_pings_are_not_shown_and_a_wait_is_a_lower_bound() {
        let mut cell = PingCell { answered: 25, left_out: 1, waiting_ns: 0 };
        assert!(!cell.lacks_parts());
        cell.merge(PingCell { answered: 100, left_out: 90, waiting_ns: 7_000 });
        assert!(cell.lacks_parts());
        assert_eq!((cell.answered, cell.left_out), (125, 91));
        assert_eq!(
            [None, Some(6_999), Some(7_000)].map(|rtt| cell.wait_beyond(rtt).is_some()),
            [true, true, false]
        );
    }

    #[test]
    fn commands_add_up_over_the_covered_time() {
        let poll = |calls, poll_s| {
            let stat = CommandStat { calls, times: Some(vec![(4, calls)].into()), ..CommandStat::default() };
            let command_stats = [("get".to_owned(), stat)].into();
            Moment::new(1.0, Status { poll_s, command_stats, ..Status::default() })
        };
        let unknown = Moment::new(2.0, Status { poll_s: Some(1.0), ..Status::default() });
        let mut cell = ServerCell::default();
        [poll(100, Some(1.0)), poll(50, Some(0.5)), unknown, poll(7, None)].iter().for_each(|p| cell.add(p));
        let commands = &cell.commands;
        assert_eq!(
            (commands.length_s, commands.per_s("get"), commands.per_s("set")),
            (1.5, Some(100.0), Some(0.0))
        );
        assert_eq!(commands.stats["get"].times, Some(vec![(4, 150)].into()));
        let mut many = CommandCell { length_s: 1.0, ..CommandCell::default() };
        (0..100)
            .for_each(|n| many.add(&format!("c{n}"), &CommandStat { calls: 1, ..CommandStat::default() }));
        assert_eq!((many.stats.len(), many.all_per_s()), (MOST_COMMANDS + 1, Some(100.0)));
    }

    #[test]
    fn redynos_own_commands_are_separate_and_a_command_with_few_long_calls_is_listed() {
        let stat = |calls, usec| CommandStat { calls, usec, ..CommandStat::default() };
        let mut command_stats: BTreeMap<_, _> = (0..40).map(|n| (format!("c{n}"), stat(1000, 10))).collect();
        command_stats.insert("keys".to_owned(), stat(1, 900_000));
        command_stats.insert("info".to_owned(), stat(4, 800));
        let own = [("info".to_owned(), 2)].into();
        let status = Status { poll_s: Some(1.0), command_stats, own, ..Status::default() };
        let mut commands = CommandCell::of(&status);
        assert_eq!((commands.stats["keys"].usec, &*commands.stats["info"]), (900_000, &stat(2, 400)));
        commands.merge(CommandCell::of(&status));
        assert_eq!((commands.own.calls, commands.own.usec), (4, 800));
    }

    #[test]
    fn a_cell_keeps_the_last_status_and_the_highest_values() {
        let at = |t_s, cpu| {
            let gauges = [(Gauge::Cpu, cpu)].into();
            Moment::new(t_s, Status { gauges, ..Status::default() })
        };
        let mut cell = ServerCell::default();
        [at(1.0, 0.2), at(2.0, 0.9), at(3.0, 0.4)].iter().for_each(|moment| cell.add(moment));
        assert_eq!((cell.highest(Gauge::Cpu), cell.last.map(|last| last.t_s)), (Some(0.9), Some(3.0)));
    }
}
