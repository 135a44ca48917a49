//! A report of a recording holds what the other exports of it hold, in a file that was not there before.

use std::{fs, path::Path};

use serde_json::Value;

use crate::support::program::{Outcome, run};

const RECORDING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/session.jsonl");

fn report(files: &[&str], output: &Path) -> Outcome {
    run(&[&["report", "-o", output.to_str().unwrap()], files].concat())
}

/// What the script of a page reads.
fn data(page: &str) -> Value {
    let (_, after) = page.split_once("id=\"data\">").unwrap();
    serde_json::from_str(after.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn a_page_has_the_figures_of_its_recording_and_is_never_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("report.html");
    let outcome = report(&[RECORDING], &page).expect_code(0);
    assert_eq!((outcome.out.as_str(), outcome.err.as_str()), ("", ""));
    let text = fs::read_to_string(&page).unwrap();
    let exported = run(&["export", RECORDING, "--format", "json"]).expect_code(0).out;
    let exported: Value = serde_json::from_str(&exported).unwrap();
    assert_eq!(data(&text)["sessions"][0]["figures"], exported);
    let again = report(&[RECORDING], &page).expect_code(1);
    assert!(again.err.contains("is there already and is not overwritten"), "{}", again.err);
    assert_eq!(fs::read_to_string(&page).unwrap(), text);
}

#[test]
fn segments_of_recordings_are_compared_in_a_page_and_in_a_ticket() {
    let folder = tempfile::tempdir().unwrap();
    let [one, two] = [1, 2].map(|n| format!("{RECORDING}#{n}"));
    for name in ["change.html", "change.md"] {
        let output = folder.path().join(name);
        report(&[&one, &two], &output).expect_code(0);
        let text = fs::read_to_string(&output).unwrap();
        // In Markdown a # is escaped.
        assert!(
            text.replace('\\', "").contains("session.jsonl#2 against ")
                && text.contains("clients: 50 and 100"),
            "{text}"
        );
    }
}

#[test]
fn a_report_of_one_segment_has_only_this_segment() {
    let folder = tempfile::tempdir().unwrap();
    let pages = ["", "#2"].map(|segment| {
        let page = folder.path().join(format!("report{segment}.html"));
        report(&[&format!("{RECORDING}{segment}")], &page).expect_code(0);
        data(&fs::read_to_string(page).unwrap())["sessions"][0]["figures"].take()
    });
    let numbers = |figures: &Value| {
        let rows = figures["segments"].as_array().unwrap();
        rows.iter().map(|row| row["segment"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert!(numbers(&pages[0]).len() > 1 && numbers(&pages[1]) == [2], "{}", pages[1]["segments"]);
    assert!(pages[1]["summary"]["ops"].as_u64() < pages[0]["summary"]["ops"].as_u64());
}

#[test]
fn a_segment_that_is_missing_or_named_twice_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let [one, missing] = [1, 99].map(|n| format!("{RECORDING}#{n}"));
    for (files, code, refusal) in [
        (&[missing.as_str()][..], 1, "session.jsonl has no segment 99"),
        (&[&one, &missing], 1, "session.jsonl has no segment 99"),
        (&[RECORDING, &one], 2, "session.jsonl is named as a whole and by segment"),
        (&[&one, RECORDING], 2, "session.jsonl is named as a whole and by segment"),
        (&[&one, &one], 2, "session.jsonl#1 is named twice"),
        (&[RECORDING, RECORDING], 2, "session.jsonl is named twice"),
    ] {
        let output = folder.path().join("report.md");
        let outcome = report(files, &output).expect_code(code);
        assert!(outcome.err.contains(refusal) && outcome.err.lines().count() == 1, "{}", outcome.err);
        assert!(!output.exists(), "{files:?}");
    }
}

#[test]
fn what_cannot_be_read_leaves_no_report_behind() {
    let folder = tempfile::tempdir().unwrap();
    let broken = folder.path().join("broken.jsonl");
    fs::write(&broken, "{}\n").unwrap();
    for file in [broken.to_str().unwrap(), "/nowhere/at.all"] {
        let output = folder.path().join("report.html");
        let outcome = report(&[RECORDING, file], &output).expect_code(1);
        assert!(outcome.err.starts_with("redyno: ") && outcome.err.contains(file), "{}", outcome.err);
        assert!(!output.exists(), "{file}");
    }
}
