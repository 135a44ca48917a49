//! Searches for the server that replaces a failed primary. The failover probe tries one server after the
//! other until it gets a good reply.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    EVERY, FailoverPlan,
    bus::NodesReply,
    owners::{SuspectPrimary, key_of},
};
use crate::{
    clock::{Clock, seconds},
    endpoint::{Address, Cluster, Endpoint, NodeNumber, NodeOutage, PrimaryState, Talk, Target, talk},
    events::EventKind,
    probe::thread::StopFlag,
    protocol::Reply,
};

/// The time between two lookups of a host name: 40 ms. This time is longer than the time between other tries, because a
/// name server must answer each lookup.
const LOOK_UP_EVERY: Duration = Duration::from_millis(40);
/// The timeout of a connection, and of a reply: 100 ms. During this time, no other server is tried.
const LIMIT: Duration = Duration::from_millis(100);
/// After this time, a search slows down to one try per second: 60 s.
const PATIENCE: Duration = Duration::from_secs(60);
/// A refused request that was due shortly before redyno noticed a handover counts as part of the handover. The limit is
/// 10 s, in ns.
const RECENT_NS: u64 = 10_000_000_000;
/// The time within which the agents of a load report the end of an outage: 1 s. The agents report four times a second.
const REPORTED_WITHIN: Duration = Duration::from_secs(1);
/// The largest error of the outage times that an agent reports: 50 ms, in ns.
const AGENT_ERROR_NS: u64 = 50_000_000;
/// The longest accepted reply: 1 MiB. A reply to CLUSTER NODES with a thousand nodes fits into this length.
const LONGEST: usize = 1 << 20;
/// The client name of the probe's connections in CLIENT LIST.
const NAME: Option<&str> = Some("redyno-failover");

/// The repeated tries of a search, and their times.
struct Tries {
    clock: Clock,
    begun: Instant,
    every: Duration,
    /// The time when the last try without a good reply ended, in ns of the session's clock.
    failed_ns: u64,
}

impl Tries {
    fn begin(clock: Clock, every: Duration) -> Self {
        Self { clock, begun: Instant::now(), every, failed_ns: 0 }
    }

    /// Calls `attempt` again and again, until `attempt` returns a result or the thread must stop.
    fn until<T>(&mut self, stop: &StopFlag, mut attempt: impl FnMut() -> Option<T>) -> Option<T> {
        while !stop.is_asked() {
            let began = Instant::now();
            if let Some(found) = attempt() {
                return Some(found);
            }
            self.failed_ns = self.clock.now_ns();
            let is_long = began.duration_since(self.begun) > PATIENCE;
            stop.pause_until(began + if is_long { Duration::from_secs(1) } else { self.every });
        }
        None
    }

    /// Returns the length of an outage that ended at `end_ns`, and the possible error of this length. The length and
    /// the error are in seconds. The search itself got a good reply at `good_ns`.
    fn length_s(&self, outage: Option<NodeOutage>, (good_ns, end_ns): (u64, u64)) -> (f64, f64) {
        let Some(outage) = outage else { return (0.0, 0.0) };
        let seen_ns = good_ns.min(end_ns);
        let late_ns =
            if self.failed_ns > outage.since_ns { seen_ns.saturating_sub(self.failed_ns) } else { 0 };
        let length_ns = end_ns.saturating_sub(outage.since_ns);
        (seconds(length_ns), seconds(outage.since_ns.saturating_sub(outage.before_ns) + late_ns))
    }
}

/// Searches for the node that answers for the slots of a suspect. Returns this node, the time of its first good reply,
/// and the event. Returns `None` if the suspect itself answers again, or if the suspect's slots have moved to nodes
/// that were already primaries.
pub(super) fn for_slots(
    suspect: &SuspectPrimary,
    (plan, cluster): (&FailoverPlan, &Cluster),
    clock: Clock,
    stop: &StopFlag,
) -> Option<(NodeNumber, (u64, EventKind))> {
    let FailoverPlan { target, outages, .. } = plan;
    let mut question = (None, Vec::new());
    let mut talks: BTreeMap<NodeNumber, Talk> = BTreeMap::new();
    let at = |node: NodeNumber| target.at(cluster.topology().node(node).address.clone()).ok();
    let (mut turn, mut tries) = (0, Tries::begin(clock, EVERY));
    let found = tries.until(stop, || {
        cluster.mark_stale();
        let topology = Arc::clone(&cluster.topology());
        let Some(slot) = suspect.slot(&topology) else { return Some(None) };
        if question.0 != Some(slot) {
            question = (Some(slot), target.dialect.encode(&[b"EXISTS", key_of(slot).as_bytes()]));
        }
        let owner = topology.owner(slot).filter(|owner| *owner != suspect.node);
        let mut candidates: Vec<_> = owner.into_iter().collect();
        if candidates.is_empty() {
            let is_back = outages.of(suspect.node.index()).is_some_and(|outage| outage.back_ns.is_some());
            candidates.extend(is_back.then_some(suspect.node));
            candidates.extend(suspect.replicas());
        }
        turn += 1;
        let node = *candidates.get(turn % candidates.len().max(1))?;
        let mut talk =
            talks.remove(&node).or_else(|| Some(talk(&at(node)?, NAME, LIMIT).ok()?.bounded(LONGEST)))?;
        let mut is_good = false;
        talk.count(&[b"EXISTS"]);
        talk.ask(&question.1, 1, LIMIT, |bytes, reply| {
            // A user without permission to read gets this refusal from every node, so a refusal of the owner
            // counts as an answer.
            is_good = !matches!(reply, Reply::Error(_)) || owner.is_some() && bytes.starts_with(b"-NOPERM");
        })
        .ok()?;
        let good_ns = clock.now_ns();
        talks.insert(node, talk);
        is_good.then_some(Some((node, good_ns)))
    })?;
    let (node, good_ns) = found.filter(|(node, _)| *node != suspect.node)?;
    let [from, to] = [suspect.node, node].map(|node| cluster.topology().node(node).address.to_string());
    let ask = |node| {
        // Each question has its own connection, so that a late reply is never read as the reply to another question.
        let reply =
            talk(&at(node)?, NAME, LIMIT).ok()?.bounded(LONGEST).reply(&[b"CLUSTER", b"NODES"], LIMIT);
        reply.ok().map(|reply| NodesReply::read(&reply, &from))
    };
    let NodesReply { epoch, cause } = NodesReply::asked([node, suspect.node], ask, stop);
    let (outage, end_ns) = plan.with_load(suspect.outage, suspect.node.index(), good_ns, stop);
    let (length_s, error_s) = tries.length_s(outage, (good_ns, end_ns));
    let by = "cluster".to_owned();
    Some((node, (end_ns, EventKind::Failover { from, to, length_s, error_s, by, epoch, cause })))
}

impl FailoverPlan {
    /// Combines the outages that the ping probe and the load have measured on node number `node`. Returns the outage
    /// and the time of its end. The outage ends with the first good reply. If agents generate the load, the outage ends
    /// when all agents get good replies again.
    fn with_load(
        &self,
        own: Option<NodeOutage>,
        node: usize,
        good_ns: u64,
        stop: &StopFlag,
    ) -> (Option<NodeOutage>, u64) {
        if self.has_agents {
            stop.pause_until(Instant::now() + REPORTED_WITHIN);
        }
        let begins_ns = own.map_or(good_ns.saturating_sub(RECENT_NS), |outage| outage.before_ns);
        let begins_ns = begins_ns.saturating_sub(if self.has_agents { AGENT_ERROR_NS } else { 0 });
        let load = self.load_outages.of(node).filter(|load| load.since_ns >= begins_ns);
        let Some(load) = load else { return (own, good_ns) };
        let back_ns = load.back_ns.unwrap_or(good_ns);
        let end_ns = if self.has_agents { back_ns.max(good_ns) } else { back_ns.min(good_ns) };
        let outage = own.unwrap_or(load);
        (Some(NodeOutage { since_ns: outage.since_ns.min(load.since_ns), ..outage }), end_ns)
    }
}

/// The addresses of a server with a name, which is a host name or the name of a Sentinel service.
pub(super) struct NamedServer<'a> {
    pub(super) target: &'a Target,
    pub(super) found: Vec<SocketAddr>,
}

impl NamedServer<'_> {
    /// Looks up the name, and waits for the result for at most 1 s. Sentinels also report the `state` of the primary.
    pub(super) fn look_up(&self, state: &PrimaryState) -> Option<Vec<SocketAddr>> {
        let mut resolution = match &self.target.address {
            Address::Service(service) => {
                self.target.resolver.start(&service.named(self.target, LIMIT * 10, state).ok()?.primary)
            }
            _ => self.target.resolve(),
        };
        let found = resolution.as_mut().ok()?.wait(LIMIT * 10).ok()??;
        let address = |endpoint| if let Endpoint::Tcp(address) = endpoint { Some(address) } else { None };
        Some(found.into_iter().filter_map(address).collect())
    }

    /// Searches for the server that has the name after an outage. Returns the time of the server's first good
    /// reply, and the event. Returns `None` if the name leads to the same server as before.
    pub(super) fn search(
        &mut self,
        outage: NodeOutage,
        plan: &FailoverPlan,
        (clock, stop): (Clock, &StopFlag),
    ) -> Option<(u64, EventKind)> {
        let is_service = matches!(self.target.address, Address::Service(_));
        let mut tries = Tries::begin(clock, if is_service { EVERY } else { LOOK_UP_EVERY });
        let state = PrimaryState::default();
        let (new, good_ns) = tries.until(stop, || {
            let found = self.look_up(&state)?;
            let new = found.iter().find(|address| !self.found.contains(address)).copied();
            let address = new.or(found.first().copied())?;
            let (host, port) = (address.ip().to_string(), address.port());
            // The TLS settings stay the same, because the certificate is for the name.
            let target = Target { address: Address::Tcp { host, port }, ..self.target.clone() };
            let mut is_good = false;
            let mut asked = talk(&target, NAME, LIMIT).ok()?;
            let read = |_: &[u8], reply: Reply| is_good = !matches!(reply, Reply::Error(_));
            asked.count(&[target.dialect.words().ping.as_bytes()]);
            asked.ask(target.dialect.ping(), 1, LIMIT, read).ok()?;
            is_good.then(|| (new.map(|new| (new, found)), clock.now_ns()))
        })?;
        let (to, found) = new?;
        let from = self.found.first().map_or_else(String::new, ToString::to_string);
        self.found = found;
        let (by, epoch) = match &self.target.address {
            Address::Service(service) => {
                ("sentinel", service.named(self.target, LIMIT * 10, &state).ok().map(|named| named.epoch))
            }
            _ => ("name", None),
        };
        // The ping probe itself may have been faster, if the name had changed before.
        let good_ns = outage.back_ns.map_or(good_ns, |back_ns| back_ns.min(good_ns));
        let (outage, end_ns) = plan.with_load(Some(outage), 0, good_ns, stop);
        let (length_s, error_s) = tries.length_s(outage, (good_ns, end_ns));
        let (to, by) = (to.to_string(), by.to_owned());
        Some((end_ns, EventKind::Failover { from, to, length_s, error_s, by, epoch, cause: state.cause() }))
    }
}
