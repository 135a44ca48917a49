//! In a cluster, receivers get the messages of all slots, also after a slot has moved or a node has died.

use redyno::protocol::key_slot;
use rustix::process::Signal;

use crate::{
    messages::{built_in, received, receivers, session, summary},
    support::{
        Server,
        nodes::Nodes,
        program::{Running, redyno, run},
        wait_for,
    },
};

/// Workloads with receivers, how many receivers get a message, and the command that sends.
const KINDS: [(&str, u64, &str); 8] = [
    ("pubsub receivers=6 channels=2", 3, "publish"),
    ("sharded-pubsub receivers=2 channels=30", 1, "spublish"),
    ("sharded-pubsub receivers=6 channels=2", 3, "spublish"),
    ("queue", 1, "rpush"),
    ("queue receivers=2 queues=9", 1, "rpush"),
    ("stream", 1, "xadd"),
    ("stream receivers=1", 1, "xadd"),
    ("stream kind=stream receivers=8", 2, "xadd"),
];

/// A session that sends messages to sharded channels until `end`, a receiver for every three of them.
fn sharded(port: &str, end: [&str; 2]) -> Running {
    let workload = "sharded-pubsub receivers=5 channels=15";
    Running::start(redyno(&session(port, workload, &[&end[..], &["--rate", "1500"]].concat())))
}

/// Returns the names of the sharded channels that have subscribers at a node.
fn channels(node: &Server) -> Vec<String> {
    node.cli(&["PUBSUB", "SHARDCHANNELS"]).lines().filter(|it| !it.is_empty()).map(str::to_owned).collect()
}

#[test]
fn every_message_is_received_from_the_node_of_its_slot() {
    let nodes = Nodes::start(Server::redis, false);
    let port = nodes.0[1].port_text();
    for (workload, fan_out, command) in KINDS {
        nodes.0.iter().for_each(|node| drop(node.cli(&["CONFIG", "RESETSTAT"])));
        let records = run(&session(&port, workload, &["-n", "600", "-c", "5"])).expect_code(0).records();
        let sum = summary(&records);
        let (_, got) = received(sum);
        assert_eq!((sum.ops, nodes.calls(command)), (600, 600), "{workload}");
        assert_eq!(
            (got.times.count(), got.lost, got.doubled),
            (600 * fan_out, Some(0), 0),
            "{workload}: {got:?}"
        );
        assert_eq!((got.reconnects, got.late, got.unclear), (0, 0, 0), "{workload}: {got:?}");
        assert!(nodes.0.iter().all(|node| node.cli(&["DBSIZE"]) == "0"), "{workload}");
        let senders = nodes.0.iter().filter(|node| node.calls(&[], command) > 0).count();
        assert!(senders == 3 || !workload.ends_with("channels=30"), "{workload}: {senders} nodes");
    }
}

#[test]
fn messages_of_a_pipelined_closed_loop_are_all_sent() {
    let nodes = Nodes::start(Server::redis, false);
    let file = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    let workload = "[keys.c]\ncount = 30\n[receivers]\nkind = 'sharded-pubsub'\nkeys = 'c'\ncount = 2\n\
        [[operation]]\nname = 'publish'\nsteps = ['SPUBLISH {c} {stamp}']\n";
    std::fs::write(&file, workload).unwrap();
    let (port, path) = (nodes.0[1].port_text(), file.path().to_str().unwrap());
    let args = session(&port, path, &["--duration", "1", "-c", "1", "-P", "16"]);
    let records = run(&args).expect_code(0).records();
    let (sum, (_, got)) = (summary(&records), received(summary(&records)));
    assert_eq!((got.times.count(), got.lost), (sum.ops, Some(0)), "none is dropped at the end: {got:?}");
}

#[test]
fn a_receiver_follows_its_channel_to_another_node_and_what_it_misses_is_counted() {
    let nodes = Nodes::start(Server::redis, false);
    let running = sharded(&nodes.0[0].port_text(), ["-n", "6000"]);
    receivers(&nodes.0[0], &running);
    let name = channels(&nodes.0[0]).pop().expect("one of fifteen channels is at this node");
    nodes.move_slot(key_slot(name.as_bytes()), 0, 2);
    wait_for("the subscriber at the new owner", || channels(&nodes.0[2]).contains(&name).then_some(()));
    let records = running.end_of_writing().expect_code(0).records();
    let sum = summary(&records);
    let (_, got) = received(sum);
    assert_eq!((sum.ops, got.times.count() + got.lost.unwrap()), (6000, 6000), "{got:?}");
    assert_eq!((got.reconnects, got.doubled, got.late, got.receivers), (0, 0, 0, 5), "{got:?}");
    let all_lost: u64 = got.by_receiver.iter().map(|one| one.lost).sum();
    let losers = got.by_receiver.iter().filter(|one| one.lost > 0).count();
    assert!(losers <= 1 && Some(all_lost) == got.lost, "{:?}", got.by_receiver);
}

#[test]
fn receivers_follow_their_channels_to_the_replica_of_a_dead_node() {
    let mut nodes = Nodes::start(Server::redis, true);
    let running = sharded(&nodes.0[1].port_text(), ["--duration", "120"]);
    receivers(&nodes.0[0], &running);
    // A handover while both nodes are alive, and a failover.
    let handed_over = channels(&nodes.0[1]);
    nodes.hand_over_to(4);
    let names = channels(&nodes.0[0]);
    nodes.0[0].kill();
    for (names, heir) in [(handed_over, 4), (names, 3)] {
        let heir = &nodes.0[heir];
        assert!(!names.is_empty());
        wait_for("the subscribers at the new owner", || {
            names.iter().all(|name| channels(heir).contains(name)).then_some(())
        });
    }
    running.signal(Signal::INT);
    let records = running.end().records();
    let sum = summary(&records);
    let (_, got) = received(sum);
    let sent = sum.ops + sum.errors.values().sum::<u64>();
    assert_eq!(sent + sum.shed + sum.unsent, sum.due, "{sum:?}");
    // A late message was counted as lost before it arrived.
    let counted = got.times.count() + got.lost.unwrap() - got.late;
    assert_eq!((counted, got.doubled), (sent, 0), "{got:?}");
    assert!(got.lost > Some(0) && got.reconnects > 0 && got.receivers == 5, "{got:?}");
}

#[test]
fn receivers_that_cannot_work_in_a_cluster_are_refused_in_one_line() {
    let (_demo, port) = built_in(&["-p", "0", "--nodes", "2"]);
    for workload in ["tracking", "tracking kind=broadcast", "keyspace", "queue kind=move"] {
        let outcome = run(&session(&port, workload, &["-n", "5"]));
        let name = workload.split(' ').next().unwrap();
        let line = format!(
            "the workload '{name}' has receivers (connections that wait for messages), which work only with one server, not with a cluster"
        );
        assert!(outcome.code() != 0 && outcome.err.contains(&line), "{outcome:?}");
        assert_eq!((outcome.err.lines().count(), outcome.out.as_str()), (1, ""), "{outcome:?}");
    }
}
