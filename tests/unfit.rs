//! A server that cannot take the load says why, in one line: no Sentinel, no broken cluster, no odd answer is "a server
//! that does not tell what lives on it".

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::mpsc::channel,
    time::{Duration, Instant},
};

use crate::{
    scripted::{Crowd, Peer},
    support::{
        Server,
        program::{Running, redyno, run},
    },
};

/// What a load is refused with.
fn refusal(port: &str) -> String {
    let outcome = run(&["-p", port, "--load", "--yes", "--headless", "--duration", "1"]);
    assert_eq!((outcome.code(), outcome.err.lines().count()), (1, 1), "{outcome:?}");
    outcome.err
}

#[test]
fn a_cluster_that_does_not_serve_is_named_with_its_slots() {
    for server in [Server::redis(), Server::valkey()] {
        let server = server.with_args(&["--cluster-enabled", "yes"]).start();
        let empty = refusal(&server.port_text());
        assert!(empty.contains("no slot of this cluster has an owner"), "{empty}");
        assert!(empty.contains("assign slots (CLUSTER ADDSLOTSRANGE 0 16383)"), "{empty}");
        server.cli(&["CLUSTER", "ADDSLOTSRANGE", "0", "8000"]);
        let half = refusal(&server.port_text());
        assert!(half.contains("8 001 of 16 384 slots assigned"), "{half}");
    }
}

fn port_of(crowd: &Crowd) -> String {
    crowd.target().address.to_string().rsplit(':').next().unwrap().to_owned()
}

/// An answer of its own to a command, or the usual one.
type Odd = fn(&str) -> Option<&'static str>;

/// A server that answers what is asked before the first write, but for what `odd` answers.
fn asked(odd: Odd) -> Crowd {
    let serve = move |peer: &mut Peer| {
        while let Some(command) = peer.command() {
            let usual = || match command.split(' ').next().unwrap_or_default() {
                "PING" => "+PONG\r\n",
                "INFO" => "$9\r\nrole:test\r\n",
                "DBSIZE" => ":0\r\n",
                "SCAN" => "*2\r\n$1\r\n0\r\n*0\r\n",
                "CLIENT" if command.contains("LIST") => "$0\r\n\r\n",
                "CONFIG" | "SLOWLOG" | "LATENCY" | "HGETALL" | "SMEMBERS" | "ZRANGE" => "*0\r\n",
                _ => "+OK\r\n",
            };
            peer.say(odd(&command).unwrap_or_else(usual));
        }
    };
    Crowd::start(move |peer, _| serve(peer))
}

#[test]
fn a_sentinel_is_named_as_one() {
    let crowd = asked(|command| match command.split(' ').next() {
        Some("INFO") => Some("$20\r\nredis_mode:sentinel\n\r\n"),
        Some("PING" | "CLIENT") => None,
        _ => Some("-ERR unknown command\r\n"),
    });
    let shown = refusal(&port_of(&crowd));
    assert!(
        shown.contains("is a Sentinel, which stores no keys; name the master that it monitors"),
        "{shown}"
    );
}

#[test]
fn what_cannot_be_asked_is_reported_with_its_cause() {
    let cases: [(Odd, &str); 3] = [
        (
            |c| (c == "DBSIZE").then_some("-CLUSTERDOWN Hash slot not served\r\n"),
            "CLUSTERDOWN Hash slot not served",
        ),
        (
            |c| (c == "DBSIZE").then_some("$5\r\nhello\r\n"),
            "the server's reply to DBSIZE has an unexpected form",
        ),
        (|c| (c == "DBSIZE").then_some("!!\r\n"), "DBSIZE"),
    ];
    for (odd, part) in cases {
        let shown = refusal(&port_of(&asked(odd)));
        assert!(shown.contains(part), "no '{part}' in: {shown}");
    }
}

/// A way to the server at `port` on which every answer takes `way`, however many are under way: where it begins.
fn far(port: u16, way: Duration) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let near = listener.local_addr().unwrap().port().to_string();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let server = TcpStream::connect(("127.0.0.1", port)).unwrap();
            let (mut from_client, mut to_server) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            std::thread::spawn(move || std::io::copy(&mut from_client, &mut to_server));
            let (sender, answers) = channel::<(Instant, Vec<u8>)>();
            let mut from_server = server;
            std::thread::spawn(move || {
                let mut bytes = [0; 65536];
                while let Ok(n @ 1..) = from_server.read(&mut bytes) {
                    if sender.send((Instant::now() + way, bytes[..n].to_vec())).is_err() {
                        return;
                    }
                }
            });
            let mut to_client = client;
            std::thread::spawn(move || {
                for (due, bytes) in answers {
                    std::thread::sleep(due.saturating_duration_since(Instant::now()));
                    if to_client.write_all(&bytes).is_err() {
                        return;
                    }
                }
            });
        }
    });
    near
}

#[test]
#[ignore = "long: fifteen questions of a second each"]
fn a_server_that_is_far_away_is_asked_until_it_has_answered() {
    let server = Server::redis().start();
    // Some fifteen questions one after the other.
    let port = far(server.port(), Duration::from_millis(900));
    let running = Running::start(redyno(&["-p", &port, "--load", "--yes", "--headless", "-c", "1"]));
    running.wait_for_lines(1, "segment 1: 1 client");
}
