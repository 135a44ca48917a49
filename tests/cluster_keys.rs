//! Keys of a load on a cluster: through reshards and `kill -9`, exactly those of the run are removed, by the end of the
//! session or by `redyno clean`, and a user's keys stay as they were.

use std::collections::BTreeMap;

use redyno::session::Record;
use rustix::process::Signal;

use crate::support::{
    Server, cli_at,
    nodes::{Nodes, recipes},
    program::{Running, redyno, run},
    wait_for,
};

/// Keys and values of a user, also in redyno's namespace.
fn write_users_keys(nodes: &Nodes) {
    for n in 0..40 {
        for key in ["user", "redyno"] {
            let set = ["-c", "SET", &format!("{key}:{n}"), &format!("value {n}")];
            assert_eq!(cli_at(nodes.0[0].port(), &set), "OK");
        }
    }
}

/// The keys and values of all nodes.
fn keys(nodes: &Nodes) -> BTreeMap<String, String> {
    let mut keys = BTreeMap::new();
    for node in &nodes.0 {
        for key in node.cli(&["KEYS", "*"]).lines().filter(|key| !key.is_empty()) {
            let value = node.cli(&["GET", key]);
            assert!(keys.insert(key.to_owned(), value).is_none(), "{key} is on two nodes");
        }
    }
    keys
}

fn start(nodes: &Nodes, more: &[&str]) -> Running {
    let port = nodes.0[0].port_text();
    let args =
        ["-p", &port, "--headless", "--json", "--ratio", "1:1", "-r", "5000", "-c", "8", "-P", "4", "--yes"];
    let running = Running::start(redyno(&[&args[..], more].concat()));
    running.wait_for_lines(3, r#""kind":"interval""#);
    running
}

/// Starts a load, kills it, and waits until its connections are gone.
fn kill_a_load(nodes: &Nodes) {
    let running = start(nodes, &[]);
    running.signal(Signal::KILL);
    running.end();
    for node in &nodes.0 {
        wait_for("the end of its connections", || node.load_ids().is_empty().then_some(()));
    }
}

fn clean(node: &Server) -> String {
    run(&["clean", "-p", &node.port_text()]).expect_code(0).out
}

/// The slot of the list of runs on a node.
fn list_slot(node: &Server) -> u16 {
    let list = node.cli(&["KEYS", "redyno:runs*"]);
    node.cli(&["CLUSTER", "KEYSLOT", &list]).parse().unwrap()
}

#[test]
fn a_killed_run_is_cleaned_up_through_any_node_although_keys_and_markers_have_moved() {
    for recipe in recipes() {
        let nodes = Nodes::start(recipe, false);
        write_users_keys(&nodes);
        let before = keys(&nodes);
        kill_a_load(&nodes);
        assert!(nodes.0.iter().all(|node| !node.cli(&["KEYS", "redyno:runs*"]).is_empty()), "a marker each");
        let marker = list_slot(&nodes.0[0]);
        (0..30).chain([marker]).for_each(|slot| nodes.move_slot(slot, 0, 1));
        let printed =
            run(&["-p", &nodes.0[2].port_text(), "--headless", "--duration", "4"]).expect_code(0).err;
        assert_eq!(printed.matches("left its keys here").count(), 1, "{printed}");
        let printed = clean(&nodes.0[2]);
        assert!(printed.contains("(3 primaries): removed "), "{printed}");
        assert_eq!(keys(&nodes), before);
        assert!(clean(&nodes.0[1]).contains("nothing to undo"));
    }
}

#[test]
fn a_slot_that_is_being_moved_hides_no_key() {
    let nodes = Nodes::start(Server::redis, false);
    write_users_keys(&nodes);
    let before = keys(&nodes);
    kill_a_load(&nodes);
    // Half of the keys of one slot have arrived, and so have list and marker.
    let keys_in =
        |slot: u16| nodes.0[0].cli(&["CLUSTER", "COUNTKEYSINSLOT", &slot.to_string()]).parse::<u64>();
    let slot = (0..5461).find(|slot| keys_in(*slot).is_ok_and(|n| n >= 2)).unwrap();
    for (slot, all) in [(slot, false), (list_slot(&nodes.0[0]), true)] {
        nodes.begin_move(slot, 0, 1);
        let found = nodes.0[0].cli(&["CLUSTER", "GETKEYSINSLOT", &slot.to_string(), "100"]);
        let found: Vec<_> = found.lines().collect();
        let moved = if all { found.len() } else { found.len() / 2 };
        let port = nodes.0[1].port_text();
        let migrate = ["MIGRATE", "127.0.0.1", &port, "", "0", "5000", "KEYS"];
        assert_eq!(nodes.0[0].cli(&[&migrate[..], &found[..moved]].concat()), "OK");
    }
    clean(&nodes.0[2]);
    for node in &nodes.0 {
        for key in node.cli(&["KEYS", "redyno:*"]).lines() {
            assert!(before.contains_key(key), "{key} is left");
        }
    }
}

#[test]
fn one_node_cleans_one_node() {
    let nodes = Nodes::start(Server::redis, false);
    kill_a_load(&nodes);
    let port = nodes.0[1].port_text();
    run(&["clean", "-p", &port, "--one-node"]).expect_code(0);
    let left = |n: usize| nodes.0[n].cli(&["DBSIZE"]).parse::<u64>().unwrap();
    assert!(left(1) == 0 && left(0) > 100 && left(2) > 100);
    clean(&nodes.0[0]);
    assert_eq!((left(0), left(2)), (0, 0));
}

#[test]
fn a_primary_that_joins_during_the_load_gets_its_marker_and_keeps_no_key() {
    let mut nodes = Nodes::start(Server::redis, false);
    write_users_keys(&nodes);
    let before = keys(&nodes);
    let running = start(&nodes, &[]);
    nodes.join(Server::redis());
    (0..60).for_each(|slot| nodes.move_slot(slot, 0, 3));
    wait_for("the marker on the new primary", || {
        (!nodes.0[3].cli(&["KEYS", "redyno:runs*"]).is_empty()).then_some(())
    });
    running.signal(Signal::TERM);
    let outcome = running.end();
    assert!(outcome.err.contains("removed "), "{}", outcome.err);
    assert_eq!(keys(&nodes), before, "{}", outcome.err);
}

#[test]
fn a_promoted_replica_keeps_no_key() {
    let nodes = Nodes::start(Server::redis, true);
    let running = start(&nodes, &[]);
    nodes.hand_over_to(3);
    wait_for("load on the new primary", || (nodes.0[3].calls(&[], "get") > 100).then_some(()));
    running.signal(Signal::TERM);
    let outcome = running.end();
    for node in &nodes.0 {
        wait_for("no key", || node.cli(&["KEYS", "*"]).is_empty().then_some(()));
    }
    assert!(!outcome.err.contains("may be left"), "{}", outcome.err);
}

#[test]
fn a_setup_runs_on_all_primaries_and_is_undone_on_all() {
    let nodes = Nodes::start(Server::redis, false);
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("answers.toml");
    let workload = r##"
name = "answers"

[setup]
steps = [
  '''FUNCTION LOAD "#!lua name=answers\nredis.register_function('answer', function() return 42 end)"''',
  'SET {total} 5',
]

[keys.total]
prefix = "total"
count = 1

[[operation]]
name = "answer"
steps = ["FCALL answer 0"]

[[operation]]
name = "total"
steps = ["INCRBY {total} 1"]
"##;
    std::fs::write(&file, workload).unwrap();
    let args = ["-p", &nodes.0[1].port_text(), "--headless", "--json", "--yes", "-n", "3000", "--workload"];
    let outcome = run(&[&args[..], &[file.to_str().unwrap()]].concat()).expect_code(0);
    let failed =
        |record: &Record| matches!(record, Record::Interval(interval) if !interval.errors.is_empty());
    assert!(!outcome.records().iter().any(failed), "{}", outcome.err);
    assert_eq!((nodes.calls("function|load"), nodes.calls("set")), (3, 1));
    assert!(nodes.0.iter().all(|node| node.calls(&[], "fcall") > 300));
    assert_eq!(outcome.err.matches("deleted the function library answers").count(), 3, "{}", outcome.err);
    for node in &nodes.0 {
        assert_eq!(
            (node.cli(&["FUNCTION", "LIST"]), node.cli(&["KEYS", "*"])),
            (String::new(), String::new())
        );
    }
}
