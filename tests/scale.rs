//! Many connections from one process: all of them come, none is dropped on the way, and they go again. Many operations:
//! they cost little memory.

use crate::support::{
    Server,
    program::{Running, redyno},
    session::{Driven, at_port, intervals, plan},
    wait_for,
};
use redyno::{knobs::Knobs, load::most_clients, session::Record, workload::Workload};
use rustix::process::Signal;

fn knobs(clients: u32) -> Knobs {
    Knobs { load: true, clients, rate: Some(1000), workload: Workload::ratio(0, 1), ..Knobs::default() }
}

/// The distributions of everything included. The code of a program that is built to be used takes 12 MB of it, and that of this
/// one far more, so it is left out here.
#[test]
fn twenty_operations_at_four_threads_need_less_than_60_megabytes() {
    let (server, folder) = (Server::redis().start(), tempfile::tempdir().unwrap());
    let script = folder.path().join("turns.script");
    std::fs::write(&script, "at 1s pipeline 1\nat 2s pipeline 64\nat 3s pipeline 4\n").unwrap();
    let twenty = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/twenty.toml");
    let load = ["--workload", twenty, "--threads", "4", "-P", "16", "--script", script.to_str().unwrap()];
    let session = ["-p", &server.port_text(), "--yes", "--headless", "--json", "--duration", "60"];
    let running = Running::start(redyno(&[&session[..], &load].concat()));
    running.wait_for_record("all operations in the fourth segment", |record| {
        let Record::Interval(all) = record else { return None };
        (all.segment == 4 && all.commands.len() == 20).then_some(())
    });
    // A busy machine that holds the collector up needs buffers for a while.
    let own_kb = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", running.pid())).unwrap();
        let line = |line: &str| line.strip_prefix("RssAnon:")?.strip_suffix("kB")?.trim().parse::<u64>().ok();
        status.lines().find_map(line).expect("the memory that is mapped from no file")
    };
    wait_for("less than 48 MB", || (own_kb() < 48_000).then_some(()));
    running.signal(Signal::INT);
    running.end();
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
