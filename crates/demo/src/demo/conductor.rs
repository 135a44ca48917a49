//! Starts and stops the nodes of the built-in cluster. A separate thread carries out the simulated faults of the whole
//! cluster.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use super::cluster::{ClusterData, ClusterLayout, Member};
use crate::{
    clock::Clock,
    demo::{
        faults::{Fault, FaultKind, FaultScript},
        server::{self, Error, Handle, Options},
        state::StopSignal,
    },
};

/// The number of slots that move at the same time.
const MOVED_AT_ONCE: usize = 10;
/// How long the move of a slot lasts: 10 ms.
const ON_THE_MOVE: Duration = Duration::from_millis(10);
/// The time after which a replica replaces a failed primary: 1 s. In Redis, `cluster-node-timeout` is 15 s by default.
const NODE_TIMEOUT: Duration = Duration::from_secs(1);
/// The time from the replacement of a primary until its node starts again: 5 s.
const DOWN: Duration = Duration::from_secs(5);

/// The size of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// The number of primaries, at least 1.
    pub primaries: usize,
    /// The number of replicas of each primary.
    pub replicas: usize,
}

/// Starts a cluster. The first node listens on the address of the options. The other nodes listen on the ports that
/// follow the first node's port, or on free ports if these ports are taken.
///
/// # Errors
/// Fails if the faults do not fit the size of the cluster, or if a node does not start.
pub fn start_cluster(options: &Options, size: Size) -> Result<Handle, Error> {
    check(&options.faults, size)?;
    let shared = Arc::new(ClusterData::new(ClusterLayout::new(size.primaries, size.replicas)));
    let (of_all, of_nodes) = options.faults.iter().cloned().partition(|fault| fault.kind.is_of_cluster());
    let mut conductor =
        Conductor { shared, options: Options { faults: of_nodes, ..options.clone() }, nodes: Vec::new() };
    let mut addresses: Vec<SocketAddr> = Vec::new();
    for node in 0..size.primaries * (1 + size.replicas) {
        let next = |first: &SocketAddr| first.port().checked_add(node as u16).unwrap_or(0);
        let wanted = addresses.first().map_or(options.address.port(), next);
        let handle = match conductor.launch(node, wanted) {
            Err(Error::Taken(_)) if node > 0 => conductor.launch(node, 0)?,
            other => other?,
        };
        addresses.push(handle.address);
        conductor.shared.change().nodes[node].port = handle.address.port();
        conductor.nodes.push(Some(handle));
    }
    let stop = Arc::new(StopSignal::default());
    let thread = std::thread::Builder::new().name("demo-cluster".to_owned()).spawn({
        let stop = Arc::clone(&stop);
        let script = FaultScript::new(of_all, options.seed);
        move || conductor.run(script, &stop)
    })?;
    Ok(Handle { address: addresses[0], addresses, _unix_file: None, stop, waker: None, thread: Some(thread) })
}

/// Returns an error if one of the faults is not possible in a cluster of this size.
fn check(faults: &[Fault], size: Size) -> Result<(), Error> {
    let nodes = size.primaries * (1 + size.replicas);
    for fault in faults {
        if fault.node.is_some_and(|node| node > nodes) {
            return Err(Error::Unfit(format!(
                "the cluster has {nodes} nodes; name a node from 1 to {nodes}"
            )));
        }
        if matches!(fault.kind, FaultKind::Reshard(_)) && size.primaries == 1 {
            return Err(Error::Unfit("a reshard needs two primaries; give at least --nodes 2".to_owned()));
        }
    }
    Ok(())
}

/// The thread that owns the nodes.
struct Conductor {
    shared: Arc<ClusterData>,
    /// The options of all nodes, without the faults of the whole cluster.
    options: Options,
    /// The nodes. `None` means that a node is down.
    nodes: Vec<Option<Handle>>,
}

impl Conductor {
    fn launch(&self, node: usize, port: u16) -> Result<Handle, Error> {
        let mut options = self.options.clone();
        options.address.set_port(port);
        options.faults.retain(|fault| fault.node.is_none_or(|of| of == node + 1));
        // Random members and random faults differ from node to node.
        options.seed = options.seed.wrapping_add(node as u64);
        let shard = self.shared.layout().nodes[node].shard;
        server::launch(options, Some(Member { shared: Arc::clone(&self.shared), node, shard }))
    }

    /// Waits until a fault of the cluster is due, carries it out, and continues with the next fault.
    fn run(mut self, mut script: FaultScript, stop: &StopSignal) -> Result<(), Error> {
        let clock = Clock::start();
        let mut from = 0;
        while !stop.is_requested() {
            let due_ns = script.next_due_ns().unwrap_or(u64::MAX);
            stop.sleep(Duration::from_nanos(due_ns.saturating_sub(clock.now_ns())));
            let Some(fault) = script.take_due(clock.now_ns()) else { continue };
            match fault.kind {
                FaultKind::Reshard(slots) => {
                    self.reshard(slots, from, stop);
                    from = (from + 1) % self.shared.layout().primaries.len();
                }
                FaultKind::Failover => self.fail_over(fault.node.map_or(0, |node| node - 1), stop)?,
                _ => {}
            }
        }
        self.nodes.drain(..).flatten().try_for_each(Handle::stop)
    }

    /// Moves slots from a primary to the next primary.
    fn reshard(&self, slots: usize, from: usize, stop: &StopSignal) {
        let (to, slots) = {
            let layout = self.shared.layout();
            ((from + 1) % layout.primaries.len(), layout.slots(from).take(slots).collect::<Vec<_>>())
        };
        for some in slots.chunks(MOVED_AT_ONCE) {
            self.shared.begin_move(some, to);
            stop.sleep(ON_THE_MOVE);
            self.shared.finish_move(some, from, to);
            if stop.is_requested() {
                return;
            }
        }
    }

    /// Kills the primary of a node's shard. After the node timeout, the first replica of the killed primary takes over,
    /// and the killed node starts again later.
    fn fail_over(&mut self, node: usize, stop: &StopSignal) -> Result<(), Error> {
        let shard = self.shared.layout().nodes[node].shard;
        let killed = self.shared.layout().primaries[shard];
        let Some(handle) = self.nodes[killed].take() else { return Ok(()) };
        let port = handle.address.port();
        handle.stop()?;
        stop.sleep(NODE_TIMEOUT);
        {
            let mut layout = self.shared.change();
            layout.nodes[killed].has_failed = true;
            // During the wait, a replica may have taken over by CLUSTER FAILOVER.
            let heir = (0..layout.nodes.len()).find(|n| *n != killed && layout.nodes[*n].shard == shard);
            if let Some(heir) = heir.filter(|_| layout.is_primary(killed)) {
                layout.promote(heir);
            }
        }
        stop.sleep(DOWN);
        while !stop.is_requested() {
            match self.launch(killed, port) {
                // A client that tries to connect to this port may get the same port as its local port, and
                // hold the port for a moment.
                Err(Error::Taken(_)) => stop.sleep(ON_THE_MOVE),
                started => {
                    self.nodes[killed] = Some(started?);
                    self.shared.change().nodes[killed].has_failed = false;
                    break;
                }
            }
        }
        Ok(())
    }
}
