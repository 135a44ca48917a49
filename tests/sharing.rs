//! The palette, the mouse, marks, recordings and pictures, as a person at a terminal meets them.

use std::path::{Path, PathBuf};

use base64::{Engine as _, engine::general_purpose::STANDARD};

use crate::support::{
    Server,
    program::{redyno, run},
    terminal::Terminal,
    wait_for,
};

/// The screen over `server` in a folder of its own, with the load on.
fn loaded(server: &Server, folder: &Path, more: &[&str]) -> Terminal {
    let port = server.port_text();
    let mut command = redyno(&[&["-p", &port, "--load"], more].concat());
    command.current_dir(folder).env("XDG_STATE_HOME", folder);
    let terminal = Terminal::start(&command, 120, 36);
    terminal.wait_for_text("● LOAD");
    terminal
}

/// The only file in `folder` with this extension.
fn file(folder: &Path, extension: &str) -> Option<PathBuf> {
    let mut files = std::fs::read_dir(folder).ok()?.map(|entry| entry.unwrap().path());
    files.find(|path| path.extension().is_some_and(|found| found == extension))
}

fn quit(mut terminal: Terminal) {
    terminal.press("q");
    terminal.wait_for("the main screen", |_| terminal.is_given_back().then_some(()));
    let (code, text) = terminal.end();
    assert_eq!(code, Some(0), "{text}");
}

/// Presses the first button at a column and row, counted from 0, and lets it go.
fn click(terminal: &mut Terminal, x: usize, y: usize) {
    let (x, y) = (x + 1, y + 1);
    terminal.press(&format!("\x1b[<0;{x};{y}M\x1b[<0;{x};{y}m"));
}

#[test]
fn a_recording_begun_and_ended_on_the_screen_is_whole_and_holds_the_mark() {
    let server = Server::redis().start();
    let folder = tempfile::tempdir().unwrap();
    let mut terminal = loaded(&server, folder.path(), &[]);
    terminal.press("r");
    terminal.wait_for_text("● REC");
    terminal.press("mbefore the change\r");
    terminal.wait_for_text("marked: before the change");
    let path = wait_for("the recording", || file(&folder.path().join("redyno"), "jsonl"));
    let count = |kind: &str| {
        let text = std::fs::read_to_string(&path).unwrap();
        text.lines().filter(|line| line.starts_with(&format!("{{\"kind\":\"{kind}\""))).count()
    };
    wait_for("two seconds", || (count("interval") >= 2).then_some(()));
    terminal.press("r");
    terminal.wait_until_gone("● REC");
    wait_for("its end", || (count("end") == 1).then_some(()));
    let whole = std::fs::read_to_string(&path).unwrap();
    let kinds: Vec<_> = whole.lines().take(2).map(|line| &line[..17]).collect();
    assert_eq!(kinds, ["{\"kind\":\"session\"", "{\"kind\":\"segment\""]);
    assert_eq!(count("mark"), 1);
    let outcome = run(&["replay", path.to_str().unwrap()]).expect_code(0);
    assert!(outcome.out.contains("before the change"), "{}", outcome.out);
    assert!(!outcome.out.contains("without an end"), "{}", outcome.out);
    quit(terminal);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), whole, "nothing was written after its end");
}

#[test]
fn a_recording_that_cannot_be_written_is_reported_and_the_session_goes_on() {
    let server = Server::redis().start();
    let folder = tempfile::tempdir().unwrap();
    let gone = folder.path().join("gone");
    std::fs::create_dir(&gone).unwrap();
    let mut terminal = loaded(&server, &gone, &[]);
    std::fs::remove_dir_all(&gone).unwrap();
    std::fs::write(&gone, "no directory").unwrap();
    terminal.press("r");
    terminal.wait_for_text("cannot write to ");
    assert!(terminal.text().contains("● LOAD") && !terminal.text().contains("REC"), "{}", terminal.text());
    quit(terminal);
}

#[test]
fn the_screen_is_saved_and_the_summary_copied() {
    let server = Server::redis().start();
    let folder = tempfile::tempdir().unwrap();
    let mut terminal = loaded(&server, folder.path(), &[]);
    terminal.press("e");
    terminal.wait_for_text("saved the screen to ./redyno-");
    let svg = std::fs::read_to_string(wait_for("the SVG", || file(folder.path(), "svg"))).unwrap();
    let document = roxmltree::Document::parse(&svg).unwrap();
    let words: Vec<_> = document.descendants().filter_map(|node| node.text()).collect();
    for word in ["throughput", "knobs", "clients", "LOAD", "p99.9"] {
        assert!(words.iter().any(|found| found.starts_with(word)), "no '{word}' in {words:?}");
    }
    terminal.press("E");
    let text = wait_for("the text", || {
        let text = std::fs::read_to_string(file(folder.path(), "txt")?).ok()?;
        (text.lines().count() == 36).then_some(text)
    });
    assert!(text.contains("● LOAD") && text.contains("throughput"), "{text}");
    terminal.press("y");
    terminal.wait_for_text("sent the summary to the clipboard");
    let bytes = terminal.bytes();
    assert!(bytes.windows(7).any(|window| window == b"\x1b]52;c;"), "no OSC 52 was sent");
    quit(terminal);
}

#[test]
fn the_mouse_selects_zooms_and_shows_unless_it_is_left_to_the_terminal() {
    let server = Server::redis().start();
    let folder = tempfile::tempdir().unwrap();
    let mut terminal = loaded(&server, folder.path(), &[]);
    assert!(terminal.screen(|screen| screen.mouse_protocol_mode() != vt100::MouseProtocolMode::None));
    let place = |terminal: &Terminal, text: &str| {
        let found = terminal
            .rows()
            .iter()
            .enumerate()
            .find_map(|(y, row)| Some((row[..row.rfind(text)?].chars().count(), y)));
        found.unwrap_or_else(|| panic!("no '{text}' in:\n{}", terminal.text()))
    };
    // Before the load is on, the setting stands elsewhere.
    terminal.wait_for_text("│   pipeline");
    let (x, y) = place(&terminal, "pipeline");
    click(&mut terminal, x, y);
    terminal.wait_for_text("▸ pipeline");
    terminal.wait_for_time("00:00:03");
    click(&mut terminal, 11, 10);
    terminal.wait_for_text("FROZEN");
    terminal.press("\x1b");
    terminal.wait_until_gone("FROZEN");
    let (x, y) = place(&terminal, "5 Log");
    click(&mut terminal, x, y);
    terminal.wait_until_gone("throughput");
    quit(terminal);

    let terminal = loaded(&server, folder.path(), &["--no-mouse"]);
    assert!(terminal.screen(|screen| screen.mouse_protocol_mode() == vt100::MouseProtocolMode::None));
    quit(terminal);
}

#[test]
fn the_palette_sets_knobs_in_words_and_asks_before_harm() {
    let server = Server::redis().start();
    server.cli(&["CONFIG", "SET", "maxmemory", "64mb"]);
    let folder = tempfile::tempdir().unwrap();
    let mut terminal = loaded(&server, folder.path(), &[]);
    terminal.press(":clients 7\r");
    wait_for("7 connections", || (server.load_ids().len() == 7).then_some(()));
    terminal.press("pgentle\r");
    wait_for("10 connections", || (server.load_ids().len() == 10).then_some(()));
    terminal.wait_for_text("1000/s");
    terminal.press(":value size 64k\r");
    terminal.wait_for_text("left below maxmemory");
    terminal.press("n");
    terminal.wait_for_text("nothing was changed");
    quit(terminal);
}

#[test]
fn a_recording_is_drawn_without_a_terminal() {
    let server = Server::redis().start();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (recording, svg, text) = (path("session.jsonl"), path("screen.svg"), path("screen.txt"));
    let port = server.port_text();
    run(&[
        "-p",
        &port,
        "--load",
        "--rate",
        "1000",
        "--yes",
        "--headless",
        "--duration",
        "2",
        "--record",
        &recording,
    ])
    .expect_code(0);
    run(&["replay", &recording, "--screenshot", &svg, "--theme", "dark"]).expect_code(0);
    let drawn = std::fs::read_to_string(&svg).unwrap();
    let document = roxmltree::Document::parse(&drawn).unwrap();
    assert!(
        document.descendants().any(|node| node.text().is_some_and(|text| text.starts_with("throughput")))
    );
    let small = ["--size", "80x24", "--screen", "log", "--at", "1"];
    run(&[&["replay", &recording, "--screenshot", &text], &small[..]].concat()).expect_code(0);
    let drawn = std::fs::read_to_string(&text).unwrap();
    assert_eq!(drawn.lines().count(), 24);
    assert!(drawn.contains("REPLAY") && drawn.contains("00:00:01"), "{drawn}");
    let moving = path("moving.svg");
    run(&["replay", &recording, "--animate", &moving, "--theme", "dark", "--size", "80x24"]).expect_code(0);
    let drawn = std::fs::read_to_string(&moving).unwrap();
    let document = roxmltree::Document::parse(&drawn).unwrap();
    let moves = document.descendants().filter(|node| node.has_tag_name("animate")).count();
    let said = |word: &str| document.descendants().any(|node| node.text() == Some(word));
    assert!(moves > 2 && said("throughput,") && said("00:00:01"), "{moves}: {drawn}");
    let again = run(&["replay", &recording, "--animate", &moving]).expect_code(1);
    assert!(again.err.contains("is not overwritten"), "{}", again.err);
    let again = run(&["replay", &recording, "--screenshot", &svg]).expect_code(1);
    assert!(again.err.contains("is not overwritten"), "{}", again.err);
    for (bad, complaint) in [
        (["--size", "0x0"], "such as 120x36"),
        (["--screen", "foo"], "there are overview, latency"),
        (["--at", "x"], "it is neither a number of seconds"),
        (["--at", "999"], "--at 999: give at most "),
    ] {
        let picture = path("other.svg");
        let outcome =
            run(&[&["replay", &recording, "--screenshot", &picture], &bad[..]].concat()).expect_code(2);
        assert!(outcome.err.contains(complaint), "{}", outcome.err);
    }
}

#[test]
fn figures_leave_the_screen_as_they_were_recorded_live_and_from_a_recording() {
    let server = Server::redis().start();
    let folder = tempfile::tempdir().unwrap();
    let mut terminal = loaded(&server, folder.path(), &["--record", "s.jsonl"]);
    let path = folder.path().join("s.jsonl");
    let seconds =
        || std::fs::read_to_string(&path).unwrap_or_default().matches("\"kind\":\"interval\"").count();
    // One more than is looked for: what is kept for exports is written by another thread than the recording.
    wait_for("three seconds", || (seconds() >= 3).then_some(()));
    terminal.press("xsession csv to live.csv\r");
    terminal.wait_for_text("live.csv: the session as csv, ");
    let live = std::fs::read_to_string(folder.path().join("live.csv")).unwrap();
    assert!(live.lines().count() > 2, "{live}");
    let copied =
        STANDARD.encode(folder.path().canonicalize().unwrap().join("live.csv").display().to_string());
    let bytes = String::from_utf8_lossy(&terminal.bytes()).into_owned();
    assert!(bytes.contains(&format!("\x1b]52;c;{copied}")), "its path was not copied");
    terminal.press("xsession csv to live.csv\r");
    terminal.wait_for_text("is there already");
    terminal.press("X");
    terminal.wait_for_text(": report of the session, ");
    let page = std::fs::read_to_string(file(folder.path(), "html").unwrap()).unwrap();
    assert!(page.contains(&format!("127.0.0.1:{}", server.port_text())), "{page}");
    quit(terminal);
    let exported = run(&["export", path.to_str().unwrap(), "--format", "csv"]).expect_code(0).out;
    assert!(exported.starts_with(&live), "{exported}\nbegins otherwise than\n{live}");

    let mut command = redyno(&["replay", path.to_str().unwrap()]);
    command.current_dir(folder.path());
    let mut terminal = Terminal::start(&command, 120, 36);
    terminal.wait_for_text("REPLAY");
    terminal.press("xsession json to replayed.json\r");
    // It is written to its end even when nobody waits for that.
    terminal.press("q");
    terminal.wait_for("the main screen", |_| terminal.is_given_back().then_some(()));
    let (code, text) = terminal.end();
    assert!(code == Some(0) && text.contains("replayed.json"), "{text}");
    let replayed = std::fs::read_to_string(folder.path().join("replayed.json")).unwrap();
    assert_eq!(replayed, run(&["export", path.to_str().unwrap(), "--format", "json"]).expect_code(0).out);
    let left: Vec<_> = std::fs::read_dir(folder.path().join("redyno")).unwrap().collect();
    assert!(left.is_empty(), "the records that the screen kept have no name: {left:?}");
}
