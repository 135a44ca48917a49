//! Tests of a session's steps before its first write, with the built-in server.

use std::sync::{Arc, mpsc::channel};

use super::*;
use crate::{
    clock::Clock,
    demo,
    server::{Control, Ledger, Marker, Owner},
    session::running::tests::{PATIENCE, commission, of_keys},
    workload::RunId,
};

/// A number of keys of 1 KiB. The session asks the user before it writes so many keys.
const MANY: u64 = 2 << 20;

/// Returns the gate of a session whose user can be asked, and the server behind this gate.
fn gate(server: &demo::Handle) -> (WriteGate, Holders) {
    let commission = Commission {
        knobs: Knobs { load: false, ..of_keys(1000) },
        is_allowed: false,
        is_attended: true,
        ..commission(server, KeyOwner::Runs { kept: false })
    };
    let target = &commission.plan.target;
    let control = Control::start(target.clone(), Clock::start(), PATIENCE, channel().0).unwrap();
    let ledger = Ledger::found(Marker::new(RunId::random(), Owner::default()));
    (WriteGate::new(&commission), Holders::alone(0, target, Arc::new(control), ledger))
}

/// Returns whether the next result of the gate is a question.
fn asks(gate: &mut WriteGate, holders: &mut Holders) -> bool {
    matches!(gate.poll(PATIENCE, holders), Some(Admission::Ask(_) | Admission::Warn(_)))
}

#[test]
fn settings_that_are_requested_during_a_question_need_a_question_of_their_own() {
    let server = demo::start(demo::Options::default()).unwrap();
    let (mut gate, mut holders) = gate(&server);
    assert_eq!(gate.request(of_keys(MANY), &mut holders), None);
    assert!(asks(&mut gate, &mut holders));
    assert_eq!(gate.request(of_keys(2 * MANY), &mut holders), None);
    gate.answer(true);
    assert!(!gate.stage.is_allowed(), "the answer is about the first settings");
    assert!(asks(&mut gate, &mut holders));
    gate.answer(true);
    assert_eq!(gate.open(&mut holders), None);
    assert_eq!(gate.poll(PATIENCE, &mut holders), Some(Admission::Pass(of_keys(2 * MANY))));
}

#[test]
fn a_question_ends_with_the_settings_that_it_is_about() {
    let server = demo::start(demo::Options::default()).unwrap();
    let (mut gate, mut holders) = gate(&server);
    assert_eq!(gate.request(of_keys(MANY), &mut holders), None);
    assert!(asks(&mut gate, &mut holders));
    gate.withdraw();
    assert!(!gate.stage.is_asking());
    assert_eq!(gate.request(of_keys(MANY), &mut holders), None);
    assert!(asks(&mut gate, &mut holders));
    let off = Knobs { load: false, ..of_keys(MANY) };
    assert_eq!(gate.request(off.clone(), &mut holders), Some(off));
    assert!(!gate.stage.is_asking());
    gate.answer(true);
    assert_eq!(gate.request(of_keys(MANY), &mut holders), None);
    assert!(asks(&mut gate, &mut holders), "nothing was allowed");
}

#[test]
fn settings_that_are_requested_while_the_marker_is_written_are_checked_too() {
    let server = demo::start(demo::Options::default()).unwrap();
    let (mut gate, mut holders) = gate(&server);
    assert_eq!(gate.request(of_keys(1000), &mut holders), None);
    let question = gate.poll(PATIENCE, &mut holders);
    if question.is_some() {
        gate.answer(true);
    }
    assert_eq!(gate.open(&mut holders), None);
    assert!(matches!(gate.stage, GateStage::Marking(_)), "{:?}", gate.stage);
    assert_eq!(gate.request(of_keys(MANY), &mut holders), None);
    let mut next = gate.poll(PATIENCE, &mut holders);
    if next.is_none() {
        next = gate.poll(PATIENCE, &mut holders);
    }
    assert!(matches!(next, Some(Admission::Warn(_))), "{next:?}");
    gate.answer(true);
    let mut passed = gate.open(&mut holders);
    if passed.is_none() {
        passed = gate.poll(PATIENCE, &mut holders);
    }
    assert_eq!(passed, Some(Admission::Pass(of_keys(MANY))));
}
