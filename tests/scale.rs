//! Many connections from one process: all of them come, none is dropped on the way, and they go again. The test is alone
//! in its file, because it weighs its own process.

use crate::support::{
    Server,
    session::{Driven, at_port, intervals, plan},
};
use redyno::{
    load::{Knobs, most_clients},
    workload::Workload,
};

fn knobs(clients: u32) -> Knobs {
    Knobs { load: true, clients, rate: Some(1000), workload: Workload::ratio(0, 1), ..Knobs::default() }
}

/// This process's memory in bytes, as the system counts it.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
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
