//! Draws the times of requests with Poisson arrivals (random gaps). redyno can skip any number of requests in
//! a few steps.
//!
//! ```text
//!  block                                 the number of its requests is drawn
//!  ├───────────────┬───────────────┤     halves: the number in the first half is drawn
//!  ├───────┬───────┤                     and so on, until an interval has few requests:
//!  ● ●●  ●   ●                           each request gets a random time in the interval
//! ```
//! Within an interval of time, the requests of a Poisson process are uniformly and independently distributed. redyno
//! therefore first draws only the number of requests in an interval. redyno draws the times of these requests only when
//! the time of the interval comes. Each interval has its own random numbers, which depend only on the seed. Skipped
//! requests therefore do not change the times of later requests. This module does no I/O and reads no clock.

use std::f64::consts::TAU;

use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// The mean number of requests in a block. At the highest rate, a block lasts a quarter of a second. The number of
/// blocks therefore stays low.
const BLOCK: f64 = (1_u64 << 30) as f64;

/// An interval with at most this many requests is not divided again. Instead, each request of the interval
/// gets its own time.
const FEW: u64 = 64;

/// In an interval with at least this many requests, the normal distribution is used to draw the number of requests in
/// the first half. The normal distribution differs from the exact distribution by less than 0.01 %.
const MANY: u64 = 4096;

/// The times of one Poisson process, in ns after its start.
#[derive(Debug, Clone)]
pub(super) struct Poisson {
    block_ns: f64,
    seed: u64,
    /// How many blocks have begun so far.
    blocks: u64,
    /// The remaining intervals of the current block. The earliest interval is the last element.
    ahead: Vec<PoissonInterval>,
    /// The remaining times in the current interval, in ns. The earliest time is the last element.
    near_ns: Vec<f64>,
}

/// An interval of time, and the number of requests in it.
#[derive(Debug, Clone)]
struct PoissonInterval {
    from_ns: f64,
    length_ns: f64,
    requests: u64,
    seed: u64,
}

impl Poisson {
    /// Creates a process with gaps of `mean_ns` on average.
    pub(super) fn new(mean_ns: f64, seed: u64) -> Self {
        Self { block_ns: BLOCK * mean_ns, seed, blocks: 0, ahead: Vec::new(), near_ns: Vec::new() }
    }

    /// Returns the time of the next request, in ns.
    #[inline]
    pub(super) fn next_ns(&mut self) -> f64 {
        loop {
            if let Some(next_ns) = self.near_ns.pop() {
                return next_ns;
            }
            self.pass(0.0);
        }
    }

    /// Skips all requests before `until_ns`. Returns the number of skipped requests.
    pub(super) fn pass(&mut self, until_ns: f64) -> u64 {
        let mut passed = 0;
        loop {
            while self.near_ns.pop_if(|ns| *ns < until_ns).is_some() {
                passed += 1;
            }
            if !self.near_ns.is_empty() {
                return passed;
            }
            let stretch = self.ahead.pop().unwrap_or_else(|| self.next_block());
            if stretch.from_ns + stretch.length_ns <= until_ns {
                passed += stretch.requests;
            } else if stretch.requests > FEW {
                let [first, second] = stretch.halves();
                self.ahead.extend([second, first]);
            } else {
                stretch.place(&mut self.near_ns);
            }
        }
    }

    fn next_block(&mut self) -> PoissonInterval {
        let mut random = Pcg64Mcg::seed_from_u64(self.seed.wrapping_add(self.blocks));
        let from_ns = self.blocks as f64 * self.block_ns;
        self.blocks += 1;
        let requests = normal(BLOCK, BLOCK.sqrt(), &mut random);
        PoissonInterval { from_ns, length_ns: self.block_ns, requests, seed: random.next_u64() }
    }
}

impl PoissonInterval {
    fn halves(&self) -> [Self; 2] {
        let mut random = Pcg64Mcg::seed_from_u64(self.seed);
        let first = heads(self.requests, &mut random);
        let length_ns = self.length_ns / 2.0;
        [(self.from_ns, first), (self.from_ns + length_ns, self.requests - first)]
            .map(|(from_ns, requests)| Self { from_ns, length_ns, requests, seed: random.next_u64() })
    }

    /// Draws the times of all requests in the interval. Appends the times to `near_ns`, the latest first. The function
    /// adds up exponentially distributed gaps and scales the sums to the length of the interval. The sums are uniformly
    /// distributed and in order (Devroye, Non-Uniform Random Variate Generation, V.2).
    fn place(&self, near_ns: &mut Vec<f64>) {
        let mut random = Pcg64Mcg::seed_from_u64(self.seed);
        // The inverse of the exponential distribution function; 1 - u is never 0.
        let mut gap = || -(1.0 - random.random::<f64>()).ln();
        let mut sum = gap();
        near_ns.extend((0..self.requests).map(|_| {
            let before = sum;
            sum += gap();
            before
        }));
        let scale = if sum > 0.0 { self.length_ns / sum } else { 0.0 };
        near_ns.iter_mut().for_each(|ns| *ns = self.from_ns + *ns * scale);
        near_ns.reverse();
    }
}

/// Draws the number of heads in `n` coin tosses.
fn heads(n: u64, random: &mut Pcg64Mcg) -> u64 {
    if n >= MANY {
        return normal(n as f64 / 2.0, (n as f64).sqrt() / 2.0, random).min(n);
    }
    let whole: u64 = (0..n / 64).map(|_| u64::from(random.next_u64().count_ones())).sum();
    let rest = random.next_u64() & ((1 << (n % 64)) - 1);
    whole + u64::from(rest.count_ones())
}

/// Draws a number from the normal distribution by the Box-Muller method, and rounds it to a whole number.
fn normal(mean: f64, deviation: f64, random: &mut Pcg64Mcg) -> u64 {
    // 1 - u is never 0.
    let radius = (-2.0 * (1.0 - random.random::<f64>()).ln()).sqrt();
    (mean + deviation * radius * (TAU * random.random::<f64>()).cos()).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SECOND_NS;

    const HIGHEST_MEAN_NS: f64 = SECOND_NS as f64 / u32::MAX as f64;

    #[test]
    fn skipping_many_requests_at_once_equals_skipping_them_one_by_one() {
        for until_ns in [0.5, 1e3, 7.3e4, 1e6] {
            let (mut walker, mut jumper) = (Poisson::new(10.0, 3), Poisson::new(10.0, 3));
            let jumped = jumper.pass(until_ns);
            let mut walked = 0;
            let next_ns = loop {
                match walker.next_ns() {
                    ns if ns < until_ns => walked += 1,
                    ns => break ns,
                }
            };
            assert_eq!((jumped, jumper.next_ns()), (walked, next_ns), "until {until_ns} ns");
            assert!((walked as f64 - until_ns / 10.0).abs() < 5.0 * (until_ns / 10.0).sqrt() + 5.0);
        }
    }

    #[test]
    fn many_small_skips_count_the_same_as_one_large_skip() {
        let (mut often, mut once) = (Poisson::new(HIGHEST_MEAN_NS, 3), Poisson::new(HIGHEST_MEAN_NS, 3));
        let passed: u64 = (1..=10_000).map(|n| often.pass(f64::from(n) * 1e5)).sum();
        assert_eq!(passed, once.pass(1e9));
        // The variance of a Poisson number is its mean.
        let sigmas = (passed as f64 - f64::from(u32::MAX)) / f64::from(u32::MAX).sqrt();
        assert!(sigmas.abs() < 4.0, "{passed}: {sigmas}");
    }

    /// In intervals of equal length, the numbers of requests have a variance close to their mean. This also holds near
    /// the borders of blocks and halves.
    #[test]
    fn the_numbers_in_equal_intervals_have_the_poisson_distribution() {
        for (per_stretch, from_block) in [(3.0, 0.0), (50.0, 1.0), (1000.0, 1.0)] {
            let mut process = Poisson::new(1.0, 11);
            let start_ns = (from_block * BLOCK - 5000.0 * per_stretch).max(0.0);
            process.pass(start_ns);
            let counts: Vec<f64> =
                (1..=10_000).map(|n| process.pass(start_ns + per_stretch * f64::from(n)) as f64).collect();
            let mean = counts.iter().sum::<f64>() / 1e4;
            let variance = counts.iter().map(|n| (n - mean).powi(2)).sum::<f64>() / 1e4;
            assert!((mean / per_stretch - 1.0).abs() < 0.04, "mean {mean} of {per_stretch}");
            assert!((variance / mean - 1.0).abs() < 0.06, "variance {variance} of {mean}");
        }
    }
}
