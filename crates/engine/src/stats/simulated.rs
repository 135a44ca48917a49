//! Simulated series of seconds for tests. The seconds depend on each other and drift, as on real machines.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// How each second depends on earlier seconds. All sizes are relative to a standard deviation of 1.
#[derive(Debug, Clone, Copy)]
pub enum NoiseKind {
    /// AR(1) noise: each second repeats this share of the deviation of the previous second.
    Repeats(f64),
    /// White noise on a random walk with steps of this size.
    Walks(f64),
    /// A random walk with steps of 1, without noise.
    OnlyWalks,
    /// AR(1) noise on a random walk. The first number is the share of the noise, and the second number is the
    /// size of the walk's steps.
    RepeatsAndWalks(f64, f64),
    /// 1/f noise: a sum of AR(1) series with correlation times from 1 s to 512 s.
    Pink,
    /// White noise on 1/f noise of this size.
    AboutPink(f64),
}

/// A reproducible source of random numbers.
pub struct NoiseSource(Pcg64Mcg);

impl NoiseSource {
    /// Creates the source with this seed.
    pub fn new(seed: u64) -> Self {
        Self(Pcg64Mcg::seed_from_u64(seed))
    }

    /// Draws from the normal distribution (Box and Muller 1958).
    pub fn normal(&mut self) -> f64 {
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

    /// Generates `n` consecutive values.
    pub fn run(&mut self, kind: NoiseKind, n: usize) -> Vec<f64> {
        match kind {
            NoiseKind::Repeats(share) => self.repeating(share, n),
            NoiseKind::Walks(step) => added(&self.repeating(0.0, n), &self.walking(step, n), 1.0),
            NoiseKind::OnlyWalks => self.walking(1.0, n),
            NoiseKind::RepeatsAndWalks(share, step) => {
                added(&self.repeating(share, n), &self.walking(step, n), 1.0)
            }
            NoiseKind::Pink => self.pink(n),
            NoiseKind::AboutPink(size) => added(&self.repeating(0.0, n), &self.pink(n), size),
        }
    }
}

fn added(one: &[f64], other: &[f64], size: f64) -> Vec<f64> {
    one.iter().zip(other).map(|(one, other)| one + size * other).collect()
}
