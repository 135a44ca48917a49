//! A load on a cluster from the command line: its counts are those of the nodes, there is one question about all
//! primaries, and a node that does not answer holds up neither the start nor the end.

use std::collections::BTreeMap;

use redyno::{events::EventKind, session::Record};
use rustix::process::Signal;

use crate::support::{
    Server, cli_at,
    nodes::{Nodes, recipes},
    program::{Outcome, Running, redyno, run},
    wait_for,
};

/// A load that writes and reads, on any node of a cluster.
const LOAD: [&str; 11] =
    ["--headless", "--json", "--ratio", "1:1", "-r", "20000", "-c", "12", "-P", "4", "--yes"];

fn start(node: &Server, more: &[&str]) -> Running {
    Running::start(redyno(&[&["-p", &node.port_text()], &LOAD[..], more].concat()))
}

fn load(node: &Server, more: &[&str]) -> Outcome {
    start(node, more).end()
}

/// Operations, errors and redirects of a run, by name.
fn sums(outcome: &Outcome) -> [BTreeMap<String, u64>; 3] {
    let mut sums: [BTreeMap<String, u64>; 3] = Default::default();
    for record in outcome.records() {
        let Record::Interval(interval) = record else { continue };
        let ops = interval.commands.iter().map(|(name, command)| (name.clone(), command.ops));
        let counts = [ops.collect(), interval.errors.clone(), interval.redirects.clone()];
        for (sum, counts) in sums.iter_mut().zip(counts) {
            counts.into_iter().for_each(|(name, n)| *sum.entry(name).or_default() += n);
        }
    }
    sums
}

/// Asserts that nothing failed, and that the nodes together carried out what the run counted. Returns the redirects.
fn assert_agreement(outcome: &Outcome, nodes: &Nodes) -> BTreeMap<String, u64> {
    let [ops, errors, redirects] = sums(outcome);
    assert_eq!(errors, BTreeMap::new(), "{}", outcome.err);
    for command in ["GET", "SET"] {
        assert_eq!(nodes.calls(&command.to_lowercase()), ops[command], "{command}");
    }
    redirects
}

/// No key is left on any node.
fn assert_empty(nodes: &Nodes, outcome: &Outcome) {
    for node in &nodes.0 {
        assert_eq!(node.cli(&["KEYS", "*"]), "", "{}", outcome.err);
    }
}

#[test]
fn the_counts_of_a_run_are_those_of_the_nodes_and_no_key_is_left() {
    for recipe in recipes() {
        let nodes = Nodes::start(recipe, false);
        for node in [&nodes.0[1], &nodes.0[2]] {
            nodes.0.iter().for_each(|node| drop(node.cli(&["CONFIG", "RESETSTAT"])));
            let outcome = load(node, &["-n", "30000"]).expect_code(0);
            assert_eq!(assert_agreement(&outcome, &nodes), BTreeMap::new());
            assert!(nodes.0.iter().all(|node| node.calls(&[], "get") > 3000), "the load is spread");
            assert!(outcome.err.contains("loaded with the whole cluster"), "{}", outcome.err);
            assert_empty(&nodes, &outcome);
        }
    }
}

#[test]
fn a_batch_of_a_closed_loop_goes_to_one_node() {
    let nodes = Nodes::start(Server::redis, false);
    let reads = || -> u64 {
        let stats = nodes.0.iter().map(|node| node.cli(&["INFO", "stats"]));
        let of = |stats: String| {
            let line = stats.lines().find_map(|line| line.strip_prefix("total_reads_processed:"));
            line.unwrap().trim().parse::<u64>().unwrap()
        };
        stats.map(of).sum()
    };
    let before = reads();
    let outcome = load(&nodes.0[0], &["-n", "40003", "--no-prefill"]).expect_code(0);
    assert_eq!(assert_agreement(&outcome, &nodes), BTreeMap::new());
    assert_eq!(sums(&outcome)[0].values().sum::<u64>(), 40_003);
    // Batches of 4 that are divided over three nodes are 2.4 reads each.
    let batches = 40_003 / 4;
    assert!(reads() - before < batches * 3 / 2, "{} reads", reads() - before);
}

#[test]
fn the_counts_agree_through_a_live_reshard_and_keys_are_removed_wherever_they_moved() {
    for recipe in recipes() {
        let nodes = Nodes::start(recipe, false);
        let running = start(&nodes.0[0], &["--rate", "3000"]);
        running.wait_for_lines(4, r#""kind":"interval""#);
        (0..60).for_each(|slot| nodes.move_slot(slot, 0, 1));
        running.wait_for("a redirect", |out| out.contains(r#""MOVED":"#).then_some(()));
        running.signal(Signal::INT);
        let outcome = running.end();
        let redirects = assert_agreement(&outcome, &nodes);
        assert!(redirects.get("MOVED").is_some_and(|n| *n > 0), "{redirects:?}");
        assert_empty(&nodes, &outcome);
    }
}

#[test]
fn there_is_one_question_about_all_primaries_and_without_an_answer_nothing_is_written() {
    let nodes = Nodes::start(Server::redis, false);
    for (node, key) in nodes.0.iter().zip(["{1}", "{2}", "{3}"]) {
        // Whatever node a key belongs to, `redis-cli -c` finds it.
        assert_eq!(cli_at(node.port(), &["-c", "SET", key, "a user's"]), "OK");
    }
    let args = ["-p", &nodes.0[2].port_text(), "--headless", "--load", "-n", "10"];
    let outcome = run(&args).expect_code(2);
    let question =
        format!("the cluster of 127.0.0.1:{} (3 primaries) holds 3 keys; the load", nodes.0[2].port());
    assert_eq!(outcome.err.matches("the load writes keys").count(), 1, "{}", outcome.err);
    assert!(outcome.err.contains(&question), "{}", outcome.err);
    let keys: u64 = nodes.0.iter().map(|node| node.cli(&["DBSIZE"]).parse::<u64>().unwrap()).sum();
    assert_eq!(keys, 3);
}

#[test]
fn with_one_node_the_others_get_nothing() {
    let nodes = Nodes::start(Server::redis, false);
    let outcome = load(&nodes.0[0], &["-n", "5000", "--one-node"]).expect_code(0);
    let [_, errors, _] = sums(&outcome);
    assert!(errors["MOVED"] > 1000, "{errors:?}");
    assert!(outcome.err.contains("without --one-node, redyno loads all nodes"), "{}", outcome.err);
    assert!(nodes.0[1..].iter().all(|node| node.calls(&[], "get") + node.calls(&[], "set") == 0));
    assert_empty(&nodes, &outcome);
}

#[test]
fn too_few_connections_are_refused_and_a_limit_holds() {
    let nodes = Nodes::start(Server::redis, false);
    let limited = |most| ["-n", "20000", "--threads", "2", "--max-connections", most];
    let outcome = load(&nodes.0[0], &limited("13")).expect_code(2);
    let refused = "--max-connections 13 is less than the 14 connections that 12 clients need";
    assert!(outcome.err.contains(refused), "{}", outcome.err);
    let outcome = load(&nodes.0[0], &limited("14")).expect_code(0);
    assert_agreement(&outcome, &nodes);
}

#[test]
fn a_primary_that_does_not_answer_is_named_before_the_load() {
    let mut nodes = Nodes::start(Server::redis, false);
    nodes.0[1].kill();
    let outcome = load(&nodes.0[0], &["-n", "100"]).expect_code(1);
    let address = format!("127.0.0.1:{}", nodes.0[1].port());
    let lines: Vec<_> = outcome.err.lines().filter(|line| line.contains("nothing is written")).collect();
    assert!(lines.len() == 1 && lines[0].contains(&address), "{}", outcome.err);
    for node in [&nodes.0[0], &nodes.0[2]] {
        assert_eq!((node.calls(&[], "get"), node.cli(&["KEYS", "*"])), (0, String::new()), "{}", outcome.err);
    }
}

#[test]
fn a_node_that_hangs_does_not_prolong_the_load() {
    let nodes = Nodes::start(Server::redis, false);
    let running = start(&nodes.0[0], &["--duration", "3", "--timeout", "1"]);
    running.wait_for_lines(1, r#""kind":"interval""#);
    nodes.0[1].pause();
    // The load ends, and then the keys of the node that hangs cannot be removed.
    running.wait_for_lines(1, r#""kind":"end""#);
    nodes.0[1].resume();
    running.end();
    wait_for("the cluster", || {
        nodes.0[0].cli(&["CLUSTER", "INFO"]).contains("cluster_state:ok").then_some(())
    });
}

/// Kills node 1 under load, and waits until its connections are lost. Returns the running load, and the node's address.
fn kill_under_load(nodes: &mut Nodes) -> (Running, String) {
    let running = start(&nodes.0[0], &["--timeout", "1"]);
    running.wait_for_lines(4, r#""kind":"interval""#);
    nodes.0[1].kill();
    running.wait_for_lines(1, r#""event":"connections_lost""#);
    (running, format!("127.0.0.1:{}", nodes.0[1].port()))
}

/// Ends the load, and returns the texts of its events about lost connections, without their times.
fn connection_events(running: Running) -> Vec<String> {
    running.signal(Signal::INT);
    let is_of_load = |what: &EventKind| ["load lost", "load back"].contains(&what.name());
    let events = running.end().records().into_iter().filter_map(|record| match record {
        Record::Event(event) if is_of_load(&event.what) => Some(event.what),
        _ => None,
    });
    events.map(|what| what.to_string().split(" after ").next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn connections_to_a_dead_primary_are_back_when_this_primary_is_back() {
    let mut nodes = Nodes::start(Server::redis, false);
    let (running, dead) = kill_under_load(&mut nodes);
    // The clients of the dead node are connected to other nodes long before.
    running.wait_for("five intervals without the node", |out| {
        let (_, since) = out.split_once(r#""event":"connections_lost""#)?;
        assert!(!since.contains(r#""event":"connections_back""#), "the node is dead: {since}");
        (since.matches(r#""kind":"interval""#).count() >= 5).then_some(())
    });
    nodes.0[1].restart();
    running.wait_for_lines(1, r#""event":"connections_back""#);
    let reported = connection_events(running);
    assert!(reported[0].contains(&format!(" to {dead}: ")), "{reported:?}");
    assert_eq!(reported.last(), Some(&format!("{dead} accepts connections again")), "{reported:?}");
}

#[test]
fn connections_to_a_dead_primary_are_no_longer_missed_when_its_replica_takes_over() {
    for recipe in recipes() {
        let mut nodes = Nodes::start(recipe, true);
        let (running, dead) = kill_under_load(&mut nodes);
        running.wait_for_lines(1, r#""event":"connections_back""#);
        let (reported, heir) = (connection_events(running), nodes.0[4].port());
        assert!(reported[0].contains(&format!(" to {dead}: ")), "{reported:?}");
        assert!(reported.contains(&format!("127.0.0.1:{heir} serves the slots of {dead}")), "{reported:?}");
    }
}
