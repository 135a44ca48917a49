//! The figures by node of a cluster: their sums, the node that is slow, the slot that is hot.

use std::{
    collections::BTreeMap,
    process::{Child, Command, Stdio},
    sync::Arc,
};

use crate::support::{
    Server,
    nodes::{Nodes, recipes},
    program::{Running, redyno},
    session::{Driven, Past, cluster_plan, intervals},
};
use redyno::{
    diagnose::{Finding, Findings},
    knobs::Knobs,
    load::{LoadPlan, RequestLimit},
    session::{OperationInterval, Record},
    workload::{Keyset, Operation, Workload},
};
use rustix::process::Signal;

fn plan_of(nodes: &Nodes) -> LoadPlan {
    LoadPlan { threads: 2, ..cluster_plan(nodes.0[0].port(), 1000) }
}

fn knobs(workload: Arc<Workload>) -> Knobs {
    Knobs { load: true, clients: 12, pipeline: 2, workload, keyspace: 20_000, ..Knobs::default() }
}

fn sums(past: &Past) -> BTreeMap<u16, OperationInterval> {
    let mut sums: BTreeMap<u16, OperationInterval> = BTreeMap::new();
    for (node, part) in past.intervals().flat_map(|interval| &interval.nodes) {
        sums.entry(*node).or_default().merge(part);
    }
    sums
}

/// Returns the findings of this rule while the records came, each after the number of seconds at which it was found.
fn found(records: &[Arc<Record>], rule: &str) -> Vec<Finding> {
    let mut findings = Findings::default();
    let mut found = Vec::new();
    for record in records {
        findings.push(record);
        found.extend(findings.now().into_iter().filter(|finding| finding.rule == rule));
    }
    found
}

#[test]
fn all_nodes_together_are_the_whole_and_each_is_what_it_carried_out_through_a_reshard() {
    for recipe in recipes() {
        let nodes = Nodes::start(recipe, false);
        let plan = LoadPlan { requests: Some(RequestLimit::Shared(60_000)), ..plan_of(&nodes) };
        let mut session = Driven::start(&plan, knobs(Workload::ratio(1, 1)));
        session.wait_for("some operations", |records| {
            (intervals(records).map(|interval| interval.ops).sum::<u64>() > 2000).then_some(())
        });
        (0..20).for_each(|slot| nodes.move_slot(slot, 0, 1));
        session.wait_for_the_end();
        let past = session.finish();
        for interval in past.intervals() {
            let sum = |count: fn(&OperationInterval) -> u64| interval.nodes.values().map(count).sum::<u64>();
            assert_eq!(sum(|part| part.ops), interval.ops);
            assert_eq!(sum(|part| part.drained), interval.drained);
            assert_eq!(sum(|part| part.service.count()), interval.service.count());
            assert_eq!(sum(|part| part.bytes_in), interval.bytes_in);
            assert_eq!(sum(|part| part.bytes_out), interval.bytes_out);
        }
        let mut ours: Vec<_> = sums(&past).into_values().map(|part| part.ops).collect();
        let carried_out = |node: &Server| node.calls(&[], "get") + node.calls(&[], "set");
        let mut theirs: Vec<_> = nodes.0.iter().map(carried_out).collect();
        ours.sort_unstable();
        theirs.sort_unstable();
        assert_eq!((ours, past.errors()), (theirs, BTreeMap::new()));
    }
}

/// A client that lets a server sleep for 5 ms, again and again.
struct Sleeps(Child);

impl Sleeps {
    fn on(server: &Server) -> Self {
        let sleep = ["-r", "-1", "DEBUG", "SLEEP", "0.005"];
        let mut cli = Command::new("redis-cli");
        let cli = cli.arg("-s").arg(server.socket()).args(sleep).stdout(Stdio::null());
        Self(cli.spawn().expect("redis-cli is missing: apt-get install redis-tools"))
    }
}

impl Drop for Sleeps {
    fn drop(&mut self) {
        // It may have ended with its server.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_node_that_takes_5_ms_is_named_with_its_times_and_those_of_the_others() {
    let nodes = Nodes::start(|| Server::redis().with_args(&["--enable-debug-command", "yes"]), false);
    let mut session = Driven::start(&plan_of(&nodes), knobs(Workload::ratio(1, 1)));
    session.wait_for("load on all nodes", |records| {
        intervals(records).any(|interval| interval.nodes.len() == 3).then_some(())
    });
    let sleeps = Sleeps::on(&nodes.0[1]);
    let finding = session.wait_for("the slow node", |records| found(records, "slow node").pop());
    drop(sleeps);
    let past = session.finish();
    let sums = sums(&past);
    let slowest = sums.iter().max_by_key(|(_, part)| part.service.value_at_quantile(0.9)).unwrap().0;
    assert!(finding.long.starts_with(&format!("node {} is slower", slowest + 1)), "{finding:?}");
    assert!(finding.evidence[0].contains("other nodes") && !finding.next.is_empty(), "{finding:?}");
}

#[test]
fn the_printed_lines_and_the_summary_name_the_slow_node_by_its_address() {
    let nodes = Nodes::start(|| Server::redis().with_args(&["--enable-debug-command", "yes"]), false);
    let port = nodes.0[0].port_text();
    let running =
        Running::start(redyno(&["-p", &port, "--headless", "--load", "--rate", "1000", "--yes", "-c", "6"]));
    running.wait_for_lines(2, " | ");
    let sleeps = Sleeps::on(&nodes.0[2]);
    let finding = format!("slow node: node 127.0.0.1:{} is slower than the other nodes", nodes.0[2].port());
    running.wait_for_lines(1, &finding);
    drop(sleeps);
    running.signal(Signal::INT);
    let outcome = running.end().expect_code(130);
    let summary = outcome.out.rsplit("measured").next().unwrap();
    for node in &nodes.0 {
        let row = format!("\n  127.0.0.1:{} ", node.port());
        assert!(summary.contains(&row), "{}", outcome.out);
    }
}

#[test]
fn a_slot_with_60_percent_of_the_requests_is_named_and_even_use_is_not() {
    let nodes = Nodes::start(Server::redis, false);
    let of = |workload| Knobs { rate: Some(2000), ..knobs(workload) };
    let mut session = Driven::start(&plan_of(&nodes), of(Workload::ratio(1, 1)));
    session.wait_for("a second of load", |records| {
        (intervals(records).map(|interval| interval.length_s).sum::<f64>() > 3.0).then_some(())
    });
    let even = session.finish();
    assert_eq!(found(&even.records, "hot slot"), []);
    assert!(even.intervals().all(|interval| interval.slots.is_empty()));

    let operation = |name: &str, weight, key: &str| Operation {
        name: name.to_owned(),
        weight,
        steps: vec![format!("GET {{{key}}}")],
        ..Operation::default()
    };
    let one = Keyset { prefix: "one:".to_owned(), count: Some(1), ..Keyset::default() };
    let keys = [("key".to_owned(), Keyset::default()), ("one".to_owned(), one)].into();
    let operations = vec![operation("hot", 6, "one"), operation("others", 4, "key")];
    let workload = Workload { name: "hot".to_owned(), keys, operations, ..Workload::default() };
    let mut session = Driven::start(&plan_of(&nodes), of(Arc::new(workload)));
    let finding = session.wait_for("the hot slot", |records| found(records, "hot slot").pop());
    let past = session.finish();
    let mut slots: BTreeMap<u16, u64> = BTreeMap::new();
    for (slot, requests) in past.intervals().flat_map(|interval| &interval.slots) {
        *slots.entry(*slot).or_default() += requests;
    }
    let (hottest, requests) = slots.into_iter().max_by_key(|(_, requests)| *requests).unwrap();
    assert!(finding.long.starts_with(&format!("slot {hottest} gets ")), "{finding:?}");
    let share = requests as f64 / past.intervals().map(|interval| interval.ops).sum::<u64>() as f64;
    assert!((0.55..0.65).contains(&share), "{share}");
}

#[test]
fn a_slot_with_all_requests_is_named_although_only_its_node_has_results() {
    let nodes = Nodes::start(Server::redis, false);
    let port = nodes.0[0].port_text();
    let running =
        Running::start(redyno(&["-p", &port, "--headless", "--load", "--rate", "1000", "--yes", "-r", "1"]));
    running.wait_for_lines(1, " gets 100 % of the requests; an even share is 33 %");
    running.signal(Signal::INT);
    running.end().expect_code(130);
}
