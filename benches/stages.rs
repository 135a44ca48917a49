//! The cost of one request in each stage of the hot path, without sockets.
//!
//! ```text
//! encode ─► (write, read) ─► skip ─► record        pace: when the next may go
//! ```
//! `cargo bench --bench stages` prints times. Instruction counts do not depend on other processes of the machine. If
//! valgrind is installed, callgrind counts the instructions of one stage. In this example, the stage is `encode` of
//! GET, and each call is a batch of 1000 requests:
//!
//! ```text
//! bench=$(cargo bench --bench stages --no-run --message-format json |
//!     sed -n 's/.*"executable":"\([^"]*stages[^"]*\)".*/\1/p')
//! valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect='stages::encode_batch*' \
//!     "$bench" --bench 'encode.*get' --sample-count 1 --sample-size 100
//! ```
//! The number of instructions per request is "Collected" divided by the 100 000 requests of 100 calls. The stages are
//! the functions `*_batch` in this file.

use std::{hint::black_box, sync::Arc};

use divan::{Bencher, counter::ItemsCount};
use redyno::{
    host::OwnThread,
    knobs::Arrivals,
    load::PaceStage,
    protocol::{Dialect, Reply, Skipper},
    stats::Recorder,
    workload::{Draws, KeyNames, Operation, OutgoingRequests, Program, RunId, Values, Workload},
};

/// The number of requests in a call of a stage. The number is large, so that the cost of the call per request is
/// negligible.
const BATCH: usize = 1000;

fn main() {
    divan::main();
}

#[divan::bench(args = ["get", "set 32 B", "mix 10:1", "mix 1:1", "set 16..48 B", "set 64..1024 B", "set and number", "five"])]
fn encode(bencher: Bencher, what: &str) {
    let workload = match what {
        "get" => Workload::ratio(0, 1),
        "set 32 B" => Workload::ratio(1, 0),
        "mix 10:1" => Workload::ratio(1, 10),
        "mix 1:1" => Workload::ratio(1, 1),
        "set 16..48 B" => several("16..48", &["SET {key} {value}"]),
        "set 64..1024 B" => several("64..1024", &["SET {key} {value}"]),
        "set and number" => several("32", &["SET {key} {value} EX {number 60..3600}"]),
        _ => several("16..48", &FIVE),
    };
    let values = Values::new(&workload, 32, 1);
    let names = KeyNames::of_run(RunId::random());
    let program = Program::new(&workload, Dialect::Resp2, 10_000, values, &names);
    let mut draws = Draws::new(1);
    let mut out = OutgoingRequests::default();
    bencher.counter(ItemsCount::new(BATCH)).bench_local(|| encode_batch(&program, &mut draws, &mut out));
}

/// Operations with random keys, value sizes and TTLs.
const FIVE: [&str; 5] = [
    "GET {key}",
    "SET {key} {value} EX {number 60..3600}",
    "INCR {key}",
    "LPUSH {key} {value}",
    "HSET {key} field {value}",
];

/// Creates a workload of these operations, with values of this kind.
fn several(values: &str, steps: &[&str]) -> Arc<Workload> {
    let values = values.parse().expect("it is a kind of values");
    let operations = steps.iter().map(|step| Operation::command(step, 1)).collect();
    let usual = Workload::clone(&Workload::ratio(1, 0));
    Arc::new(Workload { values: [("value".to_owned(), values)].into(), operations, ..usual })
}

#[inline(never)]
fn encode_batch(program: &Program, draws: &mut Draws, out: &mut OutgoingRequests) {
    out.clear();
    for _ in 0..BATCH {
        black_box(program.append(draws, out));
    }
}

#[divan::bench(args = ["nil", "value 32 B", "value 4 KiB", "error"])]
fn skip(bencher: Bencher, what: &str) {
    let one = match what {
        "nil" => b"$-1\r\n".to_vec(),
        "value 32 B" => bulk(32),
        "value 4 KiB" => bulk(4096),
        _ => b"-LOADING Redis is loading the dataset in memory\r\n".to_vec(),
    };
    let replies = one.repeat(BATCH);
    let mut skipper = Dialect::Resp2.skipper();
    bencher.counter(ItemsCount::new(BATCH)).bench_local(|| skip_batch(&mut skipper, &replies));
}

fn bulk(length: usize) -> Vec<u8> {
    [format!("${length}\r\n").into_bytes(), vec![b'x'; length], b"\r\n".to_vec()].concat()
}

#[inline(never)]
fn skip_batch(skipper: &mut Skipper, mut bytes: &[u8]) {
    let mut seen = 0;
    while let Some(reply) = skipper.next(&mut bytes).expect("the replies are well formed") {
        seen += usize::from(!matches!(black_box(reply), Reply::Error(line) if line.is_empty()));
    }
    assert_eq!(seen, BATCH);
}

#[divan::bench]
fn record(bencher: Bencher) {
    let latencies: Vec<u64> = (0..BATCH as u64).map(|n| 100_000 + n * n % 400_000).collect();
    let mut recorder = Recorder::new();
    bencher.counter(ItemsCount::new(BATCH)).bench_local(|| record_batch(&mut recorder, &latencies));
}

#[inline(never)]
fn record_batch(recorder: &mut Recorder, latencies: &[u64]) {
    for ns in latencies {
        recorder.record(black_box(*ns));
    }
}

#[divan::bench(args = ["constant", "poisson"])]
fn pace(bencher: Bencher, arrivals: &str) {
    let arrivals = if arrivals == "constant" { Arrivals::Constant } else { Arrivals::Poisson };
    let mut stage = PaceStage::new(100_000, arrivals);
    bencher.counter(ItemsCount::new(BATCH)).bench_local(|| pace_batch(&mut stage));
}

#[inline(never)]
fn pace_batch(stage: &mut PaceStage) {
    for _ in 0..BATCH {
        black_box(stage.next_due_ns());
    }
}

/// The measurement of a worker's own CPU time, once per tick.
#[divan::bench]
fn lap(bencher: Bencher) {
    let mut own = OwnThread::current();
    bencher.bench_local(|| own.lap());
}
