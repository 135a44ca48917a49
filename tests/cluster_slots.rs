//! Operations with several keys: those of one slot, which a cluster carries out, and those of several, which it refuses.

use std::collections::BTreeMap;

use redyno::session::Record;

use crate::support::{
    Server,
    nodes::{Nodes, recipes},
    program::{Outcome, run},
};

/// Sends these commands, `n` in all, to a server that answers on this port.
fn send(server: &Server, n: &str, commands: &str) -> Outcome {
    let (port, words) = (server.port_text(), commands.split(' '));
    let options = ["-p", &port, "--headless", "--json", "--yes", "-r", "60k", "-c", "5", "-n", n, "--"];
    run(&options.into_iter().chain(words).collect::<Vec<_>>())
}

/// Operations and errors of a run, by name.
fn sums(outcome: &Outcome) -> [BTreeMap<String, u64>; 2] {
    let mut sums: [BTreeMap<String, u64>; 2] = Default::default();
    for record in outcome.records() {
        let Record::Interval(interval) = record else { continue };
        let ops = interval.commands.into_iter().map(|(name, command)| (name, command.ops));
        for (sum, counts) in sums.iter_mut().zip([ops.collect(), interval.errors]) {
            counts.into_iter().for_each(|(name, n)| *sum.entry(name).or_default() += n);
        }
    }
    sums
}

const OF_ONE_SLOT: &str = "MSET {key} 1 {key.same_slot} 2 {key.same_slot} 3 ; MGET {key} {key.same_slot} ; DEL {key} {key.same_slot}";

#[test]
fn a_cluster_carries_out_operations_whose_keys_are_of_one_slot() {
    for recipe in recipes() {
        let nodes = Nodes::start(recipe, false);
        let [ops, errors] = sums(&send(&nodes.0[0], "6000", OF_ONE_SLOT).expect_code(0));
        assert_eq!(errors, BTreeMap::new());
        assert_eq!(ops.values().sum::<u64>(), 6000);
        for (command, ops) in &ops {
            assert!(*ops > 1000 && nodes.calls(&command.to_lowercase()) >= *ops, "{command}: {ops}");
        }
        let three = send(&nodes.0[0], "600", "SUNION {key} {key.same_slot} {key.same_slot}");
        let [ops, errors] = sums(&three.expect_code(0));
        assert_eq!((ops["SUNION"], errors), (600, BTreeMap::new()));
        let [_, errors] = sums(&send(&nodes.0[0], "600", "SUNION {key} {key}"));
        assert!(errors["CROSSSLOT"] > 500, "{errors:?}");
        nodes
            .0
            .iter()
            .for_each(|node| assert_eq!(node.cli(&["KEYS", "*"]), "", "its keys are the run's own"));
    }
}

#[test]
fn a_server_alone_gets_keys_of_the_same_set_and_too_few_keys_are_refused() {
    let server = Server::redis().start();
    let [ops, errors] = sums(&send(&server, "3000", OF_ONE_SLOT).expect_code(0));
    assert_eq!((ops.values().sum::<u64>(), errors), (3000, BTreeMap::new()));
    assert_eq!(server.cli(&["KEYS", "*"]), "");
    let port = server.port_text();
    let few = run(&["-p", &port, "--headless", "-r", "10k", "--", "MGET", "{key}", "{key.same_slot}"]);
    let few = few.expect_code(2).err;
    assert!(few.contains("10000 keys are too few for 16384 slots; give at least 32768"), "{few}");
}
