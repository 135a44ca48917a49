//! Many connections from one process: all of them come, none is dropped on the way, and they go again. Many operations:
//! they cost little memory.

use crate::support::{
    Server,
    session::{Driven, at_port, intervals, plan},
};
use redyno::{
    load::{Knobs, Plan, most_clients},
    workload::{Operation, Workload},
};

fn knobs(clients: u32) -> Knobs {
    Knobs { load: true, clients, rate: Some(1000), workload: Workload::ratio(0, 1), ..Knobs::default() }
}

/// A workload of twenty operations of the same weight.
fn twenty() -> Workload {
    let two = Workload::ratio(1, 1);
    let operations = (0..20).map(|n| {
        let step = two.operations[n % 2].steps[0].clone();
        Operation { name: format!("operation {n}"), weight: 1, steps: vec![step], ..Operation::default() }
    });
    let (keys, operations) = (two.keys.clone(), operations.collect());
    Workload { name: "twenty".to_owned(), keys, operations, ..Workload::default() }
}

/// Twenty operations at four threads need less than 60 MB in all, the distributions of everything included: less than 42 MB
/// beside the code, which of this test's own program alone takes 23 MB and grows with each test. The test runs itself in a
/// process of its own, which it weighs.
#[test]
fn twenty_operations_at_four_threads_are_light() {
    const ALONE: &str = "REDYNO_TEST_ALONE";
    if std::env::var_os(ALONE).is_none() {
        let name = "scale::twenty_operations_at_four_threads_are_light";
        let mut alone = std::process::Command::new(std::env::current_exe().unwrap());
        let output = alone.args(["--exact", name, "--nocapture"]).env(ALONE, "1").output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
        return;
    }
    let server = Server::redis().start();
    let knobs = Knobs { load: true, pipeline: 16, workload: twenty().into(), ..Knobs::default() };
    let mut session = Driven::start(&Plan { threads: 4, ..plan(at_port(server.port())) }, knobs);
    session.wait_for_work(1, 50, 100_000);
    for pipeline in [1, 64, 4] {
        let segment = session.turn(|knobs| knobs.pipeline = pipeline);
        session.wait_for_work(segment, 50, 10_000);
    }
    let megabytes = resident() / 1_000_000;
    println!("{megabytes} MB");
    assert!(megabytes < 42, "{megabytes} MB");
    assert_eq!(session.finish().segment(1).commands.len(), 20);
}

/// This process's memory in bytes, as the system counts it, without what is mapped from files.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: Vec<u64> = statm.split_whitespace().map(|pages| pages.parse().unwrap()).collect();
    (pages[1] - pages[2]) * 4096
}

fn wait_for_clients(session: &mut Driven, clients: u32) {
    let before = session.wait_for("the stretches so far", |records| Some(intervals(records).count()));
    session.wait_for(&format!("{clients} clients"), |records| {
        intervals(records).skip(before).any(|interval| interval.clients == clients).then_some(())
    });
}

/// cachecannon took 1.1 GB and a timer a request. Here a connection that waits costs less than 4 kB of ours.
#[test]
fn thousands_of_connections_come_stay_cheap_and_go() {
    assert!(most_clients(1, 1) >= 4000, "raise the hard limit of open files to run this test: ulimit -Hn");
    let server = Server::redis().with_args(&["--maxclients", "4100"]).start();
    let mut session = Driven::start(&plan(at_port(server.port())), knobs(50));
    wait_for_clients(&mut session, 50);
    let ids = server.load_ids();
    let before = resident();
    session.turn(|knobs| knobs.clients = 4000);
    wait_for_clients(&mut session, 4000);
    let each = resident().saturating_sub(before) / 3950;
    assert!(each < 4096, "{each} bytes a connection");
    session.turn(|knobs| knobs.clients = 50);
    wait_for_clients(&mut session, 50);
    crate::support::wait_for("the server to see them gone", || (server.load_ids() == ids).then_some(()));
    session.turn(|knobs| knobs.clients = 300);
    wait_for_clients(&mut session, 300);
    let past = session.finish();
    assert!(past.errors().is_empty(), "{:?}", past.errors());
    assert!(!crate::support::session::events(&past.records).contains(&"load lost"));
}
