//! The thread of the failover probe. The thread finds primaries that do not answer, and searches for the
//! servers that replace them.

use std::{
    collections::BTreeSet,
    io,
    sync::{Arc, mpsc::Sender},
    thread::{Builder, Scope, scope},
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use super::{
    owners::{Owners, SuspectPrimary},
    search::{NamedServer, for_slots},
};
use crate::{
    clock::Clock,
    endpoint::{Cluster, NodeNumber, NodeOutages, PrimaryState, Target},
    events::EventKind,
    probe::{
        ProbeMessage,
        thread::{ProbeThread, StopFlag},
    },
};

/// The settings of the failover probe.
#[derive(Debug, Clone)]
pub struct FailoverPlan {
    /// The number of the server in the session. With a cluster, this is the number of the node.
    pub node: usize,
    /// The server that the user named.
    pub target: Target,
    /// The cluster of the server. With `None`, the probe watches the server itself. After a failover, the server's host
    /// name may lead to another address.
    pub cluster: Option<Arc<Cluster>>,
    /// The outages that the ping probes report, by node.
    pub outages: NodeOutages,
    /// The outages that the load reports, by node.
    pub load_outages: NodeOutages,
    /// Whether agents generate the load. The reports of agents arrive later. A failover lasts until all agents get good
    /// replies again.
    pub has_agents: bool,
}

/// How often the thread looks for suspects: every 50 ms.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// For a server with a host name, the search begins after an outage of this length: 30 ms.
const SHORTEST_NS: u64 = 30_000_000;

/// A running failover probe. Dropping this value ends the threads of the probe.
pub struct FailoverProbe {
    _thread: ProbeThread,
}

impl FailoverProbe {
    /// Starts the thread `failover`, which reports each failover to `messages`.
    ///
    /// # Errors
    /// Fails if the system cannot start a thread.
    pub fn start(plan: FailoverPlan, clock: Clock, messages: Sender<ProbeMessage>) -> io::Result<Self> {
        let body = move |stop: StopFlag| match &plan.cluster {
            Some(cluster) => {
                let watch =
                    ClusterWatch { plan: &plan, cluster, clock, stop: &stop, state: Mutex::default() };
                scope(|scope| watch.run(scope, &messages));
            }
            None => watch_name(&plan, clock, &stop, &messages),
        };
        Ok(Self { _thread: ProbeThread::start("failover", body)? })
    }
}

/// The state of the thread that watches a cluster.
struct ClusterWatch<'a> {
    plan: &'a FailoverPlan,
    cluster: &'a Arc<Cluster>,
    clock: Clock,
    stop: &'a StopFlag,
    state: Mutex<WatchState>,
}

#[derive(Default)]
struct WatchState {
    owners: Owners,
    /// The nodes whose successors are being searched for.
    searched: BTreeSet<NodeNumber>,
}

impl ClusterWatch<'_> {
    fn run<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>, messages: &'scope Sender<ProbeMessage>) {
        while !self.stop.is_asked() {
            let suspects =
                self.state.lock().owners.new_suspects(&self.cluster.topology(), &self.plan.outages);
            for suspect in suspects {
                let node = suspect.node;
                if !self.state.lock().searched.insert(node) {
                    continue;
                }
                let search = move || self.search(&suspect, messages);
                // Each search has its own thread, so that a node that hangs delays no other search. Without a thread
                // there is no event.
                if Builder::new().name("failover".to_owned()).spawn_scoped(scope, search).is_err() {
                    self.state.lock().searched.remove(&node);
                }
            }
            self.stop.pause_until(Instant::now() + LOOK_EVERY);
        }
    }

    fn search(&self, suspect: &SuspectPrimary, messages: &Sender<ProbeMessage>) {
        let found = for_slots(suspect, (self.plan, self.cluster), self.clock, self.stop);
        let mut state = self.state.lock();
        state.searched.remove(&suspect.node);
        found.iter().for_each(|(successor, _)| state.owners.found(suspect.node, *successor));
        drop(state);
        report(suspect.node.index(), found.map(|(_, event)| event), messages);
    }
}

/// Watches a server outside a cluster, until the thread must stop.
fn watch_name(plan: &FailoverPlan, clock: Clock, stop: &StopFlag, messages: &Sender<ProbeMessage>) {
    let mut named = NamedServer { target: &plan.target, found: Vec::new() };
    let mut done_ns = 0;
    while !stop.is_asked() {
        if named.found.is_empty() {
            named.found = named.look_up(&PrimaryState::default()).unwrap_or_default();
        }
        let is_new = |since_ns: u64| since_ns > done_ns && clock.now_ns() >= since_ns + SHORTEST_NS;
        if let Some(outage) =
            plan.outages.of(plan.node).filter(|outage| is_new(outage.since_ns) && !named.found.is_empty())
        {
            done_ns = outage.since_ns;
            report(plan.node, named.search(outage, plan, (clock, stop)), messages);
        }
        stop.pause_until(Instant::now() + LOOK_EVERY);
    }
}

fn report(node: usize, found: Option<(u64, EventKind)>, messages: &Sender<ProbeMessage>) {
    if let Some((at_ns, what)) = found {
        // The receiver is gone only while the session ends.
        drop(messages.send(ProbeMessage::Event { at_ns, node, what }));
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read, Write},
        net::{SocketAddr, TcpListener},
        sync::{
            atomic::{AtomicUsize, Ordering},
            mpsc::channel,
        },
    };

    use super::*;
    use crate::endpoint::{Address, Resolver};

    /// Starts a server that answers every command with PONG.
    fn server() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                let mut buffer = [0; 4096];
                while matches!(stream.read(&mut buffer), Ok(1..)) && stream.write_all(b"+PONG\r\n").is_ok() {}
            }
        });
        address
    }

    #[test]
    fn a_name_whose_address_changes_is_a_failover_from_the_first_lost_request_on() {
        let servers = [server(), server()];
        let (present, asked) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (place, count) = (Arc::clone(&present), Arc::clone(&asked));
        let resolver = Resolver::new(move |_, _| {
            let found = servers[place.load(Ordering::SeqCst)];
            count.fetch_add(1, Ordering::SeqCst);
            Ok(vec![found])
        });
        let address = Address::Tcp { host: "a.name".to_owned(), port: 1 };
        let target = Target { address, resolver, ..Target::default() };
        let (clock, outages, (sender, messages)) = (Clock::start(), NodeOutages::default(), channel());
        let load_outages = NodeOutages::default();
        let plan = FailoverPlan {
            node: 1,
            target,
            cluster: None,
            outages: outages.clone(),
            load_outages: load_outages.clone(),
            has_agents: false,
        };
        let probe = FailoverProbe::start(plan, clock, sender).unwrap();
        let wait_for_lookup = |n| {
            while asked.load(Ordering::SeqCst) < n {
                std::thread::yield_now();
            }
        };
        wait_for_lookup(1);
        // The same server answers again, so this is not a failover.
        let due_ns = clock.now_ns() + 1;
        outages.lost(1, due_ns);
        wait_for_lookup(2);
        outages.answered(1, due_ns + 1);
        present.store(1, Ordering::SeqCst);
        let due_ns = clock.now_ns();
        outages.lost(1, due_ns);
        outages.last_before(1, due_ns - 5_000_000);
        // A request of the load was due before the first PING that was lost.
        let due_ns = due_ns - 4_000_000;
        load_outages.lost(0, due_ns);
        let ProbeMessage::Event { at_ns, node: 1, what } =
            messages.recv_timeout(Duration::from_secs(60)).unwrap()
        else {
            panic!("an event")
        };
        let EventKind::Failover { from, to, length_s, error_s, by, .. } = what else { panic!("{what:?}") };
        assert_eq!((from, to, by.as_str()), (servers[0].to_string(), servers[1].to_string(), "name"));
        assert!(
            (length_s - (at_ns - due_ns) as f64 / 1e9).abs() < 1e-6 && error_s >= 1e-3,
            "{length_s} {error_s}"
        );
        drop(probe);
    }
}
