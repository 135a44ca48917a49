//! An agent of a fleet: a load engine on another machine that generates a share of a session's load. The agent reads
//! the session's orders from the bus (a Redis or Valkey server for messages). The agent writes intervals and events to
//! the bus.
//!
//! The agent ends its load after [`SILENCE`] without an order, and when the load's time is over, even if the bus is
//! lost. An agent never removes keys. The session removes them.

use std::{
    collections::VecDeque,
    sync::mpsc::Receiver,
    time::{Duration, Instant},
};

use super::{
    Permit,
    bus::{Bus, BusError, BusStream, FleetName},
    clock_offset::MEASURE_EVERY,
    follower::Follower,
    messages::{AgentReport, FleetOrder, RECORD, REPORT, VERSION, WAIT, other_version, read_order},
    order_reader::{OrderReader, OrdersRead},
    ran_for::ran_for,
};
use crate::{
    clock::unix_ns,
    endpoint::Target,
    load::usual_workers,
    session::Host,
    signals::Signal,
    units::{count_with_noun, grouped},
    workload::Share,
};

/// The agent ends its load after this time without an order. The session repeats its order twice a second.
const SILENCE: Duration = Duration::from_secs(4);
/// The time for which the agent tries to send its last reports, if the bus does not answer at the end.
const LAST_REPORTS: Duration = Duration::from_secs(30);
/// After this time without a session, the agent prints that it still waits. This time doubles after each such line.
const STILL_WAITS_AFTER: Duration = Duration::from_secs(10);
/// The time between two reports. The agent reports when an interval of the load ends, four times a second.
const REPORT_EVERY: Duration = Duration::from_millis(250);
/// The largest number of unsent reports. If there are more, the agent drops the oldest report. The session notices the
/// gap in the report numbers.
const MOST_WAITING: usize = 400;

/// The settings of an agent.
pub struct AgentPlan {
    /// The bus.
    pub bus: Target,
    /// The session's name.
    pub name: FleetName,
    /// The agent's number, and the number of agents.
    pub share: Share,
    /// The targets, rates, clients and commands that the agent permits.
    pub permit: Permit,
    /// Whether the agent waits for another session after the end of a session.
    pub stays: bool,
}

/// The reason why an agent ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentEnd {
    /// The session is over.
    Session,
    /// A signal arrived.
    Signal,
    /// The session was silent for too long.
    Silence,
}

/// Carries out the load of one session, or of several sessions in turn. `say` prints a line.
///
/// # Errors
/// Fails if the bus cannot be reached at the start.
pub fn run_agent(
    plan: &AgentPlan,
    signals: &Receiver<Signal>,
    mut say: impl FnMut(&str),
) -> Result<AgentEnd, BusError> {
    let mut agent = Agent::new(plan);
    agent.bus.time_ns()?;
    say(&format!("agent {} of {} waits for session {}", plan.share.index, plan.share.of, plan.name));
    loop {
        let end = agent.run_session(signals, &mut say);
        if end == AgentEnd::Signal || !plan.stays {
            return Ok(end);
        }
        say("waiting for the next session");
    }
}

struct Agent<'a> {
    plan: &'a AgentPlan,
    bus: Bus,
    orders: OrderReader,
    /// The time of the last order, by [`ran_for`].
    heard: Duration,
    report: AgentReport,
    /// Whether a report contains the last refusal. No order may remove the refusal before it is reported.
    is_refusal_reported: bool,
    reported: Option<Instant>,
    measured: Option<Instant>,
    /// The unsent reports, with their records and the number of their requests.
    waiting: VecDeque<(AgentReport, Vec<String>, u64)>,
    /// The number of answered requests of the run.
    requests: u64,
    /// The reports that the session will not get, and the requests in these reports.
    undelivered: (u64, u64),
    /// The reason why the bus did not accept the last report.
    trouble: String,
    /// The identifier of the run that has ended. Later orders of this run are ignored.
    over: String,
    running: Option<Follower>,
}

impl<'a> Agent<'a> {
    fn new(plan: &'a AgentPlan) -> Self {
        let report = first_report(plan, Host::this().name, rand::random());
        Self {
            plan,
            bus: Bus::new(&plan.bus, &plan.name),
            orders: OrderReader::begin(Bus::new(&plan.bus, &plan.name)),
            heard: ran_for(),
            report,
            is_refusal_reported: false,
            reported: None,
            measured: None,
            waiting: VecDeque::new(),
            requests: 0,
            undelivered: (0, 0),
            trouble: String::new(),
            over: String::new(),
            running: None,
        }
    }

    /// Carries out one session.
    fn run_session(&mut self, signals: &Receiver<Signal>, say: &mut impl FnMut(&str)) -> AgentEnd {
        let (since, mut says_after, mut trouble) = (Instant::now(), STILL_WAITS_AFTER, None);
        loop {
            if signals.try_recv().is_ok() {
                self.finish(signals, say);
                // Without a session the streams contain only repeated reports of waiting agents.
                if self.over.is_empty() && self.bus.last(BusStream::Orders).is_ok_and(|last| last.is_none()) {
                    drop(self.bus.remove());
                }
                return AgentEnd::Signal;
            }
            self.running.iter_mut().for_each(Follower::begin_coming);
            let first = self.orders.read.recv_timeout(WAIT);
            if self.running.as_mut().is_some_and(Follower::note_pause) {
                // The agent could not read orders while it was stopped. The agent reads the last order again; without
                // an order the session is over.
                self.heard = ran_for();
                self.orders.read_last();
            }
            // The time of an order that is carried out below does not count as silence. A refused order is none.
            let heard_before = self.heard;
            let reads: Vec<_> = first.into_iter().chain(self.orders.read.try_iter()).collect();
            for OrdersRead { heard, is_last, orders } in reads {
                trouble = orders.as_ref().err().map(ToString::to_string);
                let is_over = is_last && orders.as_ref().is_ok_and(Vec::is_empty) && self.running.is_some();
                let mut orders = orders.into_iter().flatten();
                if is_over || orders.any(|fields| self.obey(read_order(&fields), heard, say)) {
                    self.finish(signals, say);
                    return AgentEnd::Session;
                }
            }
            let is_silent = self.running.is_some() && self.heard == heard_before;
            if is_silent && ran_for().saturating_sub(self.heard) > SILENCE {
                say("no message from the session for 4 s: the load is ended");
                self.finish(signals, say);
                return AgentEnd::Silence;
            }
            if trouble.is_none() {
                self.measure();
            }
            if self.reported.is_none_or(|reported| reported.elapsed() >= REPORT_EVERY) {
                self.reported = Some(Instant::now());
                self.make_report(false);
                if trouble.is_none() {
                    self.send(say);
                }
            }
            if self.running.is_none() && since.elapsed() >= says_after {
                says_after *= 2;
                let why = trouble.as_ref().map(|trouble| format!("; {trouble}")).unwrap_or_default();
                say(&format!("still waits for session {}{why}", self.plan.name));
            }
        }
    }

    /// Carries out an order that was heard at this time. Returns whether the session is over.
    fn obey(
        &mut self,
        order: Result<FleetOrder, String>,
        heard: Duration,
        say: &mut impl FnMut(&str),
    ) -> bool {
        let obeyed = order.and_then(|order| {
            if order.terms.run == self.over {
                return Ok(false);
            }
            self.take(order, heard)
        });
        if let Err(refusal) = &obeyed {
            if *refusal != self.report.refusal {
                say(&format!("refused: {refusal}"));
            }
            (self.report.refusal, self.is_refusal_reported) = (refusal.clone(), false);
        } else if self.is_refusal_reported {
            self.report.refusal.clear();
        }
        obeyed.unwrap_or(false)
    }

    fn take(&mut self, order: FleetOrder, heard: Duration) -> Result<bool, String> {
        if order.version != VERSION {
            return Err(other_version(&order.version));
        }
        let Share { index, of } = self.plan.share;
        if order.processes.len() != of {
            return Err(format!(
                "the session has {} agents, but this agent expects {of}",
                order.processes.len()
            ));
        }
        if self.running.is_some() && order.terms.run != self.report.run {
            // The agent's own session was killed, and another has begun.
            return Ok(true);
        }
        if order.processes[index] != self.report.process {
            // The session had lost this agent, and another process now has the agent's number.
            return Ok(self.running.is_some());
        }
        if order.is_over && self.running.is_none() {
            // The session waits for the last report of every agent, even of an agent without a load.
            self.begin_reports(order.terms.run);
            return Ok(true);
        }
        if self.running.is_none() {
            self.running =
                Some(Follower::begin(&order, (&self.plan.permit, self.plan.share), &mut self.bus)?);
            self.begin_reports(order.terms.run.clone());
        }
        self.heard = heard;
        let Some(running) = &mut self.running else { return Ok(false) };
        running.time.begun_at(order.zero_ns, running.clock.now_ns());
        let followed = running.follow(order.turn, &self.plan.permit, self.plan.share);
        if order.is_over {
            running.await_end();
            return Ok(true);
        }
        followed.map(|()| false)
    }

    /// Begins the reports about a run, and sends the first report at once. Report numbers start at 0.
    fn begin_reports(&mut self, run: String) {
        let AgentReport { host, process, .. } = std::mem::take(&mut self.report);
        self.report = AgentReport { run, ..first_report(self.plan, host, process) };
        self.waiting.clear();
        (self.requests, self.undelivered) = (0, (0, 0));
        self.reported = None;
    }

    fn measure(&mut self) {
        let Some(running) = self.running.as_mut().filter(|running| running.coming.is_empty()) else { return };
        if self.measured.is_none_or(|measured| measured.elapsed() >= MEASURE_EVERY) {
            self.measured = Some(Instant::now());
            running.time.measure(&mut self.bus, running.clock);
            running.correct();
        }
    }

    fn make_report(&mut self, is_last: bool) {
        let (mut lines, mut requests) = (Vec::new(), 0);
        if let Some(running) = &mut self.running {
            (lines, requests) = running.take_lines();
            let (generation, is_done) = running.load.progress();
            (self.report.nodes, self.report.outages) = (running.nodes(), running.outages());
            self.report.closed_tick = running.closed_tick;
            let (offset_ns, error_ns) = running.time.offset.offset().unwrap_or_default();
            let bus_ns = running.clock.now_ns().saturating_add_signed(offset_ns);
            (self.report.offset_ns, self.report.error_ns) = (unix_ns().wrapping_sub(bus_ns) as i64, error_ns);
            (self.report.generation, self.report.is_done) = (generation, is_done);
        }
        self.report.is_last = is_last;
        if self.waiting.len() == MOST_WAITING {
            self.drop_report();
        }
        self.requests += requests;
        self.waiting.push_back((self.report.clone(), lines, requests));
        self.is_refusal_reported = true;
        self.report.number += 1;
    }

    /// Sends the unsent reports until the bus refuses one. Prints each new reason for a refusal once.
    fn send(&mut self, say: &mut impl FnMut(&str)) {
        while let Some((report, lines, _)) = self.waiting.front() {
            let head = serde_json::to_vec(report).unwrap_or_default();
            let mut fields: Vec<(&str, &[u8])> = vec![(REPORT, &head)];
            fields.extend(lines.iter().map(|line| (RECORD, line.as_bytes())));
            if let Err(error) = self.bus.send(BusStream::Reports, &fields) {
                let trouble = error.to_string();
                if trouble != self.trouble {
                    say(&trouble);
                }
                self.trouble = trouble;
                return;
            }
            self.trouble.clear();
            self.waiting.pop_front();
        }
    }

    /// Drops the oldest unsent report, and counts its requests.
    fn drop_report(&mut self) {
        let dropped = self.waiting.pop_front();
        self.undelivered.1 += dropped.map_or(0, |(_, _, requests)| requests);
        self.undelivered.0 += 1;
    }

    /// Ends the load, and sends the last reports. Prints how many requests the session does not have.
    fn finish(&mut self, signals: &Receiver<Signal>, say: &mut impl FnMut(&str)) {
        let mut deadline = Instant::now();
        if let Some(running) = &mut self.running {
            running.load.end();
        }
        if !self.report.run.is_empty() {
            self.over.clone_from(&self.report.run);
            deadline += LAST_REPORTS;
        }
        self.report.refusal.clear();
        self.make_report(true);
        self.send(say);
        while !self.waiting.is_empty() && Instant::now() < deadline && signals.try_recv().is_err() {
            std::thread::sleep(WAIT);
            self.send(say);
        }
        while self.running.is_some() && !self.waiting.is_empty() {
            self.drop_report();
        }
        let (reports, requests) = std::mem::take(&mut self.undelivered);
        if reports > 0 {
            let reports = count_with_noun(reports, "report");
            say(&format!(
                "the session does not have {} of {} of this agent, in {reports} that the bus did not confirm",
                grouped(requests),
                count_with_noun(self.requests, "request")
            ));
        }
        self.running = None;
        self.report.run.clear();
    }
}

/// Returns the report of an agent that runs on this machine and waits for a session.
fn first_report(plan: &AgentPlan, host: String, process: u32) -> AgentReport {
    let (version, Share { index, of }, most_clients) =
        (VERSION.to_owned(), plan.share, plan.permit.most_clients);
    let threads = usual_workers();
    AgentReport { version, index, of, host, process, most_clients, threads, ..AgentReport::default() }
}
