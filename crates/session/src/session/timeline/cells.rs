//! What a cell of time holds beside distributions: load, errors, the server's word.

use std::collections::BTreeMap;

use super::history::Merge;
use crate::{
    gauge::{GAUGES, Gauges, Kind},
    probe::Ping,
    protocol::OTHER,
    server::{CommandStat, Status},
    session::{Interval, Moment, add_counts},
};

/// What the load did, over all segments that have a part in it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LoadCell {
    /// Good replies, without drains.
    pub ops: u64,
    /// Seconds of load that were measured.
    pub length_s: f64,
    /// How late the oldest due, unsent request was at the worst, in µs.
    pub behind_us: u64,
    /// The longest wait of a request that was unanswered at the end of a tick: a lower bound of its service time.
    pub waiting_ns: u64,
    /// Connections that carried load at the end.
    pub clients: u32,
    /// The slowest and fastest of the finest cells in it, in replies per second.
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

    /// Good replies per second of measured time; `None` when only late replies came.
    pub fn ops_per_s(&self) -> Option<f64> {
        (self.length_s > 0.0).then(|| self.ops as f64 / self.length_s)
    }

    /// The longest wait, where it is longer than all of `latency`.
    pub fn wait_beyond(&self, latency_ns: Option<u64>) -> Option<u64> {
        beyond(self.waiting_ns, latency_ns)
    }

    /// The slowest and the fastest tick (or second, further back) in it, in replies per second.
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

/// Errors by kind, of load and PING.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ErrorCell(pub BTreeMap<String, u64>);

impl ErrorCell {
    /// The sum over all kinds.
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }
}

impl Merge for ErrorCell {
    fn merge(&mut self, later: Self) {
        add_counts(&mut self.0, &later.0);
    }
}

/// What pings were beside their times.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PingCell {
    /// Good answers.
    pub answered: u64,
    /// Those of them that are in no part: send, kernel, pickup.
    pub left_out: u64,
    /// The longest wait of a PING that was unanswered at the end of a tick: a lower bound of its round trip.
    pub waiting_ns: u64,
}

impl PingCell {
    /// Those of one record.
    pub fn of(ping: &Ping) -> Self {
        Self {
            answered: ping.rtt.count(),
            left_out: ping.left_out.values().sum(),
            waiting_ns: ping.waiting_us.saturating_mul(1_000),
        }
    }

    /// Whether most answers are in no part, so that the parts of the others do not describe them: those of a stall are
    /// left out, and what is left was fast.
    pub fn lacks_parts(&self) -> bool {
        self.left_out * 2 > self.answered
    }

    /// The longest wait, where it is longer than all of `rtt`.
    pub fn wait_beyond(&self, rtt_ns: Option<u64>) -> Option<u64> {
        beyond(self.waiting_ns, rtt_ns)
    }
}

/// A wait, where it is longer than the longest latency.
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

/// What the server's commands did, everybody's, by its own count.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CommandCell {
    /// Over how many seconds.
    pub length_s: f64,
    /// By name. Of very many those that came first, and the others under [`OTHER`].
    pub stats: BTreeMap<String, CommandStat>,
}

/// So many commands are kept apart.
const MOST_COMMANDS: usize = 32;

impl CommandCell {
    /// The commands of one poll. A poll without a difference has no command at all, not even one of redyno's own, and
    /// counts for nothing.
    pub fn of(status: &Status) -> Self {
        let mut cell = Self::default();
        if let Some(length_s) = status.poll_s.filter(|s| *s > 0.0 && !status.command_stats.is_empty()) {
            cell.length_s = length_s;
            let mut by_calls: Vec<_> = status.command_stats.iter().collect();
            by_calls.sort_by_key(|(_, stat)| std::cmp::Reverse(stat.calls));
            by_calls.into_iter().for_each(|(name, stat)| cell.add(name, stat));
        }
        cell
    }

    fn add(&mut self, name: &str, stat: &CommandStat) {
        let is_known = self.stats.contains_key(name) || self.stats.len() < MOST_COMMANDS;
        match self.stats.get_mut(if is_known { name } else { OTHER }) {
            Some(mine) => mine.merge(stat),
            None => drop(self.stats.insert(if is_known { name } else { OTHER }.to_owned(), stat.clone())),
        }
    }

    /// Calls per second of one command; `None` where nothing is known.
    pub fn per_s(&self, name: &str) -> Option<f64> {
        let calls = self.stats.get(name).map_or(0, |stat| stat.calls);
        (self.length_s > 0.0).then(|| calls as f64 / self.length_s)
    }

    /// Those of all commands.
    pub fn all_per_s(&self) -> Option<f64> {
        let calls: f64 = self.stats.values().map(|stat| stat.calls as f64).sum();
        (self.length_s > 0.0).then(|| calls / self.length_s)
    }
}

impl Merge for CommandCell {
    fn merge(&mut self, later: Self) {
        self.length_s += later.length_s;
        later.stats.iter().for_each(|(name, stat)| self.add(name, stat));
    }
}

/// What the server said of itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServerCell {
    /// Its last word in this cell.
    pub last: Option<Box<Moment<Status>>>,
    /// The highest value of each gauge in it; of those that count what was added, per second.
    pub highest: Gauges,
    /// What its commands did.
    pub commands: CommandCell,
}

impl ServerCell {
    pub(super) fn add(&mut self, moment: &Moment<Status>) {
        let status = &moment.body;
        let mut highest = status.gauges.clone();
        for gauge in GAUGES.into_iter().filter(|gauge| gauge.about().kind == Kind::Added) {
            highest.set(gauge, highest[gauge].and_then(|added| status.per_s(added)));
        }
        let commands = CommandCell::of(status);
        self.merge(Self { highest, last: Some(Box::new(moment.clone())), commands });
    }
}

impl Merge for ServerCell {
    fn merge(&mut self, later: Self) {
        self.highest.raise(&later.highest);
        self.commands.merge(later.commands);
        let is_later = |other: &Moment<Status>| self.last.as_ref().is_none_or(|mine| mine.t_s <= other.t_s);
        if later.last.as_deref().is_some_and(is_later) {
            self.last = later.last;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gauge::Gauge;

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
    fn parts_of_a_few_do_not_stand_for_a_stall_that_is_in_none_and_a_wait_is_a_lower_bound() {
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
    fn commands_add_up_over_the_time_that_is_known() {
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
    fn a_cell_keeps_the_servers_last_word_and_its_busiest_moment() {
        let at = |t_s, cpu| {
            let gauges = [(Gauge::Cpu, cpu)].into();
            Moment::new(t_s, Status { gauges, ..Status::default() })
        };
        let mut cell = ServerCell::default();
        [at(1.0, 0.2), at(2.0, 0.9), at(3.0, 0.4)].iter().for_each(|moment| cell.add(moment));
        assert_eq!((cell.highest[Gauge::Cpu], cell.last.map(|last| last.t_s)), (Some(0.9), Some(3.0)));
    }
}
