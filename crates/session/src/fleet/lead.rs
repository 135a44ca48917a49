//! The session's side of a fleet: publishes each setting to the agents, and stores the last report of each
//! agent.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex, MutexGuard};

use super::{
    bus::{Bus, BusStream},
    clock_offset::ClockOffset,
    messages::{AgentReport, FleetOrder, ORDER, REPEAT_EVERY, Terms, VERSION, WAIT},
    outages::AgentOutages,
    ran_for::ran_for,
};
use crate::{
    clock::{Clock, TICK_NS, seconds},
    endpoint::{Cluster, NodeOutages, parse_uri},
    events::EventKind,
    host::run_first,
    load::{AgentPhase, AgentSetting, Agents},
    untrusted,
};

/// The longest wait for the last reports of the agents. If an agent is lost or the bus does not answer, the
/// wait ends earlier.
pub(super) const LAST_REPORTS_LIMIT: Duration = Duration::from_secs(15);
/// The time from the publication of a setting until the setting takes effect, if the bus answers at once.
const LEAD_NS: u64 = 100_000_000;
/// The largest number of round trips until an agent knows a setting. The session may need one and a half to write the
/// setting, because another order may be on its way. The agent may need three and a half to read the setting, because
/// the agent may first compare its clock and send a report.
const ROUND_TRIPS: u64 = 5;
/// The time between two orders after which an event reports that this machine is too busy.
const LATE_AFTER: Duration = Duration::from_secs(2);
/// The longest delay that a slow bus may cause, in ns.
const MOST_DELAY_NS: u64 = 5_000_000_000;

/// The settings for the agents of a session, and the state of each agent.
#[derive(Debug)]
pub(super) struct FleetLead {
    pub(super) terms: Terms,
    /// The servers that share the load, if there are several, with their node numbers in the session.
    pub(super) cluster: Option<Arc<Cluster>>,
    pub(super) outages: AgentOutages,
    state: Mutex<LeadState>,
    /// Signalled when there is a new setting, and when the agents have ended.
    pub(super) news: Condvar,
}

#[derive(Debug, Default)]
pub(super) struct LeadState {
    pub(super) agents: Vec<KnownAgent>,
    /// The last setting, and the session's clock.
    pub(super) turn: Option<(AgentSetting, Clock)>,
    /// Whether the last setting is new. The session has not published a new setting yet.
    pub(super) is_new: bool,
    /// The time when the session ended; `None` while the session runs.
    pub(super) over_since: Option<Instant>,
    /// The offset of the bus's clock from the session's clock, and its largest possible error, in nanoseconds.
    axis: Option<(i64, u64)>,
    /// The reason why the last order could not be sent. Empty if the order was sent.
    pub(super) trouble: String,
    /// The time for which this machine was too busy to send an order, if this time was long.
    pub(super) late: Option<Duration>,
    /// Whether all agents have ended, or are lost.
    pub(super) has_ended: bool,
}

/// An agent.
#[derive(Debug)]
pub(super) struct KnownAgent {
    /// The first report of the agent's process.
    pub(super) first: AgentReport,
    /// The time of the last report, by [`ran_for`].
    pub(super) heard: Duration,
    pub(super) state: AgentProgress,
}

impl KnownAgent {
    /// Returns whether the agent is lost or has ended.
    pub(super) fn is_away(&self) -> bool {
        self.state.is_lost || self.state.has_ended
    }

    /// Updates the agent's state from a report. Returns the resulting events.
    pub(super) fn hear(&mut self, report: &AgentReport, is_over: bool) -> Vec<EventKind> {
        self.heard = ran_for();
        let (agent, host, state) = (report.index, self.first.host(), &mut self.state);
        let mut events = Vec::new();
        if !report.refusal.is_empty() && report.refusal != state.refusal {
            events.push(EventKind::AgentRefused {
                agent: Some(agent),
                cause: format!("{} (the agent on {host})", untrusted::text(&report.refusal)),
            });
        }
        state.refusal.clone_from(&report.refusal);
        if report.run.is_empty() {
            return events;
        }
        let reports = report.number.saturating_sub(state.next);
        events.extend((reports > 0).then_some(EventKind::ReportsLost { agent, reports }));
        if !(state.has_begun || report.is_last && is_over) {
            let error_us = report.error_ns as f64 / 1e3;
            events.push(EventKind::AgentJoined { agent, host: host.clone(), error_us });
        }
        let ends_early = report.is_last && !is_over;
        if state.is_lost != ends_early {
            events.push(match ends_early {
                true => EventKind::AgentLost { agent, host },
                false => EventKind::AgentBack { agent, host },
            });
        }
        *state = AgentProgress {
            next: report.number.saturating_add(1),
            generation: report.generation,
            is_done: report.is_done,
            closed_tick: report.closed_tick,
            error_ns: report.error_ns,
            refusal: std::mem::take(&mut state.refusal),
            is_lost: ends_early,
            has_begun: true,
            has_ended: report.is_last,
        };
        events
    }
}

/// The state of an agent after its last report.
#[derive(Debug, Clone, Default)]
pub(super) struct AgentProgress {
    /// The number of the next report about the run.
    pub(super) next: u64,
    pub(super) generation: u32,
    pub(super) is_done: bool,
    /// The last tick (quarter second) whose results have arrived.
    pub(super) closed_tick: u64,
    /// The largest possible error of the agent's times, in nanoseconds.
    error_ns: u64,
    pub(super) refusal: String,
    pub(super) is_lost: bool,
    /// Whether the agent has reported about the run.
    pub(super) has_begun: bool,
    /// Whether the agent has sent its last report about the run.
    pub(super) has_ended: bool,
}

impl LeadState {
    /// Returns the delay of settings that a slow bus causes, in ns. The clock error is at least half of a round trip.
    pub(super) fn delay_ns(&self) -> u64 {
        let agents =
            self.agents.iter().filter(|agent| !agent.state.is_lost).map(|agent| agent.state.error_ns);
        let error_ns = agents.fold(self.axis.map_or(0, |(_, error_ns)| error_ns), u64::max);
        (error_ns * 2 * ROUND_TRIPS).min(MOST_DELAY_NS)
    }

    /// Returns the events about an agent whose last report is missing: the agent is lost, and the results at the end of
    /// its load did not arrive.
    pub(super) fn missing(&self, agent: usize) -> Vec<EventKind> {
        let known = &self.agents[agent];
        let Some((turn, clock)) = self.turn.as_ref().filter(|_| !known.state.has_ended) else {
            return Vec::new();
        };
        let end_ns = match turn.phase {
            _ if !turn.knobs.load => turn.since_ns,
            AgentPhase::Load { until_ns, .. } => until_ns.min(clock.now_ns()),
            AgentPhase::Prefill { .. } => clock.now_ns(),
        };
        let from_ns = known.state.closed_tick.saturating_mul(TICK_NS);
        let (from_s, length_s) = (seconds(from_ns), seconds(end_ns.saturating_sub(from_ns)));
        let lost = EventKind::AgentLost { agent, host: known.first.host() };
        let results = EventKind::ResultsLost { agent, from_s, length_s };
        let events = [(!known.state.is_lost).then_some(lost), (length_s > 0.0).then_some(results)];
        events.into_iter().flatten().collect()
    }

    /// Takes the first report of an agent that was started again. Its reports are numbered from 0. Returns the events
    /// about the results of its former process.
    pub(super) fn restart(&mut self, report: &AgentReport) -> Vec<EventKind> {
        let missing = self.missing(report.index);
        let agent = &mut self.agents[report.index];
        (agent.first, agent.heard) = (report.clone(), ran_for());
        (agent.state.next, agent.state.has_ended) = (0, false);
        self.is_new = true;
        missing
    }
}

impl Agents for FleetLead {
    fn apply_setting(&self, turn: AgentSetting, clock: Clock) {
        let mut state = self.state();
        (state.turn, state.is_new) = (Some((turn, clock)), true);
        self.news.notify_all();
    }

    fn end(&self) {
        let mut state = self.state();
        (state.over_since, state.is_new) = (Some(Instant::now()), true);
        self.news.notify_all();
        // The keys are removed after this wait.
        self.news.wait_while_for(&mut state, |state| !state.has_ended, LAST_REPORTS_LIMIT);
    }

    fn outages(&self) -> NodeOutages {
        self.outages.merged.clone()
    }

    fn lead_ns(&self) -> u64 {
        LEAD_NS + self.state().delay_ns()
    }

    fn are_ready(&self) -> bool {
        self.state().agents.iter().all(|agent| agent.state.has_begun || agent.state.is_lost)
    }

    fn are_done(&self, generation: u32) -> bool {
        let state = self.state();
        let mut agents =
            state.agents.iter().map(|agent| &agent.state).filter(|agent| !agent.is_lost).peekable();
        agents.peek().is_some() && agents.all(|agent| agent.is_done && agent.generation >= generation)
    }
}

impl FleetLead {
    /// Returns the session's side of a fleet. `agents` has the first report of each agent.
    pub(super) fn new(terms: Terms, cluster: Option<Arc<Cluster>>, agents: Vec<AgentReport>) -> Self {
        let now = ran_for();
        let known = |first: AgentReport| KnownAgent { first, heard: now, state: AgentProgress::default() };
        let state = LeadState { agents: agents.into_iter().map(known).collect(), ..LeadState::default() };
        let outages = AgentOutages::default();
        Self { terms, cluster, outages, state: Mutex::new(state), news: Condvar::new() }
    }

    /// Returns the session's number of a node. `node` is the number of this node at the agent that sent the report.
    /// Without a cluster, returns `None`.
    pub(super) fn node_of(&self, report: &AgentReport, node: usize) -> Option<usize> {
        let address = parse_uri(report.nodes.get(node)?).ok()?.target.address;
        Some(self.cluster.as_ref()?.find_or_add(&address).ok()?.index())
    }

    /// Takes the outages of a report. Outages from agents that are gone do not count.
    pub(super) fn take_outages(&self, report: &AgentReport) {
        if report.outages.iter().all(Option::is_none) {
            return;
        }
        let number = |node| if self.cluster.is_none() { Some(0) } else { self.node_of(report, node) };
        let away: Vec<_> = self.state().agents.iter().map(KnownAgent::is_away).collect();
        self.outages.take(report, number, |agent| away.get(agent).is_some_and(|away| *away));
    }

    pub(super) fn state(&self) -> MutexGuard<'_, LeadState> {
        self.state.lock()
    }

    /// Publishes each new order, and repeats the last order, until the agents have ended. This thread waits for nothing
    /// else, because the agents end their load without orders.
    pub(super) fn give_orders(&self, mut bus: Bus) {
        run_first();
        let mut last = None::<Instant>;
        loop {
            let mut state = self.state();
            self.news.wait_while_for(&mut state, |state| !state.is_new && !state.has_ended, REPEAT_EVERY);
            if state.has_ended {
                drop(state);
                // If the bus does not answer now, the streams expire.
                drop(bus.remove());
                return;
            }
            state.is_new = false;
            let Some(((zero_ns, _), (turn, _))) = state.axis.zip(state.turn.clone()) else { continue };
            let is_over = state.over_since.is_some();
            drop(state);
            let order = self.order(turn, zero_ns as u64, is_over);
            let text = serde_json::to_vec(&order).unwrap_or_default();
            let sent = bus.send(BusStream::Orders, &[(ORDER, &text)]);
            let mut state = self.state();
            state.trouble = sent.as_ref().err().map(ToString::to_string).unwrap_or_default();
            let passed =
                std::mem::replace(&mut last, sent.is_ok().then(Instant::now)).map(|last| last.elapsed());
            state.late = passed.filter(|passed| sent.is_ok() && *passed > LATE_AFTER).or(state.late);
            if sent.is_err() {
                state.is_new = true;
                drop(state);
                std::thread::sleep(WAIT);
            }
        }
    }

    /// Compares the clock of the session with the clock of the bus, until the agents have ended.
    pub(super) fn compare_clocks(&self, mut bus: Bus) {
        let mut axis = ClockOffset::default();
        // The first question also opens the connection, so its time says nothing about the difference of the clocks.
        drop(bus.time_ns());
        let mut state = self.state();
        self.news.wait_while(&mut state, |state| state.turn.is_none() && !state.has_ended);
        while let Some((_, clock)) = state.turn
            && !state.has_ended
        {
            drop(state);
            // If the bus does not answer, the earlier samples remain.
            drop(axis.measure(&mut bus, clock));
            state = self.state();
            // The first order waits for the first sample.
            state.is_new |= state.axis.is_none();
            state.axis = axis.offset();
            self.news.notify_all();
            let pause = if state.axis.is_none() { WAIT } else { REPEAT_EVERY };
            self.news.wait_while_for(&mut state, |state| !state.has_ended, pause);
        }
    }

    fn order(&self, turn: AgentSetting, zero_ns: u64, is_over: bool) -> FleetOrder {
        let processes = self.state().agents.iter().map(|agent| agent.first.process).collect();
        FleetOrder {
            version: VERSION.to_owned(),
            terms: self.terms.clone(),
            processes,
            zero_ns,
            turn,
            is_over,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{clock::SECOND_NS, knobs::Knobs};

    #[test]
    fn the_results_after_the_last_report_of_an_agent_are_missing_unless_it_was_the_last() {
        let first = AgentReport { host: "a".to_owned(), ..AgentReport::default() };
        let lead = FleetLead::new(Terms::default(), None, vec![first]);
        let phase = AgentPhase::Load { is_measured: true, until_ns: 30 * SECOND_NS };
        let knobs = Knobs { load: true, ..Knobs::default() };
        let turn = AgentSetting { generation: 1, since_ns: 0, knobs, phase };
        lead.apply_setting(turn, Clock::started_ago(Duration::from_secs(40)).unwrap());
        let mut report = AgentReport { run: "r".to_owned(), closed_tick: 49, ..AgentReport::default() };
        let mut missing = |is_last| {
            report.is_last = is_last;
            let mut state = lead.state();
            state.agents[0].hear(&report, true);
            state.missing(0)
        };
        let lost = EventKind::AgentLost { agent: 0, host: "a".to_owned() };
        let results = EventKind::ResultsLost { agent: 0, from_s: 12.25, length_s: 17.75 };
        assert_eq!(missing(false), [lost, results]);
        assert_eq!(missing(true), []);
    }
}
