//! Tests the verdicts of an A/B of two settings with a known difference. The simulated noise is correlated, wanders or
//! drifts. The number of a run is its random seed, so the results are always the same.

use super::*;
use crate::{
    experiment::{
        Ending, Experiment, ExperimentSetting,
        simulated::{SimulatedSession, TICK_S},
    },
    knobs::Knobs,
    session::{Client, Interval, WorkerCost},
    stats::{
        Verdict,
        simulated::{NoiseKind, NoiseSource},
    },
};

/// The number of runs of each kind.
const RUNS: u64 = 100;

/// Runs an A/B on a server with random noise. Under B, the throughput is higher by the share `step`. Returns the length
/// of the A/B in seconds.
fn run(ab: &mut Ab, noise: &[f64], step: f64) -> f64 {
    let [a, b] = ab.settings.each_ref().map(|setting| setting.knobs.clone());
    let mut session = SimulatedSession::new(a);
    session.drive(ab, |knobs, t_s| {
        let ops_per_s = 100_000.0 * noise[t_s as usize].exp() * if *knobs == b { 1.0 + step } else { 1.0 };
        Interval { ops: (ops_per_s * TICK_S) as u64, ops_per_s, ..Interval::default() }
    });
    session.now_s()
}

/// Returns the number of runs with each verdict (better, worse, no difference, not clear), and the length of the
/// longest run in seconds.
fn verdicts(kind: NoiseKind, sd: f64, step: f64) -> ([u64; 4], f64) {
    let on = Knobs { load: true, ..Knobs::default() };
    let (mut counts, mut longest_s) = ([0; 4], 0_f64);
    for number in 0..RUNS {
        let mut noise = NoiseSource::new(number).run(kind, 200);
        noise.iter_mut().for_each(|value| *value *= sd);
        let setting = |text| ExperimentSetting::parse(text, &on).unwrap();
        let mut ab = Ab::new(setting("clients 50"), setting("clients 100"), AbPlan::default());
        longest_s = longest_s.max(run(&mut ab, &noise, step));
        counts[match ab.verdict().verdict.unwrap() {
            Verdict::Better => 0,
            Verdict::Worse => 1,
            Verdict::Same { .. } => 2,
            Verdict::NotClear(_) => 3,
        }] += 1;
    }
    (counts, longest_s)
}

const KINDS: [NoiseKind; 8] = [
    NoiseKind::Repeats(0.0),
    NoiseKind::Repeats(0.3),
    NoiseKind::Repeats(0.6),
    NoiseKind::Repeats(0.9),
    NoiseKind::Walks(0.1),
    NoiseKind::RepeatsAndWalks(0.5, 0.05),
    NoiseKind::Pink,
    NoiseKind::AboutPink(0.3),
];

#[test]
fn equal_settings_are_judged_equal() {
    for kind in KINDS {
        let ([better, worse, same, _], longest_s) = verdicts(kind, 0.03, 0.0);
        assert!(same * 100 >= 95 * RUNS, "{kind:?}: {same} of {RUNS}");
        assert!(better + worse <= 5 && longest_s < 180.0, "{kind:?}: {better} {worse}, {longest_s} s");
    }
}

#[test]
fn in_great_noise_equal_settings_are_not_judged_different() {
    for kind in KINDS.into_iter().chain([NoiseKind::OnlyWalks]) {
        for sd in [0.08, 0.15] {
            let ([better, worse, ..], longest_s) = verdicts(kind, sd, 0.0);
            assert!((better + worse) * 100 <= 8 * RUNS, "{kind:?} {sd}: {better} {worse}");
            assert!(longest_s < 180.0, "{longest_s}");
        }
    }
}

#[test]
fn ten_percent_are_found_and_the_better_side_is_named() {
    for kind in KINDS {
        for sd in [0.03, 0.08] {
            let ([better, worse, ..], _) = verdicts(kind, sd, 0.1);
            assert!(better * 100 >= 98 * RUNS && worse == 0, "{kind:?} {sd}: {better} {worse}");
            let ([better, worse, ..], _) = verdicts(kind, sd, -1.0 / 11.0);
            assert!(worse * 100 >= 98 * RUNS && better == 0, "{kind:?} {sd}: {better} {worse}");
        }
    }
}

#[test]
fn an_ab_that_compares_redyno_with_itself_ends_after_three_pairs() {
    let on = Knobs { load: true, ..Knobs::default() };
    let setting = |text| ExperimentSetting::parse(text, &on).unwrap();
    let run = |cpu: f64| {
        let mut ab = Ab::new(setting("clients 50"), setting("clients 100"), AbPlan::default());
        let mut session = SimulatedSession::new(ab.settings[0].knobs.clone());
        session.drive(&mut ab, |_, t_s| {
            let client = Some(Client::of(vec![WorkerCost { cpu, ..WorkerCost::default() }]));
            let ops_per_s = if (t_s as u64).is_multiple_of(7) { 50_000.0 } else { 100_000.0 };
            Interval { ops: (ops_per_s * TICK_S) as u64, ops_per_s, client, ..Interval::default() }
        });
        (ab.pairs().len(), ab.ending().cloned())
    };
    let (pairs, ending) = run(0.99);
    let Some(Ending::Undecided(words)) = ending else { panic!("{ending:?}") };
    assert!(
        words.starts_with("redyno itself is the limit for both A and B: thread load-0 uses 99 % of a core; "),
        "{words}"
    );
    assert_eq!(pairs, 3);
    assert!(run(0.5).0 >= 9);
}
