//! Pushes of RESP3 come at any place: before a reply and behind it, in pieces, and on a connection that waits for nothing. They
//! cost no request and no connection.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use super::{Dice, cases};
use crate::{
    scripted::{Crowd, Peer},
    support::program::run,
};

/// Requests of a case.
const REQUESTS: u64 = 80;
const PUSHES: [&str; 8] = [
    ">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n",
    ">2\r\n$10\r\ninvalidate\r\n_\r\n",
    ">3\r\n+message\r\n+ch\r\n$7\r\n+OK\r\n-x\r\n",
    ">1\r\n+x\r\n",
    ">0\r\n",
    ">2\r\n%1\r\n+a\r\n*1\r\n>1\r\n:1\r\n~1\r\n#t\r\n",
    ">2\r\n*-1\r\n$-1\r\n",
    ">1\r\n$0\r\n\r\n",
];

/// Sends a push, whole or in two pieces, now or when the connection waits for nothing.
fn push(dice: &mut Dice, peer: &mut Peer) {
    if dice.once_in(3) {
        thread::sleep(Duration::from_millis(2));
    }
    let push = dice.pick(&PUSHES);
    let (begin, end) = push.split_at(if dice.once_in(3) { dice.below(push.len()) } else { 0 });
    peer.say(begin);
    if !begin.is_empty() {
        thread::sleep(Duration::from_millis(1));
    }
    peer.say(end);
}

fn serve(dice: &mut Dice, peer: &mut Peer, pushed: &AtomicU64) {
    while let Some(command) = peer.command() {
        let mut pushes = 0;
        while command.starts_with("GET") && dice.once_in(2) {
            push(dice, peer);
            pushes += 1;
        }
        peer.say(match command.split(' ').next().unwrap_or_default() {
            "GET" => "_\r\n",
            "PING" => "+PONG\r\n",
            "HELLO" => "%1\r\n+proto\r\n:3\r\n",
            "INFO" => "$45\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\n\r\n",
            "DBSIZE" => ":0\r\n",
            _ => "+OK\r\n",
        });
        while command.starts_with("GET") && dice.once_in(2) {
            push(dice, peer);
            pushes += 1;
        }
        pushed.fetch_add(pushes, Ordering::Relaxed);
    }
}

#[test]
fn a_push_at_any_place_costs_no_request_and_no_connection() {
    let mut cases = cases("pushes", 5000);
    while let Some(case) = cases.next() {
        let pushed = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&pushed);
        let crowd = Crowd::start(move |peer, number| {
            serve(&mut Dice::new(case << 16 | number as u64), peer, &counted);
        });
        let port = crowd.port().to_string();
        let load = ["-3", "-p", &port, "--headless", "--json", "--yes", "-c", "4", "--workload", "get"];
        let outcome = run(&[&load[..], &["--rate", "100", "-n", &REQUESTS.to_string()]].concat());
        let last = outcome.out.lines().next_back().unwrap_or_default();
        let end: serde_json::Value = serde_json::from_str(last).unwrap_or_default();
        let summary = &end["summary"];
        let is_whole = summary["ops"] == REQUESTS && outcome.code() == 0;
        let lost =
            summary.get("connections_lost").filter(|lost| lost.as_object().is_some_and(|l| !l.is_empty()));
        assert!(is_whole && lost.is_none(), "case {case}: {lost:?} {}\n{}", outcome.err, outcome.out);
        let pushed = pushed.load(Ordering::Relaxed);
        assert!(pushed > 0);
        cases.held(pushed);
    }
}
