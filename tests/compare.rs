//! `redyno compare` and `--fail-if`: what can be compared is, what cannot is refused with its reason, and a threshold that is
//! crossed is an exit code.

use std::{fs, path::Path};

use serde_json::Value;

use crate::support::{
    Server,
    program::{Outcome, redyno, run},
};

/// Records a short run into `folder`.
fn record(server: &Server, folder: &Path, name: &str, options: &[&str]) -> String {
    let file = folder.join(name).display().to_string();
    let port = server.port_text();
    let usual = ["-p", &port, "--headless", "--yes", "--record", &file, "-c", "2"];
    run(&[&usual[..], options].concat()).expect_code(0);
    file
}

const LOAD: [&str; 4] = ["--rate", "2000", "-n", "3000"];

fn one_line(outcome: &Outcome, parts: &[&str]) {
    let ours = outcome.err.lines().filter(|line| line.starts_with("redyno: ")).count();
    assert_eq!(ours, 1, "{}", outcome.err);
    for part in parts {
        assert!(outcome.err.contains(part), "{part} in {}", outcome.err);
    }
}

#[test]
fn two_recordings_are_one_table_and_conditions_are_exit_codes() {
    let server = Server::redis().start();
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = ["a.jsonl", "b.jsonl"].map(|name| record(&server, folder.path(), name, &LOAD));
    let shown = run(&["compare", &a, &b]).expect_code(0);
    for part in
        ["new against base", "ops/s ", "resp p99 ", "GET p99 ", "errors ", "repeat both in alternation"]
    {
        assert!(shown.out.contains(part), "{part} in {}", shown.out);
    }
    let json: Value = serde_json::from_str(&run(&["compare", &a, &b, "--json"]).expect_code(0).out).unwrap();
    assert_eq!(
        (&json["base"][0], &json["new"][0], &json["sequential"]),
        (&a.as_str().into(), &b.as_str().into(), &true.into())
    );
    let row =
        json["table"].as_array().unwrap().iter().find(|row| row["figure"] == "response_p99_us").unwrap();
    assert!(row["base"].as_f64().unwrap() > 1.0 && row["change"].is_number(), "{row}");
    let markdown = run(&["compare", &a, &b, "--markdown"]).expect_code(0).out;
    assert!(markdown.starts_with("| | base | new | new against base | |\n|---|"), "{markdown}");
    let fine = ["--fail-if", "errors > 0", "--fail-if", "ops < -50%", "--fail-if", "ops < 100"];
    run(&[&["compare", &a, &b][..], &fine].concat()).expect_code(0);
    let crossed = run(&[&["compare", &a, &b, "--fail-if", "p99 > 1us"][..], &fine].concat()).expect_code(3);
    one_line(&crossed, &["redyno: p99 > 1us: resp p99 "]);
    assert!(crossed.out.contains("new against base"), "the table is shown all the same");
}

#[test]
fn a_job_of_github_gets_its_summary_and_its_annotations() {
    let server = Server::redis().start();
    let folder = tempfile::tempdir().unwrap();
    let file = record(&server, folder.path(), "a.jsonl", &LOAD);
    let summary = folder.path().join("summary.md");
    let mut command = redyno(&["compare", &file, &file, "--fail-if", "ops > 1"]);
    command.env("GITHUB_ACTIONS", "true").env("GITHUB_STEP_SUMMARY", &summary);
    let output = command.output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(errors.lines().any(|line| line.starts_with("::error title=redyno::ops > 1: ops/s ")), "{errors}");
    let text = fs::read_to_string(summary).unwrap();
    assert!(text.starts_with("| | base | new |") && text.contains("**ops &gt; 1: ops/s "), "{text}");
}

#[test]
fn what_cannot_be_compared_is_refused_with_the_reason_unless_forced() {
    let server = Server::redis().start();
    let folder = tempfile::tempdir().unwrap();
    let base = record(&server, folder.path(), "base.jsonl", &LOAD);
    let closed = ["-n", "3000"];
    let other =
        record(&server, folder.path(), "other.jsonl", &[&closed[..], &["--workload", "get"]].concat());
    let refused = run(&["compare", &base, &other]).expect_code(1);
    one_line(&refused, &["rate: 2000/s and max", "workload: SET:GET 1:10 and GET", "give --anyway"]);
    assert_eq!(refused.out, "");
    let shown = run(&["compare", &base, &other, "--anyway"]).expect_code(0);
    assert!(shown.out.contains("different kinds of runs: rate: 2000/s and max"), "{}", shown.out);
    let idle = folder.path().join("idle.jsonl").display().to_string();
    run(&["-p", &server.port_text(), "--headless", "--duration", "0.5", "--record", &idle]).expect_code(0);
    one_line(&run(&["compare", &base, &idle]).expect_code(1), &["idle.jsonl has no segment under load"]);
    one_line(&run(&["compare", &base, "/nowhere"]).expect_code(1), &["cannot read /nowhere"]);
    one_line(&run(&["compare", &base]).expect_code(2), &["compare takes two recordings, but 1 is given"]);
    let wrong = ["compare", &base, &base, "--fail-if", "p98 > 1ms"];
    one_line(&run(&wrong).expect_code(2), &["'p98' is not a figure; give one of ops, errors"]);
    one_line(
        &run(&["compare", &base, &format!("{base}#7")]).expect_code(1),
        &["has no segment 7 under load; it has 1: 2 clients"],
    );
}

#[test]
fn several_of_each_are_repeats() {
    let server = Server::redis().start();
    let folder = tempfile::tempdir().unwrap();
    let files: Vec<_> = (0..4)
        .map(|n| record(&server, folder.path(), &format!("{n}.jsonl"), &["--rate", "2000", "-n", "1000"]))
        .collect();
    let shown =
        run(&["compare", &files[0], &files[2], "--new", &files[1], &files[3], "--json"]).expect_code(0);
    let json: Value = serde_json::from_str(&shown.out).unwrap();
    let row =
        json["table"].as_array().unwrap().iter().find(|row| row["figure"] == "response_p50_us").unwrap();
    assert!(row["low"].as_f64().unwrap() <= row["change"].as_f64().unwrap(), "{row}");
    let words = ["better", "worse", "no difference", "not clear"];
    assert!(words.contains(&row["verdict"].as_str().unwrap()) && row["reason"].is_string(), "{row}");
}

#[test]
fn a_run_is_judged_at_its_end() {
    let server = Server::redis().start();
    let folder = tempfile::tempdir().unwrap();
    let base = record(&server, folder.path(), "base.jsonl", &LOAD);
    let port = server.port_text();
    let with = |options: &[&str]| {
        run(&[&["-p", &port, "--headless", "--yes", "-c", "2"], &LOAD[..], options].concat())
    };
    with(&["--fail-if", "errors > 0", "--fail-if", "p99 > 60s"]).expect_code(0);
    one_line(&with(&["--fail-if", "ops > 100"]).expect_code(3), &["redyno: ops > 100: ops/s "]);
    with(&["--base", &base, "--fail-if", "ops < -50%"]).expect_code(0);
    one_line(
        &with(&["--fail-if", "ops < -5%"]).expect_code(2),
        &["is a condition on the change from another run: give the recording", "--base FILE"],
    );
    let other = ["--base", &base, "--fail-if", "ops < -5%", "-P", "4"];
    one_line(&with(&other).expect_code(1), &["pipeline: 1 and 4; as --base, give a recording with the same"]);
    let missing = with(&["--base", "nope.jsonl", "--fail-if", "ops < -5%"]).expect_code(1);
    assert!(missing.out.is_empty() && missing.err.contains("nope.jsonl"), "{missing:?}");
}
