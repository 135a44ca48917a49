//! An HTTP server that means harm: whatever it sends, redyno ends with one line or goes on with errors counted, keeps its
//! memory within bounds, and obeys `--duration`.

use std::{
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use crate::{
    scripted::Crowd,
    support::{
        http::{Request, reply},
        memcached::end,
        program::{Outcome, Running, redyno, run},
    },
};

/// As much address space as redyno may take here, in KiB.
const MEMORY_KIB: u32 = 1_500_000;

/// What a server may send in place of a reply: how it begins, and what it goes on with.
const FLOODS: [(&str, &str, &str); 8] = [
    ("endless headers", "HTTP/1.1 200 OK\r\n", "A: b\r\n"),
    ("an endless header", "HTTP/1.1 200 OK\r\nA: ", "b"),
    ("an endless status", "HTTP/1.1 200 ", "x"),
    ("interim replies", "", "HTTP/1.1 100 Continue\r\n\r\n"),
    ("an endless size", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "0"),
    ("an endless trailer", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", "A: b\r\n"),
    ("replies to nothing", "", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
    ("no HTTP", "", "\x01\x02"),
];

/// A server that answers HEAD, and whatever `flooded` is with the flood.
fn flooding(flooded: &'static str, (_, head, flood): (&str, &'static str, &'static str)) -> Crowd {
    Crowd::start(move |peer, connection| {
        while let Some(request) = Request::read(peer, connection) {
            if request.method == flooded {
                return peer.pour_after(head.as_bytes(), flood.as_bytes());
            }
            peer.say(&reply(&request, "200 OK", ""));
        }
    })
}

/// A session within the bounds of memory.
fn bounded(words: &[&str]) -> Outcome {
    let mut command = Command::new("sh");
    let inner = redyno(words);
    command.args(["-c", &format!("ulimit -v {MEMORY_KIB}; exec \"$@\""), "sh"]);
    command.arg(inner.get_program()).args(inner.get_args());
    Running::start(command).end()
}

fn uri(server: &Crowd) -> String {
    format!("http://127.0.0.1:{}/", server.port())
}

#[test]
fn a_flood_in_place_of_a_reply_is_an_error_of_its_request_and_the_session_ends_in_time() {
    for flood in FLOODS {
        let server = flooding("GET", flood);
        let began = Instant::now();
        let outcome =
            bounded(&[&uri(&server), "--headless", "--json", "--load", "-c", "2", "--duration", "1"]);
        // The first of these replies is a good one.
        let is_late = flood.0 == "replies to nothing";
        let summary = end(&outcome.expect_code(i32::from(!is_late)).records()).summary.clone();
        let counted = if is_late { &summary.connections_lost } else { &summary.errors };
        assert!(counted.values().sum::<u64>() > 0, "{}: {summary:?}", flood.0);
        assert!(began.elapsed() < Duration::from_secs(15), "{}", flood.0);
    }
}

#[test]
fn a_flood_at_the_first_contact_ends_in_one_line() {
    for flood in FLOODS {
        // What follows a whole header is no part of a reply to HEAD.
        if flood.1.ends_with("\r\n\r\n") || flood.0 == "an endless trailer" || flood.0 == "replies to nothing"
        {
            continue;
        }
        let server = flooding("HEAD", flood);
        let outcome = bounded(&[&uri(&server), "--headless", "--load", "--duration", "1"]);
        assert_eq!((outcome.code(), outcome.err.lines().count()), (1, 1), "{}: {}", flood.0, outcome.err);
    }
}

#[test]
fn wrong_lengths_and_early_closes_are_errors_by_their_kind() {
    let ok = "HTTP/1.1 200 OK\r\n";
    for (said, kind) in [
        ("Content-Length: 5\r\n\r\nhello, world", "protocol"),
        ("Content-Length: 99\r\n\r\nshort", "reset"),
        ("Content-Length: x\r\n\r\n", "protocol"),
        ("Content-Length: 1\r\nContent-Length: 2\r\n\r\nab", "protocol"),
        ("Transfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n", "protocol"),
        ("Transfer-Encoding: chunked\r\n\r\n3\r\nab", "reset"),
        ("Content-Le", "reset"),
    ] {
        let server = Crowd::start(move |peer, connection| {
            while let Some(request) = Request::read(peer, connection) {
                if request.method == "HEAD" {
                    peer.say(&reply(&request, "200 OK", ""));
                    continue;
                }
                peer.say(&format!("{ok}{said}"));
                if kind == "reset" {
                    return;
                }
            }
        });
        let words = [&uri(&server), "--headless", "--json", "--load", "-c", "1", "--duration", "1"];
        // The reply before the excess is a good one.
        let is_good = said.contains("world");
        let summary = end(&run(&words).expect_code(i32::from(!is_good)).records()).summary.clone();
        let counted = if is_good { &summary.connections_lost } else { &summary.errors };
        let kinds: Vec<_> = counted.keys().map(ToString::to_string).collect();
        assert!(kinds.contains(&kind.to_owned()), "{said}: {summary:?}");
    }
}

#[test]
fn no_request_is_written_into_the_body_of_a_request_that_was_answered_early() {
    let are_mixed = Arc::new(AtomicBool::new(false));
    let (seen, connections) = (Arc::clone(&are_mixed), Arc::new(AtomicUsize::new(0)));
    let opened = Arc::clone(&connections);
    let server = Crowd::start(move |peer, _| {
        while let Some(first) = peer.line() {
            let mut length = 0;
            while let Some(field) = peer.line().filter(|field| field != "\r\n") {
                length = field.strip_prefix("Content-Length: ").map_or(length, |n| n.trim().parse().unwrap());
            }
            let is_large = first.starts_with("PUT ");
            let status = if is_large { "413 Too Large" } else { "200 OK" };
            peer.say(&format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n"));
            opened.fetch_add(usize::from(is_large), Relaxed);
            if let Some(body) = peer.text(length) {
                seen.fetch_or(body.contains("PUT /"), Relaxed);
            }
        }
    });
    let uri = uri(&server);
    let words = [
        &uri,
        "--headless",
        "--json",
        "--yes",
        "--load",
        "-c",
        "1",
        "-n",
        "3",
        "-d",
        "16M",
        "--",
        "PUT",
        "/a",
        "{value}",
    ];
    let summary = end(&run(&words).expect_code(1).records()).summary.clone();
    assert_eq!((connections.load(Relaxed), are_mixed.load(Relaxed)), (3, false), "{summary:?}");
}

#[test]
fn a_server_that_never_answers_is_a_timeout_and_the_session_ends_in_time() {
    let server = Crowd::start(|peer, connection| {
        while let Some(request) = Request::read(peer, connection) {
            if request.method == "HEAD" {
                peer.say(&reply(&request, "200 OK", ""));
            }
        }
    });
    let words =
        [&uri(&server), "--headless", "--json", "--load", "-c", "2", "--timeout", "0.2", "--duration", "1"];
    let summary = end(&run(&words).expect_code(1).records()).summary.clone();
    assert!(summary.errors.iter().any(|(kind, n)| kind == "timeout" && *n > 0), "{summary:?}");
}
