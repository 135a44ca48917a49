//! Recordings without a name are found again.

use std::{fs, path::Path};

use serde_json::Value;

use crate::support::{
    Server,
    program::{Outcome, Running, redyno},
};
use redyno::session::{Reader, Record};

/// Runs redyno with its state in `state`.
fn run_in(state: &Path, args: &[&str]) -> Outcome {
    let mut command = redyno(args);
    command.env("XDG_STATE_HOME", state);
    Running::start(command).end()
}

#[test]
fn a_recording_without_a_name_is_called_by_its_target_and_listed() {
    let server = Server::redis().start();
    let state = tempfile::tempdir().unwrap();
    let port = server.port_text();
    let none = run_in(state.path(), &["sessions"]).expect_code(0);
    assert!(
        none.out.starts_with("no recordings in ") && none.out.contains("--record or the key r"),
        "{}",
        none.out
    );
    let load = ["-p", &port, "--headless", "--yes", "-c", "2", "--rate", "1000", "-n", "1500", "--record"];
    let reported = run_in(state.path(), &load).expect_code(0);
    let folder = state.path().join("redyno");
    let files: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let [file] = &files[..] else { panic!("{files:?}") };
    let name = file.file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with(&format!("127.0.0.1_{port}-2")) && name.ends_with(".jsonl"), "{name}");
    assert!(reported.out.contains(name), "{}", reported.out);
    fs::write(folder.join("other.jsonl"), "{}\n").unwrap();
    let list = run_in(state.path(), &["sessions"]).expect_code(0).out;
    assert!(
        list.contains("best ops/s") && list.contains(name) && list.contains("1 further file is no recording"),
        "{list}"
    );
    let json = run_in(state.path(), &["sessions", "--json"]).expect_code(0).out;
    let row: Value = serde_json::from_str(json.trim()).unwrap();
    assert_eq!((&row["target"], &row["open"]), (&format!("127.0.0.1:{port}").into(), &false.into()));
    let (length_s, peak) = (row["length_s"].as_f64().unwrap(), row["peak_ops_per_s"].as_f64().unwrap());
    assert!(length_s > 1.0 && peak > 0.0, "{row}");
    // A killed one has no end, and its figures all the same.
    let text = fs::read_to_string(file).unwrap();
    let cut = text.trim_end().rsplit_once('\n').unwrap().0;
    fs::write(file, cut).unwrap();
    let json = run_in(state.path(), &["sessions", "--json"]).expect_code(0).out;
    let row: Value = serde_json::from_str(json.trim()).unwrap();
    assert_eq!(row["open"], true);
    // Lengths are summed in another order.
    let again = row["peak_ops_per_s"].as_f64().unwrap();
    assert!((again / peak - 1.0).abs() < 1e-9, "{again} and {peak}");
}

#[test]
fn files_of_one_night_are_listed_and_have_every_request_once() {
    let server = Server::redis().start();
    let folder = tempfile::tempdir().unwrap();
    let port = server.port_text();
    let file = folder.path().join("night.jsonl.zst");
    let load = ["-p", &port, "--headless", "--json", "--yes", "-c", "2", "--rate", "1000", "-n", "2500"];
    let rotated = ["--record", file.to_str().unwrap(), "--record-rotate", "1s"];
    let reported = run_in(folder.path(), &[&load[..], &rotated].concat()).expect_code(0);
    let whole: Value = serde_json::from_str(reported.out.lines().last().unwrap()).unwrap();
    let place = folder.path().to_str().unwrap();
    let list = run_in(folder.path(), &["sessions", place, "--json"]).expect_code(0).out;
    let rows: Vec<Value> = list.lines().map(|row| serde_json::from_str(row).unwrap()).collect();
    assert!(rows.len() >= 3 && rows.iter().all(|row| row["open"] == false), "{list}");
    let ops = |row: &Value| {
        let mut reader = Reader::open(Path::new(row["file"].as_str().unwrap())).unwrap();
        let records: Vec<_> = std::iter::from_fn(|| reader.next_record().unwrap()).collect();
        assert!(matches!(&records[..], [Record::Session(_), Record::Segment(_), ..]), "{records:?}");
        let Some(Record::End(end)) = records.last() else { panic!("{records:?}") };
        end.summary.ops
    };
    assert_eq!(Some(rows.iter().map(ops).sum()), whole["summary"]["ops"].as_u64());
}

#[test]
fn nothing_that_the_server_says_in_its_own_words_leaves_what_redacts() {
    let server = Server::redis().with_args(&["--slowlog-log-slower-than", "0"]).start();
    server.cli(&["SET", "private:key", "1"]);
    let folder = tempfile::tempdir().unwrap();
    let port = server.port_text();
    let file = folder.path().join("a.jsonl");
    let load = ["-p", &port, "--headless", "--json", "--yes", "--duration", "3", "-c", "1", "--keep-going"];
    let asked = ["--rate", "50", "--record", file.to_str().unwrap(), "--", "LPUSH", "private:key", "1"];
    let is_event = |line: &&str| line.contains(r#""kind":"event""#);
    let private = |text: &str| -> Vec<&str> {
        let parts = ["private:key", "127.0.0.1", "wrong kind of value"].into_iter();
        parts.filter(|part| text.lines().filter(is_event).any(|line| line.contains(part))).collect()
    };
    let expect_redacted = |text: &str| {
        let events: Vec<&str> = text.lines().filter(is_event).collect();
        assert!(events.iter().any(|line| line.contains("slowlog") && line.contains("LPUSH")), "{events:?}");
        assert!(events.iter().any(|line| line.contains("WRONGTYPE")), "{events:?}");
        assert_eq!(private(text), [""; 0], "{events:?}");
    };
    // Every request fails.
    let shown = run_in(folder.path(), &[&load[..], &["--redact"], &asked].concat()).expect_code(1);
    expect_redacted(&shown.out);
    expect_redacted(&fs::read_to_string(&file).unwrap());

    fs::remove_file(&file).unwrap();
    let shown = run_in(folder.path(), &[&load[..], &asked].concat()).expect_code(1);
    assert_eq!(private(&shown.out).len(), 3, "{}", shown.out);
    let name = file.to_str().unwrap();
    let report = |output: &str, more: &[&str]| {
        let output = folder.path().join(output);
        run_in(folder.path(), &[&["report", name, "-o", output.to_str().unwrap()], more].concat())
            .expect_code(0);
        fs::read_to_string(output).unwrap()
    };
    assert!(report("all.html", &[]).contains("wrong kind of value"));
    let redacted = report("redacted.html", &["--redact"]);
    assert!(redacted.contains("WRONGTYPE") && !redacted.contains("wrong kind of value"));
    let export = ["export", name, "--format", "json"];
    assert!(run_in(folder.path(), &export).expect_code(0).out.contains("wrong kind of value"));
    let redacted = run_in(folder.path(), &[&export[..], &["--redact"]].concat()).expect_code(0).out;
    assert!(redacted.contains("WRONGTYPE") && !redacted.contains("wrong kind of value"), "{redacted}");
}

#[test]
fn all_arguments_of_a_slow_command_are_written_only_with_the_option_for_it() {
    let server = Server::redis().with_args(&["--slowlog-log-slower-than", "0"]).start();
    let folder = tempfile::tempdir().unwrap();
    let port = server.port_text();
    let file = folder.path().join("a.jsonl");
    let load = ["-p", &port, "--headless", "--json", "--yes", "--duration", "2", "-c", "1", "--rate", "50"];
    for (more, is_written) in [(&[][..], false), (&["--with-arguments"], true)] {
        let command = ["--record", file.to_str().unwrap(), "--", "MGET", "first:key", "second:key"];
        let reported = run_in(folder.path(), &[&load[..], more, &command].concat()).expect_code(0);
        for text in [&reported.out, &fs::read_to_string(&file).unwrap()] {
            let slow: Vec<_> = text.lines().filter(|line| line.contains("MGET first:key from")).collect();
            assert!(!slow.is_empty(), "{text}");
            let has_all = |line: &&str| line.contains(r#""arguments":["first:key","second:key"]"#);
            assert!(slow.iter().all(|line| has_all(line) == is_written), "{slow:?}");
            assert_eq!(slow.iter().any(|line| line.contains("second:key")), is_written);
        }
        fs::remove_file(&file).unwrap();
    }
}

#[test]
fn the_last_words_of_what_redacts_have_nothing_in_the_words_of_the_server() {
    let server = Server::redis().start();
    let port = server.port_text();
    let rules = [
        ("deaf", "+@all -info"),
        ("new", "+@all -dbsize"),
        ("poor", "+@all -unlink -del"),
        ("stranger", "+@all -ping -hello -info"),
        ("weak", "+@all -set -get"),
    ];
    for (user, allowed) in rules {
        let words = ["ACL", "SETUSER", user, "on", ">pw", "~*", "&*"];
        server.cli(&words.into_iter().chain(allowed.split(' ')).collect::<Vec<_>>());
        let args = ["-p", &port, "--user", user, "-a", "pw", "--headless", "--load", "--yes"];
        let args = [&args[..], &["--duration", "1", "-c", "1", "--rate", "100"]].concat();
        let folder = tempfile::tempdir().unwrap();
        let plain = run_in(folder.path(), &args);
        let quoted = |text: &str| text.contains("NOPERM") && text.contains("no permissions");
        assert!(quoted(&plain.err) || quoted(&plain.out), "{user}: {plain:?}");
        let redacted = run_in(folder.path(), &[&args[..], &["--redact"]].concat());
        for text in [&redacted.err, &redacted.out] {
            assert!(!text.contains("no permissions") && !text.contains("User "), "{user}: {redacted:?}");
        }
        assert_eq!(redacted.code(), plain.code(), "{user}");
    }
}
