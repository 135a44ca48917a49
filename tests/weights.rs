//! Twenty operations whose weights, keys and whole workload are turned while they run: no error, no connection lost,
//! nothing counted in a segment that does not ask for it, and the server counts what we count.

use std::{collections::BTreeMap, sync::Arc};

use crate::support::{
    Server,
    session::{Driven, Past, at_port, plan},
};
use redyno::{
    knobs::{Knob, Knobs},
    workload::{Settings, Workload, WorkloadChoice, preset},
};

/// Good replies that a segment must have before the next is turned.
const ENOUGH: u64 = 1000;

fn twenty() -> Arc<Workload> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/twenty.toml");
    WorkloadChoice::find(file, &Settings::default()).unwrap().workload
}

/// Sets what the words of the palette say.
fn say(knobs: &mut Knobs, words: &str) {
    let (setting, value) = Knob::in_query(words).unwrap();
    *knobs = setting.typed(knobs, value).unwrap();
}

/// How often each command was sent, by what the server calls it; every operation here is one command.
fn sent(past: &Past, workloads: &[&Workload]) -> BTreeMap<String, u64> {
    let mut sent = BTreeMap::new();
    let operations = || workloads.iter().flat_map(|workload| &workload.operations);
    for (label, ops) in past.ops() {
        let step = &operations().find(|operation| operation.name == label).unwrap().steps[0];
        *sent.entry(step.split(' ').next().unwrap().to_lowercase()).or_default() += ops;
    }
    sent
}

fn turn_and_compare(server: &Server) {
    let knobs = Knobs { load: true, clients: 20, workload: twenty(), ..Knobs::default() };
    let mut session = Driven::start(&plan(at_port(server.port())), knobs);
    session.wait_for_work(1, 20, 5 * ENOUGH);
    let connections = server.load_ids();
    let mut stage = |words: &[&str]| {
        let segment = session.turn(|knobs| words.iter().for_each(|words| say(knobs, words)));
        session.wait_for_work(segment, 20, ENOUGH);
        segment
    };
    let without = stage(&["weight session-read 0", "weight tag-test 500"]);
    stage(&["exponent 1.2"]);
    stage(&["distribution latest 0.8", "weight rank-top 0"]);
    stage(&["distribution sequential"]);
    let counters = stage(&["workload incr"]);
    let reads = stage(&["workload get", "distribution zipfian"]);
    assert_eq!(server.load_ids(), connections, "every connection is kept");
    let back = session.turn(|knobs| knobs.workload = twenty());
    session.wait_for_work(back, 20, 5 * ENOUGH);
    let past = session.finish();

    assert_eq!(past.errors(), BTreeMap::new());
    let asked = |segment| past.segment(segment).commands.into_keys().collect::<Vec<_>>();
    assert_eq!((asked(1).len(), asked(back).len()), (20, 20));
    assert!(!asked(without).contains(&"session-read".to_owned()));
    assert_eq!((asked(counters), asked(reads)), (vec!["INCR".to_owned()], vec!["GET".to_owned()]));
    let tests = past.segment(without);
    let share = tests.commands["tag-test"].ops as f64 / tests.ops as f64;
    assert!((share - 500.0 / 1090.0).abs() < 0.1, "{share}");
    for interval in past.intervals() {
        assert_eq!(interval.commands.values().map(|part| part.ops).sum::<u64>(), interval.ops);
    }
    let sent = sent(&past, &[&twenty(), &preset("incr").unwrap(), &preset("get").unwrap()]);
    for (command, n) in &sent {
        assert_eq!(*n, server.calls(&[], command), "{command}");
    }
    assert_eq!(sent.len(), 21, "those of the file, each its own, and INCR: {sent:?}");
}

#[test]
fn redis_counts_what_we_count_while_weights_keys_and_workloads_are_turned() {
    turn_and_compare(&Server::redis().start());
}

#[test]
fn valkey_counts_what_we_count_while_weights_keys_and_workloads_are_turned() {
    turn_and_compare(&Server::valkey().start());
}
