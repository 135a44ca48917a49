//! A terminal that reads slowly or not at all: the session goes on, ends when it is asked to, and little is sent.

use crate::support::{
    Server,
    program::{records, redyno},
    terminal::{Terminal, quit},
    wait_for,
};
use rustix::process::Signal;

/// The screen over `server` with the load on, in a terminal that has stopped to read and has no room left.
fn stalled(server: &Server, more: &[&str]) -> Terminal {
    let port = server.port_text();
    let mut terminal = Terminal::start(&redyno(&[&["-p", &port, "--load"], more].concat()), 200, 60);
    terminal.wait_for_text("● LOAD");
    wait_for("a key", || (server.cli(&["DBSIZE"]) != "0").then_some(()));
    terminal.stall(true);
    let (mut is_open, mut looks) = (false, 0);
    wait_for("a terminal that stays full", || {
        if terminal.is_full() {
            // The kernel may still be moving bytes from one buffer to the next, which makes room.
            looks += 1;
            return (looks >= 20).then_some(());
        }
        looks = 0;
        // Another size has the whole screen painted anew, and so has the help.
        is_open = !is_open;
        terminal.resize(if is_open { 190 } else { 200 }, 60);
        terminal.press("?");
        None
    });
    terminal.resize(200, 60);
    if is_open {
        terminal.press("?");
    }
    terminal
}

#[test]
fn a_terminal_that_stalls_stops_the_screen_and_nothing_else() {
    let server = Server::redis().start();
    let mut terminal = stalled(&server, &[]);
    let before = server.calls(&[], "get");
    wait_for("more load", || (server.calls(&[], "get") > before + 1000).then_some(()));
    assert!(terminal.is_full());
    terminal.press("\r7\r");
    wait_for("7 connections", || (server.load_ids().len() == 7).then_some(()));
    assert!(terminal.is_full(), "the knob was turned while the terminal took nothing");
    terminal.stall(false);
    terminal.wait_for("the new figures", |screen| {
        (screen.contains("2 clients 7") && screen.contains("● LOAD")).then_some(())
    });
    quit(terminal, &server);
    assert_eq!(server.cli(&["DBSIZE"]), "0");
}

#[test]
fn a_session_ends_properly_though_its_terminal_has_stalled() {
    let server = Server::redis().start();
    let folder = tempfile::tempdir().unwrap();
    for (n, signal) in [Some(Signal::TERM), Some(Signal::HUP), None].into_iter().enumerate() {
        let file = folder.path().join(format!("{n}.jsonl"));
        let mut terminal = stalled(&server, &["--record", file.to_str().unwrap()]);
        match signal {
            Some(signal) => terminal.signal(signal),
            None => terminal.press("\x03"),
        }
        let code = terminal.exit_code();
        terminal.stall(false);
        terminal.wait_for("the terminal as it was", |_| terminal.is_given_back().then_some(()));
        assert_eq!(code, Some(if signal.is_some() { 130 } else { 0 }), "{signal:?}: {}", terminal.text());
        let recorded = records(&std::fs::read_to_string(&file).unwrap());
        assert!(
            matches!(recorded.last(), Some(redyno::session::Record::End(_))),
            "{signal:?}: {:?}",
            recorded.last()
        );
        assert_eq!(server.cli(&["DBSIZE"]), "0", "{signal:?}");
    }
}

fn count(bytes: &[u8], what: &[u8]) -> usize {
    bytes.windows(what.len()).filter(|window| window == &what).count()
}

#[test]
fn a_screen_under_load_keeps_to_its_bytes_and_asks_the_terminal_nothing_more() {
    let server = Server::redis().start();
    let port = server.port_text();
    let terminal = Terminal::start(&redyno(&["-p", &port, "--load"]), 120, 36);
    terminal.wait_for_time("00:00:12");
    let first = terminal.bytes().len();
    terminal.wait_for_time("00:00:18");
    let sent = terminal.bytes()[first..].to_vec();
    let a_second = sent.len() / 6;
    assert!(a_second < 20_000, "{a_second} bytes/s");
    assert_eq!(count(&sent, b"\x1b[6n") + count(&sent, b"\x1b[c"), 0, "the terminal was asked something");

    quit(terminal, &server);
}
