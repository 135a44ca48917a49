//! Finds servers that join or leave while a session runs. The topology lists the nodes of a cluster, and INFO
//! lists the replicas of a primary.

use std::{
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    time::{Duration, Instant},
};

use super::Commission;
use crate::{
    endpoint::{Address, Cluster, RelatedServers, Role, Target, Topology, neighbours},
    events::EventKind,
    session::Record,
};

/// The time between two queries of a cluster, and between two queries of servers with changing replicas.
const ASK_EVERY: Duration = Duration::from_secs(3);
/// The time between two queries of servers whose replicas do not change. The server counts these queries as commands of
/// other clients, so redyno sends few of them.
const ASK_RARELY: Duration = Duration::from_secs(60);
/// The timeout for connecting to a server. The same timeout applies to the server's reply.
const LIMIT: Duration = Duration::from_secs(1);

/// The largest number of nodes of a session.
const MOST_NODES: usize = 128;

/// A change of the nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NodeChange {
    /// The server at this address has joined.
    Joined(Address),
    /// The server at this address has joined, but the session already has the largest number of nodes. redyno reports
    /// only the first such server.
    Full(Address),
    /// This node is no longer a member of the cluster.
    Left(u16, Address),
    /// This node is a member of the cluster again.
    Back(u16, Address),
}

/// The source of the changes.
pub(super) enum NodeSource {
    /// No source: changes of the nodes are not followed.
    Nobody,
    /// A cluster with its last seen topology, and the time of the next query.
    Cluster { cluster: Arc<Cluster>, seen: Arc<Topology>, doubt: Instant },
    /// A primary and its replicas. A thread queries these servers when `changed` receives a message. The thread ends
    /// when `changed` is dropped.
    Servers { found: Receiver<Vec<Target>>, known: Vec<Address>, changed: Sender<()> },
}

impl NodeSource {
    /// Begins to follow the servers of a session.
    pub(super) fn begin(commission: &Commission) -> Self {
        // With --redact, only the named server is measured. In a comparison, only the two named servers are
        // measured.
        let is_followed = !commission.redacts && commission.others.is_empty();
        if let Some(cluster) = commission.clusters.get(&0).filter(|cluster| is_followed && !cluster.is_ring())
        {
            let (cluster, seen) = (Arc::clone(cluster), Arc::clone(&cluster.topology()));
            return Self::Cluster { cluster, seen, doubt: Instant::now() + ASK_EVERY };
        }
        if !commission.follows_replicas || commission.redacts {
            return Self::Nobody;
        }
        let ((found_up, found), (changed, changes)) = (channel(), channel::<()>());
        let target = commission.plan.target.clone();
        let ask = move || {
            // A replica may have joined before the first poll, which reports no change.
            let mut pause = ASK_EVERY;
            loop {
                let is_change = match changes.recv_timeout(pause) {
                    Err(RecvTimeoutError::Disconnected) => return,
                    received => received.is_ok(),
                };
                // After a change, or if the server does not answer now, the next query follows soon.
                let servers = neighbours(&target, LIMIT);
                pause = if servers.is_err() || is_change { ASK_EVERY } else { ASK_RARELY };
                if let Ok(RelatedServers::Servers(servers)) = servers
                    && found_up.send(servers).is_err()
                {
                    return;
                }
            }
        };
        let known = commission.targets().map(|target| target.address.clone()).collect();
        match std::thread::Builder::new().name("neighbours".to_owned()).spawn(ask) {
            Ok(_) => Self::Servers { found, known, changed },
            // The session works without this thread.
            Err(_) => Self::Nobody,
        }
    }

    /// Takes the next record. If replicas or roles have changed, redyno queries the servers at once.
    pub(super) fn push(&self, record: &Record) {
        if let (Self::Servers { changed, .. }, Record::Event(event)) = (self, record)
            && matches!(
                event.what,
                redyno_engine::any_of!(EventKind ReplicasChanged RoleChanged LinkTurned Restarted Failover)
            )
        {
            // If the thread has ended, changes are no longer followed.
            let _ = changed.send(());
        }
    }

    /// Returns the changes since the last call. `nodes` is the number of nodes in the session. Does not block.
    pub(super) fn news(&mut self, nodes: usize) -> Vec<NodeChange> {
        match self {
            Self::Nobody => Vec::new(),
            Self::Cluster { cluster, seen, doubt } => {
                if Instant::now() >= *doubt {
                    cluster.mark_stale();
                    *doubt = Instant::now() + ASK_EVERY;
                }
                let now = Arc::clone(&cluster.topology());
                let before = std::mem::replace(seen, Arc::clone(&now));
                if Arc::ptr_eq(&before, &now) { Vec::new() } else { differences(&before, &now, nodes) }
            }
            Self::Servers { found, known, .. } => {
                let found = found.try_iter().flatten().map(|target| target.address);
                let mut news = Vec::new();
                for address in found {
                    if !known.contains(&address) {
                        news.extend(match known.len() {
                            ..MOST_NODES => Some(NodeChange::Joined(address.clone())),
                            MOST_NODES => Some(NodeChange::Full(address.clone())),
                            _ => None,
                        });
                        known.push(address);
                    }
                }
                news
            }
        }
    }
}

/// Returns the changes between two topologies. A new node is reported when this node or a node with a higher number is
/// a member of the cluster. Before that, redyno knows the node only from a redirect.
fn differences(before: &Topology, now: &Topology, nodes: usize) -> Vec<NodeChange> {
    let is_member = |topology: &Topology, number: usize| {
        topology.nodes().nth(number).is_some_and(|(_, node)| node.role != Role::Outside)
    };
    let last =
        now.nodes().filter(|(_, node)| node.role != Role::Outside).map(|(number, _)| number.index()).last();
    let mut news = Vec::new();
    for (number, node) in now.nodes().map(|(number, node)| (number.index(), node)) {
        let address = || node.address.clone();
        match (is_member(before, number), node.role != Role::Outside) {
            _ if number >= MOST_NODES => {
                let is_first = number == MOST_NODES && before.nodes().count() <= MOST_NODES;
                news.extend(is_first.then(|| NodeChange::Full(address())));
            }
            _ if number >= nodes => {
                news.extend((Some(number) <= last).then(|| NodeChange::Joined(address())));
            }
            (true, false) => news.push(NodeChange::Left(number as u16, address())),
            (false, true) => news.push(NodeChange::Back(number as u16, address())),
            _ => {}
        }
    }
    news
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a topology in which the server at the first port is the primary of all slots, and the servers at the
    /// other ports are its replicas.
    fn topology(before: &Topology, ports: &[u16]) -> Topology {
        let nodes: String = ports.iter().map(|port| format!("*2\r\n$1\r\nh\r\n:{port}\r\n")).collect();
        let reply = format!("*1\r\n*{}\r\n:0\r\n:16383\r\n{nodes}", 2 + ports.len());
        before.read(reply.as_bytes(), &Address::default()).unwrap()
    }

    fn at(port: u16) -> Address {
        Address::Tcp { host: "h".to_owned(), port }
    }

    #[test]
    fn nodes_join_leave_and_come_back_with_their_numbers() {
        let first = topology(&Topology::default(), &[1, 2]);
        let mut second = first.clone();
        second.find_or_add(&at(9)).unwrap();
        assert_eq!(differences(&first, &second, 2), [], "a redirect alone makes no node");
        let third = topology(&second, &[2, 3]);
        let joined = [9, 3].map(|port| NodeChange::Joined(at(port)));
        assert_eq!(
            differences(&second, &third, 2),
            [vec![NodeChange::Left(0, at(1))], joined.into()].concat()
        );
        let fourth = topology(&third, &[1, 2, 3]);
        assert_eq!(differences(&third, &fourth, 4), [NodeChange::Back(0, at(1))]);
    }
}
