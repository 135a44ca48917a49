//! Tests of experiments in sessions with the built-in server. The differences are large, so short
//! measurements are enough.

use std::sync::mpsc::channel;

use super::*;
use crate::{
    demo,
    endpoint::{Address, Target},
    events::EventKind,
    knobs::Knobs,
    load::{LoadPlan, WorkerOptions},
    server::Parameter,
    session::{
        Record, Segment,
        running::{Commission, KeyOwner, Session},
    },
    stats::Verdict,
    workload::{KeyNames, RunId},
};

const PLAN: AbPlan =
    AbPlan { settle_s: 0.25, part_s: 0.25, longest_part_s: 1.0, limit_s: 60.0, anyway: false };

fn server(faults: &[&str]) -> demo::Handle {
    let faults = faults.iter().map(|fault| fault.parse().unwrap()).collect();
    demo::start(demo::Options { faults, ..demo::Options::default() }).unwrap()
}

fn commission(server: &demo::Handle, knobs: Knobs) -> Commission {
    let address = Address::Tcp { host: server.address.ip().to_string(), port: server.address.port() };
    let run = RunId::random();
    let plan = LoadPlan {
        target: Target { address, ..Target::default() },
        workers: WorkerOptions::of_tests(),
        threads: 1,
        seed: 1,
        names: KeyNames::of_run(run),
        timeout: std::time::Duration::from_secs(30),
        ..LoadPlan::default()
    };
    Commission {
        knobs,
        is_allowed: true,
        most_clients: 100,
        ..Commission::new(plan, run, KeyOwner::OwnServers)
    }
}

fn on() -> Knobs {
    Knobs { load: true, clients: 4, ..Knobs::default() }
}

fn setting(text: &str) -> ExperimentSetting {
    ExperimentSetting::parse(text, &on()).unwrap()
}

/// Passes the deliveries of a session to an experiment, until the experiment is over or `stop` returns true. Returns
/// the segments, and the last orders.
fn drive(
    server: &demo::Handle,
    experiment: &mut dyn Experiment,
    mut stop: impl FnMut(&Record) -> bool,
) -> (Vec<Segment>, Vec<Order>) {
    let (_signals, listening) = channel();
    let (session, peers) = Session::start(commission(server, on()), listening, 1).unwrap();
    let (peer, mut segments, mut last) = (&peers[0], Vec::new(), None);
    for delivery in peer.rest() {
        let mut orders = experiment.take(&delivery);
        if let Delivery::Record(record) = &delivery {
            if stop(record) {
                orders.extend(experiment.stop());
            }
            if let Record::Segment(segment) = &**record {
                segments.push(segment.clone());
            }
        }
        if experiment.is_over() && last.is_none() {
            last = Some(orders);
            peer.order(Order::End);
        } else {
            orders.into_iter().for_each(|order| peer.order(order));
        }
    }
    drop(session);
    (segments, last.unwrap())
}

#[test]
fn the_better_of_two_settings_is_found_in_alternation() {
    let server = server(&["slow SET 5ms"]);
    let mut ab = Ab::new(setting("workload get"), setting("workload set"), PLAN);
    let (segments, _) = drive(&server, &mut ab, |_| false);
    let verdict = ab.verdict();
    assert_eq!((verdict.verdict, verdict.name()), (Some(Verdict::Worse), "ops/s".to_owned()), "{verdict:?}");
    assert!(ab.sentence().starts_with("B is worse: ops/s -"), "{verdict:?}");
    assert_eq!(ab.ending(), Some(&Ending::NotHeld(ab.sentence())));
    // The first segment is the session's own.
    let asked: Vec<_> = segments[1..].iter().map(|segment| segment.knobs.workload.to_string()).collect();
    let alternating: Vec<_> = ["GET", "SET"].into_iter().cycle().take(asked.len()).collect();
    assert_eq!(asked, alternating);
    let firsts: Vec<_> = ab.pairs().iter().map(|pair| pair.first).collect();
    assert_eq!(firsts[..4], [Side::A, Side::B, Side::A, Side::B]);
}

#[test]
fn a_parameter_is_set_for_one_setting_and_restored_for_the_other() {
    let server = server(&[]);
    let mut ab = Ab::new(setting("clients 4"), setting("clients 8, config hz 50"), PLAN);
    let mut seen = 0;
    let (segments, last) = drive(&server, &mut ab, |record| {
        seen += u32::from(matches!(record, Record::Segment(segment) if segment.config.is_some()));
        seen == 3
    });
    let changes: Vec<_> =
        segments.iter().filter_map(|s| s.config.as_ref()).map(|c| (c.from.as_str(), c.to.as_str())).collect();
    assert_eq!(changes, [("10", "50"), ("50", "10"), ("10", "50")]);
    let hz = Parameter::named("hz").unwrap();
    let [Order::Event(EventKind::Compared { .. }), last @ ..] = &last[..] else { panic!("{last:?}") };
    assert_eq!(last, [Order::SetKnobs(on()), Order::SetConfig { parameter: hz, to: "10".to_owned() }]);
}

#[test]
fn a_change_by_the_user_ends_a_sweep_and_is_kept() {
    let server = server(&[]);
    let (_signals, listening) = channel();
    let (session, peers) = Session::start(commission(&server, on()), listening, 2).unwrap();
    let plan: SweepPlan = "config hz 20,50".parse().unwrap();
    let mut sweep = Sweep::of(plan.clone(), plan.settings(&on()).unwrap());
    let (mut last, by_hand) = (Vec::new(), Knobs { clients: 9, ..on() });
    for delivery in peers[0].rest() {
        if let Delivery::Record(record) = &delivery
            && let Record::Segment(Segment { config: Some(change), .. }) = &**record
            && change.to == "20"
        {
            peers[1].order(Order::SetKnobs(by_hand.clone()));
        }
        let orders = sweep.take(&delivery);
        if sweep.is_over() && last.is_empty() {
            last.clone_from(&orders);
            peers[0].order(Order::End);
        }
        orders.into_iter().for_each(|order| peers[0].order(order));
    }
    drop(session);
    assert_eq!(interruption(&sweep), "somebody changed a knob during the experiment");
    let hz = Parameter::named("hz").unwrap();
    assert_eq!(last, [Order::SetConfig { parameter: hz, to: "10".to_owned() }]);
}

fn interruption(experiment: &dyn Experiment) -> String {
    match experiment.ending() {
        Some(Ending::Interrupted(why)) => why.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_experiment_that_cannot_continue_has_a_reason() {
    let server = server(&[]);
    let mut ab = Ab::new(setting("clients 4"), setting("clients 101"), PLAN);
    drive(&server, &mut ab, |_| false);
    let why = interruption(&ab);
    assert!(why.starts_with("101 clients are more than the 100"), "{why}");
    let mut ab = Ab::new(setting("clients 4"), setting("config io-threads 4"), PLAN);
    drive(&server, &mut ab, |_| false);
    let why = interruption(&ab);
    assert!(why.starts_with("io-threads was not set: "), "{why}");
}
