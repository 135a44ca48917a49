//! The load of a run of `redyno memtier`: the plan of its connections, and its settings from step to step.

use std::{sync::Arc, time::Duration};

use super::{options::MemtierOptions, requests::RunRequests, run::Memtier};
use crate::{
    endpoint::{Cluster, Target},
    knobs::Knobs,
    load::{ClusterPlan, FirstCommands, LoadPlan, RequestLimit as Sent},
    workload::KeyNames,
};

/// The time limit for connecting to a node of a cluster. The node's reply about the cluster has the same
/// limit.
pub(super) const FIND_LIMIT: Duration = Duration::from_secs(10);

impl Memtier {
    /// Returns the steps in which clients are added during a run, with their times.
    pub(super) fn steps(&self) -> Vec<(Duration, Knobs)> {
        let (Some(length_s), Some(test_time_s)) = (self.options.step_duration_s, self.options.test_time_s)
        else {
            return Vec::new();
        };
        let times = (1..).map(|step| step * u64::from(length_s)).take_while(|second| *second < test_time_s);
        let grows = |second: &u64| self.options.clients_at(*second) > self.options.clients_at(second - 1);
        times.take_while(grows).map(|second| (Duration::from_secs(second), self.knobs(second))).collect()
    }

    /// Returns the plan of the run with this number, from 1.
    pub(super) fn plan(&self, number: u32) -> LoadPlan {
        let options = &self.options;
        LoadPlan {
            cluster: self.cluster.clone().map(|cluster| {
                // With replicas, a client connects to the replicas as well.
                let max_connections = options.connections() as usize * cluster.topology().nodes().count();
                ClusterPlan {
                    read_from: options.read_from,
                    retries: self.retrying.retries.clone(),
                    ..ClusterPlan::new(cluster, max_connections)
                }
            }),
            target: self.target.clone(),
            first_words: FirstCommands::Bare { tracks: false },
            // With --client-stats, each client has its own thread, so the results of the thread are the
            // results of the client.
            threads: match options.client_stats {
                Some(_) => options.connections() as usize,
                None => options.threads as usize,
            },
            seed: if options.has_seeds_by_run { self.seed.wrapping_add(number.into()) } else { self.seed },
            names: KeyNames::given(&options.key_prefix),
            timeout: match options.connection_timeout_s {
                0 => Duration::MAX,
                seconds => Duration::from_secs(seconds),
            },
            requests: options.total_requests().map(Sent::PerClient),
            length: options.test_time_s.map(Duration::from_secs),
            ..LoadPlan::default()
        }
    }

    /// Returns the load settings that apply from this second on.
    pub(super) fn knobs(&self, second: u64) -> Knobs {
        let options = &self.options;
        let connections = u64::from(options.clients_at(second)) * u64::from(options.threads);
        // memtier_benchmark's clients have a pipeline and a rate on each of their connections.
        let primaries = primaries(self.cluster.as_deref());
        let pipelines = if options.is_transaction { 1 } else { primaries };
        Knobs {
            load: true,
            // `check_amounts` has limited this number.
            clients: connections as u32,
            pipeline: options.pipeline * pipelines,
            rate: options.rate.map(|rate| (u64::from(rate) * connections * u64::from(primaries)) as u32),
            reconnect: options.reconnect_interval,
            workload: Arc::new(self.requests.workload.clone()),
            value_size: 1,
            ..Knobs::default()
        }
    }
}

/// Returns the nodes of the cluster (`--cluster-mode`), the servers that share the load (`--hash`), or the server to
/// which redyno sends failed requests again (`--retry-on-error`).
///
/// # Errors
/// Fails if the cluster cannot be read, or an operation has keys of several servers.
pub(super) fn find_nodes(
    options: &MemtierOptions,
    requests: &RunRequests,
    target: &Target,
) -> Result<Option<Arc<Cluster>>, String> {
    if let Some(ring) = options.server.ring(target)? {
        requests.workload.check_one_key(target.dialect).map_err(|error| error.to_string())?;
        return Ok(Some(ring));
    }
    let cluster = match options.is_cluster {
        true => Cluster::find(target, FIND_LIMIT).map_err(|error| error.to_string())?,
        false if options.retries.is_on => Cluster::of_one(target),
        false => return Ok(None),
    };
    Ok(Some(Arc::new(cluster)))
}

/// Returns the number of primaries to which a client is connected. Without a cluster, this is 1.
pub(super) fn primaries(cluster: Option<&Cluster>) -> u32 {
    cluster.map_or(1, |cluster| cluster.topology().primaries().count() as u32) // at most 1 000
}
