//! Keeps the topology of a cluster (its nodes and slots) up to date. A thread requests the topology from one
//! node at the start, and again whenever the topology may be outdated. Load workers read the last known
//! topology without a lock.
//!
//! ```text
//! MOVED, a lost connection, a slot without owner ──► stale ──► CLUSTER SLOTS of any node that answers ──► Topology
//! ```
//! The time between two requests for the topology is at least 100 ms and a random time. A thousand simultaneous
//! redirects therefore cause a single request.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use arc_swap::{ArcSwap, Guard};
use parking_lot::{Condvar, Mutex};
use rand::RngExt;
use thiserror::Error;

use super::{
    Address, NodeNumber, NodeOutages, Placement, ReachError, RingError, Role, Talk, Target, TlsError,
    Topology, TopologyError, ring, talk,
};
use crate::{clock::SECOND_NS, protocol::RespValue, untrusted};

/// The shortest time between two requests for the topology: 100 ms.
const GAP: Duration = Duration::from_millis(100);
/// The longest random time that is added to [`GAP`]. With the random time, several load generators do not send the
/// request at the same time.
const JITTER: Duration = Duration::from_millis(25);
/// How often redyno asks a primary outside a cluster for its replicas: every 3 s.
const ASK_EVERY: Duration = Duration::from_secs(3);
/// The longest wait for a node's connection or reply, before redyno tries the next node: 1 s.
const LIMIT: Duration = Duration::from_secs(1);
/// The longest accepted reply: 16 MiB. A reply with 16 384 ranges of one slot each, and two replicas per range, has
/// about 6 MB.
pub(super) const LONGEST: usize = 16 << 20;
/// The client name of the topology connections in CLIENT LIST.
pub(super) const CLIENT_NAME: Option<&str> = Some("redyno-topology");
/// The command that requests the topology.
const SLOTS: [&[u8]; 2] = [b"CLUSTER", b"SLOTS"];
/// The command that requests the replicas of a primary outside a cluster.
const REPLICATION: [&[u8]; 2] = [b"INFO", b"replication"];

/// A cluster, and its last known topology. Dropping the cluster ends the thread that updates the topology.
#[derive(Debug)]
pub struct Cluster {
    shared: Arc<ClusterFollower>,
    /// The last outage of each node. An outage begins with the first refused or lost request of the load. The outage
    /// ends when requests for the node's slots succeed again. When a slot moves, many clients may get a failure one
    /// after the other. All these failures together are one outage.
    pub load_outages: NodeOutages,
}

#[derive(Debug)]
struct ClusterFollower {
    /// The node that was given by the user, with the credentials for all nodes.
    target: Target,
    topology: ArcSwap<Topology>,
    /// Whether the topology may be outdated.
    is_stale: AtomicBool,
    /// Whether the cluster was dropped, so that the thread must end.
    is_over: Mutex<bool>,
    wakes: Condvar,
}

/// The reason why the topology of a cluster is unknown.
#[derive(Debug, Error)]
pub enum ClusterError {
    /// The node cannot be reached.
    #[error(transparent)]
    Reach(#[from] ReachError),
    /// The node's reply is not a topology.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// No slot has an owner.
    #[error(
        "no slot of this cluster has an owner, so the cluster can store no key; assign slots (CLUSTER ADDSLOTSRANGE 0 16383)"
    )]
    NoOwners,
    /// TLS cannot be used for the address of a node.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The system cannot start a thread.
    #[error("the thread that follows the cluster cannot start: {0}")]
    Thread(#[from] std::io::Error),
}

impl Cluster {
    /// Requests the topology of a cluster from its node at `target`. From then on, keeps the topology up to date. The
    /// node at `target` gets the number 0. Blocks for at most four times `limit`.
    ///
    /// # Errors
    /// Fails if the node's topology has no slot with an owner.
    pub fn find(target: &Target, limit: Duration) -> Result<Self, ClusterError> {
        let mut talk = bounded(target, limit)?;
        let reply = talk.reply(&[b"CLUSTER", b"MYID"], limit)?;
        // If the node refuses to report its identifier, the node is recognised by its address.
        let id = RespValue::read(&reply).and_then(|reply| reply.text().map(untrusted::bytes));
        let reply = talk.reply(&SLOTS, limit)?;
        let topology = Topology::first(&reply, &target.address, &id.unwrap_or_default())?;
        if topology.primaries().next().is_none() {
            return Err(ClusterError::NoOwners);
        }
        Self::followed(target, topology)
    }

    /// Requests the list of replicas from the primary at `target`, outside a cluster. From then on, keeps the list up
    /// to date. Blocks for at most twice `limit`.
    ///
    /// # Errors
    /// Fails if the server does not reply, or if it is not a primary.
    pub fn of_replication(target: &Target, limit: Duration) -> Result<Self, ClusterError> {
        let reply = bounded(target, limit)?.reply(&REPLICATION, limit)?;
        Self::followed(target, Topology::of_replication(&reply, &target.address)?)
    }

    fn followed(target: &Target, topology: Topology) -> Result<Self, ClusterError> {
        let shared = Arc::new(ClusterFollower::new(target.clone(), topology));
        let follower = Arc::clone(&shared);
        std::thread::Builder::new().name("topology".to_owned()).spawn(move || follower.follow())?;
        Ok(Self { shared, load_outages: NodeOutages::apart(SECOND_NS) })
    }

    /// Returns a cluster with a fixed topology. The nodes of the cluster are several servers that store keys by
    /// consistent hash. The credentials of the first server are used for all servers.
    ///
    /// # Errors
    /// Fails if the servers cannot share a load.
    pub fn of_ring(servers: &[Target]) -> Result<Self, RingError> {
        ring::check(servers)?;
        let topology = Topology::of_ring(servers.iter().map(|server| server.address.clone()));
        Ok(Self::fixed(&servers[0], topology))
    }

    /// Returns one server as a cluster with a fixed topology.
    pub fn of_one(server: &Target) -> Self {
        Self::fixed(server, Topology::of_one(&server.address))
    }

    fn fixed(target: &Target, topology: Topology) -> Self {
        let shared = Arc::new(ClusterFollower::new(target.clone(), topology));
        Self { shared, load_outages: NodeOutages::apart(SECOND_NS) }
    }

    /// Returns whether the nodes are independent servers that store keys by consistent hash, and not the nodes of a
    /// real cluster.
    pub fn is_ring(&self) -> bool {
        matches!(self.topology().placement(), Placement::Ring(_))
    }

    /// Returns whether the nodes are a primary outside a cluster and its replicas.
    pub fn is_replication(&self) -> bool {
        *self.topology().placement() == Placement::Replication
    }

    /// Returns the last known topology, without a lock.
    #[inline]
    pub fn topology(&self) -> Guard<Arc<Topology>> {
        self.shared.topology.load()
    }

    /// Records that the topology may be outdated. The topology is then requested again. Returns at once.
    pub fn mark_stale(&self) {
        if !self.shared.is_stale.swap(true, Ordering::AcqRel) {
            // The thread holds this lock while it decides whether to sleep, so the thread misses no report.
            drop(self.shared.is_over.lock());
            self.shared.wakes.notify_one();
        }
    }

    /// Returns the number of the node at `address`. An unknown node is added. A redirect can name a new node before the
    /// topology names it.
    ///
    /// # Errors
    /// Fails if there are too many addresses.
    pub fn find_or_add(&self, address: &Address) -> Result<NodeNumber, TopologyError> {
        if let Some(known) = self.topology().find(address) {
            return Ok(known);
        }
        let mut met = Ok(None);
        self.shared.topology.rcu(|topology| {
            let mut next = Topology::clone(topology);
            met = next.find_or_add(address).map(Some);
            next
        });
        met.map(|number| number.expect("the update ran at least once"))
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        *self.shared.is_over.lock() = true;
        self.shared.wakes.notify_one();
    }
}

impl ClusterFollower {
    fn new(target: Target, topology: Topology) -> Self {
        Self {
            target,
            topology: ArcSwap::from_pointee(topology),
            is_stale: AtomicBool::new(false),
            is_over: Mutex::new(false),
            wakes: Condvar::new(),
        }
    }

    /// Renews the topology whenever it may be outdated, until the cluster is dropped.
    fn follow(&self) {
        let mut friend = None;
        while self.await_stale() {
            let asked = Instant::now();
            if self.renew(&mut friend).is_err() {
                // Without a reply, the topology may still be outdated.
                self.is_stale.store(true, Ordering::Release);
            }
            let pause = GAP + rand::rng().random_range(Duration::ZERO..=JITTER);
            if !self.sleep_until(asked + pause) {
                return;
            }
        }
    }

    /// Waits until the topology may be outdated. Outside a cluster, the wait ends after 3 s at the latest, because
    /// nothing reports a replica that has come back. Returns false if the cluster was dropped.
    fn await_stale(&self) -> bool {
        let is_calm = |is_over: &mut bool| !*is_over && !self.is_stale.load(Ordering::Acquire);
        let mut is_over = self.is_over.lock();
        if *self.topology.load().placement() == Placement::Replication {
            self.wakes.wait_while_for(&mut is_over, is_calm, ASK_EVERY);
        } else {
            self.wakes.wait_while(&mut is_over, is_calm);
        }
        !*is_over
    }

    /// Sleeps until `until`. Returns false if the cluster was dropped before this time.
    fn sleep_until(&self, until: Instant) -> bool {
        let mut is_over = self.is_over.lock();
        self.wakes.wait_while_until(&mut is_over, |is_over| !*is_over, until);
        !*is_over
    }

    /// Requests the topology. Asks the node that replied last, then all other nodes, and finally the node that the user
    /// named.
    fn renew(&self, friend: &mut Option<(Target, Talk)>) -> Result<(), ClusterError> {
        if let Some((target, mut talk)) = friend.take()
            && self.ask_and_publish(&target, &mut talk).is_ok()
        {
            *friend = Some((target, talk));
            return Ok(());
        }
        let topology = self.topology.load_full();
        // Outside a cluster, only the primary names the replicas.
        let asks_all = *topology.placement() != Placement::Replication;
        let members = topology.nodes().filter(|(_, node)| asks_all && node.role != Role::Outside);
        let members = members.map(|(_, node)| self.target.at(node.address.clone()));
        let mut failure = None;
        for target in members.chain([Ok(self.target.clone())]) {
            let target = target?;
            let asked = bounded(&target, LIMIT).map_err(ClusterError::from).and_then(|mut talk| {
                self.ask_and_publish(&target, &mut talk)?;
                Ok(talk)
            });
            match asked {
                Ok(talk) => {
                    *friend = Some((target, talk));
                    return Ok(());
                }
                Err(error) => failure = Some(error),
            }
            if *self.is_over.lock() {
                break;
            }
        }
        failure.map_or(Ok(()), Err)
    }

    fn ask_and_publish(&self, target: &Target, talk: &mut Talk) -> Result<(), ClusterError> {
        // A report that arrives from now on causes another request.
        self.is_stale.store(false, Ordering::Release);
        let mut now = self.topology.load_full();
        let mut next = ask(talk, target, &now)?;
        if next.primaries().next().is_none() {
            return Err(ClusterError::NoOwners);
        }
        loop {
            let before = self.topology.compare_and_swap(&now, Arc::new(next.clone()));
            if Arc::ptr_eq(&before, &now) {
                return Ok(());
            }
            // A worker has added a node meanwhile, and this node must keep its number.
            now = Guard::into_inner(before);
            next = ask(talk, target, &now)?;
        }
    }
}

/// Connects to a node, with a limit on the length of replies.
fn bounded(target: &Target, limit: Duration) -> Result<Talk, ReachError> {
    Ok(talk(target, CLIENT_NAME, limit)?.bounded(LONGEST))
}

/// Requests the topology. The nodes of `before` keep their numbers.
fn ask(talk: &mut Talk, target: &Target, before: &Topology) -> Result<Topology, ClusterError> {
    let question = if *before.placement() == Placement::Replication { REPLICATION } else { SLOTS };
    Ok(before.read(&talk.reply(&question, LIMIT)?, &target.address)?)
}

#[cfg(test)]
mod tests;
