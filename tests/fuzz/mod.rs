//! Fuzzers: what is read from others is made up by dice, and must end in an answer or in a typed error. Without panics,
//! hangs and memory without bound.
//!
//! The suite throws [`ROUNDS`] each time with the same dice. For longer, with others, by number or by time:
//! `REDYNO_FUZZ_ROUNDS=5000000 REDYNO_FUZZ_SEED=7 cargo test --release --test suite fuzz::`, or `REDYNO_FUZZ_SECONDS=1200`. Each
//! then prints how many inputs it tried.

mod command_lines;
mod heap;
mod markers;
mod pushes;
mod record_keys;
mod recordings;
mod replies;
mod server_requests;
mod shown;
mod traces;
mod truncated;
mod written;

use std::{
    env,
    io::Write as _,
    time::{Duration, Instant},
};

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// How many cases a fuzzer tries in the suite.
const ROUNDS: u64 = 5_000;

/// How many cases a fuzzer tries now.
pub fn rounds() -> u64 {
    number("REDYNO_FUZZ_ROUNDS").unwrap_or(ROUNDS)
}

/// The numbers of a fuzzer's cases: one in so many of all [`rounds`], for cases that take longer, and one at the least.
pub fn cases(fuzzer: &'static str, one_in: u64) -> Cases {
    let until = number("REDYNO_FUZZ_SECONDS").map(|s| Instant::now() + Duration::from_secs(s));
    let end = until.map_or((rounds() / one_in).max(1), |_| u64::MAX);
    Cases { fuzzer, next: 0, end, until, inputs: 0 }
}

/// Counts the inputs of a fuzzer, and prints how many there were where it ran for long.
pub struct Cases {
    fuzzer: &'static str,
    next: u64,
    end: u64,
    /// Ends it where it runs by time.
    until: Option<Instant>,
    inputs: u64,
}

impl Cases {
    /// So many inputs of the last case, which counts as one of them.
    pub fn held(&mut self, inputs: u64) {
        self.inputs += inputs.saturating_sub(1);
    }
}

impl Iterator for Cases {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let is_over = self.next >= self.end || self.until.is_some_and(|until| Instant::now() >= until);
        let case = (!is_over).then_some(self.next)?;
        self.next += 1;
        self.inputs += 1;
        Some(case)
    }
}

impl Drop for Cases {
    fn drop(&mut self) {
        if self.until.is_some() || number("REDYNO_FUZZ_ROUNDS").is_some() {
            // Past the harness, which keeps what a test prints that passes.
            let _ = writeln!(std::io::stderr(), "fuzz: {}: {} inputs", self.fuzzer, self.inputs);
        }
    }
}

fn number(variable: &str) -> Option<u64> {
    env::var(variable).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{variable}={text}")))
}

/// Throws for one case: the same number and seed, the same case.
pub struct Dice(Pcg64Mcg);

impl Dice {
    /// For case `round`.
    pub fn new(round: u64) -> Self {
        let seed = number("REDYNO_FUZZ_SEED").unwrap_or(1);
        Self(Pcg64Mcg::seed_from_u64(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(round)))
    }

    /// 0 up to and without `n`.
    pub fn below(&mut self, n: usize) -> usize {
        self.0.random_range(0..n)
    }

    /// True once in `n` throws.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// One of them.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// Any bytes, `n` at the most.
    pub fn bytes(&mut self, n: usize) -> Vec<u8> {
        (0..self.below(n + 1)).map(|_| self.0.random()).collect()
    }

    /// Does some harm to `bytes`: flips, drops, doubles, cuts off.
    pub fn damage(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.below(3) {
            let Some(last) = bytes.len().checked_sub(1) else { return };
            let at = self.below(last + 1);
            match self.below(5) {
                0 => bytes[at] ^= 1 << self.below(8),
                1 => drop(bytes.remove(at)),
                2 => bytes.truncate(at),
                3 => drop(bytes.splice(at..at, self.bytes(4))),
                _ => {
                    let part = bytes[at..last.min(at + 8)].to_vec();
                    drop(bytes.splice(at..at, part));
                }
            }
        }
    }

    /// Where to cut `length` bytes into pieces, in order.
    pub fn cuts(&mut self, length: usize) -> Vec<usize> {
        let mut cuts: Vec<_> = (0..self.below(6)).map(|_| self.below(length + 1)).collect();
        cuts.sort_unstable();
        cuts.push(length);
        cuts
    }
}
