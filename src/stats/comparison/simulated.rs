//! What the verdict says of runs whose truth is known: seconds of one setting that depend on each other, walk and drift,
//! and the same with a step between the stretches. Every run is made from its number, so the counts are always the same.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::*;

/// Pairs of stretches of each kind and length.
const PAIRS: u64 = 300;
/// How long a stretch is, in seconds.
const LENGTHS: [usize; 6] = [10, 20, 30, 60, 120, 300];

/// How seconds depend on those before, relative to a standard deviation of 1.
#[derive(Debug, Clone, Copy)]
enum Kind {
    /// Each repeats this share of the last: AR(1).
    Repeats(f64),
    /// White noise upon a random walk with steps of this size.
    Walks(f64),
    /// Nothing but a random walk with steps of 1.
    OnlyWalks,
    /// The first, upon the second.
    RepeatsAndWalks(f64, f64),
    /// 1/f: a sum of AR(1) with correlation times from 1 s to 512 s.
    Pink,
    /// White noise upon 1/f of this size.
    AboutPink(f64),
}

struct Chance(Pcg64Mcg);

impl Chance {
    /// A draw from the normal distribution (Box and Muller 1958).
    fn normal(&mut self) -> f64 {
        let (radius, angle): (f64, f64) = (self.0.random(), self.0.random());
        (-2.0 * (1.0 - radius).ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }

    fn repeating(&mut self, share: f64, n: usize) -> Vec<f64> {
        let mut last = self.normal();
        let next = |_| {
            last = share * last + (1.0 - share * share).sqrt() * self.normal();
            last
        };
        (0..n).map(next).collect()
    }

    fn walking(&mut self, step: f64, n: usize) -> Vec<f64> {
        let mut at = 0.0;
        let next = |_| {
            at += step * self.normal();
            at
        };
        (0..n).map(next).collect()
    }

    fn pink(&mut self, n: usize) -> Vec<f64> {
        let parts = (0..10).map(|k| self.repeating((-1.0 / f64::from(1 << k)).exp(), n));
        let sum = parts.reduce(|sum, part| added(&sum, &part, 1.0)).unwrap_or_default();
        sum.into_iter().map(|value| value / 10_f64.sqrt()).collect()
    }

    fn run(&mut self, kind: Kind, n: usize) -> Vec<f64> {
        match kind {
            Kind::Repeats(share) => self.repeating(share, n),
            Kind::Walks(step) => added(&self.repeating(0.0, n), &self.walking(step, n), 1.0),
            Kind::OnlyWalks => self.walking(1.0, n),
            Kind::RepeatsAndWalks(share, step) => {
                added(&self.repeating(share, n), &self.walking(step, n), 1.0)
            }
            Kind::Pink => self.pink(n),
            Kind::AboutPink(size) => added(&self.repeating(0.0, n), &self.pink(n), size),
        }
    }
}

fn added(one: &[f64], other: &[f64], size: f64) -> Vec<f64> {
    one.iter().zip(other).map(|(one, other)| one + size * other).collect()
}

/// How many of the pairs are called different, and how many may be drift. Seconds deviate by `sd` as a share; between the
/// stretches of `n` seconds lie `apart` seconds and a `step`.
fn told(kind: Kind, sd: f64, n: usize, apart: usize, step: f64) -> (u64, u64) {
    let (mut different, mut drift) = (0, 0);
    for pair in 0..PAIRS {
        let mut chance = Chance(Pcg64Mcg::seed_from_u64(pair + 1000 * n as u64));
        let mut run = chance.run(kind, 2 * n + apart);
        for (i, value) in run.iter_mut().enumerate() {
            *value = (*value * sd).exp() * if i < n + apart { 1.0 } else { 1.0 + step };
        }
        let stretch =
            |from: usize| Stretch { start_s: from as f64, each_s: 1.0, of: 1, values: &run[from..from + n] };
        let better = if pair % 2 == 0 { Better::Higher } else { Better::Lower };
        match compare(stretch(0), stretch(n + apart), better).verdict {
            Verdict::Faster | Verdict::Slower => different += 1,
            Verdict::Drift => drift += 1,
            Verdict::Same { .. } | Verdict::NotYet { .. } => {}
        }
    }
    (different, drift)
}

/// That at most 5 % of the pairs of one setting are called different.
fn at_most_5_percent(kinds: &[Kind]) {
    for &kind in kinds {
        for (sd, apart) in [(0.03, 0), (0.03, 120), (0.15, 0), (0.15, 120)] {
            for n in LENGTHS {
                let (different, _) = told(kind, sd, n, apart, 0.0);
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
    at_most_5_percent(&[0.0, 0.3, 0.6, 0.9].map(Kind::Repeats));
}

#[test]
fn a_random_walk_is_no_difference() {
    at_most_5_percent(&[0.02, 0.05, 0.1, 0.3].map(Kind::Walks));
    at_most_5_percent(&[Kind::OnlyWalks, Kind::RepeatsAndWalks(0.5, 0.05)]);
}

#[test]
fn a_drift_as_1_over_f_is_no_difference() {
    at_most_5_percent(&[Kind::Pink, Kind::AboutPink(0.3)]);
}

#[test]
fn a_drift_that_noise_does_not_explain_is_told_as_one() {
    let (_, drift) = told(Kind::OnlyWalks, 0.03, 60, 0, 0.0);
    assert!(drift > PAIRS / 2, "{drift}");
}

#[test]
fn five_percent_are_found_in_a_minute() {
    for (share, sd, least) in
        [(0.0, 0.02, 95), (0.0, 0.03, 88), (0.3, 0.025, 80), (0.5, 0.02, 80), (0.5, 0.025, 65)]
    {
        for step in [0.05, -0.05] {
            let (different, drift) = told(Kind::Repeats(share), sd, 60, 0, step);
            assert!(different * 100 >= PAIRS * least, "{share} {sd} {step}: {different} of {PAIRS}");
            assert!((different + drift) * 100 >= PAIRS * 98, "what is not found may be drift: {drift}");
        }
    }
}
