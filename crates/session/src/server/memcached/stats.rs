//! Parses memcached's reply to `stats` into gauges and the number of calls of each command. This module does
//! no I/O.

use std::collections::BTreeMap;

use crate::{
    gauge::{GAUGES, Gauge, GaugeSource, Gauges},
    server::CommandStat,
};

/// The lines of one reply to `stats`.
#[derive(Debug, Default)]
pub(super) struct StatsReply<'a>(BTreeMap<&'a str, &'a str>);

/// The state of a listening socket in the reply to `stats conns`.
pub(super) const LISTENING: &str = "conn_listening";

/// The largest number of connections at which redyno sends `stats conns`. Each connection takes 140 to 250 bytes of the
/// reply. A reply beyond the limit of the link ends redyno's connection.
const MOST_LISTED: u64 = 4000;

/// The sum of these counters in `stats` is the number of calls of a command. The server counts a `gat` as a `get` and
/// as a `touch`.
const COMMANDS: [(&str, &[&str]); 9] = [
    ("get", &["cmd_get"]),
    ("set", &["cmd_set"]),
    ("touch", &["cmd_touch"]),
    ("meta", &["cmd_meta"]),
    ("delete", &["delete_hits", "delete_misses"]),
    ("incr", &["incr_hits", "incr_misses"]),
    ("decr", &["decr_hits", "decr_misses"]),
    ("cas", &["cas_hits", "cas_misses", "cas_badval"]),
    ("flush", &["cmd_flush"]),
];

impl<'a> StatsReply<'a> {
    /// Parses the text. Lines without the form `STAT name value` are ignored.
    pub(super) fn parse(text: &'a str) -> Self {
        let line = |line: &'a str| line.strip_prefix("STAT ")?.split_once(' ');
        Self(text.lines().filter_map(line).collect())
    }

    /// Returns a value as text.
    pub(super) fn text(&self, name: &str) -> Option<&'a str> {
        self.0.get(name).copied()
    }

    /// Returns a value as a number.
    pub(super) fn number<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        self.text(name)?.parse().ok()
    }

    /// Returns whether the list of all connections fits into a reply.
    pub(super) fn can_be_listed(&self) -> bool {
        self.number::<u64>("curr_connections").is_some_and(|connections| connections <= MOST_LISTED)
    }

    /// Returns all values, by name.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.0.iter().map(|(name, value)| (*name, *value))
    }

    /// Returns the values from which the gauges are calculated.
    pub(super) fn sources(&self) -> Gauges {
        let mut sources = Gauges::default();
        for gauge in GAUGES {
            let value = match (gauge.about().source, gauge) {
                (GaugeSource::Stat(name) | GaugeSource::InfoOrStat(_, name), _) => self.number(name),
                (_, Gauge::Cpu) => self.sum(&["rusage_user", "rusage_system"]),
                (_, Gauge::Keys) => self.number("curr_items"),
                (_, Gauge::Commands) => Some(self.calls().values().map(|calls| *calls as f64).sum()),
                _ => None,
            };
            sources.set(gauge, value);
        }
        sources
    }

    fn sum(&self, names: &[&str]) -> Option<f64> {
        names.iter().map(|name| self.number::<f64>(name)).sum()
    }

    /// Returns the number of calls of each command since the server's start, or `stats reset`.
    pub(super) fn calls(&self) -> BTreeMap<&'static str, u64> {
        let calls = |(name, counts): &(&'static str, &[&str])| {
            let mut counts = counts.iter().map(|count| self.number::<u64>(count));
            Some((*name, counts.try_fold(0, |sum, count| u64::checked_add(sum, count?))?))
        };
        let mut calls: BTreeMap<_, _> = COMMANDS.iter().filter_map(calls).collect();
        // The server counts a `cas` as a `set`, too.
        if let (Some(cas), Some(set)) = (calls.get("cas").copied(), calls.get_mut("set")) {
            *set = set.saturating_sub(cas);
        }
        calls
    }
}

/// Returns the number of calls between two polls for each command that was called; `None` if a count has decreased.
pub(super) fn called(
    now: &BTreeMap<&'static str, u64>,
    before: &BTreeMap<&'static str, u64>,
) -> Option<BTreeMap<String, CommandStat>> {
    let mut called = BTreeMap::new();
    for (name, now) in now {
        let calls = now.checked_sub(before.get(name).copied().unwrap_or(0))?;
        if calls > 0 {
            called.insert((*name).to_owned(), CommandStat { calls, ..CommandStat::default() });
        }
    }
    Some(called)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "STAT pid 7\r\nSTAT version 1.6.18\r\nSTAT rusage_user 1.500000\r\nSTAT rusage_system 0.250000\r\n\
        STAT cmd_get 8\r\nSTAT delete_hits 1\r\nSTAT delete_misses 2\r\nSTAT cmd_flush 0\r\nSTAT bytes 61\r\nSTAT curr_items 1\r\n\
        STAT evictions 4\r\nSTAT conn_yields 3\r\nEND\r\n";

    #[test]
    fn the_reply_to_stats_fills_the_known_gauges() {
        let stats = StatsReply::parse(TEXT);
        let sources = stats.sources();
        let known = [
            Gauge::Cpu,
            Gauge::Keys,
            Gauge::UsedMemory,
            Gauge::EvictedKeys,
            Gauge::ConnYields,
            Gauge::CpuUser,
        ];
        assert_eq!(known.map(|gauge| sources.get(gauge)), [1.75, 1.0, 61.0, 4.0, 3.0, 1.5].map(Some));
        let unknown = [Gauge::Fragmentation, Gauge::Aof, Gauge::MaxMemory, Gauge::Hits];
        assert_eq!(unknown.map(|gauge| sources.get(gauge)), [None; 4]);
        assert_eq!(stats.text("version"), Some("1.6.18"));
    }

    #[test]
    fn a_cas_is_no_set() {
        let text = "STAT cmd_set 5\r\nSTAT cas_hits 2\r\nSTAT cas_misses 1\r\nSTAT cas_badval 0\r\nEND\r\n";
        assert_eq!(StatsReply::parse(text).calls(), BTreeMap::from([("set", 2), ("cas", 3)]));
    }

    #[test]
    fn calls_are_differences_and_a_reset_has_none() {
        let calls = StatsReply::parse(TEXT).calls();
        assert_eq!(calls, BTreeMap::from([("get", 8), ("delete", 3), ("flush", 0)]));
        let later = BTreeMap::from([("get", 18), ("delete", 3), ("flush", 0)]);
        let added = called(&later, &calls).unwrap();
        assert_eq!((added.len(), added["get"].calls), (1, 10));
        assert_eq!(called(&calls, &later), None);
    }
}
