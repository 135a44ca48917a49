//! The common input of all rules of findings: figures of the machine, of the server, and of the last seconds of the
//! segment.

use std::collections::BTreeMap;

use super::{answers::AnsweredRequests, backlog::Backlog, pings::Pings, window::RecentValues};
use crate::{
    events::EventKind,
    gauge::{Gauge, GaugeSource, Gauges},
    host,
    knobs::Knobs,
    protocol::Dialect,
    server::{CommandStat, ConnectedClients, Status},
    session::{FigureWatches, Interval, Record, Segment, SessionStart, WatchedFigure},
};

/// The time for which samples of server and host are kept, in seconds.
const SAMPLES_S: f64 = 15.0;
/// Times of commands are summed over this period, in seconds. The period is long enough for a command that is sent
/// every few seconds.
pub(super) const COMMANDS_S: f64 = 5.5;
/// The time for which an event is kept, in seconds.
const EVENTS_S: f64 = 30.0;
/// The time for which a restart explains missing keys, in seconds. Clients need minutes to fill a large cache again.
pub(super) const RESTART_S: f64 = 600.0;
/// The time for which a reply to CLIENT LIST is kept, in seconds. redyno sends CLIENT LIST every 5 s, and less often if
/// the list is long.
const LISTS_S: f64 = 30.0;
/// The maximum age of a sample that describes the present, in seconds.
const FRESH_S: f64 = 3.5;
/// A finding begins after this number of samples above its threshold, and ends after as many samples below it.
const STEADY: usize = 3;
/// A shorter time between two polls, in seconds, is no sample.
const SHORTEST_S: f64 = 0.5;
/// The gauges of the server whose usual level a rule reads. The timeline watches all figures.
const USUAL: [Gauge; 3] = [Gauge::EvictedKeys, Gauge::HitRate, Gauge::NewConnections];
/// The smallest share of the time from which the server counts as busy.
pub(super) const BUSY: f64 = 0.8;

/// The recent state of one target, updated with each record.
#[derive(Debug, Clone)]
pub(super) struct RecentState {
    /// The time of the last record, in seconds of the session.
    pub(super) t_s: f64,
    /// The first record of the session, with later changes of the nodes.
    pub(super) session: Option<SessionStart>,
    /// The current segment.
    pub(super) segment: Option<Segment>,
    /// The settings of the load, if this value does not belong to the first node. Only the first node has the records
    /// of the load.
    load_elsewhere: Option<Knobs>,
    /// The last intervals of the current segment, without the figures of each operation and node.
    parts: Vec<Interval>,
    /// The pings of the last seconds.
    pub(super) pings: Pings,
    statuses: RecentValues<Status>,
    lists: RecentValues<ConnectedClients>,
    hosts: RecentValues<host::HostSample>,
    /// The gauges of the server; counters are stored as rates per second.
    pub(super) rates: RecentValues<Gauges>,
    /// The usual levels of the gauges in [`USUAL`].
    watches: FigureWatches,
    pub(super) events: RecentValues<EventKind>,
    /// The time of the server's last restart, in seconds of the session.
    restarted_s: Option<f64>,
    /// The send lag of the load.
    pub(super) backlog: Backlog,
    /// The answered requests of the load.
    answers: RecentValues<AnsweredRequests>,
}

impl Default for RecentState {
    fn default() -> Self {
        Self {
            t_s: 0.0,
            session: None,
            segment: None,
            load_elsewhere: None,
            parts: Vec::new(),
            pings: Pings::default(),
            statuses: RecentValues::new(COMMANDS_S),
            lists: RecentValues::new(LISTS_S),
            hosts: RecentValues::new(SAMPLES_S),
            rates: RecentValues::new(SAMPLES_S),
            watches: FigureWatches::default(),
            events: RecentValues::new(EVENTS_S),
            restarted_s: None,
            backlog: Backlog::default(),
            answers: RecentValues::new(COMMANDS_S),
        }
    }
}

/// The calls of a command by other clients than redyno in the last seconds.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CommandUse {
    /// The name, in capital letters.
    pub(super) name: String,
    /// The calls per second.
    pub(super) per_s: f64,
    /// The mean execution time, in microseconds.
    pub(super) mean_us: f64,
    /// The share of the main thread's time.
    pub(super) share: f64,
}

impl RecentState {
    /// Takes the next record.
    pub(super) fn push(&mut self, record: &Record) {
        self.t_s = self.t_s.max(record.t_s().unwrap_or_default());
        self.statuses.forget(self.t_s);
        self.lists.forget(self.t_s);
        self.hosts.forget(self.t_s);
        self.events.forget(self.t_s);
        if let Record::Interval(interval) = record {
            self.answers.push(interval.t_s, AnsweredRequests::of(interval));
        }
        match record {
            Record::Ping(span) => self.pings.push(span.t_s, &span.body),
            Record::Server(moment) => {
                let rates = moment.body.rates();
                self.watches.push_gauges(moment.t_s, &rates, USUAL);
                // The last poll of a session may follow shortly after the one before.
                if moment.body.poll_s.is_none_or(|s| s >= SHORTEST_S) {
                    self.rates.push(moment.t_s, rates);
                }
                let mut status = moment.body.clone();
                status.clients.take().into_iter().for_each(|list| self.lists.push(moment.t_s, list));
                self.statuses.push(moment.t_s, status);
            }
            Record::Host(moment) => self.hosts.push(moment.t_s, moment.body.clone()),
            Record::Event(event) => {
                self.events.push(event.t_s, event.what.clone());
                let is_restart = matches!(event.what, EventKind::Restarted);
                self.restarted_s = is_restart.then_some(event.t_s).or(self.restarted_s);
                self.session.as_mut().map(|session| session.follow(record));
            }
            Record::Session(session) => self.session = Some(session.clone()),
            Record::Segment(segment) => {
                self.watches.forget(segment.t_s);
                self.segment = Some(segment.clone());
                self.parts.clear();
                self.backlog = Backlog::default();
            }
            Record::Interval(interval) if self.is_of(interval) => {
                self.backlog.push(interval);
                let (commands, nodes) = Default::default();
                self.parts.push(Interval { commands, nodes, ..Interval::clone(interval) });
                let kept = self.last(COMMANDS_S, 1).len() + 1;
                self.parts.drain(..self.parts.len() - kept);
            }
            Record::End(_) => *self = Self::default(),
            _ => {}
        }
    }

    /// Takes a record of another node. The segments of the first node describe the load of all nodes.
    pub(super) fn push_other(&mut self, record: &Record) {
        if let Record::Segment(segment) = record
            && record.is_of(0)
        {
            self.load_elsewhere = Some(segment.knobs.clone()).filter(|knobs| knobs.load);
            // A node with a load of its own forgets its usual levels with its own segments.
            if self.segment.as_ref().is_none_or(|own| !own.knobs.load) {
                self.watches.forget(segment.t_s);
            }
        }
    }

    /// Returns the number of cores of the machine that redyno runs on; 0 if it is unknown.
    pub(super) fn cores(&self) -> usize {
        self.session.as_ref().map_or(0, |session| session.host.cores)
    }

    /// Returns the last status of the server; `None` if it is too old.
    pub(super) fn status(&self) -> Option<&Status> {
        self.statuses.since(self.t_s - FRESH_S).next()
    }

    /// Returns the last reply to CLIENT LIST; `None` if it is too old.
    pub(super) fn clients(&self) -> Option<&ConnectedClients> {
        self.client_lists().next()
    }

    /// Returns the replies to CLIENT LIST in the last seconds, newest first.
    pub(super) fn client_lists(&self) -> impl Iterator<Item = &ConnectedClients> {
        self.lists.since(self.t_s - LISTS_S)
    }

    /// Returns the last sample of the host; `None` if it is too old.
    pub(super) fn host(&self) -> Option<&host::HostSample> {
        self.hosts.since(self.t_s - FRESH_S).next()
    }

    /// Counts the samples of the last `window_s` seconds in which the server's main thread was in this state. Returns
    /// this count and the number of all samples.
    pub(super) fn in_state(&self, state: char, window_s: f64) -> (usize, usize) {
        let states = self.hosts.since(self.t_s - window_s).filter_map(|host| host.server.as_ref()?.state);
        states.fold((0, 0), |(n, all), known| (n + usize::from(known == state), all + 1))
    }

    /// Returns the last value of a gauge; for a counter, the rate per second.
    pub(super) fn gauge(&self, gauge: Gauge) -> Option<f64> {
        match gauge.about().source {
            GaugeSource::Host => self.host()?.gauges.get(gauge),
            _ => self.status().and_then(|_| self.rates.last())?.get(gauge),
        }
    }

    /// Returns the value of a gauge for comparison with a threshold; for a counter, the rate per second. Without a
    /// finding, this value is the lowest of the last samples. During a finding, this value is the highest of the last
    /// samples. A finding therefore needs as many samples to end as to begin.
    pub(super) fn steady(&self, gauge: Gauge, stands: bool) -> Option<f64> {
        self.steady_of(gauge, stands, |gauges| gauges.get(gauge))
    }

    /// Computes a value with `of` from one sample. The sample is chosen by this gauge, as in [`steady`](Self::steady).
    pub(super) fn steady_of<F>(&self, gauge: Gauge, stands: bool, of: F) -> Option<f64>
    where
        F: Fn(&Gauges) -> Option<f64>,
    {
        self.gauge(gauge)?;
        let from_s = self.t_s - SAMPLES_S;
        let hosts = self.hosts.since(from_s).map(|host| &host.gauges);
        let last: Vec<f64> = match gauge.about().source {
            GaugeSource::Host => hosts.take(STEADY).filter_map(of).collect(),
            _ => self.rates.since(from_s).take(STEADY).filter_map(of).collect(),
        };
        let highest = last.iter().copied().reduce(f64::max).filter(|_| stands);
        highest.or_else(|| last.iter().copied().reduce(f64::min).filter(|_| last.len() == STEADY))
    }

    /// Returns the highest value of a gauge of the host in the last `window_s` seconds.
    pub(super) fn highest(&self, gauge: Gauge, window_s: f64) -> Option<f64> {
        self.hosts.since(self.t_s - window_s).filter_map(|host| host.gauges.get(gauge)).reduce(f64::max)
    }

    /// Returns the usual value of a gauge in [`USUAL`]; for a counter, the rate per second. During a level shift (a
    /// lasting change), the usual value is the value before the shift. Returns `None` during the first 10 s.
    pub(super) fn usual(&self, gauge: Gauge) -> Option<f64> {
        self.watches.usual_level(&WatchedFigure::Gauge(gauge)).map(|(_, usual)| usual.level)
    }

    /// Returns the events of the last `window_s` seconds, newest first.
    pub(super) fn events(&self, window_s: f64) -> impl Iterator<Item = &EventKind> {
        self.events.since(self.t_s - window_s)
    }

    /// Returns whether the server was restarted in the last minutes. A restarted server may have lost its keys.
    pub(super) fn is_restarted(&self) -> bool {
        self.restarted_s.is_some_and(|restarted_s| self.t_s - restarted_s <= RESTART_S)
    }

    /// Returns the commands of other clients in the last seconds. Commands with the most time come first. redyno's own
    /// calls are left out. The result is empty if the load's share of the calls is unknown, because another node has
    /// the records of the load.
    pub(super) fn commands(&self) -> Vec<CommandUse> {
        if self.load_elsewhere.is_some() {
            return Vec::new();
        }
        let mut all_s = 0.0;
        let mut all: BTreeMap<&str, (CommandStat, u64)> = BTreeMap::new();
        for status in self.statuses.since(self.t_s - COMMANDS_S).filter(|status| status.poll_s.is_some()) {
            all_s += status.poll_s.unwrap_or_default();
            for (name, stat) in &status.command_stats {
                let (sum, own) = all.entry(name).or_default();
                sum.merge(stat);
                *own += status.own.get(name).unwrap_or(&0);
            }
        }
        let requests = self.answered(|answers| &answers.to_first);
        let command = |(name, (stat, asked)): (&str, (CommandStat, u64))| {
            let (n, own) = (stat.calls as f64, (asked + requests.get(name).unwrap_or(&0)) as f64);
            // The counts of the load and those of the server end at different moments.
            let others = if own > 0.9 * n { 0.0 } else { n - own };
            let mean_us = stat.usec as f64 / n.max(1.0);
            let name = name.replace('|', " ").to_uppercase();
            CommandUse { name, per_s: others / all_s, mean_us, share: mean_us * others / 1e6 / all_s }
        };
        let mut commands: Vec<_> =
            all.into_iter().map(command).filter(|command| command.share > 0.0).collect();
        commands.sort_by(|left, right| right.share.total_cmp(&left.share));
        commands
    }

    /// Returns the number of the load's requests in the last seconds, by the command's name in the server's statistics.
    pub(super) fn requests(&self) -> BTreeMap<&str, u64> {
        self.answered(|answers| &answers.requests)
    }

    fn answered(&self, of: fn(&AnsweredRequests) -> &BTreeMap<String, u64>) -> BTreeMap<&str, u64> {
        let mut requests = BTreeMap::new();
        for (name, n) in self.answers.since(self.t_s - COMMANDS_S).flat_map(of) {
            *requests.entry(name.as_str()).or_default() += n;
        }
        requests
    }

    /// Returns the operations of the load in the last seconds of the current segment, each with its count and its mean
    /// time in microseconds. Operations with the most time come first.
    pub(super) fn operations(&self) -> Vec<(&str, f64, f64)> {
        let mut all: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
        let segment = self.segment.as_ref().map(|segment| segment.segment);
        let answers = self.answers.since(self.t_s - COMMANDS_S);
        let own = answers.filter(|answers| Some(answers.segment) == segment);
        for (name, (n, us)) in own.flat_map(|answers| &answers.operations) {
            let sum = all.entry(name).or_default();
            *sum = (sum.0 + n, sum.1 + us);
        }
        let mut all: Vec<_> = all.into_iter().filter(|(_, (n, _))| *n > 0.0).collect();
        all.sort_by(|(_, left), (_, right)| right.1.total_cmp(&left.1));
        all.into_iter().map(|(name, (n, us))| (name, n, us / n)).collect()
    }

    /// Returns the mean execution time of a command in the last seconds, in microseconds. `name` is the command's name
    /// in the server's statistics. `None` if the server reports no time.
    pub(super) fn execution_us(&self, name: &str) -> Option<f64> {
        let mut stat = CommandStat::default();
        let all = self.statuses.since(self.t_s - COMMANDS_S);
        all.filter_map(|status| status.command_stats.get(name)).for_each(|part| stat.merge(part));
        stat.mean_us()
    }

    /// Returns whether redyno generates load at present.
    pub(super) fn is_loaded(&self) -> bool {
        self.load().is_some()
    }

    /// Returns the knobs of redyno's load; `None` while the load is off.
    pub(super) fn load(&self) -> Option<&Knobs> {
        let own = self.segment.as_ref().map(|segment| &segment.knobs);
        own.filter(|knobs| knobs.load).or(self.load_elsewhere.as_ref())
    }

    /// Returns the share of the time in which the server's thread waits for a core; 0 if it is unknown.
    pub(super) fn run_delay(&self) -> f64 {
        self.gauge(Gauge::ServerRunDelay).unwrap_or_default()
    }

    /// Returns whether the server is known to have free CPU time, no long wait for a core, and time left outside of its
    /// commands.
    pub(super) fn has_time(&self) -> bool {
        // The CPU time of a server with several threads is that of all its threads.
        let threads = self.gauge(Gauge::Threads).unwrap_or(1.0).max(1.0);
        self.gauge(Gauge::Cpu).is_some_and(|cpu| (cpu / threads).max(self.in_commands()) < BUSY)
            && self.run_delay() < 0.1
    }

    /// Returns the share of the last seconds that the server spent in commands. Commands that use no CPU time count,
    /// too.
    pub(super) fn in_commands(&self) -> f64 {
        let recent = || self.statuses.since(self.t_s - COMMANDS_S);
        let stats = recent().flat_map(|status| status.command_stats.values());
        let us: f64 = stats.map(|stat| stat.usec as f64).sum();
        us / 1e6 / recent().filter_map(|status| status.poll_s).sum::<f64>().max(f64::MIN_POSITIVE)
    }

    /// Returns whether this interval belongs to the current segment. A worker's late report belongs to an earlier one.
    pub(super) fn is_of(&self, interval: &Interval) -> bool {
        self.segment.as_ref().is_some_and(|segment| segment.segment == interval.segment)
    }

    /// Returns the dialect of the server.
    pub(super) fn dialect(&self) -> Dialect {
        Dialect::of_server(self.session.as_ref().map_or("", |session| &session.target.server))
    }

    /// Returns the latest intervals, oldest first, without the last `but` intervals. The result is the smallest number
    /// of intervals that covers `window_s` seconds, or all intervals if they are shorter in total.
    pub(super) fn last(&self, window_s: f64, but: usize) -> &[Interval] {
        let parts = &self.parts[..self.parts.len().saturating_sub(but)];
        let mut all_s = 0.0;
        let is_needed = |part: &&Interval| {
            all_s < window_s && {
                all_s += part.length_s;
                true
            }
        };
        let needed = parts.iter().rev().take_while(is_needed).count();
        &parts[parts.len() - needed..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::fixture::seconds;

    #[test]
    fn a_node_without_load_forgets_its_usual_levels_when_the_load_elsewhere_changes() {
        let usual = |load| {
            let mut now = RecentState::default();
            seconds(20, |_| {}).iter().for_each(|record| now.push(record));
            now.segment = Some(Segment::new(0.0, 1, Knobs { load, ..Knobs::default() }));
            now.push_other(&Record::Segment(Segment::new(20.0, 2, Knobs::default())));
            now.usual(Gauge::NewConnections)
        };
        assert_eq!([false, true].map(usual), [None, Some(1.0)]);
    }
}
