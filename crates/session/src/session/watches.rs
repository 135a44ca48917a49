//! Watches the figures of one server during a session. Each figure is compared with its usual level (baseline). Level
//! shifts (lasting changes) and stalls are reported.
//!
//! ```text
//!   PING, each second ──┐
//!   gauges, each poll ──┼─► a baseline each ─► shift begins, shift ends
//!   time by command ────┘
//!   PING, each tick ─────► stall begins, stall ends
//! ```
//! A change of load settings also changes the figures. After such a change, redyno therefore forgets all baselines.

use std::collections::BTreeMap;

use super::{Event, Moment, Record, Span, stall_watch::StallWatch, watched::WatchedFigure};
use crate::{
    events::{EventKind, ShiftReport},
    gauge::{Gauge, Gauges},
    host::HostSample,
    probe::Ping,
    server::Status,
    stats::{
        Latency,
        baseline::{LevelWatch, UsualLevel},
    },
};

/// The largest number of watched commands.
const MOST_COMMANDS: usize = 16;
/// The smallest share of the server's time from which a command is watched.
const LEAST_SHARE: f64 = 0.05;
/// The smallest number of lookups between two polls at which the hit rate is watched. With fewer lookups, the hit rate
/// depends on chance.
const LEAST_LOOKUPS: f64 = 100.0;
/// If a command is first watched more than this number of seconds after the first poll, its baseline begins at 0. The
/// command took almost no time before.
const KNOWN_S: f64 = 10.0;
/// PINGs are ignored for this number of seconds after a pause of the process. The replies to these PINGs had to wait
/// for the process.
const AFTER_PAUSE_S: f64 = 0.5;

/// The watches of one target.
#[derive(Debug, Clone, Default)]
pub(crate) struct FigureWatches {
    figures: BTreeMap<WatchedFigure, LevelWatch>,
    stalls: StallWatch,
    /// The PINGs of the present second, by tick (quarter second).
    pings: Vec<Latency>,
    pinged_s: f64,
    /// The time when the baselines were forgotten, in seconds of the session.
    forgotten_s: f64,
    /// The start of the first poll period since the baselines were forgotten, in seconds of the session.
    polled_s: Option<f64>,
    /// The end of the time in which PINGs are ignored because of a pause, in seconds of the session.
    paused_s: f64,
}

impl FigureWatches {
    /// Adds a record of the target. Returns the events that the record causes.
    pub(crate) fn push(&mut self, record: &Record) -> Vec<Event> {
        match record {
            Record::Segment(segment) => self.forget(segment.t_s),
            Record::Ping(span) => self.push_ping(span),
            Record::Server(moment) => self.push_status(moment),
            Record::Host(moment) => self.push_host(moment),
            Record::Wake(span) => {
                self.stalls.push_wake(&span.body);
                Vec::new()
            }
            Record::Event(Event { what: EventKind::Paused { .. }, t_s, .. }) => {
                self.pause(*t_s);
                Vec::new()
            }
            redyno_engine::any_of!(Record Session Interval Intrinsic Event Mark End) => Vec::new(),
        }
    }

    /// Ignores the PINGs during a pause of the process that ended at `until_s`.
    pub(super) fn pause(&mut self, until_s: f64) {
        self.paused_s = until_s + AFTER_PAUSE_S;
        self.pings.clear();
        self.pinged_s = 0.0;
    }

    /// Returns the last value of a figure, and its usual level. Returns `None` while the usual level is unknown.
    pub(crate) fn usual_level(&self, figure: &WatchedFigure) -> Option<(f64, UsualLevel)> {
        self.figures.get(figure)?.last_and_usual()
    }

    /// Drops all baselines and ends all shifts, because the load settings changed at `t_s`.
    pub(crate) fn forget(&mut self, t_s: f64) -> Vec<Event> {
        self.polled_s = None;
        self.forgotten_s = t_s;
        self.pings.clear();
        self.pinged_s = 0.0;
        let all = std::mem::take(&mut self.figures).into_iter();
        let shifted = all.filter_map(|(figure, watch)| Some((figure, watch.shift()?)));
        shifted
            .map(|(figure, shift)| {
                let length_s = Some(t_s - shift.since_s);
                let given_up = Some("the settings of the load changed".to_owned());
                let shift = ShiftReport { length_s, given_up, ..figure.report(&shift, t_s) };
                Event::new(t_s, EventKind::Shifted { shift })
            })
            .collect()
    }

    fn push_ping(&mut self, span: &Span<Ping>) -> Vec<Event> {
        if span.t_s <= self.paused_s {
            return Vec::new();
        }
        let usual_us =
            WatchedFigure::PINGS.map(|figure| self.usual_level(&figure).map(|(_, usual)| usual.level));
        let stall = self.stalls.push(span, usual_us).map(|(t_s, what)| Event::new(t_s, what));
        if span.t_s <= self.forgotten_s {
            return stall.into_iter().collect();
        }
        self.pings.push(span.body.rtt.clone());
        self.pinged_s += span.length_s;
        let mut events: Vec<_> = stall.into_iter().collect();
        if self.pinged_s < 0.9 {
            return events;
        }
        self.pinged_s = 0.0;
        // An unanswered PING counts with the time that it has waited so far. This is a lower bound of its
        // round trip.
        let all = Latency::merged(self.pings.iter().chain([&span.body.unanswered]));
        self.pings.clear();
        if all.is_empty() {
            return events;
        }
        let levels = [all.value_at_quantile(0.5), all.value_at_quantile(0.99), all.max_ns()];
        for (figure, ns) in WatchedFigure::PINGS.into_iter().zip(levels) {
            events.extend(self.watch(&figure, span.t_s, ns as f64 / 1e3, None));
        }
        events
    }

    fn push_status(&mut self, moment: &Moment<Status>) -> Vec<Event> {
        let mut events = self.push_gauges(moment.t_s, &moment.body.rates(), Gauge::all_watched());
        events.extend(self.push_commands(moment));
        events
    }

    fn push_commands(&mut self, moment: &Moment<Status>) -> Vec<Event> {
        let Some(poll_s) = moment.body.rate_s() else { return Vec::new() };
        let stats = &moment.body.command_stats;
        let share = |name: &str| stats.get(name).map_or(0.0, |stat| stat.usec as f64 / 1e6 / poll_s);
        let polled_s = *self.polled_s.get_or_insert(moment.t_s - poll_s);
        let is_watched = |figure: &&WatchedFigure| matches!(figure, WatchedFigure::Command(_));
        let mut commands: Vec<_> = self.figures.keys().filter(is_watched).cloned().collect();
        let known = commands.clone();
        let new = stats.keys().filter(|name| share(name) >= LEAST_SHARE).cloned().map(WatchedFigure::Command);
        commands.extend(new.filter(|figure| !known.contains(figure)));
        // If a command is new after many polls, it took almost no time before, so its baseline is 0.
        let is_known = moment.t_s - polled_s > KNOWN_S;
        let zero_until_s = is_known.then_some(moment.t_s - poll_s);
        let mut events = Vec::new();
        for figure in commands.into_iter().take(MOST_COMMANDS) {
            let WatchedFigure::Command(name) = &figure else { continue };
            let share = share(name);
            events.extend(self.watch(&figure, moment.t_s, share, zero_until_s));
        }
        events
    }

    fn push_host(&mut self, moment: &Moment<HostSample>) -> Vec<Event> {
        self.push_gauges(moment.t_s, &moment.body.gauges, Gauge::all_watched())
    }

    /// Adds those of the gauges that are `watched`. A gauge that counts events is a rate per second.
    pub(crate) fn push_gauges(
        &mut self,
        t_s: f64,
        gauges: &Gauges,
        watched: impl IntoIterator<Item = Gauge>,
    ) -> Vec<Event> {
        let lookups = gauges.get(Gauge::Hits).unwrap_or(0.0) + gauges.get(Gauge::Misses).unwrap_or(0.0);
        let has_enough = |gauge: &Gauge| *gauge != Gauge::HitRate || lookups >= LEAST_LOOKUPS;
        let known =
            watched.into_iter().filter(has_enough).filter_map(|gauge| Some((gauge, gauges.get(gauge)?)));
        known
            .filter_map(|(gauge, value)| self.watch(&WatchedFigure::Gauge(gauge), t_s, value, None))
            .collect()
    }

    /// Adds a value of a figure. For a new figure, `zero_until_s` is the time until which the figure was 0.
    /// `zero_until_s` is `None` if the earlier values are unknown.
    fn watch(
        &mut self,
        figure: &WatchedFigure,
        t_s: f64,
        value: f64,
        zero_until_s: Option<f64>,
    ) -> Option<Event> {
        let difference = figure.smallest_shift()?;
        let new = || match zero_until_s {
            Some(until_s) => LevelWatch::after_zero(difference, until_s),
            None => LevelWatch::new(difference),
        };
        let watch = self.figures.entry(figure.clone()).or_insert_with(new);
        let level_shift = watch.push(t_s, value)?;
        let shift = figure.report(&level_shift, t_s);
        // The event has the time of the change, not the time of the report.
        let at_s = level_shift.since_s + shift.length_s.unwrap_or(0.0);
        Some(Event::new(at_s, EventKind::Shifted { shift }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        knobs::Knobs,
        server::CommandStat,
        session::{Segment, Timeline},
        stats::fixture::repeated,
    };

    /// Returns the records of second `s`, with these round trips of PING, new connections and time of KEYS.
    fn second(s: u32, ping_us: u64, connections: f64, keys_us: u64) -> Vec<Record> {
        let ping = |n: u32| {
            let rtt = repeated(ping_us * 1000, 25);
            let span = Span::new(f64::from(s) + f64::from(n) / 4.0, 0.25, Ping { rtt, ..Ping::default() });
            Record::Ping(Box::new(span))
        };
        let mut status = Status { poll_s: Some(1.0), ..Status::default() };
        status.gauges = [(Gauge::NewConnections, connections), (Gauge::Uptime, f64::from(s) * 100.0)].into();
        if keys_us > 0 {
            let stat = CommandStat { calls: 9, usec: keys_us, ..CommandStat::default() };
            status.command_stats = [("keys".to_owned(), stat)].into();
        }
        let mut records: Vec<_> = (1..=4).map(ping).collect();
        records.push(Record::Server(Box::new(Moment::new(f64::from(s + 1), status))));
        records
    }

    fn texts(watches: &mut FigureWatches, records: &[Record]) -> Vec<String> {
        let events = records.iter().flat_map(|record| watches.push(record));
        events.map(|event| format!("{:.0} s: {}", event.t_s, event.what)).collect()
    }

    fn segment(t_s: f64, number: u32) -> Record {
        Record::Segment(Segment::new(t_s, number, Knobs::default()))
    }

    #[test]
    fn a_slow_server_and_its_recovery_are_reported_within_five_seconds() {
        let mut watches = FigureWatches::default();
        let calm: Vec<_> = (0..30).flat_map(|s| second(s, 400, 3.0, 0)).collect();
        assert_eq!(texts(&mut watches, &calm), [""; 0]);
        let slow: Vec<_> = (30..35).flat_map(|s| second(s, 4900, 4800.0, 980_000)).collect();
        let mut found = texts(&mut watches, &slow);
        found.sort();
        let expected = [
            "30 s: new connections: 3/s → 4.80 k/s",
            "30 s: p50 of PING ×12: 400 µs → 4.90 ms",
            "30 s: p99 of PING ×12: 400 µs → 4.90 ms",
            "30 s: time of KEYS: 0 % → 98 %",
        ];
        assert_eq!(found, expected);
        let calm: Vec<_> = (35..45).flat_map(|s| second(s, 410, 3.0, 0)).collect();
        let found = texts(&mut watches, &calm);
        assert!(
            found
                .contains(&"35 s: p50 of PING ×12: 400 µs → 4.90 ms, back to 410 µs after 5.00 s".to_owned()),
            "{found:?}"
        );
        assert_eq!(found.len(), 4, "{found:?}");
    }

    #[test]
    fn a_change_of_load_settings_is_no_shift_and_ends_earlier_shifts() {
        let mut watches = FigureWatches::default();
        let mut records = vec![segment(0.0, 1)];
        records.extend((0..20).flat_map(|s| second(s, 400, 3.0, 0)));
        records.push(segment(20.0, 2));
        records.extend((20..60).flat_map(|s| second(s, 4900, 800.0, 500_000)));
        assert_eq!(texts(&mut watches, &records), [""; 0]);
        let slow: Vec<_> = (60..70).flat_map(|s| second(s, 90_000, 800.0, 500_000)).collect();
        assert_eq!(texts(&mut watches, &slow).len(), 3);
        let ended = texts(&mut watches, &[segment(70.0, 3)]);
        assert!(
            ended.len() == 3 && ended[0].ends_with("for 10 s, then the settings of the load changed"),
            "{ended:?}"
        );
    }

    #[test]
    fn a_reading_has_the_usual_level_of_a_gauge_and_a_frozen_screen_keeps_it() {
        let mut timeline = Timeline::default();
        (0..20).flat_map(|s| second(s, 400, 10.0, 0)).for_each(|record| timeline.push(&record));
        let held = timeline.clone();
        second(20, 400, 40.0, 0).iter().for_each(|record| timeline.push(record));
        assert_eq!(timeline.latest().ratio_to_usual(&WatchedFigure::Gauge(Gauge::NewConnections)), Some(4.0));
        assert_eq!(held.at(30.0).ratio_to_usual(&WatchedFigure::Gauge(Gauge::NewConnections)), Some(1.0));
        assert_eq!(timeline.at(5.0).ratio_to_usual(&WatchedFigure::Gauge(Gauge::NewConnections)), None);
        assert_eq!(timeline.latest().ratio_to_usual(&WatchedFigure::Gauge(Gauge::Uptime)), None);
    }
}
