//! Parameters of a server that were set from the screen: a segment each, and as they were after every end.

use std::sync::mpsc::channel;

use rustix::process::Signal;

use crate::{
    scripted::Crowd,
    support::{
        Server,
        program::{records, redyno, run},
        session::plan,
        terminal::Terminal,
        wait_for,
    },
};
use redyno::{
    knobs::Knobs,
    server::Parameter,
    session::{
        Record,
        running::{Commission, KeyOwner, Session, StartError},
    },
    signals,
    workload::RunId,
};

fn value(server: &Server, name: &str) -> String {
    let text = server.cli(&["CONFIG", "GET", name]);
    text.lines().nth(1).unwrap_or_default().to_owned()
}

fn wait_for_value(server: &Server, name: &str, wanted: &str) {
    wait_for(&format!("{name} to be {wanted}"), || (value(server, name) == wanted).then_some(()));
}

/// The Server screen, with `maxmemory` (the first parameter) and `hz` (the seventh) set.
fn tuned(server: &Server, more: &[&str]) -> Terminal {
    let port = server.port_text();
    let mut terminal = Terminal::start(&redyno(&[&["-p", &port], more].concat()), 120, 36);
    terminal.press("3");
    terminal.wait_for_text("noeviction");
    terminal.press("\x1b[C");
    terminal.wait_for_text("CONFIG SET maxmemory 67108864");
    assert_eq!(value(server, "maxmemory"), "0", "not before the answer");
    terminal.press("y");
    terminal.wait_for_text("maxmemory is 67108864");
    terminal.press("\x1b[A\x1b[A\x1b[A\x1b[A\r50\r");
    terminal.wait_for_text("CONFIG SET hz 50");
    terminal.press("y");
    terminal.wait_for_text("hz is 50");
    wait_for_value(server, "hz", "50");
    terminal
}

#[test]
fn what_was_set_is_a_segment_and_is_set_back_when_the_person_quits() {
    for server in [Server::redis().start(), Server::valkey().start()] {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("session.jsonl");
        let mut terminal = tuned(&server, &["--record", file.to_str().unwrap()]);
        terminal.press("q");
        let (code, text) = terminal.end();
        assert_eq!(code, Some(0), "{text}");
        assert_eq!((value(&server, "maxmemory"), value(&server, "hz")), ("0".to_owned(), "10".to_owned()));
        let (hz, maxmemory) =
            (text.find("hz is restored to 10").unwrap(), text.find("maxmemory is restored to 0").unwrap());
        assert!(hz < maxmemory, "the last is set back first: {text}");
        let records = records(&std::fs::read_to_string(&file).unwrap());
        let changes = records.iter().filter_map(|record| match record {
            Record::Segment(segment) => segment.config.as_ref(),
            _ => None,
        });
        let shown: Vec<_> = changes.map(|c| format!("{} {} {}", c.name, c.from, c.to)).collect();
        assert_eq!(shown, ["maxmemory 0 67108864", "hz 10 50"]);
        // Nothing was written besides.
        assert_eq!(server.cli(&["DBSIZE"]), "0");
    }
}

#[test]
fn what_was_set_is_set_back_after_a_signal() {
    let server = Server::redis().start();
    for signal in [Signal::TERM, Signal::HUP] {
        let terminal = tuned(&server, &[]);
        terminal.signal(signal);
        assert_eq!(terminal.end().0, Some(130));
        assert_eq!((value(&server, "maxmemory"), value(&server, "hz")), ("0".to_owned(), "10".to_owned()));
    }
}

#[test]
fn what_somebody_else_set_meanwhile_is_left() {
    let server = Server::redis().start();
    let mut terminal = tuned(&server, &[]);
    server.cli(&["CONFIG", "SET", "hz", "77"]);
    terminal.press("q");
    let (_, text) = terminal.end();
    assert!(
        text.contains("hz was 10, but somebody else has set it to 77, so redyno did not change it"),
        "{text}"
    );
    assert_eq!((value(&server, "maxmemory"), value(&server, "hz")), ("0".to_owned(), "77".to_owned()));
}

#[test]
fn what_cannot_be_set_back_is_reported_with_the_command_for_it() {
    let mut server = Server::redis().start();
    let mut terminal = tuned(&server, &[]);
    server.kill();
    terminal.press("q");
    let (_, text) = terminal.end();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let command = format!("redis-cli -h 127.0.0.1 -p {} CONFIG SET maxmemory 0", server.port());
    assert!(text.contains(&command), "{text}");
}

#[test]
fn a_refusal_is_one_line_and_no_segment() {
    let server = Server::redis().start();
    let port = server.port_text();
    let mut terminal = Terminal::start(&redyno(&["-p", &port]), 120, 36);
    terminal.press("3");
    terminal.wait_for_text("noeviction");
    terminal.press("jjjjj\x1b[C");
    terminal.wait_for_text("CONFIG SET io-threads 2");
    terminal.press("y");
    terminal.wait_for_text("io-threads was not set: the server refused CONFIG");
    terminal.press("q");
    let (code, text) = terminal.end();
    assert_eq!(code, Some(0));
    assert!(!text.contains("restored"), "{text}");
}

/// Kills a session that has set `maxmemory` and `hz`; how the next one and `redyno clean` will name it.
fn killed(server: &Server, more: &[&str]) -> String {
    let mut terminal = tuned(server, more);
    let name = format!("process {}", terminal.pid().as_raw_nonzero());
    terminal.signal(Signal::KILL);
    assert_eq!(terminal.exit_code(), None);
    assert_eq!((value(server, "maxmemory"), value(server, "hz")), ("67108864".to_owned(), "50".to_owned()));
    name
}

/// What a session says that only looks.
fn shown_at_the_next_start(server: &Server) -> String {
    run(&["-p", &server.port_text(), "--headless", "--duration", "0.5"]).expect_code(0).err
}

#[test]
fn what_a_killed_session_set_is_shown_at_the_next_start_and_set_back_by_clean() {
    for server in [Server::redis().start(), Server::valkey().start()] {
        let name = killed(&server, &[]);
        let shown = shown_at_the_next_start(&server);
        let expected = format!(
            "{name} set hz to 50 (it was 10), maxmemory to 67108864 (it was 0); `redyno clean -h 127.0.0.1 -p {}` sets that back",
            server.port()
        );
        assert!(shown.contains(&expected), "{shown}");
        assert_eq!(value(&server, "hz"), "50", "looking sets nothing");

        let cleaned = run(&["clean", "-p", &server.port_text(), "--yes"]).expect_code(0);
        for part in [
            &format!("{name} set parameters of the server"),
            "hz is restored to 10",
            "maxmemory is restored to 0",
        ] {
            assert!(cleaned.out.contains(part), "{part}: {}", cleaned.out);
        }
        assert_eq!((value(&server, "maxmemory"), value(&server, "hz")), ("0".to_owned(), "10".to_owned()));
        assert_eq!(
            (server.cli(&["DBSIZE"]), shown_at_the_next_start(&server)),
            ("0".to_owned(), String::new())
        );
    }
}

#[test]
fn clean_leaves_what_somebody_else_set_after_the_kill_and_removes_the_keys() {
    for server in [Server::redis().start(), Server::valkey().start()] {
        let name = killed(&server, &["--load", "--ratio", "1:0", "-r", "500", "-c", "2"]);
        assert!(
            shown_at_the_next_start(&server).contains(&format!("{name} left its keys here and set hz to 50"))
        );
        server.cli(&["CONFIG", "SET", "hz", "77"]);
        let cleaned = run(&["clean", "-p", &server.port_text(), "--yes"]).expect_code(0);
        let left = "hz was 10, but somebody else has set it to 77, so redyno did not change it";
        assert!(cleaned.out.contains(left) && cleaned.out.contains(" keys in "), "{}", cleaned.out);
        assert_eq!((value(&server, "maxmemory"), value(&server, "hz")), ("0".to_owned(), "77".to_owned()));
        assert_eq!(server.cli(&["DBSIZE"]), "0");
    }
}

#[test]
fn a_limit_below_what_is_used_says_so_is_set_and_comes_back() {
    for server in [Server::redis().start(), Server::valkey().start()] {
        server.cli(&["EVAL", "for i=1,200 do redis.call('SET','k'..i,string.rep('x',100000)) end", "0"]);
        let port = server.port_text();
        let mut terminal = Terminal::start(&redyno(&["-p", &port]), 120, 36);
        terminal.press("3");
        terminal.wait_for_text("noeviction");
        terminal.press("\r10mb\r");
        terminal.wait_for_text("are used: writes will fail");
        terminal.press("y");
        terminal.wait_for_text("maxmemory is 10485760");
        wait_for_value(&server, "maxmemory", "10485760");
        terminal.press("q");
        let (code, text) = terminal.end();
        assert_eq!((code, value(&server, "maxmemory")), (Some(0), "0".to_owned()), "{text}");
        assert!(text.contains("maxmemory is restored to 0"), "{text}");
        assert_eq!(server.cli(&["DBSIZE"]), "200");
    }
}

#[test]
fn any_character_can_be_typed_into_a_value() {
    let server = Server::redis().start();
    let mut terminal = Terminal::start(&redyno(&["-p", &server.port_text()]), 120, 36);
    terminal.press("3");
    terminal.wait_for_text("noeviction");
    terminal.press("\x1b[B\rallkeys-lru\r");
    terminal.wait_for_text("CONFIG SET maxmemory-policy allkeys-lru");
    terminal.press("y");
    wait_for_value(&server, "maxmemory-policy", "allkeys-lru");
    terminal.press("q");
    assert_eq!((terminal.end().0, value(&server, "maxmemory-policy")), (Some(0), "noeviction".to_owned()));
}

#[test]
fn a_signal_ends_a_start_while_the_server_does_not_answer_config() {
    let (signal, signals) = channel();
    let server = Crowd::start(move |peer, _| {
        while let Some(command) = peer.command() {
            match &*command {
                "CONFIG GET hz" => signal.send(signals::Signal::Interrupt).unwrap_or_default(),
                "PING" => peer.say("+PONG\r\n"),
                "INFO" => peer.say("$9\r\nrole:test\r\n"),
                _ => peer.say("+OK\r\n"),
            }
        }
    });
    let commission = Commission {
        knobs: Knobs { load: false, ..Knobs::default() },
        config: vec![(Parameter::named("hz").unwrap(), "50".to_owned())],
        ..Commission::new(plan(server.target()), RunId::random(), KeyOwner::OwnServers)
    };
    let refused = Session::start(commission, signals, 1).map(drop);
    assert!(matches!(refused, Err(StartError::Interrupted)), "{refused:?}");
}
