//! A cluster of built-in servers: over sockets, by the tools that people use, and by our own load through its faults.

use std::{collections::BTreeMap, net::SocketAddr, process::Command, time::Duration};

use redyno::{
    demo::{Handle, Options, Size, start_cluster},
    knobs::Knobs,
    load::LoadPlan,
    workload::Workload,
};

use super::client::Client;
use crate::support::{
    session::{Driven, cluster_plan, intervals},
    wait_for,
};

fn cluster(faults: &[&str]) -> Handle {
    let faults = faults.iter().map(|fault| fault.parse().unwrap()).collect();
    start_cluster(&Options { faults, ..Options::default() }, Size { primaries: 3, replicas: 1 }).unwrap()
}

/// The number after `field` in a node's INFO; 0 if the node does not list it.
fn number(node: SocketAddr, field: &str) -> u64 {
    let info = Client::at(node).ask("INFO everything");
    let digits =
        info.split_once(field).map(|(_, rest)| rest.split(|byte: char| !byte.is_ascii_digit()).next());
    digits.flatten().map_or(0, |digits| digits.parse().unwrap())
}

fn calls(cluster: &Handle, command: &str) -> u64 {
    cluster.addresses.iter().map(|node| number(*node, &format!("cmdstat_{command}:calls="))).sum()
}

/// A load on all nodes.
fn driven(cluster: &Handle, workload: Workload) -> Driven {
    let knobs = Knobs { load: true, clients: 8, pipeline: 4, keyspace: 20_000, ..Knobs::default() };
    let plan =
        LoadPlan { timeout: Duration::from_secs(20), ..cluster_plan(cluster.addresses[0].port(), 1000) };
    Driven::start(&plan, Knobs { workload: workload.into(), ..knobs })
}

#[test]
fn a_load_goes_through_a_reshard_without_an_error_and_each_request_is_counted_once() {
    let cluster = cluster(&["reshard 1000 every 50ms"]);
    let mut session = driven(&cluster, (*Workload::ratio(1, 1)).clone());
    session.wait_for("both kinds of redirects", |records| {
        let is_there = |kind| intervals(records).any(|interval| interval.redirects.contains_key(kind));
        (is_there("MOVED") && is_there("ASK")).then_some(())
    });
    let past = session.finish();
    let ops = past.ops();
    assert_eq!(past.errors(), BTreeMap::new());
    assert_eq!((calls(&cluster, "get"), calls(&cluster, "set")), (ops["GET"], ops["SET"]));
}

#[test]
fn a_killed_primary_is_replaced_by_its_replica_and_comes_back_as_one() {
    let cluster = cluster(&["failover node 2 after 500ms"]);
    let [killed, heir] = [1, 4].map(|node| cluster.addresses[node]);
    let session = driven(&cluster, (*Workload::ratio(0, 1)).clone());
    wait_for("load on the heir", || (number(heir, "cmdstat_get:calls=") > 0).then_some(()));
    assert!(Client::at(heir).ask("INFO replication").contains("role:master"));
    let past = session.finish();
    // What was in flight on the lost connections is unknown, and some requests may still wait for the heir at the end.
    let errors = past.errors();
    assert!(errors.keys().all(|kind| ["reset", "unanswered"].contains(&kind.as_str())), "{errors:?}");
    assert!(errors.values().sum::<u64>() <= 8 * 4, "{errors:?}");
    wait_for("the killed node", || std::net::TcpStream::connect(killed).ok());
    let info = Client::at(killed).ask("INFO replication");
    assert!(info.contains("role:slave") && info.contains("master_link_status:up"), "{info}");
}

#[test]
fn a_fault_of_one_node_and_a_hot_slot_are_where_they_belong() {
    let cluster = cluster(&["slow load 200ms node 2", "hot 866 1k"]);
    for (node, slow) in [(0, ":0\r\n"), (1, ":1\r\n"), (2, ":0\r\n")] {
        let mut client = Client::at(cluster.addresses[node]);
        // On a busy machine, any command may take 10 ms.
        assert_eq!(client.ask("CONFIG SET slowlog-log-slower-than 150000"), "+OK\r\n");
        assert_eq!(client.ask("PING"), "+PONG\r\n");
        assert_eq!(client.ask("SLOWLOG LEN"), slow, "node {node}");
    }
    wait_for("the hot slot", || {
        let hottest =
            Client::at(cluster.addresses[0]).ask("CLUSTER SLOT-STATS ORDERBY network-bytes-in LIMIT 1");
        (hottest.starts_with("*1\r\n*2\r\n:866\r\n") && !hottest.contains(":0\r\n$16")).then_some(())
    });
    // The server may still have to notice that the connections of this test are closed.
    wait_for("one connection, so that the hot client has none", || {
        (number(cluster.addresses[0], "connected_clients:") == 1).then_some(())
    });
}

#[test]
fn redis_cli_and_redis_benchmark_accept_the_cluster() {
    let cluster = cluster(&[]);
    let port = cluster.addresses[0].port().to_string();
    let node = format!("127.0.0.1:{port}");
    let run = |tool: &str, args: &[&str]| {
        let output = Command::new(tool).args(args).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{tool} {args:?}: {text}");
        text
    };
    let check = run("redis-cli", &["--cluster", "check", &node]);
    assert!(check.contains("[OK] All nodes agree about slots configuration."), "{check}");
    assert!(check.contains("[OK] All 16384 slots covered."), "{check}");
    assert_eq!(run("redis-cli", &["-c", "-p", &port, "SET", "foo", "1"]), "OK\n");
    let args = ["-p", &port, "--cluster", "-n", "3000", "-t", "get,set", "-r", "1000", "--csv"];
    assert_eq!(run("redis-benchmark", &args).lines().filter(|line| line.starts_with("\"")).count(), 3);
    assert!(cluster.addresses[..3].iter().all(|node| number(*node, "cmdstat_set:calls=") > 100));
}
