//! Files that mean harm, or are none: they are refused in one line, or read within bounds of time and memory.

use std::{
    fs::{File, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
    process::Command,
};

use redyno::{
    knobs::Knobs,
    session::{Record, Segment, ServerIdentity, SessionStart, line},
};
use rustix::process::Signal;
use tempfile::TempDir;

use crate::support::program::{Outcome, Running, redyno};

/// More segments than a recording has at the most.
const MANY: u32 = 33_000;

/// The program with `args`, which may take so many KiB of address space.
fn within(kib: u32, args: &[&str]) -> Command {
    let plain = redyno(args);
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("ulimit -v {kib}; exec \"$0\" \"$@\""));
    command.arg(plain.get_program()).args(plain.get_args()).env("LC_ALL", "C.UTF-8");
    command
}

fn end_within(kib: u32, args: &[&str]) -> Outcome {
    Running::start(within(kib, args)).end()
}

/// What the program says of such arguments, in one line.
fn refusal(args: &[&str]) -> String {
    let outcome = end_within(1_500_000, args).expect_code(2);
    assert_eq!(outcome.err.lines().count(), 1, "{args:?}: {outcome:?}");
    outcome.err
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn what_has_no_end_is_no_script_workload_or_series() {
    let folder = tempfile::tempdir().unwrap();
    let sparse = folder.path().join("a.script");
    File::create(&sparse).unwrap().set_len(3 << 30).unwrap();
    let zero = "/dev/zero";
    for args in
        [&["--script", text(&sparse)][..], &["--script", zero], &["--workload", zero], &["series", zero]]
    {
        let reported = refusal(args);
        assert!(reported.contains("it has more than 1048576 bytes"), "{args:?}: {reported}");
    }
}

#[test]
fn a_step_of_very_many_braces_is_read_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("braces.toml");
    for part in ["{", "}", "{key ", "{key.same", "{repeat 1: ", "{repeat 1", "{number 1..", "__key", "{{key}"]
    {
        let step = part.repeat(300_000 / part.len());
        let written = format!("[keys.key]\n[[operation]]\nname = \"a\"\nsteps = ['PING {step}']\n");
        std::fs::write(&file, written).unwrap();
        // Nobody listens there: what is read is the file.
        let args = ["--headless", "-p", "1", "--duration", "1", "--workload", text(&file)];
        let outcome = end_within(1_500_000, &args);
        assert!([1, 2].contains(&outcome.code()), "{part}: {outcome:?}");
    }
}

#[test]
fn a_recording_of_very_many_segments_takes_no_more_memory_than_the_most_that_are_read() {
    let (_folder, file) = many_segments();
    assert_read_in_part(&["replay", text(&file), "--headless"]);
}

#[test]
#[ignore = "long: the same reader for other commands"]
fn very_many_segments_are_exported_and_reported_in_the_same_memory() {
    let (folder, file) = many_segments();
    let page = folder.path().join("a.md");
    assert_read_in_part(&["export", text(&file), "--format", "csv", "--rows", "segments"]);
    assert_read_in_part(&["report", text(&file), "-o", text(&page)]);
}

/// A recording of [`MANY`] segments, in its folder.
fn many_segments() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("many.jsonl.zst");
    let session = Record::Session(SessionStart::now(ServerIdentity::default()));
    let segment = |n: u32| line(&Record::Segment(Segment::new(f64::from(n), n, Knobs::default()))).unwrap();
    let mut packer = zstd::Encoder::new(File::create(&file).unwrap(), 3).unwrap();
    packer.write_all(line(&session).unwrap().as_bytes()).unwrap();
    let first = segment(1);
    for n in 1..=MANY {
        packer.write_all(first.replace("\"segment\":1", &format!("\"segment\":{n}")).as_bytes()).unwrap();
    }
    packer.finish().unwrap();
    (folder, file)
}

/// The command ends in 1 GB, and says once where it stopped to read segments.
fn assert_read_in_part(args: &[&str]) {
    let outcome = end_within(1_000_000, args).expect_code(0);
    let is_reported = |line: &&str| line.contains("line 32770 ") && line.contains("a recording has at most");
    let lines = outcome.out.lines().chain(outcome.err.lines());
    assert_eq!(lines.filter(is_reported).count(), 1, "{args:?}: {:.2000}", outcome.err);
}

/// A pipe with a name that nobody writes to.
fn pipe(folder: &Path) -> PathBuf {
    let path = folder.join("pipe.jsonl");
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();
    path
}

#[test]
fn who_waits_for_a_pipe_obeys_signals() {
    let folder = tempfile::tempdir().unwrap();
    let (pipe, out) = (pipe(folder.path()), folder.path().join("out.html"));
    let file = text(&pipe);
    for is_open in [false, true] {
        for args in [
            &["export", file, "--format", "json"][..],
            &["report", file, "-o", text(&out)],
            &["replay", file, "--headless"],
        ] {
            for signal in [Signal::INT, Signal::TERM] {
                let running = Running::start(redyno(args));
                // Both ends, so that opening it waits for nobody.
                let writer = is_open.then(|| OpenOptions::new().read(true).write(true).open(&pipe).unwrap());
                let status = format!("/proc/{}/status", running.pid());
                let takes_it = |status: &str| {
                    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:\t"))?;
                    let caught = u64::from_str_radix(caught, 16).ok()?;
                    (caught & (1 << (Signal::HUP.as_raw() - 1)) != 0).then_some(())
                };
                // For a moment, the handler that was set last loses its signal. That of HUP is the last one.
                crate::support::wait_for("all handlers", || {
                    takes_it(&std::fs::read_to_string(&status).ok()?)
                });
                running.signal(signal);
                assert_eq!(running.end().code(), 130, "{args:?} {signal:?} {is_open}");
                drop(writer);
            }
        }
    }
    assert!(!out.exists());
}
