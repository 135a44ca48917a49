//! A recording is shown on the same screen, whatever ended it: it plays, is searched, and what is broken in it is reported.

use std::path::Path;

use crate::support::{
    Server,
    program::{Running, redyno, run},
    terminal::{Terminal, clock},
    wait_for,
};
use redyno::{
    events::EventKind,
    knobs::Knobs,
    session::{
        Event, Interval, Record, Segment, ServerIdentity, SessionEnd, SessionStart, SessionWriter, Summary,
    },
    stats::Recorder,
};
use rustix::process::Signal;

const LEFT: &str = "\x1b[D";
const HOME: &str = "\x1b[H";

/// Two minutes: a minute of 50 clients, one of 200, and 70 ms at second 42.
fn recording(path: &Path) {
    let mut writer = SessionWriter::create(path).unwrap();
    let mut write = |record| writer.write(&record).unwrap();
    let target = ServerIdentity { address: "10.0.0.5:6379".to_owned(), ..ServerIdentity::default() };
    write(Record::Session(SessionStart::now(target)));
    for second in 1..=120_u32 {
        let t_s = f64::from(second);
        let (segment, clients) = if second <= 60 { (1, 50) } else { (2, 200) };
        if second % 60 == 1 {
            let knobs = Knobs { load: true, clients, ..Knobs::default() };
            write(Record::Segment(Segment::new(t_s - 1.0, segment, knobs)));
        }
        let mut recorder = Recorder::new();
        (0..2000).for_each(|_| recorder.record(u64::from(clients) * 5_000));
        if second == 42 {
            recorder.record(70_000_000);
            let what = EventKind::SlowCommand {
                us: 70_000,
                command: "KEYS *".to_owned(),
                client: None,
                arguments: Vec::new(),
            };
            write(Record::Event(Event::new(t_s, what)));
        }
        let service = recorder.latency();
        let ops = service.count();
        let ops_per_s = ops as f64;
        let interval =
            Interval { t_s, length_s: 1.0, segment, ops, ops_per_s, clients, service, ..Interval::default() };
        write(Record::Interval(Box::new(interval)));
    }
    write(Record::End(Box::new(SessionEnd {
        t_s: 120.0,
        summary: Summary::default(),
        ..SessionEnd::default()
    })));
}

fn wait_for_clock(terminal: &Terminal, moment: &str) {
    terminal.wait_for(moment, |screen| (clock(screen) == Some(moment)).then_some(()));
}

#[test]
fn a_recording_plays_pauses_and_is_searched_on_the_same_screen() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tuning.jsonl");
    recording(&path);
    let mut terminal = Terminal::start(&redyno(&["replay", path.to_str().unwrap()]), 120, 36);
    terminal.wait_for_text("REPLAY tuning.jsonl, paused 1×");
    wait_for_clock(&terminal, "00:02:00");
    terminal.wait_for_text("200 clients, 1 in flight each");
    terminal.press("w");
    wait_for_clock(&terminal, "00:00:41");
    let screen = terminal.text();
    assert!(screen.contains("70.0 ms") && screen.contains("50 clients, 1 in flight each"), "{screen}");
    assert!(screen.contains("slowlog 70.0 ms"), "{screen}");
    terminal.press(HOME);
    wait_for_clock(&terminal, "00:00:00");
    assert!(!terminal.text().contains("slowlog"), "what was to come is not shown: {}", terminal.text());
    terminal.press("s");
    wait_for_clock(&terminal, "00:01:01");
    terminal.press(LEFT);
    terminal.wait_for_text("segment 1");
    terminal.press(">>>>>>");
    terminal.wait_for_text("paused 64×");
    terminal.press(" ");
    terminal.wait_for("time to run", |screen| (clock(screen)? > "00:01:10").then_some(()));
    // It stops by itself at the end, unless it is stopped before.
    wait_for_clock(&terminal, "00:02:00");
    terminal.wait_for_text("paused 64×");
    terminal.press("q");
    let (code, text) = terminal.end();
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("00:02:00 measured") && text.contains("  2   clients 200"), "{text}");
}

/// An hour whose even seconds have twice the throughput of the odd ones, with 70 ms at second 1801.
fn an_hour(path: &Path) {
    let mut writer = SessionWriter::create(path).unwrap();
    let mut write = |record| writer.write(&record).unwrap();
    write(Record::Session(SessionStart::now(ServerIdentity::default())));
    let knobs = Knobs { load: true, ..Knobs::default() };
    write(Record::Segment(Segment::new(0.0, 1, knobs)));
    for second in 1..=3600_u32 {
        let mut recorder = Recorder::new();
        (0..2000).for_each(|n| recorder.record(100_000 + n * 10));
        if second == 1801 {
            recorder.record(70_000_000);
        }
        let (t_s, ops) = (f64::from(second), if second % 2 == 0 { 2000 } else { 1000 });
        let service = recorder.latency();
        let interval = Interval { t_s, length_s: 1.0, segment: 1, ops, service, ..Interval::default() };
        write(Record::Interval(Box::new(interval)));
    }
    write(Record::End(Box::new(SessionEnd {
        t_s: 3600.0,
        summary: Summary::default(),
        ..SessionEnd::default()
    })));
}

#[test]
fn a_zoom_into_an_hour_shows_its_seconds() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hour.jsonl");
    an_hour(&path);
    let mut terminal = Terminal::start(&redyno(&["replay", path.to_str().unwrap()]), 120, 36);
    wait_for_clock(&terminal, "01:00:00");
    terminal.press("w");
    wait_for_clock(&terminal, "00:30:00");
    terminal.wait_for_text("1.50 k");
    terminal.press("+++++++++++++++");
    terminal.wait_for_text("1.00 k");
    terminal.press("-----");
    terminal.press("q");
    assert_eq!(terminal.end().0, Some(0));
}

#[test]
fn pause_stops_the_time_that_runs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tuning.jsonl");
    recording(&path);
    let mut terminal = Terminal::start(&redyno(&["replay", path.to_str().unwrap()]), 80, 24);
    wait_for_clock(&terminal, "00:02:00");
    terminal.press(HOME);
    terminal.press("p");
    terminal.wait_for_text("playing 1×");
    wait_for_clock(&terminal, "00:00:01");
    terminal.press("p");
    terminal.wait_for_text("paused 1×");
    let before = clock(&terminal.text()).map(str::to_owned);
    // Another key is drawn after whatever was under way.
    terminal.press("?");
    terminal.wait_for_text("find: ");
    terminal.press("q");
    terminal.wait_until_gone("find: ");
    assert_eq!(clock(&terminal.text()).map(str::to_owned), before);
    terminal.press("q");
    assert_eq!(terminal.end().0, Some(0));
}

#[test]
fn the_knobs_of_a_recording_cannot_be_turned_and_it_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tuning.jsonl");
    recording(&path);
    let mut terminal = Terminal::start(&redyno(&["replay", path.to_str().unwrap()]), 120, 36);
    wait_for_clock(&terminal, "00:02:00");
    for keys in ["l", "\r75\r"] {
        terminal.press(keys);
        terminal.wait_for_text("this is a recording: its knobs cannot be changed");
        assert!(terminal.text().contains("● LOAD"), "{}", terminal.text());
        terminal.press(LEFT);
        terminal.wait_until_gone("this is a recording");
    }
    terminal.press("I");
    terminal.wait_for_text("this is a recording: nothing is measured now");
    terminal.press("q");
    assert_eq!(terminal.end().0, Some(0));
}

#[test]
fn a_recording_that_was_cut_by_kill_9_opens() {
    let server = Server::redis().start();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("killed.jsonl");
    let file = path.to_str().unwrap();
    let live = Running::start(redyno(&[
        "-p",
        &server.port_text(),
        "--load",
        "--yes",
        "--headless",
        "--record",
        file,
        "-c",
        "10",
    ]));
    let intervals =
        |text: &str| text.lines().filter(|line| line.starts_with("{\"kind\":\"interval\"")).count();
    wait_for("three seconds in the file", || {
        (intervals(&std::fs::read_to_string(&path).unwrap_or_default()) >= 3).then_some(())
    });
    live.signal(Signal::KILL);
    drop(live);
    let whole = std::fs::read_to_string(&path).unwrap();
    let outcome = run(&["replay", file]).expect_code(0);
    assert!(outcome.out.contains("segment 1: 10 clients × 1"), "{}", outcome.out);
    // The kill can also fall into the middle of a write.
    let end = if whole.ends_with('\n') { "without an end record" } else { "in the middle of a record" };
    assert!(outcome.out.contains(&format!("recording: the recording ends {end}")), "{}", outcome.out);
    let rows = |text: &str| text.lines().filter(|line| line.contains(" s ") && line.contains("/s ")).count();
    assert!(rows(&outcome.out) >= 3, "{}", outcome.out);

    // The last write itself was cut, and a line in the middle is damaged.
    let mut lines: Vec<&str> = whole.lines().collect();
    let last = lines.pop().unwrap();
    lines.insert(2, "{\"kind\":\"interval\",\"t_s\":garbage");
    let text = format!("{}\n{}", lines.join("\n"), &last[..last.len() / 2]);
    std::fs::write(&path, text).unwrap();
    let outcome = run(&["replay", file]).expect_code(0);
    assert!(outcome.out.contains("line 3 is no record and is skipped: "), "{}", outcome.out);
    assert!(outcome.out.contains("the recording ends in the middle of a record"), "{}", outcome.out);

    let mut terminal = Terminal::start(&redyno(&["replay", file]), 200, 60);
    terminal.wait_for_text("REPLAY killed.jsonl, paused 1×");
    // A long event goes on in a second row.
    terminal.wait_for_text("the recording ends in the middle");
    terminal.press("q");
    assert_eq!(terminal.end().0, Some(0));
}
