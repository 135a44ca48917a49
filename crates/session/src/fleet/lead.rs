//! The session's side of a fleet: it publishes each setting to the agents, and joins what they report.

use std::{
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        mpsc::{Receiver, Sender, channel},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use super::{
    axis::Axis,
    bus::{Bus, Fields, Stream},
    gather::{Gathered, fits},
    join::Join,
    words::{ORDER, Order, RECORD, REPEAT_EVERY, Report, Terms, VERSION, WAIT, read_report},
};
use crate::{
    clock::{Clock, seconds},
    events::EventKind,
    load::{Agents, Turn},
    session::{Event, Record, RecordLines},
    untrusted,
};

/// An agent without a report for this long is lost.
const LOST_AFTER: Duration = Duration::from_millis(2500);

impl Gathered {
    /// Begins to lead the agents. Returns the handle for the load's plan, and the receiver of the joined records, which is
    /// closed after the last one.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub fn lead(self, terms: Terms) -> std::io::Result<(Arc<dyn Agents>, Receiver<Record>)> {
        let Self { bus, name, agents, after } = self;
        let (records, joined) = channel();
        let lead = Arc::new(Lead { terms, state: Mutex::default(), news: Condvar::new() });
        let now = Instant::now();
        let known = |first: Report| Known { first, heard: now, state: AgentState::default() };
        lead.state().agents = agents.into_iter().map(known).collect();
        let (leading, to) = (Arc::clone(&lead), Bus::new(&bus, &name));
        let orders = std::thread::Builder::new().name("orders".to_owned());
        let orders = Some(orders.spawn(move || leading.give_orders(to))?);
        let join = Join::new(lead.state().agents.len());
        let lines = RecordLines::default();
        let mut reading =
            Reading { lead: Arc::clone(&lead), orders, records, join, lines, after, bus_is_lost: false };
        let bus = Bus::new(&bus, &name);
        std::thread::Builder::new().name("reports".to_owned()).spawn(move || reading.read_all(bus))?;
        Ok((lead, joined))
    }
}

/// The session's side of a fleet.
#[derive(Debug)]
struct Lead {
    terms: Terms,
    state: Mutex<State>,
    /// Signalled when there is a new setting.
    news: Condvar,
}

#[derive(Debug, Default)]
struct State {
    agents: Vec<Known>,
    /// The last setting, and the session's clock.
    turn: Option<(Turn, Clock)>,
    /// Whether the last setting has not been published.
    is_new: bool,
    is_over: bool,
    /// Why the last order could not be given; empty if it was.
    trouble: String,
    /// Whether all agents have ended, or are lost.
    has_ended: bool,
}

/// An agent.
#[derive(Debug)]
struct Known {
    /// Its first report.
    first: Report,
    heard: Instant,
    state: AgentState,
}

impl Known {
    /// Takes over what a report says; returns what is to be shown of it.
    fn hear(&mut self, report: &Report, is_over: bool) -> Vec<EventKind> {
        self.heard = Instant::now();
        let (agent, host, state) = (report.index, untrusted::text(&self.first.host), &mut self.state);
        let mut events = Vec::new();
        if !report.refusal.is_empty() && report.refusal != state.refusal {
            events.push(EventKind::AgentRefused {
                agent: Some(agent),
                cause: untrusted::text(&report.refusal),
            });
        }
        state.refusal.clone_from(&report.refusal);
        if report.run.is_empty() {
            return events;
        }
        let reports = report.number.saturating_sub(state.next);
        events.extend((reports > 0).then_some(EventKind::ReportsLost { agent, reports }));
        let ends_early = report.is_last && !is_over;
        if state.is_lost != ends_early {
            events.push(match ends_early {
                true => EventKind::AgentLost { agent, host },
                false => EventKind::AgentBack { agent, host },
            });
        }
        *state = AgentState {
            next: report.number + 1,
            generation: report.generation,
            is_done: report.is_done,
            refusal: std::mem::take(&mut state.refusal),
            is_lost: ends_early,
            has_begun: true,
            has_ended: report.is_last,
        };
        events
    }
}

/// What the last report of an agent says.
#[derive(Debug, Clone, Default)]
struct AgentState {
    /// The number of the next report about the run.
    next: u64,
    generation: u32,
    is_done: bool,
    refusal: String,
    is_lost: bool,
    /// Whether it has reported about the run, and whether that was its last report.
    has_begun: bool,
    has_ended: bool,
}

impl Agents for Lead {
    fn turn(&self, turn: Turn, clock: Clock) {
        let mut state = self.state();
        (state.turn, state.is_new) = (Some((turn, clock)), true);
        self.news.notify_all();
    }

    fn end(&self) {
        let mut state = self.state();
        (state.is_over, state.is_new) = (true, true);
        self.news.notify_all();
    }

    fn are_done(&self, generation: u32) -> bool {
        let state = self.state();
        let mut agents = state.agents.iter().map(|agent| &agent.state).filter(|agent| !agent.is_lost);
        agents.all(|agent| agent.is_done && agent.generation >= generation)
    }
}

impl Lead {
    fn state(&self) -> MutexGuard<'_, State> {
        // No code under this lock can panic half-way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Publishes each new order, and repeats the last one, until the agents have ended.
    fn give_orders(&self, mut bus: Bus) {
        let mut axis = Axis::default();
        loop {
            let state = self.state();
            let wait = |state: &mut State| !state.is_new && !state.has_ended;
            let waited = self.news.wait_timeout_while(state, REPEAT_EVERY, wait);
            let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
            if state.has_ended {
                drop(state);
                // The streams expire if the bus does not answer now.
                drop(bus.remove());
                return;
            }
            state.is_new = false;
            let (turn, is_over) = (state.turn.clone(), state.is_over);
            drop(state);
            let Some((turn, clock)) = turn else { continue };
            // The first order waits for the axis, and the others do not: without an answer the former samples remain.
            let is_measured = axis.measure(&mut bus, clock);
            let Some((zero_ns, _)) = axis.offset() else {
                drop(is_measured);
                self.state().is_new = true;
                std::thread::sleep(WAIT);
                continue;
            };
            let order = self.order(turn, zero_ns as u64, is_over);
            let text = serde_json::to_vec(&order).unwrap_or_default();
            let sent = bus.send(Stream::Orders, &[(ORDER, &text)]);
            let mut state = self.state();
            state.trouble = sent.as_ref().err().map(ToString::to_string).unwrap_or_default();
            if sent.is_err() {
                state.is_new = true;
                drop(state);
                std::thread::sleep(WAIT);
            }
        }
    }

    fn order(&self, turn: Turn, zero_ns: u64, is_over: bool) -> Order {
        let Terms { run, target, threads, seed, timeout, requests } = self.terms.clone();
        let (version, agents) = (VERSION.to_owned(), self.state().agents.len());
        let timeout_ms = timeout.as_millis() as u64;
        Order { version, run, target, agents, threads, seed, timeout_ms, requests, zero_ns, turn, is_over }
    }
}

/// Reads the reports of the agents.
struct Reading {
    lead: Arc<Lead>,
    /// The thread that gives orders.
    orders: Option<JoinHandle<()>>,
    records: Sender<Record>,
    join: Join,
    lines: RecordLines,
    after: String,
    bus_is_lost: bool,
}

impl Reading {
    /// Reads reports until all agents have ended or are lost after the end of the load.
    fn read_all(&mut self, mut bus: Bus) {
        loop {
            let read = bus.read(Stream::Reports, &mut self.after, WAIT);
            let trouble = read.as_ref().err().map(ToString::to_string);
            self.note_trouble(trouble.unwrap_or_else(|| self.lead.state().trouble.clone()));
            match read {
                Ok(reports) => reports.iter().for_each(|fields| self.take(fields)),
                Err(_) => std::thread::sleep(WAIT),
            }
            self.look_for_lost();
            self.pass_on();
            if self.has_ended() {
                self.lead.state().has_ended = true;
                self.lead.news.notify_all();
                // The session ends when the streams are removed.
                drop(self.orders.take().map(JoinHandle::join));
                return;
            }
        }
    }

    /// Reports that the bus does not answer, or refuses orders, and that this is over.
    fn note_trouble(&mut self, trouble: String) {
        match (trouble.is_empty(), self.bus_is_lost) {
            (false, false) => self.event(EventKind::BusLost { cause: trouble }),
            (true, true) => {
                // No agent could be heard meanwhile.
                let now = Instant::now();
                self.lead.state().agents.iter_mut().for_each(|agent| agent.heard = now);
                self.event(EventKind::BusBack);
            }
            (is_well, _) => return self.bus_is_lost = !is_well,
        }
        self.bus_is_lost = !self.bus_is_lost;
    }

    fn take(&mut self, fields: &Fields) {
        let Some(report) = read_report(fields) else {
            return self.event(EventKind::AgentRefused {
                agent: None,
                cause: "a report on the bus is not readable".to_owned(),
            });
        };
        let lead = Arc::clone(&self.lead);
        let mut state = lead.state();
        if report.run != self.lead.terms.run && !report.run.is_empty() {
            return;
        }
        let (agents, is_over) = (state.agents.len(), state.is_over);
        let Some(agent) = state.agents.get_mut(report.index).filter(|_| fits(&report, agents).is_ok()) else {
            drop(state);
            let cause = fits(&report, agents).err().unwrap_or_default();
            return self.event(EventKind::AgentRefused { agent: None, cause });
        };
        if report.process != agent.first.process {
            if !agent.state.is_lost {
                let (index, host) = (report.index, untrusted::text(&report.host));
                drop(state);
                let cause = format!("the number {index} of an agent that is there is also used on {host}");
                return self.event(EventKind::AgentRefused { agent: None, cause });
            }
            // It was started again: its reports are counted from 0.
            (agent.first.process, agent.state.next) = (report.process, 0);
        }
        let events = agent.hear(&report, is_over);
        drop(state);
        events.into_iter().for_each(|event| self.event(event));
        if report.run.is_empty() {
            return;
        }
        self.take_records(&report, fields);
        self.join.close(report.index, report.closed_tick);
        if report.is_last {
            self.join.leave(report.index);
        }
    }

    fn take_records(&mut self, report: &Report, fields: &Fields) {
        for (_, text) in fields.iter().filter(|(name, _)| name == RECORD) {
            match self.lines.read(text) {
                Ok(Record::Interval(interval)) => {
                    if let Some(late) = self.join.add(report.index, *interval) {
                        self.send(Record::Interval(Box::new(late)));
                    }
                }
                Ok(event @ Record::Event(_)) => self.send(event.at_node(0)),
                Ok(_) => {}
                Err(why) => {
                    let cause = format!("a record of agent {} is not readable: {why}", report.index);
                    self.event(EventKind::AgentRefused { agent: None, cause });
                }
            }
        }
    }

    fn look_for_lost(&mut self) {
        if self.bus_is_lost {
            return;
        }
        let lead = Arc::clone(&self.lead);
        let mut lost = Vec::new();
        for (index, agent) in lead.state().agents.iter_mut().enumerate() {
            let is_silent = agent.heard.elapsed() > LOST_AFTER && !agent.state.has_ended;
            if is_silent && !std::mem::replace(&mut agent.state.is_lost, true) {
                lost.push((index, untrusted::text(&agent.first.host)));
            }
        }
        for (agent, host) in lost {
            self.join.leave(agent);
            self.event(EventKind::AgentLost { agent, host });
        }
    }

    fn pass_on(&mut self) {
        for interval in self.join.take() {
            self.send(Record::Interval(Box::new(interval)));
        }
    }

    fn has_ended(&self) -> bool {
        let state = self.lead.state();
        let is_away = |Known { state, .. }: &Known| state.has_ended || state.is_lost || !state.has_begun;
        // A bus that is lost at the end is not waited for.
        state.is_over && (self.bus_is_lost || state.agents.iter().all(is_away))
    }

    fn event(&self, what: EventKind) {
        let now_ns = self.lead.state().turn.as_ref().map_or(0, |(_, clock)| clock.now_ns());
        self.send(Record::Event(Event::new(seconds(now_ns), what)));
    }

    fn send(&self, record: Record) {
        // The receiver is gone only while the session ends.
        drop(self.records.send(record));
    }
}
