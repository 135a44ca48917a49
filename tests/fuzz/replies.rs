//! Whoever reads a server's replies: the skipper, the bounded one before fred, first contact, ping, the control plane.

use std::{sync::mpsc::channel, thread, time::Duration};

use redyno::{
    clock::Clock,
    endpoint::{Greeting, Target, reach},
    probe::{PingPlan, PingProbe, ProbeMessage},
    protocol::{Dialect, Reply},
    server::Control,
};

use super::{Dice, cases};
use crate::{scripted::Crowd, support::wait_among};

const LENGTHS: [&str; 14] =
    ["0", "1", "2", "3", "-1", "-2", "40", "65536", "999999999999", "9999999999999", "x", "", "+1", "1 "];
const LINES: [&str; 10] = [
    "+OK",
    "+PONG",
    "-ERR no",
    "-NOAUTH Authentication required.",
    "-LOADING",
    ":1",
    ":-9223372036854775809",
    "_",
    "#t",
    ",nan",
];

/// Appends a reply of any kind, whole or not.
fn put_reply(dice: &mut Dice, stream: &mut Vec<u8>, depth: usize) {
    match dice.below(12) {
        0..4 => stream.extend(format!("{}\r\n", dice.pick(&LINES)).bytes()),
        4..7 => {
            let payload = dice.bytes(20);
            stream.extend(format!("${}\r\n", payload.len()).bytes());
            stream.extend(payload);
            stream.extend(b"\r\n");
        }
        7..10 if depth < 6 => {
            let n = dice.below(4);
            stream.extend(format!("{}{n}\r\n", dice.pick(&["*", "*", "*", "~", ">", "%", "|"])).bytes());
            (0..n).for_each(|_| put_reply(dice, stream, depth + 1));
        }
        10 => stream.extend(b"*1\r\n".repeat(dice.below(40))),
        _ => stream.extend(
            format!("{}{}\r\n", dice.pick(&["$", "*", ">", "%", "!", "="]), dice.pick(&LENGTHS)).bytes(),
        ),
    }
}

fn stream(dice: &mut Dice) -> Vec<u8> {
    let mut stream = Vec::new();
    (0..=dice.below(5)).for_each(|_| put_reply(dice, &mut stream, 0));
    if dice.once_in(2) {
        dice.damage(&mut stream);
    }
    stream
}

/// What the skipper finds, and whether it came to the end.
fn skipped(stream: &[u8], cuts: &[usize]) -> (Vec<String>, bool) {
    let (mut skipper, mut found, mut start) = (Dialect::Resp2.skipper(), Vec::new(), 0);
    for end in cuts {
        let mut piece = &stream[start..*end];
        loop {
            match skipper.next(&mut piece) {
                Ok(Some(Reply::Error(line))) => found.push(String::from_utf8_lossy(line).into_owned()),
                Ok(Some(reply)) => found.push(format!("{reply:?}")),
                Ok(None) => break,
                Err(_) => return (found, false),
            }
        }
        start = *end;
    }
    (found, true)
}

/// Where the replies end that the bounded skipper lets through, and whether it came to the end.
fn let_through(stream: &[u8], cuts: &[usize]) -> (Vec<usize>, bool) {
    let (mut skipper, mut ends, mut start) = (Dialect::Resp2.skipper().bounded(), Vec::new(), 0);
    for end in cuts {
        let mut piece = &stream[start..*end];
        loop {
            let is_ended = match skipper.next(&mut piece) {
                Ok(reply) => reply.is_some(),
                Err(_) => return (ends, false),
            };
            if !is_ended {
                break;
            }
            ends.push(end - piece.len());
        }
        start = *end;
    }
    (ends, true)
}

/// How many lists are open at most in the whole reply at the front of `bytes`, and where it ends; by recursion, as
/// a decoder would.
fn depth(bytes: &[u8]) -> (usize, usize) {
    let line = bytes.iter().position(|byte| *byte == b'\n').expect("a line") + 1;
    let length = || std::str::from_utf8(&bytes[1..line - 2]).unwrap().parse::<i64>().unwrap();
    match bytes[0] {
        b'$' | b'!' | b'=' => (0, line + usize::try_from(length()).map_or(0, |length| length + 2)),
        list @ (b'*' | b'~' | b'%') => {
            let n = length() * if list == b'%' { 2 } else { 1 };
            (0..n).fold((0, line), |(deepest, at), _| {
                let (deep, end) = depth(&bytes[at..]);
                (deepest.max(deep + 1), at + end)
            })
        }
        _ => (0, line),
    }
}

#[test]
fn the_skipper_and_the_bounded_one_agree_however_replies_are_cut() {
    for round in cases("replies that are cut", 1) {
        let dice = &mut Dice::new(round);
        let stream = stream(dice);
        let context = || format!("round {round}: {}", stream.escape_ascii());
        let cuts = dice.cuts(stream.len());
        let (found, all) = skipped(&stream, &[stream.len()]);
        assert_eq!(skipped(&stream, &cuts), (found.clone(), all), "{}", context());
        let (ends, passed) = let_through(&stream, &[stream.len()]);
        assert_eq!(let_through(&stream, &cuts), (ends.clone(), passed), "{}", context());
        // What passes is what the skipper sees, and no deeper than a decoder can bear.
        assert!(
            ends.len() <= found.len() && (!passed || (all && ends.len() == found.len())),
            "{}",
            context()
        );
        let mut start = 0;
        for end in ends {
            let (deep, length) = depth(&stream[start..end]);
            assert!(deep <= 32 && start + length == end, "{}", context());
            start = end;
        }
    }
}

#[test]
fn a_greeting_judges_any_line() {
    let greeting = Greeting::new(&Target { dialect: Dialect::Resp3, db: 3, ..Target::default() }, "fuzz");
    for round in cases("greetings", 1) {
        let dice = &mut Dice::new(round);
        let line = dice.bytes(80);
        let (mut greeter, _) = greeting.begin();
        (0..dice.below(3)).for_each(|_| drop(greeter.process_reply(Reply::Value, &greeting)));
        if let Err(turned_down) = greeter.process_reply(Reply::Error(&line), &greeting) {
            assert!(turned_down.to_string().contains("was refused"), "{round}");
        }
    }
}

/// A server that answers everything by dice, and hangs up when it has thrown them for the third time; a decent one up to
/// the first command that begins with `decent_until`.
fn dicing(decent_until: &'static str) -> Crowd {
    Crowd::start(move |peer, number| {
        let dice = &mut Dice::new(number as u64);
        let mut thrown = 0;
        while let Some(command) = peer.command() {
            if thrown == 0 && !command.starts_with(decent_until) {
                peer.say(if command == "PING" { "+PONG\r\n" } else { "+OK\r\n" });
                continue;
            }
            peer.say_bytes(&stream(dice));
            thrown += 1;
            if thrown == 3 {
                return;
            }
        }
    })
}

#[test]
fn first_contact_always_ends() {
    let server = dicing("PING");
    for _ in cases("first contacts", 50) {
        // Whatever it finds: it comes back.
        if let Err(error) = reach(&server.target(), Duration::from_millis(500)) {
            assert!(!error.to_string().contains('\n'), "{error}");
        }
    }
}

#[test]
fn the_control_plane_survives_any_answer() {
    thread::scope(|scope| {
        for decent_until in ["CLIENT", "INFO", "DBSIZE"] {
            scope.spawn(move || {
                let server = dicing(decent_until);
                // Half an answer is waited for until the time is up, so they are few.
                for _ in cases(decent_until, 4000) {
                    let (news, _messages) = channel();
                    let every = Duration::from_millis(5);
                    let control = Control::start(server.target(), Clock::start(), every, news).unwrap();
                    // Whatever it is; that there is none in half a minute is none.
                    let answer = control.survey().wait(Duration::from_secs(30));
                    assert!(answer.is_some(), "no answer to a survey, decent until {decent_until}");
                }
            });
        }
    });
}

#[test]
fn the_ping_survives_any_answer() {
    let server = dicing("CLIENT");
    for _ in cases("pings", 1000) {
        let (messages, heard) = channel();
        let plan = PingPlan { tick: Duration::from_millis(5), ..PingPlan::new(server.target()) };
        let probe = PingProbe::start(plan, Clock::start(), messages).unwrap();
        for _ in 0..5 {
            wait_among(&heard, "a report", |message| matches!(message, ProbeMessage::Ping(_)).then_some(()));
        }
        drop(probe);
    }
}
