//! The options that add further servers to a session.

use std::sync::Arc;

use clap::{Args, ValueEnum};

use super::{command::Invocation, config, target_args::TargetArgs, tls_args::TlsArgs};
use crate::{
    endpoint::{Cluster, Password, Target, quoted},
    runner::{Failure, OtherServers, SessionPlan, UsageError},
};

/// The largest number of servers in a session.
const MOST_SERVERS: usize = 128;

/// The reason why several servers side by side get no load.
const NO_LOAD: &str =
    "several servers are watched side by side, but a load needs exactly one server; name only one of them";

/// ONE NODE: whether a session uses only the named server.
#[derive(Args, Debug, Clone, Copy, Default)]
#[command(next_help_heading = "Target")]
pub struct OneNodeArgs {
    /// Use only the given server, not the other nodes of its cluster, its replicas or its primary
    #[arg(long)]
    pub one_node: bool,
}

impl OneNodeArgs {
    /// Returns the other servers of a session. The result is `all`, or no servers with `--one-node`.
    pub(super) fn company(self, all: OtherServers) -> OtherServers {
        if self.one_node { OtherServers::TargetOnly } else { all }
    }

    /// Sets the servers that belong to the session in addition to its target.
    ///
    /// # Errors
    /// Fails if an option about the nodes of a cluster is used with `--one-node`. The error names the option.
    pub(super) fn settle(self, all: OtherServers, plan: &mut SessionPlan) -> Result<(), UsageError> {
        plan.company = self.company(all);
        match plan.commission.option_about_clusters().filter(|_| self.one_node) {
            Some(option) => Err(UsageError::Line(format!(
                "{option} is about the nodes of a cluster, and has no effect with --one-node; leave one of them out"
            ))),
            None => Ok(()),
        }
    }
}

/// NODES: the other servers of the session.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Target")]
pub struct NodesArgs {
    /// The option `--one-node`.
    #[command(flatten)]
    pub one_node: OneNodeArgs,
    /// Servers to watch side by side, without load; 'redyno URI URI' has the same meaning
    #[arg(long = "node", value_name = "URI", hide = true, conflicts_with_all = ["host", "port", "socket", "uri", "named", "user", "password", "askpass", "db", "resp3", "one_node"])]
    pub nodes: Vec<Password>,
    /// Use consistent hashing to divide the keys of one load among several servers. Give each server as a URI. With
    /// ketama, each key goes to the same server as with libmemcached
    #[arg(long, value_name = "METHOD", value_enum, hide_possible_values = true)]
    pub hash: Option<HashMethod>,
}

/// RING: the servers among which a subcommand of redyno divides its load.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Target")]
pub struct RingArgs {
    /// The server. With --hash, give several servers; redyno then divides the keys among these servers
    #[arg(value_name = "URI", conflicts_with_all = ["host", "port", "socket", "uri", "named", "user", "password", "askpass", "db", "resp3"])]
    pub nodes: Vec<Password>,
    /// Use consistent hashing to divide the keys among several servers. Give each server as a URI. With ketama, each
    /// key goes to the same server as with libmemcached
    #[arg(
        long,
        value_name = "METHOD",
        value_enum,
        hide_possible_values = true,
        requires = "nodes",
        conflicts_with = "one_node"
    )]
    pub hash: Option<HashMethod>,
    /// The option `--one-node`.
    #[command(flatten)]
    pub one_node: OneNodeArgs,
}

impl RingArgs {
    /// Returns the options about the nodes of a session.
    pub(super) fn nodes(&self) -> NodesArgs {
        NodesArgs { one_node: self.one_node, nodes: self.nodes.clone(), hash: self.hash }
    }
}

/// How the keys are divided among several servers.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum HashMethod {
    /// MD5 and 160 points of each server on a ring
    Ketama,
}

impl NodesArgs {
    /// Returns the options of each watched server, and replaces `target` by the options of the first server. Returns an
    /// empty list if the command line names no servers to watch.
    ///
    /// # Errors
    /// Fails if a name is unknown in the config file.
    pub(super) fn targets(
        &self,
        target: &mut TargetArgs,
        given: Invocation,
    ) -> Result<Vec<TargetArgs>, Failure> {
        let servers = targets(&self.nodes, &target.tls, given)?;
        if let Some(first) = servers.first() {
            *target = first.clone();
        }
        Ok(servers)
    }

    /// Adds the servers that are watched, or that share the load, to the plan of a session. If fewer than two servers
    /// are given, adds `all` instead: the other servers of the target, such as its replicas.
    ///
    /// # Errors
    /// Fails if a server's options are wrong, or if the plan has a load on servers that are only watched.
    pub(super) fn settle(
        &self,
        servers: &[TargetArgs],
        all: OtherServers,
        plan: &mut SessionPlan,
    ) -> Result<(), UsageError> {
        if servers.len() < 2 && self.hash.is_some() {
            let text = "--hash divides the keys among several servers; name them as URIs: `redyno redis://a redis://b --hash ketama`";
            return Err(UsageError::of(text));
        }
        if servers.len() < 2 {
            return self.one_node.settle(all, plan);
        }
        if servers.len() > MOST_SERVERS {
            let text = format!(
                "{} servers are too many: one session watches at most {MOST_SERVERS}; leave some out",
                servers.len()
            );
            return Err(UsageError::Line(text));
        }
        if plan.commission.knobs.load && self.hash.is_none() {
            return Err(UsageError::of(NO_LOAD));
        }
        let watched = servers.iter().map(TargetArgs::target).collect::<Result<Vec<_>, _>>()?;
        plan.names = watched.iter().map(|target| target.address.to_string()).collect();
        match self.hash {
            None => plan.commission.refuses_load = Some(NO_LOAD.to_owned()),
            Some(HashMethod::Ketama) => {
                let ring = Cluster::of_ring(&watched).map_err(|error| UsageError::Line(error.to_string()))?;
                plan.commission.clusters.insert(0, Arc::new(ring));
                plan.words.target = ring_words(&watched);
            }
        }
        plan.commission.watched = watched.into_iter().skip(1).collect();
        Ok(())
    }
}

/// Returns the words of a command line that name `servers`, without passwords.
fn ring_words(servers: &[Target]) -> Vec<String> {
    let uri = |server: &Target| quoted(&server.address.uri(server.dialect));
    servers.iter().map(uri).chain(["--hash ketama".to_owned()]).collect()
}

/// Returns the options of several servers. Each server is given as a URI or as `@NAME`. The TLS options apply to the
/// servers that use TLS.
///
/// # Errors
/// Fails if a name is unknown in the config file.
pub(super) fn targets(
    words: &[Password],
    tls: &TlsArgs,
    given: Invocation,
) -> Result<Vec<TargetArgs>, Failure> {
    let target = |word: &Password| match word.reveal().strip_prefix('@') {
        Some(name) => TargetArgs { named: Some(name.to_owned()), ..TargetArgs::default() },
        None => TargetArgs { uri: Some(word.clone()), ..TargetArgs::default() },
    };
    let mut targets: Vec<_> = words.iter().map(target).collect();
    for target in &mut targets {
        config::resolve(target, given, true)?;
    }
    let speaks: Vec<_> = targets.iter().map(TargetArgs::speaks_tls).collect();
    for (target, speaks_tls) in targets.iter_mut().zip(&speaks) {
        if tls.tls || *speaks_tls || !speaks.contains(&true) {
            let of_file = std::mem::replace(&mut target.tls, tls.clone());
            target.tls.follow(of_file);
        }
    }
    Ok(targets)
}
