//! Reads the execution times of commands from LATENCY HISTOGRAM, or from INFO latencystats if there is no LATENCY
//! HISTOGRAM. This module does no I/O.
//!
//! Both replies contain all calls since the server's start or CONFIG RESETSTAT. The times are only those of the
//! execution of commands, without waiting and without the network. The difference of two histograms is the histogram of
//! the calls between two polls. Percentiles cannot be subtracted.

use std::collections::BTreeMap;

use super::{CommandStat, Info, link::Datum};
use crate::{stats::Buckets, untrusted};

/// The number of commands whose execution times are requested: the commands with the most calls. Each requested command
/// costs the server about 10 µs.
pub(super) const ASKED: usize = 8;

/// The number of commands whose times are requested in the first poll: the commands with the most calls so far. Later
/// polls show only the differences to the first poll. A command without calls before the first poll needs no histogram
/// in this poll.
pub(super) const ASKED_AT_FIRST: usize = 16;

/// The largest number of buckets in an accepted histogram. Servers send about 30 buckets.
const MOST_BORDERS: usize = 256;
/// The largest number of commands whose histograms are remembered. Servers have some hundred commands.
const MOST_COMMANDS: usize = 2048;
/// The largest number of percentiles of a command. Servers report three percentiles by default.
const MOST_PERCENTILES: usize = 16;

/// Pairs of an upper limit in microseconds and the number of calls that took at most this time.
type Cumulative = Vec<(u64, u64)>;

/// The histograms from one poll, for some commands.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Histograms(BTreeMap<String, Cumulative>);

/// The last reported histogram of each command.
#[derive(Debug, Default)]
pub(super) struct KnownHistograms {
    /// The histogram of each command, and the number of the poll that reported it.
    last: BTreeMap<String, (u64, Cumulative)>,
    polls: u64,
    /// Whether histograms have been read before. No difference contains the calls before the first histograms.
    is_begun: bool,
}

impl Histograms {
    /// Parses the reply to LATENCY HISTOGRAM. Returns `None` if the reply has another form. A command without
    /// a histogram is left out.
    pub(super) fn read(reply: &Datum) -> Option<Self> {
        let command = |pair: &[Datum]| {
            let [name, fields] = pair else { return None };
            let found = fields.list()?.chunks_exact(2).find(|pair| pair[0].text() == Some("histogram_usec"));
            let counts = found.and_then(|pair| pair[1].list()).unwrap_or_default();
            if counts.len() > 2 * MOST_BORDERS {
                return None;
            }
            let count = |pair: &[Datum]| Some((natural(&pair[0])?, natural(&pair[1])?));
            let counts = counts.chunks_exact(2).map(count).collect::<Option<_>>()?;
            Some((name.text()?.to_owned(), counts))
        };
        reply.list()?.chunks(2).map(command).collect::<Option<_>>().map(Self)
    }

    /// Adds the histograms of other commands.
    pub(super) fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }
}

impl KnownHistograms {
    /// Returns whether no histogram has been read yet.
    pub(super) fn is_new(&self) -> bool {
        !self.is_begun
    }

    /// Adds the differences between the histograms in `now` and the last known histograms to `stats`. `calls` returns
    /// the number of calls of a command at the previous poll. The last known histogram of a command may be older than
    /// the previous poll. If the command was called between this histogram and the previous poll, its difference is
    /// left out.
    pub(super) fn take(
        &mut self,
        now: Histograms,
        calls: impl Fn(&str) -> Option<u64>,
        stats: &mut BTreeMap<String, CommandStat>,
    ) {
        self.polls += 1;
        let none = (0, Cumulative::new());
        for (name, now) in now.0 {
            let (poll, before) = self.last.get(&name).unwrap_or(&none);
            let is_as_of_then = poll + 1 == self.polls || calls(&name).unwrap_or(0) == count(before);
            let is_between = self.is_begun && is_as_of_then;
            let known = match stats.get_mut(&name) {
                // The command was called after the calls were counted: these calls and their times are reported at the
                // next poll.
                None if is_between && count(before) <= count(&now) => before.clone(),
                Some(stat) if is_between => {
                    stat.times = Buckets::between(before, &now).filter(|times| times.count() > 0);
                    now
                }
                None | Some(_) => now,
            };
            if self.last.len() < MOST_COMMANDS || self.last.contains_key(&name) {
                self.last.insert(name, (self.polls, known));
            }
        }
        self.is_begun = true;
    }
}

/// Returns the number of calls in a list of cumulative counts.
fn count(cumulative: &Cumulative) -> u64 {
    cumulative.last().map_or(0, |(_, count)| *count)
}

fn natural(datum: &Datum) -> Option<u64> {
    datum.number()?.try_into().ok()
}

/// The commands whose execution times are requested: the commands with the most recent calls. Earlier calls lose weight
/// slowly, so a command that is called in bursts remains in the list.
#[derive(Debug, Default)]
pub(super) struct RequestedCommands(BTreeMap<String, f64>);

/// Each poll multiplies the weight of earlier calls by this factor.
const DECAY: f64 = 0.9;

impl RequestedCommands {
    /// Adds the calls of one poll, without redyno's `own` calls. redyno's calls must not displace the commands of other
    /// clients.
    pub(super) fn learn(&mut self, stats: &BTreeMap<String, CommandStat>, own: &BTreeMap<String, u64>) {
        self.0.values_mut().for_each(|calls| *calls *= DECAY);
        for (name, stat) in stats {
            let calls = stat.calls.saturating_sub(own.get(name).copied().unwrap_or(0));
            *self.0.entry(name.clone()).or_default() += calls as f64;
        }
        self.0.retain(|_, calls| *calls >= 1.0);
    }

    /// Returns the names of the commands.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let mut by_calls: Vec<_> = self.0.iter().collect();
        by_calls.sort_by(|a, b| b.1.total_cmp(a.1));
        by_calls.into_iter().take(ASKED).map(|(name, _)| name.as_str())
    }
}

/// Parses INFO latencystats. Returns the percentiles since the server's start in microseconds, by command and by name
/// (`p99`).
pub(super) fn since_start(text: &str) -> BTreeMap<String, BTreeMap<String, f64>> {
    let percentile = |field: &str| {
        let (name, value) = field.split_once('=')?;
        let us = value.parse::<f64>().ok().filter(|us| us.is_finite() && *us >= 0.0)?;
        name.starts_with('p').then(|| (untrusted::text(name), us))
    };
    let command = |(name, fields): (&str, &str)| {
        (untrusted::text(name), fields.split(',').filter_map(percentile).take(MOST_PERCENTILES).collect())
    };
    Info::parse(text).beginning_with("latency_percentiles_usec_").map(command).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(text: &str) -> Datum {
        Datum::Text(text.to_owned())
    }

    fn reply(commands: &[(&str, &[i64])]) -> Datum {
        let command = |(name, counts): &(&str, &[i64])| {
            let counts = Datum::List(counts.iter().copied().map(Datum::Number).collect());
            [text(name), Datum::List(vec![text("calls"), Datum::Number(9), text("histogram_usec"), counts])]
        };
        Datum::List(commands.iter().flat_map(command).collect())
    }

    fn stats(names: &[(&str, u64)]) -> BTreeMap<String, CommandStat> {
        let stat = |(name, calls): &(&str, u64)| {
            ((*name).to_owned(), CommandStat { calls: *calls, ..CommandStat::default() })
        };
        names.iter().map(stat).collect()
    }

    #[test]
    fn two_replies_give_the_calls_between_them() {
        let read = |commands: &[(&str, &[i64])]| Histograms::read(&reply(commands)).unwrap();
        let before = read(&[("get", &[1, 90, 33, 100]), ("config|get", &[1, 1]), ("del", &[1, 4])]);
        let mut known = KnownHistograms::default();
        let mut added = |polled: Histograms, calls: &[(&str, u64)]| {
            let mut added = stats(&[("get", 105), ("set", 7), ("del", 2), ("incr", 3)]);
            let calls = |name: &str| calls.iter().find(|(known, _)| *known == name).map(|(_, n)| *n);
            known.take(polled, calls, &mut added);
            ["get", "set", "del", "incr"].map(|name| added[name].times.clone())
        };
        assert_eq!(added(before, &[]), [const { None }; 4], "earlier calls are unknown");
        let now = read(&[("get", &[1, 190, 8, 195, 33, 205]), ("set", &[1, 7])]);
        let get = Some(vec![(1, 100), (8, 5)].into());
        assert_eq!(added(now, &[("get", 99)]), [get, Some(vec![(1, 7)].into()), None, None]);
        let later = read(&[("del", &[1, 6]), ("incr", &[1, 9])]);
        let of_two = Some(vec![(1, 2)].into());
        assert_eq!(added(later, &[("del", 4), ("incr", 6)]), [None, None, of_two, None], "6 were before");
    }

    #[test]
    fn a_call_between_the_counts_and_the_times_has_its_time_with_its_count() {
        let read = |count: i64| Histograms::read(&reply(&[("get", &[1, count])])).unwrap();
        let mut known = KnownHistograms::default();
        known.take(read(3), |_| None, &mut stats(&[]));
        known.take(read(8), |_| Some(3), &mut stats(&[]));
        let mut counted = stats(&[("get", 5)]);
        known.take(read(8), |_| Some(3), &mut counted);
        assert_eq!(counted["get"].times, Some(vec![(1, 5)].into()));
    }

    #[test]
    fn the_busiest_commands_are_requested_and_a_burst_is_not_forgotten_at_once() {
        let names: Vec<_> = (0..20).map(|n| (format!("c{n}"), n + 1)).collect();
        let names: Vec<_> = names.iter().map(|(name, calls)| (name.as_str(), *calls)).collect();
        let mut asked = RequestedCommands::default();
        let none = BTreeMap::new();
        asked.learn(&stats(&names), &none);
        let got: Vec<_> = asked.names().map(str::to_owned).collect();
        assert_eq!((got.len(), got[0].as_str(), got[7].as_str()), (ASKED, "c19", "c12"));
        (0..10).for_each(|_| asked.learn(&stats(&[("get", 4)]), &none));
        assert_eq!(asked.names().take(2).collect::<Vec<_>>(), ["get", "c19"]);
        (0..100).for_each(|_| asked.learn(&stats(&[("get", 4)]), &none));
        assert_eq!(asked.names().collect::<Vec<_>>(), ["get"]);
        let own = BTreeMap::from([("info".to_owned(), 9)]);
        asked.learn(&stats(&[("get", 4), ("info", 9), ("llen", 1)]), &own);
        assert_eq!(asked.names().collect::<Vec<_>>(), ["get", "llen"], "redyno's own calls take no place");
    }

    #[test]
    fn percentiles_since_the_start_have_the_servers_names() {
        let percentiles = since_start(
            "# Latencystats\r\nlatency_percentiles_usec_get:p50=0.001,p99=1.003,p99.9=4.015\r\n\
             latency_percentiles_usec_config|get:p50=nan,p99=-1,x=3,p100\r\n",
        );
        assert_eq!(
            percentiles["get"].iter().map(|(name, us)| (name.as_str(), *us)).collect::<Vec<_>>(),
            [("p50", 0.001), ("p99", 1.003), ("p99.9", 4.015)]
        );
        assert!(percentiles["config|get"].is_empty());
    }

    fn datum() -> impl Strategy<Value = Datum> {
        let leaf = prop_oneof![
            any::<i64>().prop_map(Datum::Number),
            "(histogram_usec|calls|get|[0-9]{1,20}|.{0,8})".prop_map(Datum::Text),
            Just(Datum::Other),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| proptest::collection::vec(inner, 0..6).prop_map(Datum::List))
    }

    proptest! {
        #[test]
        fn any_reply_is_read_without_a_panic(before in datum(), now in datum(), text in "\\PC{0,200}") {
            let mut known = KnownHistograms::default();
            for histograms in [before, now].iter().filter_map(Histograms::read) {
                known.take(histograms, |_| Some(1), &mut stats(&[("get", 1)]));
            }
            since_start(&text);
            since_start(&format!("latency_percentiles_usec_get:{text}"));
        }
    }
}
