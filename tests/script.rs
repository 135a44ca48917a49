//! A file of turns: each in its time, an end with its last line, and one line where something is wrong.

use std::path::{Path, PathBuf};

use redyno::{
    demo,
    session::{Mark, Record},
};

use crate::support::{
    program::{Outcome, Running, redyno, run},
    terminal::Terminal,
};

fn file(folder: &Path, text: &str) -> PathBuf {
    let path = folder.join("turns.script");
    std::fs::write(&path, text).unwrap();
    path
}

fn play(text: &str, more: &[&str]) -> Outcome {
    let (server, folder) = (demo::start(demo::Options::default()).unwrap(), tempfile::tempdir().unwrap());
    let (port, path) = (server.address.port().to_string(), file(folder.path(), text));
    let args = [
        &["-p", &port, "--yes", "--headless", "--json", "-c", "1", "--script", path.to_str().unwrap()],
        more,
    ];
    Running::start(redyno(&args.concat())).end_of_writing()
}

/// The rates of all segments, in their order.
fn rates(records: &[Record]) -> Vec<Option<u32>> {
    let rate = |record: &Record| match record {
        Record::Segment(segment) => Some(segment.knobs.rate),
        _ => None,
    };
    records.iter().filter_map(rate).collect()
}

#[test]
fn every_turn_is_a_segment_and_the_session_ends_with_the_last_line() {
    let text = "at 0s rate 10\nfrom 1s to 2s rate 20..40 in 2\nat 2s mark up, at last\nat 3s end\n";
    let records = play(text, &[]).expect_code(0).records();
    assert_eq!(rates(&records), [10, 20, 30, 40].map(Some), "and nothing before");
    let is_mark =
        |record: &&Record| matches!(record, Record::Mark(Mark { text, .. }) if text == "up, at last");
    assert_eq!(records.iter().filter(is_mark).count(), 1);
    let Some(Record::End(end)) = records.last() else { panic!("{records:?}") };
    assert!(end.t_s >= 3.0, "{}", end.t_s);
}

#[test]
fn with_a_duration_the_session_goes_on_after_the_last_line() {
    let records = play("at 0s rate 10\nat 1s rate 20\n", &["--duration", "3"]).expect_code(0).records();
    assert_eq!(rates(&records), [10, 20].map(Some));
    let Some(Record::End(end)) = records.last() else { panic!("{records:?}") };
    assert!(end.t_s >= 3.0, "{}", end.t_s);
}

#[test]
fn what_is_wrong_in_it_is_reported_with_file_and_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "at 1s rate 10\nat 2s wheels 4\n");
    let path = path.to_str().unwrap();
    let shown = |args: &[&str]| run(&[args, &["--script", path]].concat()).expect_code(2).err;
    assert!(shown(&["--headless"]).starts_with("redyno: turns.script:2: 'wheels 4' is not a setting; "));
    file(folder.path(), "at 1s rate 10\nat 9s end");
    let short = shown(&["--headless", "--duration", "5"]);
    assert!(
        short.starts_with("redyno: --duration 5 is too short for turns.script: the last change is at 1 s"),
        "{short}"
    );
    let none = run(&["--script", "/there/is/none"]).expect_code(2).err;
    assert!(none.contains("'--script <FILE>': cannot read it: No such file"), "{none}");
}

#[test]
fn it_plays_beside_the_screen_too() {
    let folder = tempfile::tempdir().unwrap();
    let server = demo::start(demo::Options::default()).unwrap();
    let path = file(folder.path(), "at 0s clients 3\nat 0.5s pipeline 7\nat 1s mark both\n");
    let port = server.address.port().to_string();
    let args = ["-p", &port, "--yes", "--script", path.to_str().unwrap()];
    let mut terminal = Terminal::start(&redyno(&args), 120, 36);
    terminal.wait_for_text("pipeline 7");
    terminal.wait_for_text("played to its end");
    file(folder.path(), "at 0s pipeline 8\nat 60s end\n");
    terminal.press(&format!(":script {}\r", path.display()));
    terminal.wait_for_text("pipeline 8");
    terminal.press("q");
    terminal.end();
}
