//! Runs an agent's share of a session's load, according to the orders of the session.

use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    LoadLayout, Permit, Terms,
    bus::{Bus, BusError},
    clock_offset::{ClockOffset, SessionTime},
    messages::FleetOrder,
};
use crate::{
    clock::{Clock, SECOND_NS, seconds},
    endpoint::{Cluster, NodeOutage, ReachError, Target, reach},
    knobs::Knobs,
    load::{
        AgentPhase, AgentSetting, ClusterPlan, Fleet, Load, LoadPlan, MOST_THREADS, RequestLimit,
        most_connections,
    },
    session::{Lean, Numbering, PauseWatch, Record, Segment, Sink, TargetRecords},
    workload::{KeyNames, Share},
};

/// The timeout for connecting to a node. The same timeout applies to the reply in which the node lists its
/// cluster.
const FIND_LIMIT: Duration = Duration::from_secs(1);
/// The longest accepted time from the order of a setting until the setting takes effect. A slow bus needs some seconds
/// to reach all agents.
const LONGEST_LEAD_NS: u64 = 10 * SECOND_NS;
/// The time before a setting takes effect in which the agent only waits for this moment. The agent adds the time to
/// send a report, which is a round trip of the bus (twice the possible error of the clock).
const SOON_NS: u64 = 150_000_000;
/// The longest time that the agent only waits.
const MOST_WAIT_NS: u64 = 3 * SECOND_NS;
/// The time for which the agent still does nothing else after a setting takes effect, so that the first requests are on
/// time.
const CALM_NS: u64 = 20_000_000;
/// The longest wait for the end of the load.
const END_LIMIT_NS: u64 = 3 * SECOND_NS;

/// An agent's part in a running session.
pub(super) struct Follower {
    pub(super) clock: Clock,
    pub(super) time: SessionTime,
    pub(super) load: Load,
    records: TargetRecords,
    pauses: PauseWatch,
    names: KeyNames,
    target: Target,
    /// The servers that share the load, if there are several.
    cluster: Option<Arc<Cluster>>,
    /// The setting in effect, in times of the session.
    in_force: Option<AgentSetting>,
    /// The settings that take effect soon, and the agent's share of each.
    pub(super) coming: VecDeque<(AgentSetting, Share)>,
    /// The last setting. If this agent refused the setting, the reason is included.
    turn: Option<(AgentSetting, Result<(), String>)>,
    /// The number of workers.
    threads: usize,
    pub(super) closed_tick: u64,
}

impl Follower {
    /// Begins an agent's part in the session of an order, with the load off.
    ///
    /// # Errors
    /// Fails if the agent does not permit the load, if the bus or a server does not answer, or if the load
    /// cannot be started. The error is one line.
    pub(super) fn begin(
        order: &FleetOrder,
        (permit, share): (&Permit, Share),
        bus: &mut Bus,
    ) -> Result<Self, String> {
        let Terms { layout, read_from, .. } = &order.terms;
        let targets = permit.targets(&order.terms)?;
        let target = targets.first().ok_or("the session's message names no target")?.clone();
        let names = permit.names(&order.terms)?;
        if !(1..=MOST_THREADS).contains(&order.terms.threads) {
            return Err(format!("{} worker threads are not possible", order.terms.threads));
        }
        let broken = |error: BusError| error.to_string();
        let asked = Instant::now();
        let bus_ns = bus.time_ns().map_err(broken)?.saturating_sub(order.zero_ns);
        // The bus answered half a round trip ago.
        let clock = Clock::started_ago(Duration::from_nanos(bus_ns) + asked.elapsed() / 2)
            .ok_or("the session began before this machine was booted")?;
        let mut axis = ClockOffset::default();
        for _ in 0..5 {
            axis.measure(bus, clock).map_err(broken)?;
        }
        let cluster = find_cluster(&targets, *layout)?.map(Arc::new);
        let limit = || most_connections(order.terms.threads, 1).saturating_mul(share.of);
        let most = order.terms.max_connections.map_or_else(limit, |most| most as usize);
        let plan = LoadPlan {
            target: target.clone(),
            threads: order.terms.threads,
            seed: order.terms.seed,
            names: names.clone(),
            timeout: order.terms.timeout,
            requests: order.terms.requests.map(RequestLimit::Shared),
            cluster: cluster
                .clone()
                .map(|cluster| ClusterPlan { read_from: *read_from, ..ClusterPlan::new(cluster, most) }),
            fleet: Fleet::Agent(share),
            ..LoadPlan::default()
        };
        permit.check(&order.turn.knobs, &names, &target, (share, order.terms.threads))?;
        let knobs = Knobs { load: false, ..order.turn.knobs.clone() };
        let (load, output) =
            Load::start(&plan, knobs.clone(), None, clock).map_err(|error| error.to_string())?;
        let mut records =
            TargetRecords::of_load(clock, output, cluster.clone().map(|it| (Numbering::OF_CLUSTER, it)));
        records.begin_segment(Segment::new(0.0, 0, knobs));
        let (time, threads) = (SessionTime::new(axis, order.zero_ns), order.terms.threads);
        Ok(Self {
            clock,
            time,
            load,
            records,
            names,
            target,
            cluster,
            in_force: None,
            coming: VecDeque::new(),
            turn: None,
            threads,
            pauses: PauseWatch::begin(clock.now_ns()),
            closed_tick: 0,
        })
    }

    /// Returns the nodes of the cluster as URIs.
    pub(super) fn nodes(&self) -> Vec<String> {
        let topology = self.cluster.as_ref().map(|cluster| cluster.topology());
        let nodes = topology.iter().flat_map(|topology| topology.nodes());
        nodes.map(|(_, node)| node.address.uri(self.target.dialect)).collect()
    }

    /// Returns the last outage of each node, in times of the session.
    pub(super) fn outages(&self) -> Vec<Option<NodeOutage>> {
        let correction_ns = self.time.correction_ns();
        let outages = self.load.outages().all().into_iter();
        outages.map(|outage| outage.map(|outage| outage.later_by(correction_ns))).collect()
    }

    /// Applies a setting if it is new. If the setting is not permitted, the load is switched off and the reason is
    /// returned.
    pub(super) fn follow(&mut self, turn: AgentSetting, permit: &Permit, share: Share) -> Result<(), String> {
        let now = self.load.last_change().segment;
        if turn.generation < now {
            return Err(format!(
                "setting {} of the session arrived late: setting {now} is already in force",
                turn.generation
            ));
        }
        if let Some((last, followed)) = &self.turn
            && *last == turn
        {
            return followed.clone();
        }
        let checked = permit.check(&turn.knobs, &self.names, &self.target, (share, self.threads));
        let permitted = if checked.is_ok() { turn.clone() } else { self.without_load(&turn) };
        let now_ns = self.clock.now_ns().saturating_add_signed(self.time.correction_ns());
        if turn.since_ns > now_ns + LONGEST_LEAD_NS {
            return Err("the setting begins more than ten seconds from now".to_owned());
        }
        self.coming.push_back((permitted, share));
        self.begin_coming();
        self.turn = Some((turn, checked.clone()));
        checked
    }

    /// Applies each coming setting if the agent has no time for other work before. The bus may be slow, and other work
    /// must not delay the setting.
    pub(super) fn begin_coming(&mut self) {
        let (_, error_ns) = self.time.offset.offset().unwrap_or_default();
        let correction_ns = self.time.correction_ns();
        while let Some((turn, share)) = self.coming.front() {
            let own = turn.clone().later_by(-correction_ns);
            let soon_ns = self.clock.now_ns() + SOON_NS + 4 * error_ns;
            if own.since_ns > soon_ns {
                return;
            }
            let is_new = own.generation > self.load.last_change().segment;
            self.load.follow(&own, -correction_ns);
            if is_new {
                // The segment has only the number of the agent's own clients, because lost connections are
                // compared with this number.
                let clients = share.part(own.knobs.clients.into()) as u32;
                let knobs = Knobs { clients, ..own.knobs };
                self.records.begin_segment(Segment::new(seconds(own.since_ns), own.generation, knobs));
            }
            self.in_force = self.coming.pop_front().map(|(turn, _)| turn);
            // The workers begin by their own timers.
            let wait_ns = (own.since_ns + CALM_NS).saturating_sub(self.clock.now_ns()).min(MOST_WAIT_NS);
            std::thread::sleep(Duration::from_nanos(wait_ns));
        }
    }

    /// Converts the times of the setting in effect again, because the clocks of the agent and of the bus drift apart.
    pub(super) fn correct(&mut self) {
        let correction_ns = self.time.correction_ns();
        let own = self.in_force.clone().map(|turn| turn.later_by(-correction_ns));
        if let Some(own) = own.filter(|own| own.since_ns != self.load.last_change().since_ns) {
            self.load.follow(&own, -correction_ns);
        }
    }

    /// Returns a setting with the load switched off, which replaces `refused`.
    fn without_load(&self, refused: &AgentSetting) -> AgentSetting {
        let last = self.turn.as_ref().map(|(turn, _)| turn.knobs.clone());
        let knobs = Knobs { load: false, ..last.unwrap_or_default() };
        let phase = AgentPhase::Load { is_measured: false, until_ns: u64::MAX };
        AgentSetting { knobs, phase, ..refused.clone() }
    }

    /// Reports a pause if the process was stopped and has continued. Returns whether there was such a pause.
    pub(super) fn note_pause(&mut self) -> bool {
        let pause = self.pauses.look(self.clock.now_ns());
        if let Some(pause) = pause {
            self.records.pause(pause);
            self.records.report_pause(pause);
        }
        pause.is_some()
    }

    /// Waits until the load of the last setting has ended, but at most three seconds.
    pub(super) fn await_end(&mut self) {
        let since_ns = self.clock.now_ns();
        while self.clock.now_ns() < since_ns + END_LIMIT_NS {
            self.begin_coming();
            if self.coming.is_empty() && self.load.is_over() {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Returns the new intervals and events as JSON lines, with times of the session, and the number of answered
    /// requests.
    pub(super) fn take_lines(&mut self) -> (Vec<String>, u64) {
        let correction_ns = self.time.correction_ns();
        let shift = |t_s: &mut f64| *t_s = (*t_s + correction_ns as f64 / SECOND_NS as f64).max(0.0);
        let ticks = self.time.correction_ticks();
        let (mut lines, mut requests) = (Vec::new(), 0);
        for mut record in self.records.take() {
            match &mut record {
                Record::Interval(interval) => {
                    requests += interval.ops + interval.errors.values().sum::<u64>();
                    shift(&mut interval.t_s);
                    interval.tick = interval.tick.saturating_add_signed(ticks);
                }
                Record::Event(event) => shift(&mut event.t_s),
                _ => continue,
            }
            lines.extend(Lean.push(&record));
        }
        self.closed_tick = self.records.complete_tick().saturating_add_signed(ticks);
        (lines, requests)
    }
}

/// Returns the servers that share the load, if there are several. The first node that answers names the other nodes of
/// its cluster.
fn find_cluster(targets: &[Target], layout: LoadLayout) -> Result<Option<Cluster>, String> {
    let find = |target: &Target| match layout {
        LoadLayout::Copies => Cluster::of_replication(target, FIND_LIMIT),
        _ => Cluster::find(target, FIND_LIMIT),
    };
    match layout {
        LoadLayout::Server => return check_credentials(targets).map(|()| None),
        LoadLayout::Ring => {
            check_credentials(targets)?;
            return Cluster::of_ring(targets).map(Some).map_err(|error| error.to_string());
        }
        LoadLayout::Cluster | LoadLayout::Copies => {}
    }
    let mut failure = String::new();
    for target in targets {
        match find(target) {
            Ok(cluster) => return Ok(Some(cluster)),
            Err(error) => failure = error.to_string(),
        }
    }
    Err(failure)
}

/// Checks that the servers accept the credentials of this agent. A server that does not answer may answer later.
///
/// # Errors
/// Fails if a server refuses the credentials. The error is one line.
fn check_credentials(targets: &[Target]) -> Result<(), String> {
    use ReachError::{PasswordNeeded, PasswordNotAsked, WrongPassword};
    let mut errors = targets.iter().filter_map(|target| reach(target, FIND_LIMIT).err());
    let refused =
        errors.find(|it| matches!(it, PasswordNeeded(_) | PasswordNotAsked(_) | WrongPassword { .. }));
    refused.map_or(Ok(()), |error| Err(error.to_string()))
}
