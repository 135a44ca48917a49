//! Reads the reports of a fleet's agents, and joins these reports into the records of the session.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        mpsc::{Receiver, Sender, channel},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use super::{
    bus::{Bus, BusStream, MessageFields, READ_AT_ONCE},
    gather::{GatheredAgents, fits},
    join::IntervalJoin,
    lead::{FleetLead, KnownAgent, LAST_REPORTS_LIMIT},
    messages::{AgentReport, RECORD, Terms, WAIT, read_report},
    ran_for::ran_for,
};
use crate::{
    clock::{TICK_NS, seconds, tick_of},
    endpoint::Cluster,
    events::EventKind,
    load::Agents,
    session::{Event, Interval, Record, RecordLines},
};

/// The time without an answer of the bus after which an ended session stops waiting for reports.
const GIVEN_UP_AFTER: Duration = Duration::from_secs(10);
/// The number of ticks (quarter seconds) by which an interval may be ahead of this machine's clock.
const SOON_TICKS: u64 = 20;
/// The number of references to `lead` that the fleet's threads hold.
const OWN_HANDLES: usize = 3;
/// The largest number of messages that are shown about unusable reports.
const MOST_SHOWN: usize = 20;
/// The time after a lost agent's last report when its load has certainly stopped. An agent ends its load after 4 s
/// without an order. redyno removes the keys only after this time.
const STOPS_AFTER: Duration = Duration::from_secs(6);
/// The time without a report after which an agent counts as lost. If the bus is slow, this time is longer.
const LOST_AFTER: Duration = Duration::from_millis(2500);
/// The time between two reads. One read returns the reports of many agents, which costs less than many reads.
const GATHERS_FOR: Duration = Duration::from_millis(20);
/// The time without a bus after which every agent has ended: 4 s without an order, and 30 s for the last reports.
const AGENTS_TRY_FOR: Duration = Duration::from_secs(40);
/// The longest time in which an agent asks the bus, connects to the servers and begins its load.
const BEGINS_WITHIN: Duration = Duration::from_secs(10);

impl GatheredAgents {
    /// Starts the fleet's threads. Returns the handle of the agents for the load's plan, and the receiver of the joined
    /// records. The receiver is closed after the last record.
    ///
    /// # Errors
    /// Fails if a thread cannot be started.
    pub fn lead(
        self,
        terms: Terms,
        cluster: Option<Arc<Cluster>>,
    ) -> std::io::Result<(Arc<dyn Agents>, Receiver<Record>)> {
        let Self { bus, name, agents, after } = self;
        let (records, joined) = channel();
        let lead = Arc::new(FleetLead::new(terms, cluster, agents));
        let thread = |thread: &str| std::thread::Builder::new().name(thread.to_owned());
        let (leading, comparing) = (Arc::clone(&lead), Arc::clone(&lead));
        let [to, with, from] = [(); 3].map(|()| Bus::new(&bus, &name));
        let orders = Some(thread("orders").spawn(move || leading.give_orders(to))?);
        thread("clocks").spawn(move || comparing.compare_clocks(with))?;
        let mut reading = ReportReader { orders, after, ..ReportReader::new(Arc::clone(&lead), records) };
        thread("reports").spawn(move || reading.read_all(from))?;
        Ok((lead, joined))
    }
}

/// Reads the reports of the agents.
struct ReportReader {
    lead: Arc<FleetLead>,
    /// The thread that publishes orders.
    orders: Option<JoinHandle<()>>,
    records: Sender<Record>,
    join: IntervalJoin,
    lines: RecordLines,
    after: String,
    /// The time when the bus stopped answering or began to refuse orders. `None` while the bus works.
    bus_lost: Option<Instant>,
    /// The messages that were shown about unusable reports. Each message is shown once.
    shown: BTreeSet<String>,
    /// For each agent, the number of reports with records that could not be used.
    discarded: BTreeMap<usize, u64>,
    /// Whether all agents ended or were lost before the end of the load.
    is_forsaken: bool,
}

impl ReportReader {
    /// Returns a reader that sends `records`.
    fn new(lead: Arc<FleetLead>, records: Sender<Record>) -> Self {
        let join = IntervalJoin::new(lead.state().agents.len());
        Self {
            lead,
            orders: None,
            records,
            join,
            lines: RecordLines::default(),
            after: String::new(),
            bus_lost: None,
            shown: BTreeSet::new(),
            discarded: BTreeMap::new(),
            is_forsaken: false,
        }
    }

    /// Reads reports until the load is over and every agent has ended or is lost. Also stops if the session has failed.
    fn read_all(&mut self, mut bus: Bus) {
        loop {
            let read = bus.read(BusStream::Reports, &mut self.after, WAIT);
            let trouble = read.as_ref().err().map(ToString::to_string);
            self.note_trouble(trouble.unwrap_or_else(|| self.lead.state().trouble.clone()));
            let pause = match &read {
                Ok(messages) if messages.len() < READ_AT_ONCE => GATHERS_FOR,
                Ok(_) => Duration::ZERO, // more messages are waiting
                Err(_) => WAIT,
            };
            read.into_iter().flatten().for_each(|fields| self.take(&fields));
            self.look_for_lost();
            self.pass_on();
            if self.has_ended() {
                self.close();
                self.lead.state().has_ended = true;
                self.lead.news.notify_all();
                // The session ends only after the thread for the orders has removed the streams.
                drop(self.orders.take().map(JoinHandle::join));
                return;
            }
            std::thread::sleep(pause);
        }
    }

    /// Emits an event when the bus stops accepting commands, when it accepts commands again, and when orders are late.
    fn note_trouble(&mut self, trouble: String) {
        match (trouble.is_empty(), self.bus_lost) {
            (false, None) => {
                self.bus_lost = Some(Instant::now());
                self.event(EventKind::BusLost { cause: trouble });
            }
            (true, Some(_)) => {
                // No report could be read meanwhile.
                self.lead.state().agents.iter_mut().for_each(|agent| agent.heard = ran_for());
                self.bus_lost = None;
                self.event(EventKind::BusBack);
            }
            _ => {}
        }
        let late = self.lead.state().late.take();
        let late = late.map(|late| EventKind::OrdersLate { length_s: late.as_secs_f64() });
        late.into_iter().for_each(|event| self.event(event));
    }

    /// Shows the reason why a report cannot be used. Each reason is shown once.
    fn refuse(&mut self, cause: String) {
        if self.shown.len() < MOST_SHOWN && self.shown.insert(cause.clone()) {
            self.event(EventKind::AgentRefused { agent: None, cause });
        }
    }

    fn take(&mut self, fields: &MessageFields) {
        let Some(report) = read_report(fields) else {
            return self.refuse("a report on the bus is not readable".to_owned());
        };
        let lead = Arc::clone(&self.lead);
        let mut state = lead.state();
        if report.run != self.lead.terms.run && !report.run.is_empty() {
            return;
        }
        let (agents, is_over) = (state.agents.len(), state.over_since.is_some());
        let Some(agent) = state.agents.get_mut(report.index).filter(|_| fits(&report, agents).is_ok()) else {
            drop(state);
            let cause = fits(&report, agents).err().unwrap_or_default();
            return self.refuse(cause);
        };
        if report.process != agent.first.process {
            if !agent.state.is_lost {
                let (index, host) = (report.index, report.host());
                drop(state);
                let cause =
                    format!("agent {index} is here already, and an agent on {host} has the same number");
                return self.refuse(cause);
            }
            let missing = state.restart(&report);
            drop(state);
            return missing.into_iter().for_each(|event| self.event(event));
        }
        if !report.run.is_empty() && report.number < agent.state.next {
            // The bus has accepted the report twice, because the first reply of the bus was late.
            return;
        }
        let events = agent.hear(&report, is_over);
        drop(state);
        events.into_iter().for_each(|event| self.event(event));
        if report.run.is_empty() {
            return;
        }
        self.take_outages(&report);
        self.take_records(&report, fields);
        self.join.close(report.index, report.closed_tick);
        if report.is_last {
            self.join.leave(report.index);
        }
    }

    fn take_outages(&mut self, report: &AgentReport) {
        let mut outages = report.outages.iter().flatten();
        if outages.any(|outage| !self.is_time(seconds(outage.back_ns.unwrap_or(outage.since_ns)))) {
            return self.refuse(format!("an outage of agent {} has an impossible time", report.index));
        }
        self.lead.take_outages(report);
    }

    fn take_records(&mut self, report: &AgentReport, fields: &MessageFields) {
        let (mut refusal, mut is_counted) = (None, true);
        for (_, text) in fields.iter().filter(|(name, _)| name == RECORD) {
            match self.lines.read(text) {
                Ok(Record::Interval(interval)) if !self.can_be(&interval) => {
                    refusal = Some(format!("an interval of agent {} has an impossible time", report.index));
                    is_counted = false;
                }
                Ok(Record::Interval(mut interval)) => {
                    self.renumber(report, &mut interval);
                    if let Some(late) = self.join.add(report.index, report.clock_us(), *interval) {
                        self.send(Record::Interval(Box::new(late)));
                    }
                }
                Ok(Record::Event(event)) if !self.is_time(event.t_s) => {
                    refusal = Some(format!("an event of agent {} has an impossible time", report.index));
                }
                Ok(Record::Event(event)) => {
                    self.send(Record::Event(self.named(event, report.index)).at_node(0));
                }
                Ok(_) => {}
                Err(why) => {
                    refusal = Some(format!("a record of agent {} is not readable: {why}", report.index));
                    is_counted = false;
                }
            }
        }
        if !is_counted {
            *self.discarded.entry(report.index).or_default() += 1;
        }
        if let Some(cause) = refusal {
            self.refuse(cause);
        }
    }

    /// Replaces the agent's node numbers in an interval with the node numbers of this session.
    fn renumber(&mut self, report: &AgentReport, interval: &mut Interval) {
        let lead = Arc::clone(&self.lead);
        let known = |node: u16| lead.node_of(report, node.into()).map(|node| node as u16);
        for node in interval.renumber(known) {
            self.refuse(format!("agent {} gives no address for its node {node}", report.index));
        }
    }

    /// Returns an event of an agent. If the event is a pause, the agent's name is added, because the session itself was
    /// not paused.
    fn named(&self, event: Event, agent: usize) -> Event {
        match event.what {
            EventKind::Paused { length_s } => {
                let host = self.lead.state().agents[agent].first.host();
                Event { what: EventKind::AgentPaused { agent, host, length_s }, ..event }
            }
            _ => event,
        }
    }

    /// Returns whether an interval is plausible. Its segment must be published, and its time must not be in the future.
    fn can_be(&self, interval: &Interval) -> bool {
        let (generation, now_ns) = self.now();
        let Interval { t_s, length_s, paused_s, tick, segment, .. } = *interval;
        let is_possible = |length_s: f64| (0.0..=t_s + 1.0).contains(&length_s);
        let at = (t_s / seconds(TICK_NS)) as u64;
        segment <= generation
            && tick <= tick_of(now_ns) + SOON_TICKS
            && self.is_time(t_s)
            && at.abs_diff(tick) <= SOON_TICKS
            && [length_s, paused_s].into_iter().all(is_possible)
    }

    /// Returns whether `t_s` is between the session's start and a few seconds from now.
    fn is_time(&self, t_s: f64) -> bool {
        (0.0..=seconds(self.now().1 + SOON_TICKS * TICK_NS)).contains(&t_s)
    }

    /// Returns the number of the last published setting, and the time of the session in ns. Returns 0 and 0 before the
    /// first setting.
    fn now(&self) -> (u32, u64) {
        self.lead.state().turn.as_ref().map_or((0, 0), |(turn, clock)| (turn.generation, clock.now_ns()))
    }

    fn look_for_lost(&mut self) {
        if self.bus_lost.is_some_and(|since| since.elapsed() < AGENTS_TRY_FOR) {
            return self.look_for_the_last();
        }
        let (lead, mut lost, now) = (Arc::clone(&self.lead), Vec::new(), ran_for());
        let mut state = lead.state();
        let lost_after = LOST_AFTER + Duration::from_nanos(state.delay_ns());
        for (index, agent) in state.agents.iter_mut().enumerate() {
            let limit = if agent.state.has_begun { lost_after } else { BEGINS_WITHIN };
            let is_silent = now.saturating_sub(agent.heard) > limit && !agent.state.has_ended;
            if is_silent && !std::mem::replace(&mut agent.state.is_lost, true) {
                lost.push((index, agent.first.host()));
            }
        }
        drop(state);
        for (agent, host) in lost {
            self.join.leave(agent);
            self.event(EventKind::AgentLost { agent, host });
        }
        self.look_for_the_last();
    }

    /// Ends the load if all agents have ended or are lost before the end of the load.
    fn look_for_the_last(&mut self) {
        let state = self.lead.state();
        let is_forsaken = state.over_since.is_none() && state.agents.iter().all(KnownAgent::is_away);
        let agents = state.agents.iter().enumerate();
        let last = agents.max_by_key(|(_, agent)| agent.heard).map(|(agent, _)| agent);
        drop(state);
        if is_forsaken && !std::mem::replace(&mut self.is_forsaken, true) {
            let cause = "no agent is left; this one was the last that reported".to_owned();
            self.event(EventKind::AgentRefused { agent: last, cause });
        }
    }

    fn pass_on(&mut self) {
        for interval in self.join.take() {
            self.send(Record::Interval(Box::new(interval)));
        }
    }

    fn has_ended(&self) -> bool {
        let state = self.lead.state();
        let has_stopped =
            |agent: &KnownAgent| agent.state.is_lost && ran_for().saturating_sub(agent.heard) > STOPS_AFTER;
        let is_away = |agent: &KnownAgent| agent.state.has_ended || has_stopped(agent);
        let is_given_up = self.bus_lost.is_some_and(|since| since.elapsed() > GIVEN_UP_AFTER);
        // If the session failed before its load began, nothing else holds a handle.
        let Some(over_since) = state.over_since else { return Arc::strong_count(&self.lead) == OWN_HANDLES };
        let is_late = over_since.elapsed() > LAST_REPORTS_LIMIT;
        is_late || is_given_up || self.bus_lost.is_none() && state.agents.iter().all(is_away)
    }

    /// Sends the remaining intervals at the end, and reports the missing agents, results and reports.
    fn close(&mut self) {
        let agents = self.lead.state().agents.len();
        for agent in 0..agents {
            self.join.leave(agent);
            let missing = self.lead.state().missing(agent);
            missing.into_iter().for_each(|event| self.event(event));
        }
        self.pass_on();
        for (agent, reports) in std::mem::take(&mut self.discarded) {
            self.event(EventKind::ReportsLost { agent, reports });
        }
    }

    fn event(&self, what: EventKind) {
        self.send(Record::Event(Event::new(seconds(self.now().1), what)));
    }

    fn send(&self, record: Record) {
        // The receiver is gone only while the session ends.
        drop(self.records.send(record));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::messages::{REPORT, VERSION};

    #[test]
    fn reports_that_cannot_be_used_are_counted() {
        let terms = Terms { run: "r".to_owned(), ..Terms::default() };
        let report =
            AgentReport { version: VERSION.to_owned(), of: 1, run: "r".to_owned(), ..AgentReport::default() };
        let (records, received) = channel();
        let lead = FleetLead::new(terms, None, vec![report.clone()]);
        let mut reading = ReportReader::new(Arc::new(lead), records);
        for number in 0..2 {
            let head = serde_json::to_vec(&AgentReport { number, ..report.clone() }).unwrap();
            let garbage = (RECORD.to_owned(), b"{}".to_vec());
            reading.take(&vec![(REPORT.to_owned(), head), garbage.clone(), garbage]);
        }
        reading.close();
        let lost = EventKind::ReportsLost { agent: 0, reports: 2 };
        let is_lost = |record: &Record| matches!(record, Record::Event(event) if event.what == lost);
        assert_eq!(received.try_iter().filter(is_lost).count(), 1);
    }
}
