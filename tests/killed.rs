//! A recording outlives the program: kill -9 at any moment costs the last second of it at the most.

use std::{
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use crate::support::{
    Server,
    program::{Running, records, redyno},
};
use redyno::session::{Interval, Reader, Record};
use rustix::process::Signal;

/// So many are killed at once, of plain files and then of packed ones.
const TOGETHER: u64 = 10;

fn intervals(records: impl IntoIterator<Item = Record>) -> Vec<Interval> {
    let interval = |record| match record {
        Record::Interval(interval) => Some(*interval),
        _ => None,
    };
    records.into_iter().filter_map(interval).collect()
}

/// Runs a load, kills it at a moment that `seed` says, and gives what it had printed until then.
fn killed(port: &str, file: &Path, seed: u64) -> Vec<Interval> {
    let usual = ["-p", port, "--headless", "--json", "--workload", "ping", "-c", "1", "--rate", "200"];
    let running = Running::start(redyno(&[&usual[..], &["--record", file.to_str().unwrap()]].concat()));
    // Knuth's generator: so many seconds, and a part of one.
    let random = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407) >> 33;
    running.wait_for_lines(1 + (random % 3) as usize, r#""kind":"interval""#);
    thread::sleep(Duration::from_millis(random / 3 % 1000));
    running.signal(Signal::KILL);
    let out = running.end().out;
    intervals(records(out.rfind('\n').map_or("", |end| &out[..end])))
}

#[test]
fn a_recording_of_a_program_that_is_killed_lacks_a_second_at_the_most() {
    let server = Server::redis().start();
    let folder = tempfile::tempdir().unwrap();
    let port = server.port_text();
    for name in ["jsonl", "jsonl.zst"] {
        let one = |seed: u64| -> (PathBuf, Vec<Interval>) {
            let file = folder.path().join(format!("{seed}.{name}"));
            let shown = killed(&port, &file, seed);
            (file, shown)
        };
        let all: Vec<_> = thread::scope(|scope| {
            let started: Vec<_> = (0..TOGETHER).map(|seed| scope.spawn(move || one(seed))).collect();
            started.into_iter().map(|one| one.join().unwrap()).collect()
        });
        for (file, shown) in all {
            let mut reader = Reader::open(&file).unwrap();
            let read: Vec<_> = std::iter::from_fn(|| reader.next_record().unwrap()).collect();
            assert!(!read.iter().any(|record| matches!(record, Record::End(_))), "it was killed: {file:?}");
            let recorded = intervals(read);
            // The last one was printed, and perhaps not written yet, when the end came.
            let before = &shown[..shown.len().saturating_sub(1)];
            assert!(!shown.is_empty() && recorded.len() >= before.len(), "{file:?}: {recorded:?} {shown:?}");
            assert_eq!(recorded[..before.len()], *before, "{file:?}");
        }
    }
}
