//! `--probe-lag`: how long writes take to their replicas is measured, markers are few, asked about and removed, and a
//! replica that shows none is reported.

use std::{
    collections::BTreeMap,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::mpsc::channel,
    time::{Duration, Instant},
};

use redyno::{
    events::EventKind,
    gauge::Gauge,
    session::{Event, Record},
};
use rustix::process::Signal;

use crate::{
    cluster_reads::copies,
    support::{
        Server,
        nodes::{Nodes, recipes},
        program::{Outcome, Running, redyno, run},
        terminal::{loaded, quit},
        wait_for,
    },
};

fn start(server: &Server) -> Running {
    let port = server.port_text();
    Running::start(redyno(&["-p", &port, "--headless", "--json", "--probe-lag", "--yes"]))
}

fn end(running: Running) -> Outcome {
    running.signal(Signal::INT);
    running.end()
}

/// The measured lags by the number of the node, in microseconds.
fn lags(outcome: &Outcome) -> BTreeMap<u16, Vec<f64>> {
    let mut lags: BTreeMap<u16, Vec<f64>> = BTreeMap::new();
    for record in outcome.records() {
        if let Record::Server(moment) = record
            && let Some(us) = moment.body.gauges.get(Gauge::MeasuredLag)
        {
            lags.entry(moment.node).or_default().push(us);
        }
    }
    lags
}

/// The results at the end: the replicas with how many markers they have shown, and the median in seconds.
fn results(outcome: &Outcome) -> Vec<(String, u64, f64)> {
    let result = |record| match record {
        Record::Event(Event { what: EventKind::LagMeasured { replica, markers, p50_us, .. }, .. }) => {
            Some((replica, markers, p50_us / 1e6))
        }
        _ => None,
    };
    outcome.records().into_iter().filter_map(result).collect()
}

/// A primary and its replica.
fn pair() -> (Server, Server) {
    let (primary, replica) = (Server::redis().start(), Server::redis().start());
    replica.cli(&["REPLICAOF", "127.0.0.1", &primary.port_text()]);
    wait_for_link(&replica);
    (primary, replica)
}

fn wait_for_link(replica: &Server) {
    wait_for("the link", || {
        replica.cli(&["INFO", "replication"]).contains("master_link_status:up").then_some(())
    });
}

#[test]
fn each_replica_of_a_cluster_has_a_lag_and_no_marker_is_left() {
    for recipe in recipes() {
        // The first primary has two replicas.
        let mut nodes = Nodes::start(recipe, true);
        nodes.join(recipe());
        nodes.0[6].cli(&["CLUSTER", "REPLICATE", &nodes.id(0)]);
        wait_for_link(&nodes.0[6]);
        let second = nodes.0[6].port_text();
        wait_for("both replicas", || nodes.0[0].cli(&["CLUSTER", "SLOTS"]).contains(&second).then_some(()));
        let (began, running) = (Instant::now(), start(&nodes.0[0]));
        for replica in &nodes.0[3..] {
            wait_for("markers on each", || (replica.calls(&[], "get") > 8).then_some(()));
        }
        running.wait_for_lines(8, r#""replication_lag_us":"#);
        let outcome = end(running);
        let markers: u64 = nodes.0[..3].iter().map(|node| node.calls(&[], "set")).sum();
        assert!(markers as f64 <= 10.0 * began.elapsed().as_secs_f64() + 3.0, "{markers} markers");
        let results = results(&outcome);
        let shown: u64 = results.iter().map(|(_, markers, _)| markers).sum();
        assert!(results.len() == 4 && shown <= markers && shown + 4 >= markers, "{results:?} of {markers}");
        for (n, node) in nodes.0.iter().enumerate() {
            let is_replica = results.iter().any(|(address, ..)| address.ends_with(&node.port_text()));
            assert_eq!(is_replica, n >= 3, "{results:?}");
            assert_eq!(node.cli(&["KEYS", "*"]), "", "{}", outcome.err);
        }
        assert_eq!(lags(&outcome).len(), 4);
        assert!(!outcome.err.contains("lag:"), "{}", outcome.err);
    }
}

/// Connects a replica to its primary through a relay that passes on what the primary sends after a delay.
fn delay_replication(primary: u16, replica: &Server, delay: Duration) {
    let relay = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = relay.local_addr().unwrap().port().to_string();
    std::thread::spawn(move || {
        for replica in relay.incoming().map_while(Result::ok) {
            let primary = TcpStream::connect(("127.0.0.1", primary)).unwrap();
            let (mut from_replica, mut to_primary) =
                (replica.try_clone().unwrap(), primary.try_clone().unwrap());
            std::thread::spawn(move || std::io::copy(&mut from_replica, &mut to_primary));
            let (passed, due) = channel::<(Instant, Vec<u8>)>();
            let (mut from_primary, mut to_replica) = (primary, replica);
            std::thread::spawn(move || {
                let mut buffer = [0; 65_536];
                while let Ok(n @ 1..) = from_primary.read(&mut buffer) {
                    passed.send((Instant::now() + delay, buffer[..n].to_vec())).unwrap();
                }
            });
            std::thread::spawn(move || {
                for (at, bytes) in due {
                    std::thread::sleep(at.saturating_duration_since(Instant::now()));
                    to_replica.write_all(&bytes).unwrap();
                }
            });
        }
    });
    replica.cli(&["REPLICAOF", "127.0.0.1", &port]);
    wait_for_link(replica);
}

#[test]
fn a_replica_whose_link_takes_a_second_has_a_lag_of_a_second() {
    let (primary, replica) = (Server::redis().start(), Server::redis().start());
    delay_replication(primary.port(), &replica, Duration::from_secs(1));
    let running = start(&primary);
    running.wait_for_lines(4, r#""replication_lag_us":"#);
    let outcome = end(running);
    let (results, longest_us) = (results(&outcome), lags(&outcome)[&1].iter().copied().fold(0.0, f64::max));
    assert!(results.len() == 1 && (0.5..5.0).contains(&results[0].2), "{results:?}");
    assert!((0.5e6..5e6).contains(&longest_us), "{longest_us}");
    assert_eq!(primary.cli(&["KEYS", "*"]), "");
}

#[test]
fn the_replicas_of_a_primary_have_markers_of_their_own() {
    let (primary, _replica) = pair();
    let second = Server::redis().start();
    second.cli(&["REPLICAOF", "127.0.0.1", &primary.port_text()]);
    wait_for_link(&second);
    let running = start(&primary);
    wait_for("a key for each", || (primary.cli(&["KEYS", "*"]).lines().count() == 2).then_some(()));
    end(running);
    assert_eq!(primary.cli(&["KEYS", "*"]), "");
}

#[test]
fn a_replica_that_shows_no_marker_is_reported_and_is_measured_again_when_it_follows() {
    let (primary, replica) = pair();
    let running = start(&primary);
    running.wait_for_lines(2, r#""replication_lag_us":"#);
    // The primary has no password, so that the replica cannot log in there again, and goes on with its old data.
    replica.cli(&["CONFIG", "SET", "masterauth", "wrong"]);
    replica.cli(&["CLIENT", "KILL", "TYPE", "master"]);
    running.wait_for_lines(1, r#""event":"lag_unmeasured""#);
    let shown = replica.calls(&[], "get");
    replica.cli(&["CONFIG", "SET", "masterauth", ""]);
    wait_for_link(&replica);
    let markers = primary.calls(&[], "set");
    wait_for("more markers", || (primary.calls(&[], "set") > markers + 4).then_some(()));
    let outcome = end(running);
    assert!(shown > 10 && outcome.out.contains("did not arrive within 10 s"), "{}", outcome.err);
    let longest_us = lags(&outcome)[&1].iter().copied().fold(0.0, f64::max);
    assert!(longest_us > 9e6, "a lag without an end is shown while it grows: {longest_us}");
}

#[test]
fn no_connection_of_redyno_counts_as_another_client() {
    let [primary, replicas @ ..] = copies();
    let options = ["--probe-lag", "--read-from", "replica", "--rate", "500", "--yes"];
    let mut terminal = loaded(&primary, &options);
    for replica in &replicas {
        wait_for("markers on each", || (replica.calls(&[], "get") > 8).then_some(()));
    }
    let is_own = |line: &&str| ["redyno-", "flags=S", "cmd=client|list"].iter().any(|own| line.contains(own));
    // A connection that was opened at this moment has no name yet. The load reads from the replicas, too.
    wait_for("names of all connections, and one connection for the markers of each replica", || {
        let list = primary.cli(&["CLIENT", "LIST"]);
        let is_named = list.lines().all(|line| is_own(&line));
        (is_named && list.matches("name=redyno-lag").count() == 2).then_some(())
    });
    // Two seconds after a change of the load, the number of clients in INFO is compared with redyno's own.
    let polls = primary.calls(&[], "slowlog|get") + 5;
    wait_for("polls", || (primary.calls(&[], "slowlog|get") > polls).then_some(()));
    // A poll may have counted a connection of this test.
    wait_for("the second segment", || {
        terminal.press(":rate max\r");
        let begins = terminal.wait_for("an answer", |screen| match screen {
            screen if screen.contains("seg 2 rate max") => Some(true),
            screen => screen.contains("y yes").then_some(false),
        });
        if !begins {
            terminal.press("n");
            terminal.wait_until_gone("y yes");
        }
        begins.then_some(())
    });
    quit(terminal, &primary);
}

#[test]
fn it_asks_before_it_writes_and_is_refused_where_it_has_no_effect() {
    let (primary, replica) = pair();
    primary.cli(&["SET", "a", "1"]);
    let err = |server: &Server, more: &[&str], code| {
        let port = server.port_text();
        let args = [&["-p", &port, "--headless", "--duration", "1", "--probe-lag"], more].concat();
        run(&args).expect_code(code).err
    };
    let asked = err(&primary, &[], 2);
    let question = "--probe-lag writes keys under redyno:";
    assert!(asked.contains("holds 1 key and serves 1 replica; ") && asked.contains(question), "{asked}");
    assert_eq!((primary.calls(&[], "set"), primary.cli(&["KEYS", "*"])), (1, "a".to_owned()));
    let of_replica = err(&replica, &["--yes"], 1);
    assert!(of_replica.contains(" is a read-only replica; name its primary, 127.0.0.1:"), "{of_replica}");
    for (more, why) in [(&["--one-node"][..], "--one-node"), (&["--redact"], "--redact")] {
        assert!(err(&primary, more, 2).contains(why), "{more:?}");
    }
    let memcached = Server::memcached().start();
    let uri = format!("memcached://127.0.0.1:{}", memcached.port());
    let refused = run(&["-u", &uri, "--headless", "--probe-lag", "--yes"]).expect_code(2).err;
    assert!(refused.contains("this session watches no replicas"), "{refused}");
}
