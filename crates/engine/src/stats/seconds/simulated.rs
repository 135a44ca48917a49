//! Tests the verdicts of the comparison of seconds with simulated runs. The seconds of a run depend on each
//! other and drift. Each run has two series, with a known step between them or with no step. The number of a
//! run is its random seed, so the counts never change.

use super::*;
use crate::stats::simulated::{NoiseKind, NoiseSource};

/// The number of simulated pairs of series of each kind and length.
const PAIRS: u64 = 300;
/// The lengths of a series, in seconds.
const LENGTHS: [usize; 6] = [10, 20, 30, 60, 120, 300];

/// Returns two numbers of pairs: how many get the verdict "different", and how many get the verdict "drift is
/// possible". The standard deviation of the seconds is the share `sd` of their mean. Each series has `n` seconds.
/// `apart` seconds lie between the two series. The second series is larger by the share `step`.
fn found(kind: NoiseKind, sd: f64, n: usize, apart: usize, step: f64) -> (u64, u64) {
    let (mut different, mut drift) = (0, 0);
    for pair in 0..PAIRS {
        let mut chance = NoiseSource::new(pair + 1000 * n as u64);
        let mut run = chance.run(kind, 2 * n + apart);
        for (i, value) in run.iter_mut().enumerate() {
            *value = (*value * sd).exp() * if i < n + apart { 1.0 } else { 1.0 + step };
        }
        let stretch = |from: usize| TimeSeries {
            start_s: from as f64,
            each_s: 1.0,
            of: 1,
            values: &run[from..from + n],
        };
        let better = if pair % 2 == 0 { Better::Higher } else { Better::Lower };
        match compare(stretch(0), stretch(n + apart), better).verdict {
            Verdict::Better | Verdict::Worse => different += 1,
            Verdict::NotClear(Reason::Drift) => drift += 1,
            Verdict::Same { .. } | Verdict::NotClear(_) => {}
        }
    }
    (different, drift)
}

/// Asserts that at most 5 % of the pairs with equal settings are reported as different.
fn at_most_5_percent(kinds: &[NoiseKind]) {
    for &kind in kinds {
        for (sd, apart) in [(0.03, 0), (0.03, 120), (0.15, 0), (0.15, 120)] {
            for n in LENGTHS {
                let (different, _) = found(kind, sd, n, apart, 0.0);
                let most = PAIRS / 20;
                assert!(
                    different <= most,
                    "{kind:?}, sd {sd}, {n} s, {apart} s apart: {different} of {PAIRS}"
                );
            }
        }
    }
}

#[test]
fn autocorrelated_seconds_of_one_setting_are_no_difference() {
    at_most_5_percent(&[0.0, 0.3, 0.6, 0.9].map(NoiseKind::Repeats));
}

#[test]
fn a_random_walk_is_no_difference() {
    at_most_5_percent(&[0.02, 0.05, 0.1, 0.3].map(NoiseKind::Walks));
    at_most_5_percent(&[NoiseKind::OnlyWalks, NoiseKind::RepeatsAndWalks(0.5, 0.05)]);
}

#[test]
fn a_drift_as_1_over_f_is_no_difference() {
    at_most_5_percent(&[NoiseKind::Pink, NoiseKind::AboutPink(0.3)]);
}

#[test]
fn a_drift_that_noise_does_not_explain_is_reported_as_a_drift() {
    let (_, drift) = found(NoiseKind::OnlyWalks, 0.03, 60, 0, 0.0);
    assert!(drift > PAIRS / 2, "{drift}");
}

#[test]
fn a_difference_of_five_percent_is_found_in_a_minute() {
    for (share, sd, least) in
        [(0.0, 0.02, 95), (0.0, 0.03, 88), (0.3, 0.025, 80), (0.5, 0.02, 80), (0.5, 0.025, 65)]
    {
        for step in [0.05, -0.05] {
            let (different, drift) = found(NoiseKind::Repeats(share), sd, 60, 0, step);
            assert!(different * 100 >= PAIRS * least, "{share} {sd} {step}: {different} of {PAIRS}");
            assert!((different + drift) * 100 >= PAIRS * 98, "what is not found may be drift: {drift}");
        }
    }
}
