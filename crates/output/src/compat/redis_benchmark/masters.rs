//! `--cluster` and `--hash` of `redyno bench`. This file finds the primaries of a cluster, or the servers that share
//! the load. The lines of output about these servers are also in this file.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    Flavour,
    server_config::{ServerConfig, unreachable},
};
use crate::{
    compat::server::address_text,
    endpoint::{Cluster, Talk, TalkError, Target},
};

/// The time limit for connecting to a node of a cluster. The node's reply about the cluster has the same
/// limit.
const LIMIT: Duration = Duration::from_secs(10);

/// The primaries of a cluster, or the servers of a consistent-hash ring (`--hash`).
pub(super) struct Masters {
    /// The cluster. The load follows its changes.
    pub(super) cluster: Arc<Cluster>,
    all: Vec<Master>,
    flavour: Flavour,
}

/// A primary.
struct Master {
    id: String,
    target: Target,
    config: Option<ServerConfig>,
}

impl Masters {
    /// Reads the primaries of the cluster, and the configuration of each primary.
    ///
    /// # Errors
    /// Fails with the message to print.
    pub(super) fn find(target: &Target, flavour: Flavour, limit: Option<Duration>) -> Result<Self, String> {
        // If no server listens at the address, the message is the same as without --cluster.
        if let Err(error @ TalkError::Connect(_)) =
            Talk::silent(target, Instant::now() + limit.unwrap_or(LIMIT))
        {
            return Err(unreachable(target, flavour.server(), &error));
        }
        let failed =
            |error| format!("Failed to fetch cluster configuration from {}: {error}", address_text(target));
        let cluster = Cluster::find(target, limit.unwrap_or(LIMIT)).map_err(failed)?;
        let found = Self::of(Arc::new(cluster), target, flavour, limit)?;
        if found.all.len() < 2 {
            return Err(format!("Invalid cluster: {} node(s).", found.all.len()));
        }
        Ok(found)
    }

    /// Reads the configuration of each primary of a cluster, or of each server of a ring.
    ///
    /// # Errors
    /// Fails with the message to print.
    pub(super) fn of(
        cluster: Arc<Cluster>,
        target: &Target,
        flavour: Flavour,
        limit: Option<Duration>,
    ) -> Result<Self, String> {
        let topology = Arc::clone(&cluster.topology());
        let mut all = Vec::new();
        for number in topology.primaries() {
            let node = topology.node(number);
            let target = target.at(node.address.clone()).map_err(|error| error.to_string())?;
            let config = ServerConfig::fetch(&target, flavour.server(), limit)?;
            all.push(Master { id: node.id.clone(), target, config });
        }
        Ok(Self { cluster, all, flavour })
    }

    /// Returns the servers.
    pub(super) fn targets(&self) -> impl Iterator<Item = &Target> {
        self.all.iter().map(|master| &master.target)
    }

    /// Returns the number of servers.
    pub(super) fn count(&self) -> usize {
        self.all.len()
    }

    /// Returns the warnings about primaries that do not report their configuration.
    pub(super) fn warnings(&self) -> String {
        let silent = self.all.iter().filter(|master| master.config.is_none());
        silent
            .map(|master| format!("WARN: Could not fetch node CONFIG {}\n", address_text(&master.target)))
            .collect()
    }

    /// Returns the lines about the servers, which are printed above all tests.
    pub(super) fn head(&self) -> String {
        if self.cluster.is_ring() {
            let line = |(n, target)| format!("Server {n}: {}\n", address_text(target));
            let lines: String = self.targets().enumerate().map(line).collect();
            return format!("{} servers share the load by consistent hash:\n\n{lines}\n", self.all.len());
        }
        let (role, name, end) = match self.flavour {
            Flavour::Valkey => ("primary", "Node", "(Primary)"),
            Flavour::Redyno | Flavour::Redis => ("master", "Master", ""),
        };
        let line = |(n, Master { id, target, .. }): (usize, &Master)| {
            format!("{name} {n}{end}: {id} {}\n", address_text(target))
        };
        let lines: String = self.all.iter().enumerate().map(line).collect();
        format!("Cluster has {} {role} nodes:\n\n{lines}\n", self.all.len())
    }

    /// Returns the lines about the servers that are printed at the top of each test.
    pub(super) fn settings(&self) -> String {
        // valkey-benchmark has no plural here.
        let role = if self.flavour == Flavour::Valkey { "primary" } else { "masters" };
        let mut lines = match self.cluster.is_ring() {
            true => format!("  hash: ketama ({} servers)\n", self.all.len()),
            false => format!("  cluster mode: yes ({} {role})\n", self.all.len()),
        };
        for (n, Master { config, .. }) in self.all.iter().enumerate() {
            let Some(ServerConfig { save, appendonly }) = config else { continue };
            let save = if save.is_empty() { "NONE" } else { save };
            lines +=
                &format!("  node [{n}] configuration:\n    save: {save}\n    appendonly: {appendonly}\n");
        }
        lines
    }
}
