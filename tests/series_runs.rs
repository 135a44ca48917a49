//! What a series changes for its cells: parameters of the server, servers, lengths; and what stops a cell.

use std::fs;

use serde_json::Value;

use crate::support::{
    Server,
    nodes::Nodes,
    program::{Outcome, run},
};

/// The lines of the cells.
fn cells(outcome: &Outcome) -> Vec<Value> {
    outcome.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Writes a series into a file, and returns its directory and its path.
fn series_file(text: &str) -> (tempfile::TempDir, String) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mine.toml");
    fs::write(&path, text).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (directory, path)
}

#[test]
fn a_run_sets_parameters_of_the_server_and_restores_them() {
    let server = Server::redis().start();
    let (_directory, path) = series_file(
        r#"
[parameters]
file = ["no", "yes"]
[[run]]
name = "SET"
workload = "set"
config = { appendonly = "$file" }
pause = 1
load = { requests = 500, clients = 2 }
[table]
gauges = ["persistence_aof", "host_cpu"]
"#,
    );
    let args = ["series", &path, "-p", &server.port_text(), "--yes"];
    let plan = run(&[&args[..], &["--plan"]].concat()).expect_code(0);
    assert!(plan.out.contains("500 requests, after a pause of 1 s, appendonly yes"), "{}", plan.out);
    let outcome = run(&args).expect_code(0);
    let head = outcome.out.lines().find(|line| line.starts_with("run ")).unwrap();
    assert!(
        head.starts_with("run  file  operation") && head.ends_with("persistence_aof  host_cpu"),
        "{head}"
    );
    assert_eq!(outcome.err.matches("a pause of 1 s").count(), 1, "only between cells: {}", outcome.err);
    assert!(
        outcome.err.contains("appendonly is yes; the old value is restored at the end"),
        "{}",
        outcome.err
    );
    assert_eq!(server.cli(&["CONFIG", "GET", "appendonly"]).lines().last(), Some("no"));
    assert_eq!((server.calls(&[], "set"), server.cli(&["DBSIZE"])), (1000, "0".to_owned()));
    let two = ["redis://127.0.0.1:1", "redis://127.0.0.1:2", "--hash", "ketama"];
    let outcome = run(&[&["series", &path, "--plan"], &two[..]].concat()).expect_code(2);
    assert!(outcome.err.contains("the run sets parameters of one server"), "{}", outcome.err);
}

#[test]
fn a_run_that_sets_parameters_is_refused_on_a_cluster() {
    let nodes = Nodes::start(Server::redis, false);
    let (_directory, path) = series_file(
        "[[run]]\nname = \"SET\"\nworkload = \"set\"\nconfig = { appendonly = \"yes\" }\nload = { requests = 5 }\n",
    );
    let port = nodes.0[1].port_text();
    let outcome = run(&["series", &path, "-p", &port, "--yes"]).expect_code(2);
    assert!(outcome.err.contains("the run sets parameters of one server"), "{}", outcome.err);
    let calls: u64 = nodes.0.iter().map(|node| node.calls(&[], "config|set") + node.calls(&[], "set")).sum();
    assert_eq!(calls, 0);
    run(&["series", &path, "-p", &port, "--plan"]).expect_code(0);
}

#[test]
fn several_servers_share_the_load_of_each_cell_by_consistent_hash() {
    let servers = [Server::redis().start(), Server::redis().start()];
    let uris = servers.each_ref().map(|server| format!("redis://127.0.0.1:{}", server.port()));
    let (_directory, path) = series_file(
        "[[run]]\nname = \"SET\"\nworkload = \"set\"\nload = { requests = \"2k\", keys = \"2k\" }\n",
    );
    let args = ["series", &path, &uris[0], &uris[1], "--hash", "ketama", "--yes", "--json"];
    let cells = cells(&run(&args).expect_code(0));
    assert_eq!(cells[0]["ops"], 2000);
    let calls = servers.each_ref().map(|server| server.calls(&[], "set"));
    assert!(calls.iter().all(|calls| *calls > 400) && calls.iter().sum::<u64>() == 2000, "{calls:?}");
}

#[test]
fn each_cell_runs_for_the_given_time_and_clients_are_scaled_only_when_asked() {
    let server = Server::redis().start();
    let args = ["series", "tair-threads", "-p", &server.port_text(), "--plan", "--set", "size=64"];
    let plan = |more: &[&str]| run(&[&args[..], more].concat()).expect_code(0).out;
    let five = plan(&["--duration", "5"]);
    assert!(five.contains("changed: requests not limited to 3 M any more, seconds 5\n"), "{five}");
    assert!(five.contains("256 clients") && five.contains("\n  5 s, "), "{five}");
    let fewer = plan(&["--scale-clients", "0.1"]);
    assert!(fewer.contains("changed: clients 256 to 26, threads 16 to 2\n"), "{fewer}");
    let wrong = run(&[&args[..], &["--duration", "0.5"]].concat()).expect_code(2);
    assert!(wrong.err.contains("invalid value '0.5' for '--duration <SECONDS>'"), "{}", wrong.err);
}

#[test]
fn a_limit_of_this_machine_stops_one_cell_and_is_named() {
    let server = Server::redis().start();
    let text = "[parameters]\nclients = [2, 9000]\n[[run]]\nname = \"PING\"\nworkload = \"ping\"\n\
                load = { requests = 100, clients = \"$clients\" }\n";
    let (_directory, path) = series_file(text);
    let command = format!(
        "ulimit -n 500; exec {} series {path} -p {} --yes",
        env!("CARGO_BIN_EXE_redyno"),
        server.port()
    );
    let outcome = std::process::Command::new("sh").args(["-c", &command]).output().unwrap();
    let table = String::from_utf8(outcome.stdout).unwrap();
    assert_eq!(outcome.status.code(), Some(1), "{table}");
    assert!(table.contains("failed: ") && table.contains("open files"), "{table}");
    assert!(server.calls(&[], "ping") >= 100);
}

#[test]
fn agents_carry_out_each_cell_that_has_a_client_for_each_of_them() {
    let server = Server::redis().start();
    let (_directory, path) = series_file(
        r#"
[parameters]
clients = [1, 4]
[[run]]
name = "SET"
workload = "set"
load = { requests = 501, clients = "$clients" }
"#,
    );
    let args = ["series", &path, "-p", &server.port_text(), "--yes", "--json", "--agents", "2"];
    let missing = run(&args).expect_code(2);
    assert!(missing.err.contains("--agents needs --bus"), "{}", missing.err);
    let outcome = run(&[&args[..], &["--local"]].concat()).expect_code(1);
    let [refused, measured] = &cells(&outcome)[..] else { panic!("{outcome:?}") };
    assert!(refused.to_string().contains("fewer clients than agents"), "{refused}");
    assert_eq!(measured["ops"], 501, "{measured}");
    assert!(outcome.err.contains("2 agents"), "{}", outcome.err);
    assert_eq!((server.calls(&[], "set"), server.cli(&["DBSIZE"])), (501, "0".to_owned()));
}
