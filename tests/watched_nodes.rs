//! Several servers in one session: the nodes of a cluster, a primary with its replicas, servers side by side.

use std::{
    collections::BTreeSet,
    fs::{DirEntry, read_dir, read_to_string},
    net::TcpStream,
};

use redyno::{demo, export::Format, server::Status, session::Record};
use rustix::process::Signal;

use crate::{
    cluster::two,
    metrics::ask,
    support::{
        Server, free_port,
        program::{Running, records, redyno, run},
        terminal::{DOWN, Terminal, quit},
        wait_for,
    },
};

fn uri(port: u16) -> String {
    format!("redis://127.0.0.1:{port}")
}

/// A primary and a replica of it that has its data.
pub fn pair() -> [Server; 2] {
    let servers = [Server::redis().start(), Server::redis().start()];
    servers[1].cli(&["REPLICAOF", "127.0.0.1", &servers[0].port_text()]);
    wait_for("the replica", || {
        servers[1].cli(&["INFO", "replication"]).contains("master_link_status:up").then_some(())
    });
    servers
}

/// The ports of the nodes that a session without load watches, and how many PINGs each has answered.
fn watched(args: &[&str]) -> Vec<(u16, u64)> {
    let outcome = run(&[args, &["--headless", "--json", "--duration", "1.5"]].concat()).expect_code(0);
    let records = outcome.records();
    let Some(Record::Session(session)) = records.first() else { panic!("{records:?}") };
    let addresses = std::iter::once(&session.target).chain(session.nodes.iter());
    let answered = |node: u16| {
        let pings = records.iter().filter(|record| record.is_of(node));
        pings.map(|record| if let Record::Ping(span) = record { span.body.rtt.count() } else { 0 }).sum()
    };
    let port = |address: &str| address.rsplit(':').next().unwrap().parse().unwrap();
    (0..).zip(addresses).map(|(node, it)| (port(&it.address), answered(node))).collect()
}

#[test]
fn a_primary_is_watched_with_its_replica_whichever_of_them_is_named() {
    let [primary, replica] = pair();
    for (named, other) in [(&primary, &replica), (&replica, &primary)] {
        let seen = watched(&["-p", &named.port_text()]);
        let ports: Vec<_> = seen.iter().map(|(port, _)| *port).collect();
        assert_eq!(ports, [named.port(), other.port()]);
        assert!(seen.iter().all(|(_, pings)| *pings > 0), "{seen:?}");
        assert_eq!(watched(&["-p", &named.port_text(), "--one-node"]).len(), 1);
    }
}

#[test]
fn an_export_of_the_session_with_a_replica_is_the_export_of_its_recording() {
    let [primary, _replica] = pair();
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let (port, recording) = (primary.port_text(), file("s.jsonl"));
    let load = ["-p", &port, "--load", "--headless", "--yes", "--rate", "1000", "--warmup", "0.5"];
    let names = Format::ALL.map(|format| format.name);
    let exports = names.map(|name| format!("--export={name}:{}", file(name)));
    let exports = exports.iter().map(String::as_str);
    run(&load.into_iter().chain(["-n", "1000", "--record", &recording]).chain(exports).collect::<Vec<_>>())
        .expect_code(0);
    for name in names {
        let of_recording = run(&["export", &recording, "--format", name]).expect_code(0).out;
        assert_eq!(read_to_string(file(name)).unwrap(), of_recording, "{name}");
    }
    let memtier: serde_json::Value =
        serde_json::from_str(&read_to_string(file("memtier-json")).unwrap()).unwrap();
    assert_eq!(memtier["ALL STATS"]["Totals"]["Count"], 1000, "{}", memtier["ALL STATS"]["Totals"]);
}

#[test]
fn all_nodes_of_a_cluster_are_watched_and_nothing_is_written() {
    let nodes = two();
    let ports: Vec<_> = watched(&["-p", &nodes[1].port_text()]).into_iter().map(|(port, _)| port).collect();
    assert_eq!(ports, [nodes[1].port(), nodes[0].port()]);
    assert!(nodes.iter().all(|node| node.cli(&["DBSIZE"]) == "0"));
}

#[test]
fn what_is_asked_about_the_cluster_and_by_pings_is_not_taken_for_commands_of_others() {
    let nodes = two();
    let running = Running::start(redyno(&["-p", &nodes[0].port_text(), "--headless", "--json"]));
    // The topology is requested again after three seconds.
    let statuses = |out: &str| -> Vec<Status> {
        let all = records(out.rsplit_once('\n').map_or("", |(whole, _)| whole));
        let status = |record| if let Record::Server(moment) = record { Some(moment.body) } else { None };
        all.into_iter().filter_map(status).collect()
    };
    let is_asked = |status: &Status| status.command_stats.contains_key("cluster|slots");
    running.wait_for("questions about the cluster", |out| statuses(out).iter().any(is_asked).then_some(()));
    running.signal(Signal::INT);
    for status in statuses(&running.end().out) {
        let others: Vec<_> = status
            .command_stats
            .keys()
            .filter(|name| *name != "ping" && status.of_others(name).is_some())
            .collect();
        assert!(others.is_empty(), "{others:?}: {status:?}");
    }
}

#[test]
fn a_parameter_that_is_changed_at_any_node_is_an_event_of_that_node_and_a_password_is_none() {
    let [primary, replica] = pair();
    let running =
        Running::start(redyno(&["-p", &primary.port_text(), "--headless", "--json", "--with-arguments"]));
    // The first poll of a node has values and no changes.
    running.wait_for("the parameters of both", |out| {
        let known = |node: u16| {
            move |record: &Record| match record {
                Record::Server(moment) => moment.node == node && !moment.body.config.is_empty(),
                _ => false,
            }
        };
        let records = records(out.rsplit_once('\n').map_or("", |(whole, _)| whole));
        [0, 1].into_iter().all(|node| records.iter().any(known(node))).then_some(())
    });
    replica.cli(&["CONFIG", "SET", "masterauth", "geheim", "slowlog-max-len", "77"]);
    running.wait_for_lines(1, r#""node":1,"name":"config","detail":"slowlog-max-len 128 → 77""#);
    running.signal(Signal::INT);
    let outcome = running.end();
    assert_eq!(outcome.out.matches(r#""event":"config_changed""#).count(), 1);
    assert!(!outcome.out.contains("geheim"));
}

#[test]
fn servers_side_by_side_are_watched_without_load_and_one_that_is_dead_holds_up_no_other() {
    let server = Server::redis().start();
    let dead = free_port();
    let seen = watched(&[&uri(server.port()), &uri(dead)]);
    assert_eq!((seen[0].0, seen[1]), (server.port(), (dead, 0)));
    assert!(seen[0].1 > 0, "{seen:?}");
    let refused = run(&[&uri(server.port()), &uri(dead), "--headless", "--load"]).expect_code(2);
    assert!(refused.err.contains("a load needs exactly one server"), "{}", refused.err);
}

#[test]
fn without_a_screen_the_second_server_has_lines_a_row_metrics_and_its_finding_runs_the_command() {
    let mut servers = [Server::redis().start(), Server::redis().start()];
    let address = format!("127.0.0.1:{}", servers[1].port());
    let uris = servers.each_ref().map(|server| uri(server.port()));
    let folder = tempfile::tempdir().unwrap();
    let found = folder.path().join("found.jsonl");
    let (metrics, hook) = (free_port().to_string(), format!("cat >> {}", found.display()));
    let args = ["--headless", "--metrics", &metrics, "--on-finding", &hook];
    let running = Running::start(redyno(&[&[&*uris[0], &*uris[1]], &args[..]].concat()));
    running.wait_for_lines(2, " | ");
    servers[1].pause();
    let finding = wait_for("the command for the finding", || {
        let text = read_to_string(&found).ok()?;
        text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()).next()
    });
    assert_eq!(
        (finding["node"].as_str(), finding["target"].as_str()),
        (Some(&*address), Some(&uris[0][8..]))
    );
    let rule = finding["rule"].as_str().unwrap();
    running.wait_for_lines(1, &format!(" s  {address}  {rule}: "));
    let scraped = wait_for("the finding in the metrics", || {
        let page = ask(TcpStream::connect(("127.0.0.1", metrics.parse().unwrap())).ok()?, "GET /metrics");
        let sample = format!("redyno_node_finding{{node=\"{address}\",rule=\"{rule}\"}} 1\n");
        page.contains(&sample).then_some(page)
    });
    for server in &servers {
        let node = format!("{{node=\"127.0.0.1:{}\"", server.port());
        for name in ["ping_seconds_count", "server_used_memory_bytes"] {
            assert!(scraped.contains(&format!("redyno_node_{name}{node}")), "{name} {node}: {scraped}");
        }
    }
    servers[1].kill();
    running.wait_for_lines(1, &format!(" s  {address}  ping lost: "));
    running.signal(Signal::TERM);
    let outcome = running.end().expect_code(130);
    let summary = outcome.out.rsplit("measured").next().unwrap();
    let row = summary.lines().find(|line| line.starts_with(&format!("  {address} "))).unwrap();
    assert!(row.ends_with(rule) || row.contains(&format!("{rule}, ")), "{summary}");
    let is_found = |line: &str| line.contains(&format!("{address}: ")) && line.contains(rule);
    assert!(summary.lines().any(is_found), "{summary}");
}

#[test]
fn the_screen_lists_the_nodes_and_shows_the_one_that_is_chosen_everywhere() {
    let servers = [Server::redis().start(), Server::valkey().start()];
    let uris = servers.each_ref().map(|server| uri(server.port()));
    let mut terminal = Terminal::start(&redyno(&uris.each_ref().map(String::as_str)), 120, 36);
    terminal.wait_for_text("7 Nodes");
    terminal.press("7");
    for server in &servers {
        terminal.wait_for_text(&format!("127.0.0.1:{}", server.port()));
    }
    terminal.press(DOWN);
    terminal.press("\r");
    let chosen = format!("127.0.0.1:{}", servers[1].port());
    terminal.wait_for("the chosen node in the header", |screen| {
        screen.lines().next()?.contains(&chosen).then_some(())
    });
    terminal.press("3");
    terminal.wait_for_text("CONFIG, only shown");
    terminal.press("\x1b[C");
    terminal.wait_for_text(&format!("of the first node only; run `redyno redis://{chosen}`"));
    terminal.press("1l");
    terminal.wait_for_text("a load needs exactly one server");
    quit(terminal, &servers[0]);
}

#[test]
fn a_node_that_stops_to_answer_is_marked_and_named_with_its_cause() {
    let [primary, mut replica] = pair();
    let mut terminal = Terminal::start(&redyno(&["-p", &primary.port_text()]), 120, 36);
    terminal.wait_for_text("7 Nodes");
    terminal.press("7");
    terminal.wait_for_text(&format!("127.0.0.1:{}", replica.port()));
    terminal.press(DOWN);
    replica.kill();
    terminal.wait_for_text("no answer since");
    quit(terminal, &primary);
}

/// The threads of a session that watches a cluster of this many nodes, without those that measure PING.
fn threads(nodes: usize) -> Vec<String> {
    let size = demo::Size { primaries: nodes, replicas: 0 };
    let cluster = demo::start_cluster(&demo::Options::default(), size).unwrap();
    let port = cluster.addresses[0].port().to_string();
    let running = Running::start(redyno(&["-p", &port, "--headless", "--json"]));
    let mut polled = BTreeSet::new();
    running.wait_for_record("a poll of each node", |record| {
        let of = (0..nodes as u16).filter(|node| record.is_of(*node) && matches!(record, Record::Server(_)));
        polled.extend(of);
        (polled.len() == nodes).then_some(())
    });
    let folder = read_dir(format!("/proc/{}/task", running.pid())).unwrap();
    let name = |thread: DirEntry| read_to_string(thread.path().join("comm")).unwrap();
    let names = folder.map(|thread| name(thread.unwrap()));
    let mut names: Vec<_> = names.filter(|name| name != "ping\n").collect();
    names.sort();
    names
}

#[test]
fn more_nodes_need_no_more_threads() {
    assert_eq!(threads(2), threads(9));
}
