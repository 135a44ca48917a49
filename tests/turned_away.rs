//! What a server says that no request asked for: why it turns a client away is quoted, and a push is no reply.

use std::{sync::mpsc::channel, time::Duration};

use crate::{
    scripted::{Crowd, Peer},
    support::{
        Server,
        program::{Running, redyno, run},
        session::{Driven, Past, events, intervals, plan},
        wait_among,
    },
};
use redyno::{
    clock::Clock,
    endpoint::Target,
    events::EventKind,
    knobs::Knobs,
    protocol::Dialect,
    server::{Control, ControlMessage},
    workload::Workload,
};

const FULL: &str = "ERR max number of clients reached";
const FULL_MEMCACHED: &str = "ERROR Too many open connections";
const PUSH: &str = ">2\r\n+invalidate\r\n*1\r\n$1\r\nk\r\n";

fn gets(clients: u32, rate: Option<u32>) -> Knobs {
    Knobs { load: true, clients, rate, workload: Workload::ratio(0, 1), ..Knobs::default() }
}

/// Answers as a server of one key does, until the client hangs up or a command begins with `to`: that one is returned.
fn answer_until(peer: &mut Peer, to: &str) -> Option<String> {
    while let Some(command) = peer.command() {
        if command.starts_with(to) {
            return Some(command);
        }
        peer.say(match command.split(' ').next() {
            Some("PING") => "+PONG\r\n",
            Some("GET") => "$1\r\nx\r\n",
            _ => "+OK\r\n",
        });
    }
    None
}

#[test]
fn idle_connections_beyond_the_servers_limit_end_with_its_words() {
    for server in [Server::redis(), Server::valkey()] {
        let server = server.with_args(&["--maxclients", "10"]).start();
        let outcome = run(&["bench", "-p", &server.port_text(), "-I", "-c", "60"]).expect_code(1);
        assert_eq!(outcome.err, format!("Error from server: {FULL}\n"));
    }
}

#[test]
fn idle_connections_that_the_server_closes_end_at_once() {
    let server = Server::redis().start();
    let running = Running::start(redyno(&["bench", "-p", &server.port_text(), "-I", "-c", "7"]));
    running.wait_for("seven clients", |out| out.contains("clients: 7\r").then_some(()));
    server.cli(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
    let outcome = running.end().expect_code(1);
    assert_eq!(outcome.err, "Error: Server closed the connection\n");
}

#[test]
fn benchmarks_beyond_the_servers_limit_quote_it() {
    let server = Server::redis().with_args(&["--maxclients", "10"]).start();
    let port = server.port_text();
    let outcome = run(&["bench", "-p", &port, "-q", "-c", "60", "-n", "100000", "-t", "get"]).expect_code(1);
    assert_eq!(outcome.err, format!("Error from server: {FULL}\n"));
    let theirs = ["memtier", "-p", &port, "-c", "60", "-t", "1", "-n", "1000", "--hide-histogram"];
    let outcome = run(&theirs).expect_code(1);
    assert!(outcome.err.contains(FULL), "{}", outcome.err);
}

/// A session of this many clients with a server that says `words` to a connection of the load when it has nothing to do.
fn past_of(words: &'static str, awaited: &str) -> Past {
    let server = Crowd::start(move |peer, _| {
        if answer_until(peer, "CLIENT SETNAME redyno-load").is_some() {
            peer.say("+OK\r\n");
            if answer_until(peer, "GET").is_some() {
                peer.say("$1\r\nx\r\n");
                std::thread::sleep(Duration::from_millis(20));
                // In two pieces, as a network may bring it.
                peer.say(&words[..7]);
                std::thread::sleep(Duration::from_millis(20));
                peer.say(&words[7..]);
            }
        }
        if words == PUSH {
            answer_until(peer, "NOTHING");
        }
    });
    let mut session = Driven::start(&plan(server.target()), gets(4, Some(20)));
    session.wait_for(awaited, |records| {
        let done = match words {
            PUSH => intervals(records).map(|interval| interval.ops).sum::<u64>() >= 20,
            _ => events(records).contains(&awaited),
        };
        done.then_some(())
    });
    session.finish()
}

#[test]
fn a_loads_connection_that_is_refused_while_it_waits_is_lost_in_the_servers_words() {
    let past = past_of("-ERR max number of clients reached\r\n", "load lost");
    let lost = &past.end.summary.connections_lost;
    assert!(lost["maxclients"] > 0 && lost.len() == 1, "{lost:?}");
    let shown = &past.end.summary.first_errors["maxclients"];
    assert_eq!(shown, &format!("the connection was refused: {FULL}"));
}

#[test]
fn a_push_to_a_connection_that_waits_for_nothing_costs_nothing() {
    let past = past_of(PUSH, "replies");
    assert!(past.end.summary.connections_lost.is_empty(), "{:?}", past.end.summary.connections_lost);
    assert!(past.end.summary.errors.is_empty(), "{:?}", past.end.summary.errors);
}

#[test]
fn tracking_costs_no_connection() {
    for server in [Server::redis().start(), Server::valkey().start()] {
        let port = server.port_text();
        let words = ["bench", "-p", &port, "-3", "--enable-tracking", "-q", "-t", "set,get", "-r", "20"];
        run(&[&words[..], &["-n", "20000"]].concat()).expect_code(0);
        let file = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
        let steps = "[[operation]]\nname = \"track\"\nsteps = [\"CLIENT TRACKING ON BCAST\"]\n\
            [[operation]]\nname = \"set\"\nweight = 50\nsteps = [\"SET {key} x\"]\n";
        std::fs::write(&file, format!("name = \"t\"\n[keys.key]\ncount = 20\n{steps}")).unwrap();
        let file = file.path().display().to_string();
        let args = ["-p", &port, "-3", "--headless", "--json", "--load", "--yes", "-n", "20000"];
        let outcome = run(&[&args[..], &["--workload", &file]].concat()).expect_code(0);
        assert!(!outcome.out.contains("load lost"), "{}", outcome.out);
        assert!(
            outcome.out.contains("\"pushes\":"),
            "what the server says unasked is counted: {}",
            outcome.out
        );
    }
}

#[test]
fn a_server_that_accepts_and_says_nothing_is_given_up_when_the_run_should_end() {
    let server = Crowd::start(|peer, _| while peer.line().is_some() {});
    let port = server.port().to_string();
    let length = ["--duration", "1"];
    for (words, what) in [
        (vec!["bench", "-p", &port, "-q"], "Error: 127.0.0.1:"),
        (vec!["-p", &port, "--headless", "--load", "--yes"], "redyno: 127.0.0.1:"),
    ] {
        let outcome = run(&[&words[..], &length].concat()).expect_code(1);
        assert!(outcome.err.starts_with(what) && outcome.err.contains("sent no reply"), "{}", outcome.err);
    }
    let long = run(&["bench", "-p", &port, "-q", "--duration", "3.5"]).expect_code(1).err;
    let said = ["sends no reply; waiting up to 1 s", "accepted the connection and sent no reply for 3.5 s"];
    assert!(said.iter().zip(long.lines()).all(|(said, line)| line.contains(said)), "{long}");
}

/// Whether its words come unasked or in the place of an answer; once it was let in, they are quoted.
#[test]
fn a_control_connection_that_is_refused_is_lost_for_what_the_server_says() {
    const DIAGNOSIS: &str = "has reached its limit of clients";
    let redis = format!("-{FULL}\r\n");
    let memcached = format!("{FULL_MEMCACHED}\r\n");
    for (dialect, words, moments) in [
        (Dialect::Resp2, redis, [("", DIAGNOSIS), ("PING", DIAGNOSIS), ("CLIENT", FULL)].as_slice()),
        (Dialect::Memcached, memcached, &[("", DIAGNOSIS), ("mn", DIAGNOSIS)]),
    ] {
        for (moment, said) in moments {
            let quoted = words.clone();
            let server = Crowd::start(move |peer, _| {
                match (*moment, dialect) {
                    ("", _) => {}
                    (_, Dialect::Memcached) => drop(peer.line()),
                    (to, _) => drop(answer_until(peer, to)),
                }
                peer.say(&quoted);
            });
            let target = Target { dialect, ..server.target() };
            let (news, messages) = channel();
            let _control = Control::start(target, Clock::start(), Duration::from_millis(20), news).unwrap();
            let cause = wait_among(&messages, "bad news", |message| match message {
                ControlMessage::Event { what: EventKind::Unreachable { cause }, .. } => Some(cause.clone()),
                _ => None,
            });
            assert!(cause.contains(said), "{cause}");
            assert!(!cause.contains("nothing had asked"), "{cause}");
        }
    }
}
