//! A recording that breaks off does not end the session, and its end says so: on stderr and by the exit code.

use std::process::Command;

use rustix::process::Signal;

use crate::support::{
    Server,
    program::{Running, redyno},
    terminal::Terminal,
    wait_for,
};
use redyno::session::{Reader, Record};

/// The program where no file may grow beyond 4 KiB, as on a disk that is nearly full.
fn on_a_small_disk(args: &[&str]) -> Command {
    let program = redyno(args);
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' XFSZ; ulimit -f 8; exec \"$@\"", "sh"]);
    command.arg(program.get_program()).args(program.get_args()).env("LC_ALL", "C.UTF-8");
    command
}

#[test]
fn a_session_goes_on_to_its_end_without_the_recording_and_has_failed() {
    let server = Server::redis().start();
    let directory = tempfile::tempdir().unwrap();
    let port = server.port_text();
    for name in ["session.jsonl", "session.jsonl.zst"] {
        let file = directory.path().join(name);
        let usual = ["-p", &port, "--headless", "--json", "--load", "--rate", "1000", "--duration", "3"];
        let args = [&usual[..], &["--record", file.to_str().unwrap()]].concat();
        let outcome = Running::start(on_a_small_disk(&args)).end().expect_code(1);
        let failed = format!("{name} failed: File too large");
        let shown = outcome.err.lines().filter(|line| line.contains(&failed));
        assert_eq!(shown.count(), 2, "when it happens and at the end: {}", outcome.err);
        let records = outcome.records();
        assert!(matches!(records.last(), Some(Record::End(end)) if end.t_s >= 3.0), "{:?}", records.last());
        let is_reported = |record: &Record| matches!(record, Record::Event(event) if event.what.name() == "recording failed");
        assert!(records.iter().any(is_reported));
        assert!(Reader::open(&file).unwrap().next_record().unwrap().is_some(), "what was written is there");
    }
    assert_eq!(server.cli(&["DBSIZE"]), "0");
}

#[test]
fn a_signal_does_not_hide_that_the_recording_failed() {
    let server = Server::redis().start();
    let directory = tempfile::tempdir().unwrap();
    let (port, file) = (server.port_text(), directory.path().join("session.jsonl"));
    let usual = ["-p", &port, "--headless", "--json", "--load", "--rate", "1000", "--duration", "600"];
    let args = [&usual[..], &["--record", file.to_str().unwrap()]].concat();
    let running = Running::start(on_a_small_disk(&args));
    running.wait_for_lines(1, r#""event":"recording_failed""#);
    running.signal(Signal::INT);
    let outcome = running.end().expect_code(130);
    let shown = outcome.err.lines().filter(|line| line.contains("session.jsonl failed: File too large"));
    assert_eq!(shown.count(), 2, "when it happens and at the end: {}", outcome.err);
}

#[test]
fn an_export_that_fails_is_named_as_an_export() {
    let server = Server::redis().start();
    let directory = tempfile::tempdir().unwrap();
    let export = format!("--export=ndjson:{}", directory.path().join("rows.ndjson").display());
    let args =
        ["-p", &server.port_text(), "--headless", "--json", "--duration", "5", "--rate", "500", &export];
    let outcome = Running::start(on_a_small_disk(&args)).end().expect_code(1);
    assert!(outcome.err.contains("rows.ndjson failed: File too large"), "{}", outcome.err);
    let records = outcome.records();
    let names = records.iter().filter_map(|record| match record {
        Record::Event(event) if event.what.name().ends_with(" failed") => Some(event.what.name()),
        _ => None,
    });
    assert_eq!(names.collect::<Vec<_>>(), ["export failed"]);
}

#[test]
fn a_recording_that_cannot_go_on_in_a_new_file_has_failed() {
    let server = Server::redis().start();
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("night");
    std::fs::create_dir(&folder).unwrap();
    let (port, file) = (server.port_text(), folder.join("a.jsonl"));
    let rotated = ["--record", file.to_str().unwrap(), "--record-rotate", "2s"];
    let args = [&["-p", &port, "--headless", "--json", "--duration", "4"][..], &rotated].concat();
    let running = Running::start(redyno(&args));
    running.wait_for_lines(1, r#""kind":"session""#);
    // Its file stays what it is, and the next one has no place.
    std::fs::rename(&folder, directory.path().join("gone")).unwrap();
    let outcome = running.end().expect_code(1);
    assert!(outcome.err.contains("cannot write to") && outcome.err.contains("night/a-2"), "{}", outcome.err);
    assert!(matches!(outcome.records().last(), Some(Record::End(_))));
}

#[test]
fn a_start_that_fails_leaves_no_file_that_would_block_the_next_one() {
    let server = Server::redis().with_args(&["--requirepass", "secret"]).start();
    let open = Server::redis().start();
    open.cli(&["SET", "somebodys", "1"]);
    let directory = tempfile::tempdir().unwrap();
    let (file, packed) = (directory.path().join("a.jsonl"), directory.path().join("b.jsonl.zst"));
    let export = format!("--export=csv:{}", directory.path().join("c.csv").display());
    let (port, open_port) = (server.port_text(), open.port_text());
    for (target, code) in [
        (&["-p", &open_port, "--load"][..], 2),
        (&["-p", &port, "-a", "wrong"], 1),
        (&["-p", &port, "--load", "--yes"], 1),
        (&["-p", "1"], 1),
        (&["-p", &open_port, "--load", "--yes", "-c", "10000", "-P", "10000", "-d", "67108864"], 2),
    ] {
        for record in [&file, &packed] {
            let recorded = ["--headless", "--duration", "1", &export, "--record", record.to_str().unwrap()];
            let outcome = Running::start(redyno(&[target, &recorded].concat())).end().expect_code(code);
            let left: Vec<_> = std::fs::read_dir(directory.path()).unwrap().collect();
            assert!(left.is_empty(), "{target:?}: {left:?} {outcome:?}");
        }
    }
}

#[test]
fn a_recording_that_another_program_shortens_has_failed() {
    let server = Server::redis().start();
    let directory = tempfile::tempdir().unwrap();
    let port = server.port_text();
    for name in ["a.jsonl", "b.jsonl.zst"] {
        let file = directory.path().join(name);
        let args =
            ["-p", &port, "--headless", "--json", "--duration", "4", "--record", file.to_str().unwrap()];
        let running = Running::start(redyno(&args));
        running.wait_for_lines(2, r#""kind":"ping""#);
        std::fs::OpenOptions::new().write(true).open(&file).unwrap().set_len(100).unwrap();
        let outcome = running.end().expect_code(1);
        let reported = format!("{name} failed: another program changed the file");
        assert!(outcome.err.contains(&reported), "{}", outcome.err);
        assert!(!outcome.err.contains("is whole"), "{}", outcome.err);
    }
}

#[test]
fn a_picture_that_has_no_room_is_not_left_in_part() {
    let server = Server::redis().start();
    let directory = tempfile::tempdir().unwrap();
    let place = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let (recording, picture) = (place("a.jsonl"), place("a.svg"));
    let args = ["-p", &server.port_text(), "--headless", "--duration", "2", "--record", &recording];
    Running::start(redyno(&args)).end().expect_code(0);
    for how in ["--screenshot", "--animate"] {
        let outcome = Running::start(on_a_small_disk(&["replay", &recording, how, &picture])).end();
        let outcome = outcome.expect_code(1);
        assert!(outcome.err.contains("cannot write the picture"), "{}", outcome.err);
        assert!(!std::path::Path::new(&picture).exists(), "{how}");
    }
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
fn a_recording_that_was_begun_on_the_screen_and_failed_is_reported_at_the_end_too() {
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
