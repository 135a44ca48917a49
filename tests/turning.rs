//! Knobs turned while the load runs: every segment has its own numbers, no error is counted, and the server's own
//! statistics agree with ours to the request.

use std::{collections::BTreeSet, sync::Arc};

use crate::support::{
    Server, calls, cli_at, load_ids,
    session::{Driven, Past, at_port, intervals, plan},
    wait_for,
};
use redyno::{
    demo,
    endpoint::{Address, Credentials, Password, Target},
    knobs::Knobs,
    load::LoadPlan,
    protocol::Dialect,
    session::Record,
    workload::{Workload, preset},
};

/// Good replies that a segment must have before the next knob is turned.
const ENOUGH: u64 = 1000;

fn begin() -> Knobs {
    Knobs { load: true, workload: Workload::ratio(1, 1), keyspace: 1000, ..Knobs::default() }
}

/// What the issue asks for, knob by knob; each change in a segment of its own, all of them checked.
fn turn_every_knob(plan: &LoadPlan, commandstats: impl Fn() -> String) -> Past {
    let mut session = Driven::start(plan, begin());
    session.wait_for_work(1, 50, ENOUGH);
    let mut stage = |clients, change: &dyn Fn(&mut Knobs)| {
        let segment = session.turn(change);
        session.wait_for_work(segment, clients, ENOUGH);
        segment
    };
    stage(200, &|knobs| knobs.clients = 200);
    let deep = stage(200, &|knobs| knobs.pipeline = 16);
    let capped = stage(200, &|knobs| knobs.rate = Some(5000));
    let reads = stage(200, &|knobs| {
        knobs.rate = None;
        knobs.workload = knobs.workload.with_read_percent(100);
    });
    let writes = stage(200, &|knobs| {
        knobs.workload = knobs.workload.with_read_percent(0);
        knobs.value_size = 2000;
    });
    let off = session.turn(|knobs| knobs.load = false);
    assert_rest(&mut session, || (calls(&commandstats(), "get"), calls(&commandstats(), "set")));
    let on = session.turn(|knobs| knobs.load = true);
    session.wait_for_work(on, 200, ENOUGH);
    let few = session.turn(|knobs| knobs.clients = 20);
    session.wait_for_work(few, 20, ENOUGH);

    let past = session.finish();
    let names = |segment| past.segment(segment).commands.into_keys().collect::<Vec<_>>();
    assert_eq!(names(reads), ["GET"]);
    assert_eq!(names(writes), ["SET"]);
    assert!(past.segment(writes).bytes_out > past.segment(writes).ops * 2000);
    assert!(past.segment(deep).ops.is_multiple_of(16), "whole batches are answered");
    let capped = past.segment(capped);
    // What was due is sent and nothing beyond it; the segment's length is the mean of the workers'.
    assert!(
        (capped.ops as f64) < 5000.0 * capped.length_s * 1.01 + 20.0,
        "{} in {} s",
        capped.ops,
        capped.length_s
    );
    assert_eq!(past.segment(off).ops, 0);
    past
}

/// The last replies come, and then nothing moves any more. `asked` is how many GETs and SETs the server counts.
fn assert_rest(session: &mut Driven, asked: impl Fn() -> (u64, u64)) {
    session.wait_for("the last replies", |records| {
        let ops = |command| {
            let parts = intervals(records).filter_map(|interval| interval.commands.get(command));
            parts.map(|part| part.ops).sum()
        };
        ((ops("GET"), ops("SET")) == asked()).then_some(())
    });
    let still = asked();
    let pings = |records: &[Arc<Record>]| records.iter().filter(|r| matches!(***r, Record::Ping(_))).count();
    let before = session.wait_for("the pings", |records| Some(pings(records)));
    session.wait_for("four more ticks", |records| (pings(records) >= before + 4).then_some(()));
    assert_eq!(asked(), still, "requests were sent while the load was off");
}

/// Each number that both sides keep.
fn assert_agreement(past: &Past, commandstats: &str) {
    assert_eq!(past.errors(), [].into());
    let ours = past.ops();
    for (command, name) in [("GET", "get"), ("SET", "set")] {
        assert_eq!(ours.get(command).copied().unwrap_or(0), calls(commandstats, name), "{command}");
    }
    let ops: u64 = ours.values().sum();
    assert_eq!(past.end.summary.ops, ops);
    assert_eq!(past.end.summary.service.count(), ops);
    let hits_and_misses = past.end.summary.hits + past.end.summary.misses;
    assert_eq!(hits_and_misses, ours.get("GET").copied().unwrap_or(0));
    for interval in past.intervals() {
        assert_eq!(interval.service.count(), interval.ops);
        assert_eq!(interval.commands.values().map(|part| part.ops).sum::<u64>(), interval.ops);
    }
}

fn turns_and_agrees(server: &Server, plan: &LoadPlan) {
    let stats = || server.cli(&["INFO", "commandstats"]);
    let past = turn_every_knob(plan, stats);
    assert_agreement(&past, &stats());
}

#[test]
fn redis_counts_what_we_count_while_every_knob_is_turned() {
    let server = Server::redis().start();
    turns_and_agrees(&server, &plan(at_port(server.port())));
}

#[test]
fn valkey_counts_what_we_count_while_every_knob_is_turned() {
    let server = Server::valkey().start();
    turns_and_agrees(&server, &plan(at_port(server.port())));
}

#[test]
fn the_built_in_server_counts_what_we_count_while_every_knob_is_turned() {
    let server = demo::start(demo::Options::default()).unwrap();
    let port = server.address.port();
    let stats = || cli_at(port, &["INFO", "commandstats"]);
    let past = turn_every_knob(&plan(at_port(port)), stats);
    assert_agreement(&past, &stats());
    server.stop().unwrap();
}

#[test]
fn three_workers_count_together_what_the_server_counts() {
    let server = Server::redis().start();
    turns_and_agrees(&server, &LoadPlan { threads: 3, ..plan(at_port(server.port())) });
}

#[test]
fn a_unix_socket_is_as_good_as_a_port() {
    let server = Server::valkey().start();
    let target = Target { address: Address::Unix(server.socket()), ..Target::default() };
    turns_and_agrees(&server, &plan(target));
    assert_eq!(
        server.cli(&["CLIENT", "LIST"]).matches("name=redyno").count(),
        0,
        "all connections are closed"
    );
}

#[test]
fn a_user_of_the_acl_in_another_database_over_resp3_is_counted_the_same() {
    for server in [Server::redis().start(), Server::valkey().start()] {
        server.cli(&[
            "ACL",
            "SETUSER",
            "ann",
            "on",
            ">s3cret",
            "~redyno:*",
            "+get",
            "+set",
            "+ping",
            "+select",
        ]);
        let credentials = Credentials { user: Some("ann".into()), password: Password::new("s3cret") };
        let target = Target {
            credentials: Some(credentials),
            db: 3,
            dialect: Dialect::Resp3,
            ..at_port(server.port())
        };
        let mut session = Driven::start(&plan(target), begin());
        session.wait_for_work(1, 50, ENOUGH);
        // Without the right to CLIENT SETNAME the load has no name; it is known by its user and database.
        let list = server.cli(&["CLIENT", "LIST"]);
        let is_load =
            |line: &&str| [" user=ann ", " db=3 ", " resp=3"].iter().all(|part| line.contains(part));
        assert_eq!(list.lines().filter(is_load).count(), 50, "{list}");
        let segment = session.turn(|knobs| knobs.pipeline = 16);
        session.wait_for_work(segment, 50, ENOUGH);
        let past = session.finish();
        assert_agreement(&past, &server.cli(&["INFO", "commandstats"]));
        assert_eq!(server.cli(&["DBSIZE"]), "0");
        assert_ne!(server.cli(&["-n", "3", "DBSIZE"]), "0");
    }
}

#[test]
fn other_commands_are_counted_the_same() {
    let server = Server::redis().start();
    let mut workload = (*preset("incr").unwrap()).clone();
    let strings = Workload::ratio(1, 1);
    workload.keys.extend(strings.keys.clone());
    workload.operations.extend(strings.operations.clone());
    let knobs = Knobs { workload: Arc::new(workload), ..begin() };
    let mut session = Driven::start(&plan(at_port(server.port())), knobs);
    session.wait_for_work(1, 50, ENOUGH);
    let past = session.finish();
    assert_agreement(&past, &server.cli(&["INFO", "commandstats"]));
    assert_eq!(past.ops()["INCR"], server.calls(&[], "incr"));
}

/// Turns clients 50 → 200 → 50 and back, and the load off and on; what the server lists at each stage.
fn connections_through_turns(threads: usize) -> Vec<BTreeSet<u64>> {
    let server = Server::redis().start();
    let mut session = Driven::start(&LoadPlan { threads, ..plan(at_port(server.port())) }, begin());
    let mut listed = Vec::new();
    session.wait_for_work(1, 50, ENOUGH);
    listed.push(server.load_ids());
    for clients in [200, 50] {
        let segment = session.turn(|knobs| knobs.clients = clients);
        session.wait_for_work(segment, clients, ENOUGH);
        listed.push(wait_for("the server to see the connections", || {
            let list = server.cli(&["CLIENT", "LIST"]);
            Some(load_ids(&list)).filter(|ids| ids.len() == clients as usize)
        }));
    }
    session.turn(|knobs| knobs.load = false);
    listed.push(server.load_ids());
    let on = session.turn(|knobs| knobs.load = true);
    session.wait_for_work(on, 50, ENOUGH);
    listed.push(server.load_ids());
    assert_eq!(session.finish().errors(), [].into());
    listed
}

#[test]
fn connections_that_the_new_setting_keeps_are_kept() {
    for threads in [1, 3] {
        let [fifty, many, few, off, on] = connections_through_turns(threads).try_into().unwrap();
        assert_eq!((fifty.len(), many.len()), (50, 200));
        assert!(many.is_superset(&fifty));
        assert_eq!(few, fifty, "the first fifty stay, the later ones go");
        assert_eq!((&off, &on), (&fifty, &fifty), "load off and on keeps every connection");
    }
}

#[test]
fn sixteen_workers_share_the_clients_and_lose_no_count() {
    let server = demo::start(demo::Options::default()).unwrap();
    let target = at_port(server.address.port());
    let mut session = Driven::start(
        &LoadPlan { threads: 16, ..plan(target) },
        Knobs { clients: 100, workload: Workload::ratio(0, 1), ..begin() },
    );
    session.wait_for_work(1, 100, 10_000);
    // Fewer clients than workers: some workers have none.
    let few = session.turn(|knobs| knobs.clients = 5);
    session.wait_for_work(few, 5, 1000);
    let past = session.finish();
    let sent: u64 = past.intervals().map(|interval| interval.bytes_out).sum();
    let request = "*2\r\n$3\r\nGET\r\n$19\r\nredyno:000000000000\r\n".len() as u64;
    assert_eq!(past.end.summary.ops, sent / request);
    assert!(past.errors().is_empty(), "{:?}", past.errors());
    server.stop().unwrap();
}
