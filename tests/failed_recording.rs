//! A recording that breaks off does not end the session, and its end says so: on stderr and by the exit code.

use std::process::Command;

use crate::support::{
    Server,
    program::{Running, redyno},
    terminal::Terminal,
    wait_for,
};
use redyno::session::Record;

/// The program where no file may grow beyond 16 KiB, as on a disk that is nearly full.
fn on_a_small_disk(args: &[&str]) -> Command {
    let program = redyno(args);
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' XFSZ; ulimit -f 32; exec \"$@\"", "sh"]);
    command.arg(program.get_program()).args(program.get_args()).env("LC_ALL", "C.UTF-8");
    command
}

#[test]
fn a_session_goes_on_to_its_end_without_the_recording_and_has_failed() {
    let server = Server::redis().start();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("session.jsonl");
    let port = server.port_text();
    let usual = ["-p", &port, "--headless", "--json", "--load", "--duration", "3"];
    let args = [&usual[..], &["--record", file.to_str().unwrap()]].concat();
    let outcome = Running::start(on_a_small_disk(&args)).end().expect_code(1);
    let told = outcome.err.lines().filter(|line| line.contains("session.jsonl failed: File too large"));
    assert_eq!(told.count(), 2, "when it happens and at the end: {}", outcome.err);
    let records = outcome.records();
    assert!(matches!(records.last(), Some(Record::End(end)) if end.t_s >= 3.0), "{:?}", records.last());
    let is_told =
        |record: &Record| matches!(record, Record::Event(event) if event.what.name() == "recording failed");
    assert!(records.iter().any(is_told));
    assert_eq!(server.cli(&["DBSIZE"]), "0");
}

#[test]
fn a_recording_whose_file_is_removed_has_failed() {
    let server = Server::redis().start();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("session.jsonl");
    let port = server.port_text();
    let args = ["-p", &port, "--headless", "--json", "--duration", "3", "--record", file.to_str().unwrap()];
    let running = Running::start(redyno(&args));
    running.wait_for_lines(1, r#""kind":"ping""#);
    std::fs::remove_file(&file).unwrap();
    let outcome = running.end().expect_code(1);
    assert!(outcome.err.contains("session.jsonl failed: the file was removed"), "{}", outcome.err);
}

#[test]
fn a_recording_that_was_begun_on_the_screen_and_failed_is_told_at_the_end_too() {
    let server = Server::redis().start();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("session.jsonl");
    let args = ["-p", &server.port_text(), "--load", "--yes", "--record", file.to_str().unwrap()];
    let mut terminal = Terminal::start(&on_a_small_disk(&args), 120, 36);
    terminal.wait_for_text("File too large");
    wait_for("load", || (server.calls(&[], "get") > 100).then_some(()));
    terminal.press("q");
    let (code, text) = terminal.end();
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains(" measured"), "the summary is there all the same: {text}");
}
