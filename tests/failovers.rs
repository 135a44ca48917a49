//! A session follows the servers that it watches: nodes that join and leave, and servers that take over from others.

use std::{
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpStream},
    time::{Duration, Instant},
};

use redyno::{events::EventKind, session::Record};
use rustix::process::Signal;

use crate::support::{
    Server, cli_at,
    named_pair::NamedPair,
    nodes::{Nodes, recipes},
    program::{Outcome, Running, redyno, run},
    sentinels::Sentinels,
    wait_for,
};

/// In records of the last of six nodes: then all are known.
const OF_THE_LAST_NODE: &str = r#""node":5,"#;

/// Watches the server that these options name, without load.
fn watch(options: &[&str]) -> Running {
    let running = Running::start(redyno(&[options, &["--headless", "--json"]].concat()));
    running.wait_for_lines(1, r#""kind":"ping""#);
    running
}

fn end(running: Running) -> Outcome {
    running.signal(Signal::INT);
    running.end()
}

/// A failover in the records: the number of its node, the servers from and to, length and error in seconds.
#[derive(Debug)]
pub struct Seen {
    node: u16,
    servers: [SocketAddr; 2],
    pub length_s: f64,
    error_s: f64,
    epoch: Option<u64>,
    cause: Option<String>,
}

fn failovers(records: &[Record]) -> Vec<Seen> {
    let seen = |record: &Record| match record {
        Record::Event(event) => match event.what.clone() {
            EventKind::Failover { from, to, length_s, error_s, epoch, cause, .. } => {
                let servers = [from, to].map(|address| address.parse().unwrap());
                Some(Seen { node: event.node, servers, length_s, error_s, epoch, cause })
            }
            _ => None,
        },
        _ => None,
    };
    records.iter().filter_map(seen).collect()
}

fn at(port: u16) -> SocketAddr {
    ([127, 0, 0, 1], port).into()
}

/// Asserts that there was one failover, between the servers with these ports, and returns it.
pub fn one(outcome: &Outcome, ports: [u16; 2]) -> Seen {
    one_between(outcome, ports.map(at))
}

fn one_between(outcome: &Outcome, servers: [SocketAddr; 2]) -> Seen {
    let mut seen = failovers(&outcome.records());
    assert_eq!(seen.len(), 1, "{seen:?}");
    let seen = seen.remove(0);
    assert_eq!(seen.servers, servers);
    seen
}

#[test]
fn a_node_that_joins_a_watched_cluster_is_measured_and_one_that_leaves_is_reported() {
    for recipe in recipes() {
        let mut nodes = Nodes::start(recipe, false);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("watched.jsonl");
        let file = file.to_str().unwrap();
        let running = watch(&["-p", &nodes.0[0].port_text(), "--record", file]);
        nodes.join(recipe());
        (0..3).for_each(|slot| nodes.move_slot(slot, 0, 3));
        running.wait_for_lines(1, r#""event":"node_joined""#);
        running.wait_for("its figures", |out| {
            let has = |kind: &str| {
                let kind = format!(r#""kind":"{kind}""#);
                out.lines().any(|line| line.contains(&kind) && line.contains(r#""node":3,"#))
            };
            (has("ping") && has("server") && has("segment")).then_some(())
        });
        (0..3).for_each(|slot| nodes.move_slot(slot, 3, 0));
        let address = format!("127.0.0.1:{}", nodes.0[3].port());
        nodes.leave();
        running.wait_for_lines(1, r#""event":"node_left""#);
        let records = end(running).records();
        let printed: Vec<_> = records
            .iter()
            .filter_map(|record| match record {
                Record::Event(event) => match &event.what {
                    EventKind::NodeJoined { address } => Some(("joined", event.node, address.clone())),
                    EventKind::NodeLeft { address } => Some(("left", event.node, address.clone())),
                    _ => None,
                },
                _ => None,
            })
            .collect();
        assert_eq!(printed, [("joined", 3, address.clone()), ("left", 3, address.clone())]);
        let seen = failovers(&records);
        assert!(seen.is_empty(), "slots that move are no failover: {seen:?}");
        let ticket = folder.path().join("ticket.md");
        run(&["report", file, "-o", ticket.to_str().unwrap()]).expect_code(0);
        let ticket = std::fs::read_to_string(ticket).unwrap();
        assert!(ticket.contains(&format!("## watched.jsonl, {address}")), "{ticket}");
        let export = run(&["export", file, "--format", "json", "--target", "3"]).expect_code(0);
        assert!(export.out.contains("segments"), "{}", export.out);
    }
}

#[test]
fn a_replica_that_joins_a_watched_primary_is_measured() {
    let servers = [Server::redis().start(), Server::redis().start()];
    let running = watch(&["-p", &servers[0].port_text()]);
    servers[1].cli(&["REPLICAOF", "127.0.0.1", &servers[0].port_text()]);
    running.wait_for("its PINGs", |out| {
        out.lines()
            .any(|line| line.contains(r#""kind":"ping""#) && line.contains(r#""node":1,"#))
            .then_some(())
    });
    end(running);
}

#[test]
fn a_handover_of_a_cluster_is_one_failover_and_no_request_is_lost() {
    for recipe in recipes() {
        let nodes = Nodes::start(recipe, true);
        let running = watch(&["-p", &nodes.0[0].port_text()]);
        running.wait_for_lines(1, OF_THE_LAST_NODE);
        nodes.hand_over_to(4);
        running.wait_for_lines(1, r#""event":"failover""#);
        let seen = one(&end(running), [nodes.0[1].port(), nodes.0[4].port()]);
        assert!(seen.epoch.is_some_and(|epoch| epoch > 6), "{seen:?}");
        assert!(seen.cause.as_ref().is_some_and(|cause| cause.contains("replica")), "{seen:?}");
    }
}

#[test]
fn a_primary_of_a_cluster_that_is_killed_is_one_failover_with_its_length_epoch_and_cause() {
    for recipe in recipes() {
        let mut nodes = Nodes::start(recipe, true);
        let running = watch(&["-p", &nodes.0[0].port_text()]);
        running.wait_for_lines(1, OF_THE_LAST_NODE);
        nodes.0[2].kill();
        running.wait_for_lines(1, r#""event":"failover""#);
        let outcome = end(running);
        let seen = one(&outcome, [nodes.0[2].port(), nodes.0[5].port()]);
        assert!(seen.length_s > 0.5 && seen.error_s > 0.0, "{seen:?}");
        assert!(seen.epoch.is_some_and(|epoch| epoch > 6), "{seen:?}");
        assert!(seen.cause.as_ref().is_some_and(|cause| cause.contains("failed")), "{seen:?}");
        let order = |part: &str| outcome.out.lines().position(|line| line.contains(part)).unwrap();
        assert!(order(r#""event":"ping_lost""#) < order(r#""event":"failover""#));
        assert!(seen.node > 0);
    }
}

#[test]
fn sentinels_name_the_primary_and_load_ping_and_figures_follow_their_failover() {
    let ([mut old, new], sentinels) = Sentinels::of_pair(Server::redis);
    // Entries of the slow log and of the latency monitor that are older than the session.
    new.cli(&["CONFIG", "SET", "slowlog-log-slower-than", "0", "latency-monitor-threshold", "1"]);
    new.cli(&["EVAL", "for i = 1, 3000000 do end", "0"]);
    let quiet = ["CONFIG", "SET", "slowlog-log-slower-than", "-1", "latency-monitor-threshold", "0"];
    [&old, &new].into_iter().for_each(|server| drop(server.cli(&quiet)));
    let uri = sentinels.uri();
    let running = Running::start(redyno(&["-u", &uri, "--headless", "--json", "--ratio", "0:1", "--yes"]));
    wait_for("load on the primary", || (old.calls(&[], "get") > 1000).then_some(()));
    let role = r#""role":"master""#;
    running.wait_for_lines(1, role);
    old.kill();
    running.wait_for_lines(1, r#""event":"failover""#);
    wait_for("the first Sentinel", || (sentinels.primary() == Some(new.port())).then_some(()));
    wait_for("load on the new primary", || (new.calls(&[], "get") > 1000).then_some(()));
    let seen_now = running.out().lines().count();
    running.wait_for("figures and PINGs of the new primary", |out| {
        let of_first = |kind: &str| {
            let kind = format!(r#""kind":"{kind}""#);
            let is_it = |line: &&str| line.contains(&kind) && !line.contains(r#""node":"#);
            out.lines()
                .skip(seen_now)
                .any(|line| is_it(&line) && (kind.contains("ping") || line.contains(role)))
        };
        (of_first("ping") && of_first("server")).then_some(())
    });
    let outcome = end(running);
    let is_of_other_server = |record: &Record| match record {
        Record::Event(event) if event.node == 0 => {
            use EventKind::{MoreSlowCommands, Restarted, SlowCommand, SlowEvent};
            matches!(event.what, Restarted | SlowCommand { .. } | MoreSlowCommands { .. } | SlowEvent { .. })
        }
        _ => false,
    };
    let strange: Vec<_> = outcome.records().into_iter().filter(is_of_other_server).collect();
    assert!(strange.is_empty(), "another server is no restart, and its logs are older: {strange:?}");
    let seen = one(&outcome, [old.port(), new.port()]);
    assert!(seen.node == 0 && seen.length_s > 0.4 && seen.epoch.is_some_and(|epoch| epoch > 0), "{seen:?}");
    let cause = seen.cause.as_deref().unwrap_or_default();
    assert!(
        cause.starts_with("the Sentinels agreed that the old primary was down; the Sentinel "),
        "{seen:?}"
    );
}

#[test]
fn a_service_that_sentinels_do_not_know_is_refused_in_one_line() {
    let ([primary, _replica], sentinels) = Sentinels::of_pair(Server::redis);
    let uri = format!("redis+sentinel://127.0.0.1:{}/other", sentinels.ports[0]);
    let refused = run(&["-u", &uri, "--headless", "--duration", "1"]).expect_code(1);
    assert!(refused.err.contains("no Sentinel of a service 'other'"), "{}", refused.err);
    assert_eq!(refused.err.trim_end().lines().count(), 1, "{}", refused.err);
    let wrong = format!("redis+sentinel://127.0.0.1:{}/main", primary.port());
    let refused = run(&["-u", &wrong, "--headless", "--duration", "1"]).expect_code(1);
    assert!(refused.err.contains("no Sentinel of a service 'main'"), "{}", refused.err);
}

#[test]
fn a_name_whose_address_changes_is_one_failover_and_load_ping_and_figures_follow_it() {
    let Some(mut pair) = NamedPair::start() else { return };
    let running = pair.watch(&["-c", "4", "--rate", "2000", "--ratio", "0:1", "--yes"]);
    wait_for("load on the first", || (pair.servers[0].calls(&[], "get") > 1000).then_some(()));
    pair.servers[0].kill();
    running.wait_for_lines(1, r#""event":"ping_lost""#);
    pair.lead_to(1);
    running.wait_for_lines(1, r#""event":"failover""#);
    let lines = running.out().lines().count();
    wait_for("load on the second", || (pair.servers[1].calls(&[], "get") > 1000).then_some(()));
    running.wait_for("figures and PINGs of the second", |out| {
        let has = |kind: &str| out.lines().skip(lines).any(|line| line.contains(kind));
        (has(r#""kind":"server""#) && has(r#""kind":"ping""#)).then_some(())
    });
    let outcome = end(running);
    let seen = one_between(&outcome, pair.addresses);
    assert!(seen.node == 0 && seen.length_s > 0.0 && seen.error_s > 0.0 && seen.epoch.is_none(), "{seen:?}");
    assert!(outcome.out.contains(r#""by":"name""#), "{}", outcome.out);
    let Some(Record::End(end)) = outcome.records().pop() else { panic!("{}", outcome.out) };
    let sum = end.summary;
    let errors: u64 = sum.errors.values().sum();
    assert!(errors > 0 && sum.due == sum.ops + errors + sum.shed + sum.unsent, "{sum:?}");
}

/// What an independent client sees, which sends a request every 2 ms: the length from when its first lost request was due
/// to the arrival of the first good reply after it. `primary` returns the servers that may answer now, and is asked before
/// each try.
fn measured(question: &str, first: SocketAddr, mut primary: impl FnMut() -> Vec<SocketAddr>) -> f64 {
    let try_at = |address: SocketAddr| -> Option<()> {
        let stream = TcpStream::connect_timeout(&address, Duration::from_millis(100)).ok()?;
        stream.set_read_timeout(Some(Duration::from_millis(100))).ok()?;
        (&stream).write_all(question.as_bytes()).ok()?;
        let mut line = String::new();
        BufReader::new(&stream).read_line(&mut line).ok()?;
        (line.starts_with([':', '+', '$'])).then_some(())
    };
    let mut lost = None;
    loop {
        let due = Instant::now();
        let servers = if lost.is_none() { vec![first] } else { primary() };
        let is_good = servers.into_iter().any(|address| try_at(address).is_some());
        match (is_good, lost) {
            (false, None) => lost = Some(due),
            (true, Some(since)) => return since.elapsed().as_secs_f64(),
            _ => {}
        }
        std::thread::sleep(Duration::from_millis(2).saturating_sub(due.elapsed()));
    }
}

fn assert_close(seen: &Seen, other_s: f64) {
    println!(
        "{:.1} ms, beside it {:.1} ms, +{:.1} ms",
        seen.length_s * 1e3,
        other_s * 1e3,
        seen.error_s * 1e3
    );
    assert!((seen.length_s - other_s).abs() <= 0.05, "{seen:?}, another client measured {other_s} s");
}

#[test]
#[ignore = "it measures times, on an idle machine"]
fn the_length_of_failovers_of_a_cluster_is_that_which_another_client_measures() {
    for n in 0..10 {
        let recipe = if n % 2 == 0 { Server::redis } else { Server::valkey };
        let mut nodes = Nodes::start(recipe, true);
        let (old, new) = (nodes.0[2].port(), nodes.0[5].port());
        // CLUSTER SLOTS names a replica once it has copied something.
        nodes.0[2].cli(&["SET", "foo", "1"]);
        wait_for("the replica", || {
            nodes.0[0].cli(&["CLUSTER", "SLOTS"]).lines().any(|line| line == new.to_string()).then_some(())
        });
        let running = watch(&["-p", &nodes.0[0].port_text()]);
        let beside = std::thread::spawn(move || measured("EXISTS foo\r\n", at(old), || vec![at(new)]));
        assert_eq!(cli_at(old, &["CLUSTER", "KEYSLOT", "foo"]), "12182");
        std::thread::sleep(Duration::from_millis(300));
        nodes.0[2].kill();
        let beside_s = beside.join().unwrap();
        running.wait_for_lines(1, r#""event":"failover""#);
        assert_close(&one(&end(running), [old, new]), beside_s);
    }
}

#[test]
#[ignore = "it measures times, on an idle machine"]
fn the_length_of_failovers_of_sentinels_is_that_which_another_client_measures() {
    for n in 0..10 {
        let ([mut old, new], sentinels) = Sentinels::of_pair(Server::redis);
        let (ports, old_port) = (sentinels.ports.clone(), old.port());
        let load = ["-c", "4", "--rate", "2000", "--ratio", "0:1", "--yes"];
        let running = watch(&[&["-u", &sentinels.uri()], &load[..7 * (n % 2)]].concat());
        let named = move || {
            let ask = |port: &u16| -> Option<u16> {
                let stream = TcpStream::connect(("127.0.0.1", *port)).ok()?;
                (&stream).write_all(b"SENTINEL GET-MASTER-ADDR-BY-NAME main\r\n").ok()?;
                BufReader::new(&stream).lines().nth(4)?.ok()?.parse().ok()
            };
            ports.iter().filter_map(ask).filter(|port| *port != old_port).map(at).collect()
        };
        let beside = std::thread::spawn(move || measured("PING\r\n", at(old_port), named));
        std::thread::sleep(Duration::from_millis(300));
        old.kill();
        let beside_s = beside.join().unwrap();
        running.wait_for_lines(1, r#""event":"failover""#);
        assert_close(&one(&end(running), [old.port(), new.port()]), beside_s);
    }
}

#[test]
#[ignore = "it measures times, on an idle machine"]
fn the_length_of_failovers_of_a_name_is_that_which_another_client_measures() {
    for n in 0..10 {
        let Some(mut pair) = NamedPair::start() else { return };
        let load = ["-c", "4", "--rate", "2000", "--ratio", "0:1", "--yes"];
        let running = pair.watch(&load[..7 * (n % 2)]);
        let (first, path) = (pair.addresses[0], pair.hosts.path().to_owned());
        let named = move || vec![NamedPair::led_to(&path, first.port())];
        let beside = std::thread::spawn(move || measured("PING\r\n", first, named));
        std::thread::sleep(Duration::from_millis(300));
        pair.servers[0].kill();
        std::thread::sleep(Duration::from_millis(200 + 37 * n as u64));
        pair.lead_to(1);
        let beside_s = beside.join().unwrap();
        running.wait_for_lines(1, r#""event":"failover""#);
        assert_close(&one_between(&end(running), pair.addresses), beside_s);
    }
}
