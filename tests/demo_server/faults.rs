//! Each fault, one by one.
//!
//! What must *not* have arrived is checked after another client was answered: the server is one thread, so by then it
//! has done all it was going to do for the first.

use std::io::{ErrorKind, Read};

use redyno::demo::Fault;

use super::client::{Client, request, server_with};

fn faults(texts: &[&str]) -> Vec<Fault> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

#[test]
fn only_the_tenth_reply_of_a_batch_is_held_back_and_those_behind_it() {
    let server = server_with(&["delay GET 3600s nth 10"]);
    let (mut client, mut other) = (Client::connect(&server), Client::connect(&server));
    client.send(request(&["GET", "a"]).repeat(16));
    for _ in 0..9 {
        assert_eq!(client.reply(), "$-1\r\n");
    }
    assert_eq!(other.ask("PING"), "+PONG\r\n", "a delayed reply stops nobody else");
    client.assert_silent();
    assert!(other.ask("INFO commandstats").contains("cmdstat_get:calls=16,"), "the commands have run");
    server.set_faults(vec![]);
    for _ in 9..16 {
        assert_eq!(client.reply(), "$-1\r\n");
    }
}

#[test]
fn a_delay_ends_by_itself() {
    let server = server_with(&["delay load 2ms", "delay INCR 5ms"]);
    let mut client = Client::connect(&server);
    client.send([request(&["INCR", "a"]), request(&["INCR", "a"]), request(&["GET", "a"])].concat());
    assert_eq!((client.reply(), client.reply()), (":1\r\n".into(), ":2\r\n".into()));
    assert_eq!(client.reply(), "$1\r\n2\r\n");
}

#[test]
fn a_stall_stops_everyone_until_it_is_over() {
    let server = server_with(&[]);
    let mut client = Client::connect(&server);
    assert_eq!(client.ask("CONFIG SET latency-monitor-threshold 1"), "+OK\r\n");
    server.set_faults(faults(&["stall 50ms"]));
    assert_eq!(client.ask("PING"), "+PONG\r\n");
    let latest = client.ask("LATENCY LATEST");
    let numbers: Vec<u64> = latest.lines().filter_map(|line| line.strip_prefix(':')?.parse().ok()).collect();
    assert!(latest.starts_with("*1\r\n*4\r\n$5\r\nstall\r\n"), "{latest}");
    assert!(numbers[1] >= 50, "{numbers:?}");

    server.set_faults(faults(&["stall 3600s"]));
    client.send("PING\r\n");
    server.set_faults(faults(&["stall 1ms every 20ms"]));
    assert_eq!(client.reply(), "+PONG\r\n", "new faults end a stall");
    assert_eq!(client.ask("LATENCY RESET"), ":1\r\n");
    let asked = (0..1_000_000).find(|_| client.ask("LATENCY LATEST") != "*0\r\n");
    assert!(asked.is_some(), "the stall does not come again");
}

#[test]
fn a_paused_server_goes_on_where_it_stood() {
    let server = server_with(&[]);
    let mut client = Client::connect(&server);
    assert_eq!(client.ask("PING"), "+PONG\r\n");
    server.pause();
    client.send("SET a 1\r\n");
    client.assert_silent();
    server.set_faults(faults(&["garbage"]));
    server.resume();
    assert_eq!(client.some_bytes()[0], 0x16, "faults given in a pause hold for what was sent in it");
}

#[test]
fn a_slow_command_is_slow_for_the_server_too() {
    let server = server_with(&["slow GET 20ms every 2"]);
    let mut client = Client::connect(&server);
    client.ask("CONFIG SET slowlog-log-slower-than 20000");
    client.ask("GET a");
    assert_eq!(client.ask("SLOWLOG LEN"), ":0\r\n");
    client.ask("GET b");
    assert!(client.ask("SLOWLOG GET").contains("*2\r\n$3\r\nGET\r\n$1\r\nb\r\n"));
}

#[test]
fn errors_come_with_their_prefix_as_often_as_asked() {
    let server = server_with(&["error LOADING every 3", "error OOM on SET"]);
    let mut client = Client::connect(&server);
    let replies: Vec<String> = (0..6).map(|_| client.ask("GET a")).collect();
    let loading = "-LOADING Redis is loading the dataset in memory\r\n";
    assert_eq!(replies, ["$-1\r\n", "$-1\r\n", loading, "$-1\r\n", "$-1\r\n", loading]);
    assert!(client.ask("SET a 1").starts_with("-OOM "));
    assert!(client.ask("INFO errorstats").contains("errorstat_LOADING:count=2\r\n"));
    server.set_faults(faults(&["error BUSY on any 100%"]));
    assert!(client.ask("INFO").starts_with("-BUSY "));
    server.set_faults(vec![]);
    assert_eq!(client.ask("GET a"), "$-1\r\n");
}

#[test]
fn a_cut_reply_stops_in_the_middle_and_nothing_follows() {
    let server = server_with(&["cut on GET once"]);
    let (mut client, mut other) = (Client::connect(&server), Client::connect(&server));
    client.ask("SET a 0123456789");
    client.send([request(&["PING"]), request(&["GET", "a"]), request(&["PING"])].concat());
    assert_eq!(client.reply(), "+PONG\r\n");
    assert_eq!(client.some_bytes(), b"$10\r\n012");
    client.send(request(&["PING"]));
    assert_eq!(other.ask("GET a"), "$10\r\n0123456789\r\n", "once is once");
    client.assert_silent();

    server.set_faults(faults(&["cut close"]));
    other.send([request(&["ECHO", "abcdef"]), request(&["PING"])].concat());
    assert_eq!(other.rest(), b"$6\r\nab");
}

#[test]
fn a_reset_ends_the_connection_with_an_error() {
    let server = server_with(&["reset on GET"]);
    let (mut client, mut other) = (Client::connect(&server), Client::connect(&server));
    client.send(request(&["GET", "a"]));
    let error = client.stream.read(&mut [0; 16]).expect_err("no bytes and no end");
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    assert_eq!(other.ask("PING"), "+PONG\r\n");
    assert!(other.ask("INFO clients").contains("connected_clients:1\r\n"));
}

#[test]
fn garbage_is_no_reply_and_the_connection_goes_on() {
    let server = server_with(&["garbage on GET once"]);
    let mut client = Client::connect(&server);
    client.send(request(&["GET", "a"]));
    let garbage = client.some_bytes();
    assert!(!b"+-:$*_#,(!=%~>|".contains(&garbage[0]), "{garbage:?}");
    assert_eq!(client.ask("GET a"), "$-1\r\n");
}
