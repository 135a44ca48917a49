//! A real cluster of three primaries, with a replica each where that is asked for.

use std::{
    env, thread,
    time::{Duration, Instant},
};

use super::{Recipe, Server, wait_for};

const SLOTS: [[u16; 2]; 3] = [[0, 5460], [5461, 10_922], [10_923, 16_383]];

/// A primary that loses its last slot stays one.
const CLUSTER: [&str; 8] = [
    "--cluster-enabled",
    "yes",
    "--cluster-node-timeout",
    "2000",
    "--cluster-allow-replica-migration",
    "no",
    "--save",
    "",
];

/// The servers whose clusters a test starts: Redis and Valkey in tests/long, which sets this variable, and otherwise one of
/// both, by the name of the test. A cluster needs many seconds and processes.
pub fn recipes() -> Vec<fn() -> Recipe> {
    let both = [Server::redis as fn() -> Recipe, Server::valkey];
    if env::var_os("REDYNO_TEST_BOTH_SERVERS").is_some() {
        return both.to_vec();
    }
    let test: usize = thread::current().name().unwrap_or_default().bytes().map(usize::from).sum();
    vec![both[test % 2]]
}

/// The nodes of a cluster: the primaries first, and their replicas after them in the same order.
pub struct Nodes(pub Vec<Server>);

impl Nodes {
    /// Starts a cluster and waits until every node can be used.
    pub fn start(recipe: fn() -> Recipe, with_replicas: bool) -> Self {
        let count = if with_replicas { 6 } else { 3 };
        let nodes = Self((0..count).map(|_| recipe().with_args(&CLUSTER).start()).collect());
        for (n, node) in nodes.0.iter().enumerate() {
            if let Some([from, to]) = SLOTS.get(n) {
                node.cli(&["CLUSTER", "ADDSLOTSRANGE", &from.to_string(), &to.to_string()]);
            }
            node.cli(&["CLUSTER", "SET-CONFIG-EPOCH", &(n + 1).to_string()]);
            node.cli(&["CLUSTER", "MEET", "127.0.0.1", &nodes.0[0].port_text()]);
        }
        nodes.wait_until_ok();
        for (n, replica) in nodes.0.iter().enumerate().skip(3) {
            replica.cli(&["CLUSTER", "REPLICATE", &nodes.id(n - 3)]);
        }
        for replica in nodes.0.iter().skip(3) {
            wait_for("a replica", || {
                replica.cli(&["INFO", "replication"]).contains("master_link_status:up").then_some(())
            });
        }
        nodes.wait_until_ok();
        // A primary that has not yet heard of its replica ignores that one's CLUSTER FAILOVER.
        for node in &nodes.0 {
            wait_for("all replicas", || {
                (node.cli(&["CLUSTER", "NODES"]).matches("slave ").count() == count - 3).then_some(())
            });
        }
        nodes
    }

    /// Starts another node, which has no slot, and lets it join.
    pub fn join(&mut self, recipe: Recipe) {
        let node = recipe.with_args(&CLUSTER).start();
        node.cli(&["CLUSTER", "MEET", "127.0.0.1", &self.0[0].port_text()]);
        self.0.push(node);
        self.wait_until_ok();
    }

    /// Waits until all nodes know that node `n` has no slot. A node that forgets the owner of a slot refuses requests.
    pub fn wait_until_without_slots(&self, n: usize) {
        let id = self.id(n);
        for node in &self.0 {
            wait_for("a node without slots", || {
                let nodes = node.cli(&["CLUSTER", "NODES"]);
                let line = nodes.lines().find(|line| line.starts_with(&id))?;
                // The slots follow the state of the link.
                line.ends_with(" connected").then_some(())
            });
        }
    }

    /// Ends the last node, which has no slot, after all others have forgotten it.
    pub fn leave(&mut self) {
        let (id, left) = (self.id(self.0.len() - 1), self.0.pop());
        for node in &self.0 {
            assert_eq!(node.cli(&["CLUSTER", "FORGET", &id]), "OK");
        }
        drop(left);
    }

    /// Waits until every node knows all others and the owners of all slots.
    pub fn wait_until_ok(&self) {
        let known = format!("cluster_known_nodes:{}", self.0.len());
        for node in &self.0 {
            wait_for("the state of the cluster", || {
                let info = node.cli(&["CLUSTER", "INFO"]);
                let is_ok = ["cluster_state:ok", "cluster_slots_ok:16384", &known];
                is_ok.iter().all(|line| info.contains(line)).then_some(())
            });
        }
    }

    /// Makes replica `n` a primary by hand. A server that is short of CPU time may give a handover up after 5 s, and is
    /// asked again.
    pub fn hand_over_to(&self, n: usize) {
        let replica = &self.0[n];
        let mut asked: Option<Instant> = None;
        wait_for("the handover", || {
            if asked.is_none_or(|asked| asked.elapsed() > Duration::from_secs(8)) {
                assert_eq!(replica.cli(&["CLUSTER", "FAILOVER"]), "OK");
                asked = Some(Instant::now());
            }
            replica.cli(&["ROLE"]).starts_with("master").then_some(())
        });
    }

    /// The identifier of node `n`.
    pub fn id(&self, n: usize) -> String {
        self.0[n].cli(&["CLUSTER", "MYID"])
    }

    /// How often all nodes together carried `command` out. A replica counts the writes of its primary too.
    pub fn calls(&self, command: &str) -> u64 {
        self.0.iter().map(|node| node.calls(&[], command)).sum()
    }

    /// Moves a slot from node `from` to node `to`, key by key, as `redis-cli --cluster reshard` does.
    pub fn move_slot(&self, slot: u16, from: usize, to: usize) {
        self.begin_move(slot, from, to);
        let (slot, id) = (slot.to_string(), self.id(to));
        let (source, target) = (&self.0[from], &self.0[to]);
        loop {
            let keys = source.cli(&["CLUSTER", "GETKEYSINSLOT", &slot, "100"]);
            let keys: Vec<_> = keys.lines().filter(|key| !key.is_empty()).collect();
            if keys.is_empty() {
                break;
            }
            let port = target.port_text();
            let migrate = ["MIGRATE", "127.0.0.1", &port, "", "0", "5000", "KEYS"];
            source.cli(&[&migrate[..], &keys].concat());
        }
        for node in [target, source] {
            assert_eq!(node.cli(&["CLUSTER", "SETSLOT", &slot, "NODE", &id]), "OK");
        }
    }

    /// Tells two nodes that the keys of a slot are about to move.
    pub fn begin_move(&self, slot: u16, from: usize, to: usize) {
        let slot = slot.to_string();
        self.0[to].cli(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &self.id(from)]);
        self.0[from].cli(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &self.id(to)]);
    }
}
