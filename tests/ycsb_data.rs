//! Data sets that YCSB and go-ycsb wrote are read, scanned and compared, and those that redyno loads have their names.

use std::{fs::File, process::Command};

use crate::{
    support::{
        Recipe, Server,
        program::{Outcome, run},
    },
    ycsb::WORKLOADS,
};

/// What the tools wrote that these files are of: the command of each record, and of the index of scans.
const WRITTEN: [(&str, &[&str]); 3] = [
    ("ycsb-d9faaac-redis", &[]),
    ("go-ycsb-d383d2b-hash", &["-p", "redis.datatype=hash"]),
    ("go-ycsb-d383d2b-string", &["-p", "redis.datatype=string"]),
];

/// Runs the command line of YCSB over forty records of three fields, with more words.
fn ycsb(server: &Server, phase: &str, more: &[&str]) -> Outcome {
    let port = format!("redis.port={}", server.port());
    let line = ["ycsb", phase, "redis", "--yes", "-p", &port, "-p", "recordcount=40", "-p", "fieldcount=3"];
    run(&[&line[..], &["-p", "fieldlength=40", "-p", "operationcount=200"], more].concat())
}

fn write_fixture(server: &Server, name: &str) {
    let file = format!("{}/tests/fixtures/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    let mut cli = Command::new("redis-cli");
    cli.arg("-s").arg(server.socket()).stdin(File::open(file).unwrap()).output().unwrap();
}

/// All keys with their types, and the fields of the record of number 0, in the order of their names.
fn kept(server: &Server, record: &str) -> [Vec<String>; 2] {
    let sorted = |text: String| {
        let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let keys = sorted(server.cli(&["KEYS", "*"])).into_iter();
    [
        keys.map(|key| format!("{key} {}", server.cli(&["TYPE", &key]))).collect(),
        sorted(server.cli(&["HKEYS", record])),
    ]
}

/// Asserts that the fixture and what redyno loads have the same names, and that all workloads find all records of both.
fn all_is_found((name, layout): (&str, &[&str]), recipe: fn() -> Recipe) {
    let (theirs, ours) = (recipe().start(), recipe().start());
    write_fixture(&theirs, name);
    assert!(ycsb(&ours, "load", layout).expect_code(0).out.contains("[INSERT], Return=OK, 40\n"));
    let record = if layout.is_empty() { "user" } else { "usertable/user" }.to_owned() + "6284781860667377211";
    assert_eq!(theirs.cli(&["STRLEN", &record]), ours.cli(&["STRLEN", &record]));
    let index = ["ZRANGE", "_indices", "0", "-1", "WITHSCORES"];
    assert_eq!((kept(&theirs, &record), theirs.cli(&index)), (kept(&ours, &record), ours.cli(&index)));
    for (workload, proportions) in WORKLOADS {
        let mut words: Vec<_> = ["read", "update"].map(|name| format!("{name}proportion=0")).into();
        let property = |name: &str| name.to_lowercase().replace('-', "") + "proportion";
        let share = |(name, percent): &(&str, f64)| format!("{}={}", property(name), percent / 100.0);
        words.extend(proportions.iter().map(share));
        words.push(format!("requestdistribution={}", if workload == "d" { "latest" } else { "zipfian" }));
        let words = words.iter().flat_map(|word| ["-p", word]);
        let words: Vec<_> = words.chain(layout.iter().copied()).collect();
        if workload == "e" && !layout.is_empty() {
            let refused = ycsb(&theirs, "run", &words).expect_code(2);
            assert!(refused.err.contains("scans need the index"), "{refused:?}");
            continue;
        }
        for server in [&theirs, &ours] {
            let ran = ycsb(server, "run", &words).expect_code(0);
            // A READ-MODIFY-WRITE also counts as a READ and an UPDATE.
            let of = |line: &&str| workload != "f" || line.starts_with("[READ], ");
            let found = ran.out.lines().filter(of).filter_map(|line| line.split_once("], Return=OK, "));
            let found: u64 = found.map(|(_, n)| n.parse::<u64>().unwrap()).sum();
            assert_eq!(
                (found, ran.out.matches("Return=").count()),
                (200, proportions.len()),
                "{name} {ran:?}"
            );
        }
    }
}

#[test]
#[ignore = "long: it needs the module for JSON, which tests/long installs"]
fn documents_that_go_ycsb_wrote_are_all_found() {
    let with_module = || {
        let search = std::env::var("SEARCH_MODULE").expect("the path of redisearch.so");
        let module = search.replace("redisearch.so", "rejson.so");
        Server::redis().with_args(&["--loadmodule", &module])
    };
    all_is_found(("go-ycsb-d383d2b-json", &["-p", "redis.datatype=json"]), with_module);
}

#[test]
fn what_ycsb_and_go_ycsb_wrote_is_all_found_and_what_is_loaded_here_has_their_names() {
    WRITTEN.into_iter().for_each(|written| all_is_found(written, Server::redis));
    let server = Server::redis().start();
    let update = ["-p", "redis.datatype=string", "-p", "readproportion=0", "-p", "updateproportion=1"];
    let ran = ycsb(&server, "run", &update);
    assert!(ran.out.contains("[UPDATE], Return=OK, 0\n[UPDATE], Return=NOT_FOUND, 200\n"), "{ran:?}");
    assert_eq!(server.cli(&["DBSIZE"]), "0", "as in go-ycsb");
    ycsb(&server, "load", &["-p", "index=false"]).expect_code(0);
    let scan = [
        "-p",
        "readproportion=0",
        "-p",
        "updateproportion=0.5",
        "-p",
        "scanproportion=0.5",
        "-target",
        "9000",
    ];
    let ran =
        ycsb(&server, "run", &[&scan[..], &["-p", "measurement.interval=both"]].concat()).expect_code(0);
    assert!(ran.out.contains("[SCAN], Return=OK, 0\n[SCAN], Return=NOT_FOUND, "), "{ran:?}");
    for name in ["SCAN", "UPDATE"] {
        let (_, count) = ran.out.split_once(&format!("[{name}], Operations, ")).unwrap();
        let count = count.lines().next().unwrap();
        assert!(ran.out.contains(&format!("[Intended-{name}], Operations, {count}\n")), "{ran:?}");
    }
}

/// The values of the fixture are derived from its keys and fields, by YCSB itself.
#[test]
fn values_that_ycsb_derived_are_compared_when_they_are_read() {
    let (theirs, ours) = (Server::redis().start(), Server::redis().start());
    write_fixture(&theirs, WRITTEN[0].0);
    let integrity = ["-p", "dataintegrity=true", "-p", "writeallfields=true", "-threads", "4"];
    ycsb(&ours, "load", &integrity).expect_code(0);
    let all = ["HGETALL", "user6284781860667377211"];
    let [mut expected, mut loaded] =
        [&theirs, &ours].map(|server| server.cli(&all).lines().map(str::to_owned).collect::<Vec<_>>());
    expected.sort();
    loaded.sort();
    assert_eq!(expected, loaded);
    let mix =
        ["-p", "readproportion=0.5", "-p", "updateproportion=0.2", "-p", "readmodifywriteproportion=0.3"];
    let words = [&integrity[..], &mix, &["-p", "requestdistribution=sequential"]].concat();
    for server in [&theirs, &ours] {
        let ran = ycsb(server, "run", &words).expect_code(0);
        let (_, compared) = ran.out.split_once("[VERIFY], Operations, ").unwrap();
        let mut lines = compared.lines();
        let count = lines.next().unwrap();
        assert_eq!(lines.next(), Some(&*format!("[VERIFY], Return=OK, {count}")), "{ran:?}");
        assert!(!ran.out.contains("UNEXPECTED_STATE"), "{ran:?}");
    }
    for key in theirs.cli(&["KEYS", "user*"]).lines() {
        theirs.cli(&["HSET", key, "field2", "changed"]);
    }
    let read = ["-p", "readproportion=1", "-p", "updateproportion=0"];
    let ran = ycsb(&theirs, "run", &[&integrity[..], &read].concat());
    assert!(ran.out.contains("[READ], Return=ERROR, 200\n[VERIFY], Operations, 200\n"), "{ran:?}");
    assert!(ran.out.contains("[VERIFY], Return=OK, 0\n[VERIFY], Return=UNEXPECTED_STATE, 200\n"), "{ran:?}");
}
