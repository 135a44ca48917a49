//! A cluster of one node, and one node of a cluster (`--one-node`): redyno talks to it alone, says so, and removes its
//! keys one slot at a time.

use std::collections::BTreeSet;

use crate::support::{
    Server, cli_at,
    program::{Outcome, Running, redyno, run},
    wait_for,
};
use rustix::process::Signal;

const CLUSTER: [&str; 2] = ["--cluster-enabled", "yes"];

fn both() -> [Server; 2] {
    [Server::redis().with_args(&CLUSTER).start(), Server::valkey().with_args(&CLUSTER).start()]
}

fn wait_until_ok(server: &Server) {
    wait_for("the cluster's state", || {
        server.cli(&["CLUSTER", "INFO"]).contains("cluster_state:ok").then_some(())
    });
}

/// Two nodes with half of the slots each.
pub fn two() -> [Server; 2] {
    let nodes = [Server::redis().with_args(&CLUSTER).start(), Server::redis().with_args(&CLUSTER).start()];
    nodes[0].cli(&["CLUSTER", "ADDSLOTSRANGE", "0", "8191"]);
    nodes[1].cli(&["CLUSTER", "ADDSLOTSRANGE", "8192", "16383"]);
    nodes[1].cli(&["CLUSTER", "SET-CONFIG-EPOCH", "2"]);
    nodes[0].cli(&["CLUSTER", "MEET", "127.0.0.1", &nodes[1].port_text()]);
    nodes.iter().for_each(wait_until_ok);
    nodes
}

fn load(server: &Server, more: &[&str]) -> Outcome {
    let port = server.port_text();
    let args =
        ["-p", &port, "--headless", "--json", "--ratio", "1:1", "-r", "3000", "-c", "5", "-n", "20000"];
    run(&[&args[..], more].concat()).expect_code(0)
}

#[test]
fn a_node_with_all_slots_takes_the_load_and_has_no_key_left() {
    for server in both() {
        server.cli(&["CLUSTER", "ADDSLOTSRANGE", "0", "16383"]);
        wait_until_ok(&server);
        server.cli(&["SET", "redyno:foo", "a user's"]);
        let outcome = load(&server, &["--yes"]);
        assert!(outcome.err.contains("removed "), "{}", outcome.err);
        assert_eq!(
            (server.cli(&["DBSIZE"]), server.cli(&["GET", "redyno:foo"])),
            ("1".into(), "a user's".into())
        );
        assert!(!outcome.err.contains("MOVED"), "{}", outcome.err);
    }
}

#[test]
fn a_killed_run_is_found_on_its_node_and_cleaned_up() {
    for server in both() {
        server.cli(&["CLUSTER", "ADDSLOTSRANGE", "0", "16383"]);
        wait_until_ok(&server);
        let port = server.port_text();
        let running =
            Running::start(redyno(&["-p", &port, "--headless", "--json", "--ratio", "1:0", "-r", "700"]));
        // Before it writes it asks whether the server has other clients.
        running.wait_for_lines(1, r#""kind":"interval""#);
        // Its 700 keys, its marker, and the list of markers.
        wait_for("all its keys", || (server.cli(&["DBSIZE"]) == "702").then_some(()));
        running.signal(Signal::KILL);
        running.end();
        wait_for("its connections to be gone", || server.load_ids().is_empty().then_some(()));
        let next = Running::start(redyno(&["-p", &port, "--headless"]));
        wait_for("its keys to be named", || next.said().contains("left its keys here").then_some(()));
        next.signal(Signal::INT);
        next.end();
        let cleaned = run(&["clean", "-p", &port]).expect_code(0);
        assert!(cleaned.out.contains("removed 700 keys in "), "{}", cleaned.out);
        assert_eq!(server.cli(&["DBSIZE"]), "0");
    }
}

#[test]
fn a_node_with_half_of_the_slots_keeps_nothing_and_what_moved_means_is_reported_once() {
    for (n, node) in two().iter().enumerate() {
        let outcome = load(node, &["--one-node"]);
        assert_eq!(
            outcome.err.matches("MOVED: the load goes to this node of the cluster only").count(),
            1,
            "{}",
            outcome.err
        );
        assert_eq!(node.cli(&["DBSIZE"]), "0", "node {n}: {}", outcome.err);
    }
}

#[test]
fn a_node_without_a_slot_is_named_as_such() {
    let server =
        Server::redis().with_args(&CLUSTER).with_args(&["--cluster-require-full-coverage", "no"]).start();
    let port = server.port_text();
    let outcome = run(&["-p", &port, "--headless", "--load", "--duration", "0.5"]).expect_code(1);
    let names_it = ["holds no slot", "0 of 16 384 slots assigned", "no slot of this cluster has an owner"]
        .iter()
        .any(|words| outcome.err.contains(words));
    assert!(names_it, "{}", outcome.err);
}

#[test]
fn the_slots_of_keys_are_those_that_the_server_computes() {
    let server = Server::redis().with_args(&CLUSTER).start();
    server.cli(&["CLUSTER", "ADDSLOTSRANGE", "0", "16383"]);
    wait_until_ok(&server);
    let slots: BTreeSet<_> = ["123456789", "foo", "a{foo}b", "{}foo", "{foo"]
        .map(|key| cli_at(server.port(), &["CLUSTER", "KEYSLOT", key]))
        .into();
    assert_eq!(slots, ["12739", "12182", "9500", "13308"].map(str::to_owned).into());
}
