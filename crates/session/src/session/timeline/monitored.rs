//! The results of a session without load: the periods with the slowest PINGs, the server's commands by time, and the
//! data that redyno could not read.

use std::{collections::BTreeMap, sync::Arc};

use super::{CommandCell, Level, Measure, Quantiles, ServerCell, Timeline};
use crate::{events::EventKind, server::CommandStat};

/// The longest session that is divided into single seconds, in seconds. A longer session is divided into minutes.
const BY_SECONDS_S: f64 = 600.0;
const MINUTE_S: f64 = 60.0;
/// The largest number of minutes. A longer session is divided into this many periods of several minutes. The limit
/// protects the memory against a recording with invalid times.
const MOST_MINUTES: f64 = 10_000.0;

/// The pings of one second or one minute.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PingStretch {
    /// The start of the period, in seconds of the session.
    pub from_s: f64,
    /// The length of the period, in seconds.
    pub length_s: f64,
    /// The percentiles and the maximum of the round trips.
    pub levels: Quantiles,
}

/// A command with its share of the time of the server's main thread.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandTime {
    /// The name of the command.
    pub name: String,
    /// The number of calls, and their total time.
    pub stat: CommandStat,
    /// The share of the measured time in which the server executed the command, 0 to 1. `None` if the server reports
    /// no times of commands, as memcached does.
    pub share: Option<f64>,
    /// Calls per second.
    pub per_s: f64,
}

impl CommandCell {
    /// Returns the commands by descending total time.
    pub fn by_time(&self) -> Vec<CommandTime> {
        let length_s = self.length_s.max(f64::MIN_POSITIVE);
        let has_times = self.stats.values().any(|stat| stat.usec > 0);
        let of = |name: &String, stat: &CommandStat| CommandTime {
            name: name.clone(),
            stat: stat.clone(),
            share: has_times.then_some(stat.usec as f64 / 1e6 / length_s),
            per_s: stat.calls as f64 / length_s,
        };
        let mut commands: Vec<_> = self.stats.iter().map(|(name, stat)| of(name, stat)).collect();
        let key = |command: &CommandTime| (command.stat.usec, command.stat.calls);
        commands.sort_by_key(|command| std::cmp::Reverse(key(command)));
        commands
    }
}

impl Timeline {
    /// Returns the length of a period in lists of the worst minutes, for a session of `span_s` seconds. The length is
    /// one minute. In a session with more than 10 000 minutes, the length is several whole minutes.
    pub fn minutes_s(span_s: f64) -> f64 {
        MINUTE_S * (span_s / MINUTE_S / MOST_MINUTES).ceil().max(1.0)
    }

    /// Returns the `most` periods with the slowest PINGs, the worst first. In a session of up to ten minutes, a period
    /// is one second. In a longer session, it has the length [`minutes_s`](Self::minutes_s).
    pub fn worst_pings(&self, most: usize) -> Vec<PingStretch> {
        let span_s = self.now_s - self.begins_s();
        let length_s = if span_s <= BY_SECONDS_S { 1.0 } else { Self::minutes_s(span_s) };
        let columns = (span_s / length_s).ceil() as usize;
        let begins_s = self.begins_s();
        let window = self.window(begins_s, begins_s + columns as f64 * length_s, columns);
        let stretch = |(n, levels): (usize, Option<Quantiles>)| {
            Some(PingStretch { from_s: begins_s + n as f64 * length_s, length_s, levels: levels? })
        };
        let mut all: Vec<_> =
            window.levels(Measure::Ping).into_iter().enumerate().filter_map(stretch).collect();
        all.sort_by_key(|stretch| std::cmp::Reverse(stretch.levels.get(Level::Max)));
        all.truncate(most);
        all
    }

    /// Returns the figures of the server over the whole session: the highest value of each gauge, and all commands.
    pub fn server_whole(&self) -> ServerCell {
        let cells = self.window(self.begins_s(), self.now_s.max(self.begins_s() + 1.0), 1).server();
        cells.into_iter().next().flatten().map(Arc::unwrap_or_clone).unwrap_or_default()
    }

    /// Returns the data that redyno could not read, each with the reason. The data may be commands that the server
    /// refused, or figures of redyno's machine.
    pub fn unread(&self) -> BTreeMap<String, String> {
        let mut unread = BTreeMap::new();
        for event in self.events() {
            let (EventKind::NotPermitted { cause } | EventKind::InfoRefused { cause }) = &event.what else {
                continue;
            };
            let part = cause.split_once("refused ").and_then(|(_, rest)| rest.split_once(':'));
            unread.insert(part.map_or(event.what.name(), |(part, _)| part).to_owned(), cause.clone());
        }
        if let Some(why) = self.latest().ping_timing().and_then(crate::probe::Timing::obstacle) {
            unread.insert("kernel time of PING".to_owned(), why.to_owned());
        }
        unread.extend(self.latest().host().into_iter().flat_map(|host| (*host.body.missing).clone()));
        unread
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        knobs::Knobs,
        probe::Ping,
        server::Status,
        session::{Moment, Record, Segment, Span},
        stats::fixture::latency_of,
    };

    const MS: u64 = 1_000_000;

    /// Returns a timeline of 30 s without load: PING takes 1 ms, and in the 21st second up to 45 ms.
    fn monitored() -> Timeline {
        let mut timeline = Timeline::default();
        timeline.push(&Record::Segment(Segment::new(0.0, 1, Knobs::default())));
        for second in 1..=30_u32 {
            let slow = if second == 21 { 45 * MS } else { MS };
            let rtt = latency_of((0..99).map(|_| MS).chain([slow]));
            let errors = (second == 3).then(|| ("timeout".to_owned(), 2)).into_iter().collect();
            let ping = Ping { rtt, errors, ..Ping::default() };
            timeline.push(&Record::Ping(Box::new(Span::new(f64::from(second), 1.0, ping))));
            let stat = |calls, usec| CommandStat { calls, usec, ..CommandStat::default() };
            let command_stats =
                [("get".to_owned(), stat(1000, 10_000)), ("keys".to_owned(), stat(1, 500_000))].into();
            let status = Status { poll_s: Some(1.0), command_stats, ..Status::default() };
            timeline.push(&Record::Server(Box::new(Moment::new(f64::from(second), status))));
        }
        timeline
    }

    #[test]
    fn the_worst_second_is_first_and_the_segment_has_all_pings() {
        let timeline = monitored();
        let worst = timeline.worst_pings(3);
        assert_eq!((worst.len(), worst[0].from_s, worst[0].length_s), (3, 20.0, 1.0));
        assert_eq!(worst[0].levels.get(Level::Max), Some(45 * MS));
        let segment = timeline.segments.current().unwrap();
        assert_eq!((segment.pings.count(), segment.pings_lost, segment.pings.max_ns()), (3000, 2, 45 * MS));
    }

    #[test]
    fn the_periods_of_ten_years_are_at_most_ten_thousand() {
        let mut timeline = Timeline::default();
        let ping = Ping { rtt: latency_of([MS]), ..Ping::default() };
        timeline.push(&Record::Ping(Box::new(Span::new(3.1e8, 1.0, ping))));
        let worst = timeline.worst_pings(1);
        assert_eq!(worst.len(), 1);
        assert!(3.1e8 / worst[0].length_s < 10_000.0, "{worst:?}");
        assert_eq!(worst[0].length_s % MINUTE_S, 0.0);
    }

    #[test]
    fn a_rare_but_slow_command_is_first() {
        let commands = monitored().server_whole().commands.by_time();
        let percent = |it: &CommandTime| it.share.map(|share| (share * 100.0).round());
        let shown: Vec<_> = commands.iter().map(|it| (it.name.as_str(), percent(it), it.per_s)).collect();
        assert_eq!(shown, [("keys", Some(50.0), 1.0), ("get", Some(1.0), 1000.0)]);
    }

    #[test]
    fn a_server_without_times_of_commands_has_no_shares() {
        let stat = |calls| Box::new(CommandStat { calls, ..CommandStat::default() });
        let stats = [("get".to_owned(), stat(30)), ("set".to_owned(), stat(90))].into();
        let cell = CommandCell { stats, length_s: 3.0, ..CommandCell::default() };
        let shown: Vec<_> = cell.by_time().into_iter().map(|it| (it.name, it.share, it.per_s)).collect();
        assert_eq!(shown, [("set".to_owned(), None, 30.0), ("get".to_owned(), None, 10.0)]);
    }

    #[test]
    fn refused_commands_are_listed_with_the_reason() {
        let mut timeline = monitored();
        for part in ["SLOWLOG", "CLIENT LIST"] {
            let cause = format!("the server refused {part}: NOPERM this user has no permissions");
            let event = crate::session::Event::new(1.0, EventKind::NotPermitted { cause });
            timeline.push(&Record::Event(event));
        }
        assert!(timeline.unread()["SLOWLOG"].contains("NOPERM") && timeline.unread().len() == 2);
    }
}
