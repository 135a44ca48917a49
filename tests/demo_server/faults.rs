//! Each fault, one by one.
//!
//! What must *not* have arrived is checked after another client was answered: the server is one thread, so by then it
//! has done all it was going to do for the first.

use std::io::{ErrorKind, Read};

use super::client::{Client, request, server_with};

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
    let server = server_with(&["stall 20ms every 40ms"]);
    let mut client = Client::connect(&server);
    assert_eq!(client.ask("CONFIG SET latency-monitor-threshold 10"), "+OK\r\n");
    for _ in 0..2 {
        let shown =
            (0..1_000_000).map(|_| client.ask("LATENCY LATEST")).find(|latest| latest.contains("stall"));
        let latest = shown.expect("a stall comes, and comes again");
        // When, how long, and the longest.
        let (_, numbers) = latest.split_once("*4\r\n$5\r\nstall\r\n").unwrap();
        let ms: u64 = numbers.split("\r\n:").nth(1).unwrap().parse().unwrap();
        assert!(ms >= 20, "{latest}");
        client.ask("LATENCY RESET");
    }
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
    let busy = server_with(&["error BUSY on any 100%"]);
    assert!(Client::connect(&busy).ask("INFO").starts_with("-BUSY "));
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

    let closing = server_with(&["cut close"]);
    let mut client = Client::connect(&closing);
    client.send([request(&["ECHO", "abcdef"]), request(&["PING"])].concat());
    assert_eq!(client.rest(), b"$6\r\nab");
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
