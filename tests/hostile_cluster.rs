//! A cluster that means harm: it points to itself, to nowhere, to ten thousand nodes, to others at each question, and
//! redirects in circles. redyno ends with one clear line, or goes on with its errors counted, within its memory and the
//! `--duration`.

use std::sync::{
    Arc,
    atomic::{AtomicU16, AtomicUsize, Ordering},
};

use crate::{
    hostile::{answer, confined},
    scripted::Crowd,
    support::program::{Outcome, Running},
};

/// What the node says of its slots.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Harm {
    /// They are its own, and it redirects their keys to itself.
    Itself,
    /// They belong to a node to which nothing listens.
    Nowhere,
    /// They belong to ten thousand nodes.
    TenThousand,
    /// They belong to another node at each question, and at each request.
    Changing,
}

/// The requests of the load that are answered before harm is done, if it is not done from the first question on.
const GOOD: usize = 200;

fn bulk(text: &str) -> String {
    format!("${}\r\n{text}\r\n", text.len())
}

fn range(from: usize, to: usize, port: usize) -> String {
    format!("*3\r\n:{from}\r\n:{to}\r\n*3\r\n{}:{port}\r\n{}", bulk("127.0.0.1"), bulk("id"))
}

/// A node of a cluster that answers `good` requests of the load before it does harm.
fn node(harm: Harm, good: usize) -> Crowd {
    let (port, served, asked) = (Arc::new(AtomicU16::new(0)), AtomicUsize::new(0), AtomicUsize::new(0));
    let own_port = Arc::clone(&port);
    let crowd = Crowd::start(move |peer, _| {
        // Ports of 127.0.0.1 at which nothing listens, for all that a test can know.
        let other = || 1 + asked.fetch_add(1, Ordering::SeqCst) % 1000;
        while let Some(command) = peer.command() {
            let own = usize::from(own_port.load(Ordering::SeqCst));
            let is_good = served.load(Ordering::SeqCst) < good;
            let is_load = command.contains(":0000000");
            let printed = match command.split(' ').next().unwrap_or_default() {
                "CLUSTER" if command.starts_with("CLUSTER SLOTS") => match harm {
                    Harm::TenThousand if !is_good => {
                        let nodes = (0..10_000).map(|n| range(n, n, 20_000 + n)).collect::<String>();
                        format!("*10000\r\n{nodes}")
                    }
                    Harm::Nowhere if !is_good => format!("*1\r\n{}", range(0, 16_383, 1)),
                    Harm::Changing if !is_good => format!("*1\r\n{}", range(0, 16_383, other())),
                    _ => format!("*1\r\n{}", range(0, 16_383, own)),
                },
                "CLUSTER" if command.starts_with("CLUSTER NODES") => {
                    bulk(&format!("id 127.0.0.1:{own}@{own} myself,master - 0 0 1 connected 0-16383\n"))
                }
                "CLUSTER" => bulk("id"),
                "INFO" => bulk(
                    "# Server\r\nredis_version:7.0.0\r\nredis_mode:cluster\r\nrun_id:1\r\nrole:master\r\n\
                     # Cluster\r\ncluster_enabled:1\r\n# Keyspace\r\n",
                ),
                "SADD" | "SREM" | "HSET" | "EXPIRE" => ":1\r\n".to_owned(),
                "GET" | "SET" if is_load && !is_good => match harm {
                    Harm::Itself => format!("-MOVED 1 127.0.0.1:{own}\r\n"),
                    _ => format!("-MOVED 1 127.0.0.1:{}\r\n", other()),
                },
                _ => {
                    served.fetch_add(usize::from(is_load), Ordering::SeqCst);
                    answer(peer, &command);
                    continue;
                }
            };
            peer.say(&printed);
        }
    });
    port.store(crowd.port(), Ordering::SeqCst);
    crowd
}

fn loaded(harm: Harm, good: usize) -> Outcome {
    let crowd = node(harm, good);
    let args = ["--load", "--headless", "--yes", "--no-prefill", "--duration", "4", "--timeout", "1"];
    let mut program = confined(&crowd, &args);
    // A thread of a watched node reserves more address space than it ever uses.
    program.env("MALLOC_ARENA_MAX", "2");
    Running::start(program).end()
}

#[test]
fn ten_thousand_nodes_are_refused_in_one_line() {
    let outcome = loaded(Harm::TenThousand, 0);
    assert_eq!(outcome.status.code(), Some(1), "{outcome:?}");
    let lines: Vec<_> = outcome.err.lines().filter(|line| line.starts_with("redyno: ")).collect();
    let why = "the cluster has more than 1000 nodes, the most that redyno can follow";
    assert!(lines.len() == 1 && lines[0].contains(why), "{outcome:?}");
}

#[test]
fn nodes_that_are_nowhere_are_refused_in_one_line() {
    std::thread::scope(|scope| {
        for harm in [Harm::Nowhere, Harm::Changing] {
            scope.spawn(move || {
                let outcome = loaded(harm, 0);
                assert_eq!(outcome.status.code(), Some(1), "{harm:?}: {outcome:?}");
                let why = "no primary of the cluster of 127.0.0.1:";
                let lines: Vec<_> = outcome.err.lines().filter(|line| line.contains(why)).collect();
                let is_refused = |line: &&str| line.to_lowercase().contains("connection refused");
                assert!(lines.len() == 1 && lines.iter().all(is_refused), "{harm:?}: {outcome:?}");
            });
        }
    });
}

#[test]
fn a_circle_of_redirects_ends_as_an_error_of_each_request() {
    let outcome = loaded(Harm::Itself, 0);
    assert!(outcome.status.code().is_some_and(|code| code <= 1), "{outcome:?}");
    let said = outcome.out + &outcome.err;
    assert!(said.contains("MOVED to 127.0.0.1:") && said.contains("after 6 redirects"), "{said}");
}

#[test]
fn a_load_obeys_its_duration_whatever_its_cluster_turns_into() {
    std::thread::scope(|scope| {
        for harm in [Harm::Nowhere, Harm::TenThousand, Harm::Changing] {
            scope.spawn(move || {
                // A session whose keys cannot be removed any more ends with 1.
                let outcome = loaded(harm, GOOD);
                assert!(outcome.status.code().is_some_and(|code| code <= 1), "{harm:?}: {outcome:?}");
                let said = outcome.out + &outcome.err;
                assert!(said.contains(" under load") && said.contains("errors"), "{harm:?}: {said}");
            });
        }
    });
}
