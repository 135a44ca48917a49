//! Finds the other servers of a session before it begins: the other nodes of the target's cluster, or the
//! target's primary and replicas.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use super::{Failure, OtherServers, SessionPlan, UsageError, destination::SessionDestination};
use crate::{
    endpoint::{
        Cluster, ClusterError, ReadFrom, RelatedServers, Target, Topology, cluster_of, neighbours, reach,
    },
    session::{Notice, running::Commission},
};

/// The timeout for connecting to a server. The server's reply about the other nodes has the same timeout.
const FIND_LIMIT: Duration = Duration::from_secs(1);
/// The maximum number of other servers that a line lists.
const MOST_LISTED: usize = 8;
/// The largest number of primaries to which redyno tries to connect before a load begins.
const MOST_TRIED: usize = 5;
/// The maximum number of watched servers, in addition to the target.
const MOST_WATCHED: usize = 127;

/// The error when both targets are in the same cluster.
const ONE_CLUSTER: &str = "both targets are nodes of the same cluster, which is loaded as a whole; give --one-node to compare two of its nodes";

impl SessionPlan {
    /// Finds the other servers of the session and adds them to the plan. If redyno cannot find other servers, a notice
    /// gives the reason, and the session watches only the destination.
    ///
    /// # Errors
    /// Fails if a load begins now on a node of a cluster, and the cluster is unknown or no primary of the cluster
    /// answers.
    pub(super) fn find_nodes(&mut self, destination: &SessionDestination) -> Result<(), Failure> {
        let target = &destination.target;
        let is_known = destination.built_in.is_none() && destination.unreachable.is_none();
        self.reach_rings()?;
        if self.commission.cluster().is_some_and(|cluster| cluster.is_ring()) {
            return Ok(());
        }
        if self.company == OtherServers::TargetOnly || !is_known {
            return Ok(());
        }
        if !self.commission.others.is_empty() {
            return self.find_clusters();
        }
        if !target.dialect.has_databases() {
            return Ok(());
        }
        let commission = &mut self.commission;
        let loads_now = loads_now(commission);
        let reads_copies = commission.read_from != ReadFrom::Primary;
        let others = match neighbours(target, FIND_LIMIT) {
            Ok(RelatedServers::Servers(_)) if reads_copies => {
                commission.follows_replicas = self.company == OtherServers::WithReplicas;
                let copies = Cluster::of_replication(target, FIND_LIMIT);
                copies.and_then(|copies| watched_of(commission, target, copies))
            }
            Ok(RelatedServers::Servers(others)) if self.company == OtherServers::WithReplicas => {
                commission.follows_replicas = true;
                Ok(others)
            }
            Ok(RelatedServers::Servers(_)) => Ok(Vec::new()),
            Ok(RelatedServers::Cluster(Ok(cluster))) => {
                if loads_now {
                    find_primary(target, &cluster.topology())?;
                }
                watched_of(commission, target, cluster)
            }
            Ok(RelatedServers::Cluster(Err(error))) => {
                let why = cannot_load(target, &error);
                if loads_now {
                    return Err(Failure::Failed(anyhow::anyhow!(why)));
                }
                commission.refuses_load = Some(why);
                Err(error)
            }
            Err(error) => Err(error),
        };
        match others {
            // The addresses of other nodes are texts from the server, which --redact leaves out.
            Ok(_) if commission.redacts => {}
            Ok(others) => self.watch(target, others),
            Err(error) => {
                let text = format!("the other nodes of this server are not watched: {error}");
                commission.notices.push(Notice::Warning(text));
            }
        }
        Ok(())
    }

    /// If the load begins now, checks that redyno can reach all servers that share the load by consistent hashing.
    fn reach_rings(&self) -> Result<(), Failure> {
        let commission = &self.commission;
        let rings = (0..).zip(commission.targets()).filter_map(|(number, target)| {
            commission.clusters.get(&number).filter(|ring| ring.is_ring()).map(|ring| (ring, target))
        });
        for (ring, target) in rings.filter(|_| loads_now(commission)) {
            for (_, node) in ring.topology().nodes().skip(1) {
                let server = target.at(node.address.clone()).map_err(anyhow::Error::from)?;
                let name = [node.address.to_string()];
                let reached = reach(&server, FIND_LIMIT);
                reached.map_err(|error| Failure::Failed(error.into()).of_node(0, &name))?;
            }
        }
        Ok(())
    }

    /// Finds the clusters of all targets. The other nodes of these clusters get load, but are not watched.
    ///
    /// # Errors
    /// Fails if the cluster of a target is unknown, if no primary of the cluster answers, or if another
    /// target is in the same cluster.
    fn find_clusters(&mut self) -> Result<(), Failure> {
        let commission = &mut self.commission;
        let targets: Vec<_> = commission.targets().take(1 + commission.others.len()).cloned().collect();
        let known: Vec<_> = commission.clusters.keys().copied().collect();
        let may_be =
            |(number, target): &(u16, Target)| target.dialect.has_databases() && !known.contains(number);
        for (number, target) in (0..).zip(targets).filter(may_be) {
            let failed = |failure: Failure| failure.of_node(number, &self.names);
            let cluster = cluster_of(&target, FIND_LIMIT)
                .map_err(|error| failed(Failure::Failed(anyhow::anyhow!(cannot_load(&target, &error)))))?;
            // `check_read_from` refuses a target without replicas.
            let copies = || Cluster::of_replication(&target, FIND_LIMIT).ok();
            if cluster.is_none() && commission.read_from != ReadFrom::Primary {
                commission.clusters.extend(copies().map(|copies| (number, Arc::new(copies))));
            }
            if let Some(cluster) = cluster {
                find_primary(&target, &cluster.topology()).map_err(failed)?;
                if commission
                    .clusters
                    .values()
                    .any(|known| are_same_cluster(&known.topology(), &cluster.topology()))
                {
                    return Err(UsageError::of(ONE_CLUSTER).into());
                }
                commission.clusters.insert(number, Arc::new(cluster));
            }
        }
        Ok(())
    }

    /// Checks that server parameters are set only if one server gets the load. The clusters must be known already, from
    /// [`find_nodes`](Self::find_nodes).
    ///
    /// # Errors
    /// Fails if the plan sets parameters and several servers get the load.
    pub fn check_config(&self) -> Result<(), UsageError> {
        let is_of_series = !self.commission.config.is_empty();
        let is_set = is_of_series || self.settings.iter().any(|setting| !setting.config.is_empty());
        if !is_set || self.commission.clusters.is_empty() {
            return Ok(());
        }
        let leave_out = if is_of_series { "leave the run out (--only), or " } else { "" };
        Err(UsageError::Line(format!(
            "the run sets parameters of one server, but several servers get its load; {leave_out}name one server (in a \
             cluster, with --one-node)"
        )))
    }

    /// Checks that the load can read from the nodes of `--read-from`.
    ///
    /// # Errors
    /// Fails if a target is not in a cluster and has no replica. Also fails if the nearest node is unknown,
    /// because not all nodes get PINGs.
    pub(super) fn check_read_from(&self) -> Result<(), UsageError> {
        let (commission, from) = (&self.commission, self.commission.read_from);
        let has_replicas = |cluster: &Arc<Cluster>| {
            // The replicas of a cluster may join later.
            !cluster.is_ring() && (!cluster.is_replication() || cluster.topology().nodes().count() > 1)
        };
        let mut loaded = (0..).zip(commission.targets().take(1 + commission.others.len()));
        let alone = loaded.find(|(number, _)| !commission.clusters.get(number).is_some_and(has_replicas));
        if let Some((_, target)) = alone.filter(|_| from != ReadFrom::Primary)
            && commission.refuses_load.is_none()
        {
            let text = format!(
                "--read-from {}: {} is neither a node of a cluster nor a primary with replicas, or does not answer; \
                 name another server, or leave the option out",
                from.name(),
                target.address
            );
            return Err(UsageError::Line(text));
        }
        if from == ReadFrom::Nearest && commission.redacts {
            let text = "--read-from nearest needs PINGs to all nodes, but with --redact, redyno watches only one node; leave one option out";
            return Err(UsageError::of(text));
        }
        if from == ReadFrom::Nearest && !commission.others.is_empty() {
            let text = "--read-from nearest needs PINGs to all nodes, but versus watches only one node of each target; \
                give primary, replica or any";
            return Err(UsageError::of(text));
        }
        Ok(())
    }

    /// Checks that `--probe-lag` has replicas to measure.
    ///
    /// # Errors
    /// Fails if the session follows no replicas.
    pub(super) fn check_probe_lag(&self) -> Result<(), UsageError> {
        let commission = &self.commission;
        if !commission.probes_lag || !commission.clusters.is_empty() || commission.follows_replicas {
            return Ok(());
        }
        let text = "--probe-lag measures the replicas of a primary or of a cluster, but this session watches no replicas; name a \
                    primary, or a node of a cluster, that answers";
        Err(UsageError::of(text))
    }

    /// Adds other servers to the session. The session watches these servers.
    fn watch(&mut self, target: &Target, mut others: Vec<Target>) {
        let commission = &mut self.commission;
        if others.len() > MOST_WATCHED {
            let text = format!(
                "{} further nodes were found; the first {MOST_WATCHED} of them are watched",
                others.len()
            );
            commission.notices.push(Notice::Warning(text));
            others.truncate(MOST_WATCHED);
        }
        if !others.is_empty() {
            let all = [target].into_iter().chain(&others);
            self.names = all.map(|target| target.address.to_string()).collect();
            let text = format!(
                "also watched{}: {} (--one-node leaves them out); the figures printed each second are of {} only; \
                 findings, pages, --json and recordings are of all nodes",
                if commission.cluster().is_some() && commission.knobs.load {
                    ", and loaded with the whole cluster"
                } else {
                    ""
                },
                listed(&self.names[1..]),
                self.names[0]
            );
            let is_shown = !commission.is_attended && !self.is_page;
            commission.notices.extend(is_shown.then_some(Notice::Info(text)));
        }
        commission.watched = others;
    }
}

/// Makes `cluster` the target of the load, and returns the nodes of the cluster other than `target`.
fn watched_of(
    commission: &mut Commission,
    target: &Target,
    cluster: Cluster,
) -> Result<Vec<Target>, ClusterError> {
    let topology = Arc::clone(&cluster.topology());
    commission.clusters.insert(0, Arc::new(cluster));
    // The first node is the destination itself.
    topology.nodes().skip(1).map(|(_, node)| Ok(target.at(node.address.clone())?)).collect()
}

/// Returns whether the load begins with the session, without a screen that can ask the user.
fn loads_now(commission: &Commission) -> bool {
    commission.knobs.load && !commission.is_attended
}

/// Returns a list of the first names, with the number of further names.
fn listed(names: &[String]) -> String {
    match names.len().saturating_sub(MOST_LISTED) {
        0 | 1 => names.join(", "),
        more => format!("{} and {more} more", names[..MOST_LISTED].join(", ")),
    }
}

/// Checks that a primary of a cluster can be reached.
///
/// # Errors
/// Fails if none of the first [`MOST_TRIED`] primaries can be reached. The error is that of the first primary.
fn find_primary(target: &Target, topology: &Topology) -> Result<(), Failure> {
    let mut first = None;
    for node in topology.primaries().take(MOST_TRIED) {
        let primary = target.at(topology.node(node).address.clone()).map_err(anyhow::Error::from)?;
        match reach(&primary, FIND_LIMIT) {
            Ok(_) => return Ok(()),
            Err(error) => first = first.or(Some(error)),
        }
    }
    first.map_or(Ok(()), |error| {
        let why = format!("no primary of the cluster of {} can be reached: {error}", target.address);
        Err(Failure::Failed(anyhow::anyhow!(why)))
    })
}

/// Returns whether two topologies describe the same cluster.
fn are_same_cluster(one: &Topology, other: &Topology) -> bool {
    let ids =
        |topology: &Topology| topology.nodes().map(|(_, node)| node.id.clone()).collect::<BTreeSet<_>>();
    ids(one).intersection(&ids(other)).any(|id| !id.is_empty())
}

/// Returns the reason why the cluster of a target cannot be loaded.
fn cannot_load(target: &Target, error: &ClusterError) -> String {
    format!(
        "{} is a node of a cluster that redyno cannot load: {error}; --one-node loads this node only",
        target.address
    )
}
