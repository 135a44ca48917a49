//! A cluster is driven as a whole: each request goes to the node of its key, through reshards and failovers, and our
//! counts are those of the nodes.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use crate::support::{
    Server,
    nodes::{Nodes, recipes},
    session::{Driven, Past, cluster_plan, intervals},
    wait_for,
};
use redyno::{
    knobs::Knobs,
    load::{LoadPlan, RequestLimit},
    workload::{Operation, Together, Workload, preset},
};

/// Good operations that prove that the load runs.
const ENOUGH: u64 = 2000;

fn plan_of(nodes: &Nodes) -> LoadPlan {
    cluster_plan(nodes.0[0].port(), 1000)
}

fn knobs() -> Knobs {
    let workload = Workload::ratio(1, 1);
    Knobs { load: true, clients: 12, pipeline: 4, workload, keyspace: 20_000, ..Knobs::default() }
}

fn clusters() -> impl Iterator<Item = Nodes> {
    recipes().into_iter().map(|recipe| Nodes::start(recipe, false))
}

/// All redirects by kind.
fn redirects(past: &Past) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    for (kind, n) in past.intervals().flat_map(|interval| &interval.redirects) {
        *all.entry(kind.clone()).or_default() += n;
    }
    all
}

/// Asserts that nothing failed, and that each node's own count of what it carried out gives ours.
fn assert_agreement(past: &Past, nodes: &Nodes, before: [u64; 2]) {
    assert_eq!(past.errors(), BTreeMap::new());
    let ops = past.ops();
    for (command, before) in ["GET", "SET"].into_iter().zip(before) {
        assert_eq!(nodes.calls(&command.to_lowercase()) - before, ops[command], "{command}");
    }
}

fn wait_for_ops(session: &mut Driven, more: u64) {
    let mut first = None;
    session.wait_for("more operations", |records| {
        let ops: u64 = intervals(records).map(|interval| interval.ops).sum();
        (ops >= *first.get_or_insert(ops) + more).then_some(())
    });
}

#[test]
fn on_a_still_cluster_each_request_is_carried_out_once_and_none_is_redirected() {
    for nodes in clusters() {
        let plan = LoadPlan { requests: Some(RequestLimit::Shared(30_000)), threads: 2, ..plan_of(&nodes) };
        let mut session = Driven::start(&plan, knobs());
        session.wait_for_the_end();
        let past = session.finish();
        assert_agreement(&past, &nodes, [0, 0]);
        assert_eq!((past.ops().values().sum::<u64>(), redirects(&past)), (30_000, BTreeMap::new()));
        for node in &nodes.0 {
            assert!(node.calls(&[], "get") > 3000, "the load is spread");
        }
    }
}

#[test]
fn knobs_are_turned_on_a_cluster_and_no_request_is_lost() {
    let nodes = Nodes::start(Server::redis, false);
    let mut session = Driven::start(&plan_of(&nodes), knobs());
    let changes: [fn(&mut Knobs); 7] = [
        |knobs| knobs.clients = 3,
        |knobs| (knobs.clients, knobs.pipeline) = (30, 1),
        |knobs| knobs.rate = Some(3000),
        |knobs| knobs.reconnect = Some(5),
        |knobs| knobs.workload = Workload::ratio(1, 2),
        |knobs| (knobs.rate, knobs.clients) = (None, 1),
        |knobs| (knobs.reconnect, knobs.clients) = (None, 20),
    ];
    for change in changes {
        wait_for_ops(&mut session, 500);
        session.turn(change);
    }
    wait_for_ops(&mut session, 500);
    session.turn(|knobs| knobs.load = false);
    session.turn(|knobs| knobs.load = true);
    wait_for_ops(&mut session, 500);
    assert_agreement(&session.finish(), &nodes, [0, 0]);
}

#[test]
fn a_prefill_writes_each_key_once_wherever_its_slot_moves_to() {
    let nodes = Nodes::start(Server::redis, false);
    let workload = Arc::new(preset("get").unwrap().with_prefill().unwrap());
    let knobs = Knobs { workload, keyspace: 100_000, ..knobs() };
    let mut session = Driven::start(&plan_of(&nodes), knobs);
    wait_for_ops(&mut session, ENOUGH);
    for slot in 0..10 {
        nodes.move_slot(slot, 0, 1);
    }
    session.wait_for("the whole prefill", |records| {
        (intervals(records).map(|interval| interval.ops).sum::<u64>() == 100_000).then_some(())
    });
    let past = session.finish();
    let keys: u64 = nodes.0.iter().map(|node| node.cli(&["DBSIZE"]).parse::<u64>().unwrap()).sum();
    assert_eq!((keys, nodes.calls("set"), past.errors()), (100_000, 100_000, BTreeMap::new()));
}

#[test]
fn operations_of_several_requests_are_carried_out_whole_by_the_node_of_their_first_key() {
    let operation = |name: &str, together, steps: &[&str]| {
        let steps = steps.iter().map(|step| (*step).to_owned()).collect();
        Operation { name: name.to_owned(), weight: 1, together, steps, ..Operation::default() }
    };
    let operations = vec![
        operation("multi", Together::Multi, &["INCR {key}", "GET {key.same}"]),
        operation("sequence", Together::Sequence, &["INCR {key}", "GET {key.same}"]),
        operation("pipeline", Together::Pipeline, &["INCR {key}", "GET {key.same}"]),
        operation("any", Together::Pipeline, &["ECHO x"]),
    ];
    let nodes = Nodes::start(Server::redis, false);
    let keys = Workload::ratio(1, 1).keys.clone();
    let workload = Arc::new(Workload { name: "several".to_owned(), keys, operations, ..Workload::default() });
    let plan = LoadPlan { requests: Some(RequestLimit::Shared(8000)), ..plan_of(&nodes) };
    let mut session = Driven::start(&plan, Knobs { workload, ..knobs() });
    session.wait_for_the_end();
    let past = session.finish();
    let ops = past.ops();
    let with_keys = ops["multi"] + ops["sequence"] + ops["pipeline"];
    assert_eq!((past.errors(), with_keys + ops["any"]), (BTreeMap::new(), 8000));
    assert_eq!((nodes.calls("incr"), nodes.calls("get")), (with_keys, with_keys));
    let echoes: Vec<_> = nodes.0.iter().map(|node| node.calls(&[], "echo")).collect();
    assert_eq!(echoes.iter().sum::<u64>(), ops["any"]);
    assert!(echoes.iter().max().unwrap() - echoes.iter().min().unwrap() <= 1, "{echoes:?}");
}

#[test]
fn through_a_live_reshard_each_request_is_carried_out_once() {
    for nodes in clusters() {
        let mut session = Driven::start(&plan_of(&nodes), knobs());
        wait_for_ops(&mut session, ENOUGH);
        for slot in 0..60 {
            nodes.move_slot(slot, 0, 1);
        }
        wait_for_ops(&mut session, ENOUGH);
        let past = session.finish();
        assert_agreement(&past, &nodes, [0, 0]);
        let redirects = redirects(&past);
        assert!(redirects.get("MOVED").is_some_and(|n| *n > 0), "{redirects:?}");
    }
}

#[test]
fn a_node_that_joins_gets_its_share_and_one_that_leaves_loses_no_request() {
    let mut nodes = Nodes::start(Server::redis, false);
    let reads = Knobs { workload: Workload::ratio(0, 1), ..knobs() };
    let mut session = Driven::start(&plan_of(&nodes), reads);
    wait_for_ops(&mut session, ENOUGH);
    nodes.join(Server::redis());
    (0..40).for_each(|slot| nodes.move_slot(slot, 0, 3));
    wait_for("load on the new node", || (nodes.0[3].calls(&[], "get") > 10).then_some(()));
    (0..40).for_each(|slot| nodes.move_slot(slot, 3, 0));
    nodes.wait_until_without_slots(3);
    // Until the load knows this too, its requests go to the node, and would be lost with the node. Slot 39, which moved
    // last, has keys, so a redirect shows the move. Only a segment that begins now has no earlier records.
    let segment = session.turn(|knobs| knobs.pipeline = 3);
    session.wait_for("three owners", |records| {
        intervals(records).find(|interval| (interval.segment, interval.owners) == (segment, 3)).map(drop)
    });
    wait_for_ops(&mut session, ENOUGH);
    let of_the_left = nodes.0[3].calls(&[], "get");
    nodes.leave();
    wait_for_ops(&mut session, ENOUGH);
    let past = session.finish();
    assert_eq!(past.errors(), BTreeMap::new());
    assert_eq!(nodes.calls("get") + of_the_left, past.ops()["GET"]);
}

#[test]
fn an_atomic_migration_of_valkey_costs_no_request() {
    let nodes = Nodes::start(Server::valkey, false);
    let reads = Knobs { workload: Workload::ratio(0, 1), ..knobs() };
    let mut session = Driven::start(&plan_of(&nodes), reads);
    wait_for_ops(&mut session, ENOUGH);
    let id = nodes.id(1);
    let migrate = ["CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", "0", "999", "NODE", &id];
    assert_eq!(nodes.0[0].cli(&migrate), "OK");
    wait_for("the migration", || {
        let nodes = nodes.0[1].cli(&["CLUSTER", "NODES"]);
        nodes.lines().any(|line| line.contains("myself") && line.contains(" 0-999")).then_some(())
    });
    // On a busy machine, many records are from before the migration.
    session.wait_for("a redirect", |records| {
        intervals(records).find(|interval| interval.redirects.contains_key("MOVED")).map(drop)
    });
    wait_for_ops(&mut session, ENOUGH);
    let past = session.finish();
    assert_eq!((past.errors(), nodes.calls("get")), (BTreeMap::new(), past.ops()["GET"]));
}

#[test]
fn a_failover_by_hand_costs_time_but_no_request() {
    for recipe in recipes() {
        let nodes = Nodes::start(recipe, true);
        // A replica counts the writes of its primary as well.
        let reads = Knobs { workload: Workload::ratio(0, 1), rate: Some(4000), ..knobs() };
        let mut session = Driven::start(&plan_of(&nodes), reads);
        wait_for_ops(&mut session, ENOUGH);
        nodes.hand_over_to(3);
        let before = nodes.0[3].calls(&[], "get");
        wait_for_ops(&mut session, ENOUGH);
        wait_for("load on the new primary", || (nodes.0[3].calls(&[], "get") > before).then_some(()));
        let past = session.finish();
        assert_eq!((past.errors(), nodes.calls("get")), (BTreeMap::new(), past.ops()["GET"]));
        assert!(redirects(&past).contains_key("MOVED"));
    }
}

#[test]
fn after_a_primary_is_killed_its_requests_wait_for_the_new_one() {
    let mut nodes = Nodes::start(Server::redis, true);
    let reads = Knobs { workload: Workload::ratio(0, 1), ..knobs() };
    let plan = LoadPlan { timeout: Duration::from_secs(20), ..plan_of(&nodes) };
    let mut session = Driven::start(&plan, reads);
    wait_for_ops(&mut session, ENOUGH);
    nodes.0[1].kill();
    wait_for("the failover", || nodes.0[4].cli(&["ROLE"]).starts_with("master").then_some(()));
    wait_for("load on the new primary", || (nodes.0[4].calls(&[], "get") > 0).then_some(()));
    // Every request that waited for the new primary is answered before the load ends.
    wait_for_ops(&mut session, ENOUGH);
    session.turn(|knobs| knobs.load = false);
    let past = session.finish();
    // Only what was in flight on the lost connections is unknown.
    let errors = past.errors();
    assert!(errors.keys().all(|kind| kind == "reset"), "{errors:?}");
    assert!(errors.values().sum::<u64>() <= 12 * 4, "{errors:?}");
}

#[test]
fn a_limit_of_connections_holds_for_all_nodes_together() {
    let nodes = Nodes::start(Server::redis, false);
    let plan =
        LoadPlan { requests: Some(RequestLimit::Shared(15_000)), ..cluster_plan(nodes.0[0].port(), 15) };
    let mut session = Driven::start(&plan, Knobs { pipeline: 1, ..knobs() });
    wait_for_ops(&mut session, 500);
    // The nodes are asked one after the other while lanes are closed and opened. Without the limit there are 36.
    wait_for("as many connections as the limit", || {
        let lanes: usize = nodes.0.iter().map(|node| node.load_ids().len()).sum();
        (12..=15).contains(&lanes).then_some(())
    });
    session.wait_for_the_end();
    assert_agreement(&session.finish(), &nodes, [0, 0]);
}
