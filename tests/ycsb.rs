//! YCSB's workloads run to their end on real servers: by their proportions, without an error, over records that are there.

use std::{
    collections::{BTreeMap, HashMap},
    io::{BufRead, BufReader, Write},
    net::TcpStream,
};

use crate::support::{
    Server,
    program::{Outcome, run},
    wait_for,
};
use redyno::session::Record;

const GROUPS: [&str; 5] = ["string", "hash", "list", "set", "zset"];

/// Each workload with the percent of its operations.
pub const WORKLOADS: [(&str, &[(&str, f64)]); 6] = [
    ("a", &[("READ", 50.0), ("UPDATE", 50.0)]),
    ("b", &[("READ", 95.0), ("UPDATE", 5.0)]),
    ("c", &[("READ", 100.0)]),
    ("d", &[("READ", 95.0), ("INSERT", 5.0)]),
    ("e", &[("SCAN", 95.0), ("INSERT", 5.0)]),
    ("f", &[("READ", 50.0), ("READ-MODIFY-WRITE", 50.0)]),
];

const RECORDS: u64 = 200;
const FIELDS: u64 = 3;
const FIELD_LENGTH: u64 = 10;

/// So many that a share by chance lies within a point of its own: scans are slow, and fewer.
fn operations(workload: &str) -> u64 {
    if workload == "e" { 8000 } else { 40_000 }
}

/// What a run did of each operation, and bytes that were read, both without the load of the records.
struct Did {
    ops: BTreeMap<String, u64>,
    bytes_in: u64,
    requests: BTreeMap<String, u64>,
}

fn settings(workload: &str, group: &str) -> Vec<String> {
    let numbers = [
        ("recordcount", RECORDS),
        ("fieldcount", FIELDS),
        ("fieldlength", FIELD_LENGTH),
        ("maxscanlength", 10),
        ("operationcount", operations(workload)),
        ("threads", 1),
    ];
    let numbers = numbers.iter().flat_map(|(name, value)| ["--set".to_owned(), format!("{name}={value}")]);
    numbers.chain(["--set".to_owned(), format!("commandgroup={group}")]).collect()
}

/// Runs a workload of a group. One client with a seed asks the same each time.
fn did(server: &Server, workload: &str, group: &str) -> Did {
    let (port, name) = (server.port_text(), format!("ycsb-{workload}"));
    let settings = settings(workload, group);
    let mut args =
        vec!["-p", &port, "--headless", "--json", "--yes", "--workload", &name, "-P", "64", "--seed", "7"];
    args.extend(settings.iter().map(String::as_str));
    let records = run(&args).expect_code(0).records();
    let (mut aside, mut did) =
        (Vec::new(), Did { ops: BTreeMap::new(), bytes_in: 0, requests: BTreeMap::new() });
    for record in &records {
        match record {
            Record::Segment(segment) if segment.aside().is_some() => aside.push(segment.segment),
            Record::Interval(interval) => {
                assert!(interval.errors.is_empty(), "{workload} {group}: {:?}", interval.errors);
                for (command, n) in &interval.requests {
                    *did.requests.entry(command.clone()).or_default() += n;
                }
                if !aside.contains(&interval.segment) {
                    did.bytes_in += interval.bytes_in;
                    for (name, part) in &interval.commands {
                        *did.ops.entry(name.clone()).or_default() += part.ops;
                    }
                }
            }
            Record::End(end) => {
                assert_eq!(
                    (end.summary.ops, end.summary.misses),
                    (operations(workload), 0),
                    "{workload} {group}: {:?}",
                    end.summary.errors
                );
            }
            _ => {}
        }
    }
    did
}

/// Runs these workloads, by their place, of the groups by theirs.
fn run_those(server: &Server, those: impl Fn(usize, usize) -> bool) {
    for (n, (workload, proportions)) in WORKLOADS.into_iter().enumerate() {
        for (_, group) in GROUPS.into_iter().enumerate().filter(|(place, _)| those(n, *place)) {
            server.cli(&["CONFIG", "RESETSTAT"]);
            let did = did(server, workload, group);
            for (name, percent) in proportions {
                let done = 100.0 * did.ops[*name] as f64 / operations(workload) as f64;
                assert!((done - percent).abs() < 1.0, "{workload} {group}: {done} % {name}");
            }
            assert_eq!(did.ops.len(), proportions.len());
            for (command, n) in did.requests.iter().filter(|(command, _)| *command != "CLIENT|SETNAME") {
                assert!(server.calls(&[], &command.to_lowercase()) >= *n, "{workload} {group}: {command}");
            }
            if workload == "e" {
                let reading = ["get", "hgetall", "lrange", "smembers", "zrange"];
                let place = GROUPS.iter().position(|known| *known == group).unwrap();
                let (scans, read) = (did.ops["SCAN"], server.calls(&[], reading[place]));
                assert!(read > 2 * scans, "{group}: {scans} scans read {read} records");
                let fields = if group == "set" { 2 } else { FIELDS };
                assert!(did.bytes_in > 2 * scans * fields * FIELD_LENGTH, "{group}: {} bytes", did.bytes_in);
            }
            assert_eq!(server.cli(&["DBSIZE"]), "0", "{workload} {group}: they are the run's own");
        }
    }
}

#[test]
fn every_workload_and_every_group_runs_to_its_end() {
    let servers = [Server::redis().start(), Server::valkey().start()];
    run_those(&servers[0], |workload, group| workload % 2 == 0 && workload % 5 == group);
    run_those(&servers[1], |workload, group| workload % 2 == 1 && workload % 5 == group);
}

#[test]
#[ignore = "long: thirty runs; each workload and each group once is in the suite"]
fn every_workload_of_every_group_runs_to_its_end_on_redis() {
    run_those(&Server::redis().start(), |_, _| true);
}

#[test]
#[ignore = "long: thirty runs; each workload and each group once is in the suite"]
fn every_workload_of_every_group_runs_to_its_end_on_valkey() {
    run_those(&Server::valkey().start(), |_, _| true);
}

#[test]
fn a_read_of_a_record_that_is_not_there_is_a_miss_in_every_group() {
    let server = Server::redis().start();
    let port = server.port_text();
    for group in GROUPS {
        let settings = settings("c", group);
        let mut args = vec!["-p", &port, "--headless", "--json", "--yes", "--no-prefill", "-P", "64"];
        args.extend(["--workload", "ycsb-c"]);
        args.extend(settings.iter().map(String::as_str));
        let outcome = run(&args).expect_code(0);
        let Some(Record::End(end)) = outcome.records().pop() else { panic!("no end in {}", outcome.out) };
        assert_eq!((end.summary.hits, end.summary.misses), (0, operations("c")), "{group}");
    }
}

#[test]
fn the_load_writes_each_record_once_under_ycsbs_name_and_tells_it_in_ycsbs_words() {
    let server = Server::redis().start();
    let port = server.port_text();
    let args = ["-p", &port, "--headless", "--yes", "--workload", "ycsb-load", "--set", "recordcount=300"];
    let outcome = run(&[&args[..], &["--key-prefix", "b:", "--ycsb-summary"]].concat()).expect_code(0);
    // Utils.fnvhash64 of 0, 1 and 2, as Java computes it.
    for hash in ["6284781860667377211", "8517097267634966620", "1820151046732198393"] {
        assert_eq!(server.cli(&["HLEN", &format!("b:user{hash}")]), "10", "{hash}");
    }
    assert_eq!(
        (server.cli(&["DBSIZE"]), server.cli(&["ZCARD", "b:_indices"])),
        ("301".to_owned(), "300".to_owned())
    );
    assert_eq!(server.calls(&[], "hset"), 300);
    let (_, ycsb) = outcome.out.split_once("\n[OVERALL], RunTime(ms), ").expect("YCSB's summary");
    for line in
        ["[INSERT], Operations, 300", "[INSERT], 99thPercentileLatency(us), ", "[INSERT], Return=OK, 300"]
    {
        assert!(ycsb.contains(line), "{line} is not in\n{}", outcome.out);
    }
}

/// The lines of MONITOR until a client has the name `end`: who asked, the command and its first argument.
fn monitored(monitor: TcpStream) -> impl Iterator<Item = (String, String, String)> {
    let lines = BufReader::new(monitor).lines().map(|line| line.unwrap());
    let lines = lines.take_while(|line| !line.contains("\"end-of-the-test\""));
    lines.filter_map(|line| {
        let (client, words) = line.split_once("] ")?;
        let mut words = words.split_whitespace().map(|word| word.trim_matches('"').to_owned());
        Some((client.split_once('[')?.1.to_owned(), words.next()?, words.next()?))
    })
}

/// With 10, 50 and 200 clients 1.7, 0.4 and 0.2 % of the reads were: as many records were held back as could be in flight.
#[test]
fn the_latest_are_read_with_any_number_of_clients_as_soon_as_they_are_answered() {
    for clients in ["10", "50", "200"] {
        let server = Server::redis().start();
        let mut monitor = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
        monitor.write_all(b"MONITOR\r\n").unwrap();
        let heard = std::thread::spawn(move || monitored(monitor).collect::<Vec<_>>());
        let port = server.port_text();
        let args = ["-p", &port, "--headless", "--yes", "--workload", "ycsb-d", "-c", clients, "-n", "20000"];
        run(&[&args[..], &["--set", "recordcount=1000", "--set", "commandgroup=string"]].concat())
            .expect_code(0);
        server.cli(&["ECHO", "end-of-the-test"]);
        let (mut places, mut before, mut reads, mut near) = (HashMap::new(), HashMap::new(), 0, 0);
        for (client, command, key) in heard.join().unwrap() {
            // What was inserted before a client asked last was answered before it read.
            let answered = before.insert(client.clone(), places.len()).unwrap_or(places.len());
            match command.as_str() {
                "SET" if key.contains("user") => {
                    places.insert(key, places.len());
                    before.insert(client, places.len());
                }
                "GET" if key.contains("user") && places.len() > 1050 => {
                    reads += 1;
                    near += u32::from(places[&key] + 10 >= answered);
                }
                _ => {}
            }
        }
        let share = f64::from(near) / f64::from(reads);
        assert!((0.30..0.42).contains(&share), "{clients} clients: {near} of {reads} reads");
    }
}

/// Runs a phase of YCSB's core workload with reads, updates and inserts.
fn core_workload(phase: &str, port: u16, more: &[&str]) -> Outcome {
    let port = format!("redis.port={port}");
    let all = ["ycsb", phase, "redis", "-p", &port, "-p", "recordcount=100", "-p", "insertproportion=0.1"];
    run(&[&all[..], more].concat())
}

#[test]
fn a_run_after_its_load_is_no_question_and_other_keys_are() {
    let server = Server::redis().start();
    core_workload("load", server.port(), &[]).expect_code(0);
    for _ in 0..2 {
        let ran = core_workload("run", server.port(), &["-p", "operationcount=200"]).expect_code(0);
        assert!(ran.out.contains("[UPDATE], Return=OK, "), "{ran:?}");
    }
    server.cli(&["DEL", "user6284781860667377211"]);
    let refused = core_workload("run", server.port(), &["-p", "operationcount=200"]).expect_code(2);
    assert!(refused.err.contains(" keys; the load writes keys named as the workload says"), "{refused:?}");
}

#[test]
fn a_server_that_stops_ends_the_run_with_its_error_and_a_failure() {
    let server = Server::redis().start();
    core_workload("load", server.port(), &[]).expect_code(0);
    // Other clients would be a question.
    let is_alone =
        || server.cli(&["INFO", "clients"]).lines().any(|line| line.trim() == "connected_clients:1");
    wait_for("the end of the load's connections", || is_alone().then_some(()));
    let port = server.port();
    let running = std::thread::spawn(move || core_workload("run", port, &["-threads", "3"]));
    wait_for("updates", || (server.calls(&[], "hset") > 150).then_some(()));
    drop(server);
    let outcome = running.join().unwrap().expect_code(1);
    assert!(outcome.out.contains("[UPDATE], Return=OK, "), "{outcome:?}");
    assert!(outcome.err.contains(&format!("127.0.0.1:{port}: refused: ")), "{outcome:?}");
    assert!(outcome.err.contains("did not answer all operations: "), "{outcome:?}");
}

/// The command line that is published for a load, without its server: a load, then reads of all that it wrote.
#[test]
fn the_command_line_of_ycsb_loads_and_runs_without_a_question_on_an_empty_server() {
    for (server, phase_args) in [
        (
            Server::redis().start(),
            &["redis", "-p", "redis.command_group=string", "-p", "redis.timeout=30000"][..],
        ),
        (Server::redis().start(), &["redis", "-p", "fieldcount=3"]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("workloadc");
        let properties = "# C\nrecordcount=500\noperationcount=2000\nworkload=site.ycsb.workloads.CoreWorkload\n\
            readallfields=true\nreadproportion=1\nupdateproportion=0\nscanproportion=0\ninsertproportion=0\n\
            requestdistribution=zipfian\n";
        std::fs::write(&file, properties).unwrap();
        let port = format!("redis.port={}", server.port());
        let file = file.to_str().unwrap();
        let ycsb = |phase: &str| {
            let line = [&["ycsb", phase], phase_args, &["-s", "-P", file, "-p", &port, "-threads", "5"]];
            run(&line.concat()).expect_code(0)
        };
        let loaded = ycsb("load");
        assert!(loaded.out.starts_with("[OVERALL], RunTime(ms), "), "{loaded:?}");
        assert!(loaded.out.contains("[INSERT], Return=OK, 500\n"), "{loaded:?}");
        assert!(loaded.err.contains(" sec: 500 operations; "), "{loaded:?}");
        // The records, and the index of their names; no marker.
        assert_eq!(server.cli(&["DBSIZE"]).trim(), "501");
        assert_eq!(server.cli(&["EXISTS", "user6284781860667377211"]).trim(), "1");
        let ran = ycsb("run");
        assert!(ran.out.contains("[READ], Return=OK, 2000\n") && !ran.out.contains("NOT_FOUND"), "{ran:?}");
        // A second load would overwrite what is there.
        let line = [&["ycsb", "load"], phase_args, &["-P", file, "-p", &port]].concat();
        let refused = run(&line).expect_code(2);
        assert!(refused.err.contains("holds 501 keys") && refused.err.contains("--yes"), "{refused:?}");
    }
}

#[test]
fn records_on_memcached_have_the_names_of_ycsbs_binding_and_all_their_fields() {
    let server = Server::memcached().start();
    let hosts = format!("memcached.hosts=127.0.0.1:{}", server.port());
    let ycsb = |phase: &str, more: &[&str]| {
        let line = ["ycsb", phase, "memcached", "-p", &hosts, "-p", "recordcount=100", "-p", "fieldlength=7"];
        run(&[&line[..], more].concat())
    };
    let loaded = ycsb("load", &[]).expect_code(0);
    assert!(loaded.out.contains("[INSERT], Return=OK, 100\n"), "{loaded:?}");
    let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    stream.write_all(b"get usertable-user6284781860667377211\r\n").unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    assert!(line.trim_end().ends_with(" 191"), "ten fields of seven bytes as JSON: {line}");
    let all =
        ["-p", "operationcount=1000", "-p", "readproportion=1", "-p", "updateproportion=0", "-p", "x=1"];
    let ran = ycsb("run", &all).expect_code(0);
    assert!(ran.out.contains("[READ], Return=OK, 1000\n") && !ran.out.contains("NOT_FOUND"), "{ran:?}");
    assert!(ran.err.contains("these properties have no effect: x"), "{ran:?}");
    let refused = ycsb("run", &["-P", "/dev/zero"]).expect_code(2);
    assert!(refused.err.contains("more than 1048576 bytes"), "{refused:?}");
    let refused = ycsb("run", &["-threads", "0"]).expect_code(2);
    assert!(refused.err.starts_with("redyno: -threads: the property threadcount must be"), "{refused:?}");
    let unwritable = ycsb("run", &["-p", "exportfile=/no/such/file"]).expect_code(1);
    assert!(unwritable.err.contains("exportfile=/no/such/file: No such file"), "{unwritable:?}");
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("result");
    std::fs::write(&file, "old ".repeat(10_000)).unwrap();
    let export = format!("exportfile={}", file.display());
    ycsb("run", &["-p", &export, "-p", "memcached.hosts=127.0.0.1:1"]).expect_code(1);
    assert_eq!(std::fs::read_to_string(&file).unwrap().len(), 40_000, "a run that does not start keeps it");
    ycsb("run", &[&all[..], &["-p", &export]].concat()).expect_code(0);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.starts_with("[OVERALL], ") && !text.contains("old"), "{text}");
}
