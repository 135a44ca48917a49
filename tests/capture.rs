//! A capture writes what MONITOR shows, without values and passwords, and only after it was allowed.

use std::{fs, os::unix::fs::PermissionsExt};

use rustix::process::Signal;

use crate::support::{
    Server,
    program::{Running, redyno, run},
    wait_for,
};

#[test]
fn what_clients_ask_is_written_without_values_and_can_be_sent_again() {
    for server in [Server::redis().start(), Server::valkey().start()] {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("shop.log").display().to_string();
        let port = server.port_text();
        let capture = Running::start(redyno(&["capture", "-p", &port, "-o", &file, "--yes"]));
        wait_for("MONITOR", || server.cli(&["CLIENT", "LIST"]).contains("flags=O").then_some(()));
        server.cli(&["SET", "cart:1", "a secret", "EX", "60"]);
        server.cli(&["AUTH", "hunter2"]);
        server.cli(&["EVAL", "return redis.call('incr', KEYS[1])", "1", "visits"]);
        server.cli(&["HSET", "user:1", "name", "ann smith"]);
        server.cli(&["GET", "cart:1"]);
        // The last line is written when the file has it.
        capture.signal(Signal::INT);
        let outcome = capture.end().expect_code(130);
        let text = fs::read_to_string(&file).unwrap();
        let commands: Vec<_> = text.lines().filter_map(|line| Some(line.split_once("] ")?.1)).collect();
        let commands: Vec<_> = commands.into_iter().filter(|command| !command.contains("CLIENT")).collect();
        let expected = [
            r#""SET" "cart:1" "(8 bytes)" "EX" "60""#,
            r#""incr" "visits""#,
            r#""HSET" "user:1" "name" "(9 bytes)""#,
            r#""GET" "cart:1""#,
        ];
        assert_eq!(commands, expected, "{text}");
        assert!(!text.contains("hunter2") && !text.contains("secret"), "{text}");
        assert!(
            outcome.out.contains(": 4 commands in ") && outcome.out.contains("AUTH 1"),
            "{}",
            outcome.out
        );
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        server.cli(&["FLUSHALL"]);
        run(&["-p", &port, "--headless", "--yes", "--trace", &file, "--key-prefix", "again:"]).expect_code(0);
        assert_eq!(server.cli(&["STRLEN", "again:cart:1"]), "8");
        assert_eq!(server.cli(&["GET", "again:visits"]), "1");
        assert_eq!(server.cli(&["HSTRLEN", "again:user:1", "name"]), "9");
    }
}

#[test]
fn a_server_that_refuses_monitor_leaves_no_file() {
    let server = Server::redis().start();
    server.cli(&["ACL", "SETUSER", "reader", "on", "nopass", "~*", "+@all", "-monitor"]);
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("shop.log");
    let uri = format!("redis://reader:x@127.0.0.1:{}", server.port());
    let outcome = run(&["capture", &uri, "-o", &file.display().to_string(), "--yes"]).expect_code(1);
    assert!(outcome.err.contains("refuses MONITOR: NOPERM") && outcome.out.is_empty(), "{outcome:?}");
    assert!(!file.exists());
}

#[test]
fn without_consent_or_a_new_file_nothing_is_asked_of_the_server() {
    let server = Server::redis().start();
    let port = server.port_text();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("shop.log").display().to_string();
    let asked = run(&["capture", "-p", &port, "-o", &file]).expect_code(2);
    assert!(asked.err.contains("MONITOR makes the server format a copy of each"), "{}", asked.err);
    assert!(asked.err.ends_with("Give --yes to go on.\n") && !fs::exists(&file).unwrap(), "{}", asked.err);
    fs::write(&file, "mine").unwrap();
    let there = run(&["capture", "-p", &port, "-o", &file, "--yes"]).expect_code(1);
    assert!(there.err.contains("there is already a file; give another name"), "{}", there.err);
    assert_eq!((fs::read_to_string(&file).unwrap().as_str(), server.calls(&[], "monitor")), ("mine", 0));
    let none = run(&["capture", "-u", "memcached://127.0.0.1", "-o", "x", "--yes"]).expect_code(2);
    assert_eq!(none.err, "redyno: memcached has no MONITOR; give a Redis or Valkey\n");
}

#[test]
fn a_server_that_goes_away_ends_a_capture_whose_lines_are_in_the_file() {
    let mut server = Server::redis().start();
    let port = server.port_text();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("shop.log").display().to_string();
    let capture = Running::start(redyno(&[
        "capture",
        "-p",
        &port,
        "--duration",
        "600",
        "-o",
        &file,
        "--values",
        "--yes",
    ]));
    wait_for("MONITOR", || server.cli(&["CLIENT", "LIST"]).contains("flags=O").then_some(()));
    server.cli(&["SET", "cart:1", "a value"]);
    server.kill();
    let outcome = capture.end().expect_code(1);
    assert!(outcome.err.starts_with("redyno: the capture ended early: "), "{}", outcome.err);
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains(r#"] "SET" "cart:1" "a value""#) && !text.contains("# values"), "{text}");
}
