//! Random timers for each client of the load: the pause between two batches, or the time until the client
//! reconnects.
//!
//! ```text
//!  first   ├─ a part ─┤              so that clients do not all end at the same time
//!  then    ├───── a whole length ─────┤
//! ```
//! Each client has its own random numbers, so that its timers do not depend on other clients. This module does no I/O
//! and reads no clock.

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::watches::CheckQueue;
use crate::{
    knobs::RandomLength,
    workload::{Share, client_seed},
};

/// The running timers of a worker's clients.
pub(super) struct RandomTimers {
    seed: u64,
    share: Share,
    ends: CheckQueue,
    /// The random numbers of each client that has had a timer.
    generators: Vec<Option<Pcg64Mcg>>,
}

impl RandomTimers {
    /// Creates the timers of a worker with this share of the clients.
    pub(super) fn new(seed: u64, share: Share) -> Self {
        Self { seed, share, ends: CheckQueue::default(), generators: Vec::new() }
    }

    /// Starts the timer of client `i` at `now_ns`, unless this timer is already running. The first length of each
    /// client is shortened by a random factor.
    pub(super) fn begin(&mut self, i: usize, length: RandomLength, now_ns: u64) {
        if self.ends.is_watched(i) {
            return;
        }
        if self.generators.len() <= i {
            self.generators.resize(i + 1, None);
        }
        let is_first = self.generators[i].is_none();
        let number = self.share.nth(i as u64) as usize;
        let generator =
            self.generators[i].get_or_insert_with(|| Pcg64Mcg::seed_from_u64(client_seed(self.seed, number)));
        let mut unit = || (generator.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        let part = if is_first { unit() } else { 1.0 };
        let length_ns = (length.ns(unit()) as f64 * part) as u64;
        self.ends.watch(i, now_ns.saturating_add(length_ns));
    }

    /// Returns the time when the next timer ends, in ns.
    #[inline]
    pub(super) fn next_ns(&self) -> Option<u64> {
        self.ends.next_ns()
    }

    /// Returns a client whose timer has ended by `now_ns`, and removes the timer.
    #[inline]
    pub(super) fn next(&mut self, now_ns: u64) -> Option<usize> {
        self.ends.next(now_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the lengths of the timers of `clients` clients, in ms. The first length of each client is not included.
    /// In this test, the clock jumps to the end of each timer.
    fn lengths(text: &str, seed: u64, clients: usize, each: usize) -> Vec<f64> {
        let length = text.parse().unwrap();
        let mut timers = RandomTimers::new(seed, Share::ALL);
        (0..clients).for_each(|i| timers.begin(i, length, 0));
        let (mut begun, mut drawn) = (vec![None; clients], Vec::new());
        while drawn.len() < clients * each {
            let now_ns = timers.next_ns().unwrap();
            let i = timers.next(now_ns).unwrap();
            drawn.extend(begun[i].replace(now_ns).map(|since_ns| (now_ns - since_ns) as f64 / 1e6));
            timers.begin(i, length, now_ns);
        }
        drawn
    }

    /// Asserts that the sample has the distribution `cdf`, by the Kolmogorov-Smirnov test at a level of 1 %.
    fn has_distribution(mut sample: Vec<f64>, cdf: impl Fn(f64) -> f64) {
        sample.sort_by(f64::total_cmp);
        let n = sample.len() as f64;
        let gap = |(k, x): (usize, &f64)| {
            (cdf(*x) - k as f64 / n).abs().max((cdf(*x) - (k as f64 + 1.0) / n).abs())
        };
        let most = sample.iter().enumerate().map(gap).fold(0.0, f64::max);
        assert!(most < 1.63 / n.sqrt(), "D = {most}, n = {n}");
    }

    #[test]
    fn pauses_have_the_given_distribution() {
        for seed in [1, 2] {
            has_distribution(lengths("5ms..50ms", seed, 50, 200), |x| ((x - 5.0) / 45.0).clamp(0.0, 1.0));
            has_distribution(lengths("exponential 20ms", seed, 50, 200), |x| 1.0 - (-x / 20.0).exp());
        }
        assert_eq!(lengths("5ms..50ms", 1, 3, 9), lengths("5ms..50ms", 1, 3, 9));
        assert_ne!(lengths("5ms..50ms", 1, 3, 9), lengths("5ms..50ms", 2, 3, 9));
    }

    #[test]
    fn clients_that_begin_together_do_not_end_together() {
        let mut timers = RandomTimers::new(1, Share::ALL);
        (0..10_000).for_each(|i| timers.begin(i, "30s".parse().unwrap(), 0));
        let ends = std::iter::from_fn(|| timers.next_ns().filter(|now_ns| timers.next(*now_ns).is_some()));
        has_distribution(ends.map(|at_ns| at_ns as f64 / 1e9).collect(), |s| s / 30.0);
        timers.begin(7, "30s".parse().unwrap(), 5);
        timers.begin(7, "30s".parse().unwrap(), 9);
        assert_eq!(timers.next_ns(), Some(30_000_000_005), "a running timer is not restarted");
    }
}
