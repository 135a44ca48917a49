//! How other load generators lie or break, one test for each trap that could be ours. What they share with a promise
//! that has a file of its own is there: the open loop in `open_loop.rs`, faults in `faults.rs`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{Ipv4Addr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

use crate::support::{
    Server,
    program::run,
    session::{Driven, at_port, intervals, plan},
    sources::sources,
};
use redyno::{demo, knobs::Knobs, load::LoadPlan, session::Record, stats::Recorder, workload::Workload};

/// A server that answers everything with OK and keeps what it saw.
struct Witness {
    port: u16,
    /// The keys that each connection of the load asked for, in order.
    keys: Arc<Mutex<BTreeMap<usize, Vec<String>>>>,
    /// Bytes of the load's requests and of the replies to them.
    received: Arc<AtomicU64>,
    sent: Arc<AtomicU64>,
}

impl Witness {
    fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let witness = Self { port, keys: Arc::default(), received: Arc::default(), sent: Arc::default() };
        let (keys, received, sent) =
            (Arc::clone(&witness.keys), Arc::clone(&witness.received), Arc::clone(&witness.sent));
        // It ends with the test's process; its connections end with the session.
        thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                let (keys, received, sent) = (Arc::clone(&keys), Arc::clone(&received), Arc::clone(&sent));
                thread::spawn(move || {
                    let mut reader = BufReader::new(stream.unwrap());
                    while let Some((words, bytes)) = request(&mut reader) {
                        let reply = "+OK\r\n";
                        if let Some(key) = words.get(1).filter(|word| word.starts_with("redyno:")) {
                            keys.lock().unwrap().entry(number).or_default().push(key.clone());
                            received.fetch_add(bytes, Ordering::Relaxed);
                            sent.fetch_add(reply.len() as u64, Ordering::Relaxed);
                        }
                        if reader.get_mut().write_all(reply.as_bytes()).is_err() {
                            return;
                        }
                    }
                });
            }
        });
        witness
    }

    /// A run of GETs with this seed: what each connection asked for, in the order of their first keys.
    fn streams(seed: u64, clients: u32, enough: usize) -> BTreeSet<Vec<String>> {
        let witness = Self::start();
        let knobs = Knobs { clients, keyspace: 1_000_000, ..gets() };
        let mut session = Driven::start(&LoadPlan { seed, ..plan(at_port(witness.port)) }, knobs);
        session.wait_for("the keys", |_| {
            let keys = witness.keys.lock().unwrap();
            (keys.len() == clients as usize && keys.values().all(|keys| keys.len() >= enough)).then_some(())
        });
        session.finish();
        let keys = witness.keys.lock().unwrap();
        keys.values().map(|keys| keys[..enough].to_vec()).collect()
    }
}

/// The words of the next request and its length.
fn request(reader: &mut BufReader<TcpStream>) -> Option<(Vec<String>, u64)> {
    let mut bytes = 0;
    let mut line = |reader: &mut BufReader<TcpStream>| {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|n| *n > 0)?;
        bytes += line.len() as u64;
        line[1..].trim_end().parse::<usize>().ok()
    };
    let mut words = Vec::new();
    let mut content = 0;
    for _ in 0..line(reader)? {
        let mut word = vec![0; line(reader)? + 2];
        reader.read_exact(&mut word).ok()?;
        content += word.len() as u64;
        words.push(String::from_utf8(word[..word.len() - 2].to_vec()).ok()?);
    }
    Some((words, bytes + content))
}

fn gets() -> Knobs {
    Knobs { load: true, workload: Workload::ratio(0, 1), ..Knobs::default() }
}

/// memtier_benchmark: all clients ask for the same keys in the same order.
#[test]
fn two_connections_do_not_ask_for_the_same_keys_and_the_same_seed_asks_again() {
    let first = Witness::streams(7, 2, 1000);
    assert_eq!(first.len(), 2, "two different streams");
    assert_eq!(first, Witness::streams(7, 2, 1000));
    assert!(first.is_disjoint(&Witness::streams(8, 2, 1000)));
}

/// memtier_benchmark rounds to 8 µs steps; redis-benchmark has a floor of 10 µs and a cap of 3 s.
#[test]
fn three_microseconds_and_seventy_seconds_come_back_as_such() {
    let mut recorder = Recorder::new();
    for ns in [3_000, 5_000_000_000, 70_000_000_000] {
        recorder.record(ns);
    }
    let latency = recorder.latency();
    for (quantile, ns) in [(0.33, 3_000_u64), (0.66, 5_000_000_000)] {
        let back = latency.value_at_quantile(quantile);
        assert!(back.abs_diff(ns) as f64 <= ns as f64 * 0.001, "{ns} came back as {back}");
    }
    assert_eq!((latency.over_range(), latency.max_ns(), latency.count()), (1, 70_000_000_000, 3));
}

/// redis-benchmark takes the time at the first readable byte of a pipelined batch and records it for every reply.
#[test]
fn a_delay_of_reply_10_of_10_is_on_one_request_in_ten() {
    const DELAY_NS: u64 = 400_000_000;
    let server = demo::start(demo::Options {
        faults: vec!["delay GET 400ms nth 10".parse().unwrap()],
        ..demo::Options::default()
    })
    .unwrap();
    let knobs = Knobs { clients: 1, pipeline: 10, ..gets() };
    let mut session = Driven::start(&plan(at_port(server.address.port())), knobs);
    session.wait_for_work(1, 1, 30);
    let past = session.finish();
    server.stop().unwrap();
    let service = &past.end.summary.service;
    let delayed: u64 = service.cells().filter(|(ns, _)| *ns >= DELAY_NS).map(|(_, n)| n).sum();
    let quick: u64 = service.cells().filter(|(ns, _)| *ns < DELAY_NS / 2).map(|(_, n)| n).sum();
    assert_eq!(delayed * 10, past.end.summary.ops, "the tenth of each batch");
    assert_eq!(quick, delayed * 9, "and none of the others: {service:?}");
}

/// memtier_benchmark, dfly_bench and redis-benchmark measure with the wall clock, which can step.
#[test]
fn no_latency_is_taken_from_the_wall_clock() {
    // Each names a date or a file for people, sends a date, or has the kernel's stamps, which are taken as differences.
    let allowed = [
        "session/start.rs",
        "session/fresh.rs",
        "probe/ping/",
        "demo/",
        "clock.rs",
        "workload/slots.rs",
        "memtier/retries.rs",
        "memtier/run.rs",
        "memtier/prometheus.rs",
        "runner/push/",
    ];
    let reads = ["SystemTime", "OffsetDateTime::now", "ClockId::Realtime", "CLOCK_REALTIME", "unix_ms"];
    let mut looked_at = 0;
    for (name, path) in sources() {
        let text = fs::read_to_string(&path).unwrap();
        looked_at += 1;
        if !allowed.iter().any(|place| name.contains(place)) {
            let found = reads.iter().find(|read| text.contains(**read));
            assert_eq!(found, None, "{} reads the wall clock", path.display());
        }
    }
    assert!(looked_at > 100, "only {looked_at} files were found");
}

/// cachecannon has its warm-up in the histogram.
#[test]
fn a_request_of_the_warm_up_is_in_no_percentile() {
    let server = Server::redis().start();
    let args =
        ["-p", &server.port_text(), "-c", "5", "--warmup", "1", "--duration", "1", "--headless", "--json"];
    let records = run(&args).expect_code(0).records();
    let warmup: BTreeSet<_> = records
        .iter()
        .filter_map(|record| match record {
            Record::Segment(segment) if segment.warmup => Some(segment.segment),
            _ => None,
        })
        .collect();
    let mut counted = redyno::stats::Latency::default();
    let mut warm = 0;
    for record in &records {
        match record {
            Record::Interval(interval) if warmup.contains(&interval.segment) => warm += interval.ops,
            Record::Interval(interval) => counted.merge(&interval.service),
            _ => {}
        }
    }
    let Some(Record::End(end)) = records.last() else { panic!("no end") };
    assert!(warm > 0 && end.summary.ops > 0);
    assert_eq!(end.summary.service, counted);
    assert_eq!(end.summary.service.count(), end.summary.ops);
}

/// go-ycsb prints the mean since the start as if it were the present.
#[test]
fn the_rate_of_an_interval_is_its_own_and_the_sum_has_its_own() {
    let server = Server::redis().start();
    let mut session = Driven::start(&plan(at_port(server.port())), Knobs { rate: Some(2000), ..gets() });
    session.wait_for_work(1, 50, 1500);
    let slow = session.turn(|knobs| knobs.rate = Some(100));
    session.wait_for("a second of the slower rate", |records| {
        let of: f64 = intervals(records).filter(|i| i.segment == slow).map(|i| i.length_s).sum();
        (of > 1.0).then_some(())
    });
    let past = session.finish();
    for interval in past.intervals().filter(|interval| interval.length_s > 0.0) {
        assert!((interval.ops_per_s - interval.ops as f64 / interval.length_s).abs() < 1e-6);
    }
    let second = past.segment(slow);
    assert!(second.ops_per_s < 150.0 && past.end.summary.ops_per_s > 300.0, "{}", second.ops_per_s);
}

/// memtier_benchmark counts its bytes twice.
#[test]
fn bytes_are_those_on_the_wire() {
    let witness = Witness::start();
    let knobs = Knobs { clients: 3, pipeline: 4, workload: Workload::ratio(1, 1), ..gets() };
    let mut session = Driven::start(&plan(at_port(witness.port)), knobs);
    session.wait_for_work(1, 3, 500);
    let past = session.finish();
    let (written, read) = past.intervals().fold((0, 0), |(w, r), i| (w + i.bytes_out, r + i.bytes_in));
    assert_eq!(written, witness.received.load(Ordering::Relaxed));
    assert_eq!(read, witness.sent.load(Ordering::Relaxed));
}
