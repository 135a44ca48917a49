//! The description of a session before it begins: its targets, load, recordings and permissions.

use std::{
    collections::BTreeMap,
    num::NonZeroU32,
    path::PathBuf,
    sync::{Arc, mpsc::Receiver},
    time::Duration,
};

use super::Notice;
use crate::{
    endpoint::{Cluster, Node, NodeNumber, PingMedians, ReadFrom, Target},
    knobs::Knobs,
    load::{ClusterPlan, LoadPlan, most_clients, most_connections},
    server::Parameter,
    session::{LoadedServer, Numbering, Record, SessionWriter},
    workload::RunId,
};

/// The owner of the keys that a load writes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum KeyOwner {
    /// The keys are on the built-in server, and are lost when this server stops.
    #[default]
    OwnServers,
    /// The keys belong to this run. redyno lists the keys in its ledger and in a marker key. At the end, redyno removes
    /// the keys unless `kept` is set.
    Runs {
        /// Whether the keys stay on the server (`--keep`).
        kept: bool,
    },
    /// The keys belong to the user. redyno asks before it writes to these keys, and never removes them.
    Users {
        /// Whether redyno asks even when the server has no other keys, clients or replicas.
        asks_always: bool,
        /// Whether an earlier load wrote the keys. If these keys exist, the server's keys are no reason for a question.
        loaded: bool,
    },
}

/// The complete instructions for a session.
#[derive(Default)]
pub struct Commission {
    /// The first node's target and load, and the duration of the load.
    pub plan: LoadPlan,
    /// The targets of nodes 1, 2 and so on, which get the same load as the first node.
    pub others: Vec<Target>,
    /// The targets that are only watched. Watched targets never get load, and redyno writes nothing to them. The node
    /// numbers of these targets follow the numbers of `others`.
    pub watched: Vec<Target>,
    /// The clusters of the targets with load, by the node number of the target. If `others` is empty, the
    /// session uses the node numbers of the cluster.
    pub clusters: BTreeMap<u16, Arc<Cluster>>,
    /// Whether the session adds new replicas of a primary that is not in a cluster.
    pub follows_replicas: bool,
    /// The reason why no node may get load; `None` if nodes may get load.
    pub refuses_load: Option<String>,
    /// The only node that gets the load at first; `None` if all nodes get the load.
    pub carrier: Option<u16>,
    /// The load settings at the start.
    pub knobs: Knobs,
    /// The length of the warm-up at the beginning of the first segment.
    pub warmup: Option<Duration>,
    /// Whether private texts of servers are removed from all records (`--redact`).
    pub redacts: bool,
    /// Whether files and printed lines contain the arguments of commands in the slow log (`--with-arguments`). The
    /// screen always shows these arguments.
    pub keeps_arguments: bool,
    /// The name of the run.
    pub run: RunId,
    /// Parameters of the server that are set before the load begins, and restored at the end.
    pub config: Vec<(&'static Parameter, String)>,
    /// The load settings that an experiment will use later.
    pub settings: Vec<Knobs>,
    /// The owner of the keys that are written.
    pub keys: KeyOwner,
    /// Whether the command line allows writing (`--yes`).
    pub is_allowed: bool,
    /// Whether a screen can ask the user. Without a screen, the session does not begin if a question is necessary. The
    /// session ends if the server refuses the load.
    pub is_attended: bool,
    /// Whether the load continues after permanent refusals (`--keep-going`).
    pub keeps_going: bool,
    /// The largest number of clients that the system's limit of open files allows.
    pub most_clients: u32,
    /// The largest number of connections to all nodes of a cluster together (`--max-connections`). `None` means as many
    /// as the system allows.
    pub max_connections: Option<u32>,
    /// Whether the lag of replicas is measured (`--probe-lag`). The lag probe writes keys.
    pub probes_lag: bool,
    /// The number of agents that generate the load. `None` if this process generates the load.
    pub agents: Option<usize>,
    /// The kind of cluster nodes that get read-only requests (`--read-from`).
    pub read_from: ReadFrom,
    /// The median round trip of PING to each node.
    pub pings: PingMedians,
    /// The reason why the first node cannot be reached at the start. The node may be reachable later.
    pub unreachable: Option<String>,
    /// The file of the recording that begins with the session.
    pub recording: Option<SessionWriter>,
    /// The folder for recordings that begin later.
    pub recordings_in: PathBuf,
    /// The folder that contains the host's `proc` and `sys`, usually `/`. In a container, the folder may be a mount of
    /// the host's folders.
    pub host_root: PathBuf,
    /// The joined records of the agents, if a fleet generates the load.
    pub fleet: Option<Receiver<Record>>,
    /// The files of the exports.
    pub exports: Vec<SessionWriter>,
    /// The notices that the session's peers (screens and experiments) receive first.
    pub notices: Vec<Notice>,
}

impl Commission {
    /// Returns a commission for `plan` with default load settings, without a screen, a recording or a permission to
    /// write.
    pub fn new(plan: LoadPlan, run: RunId, keys: KeyOwner) -> Self {
        Self {
            most_clients: most_clients(plan.threads, 1),
            plan,
            run,
            keys,
            recordings_in: ".".into(),
            host_root: "/".into(),
            ..Self::default()
        }
    }

    /// Returns the targets of all nodes, in the order of the node numbers.
    pub fn targets(&self) -> impl Iterator<Item = &Target> {
        std::iter::once(&self.plan.target).chain(&self.others).chain(&self.watched)
    }

    /// Returns the cluster of the session, if the session's nodes are the nodes of one cluster.
    pub fn cluster(&self) -> Option<&Arc<Cluster>> {
        self.clusters.get(&0).filter(|cluster| self.others.is_empty() && !cluster.is_replication())
    }

    /// Returns the load engine's plan for the cluster of node `number`. Returns `None` if the node gets load as a
    /// single server.
    pub(super) fn cluster_plan(&self, number: u16) -> Option<ClusterPlan> {
        let cluster = Arc::clone(self.clusters.get(&number)?);
        let is_ring = cluster.is_ring();
        Some(ClusterPlan {
            retries: None,
            cluster,
            max_connections: self.connections_at_most(),
            read_from: if is_ring { ReadFrom::Primary } else { self.read_from },
            pings: self.pings.clone(),
        })
    }

    /// Returns the largest permitted number of connections to all nodes of a cluster. The number comes from the user,
    /// or from the limit of open files.
    fn connections_at_most(&self) -> usize {
        let all = || most_connections(self.plan.threads, self.targets().count()) / (1 + self.others.len());
        self.max_connections.map_or_else(all, |most| most as usize)
    }

    /// Returns the session's numbering of the nodes of target `number`'s cluster.
    pub(super) fn numbering(&self, number: u16) -> Numbering {
        Numbering { first: number, step: 1 + self.others.len() as u16 } // `versus` has one other target
    }

    /// Returns the servers that get load but are not nodes of the session.
    pub(super) fn members(&self) -> Vec<LoadedServer> {
        let of_targets = self.clusters.iter().filter(|_| !self.others.is_empty() && !self.redacts);
        let of = |(number, cluster): (&u16, &Arc<Cluster>)| {
            let topology = Arc::clone(&cluster.topology());
            let numbering = self.numbering(*number);
            let member = |(node, known): (NodeNumber, &Node)| LoadedServer {
                node: numbering.of(node.index()),
                address: known.address.to_string(),
            };
            // The first server is a node of the session.
            topology.nodes().skip(1).map(member).collect::<Vec<_>>()
        };
        of_targets.flat_map(of).collect()
    }

    /// Returns the first option of the user that has an effect only on clusters.
    pub fn option_about_clusters(&self) -> Option<&'static str> {
        let options = [
            (self.max_connections.is_some(), "--max-connections"),
            (self.read_from != ReadFrom::default(), "--read-from"),
        ];
        options.into_iter().find_map(|(is_given, option)| is_given.then_some(option))
    }

    /// Returns the feature of this session (such as agents) that does not work with the receivers of these load
    /// settings. Returns `None` if there is no such feature.
    fn unfit_for_receivers(&self, knobs: &Knobs) -> Option<&'static str> {
        let mut clusters = self.clusters.values();
        let works = knobs.workload.receivers.as_ref().is_none_or(|it| it.kind.is_for_clusters());
        match () {
            () if self.agents.is_some() => Some("agents"),
            () if clusters.any(|it| it.is_ring() || it.is_replication()) => {
                Some("several servers or replicas")
            }
            () if !works && !self.clusters.is_empty() => Some("a cluster"),
            () => None,
        }
    }

    /// Checks that `--max-connections`, or the limit of open files, allows one connection for each client.
    /// With several nodes, each worker needs one more connection to reach all nodes.
    fn check_max_connections(&self, clients: u32) -> Result<(), String> {
        let are_several = self.clusters.values().any(|cluster| cluster.topology().nodes().count() > 1);
        let workers =
            if are_several { clients.min((self.plan.threads * self.agents.unwrap_or(1)) as u32) } else { 0 };
        let (fewest, most) = (clients + workers, self.connections_at_most());
        // Agents check their own limits of open files.
        let is_limited = self.max_connections.is_some() || are_several && self.agents.is_none();
        if !is_limited || most >= fewest as usize {
            return Ok(());
        }
        let needed = format!(
            "the {fewest} connections that {clients} clients need: one for each client{}",
            if are_several { ", and one more for each worker thread to reach all nodes" } else { "" },
        );
        Err(match self.max_connections {
            Some(most) => format!(
                "--max-connections {most} is less than {needed}; give at least {fewest}, or fewer clients (-c)"
            ),
            None => format!(
                "the limit of open files leaves {most} connections for the load, which is less than {needed}; \
                 raise its hard limit (ulimit -Hn, LimitNOFILE=), or ask for fewer clients (-c)"
            ),
        })
    }

    /// Checks that these load settings do not need more connections than this process may open. If there are
    /// several servers, also checks that the workload can use several.
    ///
    /// # Errors
    /// Fails if the settings need too many connections. The message contains the largest possible number, and what to
    /// do. Also fails if there are several servers, and the workload needs a single server.
    pub fn check_clients(&self, knobs: &Knobs) -> Result<(), String> {
        let (clients, most) = (knobs.clients, self.most_clients);
        self.check_max_connections(clients)?;
        if knobs.workload.compares_replies() && (!self.clusters.is_empty() || self.agents.is_some()) {
            return Err(format!(
                "the workload '{}' compares replies with the expected ones, which works only with one server, not \
                 with a cluster, --hash, --read-from or --agents; give one server without agents, or \
                 dataintegrity=false",
                knobs.workload.name
            ));
        }
        let primaries = self.clusters.values().map(|it| it.topology().primaries().count() as u32).max();
        if knobs.workload.scans_records() && primaries > Some(1) {
            return Err(format!(
                "the workload '{}' scans records, which works only on one server, because the script of a scan would \
                 also need the records of other servers; give one server, or scanproportion=0",
                knobs.workload.name
            ));
        }
        if knobs.workload.indexes_records() && primaries > Some(1) {
            return Err(format!(
                "the workload '{}' adds the names of inserted records to an index, which works only on one server, because a \
                 record and the index are usually on different servers; give one server, or index=false",
                knobs.workload.name
            ));
        }
        let receivers = knobs.workload.receiver_connections(knobs.keyspace, primaries);
        if let Some(who) = self.unfit_for_receivers(knobs).filter(|_| receivers > 0) {
            return Err(format!(
                "the workload '{}' has receivers (connections that wait for messages), which work only with one server, not with {who}; give one server, or \
                 another workload",
                knobs.workload.name
            ));
        }
        if clients.saturating_add(receivers) <= most {
            return Ok(());
        }
        if receivers > 0 {
            return Err(format!(
                "{clients} clients and {receivers} connections of receivers are more than the {most} connections that \
                 the limit of open files allows; raise its hard limit (ulimit -Hn, LimitNOFILE=), or ask for fewer"
            ));
        }
        if most == 0 {
            return Err(
                "the limit of open files leaves no room for a client; raise it (ulimit -Hn, LimitNOFILE=)"
                    .to_owned(),
            );
        }
        if self.plan.fleet.is_led() {
            return Err(format!(
                "{clients} clients are more than the {most} that all agents together permit; raise the agents' --max-clients \
                 or their limit of open files, or ask for fewer"
            ));
        }
        Err(format!(
            "{clients} clients are more than the {most} that the limit of open files allows; raise its hard limit \
             (ulimit -Hn, LimitNOFILE=), or ask for fewer"
        ))
    }

    /// Returns whether the node with this number is only watched.
    pub fn is_watched(&self, number: u16) -> bool {
        usize::from(number) > self.others.len()
    }

    /// Returns the number of PINGs per second to each node: 100 for up to five nodes. For more nodes, the number is 500
    /// divided by the number of nodes, but at least 5.
    pub(super) fn pings_per_s(&self) -> NonZeroU32 {
        let nodes = self.targets().count() as u32; // the number fits into 16 bits
        NonZeroU32::new((500 / nodes).clamp(5, 100)).unwrap_or(NonZeroU32::MIN)
    }

    /// Returns the time between two polls of a node. The time is 1 s for the first node and for up to 40 nodes. More
    /// nodes share 40 polls per second. The time is at most 3 s, because findings use no older figures.
    pub(super) fn poll_every(&self, node: u16) -> Duration {
        let nodes = if node == 0 { 1 } else { self.targets().count() as u32 }; // the number fits into 16 bits
        (Duration::from_secs(1) * nodes / 40).clamp(Duration::from_secs(1), Duration::from_secs(3))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        demo,
        session::running::tests::commission,
        workload::{Settings, WorkloadChoice},
    };

    #[test]
    fn what_agents_cannot_do_is_refused_before_they_are_there() {
        let server = demo::start(demo::Options::default()).unwrap();
        let mut commission = commission(&server, KeyOwner::OwnServers);
        let settings = ["dataintegrity=true", "writeallfields=true"].map(|set| set.parse().unwrap());
        let compared = WorkloadChoice::find("ycsb-a", &Settings::from(settings.to_vec())).unwrap();
        let knobs = Knobs { workload: compared.workload, ..Knobs::default() };
        assert_eq!(commission.check_clients(&knobs), Ok(()));
        commission.agents = Some(1);
        let refused = commission.check_clients(&knobs).unwrap_err();
        assert!(refused.contains("compares replies") && refused.contains("agents"), "{refused}");
        let pubsub = WorkloadChoice::find("pubsub", &Settings::default()).unwrap();
        let knobs = Knobs { workload: pubsub.workload, ..Knobs::default() };
        let refused = commission.check_clients(&knobs).unwrap_err();
        assert!(refused.contains("not with agents"), "{refused}");
        assert_eq!(commission.check_clients(&Knobs::default()), Ok(()));
    }

    #[test]
    fn many_nodes_share_polls_and_the_first_node_keeps_its_own() {
        let server = demo::start(demo::Options::default()).unwrap();
        let mut commission = commission(&server, KeyOwner::OwnServers);
        let (target, mut polls) = (commission.plan.target.clone(), Vec::new());
        for others in [0, 39, 99, 199] {
            commission.others = vec![target.clone(); others];
            polls.push([0, 1].map(|node| commission.poll_every(node).as_millis()));
        }
        assert_eq!(polls, [[1000, 1000], [1000, 1000], [1000, 2500], [1000, 3000]]);
    }
}
