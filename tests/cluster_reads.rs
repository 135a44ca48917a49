//! A load on a cluster that reads from replicas: what it counts is what the nodes carried out, and a replica that does
//! not answer is replaced by its primary, which is reported.

use std::collections::BTreeMap;

use redyno::{
    events::EventKind,
    session::{Event, Record},
};
use rustix::process::Signal;

use crate::support::{
    Recipe, Server, cli_at, free_port,
    nodes::{Nodes, recipes},
    program::{Outcome, Running, redyno, run},
    wait_for,
};

/// A load that writes and reads, on any node of a cluster.
const LOAD: [&str; 11] =
    ["--headless", "--json", "--ratio", "1:1", "-r", "20000", "-c", "12", "-P", "4", "--yes"];
/// The primaries and the replicas among the nodes.
const PRIMARIES: std::ops::Range<usize> = 0..3;
const REPLICAS: std::ops::Range<usize> = 3..6;

/// Starts a cluster all of whose replicas are named by CLUSTER SLOTS: they have copied something.
fn cluster(recipe: fn() -> Recipe) -> Nodes {
    let nodes = Nodes::start(recipe, true);
    for key in ["{1}", "{2}", "{3}"] {
        for words in [&["-c", "SET", key, "x"][..], &["-c", "DEL", key]] {
            cli_at(nodes.0[0].port(), words);
        }
    }
    wait_for("all replicas", || {
        let slots = nodes.0[0].cli(&["CLUSTER", "SLOTS"]);
        nodes.0.iter().all(|node| slots.lines().any(|line| line == node.port_text())).then_some(())
    });
    nodes
}

fn start(nodes: &Nodes, more: &[&str]) -> Running {
    start_at(&nodes.0[0], more)
}

fn start_at(server: &Server, more: &[&str]) -> Running {
    Running::start(redyno(&[&["-p", &server.port_text()], &LOAD[..], more].concat()))
}

/// A primary without a cluster, and two replicas of it that have copied its data.
pub fn copies() -> [Server; 3] {
    let primary = Server::redis().start();
    let port = primary.port_text();
    let replica = || Server::redis().with_args(&["--replicaof", "127.0.0.1", &port]).start();
    let servers = [replica(), replica()];
    wait_for("both replicas", || {
        (primary.cli(&["INFO", "replication"]).matches("state=online").count() == 2).then_some(())
    });
    let [one, other] = servers;
    [primary, one, other]
}

/// Operations by name and by address of the node, errors and redirects by kind.
#[derive(Debug, Default)]
struct Sums {
    ops: BTreeMap<String, u64>,
    nodes: BTreeMap<String, u64>,
    errors: BTreeMap<String, u64>,
    redirects: BTreeMap<String, u64>,
}

fn sums(outcome: &Outcome) -> Sums {
    let (mut sums, mut addresses) = (Sums::default(), Vec::new());
    for record in outcome.records() {
        match record {
            Record::Event(Event { what: EventKind::NodeJoined { address }, .. }) => addresses.push(address),
            Record::Session(session) => {
                addresses =
                    [session.target].into_iter().chain(session.nodes.to_vec()).map(|it| it.address).collect();
            }
            Record::Interval(interval) => {
                let ops = interval.commands.into_iter().map(|(name, command)| (name, command.ops));
                let nodes = interval.nodes.into_iter();
                let nodes = nodes.map(|(node, part)| (addresses[usize::from(node)].clone(), part.ops));
                let counts = [ops.collect(), nodes.collect(), interval.errors, interval.redirects];
                let Sums { ops, nodes, errors, redirects } = &mut sums;
                for (sum, counts) in [ops, nodes, errors, redirects].into_iter().zip(counts) {
                    counts.into_iter().for_each(|(name, n)| *sum.entry(name).or_default() += n);
                }
            }
            _ => {}
        }
    }
    sums
}

/// How often these nodes carried a command out.
fn calls(nodes: &Nodes, which: std::ops::Range<usize>, command: &str) -> u64 {
    nodes.0[which].iter().map(|node| node.calls(&[], command)).sum()
}

fn reset(nodes: &Nodes) {
    nodes.0.iter().for_each(|node| drop(node.cli(&["CONFIG", "RESETSTAT"])));
}

/// Asserts that nothing failed, and that the nodes carried out what the run counted, each what it counted of it.
fn assert_agreement(nodes: &Nodes, sums: &Sums) {
    assert_eq!(sums.errors, BTreeMap::new());
    assert_eq!(calls(nodes, 0..6, "get"), sums.ops["GET"], "{sums:?}");
    // A replica counts the writes of its primary too.
    assert_eq!(calls(nodes, PRIMARIES, "set"), sums.ops["SET"], "{sums:?}");
    for (n, node) in nodes.0.iter().enumerate() {
        let sets = if PRIMARIES.contains(&n) { node.calls(&[], "set") } else { 0 };
        let address = format!("127.0.0.1:{}", node.port());
        let counted = sums.nodes.get(&address).copied().unwrap_or_default();
        assert_eq!(counted, node.calls(&[], "get") + sets, "{address}: {sums:?}");
    }
}

#[test]
fn reads_go_where_they_are_to_go_and_the_counts_are_those_of_the_nodes() {
    for recipe in recipes() {
        let nodes = cluster(recipe);
        for (from, at_primaries, at_replicas) in
            [("primary", true, false), ("replica", false, true), ("any", true, true)]
        {
            reset(&nodes);
            let outcome = start(&nodes, &["-n", "6000", "--read-from", from]).end().expect_code(0);
            let sums = sums(&outcome);
            assert_agreement(&nodes, &sums);
            assert_eq!(sums.redirects, BTreeMap::new(), "{from}");
            let asked = |which| calls(&nodes, which, "get") > 1000;
            assert_eq!((asked(PRIMARIES), asked(REPLICAS)), (at_primaries, at_replicas), "{from}");
            for replica in &nodes.0[REPLICAS] {
                let readonly = replica.calls(&[], "readonly");
                assert_eq!((1..=12).contains(&readonly), at_replicas, "once on each connection: {readonly}");
            }
        }
        reset(&nodes);
        let outcome = start(&nodes, &["-n", "6000", "--read-from", "nearest"]).end().expect_code(0);
        assert_agreement(&nodes, &sums(&outcome));
    }
}

#[test]
fn the_nearest_is_the_node_that_answers_pings_first() {
    let port = free_port().to_string();
    let slow = ["--fault", "slow ping 50ms node 1", "--fault", "slow ping 50ms node 4"];
    let demo = ["demo", "-p", &port, "--nodes", "2", "--replicas", "1"];
    let demo = Running::start(redyno(&[&demo[..], &slow].concat()));
    demo.wait_for_lines(1, "a cluster of 2 primary nodes and 2 replicas");
    let load = ["-p", &port, "--headless", "--json", "--yes", "--ratio", "0:1", "-c", "3", "--rate", "2k"];
    let running = Running::start(redyno(&[&load[..], &["--read-from", "nearest"]].concat()));
    // Before the first medians, primaries are read. Node 0 is the slow primary, node 1 its replica, node 3 the slow one.
    running.wait_for_record("reads from the others alone", |record| match record {
        Record::Interval(interval) => interval.nodes.keys().eq(&[1, 2]).then_some(()),
        _ => None,
    });
    running.signal(Signal::INT);
    running.end();
    demo.signal(Signal::INT);
    demo.end();
}

#[test]
fn the_counts_agree_through_a_handover_to_a_replica() {
    for recipe in recipes() {
        let nodes = cluster(recipe);
        reset(&nodes);
        let running = start(&nodes, &["--read-from", "any", "--rate", "1000"]);
        running.wait_for_lines(3, r#""kind":"interval""#);
        nodes.hand_over_to(3);
        running.wait_for_lines(1, r#""event":"failover""#);
        running.wait_for_lines(12, r#""kind":"interval""#);
        running.signal(Signal::INT);
        let sums = sums(&running.end());
        assert_eq!(sums.errors, BTreeMap::new());
        assert_eq!(calls(&nodes, 0..6, "get"), sums.ops["GET"], "{sums:?}");
    }
}

#[test]
fn a_replica_that_refuses_reads_is_replaced_by_its_primary_and_this_is_counted() {
    let nodes = cluster(Server::redis);
    let replica = &nodes.0[3];
    // Its primary has no password, so that the replica cannot log in there again.
    for words in [
        &["CONFIG", "SET", "replica-serve-stale-data", "no"][..],
        &["CONFIG", "SET", "masterauth", "wrong"],
        &["CLIENT", "KILL", "TYPE", "master"],
    ] {
        replica.cli(words);
    }
    wait_for("the loss of the link", || {
        replica.cli(&["INFO", "replication"]).contains("master_link_status:down").then_some(())
    });
    reset(&nodes);
    let outcome = start(&nodes, &["-n", "20000", "--read-from", "replica"]).end().expect_code(0);
    let sums = sums(&outcome);
    assert_agreement(&nodes, &sums);
    assert!(sums.redirects["MASTERDOWN"] > 0 && sums.redirects["no-replica"] > 1000, "{sums:?}");
    assert_eq!((replica.calls(&[], "get"), nodes.0[0].calls(&[], "get") > 1000), (0, true));
    let shown =
        run(&["-p", &nodes.0[0].port_text(), "--headless", "--load", "--yes", "-n", "2000", "-c", "5"]
            .into_iter()
            .chain(["--read-from", "replica"])
            .collect::<Vec<_>>());
    assert!(shown.out.contains("another node of the cluster: no-replica"), "{}", shown.out);
}

#[test]
fn a_replica_that_is_killed_is_replaced_by_its_primary() {
    let mut nodes = cluster(Server::redis);
    let running = start(&nodes, &["--read-from", "replica"]);
    running.wait_for_lines(2, r#""kind":"interval""#);
    nodes.0[3].kill();
    running.wait_for_lines(1, r#""no-replica":"#);
    running.wait_for_lines(1, r#""error":"no-replica""#);
    running.signal(Signal::INT);
    let sums = sums(&running.end());
    assert!(nodes.0[0].calls(&[], "get") > 0, "{sums:?}");
    assert!(sums.errors.keys().all(|kind| kind == "reset"), "{sums:?}");
}

#[test]
fn a_primary_without_a_cluster_gets_the_writes_and_its_replicas_the_reads() {
    let servers = copies();
    let at = |server: &Server| format!("127.0.0.1:{}", server.port());
    for (from, at_primary) in [("replica", false), ("any", true), ("nearest", true)] {
        servers.iter().for_each(|server| drop(server.cli(&["CONFIG", "RESETSTAT"])));
        let outcome = start_at(&servers[0], &["-n", "20000", "--read-from", from]).end().expect_code(0);
        let sums = sums(&outcome);
        assert_eq!((&sums.errors, &sums.redirects), (&BTreeMap::new(), &BTreeMap::new()), "{from}");
        for (n, server) in servers.iter().enumerate() {
            let own = server.calls(&[], "get") + if n == 0 { server.calls(&[], "set") } else { 0 };
            assert_eq!(sums.nodes.get(&at(server)).copied().unwrap_or_default(), own, "{from}: {sums:?}");
            assert_eq!(server.calls(&[], "readonly"), 0);
        }
        assert_eq!(servers.iter().map(|server| server.calls(&[], "get")).sum::<u64>(), sums.ops["GET"]);
        assert_eq!(servers[0].calls(&[], "set"), sums.ops["SET"]);
        assert!(from == "nearest" || (servers[0].calls(&[], "get") > 1000) == at_primary, "{from}: {sums:?}");
        assert!(from == "nearest" || servers[2].calls(&[], "get") > 1000, "{from}: {sums:?}");
        assert_eq!(servers[0].cli(&["DBSIZE"]), "0", "no key and no marker");
    }
    let outcome =
        run(&["-p", &servers[1].port_text(), "--headless", "--load", "--read-from", "any", "-n", "9"]);
    assert!(outcome.err.contains("neither a node of a cluster nor a primary with replicas"), "{outcome:?}");
}

#[test]
fn a_replica_without_a_cluster_that_is_killed_is_replaced_by_the_other() {
    let mut servers = copies();
    let running = start_at(&servers[0], &["--read-from", "replica"]);
    running.wait_for_lines(2, r#""kind":"interval""#);
    servers[1].kill();
    let before = servers[2].calls(&[], "get");
    wait_for("reads from the other", || (servers[2].calls(&[], "get") > before + 2000).then_some(()));
    servers[2].kill();
    running.wait_for_lines(1, r#""no-replica":"#);
    running.signal(Signal::INT);
    let sums = sums(&running.end());
    assert!(servers[0].calls(&[], "get") > 0 && sums.redirects["no-replica"] > 0, "{sums:?}");
    assert_eq!(sums.nodes[&format!("127.0.0.1:{}", servers[0].port())], {
        servers[0].calls(&[], "get") + servers[0].calls(&[], "set")
    });
    assert!(sums.errors.keys().all(|kind| kind == "reset"), "{sums:?}");
    assert!(sums.errors.values().sum::<u64>() <= 2 * 12 * 4, "{sums:?}");
}

#[test]
fn while_a_primary_without_a_cluster_is_away_its_replicas_are_read() {
    let mut servers = copies();
    let args = ["--headless", "--json", "--ratio", "0:1", "-c", "6", "--read-from", "replica"];
    let running = Running::start(redyno(&[&["-p", &servers[0].port_text()], &args[..]].concat()));
    running.wait_for_lines(2, r#""kind":"interval""#);
    servers[0].kill();
    for server in &servers[1..] {
        let before = server.calls(&[], "get");
        wait_for("reads", || (server.calls(&[], "get") > before + 2000).then_some(()));
    }
    running.signal(Signal::INT);
    assert_eq!(sums(&running.end()).errors, BTreeMap::new());
}

#[test]
fn a_choice_of_nodes_that_has_no_effect_is_refused_in_one_line() {
    let (alone, nodes) = (Server::redis().start(), Nodes::start(Server::redis, false));
    let refused = |server: &Server, more: &[&str], code: i32, why: &str| {
        let port = server.port_text();
        let args = [&["-p", &port], &LOAD[..], &["-n", "10"], more].concat();
        let err = run(&args).expect_code(code).err;
        let lines: Vec<_> = err.lines().filter(|line| line.contains("--read-from")).collect();
        assert!(lines.len() == 1 && lines[0].contains(why), "{err}");
    };
    refused(&alone, &["--read-from", "replica"], 2, "is neither a node of a cluster nor a primary with");
    refused(&nodes.0[0], &["--read-from", "any", "--one-node"], 2, "no effect with --one-node");
    refused(&nodes.0[0], &["--read-from", "nearest", "--redact"], 2, "needs PINGs to all nodes");
    refused(&alone, &["--read-from", "slave"], 2, "'slave' must be primary, replica, any, nearest");
}

#[test]
fn versus_reads_from_the_replicas_of_both_targets_and_refuses_a_target_without_replicas() {
    let (one, other) = (copies(), copies());
    let uri = |server: &Server| format!("redis://127.0.0.1:{}", server.port());
    let (a, b) = (uri(&one[0]), uri(&other[0]));
    let words = ["--read-from", "replica", "--part", "0.25", "-c", "4", "--anyway", "--json", "--yes"];
    let running = Running::start(redyno(&[&["versus", &a, &b], &words[..]].concat()));
    running.wait_for_lines(1, r#""kind":"pair""#);
    running.signal(Signal::INT);
    running.end_of_writing().expect_code(130);
    for servers in [&one, &other] {
        let reads = servers.each_ref().map(|server| server.calls(&[], "get") > 0);
        assert_eq!((reads, servers[0].calls(&[], "set") > 0), ([false, true, true], true));
        assert_eq!(servers[0].cli(&["DBSIZE"]), "0", "no key and no marker");
    }
    let alone = Server::redis().start();
    let refused = run(&["versus", &a, &uri(&alone), "--read-from", "any"]).expect_code(2).err;
    let part = format!("127.0.0.1:{} is neither a node of a cluster nor a primary with", alone.port());
    assert!(refused.contains(&part) && refused.lines().count() == 1, "{refused}");
}

#[test]
fn the_benchmark_reads_from_where_it_is_asked_to_and_writes_to_primaries() {
    let nodes = cluster(Server::valkey);
    let port = nodes.0[0].port_text();
    for (mode, at_primaries, at_replicas) in [("no", true, false), ("yes", false, true), ("all", true, true)]
    {
        reset(&nodes);
        let options = ["-t", "get,set", "-n", "2000", "-q", "--rfr", mode];
        run(&[&["bench", "-p", &port, "--cluster"], &options[..]].concat()).expect_code(0);
        assert_eq!((calls(&nodes, 0..6, "get"), calls(&nodes, PRIMARIES, "set")), (2000, 2000), "{mode}");
        let asked = |which| calls(&nodes, which, "get") > 100;
        assert_eq!((asked(PRIMARIES), asked(REPLICAS)), (at_primaries, at_replicas), "{mode}");
    }
    let without = Nodes::start(Server::redis, false);
    let port = without.0[0].port_text();
    let lacking = run(&["bench", "-p", &port, "--cluster", "--rfr", "yes", "-t", "get", "-n", "3000", "-q"]);
    let lacking = lacking.expect_code(0).err;
    assert!(lacking.contains("a master has no replica that answers"), "{lacking}");
}

#[test]
fn memtier_reads_from_replicas_if_that_is_preferred_and_says_if_there_are_none() {
    let nodes = cluster(Server::redis);
    let port = nodes.0[0].port_text();
    let words =
        ["memtier", "--cluster-mode", "-p", &port, "-t", "1", "-c", "4", "-n", "500", "--ratio", "1:4"];
    let words = [&words[..], &["--hide-histogram", "--read-preference", "secondary"]].concat();
    reset(&nodes);
    let outcome = run(&words).expect_code(0);
    assert!(!outcome.err.contains("no replica"), "{}", outcome.err);
    // Replicas count the writes that they copy.
    assert_eq!(calls(&nodes, PRIMARIES, "set"), 400);
    assert_eq!((calls(&nodes, PRIMARIES, "get"), calls(&nodes, REPLICAS, "get")), (0, 1600));
    let without = Nodes::start(Server::redis, false);
    let port = without.0[0].port_text();
    let words =
        ["memtier", "--cluster-mode", "-p", &port, "-n", "50", "--read-preference", "secondaryPreferred"];
    let lacking = run(&words).expect_code(0).err;
    assert!(lacking.contains("reads of its keys go to this primary\n"), "{lacking}");
}
