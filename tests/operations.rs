//! An operation of several requests is timed as one and fails as one, and its requests are counted as the server counts
//! them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::support::{
    Server, calls, cli_at,
    session::{Driven, Past, at_port, plan},
};
use redyno::{
    demo,
    endpoint::{Credentials, Password, Target},
    knobs::Knobs,
    load::LoadPlan,
    protocol::Dialect,
    session::{OperationInterval, Record},
    workload::{Keyset, Operation, Together, Workload},
};

/// Good operations that prove that the load runs.
const ENOUGH: u64 = 1000;

fn operation(name: &str, weight: u32, together: Together, steps: &[&str]) -> Operation {
    let steps = steps.iter().map(|step| (*step).to_owned()).collect();
    Operation { name: name.to_owned(), weight, together, steps, ..Operation::default() }
}

/// Reads, writes, transactions; two that always fail, for `word` holds no number; keys, numbers and values inside of words.
fn workload() -> Arc<Workload> {
    use Together::{Multi, Pipeline, Sequence};
    let keyspace = |prefix: &str| Keyset { prefix: prefix.to_owned(), ..Keyset::default() };
    let keys = [("key".to_owned(), keyspace("")), ("counter".to_owned(), keyspace("counter:"))].into();
    let operations = vec![
        operation("read", 4, Pipeline, &["GET {key}"]),
        operation("twice", 3, Pipeline, &["GET {key}", "GET {key}"]),
        operation("write", 2, Pipeline, &["SET {key} <{value}|{number 1..1000}> EX {number 60..100}"]),
        operation("move", 2, Multi, &["GET {key}", "SET {key} {value}", "INCR {counter}"]),
        operation("wrong", 1, Multi, &["GET {key}", "INCR redyno:word"]),
        operation("half", 1, Pipeline, &["GET {key}", "INCR redyno:word", "GET {key}"]),
        operation("modify", 3, Sequence, &["GET {key}", "SET {key.same} {value}"]),
        operation("vain", 1, Sequence, &["INCR redyno:word", "GET {key}", "GET {key.same}"]),
    ];
    Arc::new(Workload { name: "several".to_owned(), keys, operations, ..Workload::default() })
}

fn knobs() -> Knobs {
    Knobs { load: true, clients: 20, pipeline: 5, workload: workload(), keyspace: 100, ..Knobs::default() }
}

/// All parts of each operation in one.
fn operations(past: &Past) -> BTreeMap<String, OperationInterval> {
    let mut all = BTreeMap::<_, OperationInterval>::new();
    for (label, part) in past.intervals().flat_map(|interval| &interval.commands) {
        all.entry(label.clone()).or_default().merge(part);
    }
    all
}

/// How many operations there were, what failed, and what the server was asked by them and by the greetings of their
/// connections.
fn assert_agreement(past: &Past, greeting: &[&str], commandstats: &str) {
    let all = operations(past);
    let count = |label: &str| all[label].ops + all[label].errors.values().sum::<u64>();
    for label in ["read", "twice", "write", "move", "modify"] {
        assert_eq!((&all[label].errors, all[label].service.count()), (&BTreeMap::new(), all[label].ops));
    }
    for label in ["wrong", "half", "vain"] {
        let kinds: Vec<_> = all[label].errors.keys().map(String::as_str).collect();
        assert_eq!((all[label].ops, kinds), (0, vec!["ERR"]));
    }
    assert_eq!(past.errors()["ERR"], count("wrong") + count("half") + count("vain"));
    let looked = |label: &str| all[label].hits + all[label].misses;
    assert_eq!(looked("read"), count("read"));
    assert_eq!(looked("twice"), 2 * count("twice"));
    assert_eq!(looked("half"), 2 * count("half"), "what came before and after the error is no error");
    assert_eq!((looked("modify"), looked("vain")), (count("modify"), 2 * count("vain")));
    assert_eq!(looked("move"), count("move"), "the GET of a transaction found something or nothing");
    assert_eq!(looked("wrong"), count("wrong"), "though another of its commands failed");
    assert!(["read", "move", "wrong"].iter().all(|label| all[*label].hits > 0 && all[*label].misses > 0));
    for label in ["read", "move", "modify"] {
        assert_eq!(all[label].not_found, all[label].misses, "{label}");
    }
    let twice = &all["twice"];
    assert!((twice.misses.div_ceil(2)..=twice.misses).contains(&twice.not_found), "{twice:?}");
    assert!(["wrong", "half", "vain"].iter().all(|label| all[*label].not_found == 0), "these are errors");
    let mut asked = BTreeMap::<String, u64>::new();
    for (command, n) in past.intervals().flat_map(|interval| &interval.requests) {
        *asked.entry(command.clone()).or_default() += n;
    }
    let names: BTreeSet<_> = asked.keys().map(String::as_str).collect();
    assert_eq!(names, ["EXEC", "GET", "INCR", "MULTI", "SET"].iter().chain(greeting).copied().collect());
    assert_eq!(asked["EXEC"], count("move") + count("wrong"));
    for (command, n) in asked {
        // The ping greets the server too, once, and has no database.
        let beside = u64::from(greeting.contains(&command.as_str()) && command != "SELECT");
        assert_eq!(n + beside, calls(commandstats, &command.to_lowercase()), "{command}");
    }
}

/// Waits until the ping has said all that it says beside its PINGs.
fn wait_for_the_ping(session: &mut Driven) {
    session.wait_for("a PONG", |records| {
        records
            .iter()
            .any(|record| matches!(&**record, Record::Ping(ping) if !ping.body.rtt.is_empty()))
            .then_some(())
    });
}

/// Runs in closed loop, then in open loop. `stats` is what the server has counted.
fn run(plan: &LoadPlan, greeting: &[&str], stats: impl Fn() -> String) {
    let mut session = Driven::start(plan, knobs());
    session.wait_for_work(1, 20, ENOUGH);
    wait_for_the_ping(&mut session);
    let open = session.turn(|knobs| knobs.rate = Some(5000));
    session.wait_for_work(open, 20, ENOUGH);
    assert_agreement(&session.finish(), greeting, &stats());
}

/// What every connection is greeted with, and what besides where there is a password, RESP3 and a database.
const NAMED: [&str; 1] = ["CLIENT|SETNAME"];
const FULL: [&str; 4] = ["AUTH", "CLIENT|SETNAME", "HELLO", "SELECT"];

/// A connection that has to say all of it.
fn full(port: u16, user: &str) -> Target {
    let credentials = Some(Credentials { user: Some(user.to_owned()), password: Password::new("s3cret") });
    Target { credentials, dialect: Dialect::Resp3, db: 1, ..at_port(port) }
}

#[test]
fn real_servers_count_what_we_count() {
    for server in [Server::redis().start(), Server::valkey().start()] {
        server.cli(&["ACL", "SETUSER", "load", "on", ">s3cret", "~*", "+@all"]);
        let targets = [(at_port(server.port()), "0", &NAMED[..]), (full(server.port(), "load"), "1", &FULL)];
        for (target, db, greeting) in targets {
            server.cli(&["-n", db, "SET", "redyno:word", "text"]);
            server.cli(&["CONFIG", "RESETSTAT"]);
            let stats = || server.cli(&["INFO", "commandstats"]);
            run(&LoadPlan { threads: 2, ..plan(target) }, greeting, stats);
        }
    }
}

#[test]
fn the_built_in_server_counts_what_we_count() {
    let server = demo::start(demo::Options::default()).unwrap();
    let port = server.address.port();
    for (target, db, greeting) in [(at_port(port), "0", &NAMED[..]), (full(port, "default"), "1", &FULL)] {
        cli_at(port, &["-n", db, "SET", "redyno:word", "text"]);
        cli_at(port, &["CONFIG", "RESETSTAT"]);
        run(&plan(target), greeting, || cli_at(port, &["INFO", "commandstats"]));
    }
    server.stop().unwrap();
}

/// Values above 64 KiB are written from where they lie, unless they stand inside of a word whose length varies.
#[test]
fn large_values_are_written_whole_whatever_stands_around_them() {
    const SIZE: u32 = 100_000;
    let server = Server::redis().start();
    server.cli(&["SET", "redyno:word", "text"]);
    server.cli(&["CONFIG", "RESETSTAT"]);
    let knobs = Knobs { value_size: SIZE, pipeline: 9, clients: 4, ..knobs() };
    let mut session = Driven::start(&plan(at_port(server.port())), knobs);
    session.wait_for_work(1, 4, ENOUGH);
    wait_for_the_ping(&mut session);
    assert_agreement(&session.finish(), &NAMED, &server.cli(&["INFO", "commandstats"]));
    let mut kinds = [0, 0];
    for key in 0..100 {
        let value = server.cli(&["GET", &format!("redyno:{key:012}")]);
        let inner = value.strip_prefix('<').and_then(|rest| rest.split_once('|')).map(|(inner, _)| inner);
        let random = inner.unwrap_or(&value);
        if random.is_empty() {
            continue;
        }
        assert_eq!(random.len(), SIZE as usize, "{key}");
        assert!(random.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)), "{key}");
        kinds[usize::from(inner.is_some())] += 1;
    }
    assert!(kinds.iter().all(|n| *n > 0), "{kinds:?}");
}

/// A connection that is lost in the middle of an operation loses it once, whatever came of it.
#[test]
fn an_operation_that_is_cut_off_has_one_end() {
    for _ in 0..3 {
        let mut server = Server::redis().start();
        server.cli(&["SET", "redyno:word", "text"]);
        let mut session = Driven::start(&plan(at_port(server.port())), Knobs { pipeline: 200, ..knobs() });
        session.wait_for_work(1, 20, ENOUGH);
        server.pause();
        session.wait_for("requests without a reply", |records| {
            crate::support::session::intervals(records).last().filter(|interval| interval.ops == 0).map(drop)
        });
        server.kill();
        session.wait_for("the loss", |records| {
            let mut intervals = crate::support::session::intervals(records);
            intervals.any(|interval| !interval.connections_lost.is_empty()).then_some(())
        });
        assert!(session.finish().errors()["reset"] > 0);
    }
}

/// The operations of a workload that is chosen while the load runs are counted by their own names.
#[test]
fn another_workload_is_chosen_under_load() {
    let server = Server::redis().start();
    server.cli(&["SET", "redyno:word", "text"]);
    let usual = Knobs { workload: Knobs::default().workload, ..knobs() };
    let mut session = Driven::start(&plan(at_port(server.port())), usual);
    session.wait_for_work(1, 20, ENOUGH);
    let several = session.turn(|knobs| knobs.workload = workload());
    session.wait_for_work(several, 20, ENOUGH);
    let back = session.turn(|knobs| knobs.workload = Workload::ratio(0, 1));
    session.wait_for_work(back, 20, ENOUGH);
    let past = session.finish();
    let labels = |segment| past.segment(segment).commands.into_keys().collect::<Vec<_>>();
    assert_eq!(labels(1), ["GET", "SET"]);
    assert_eq!(labels(several), ["half", "modify", "move", "read", "twice", "vain", "write", "wrong"]);
    assert_eq!(labels(back), ["GET"]);
    assert_eq!(past.errors().into_keys().collect::<Vec<_>>(), ["ERR"]);
}
