//! What a client's requests are drawn from.

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// What one client's requests are drawn from.
#[derive(Debug, Clone)]
pub struct Draws {
    pub(super) random: Pcg64Mcg,
    /// Which client of the run it is, from 0.
    client: u64,
    /// How many operations came in turn.
    turn: u64,
    /// How far it is in its parts of the sets of keys that are parted among the clients.
    steps: Vec<u64>,
}

impl Draws {
    /// The stream of this seed. Two streams never ask the same.
    pub fn new(seed: u64) -> Self {
        Self { random: Pcg64Mcg::seed_from_u64(seed), client: 0, turn: 0, steps: Vec::new() }
    }

    /// The stream of this seed, of the client with the number `client` in the run, from 0.
    pub fn of_client(seed: u64, client: u64) -> Self {
        Self { client, ..Self::new(seed) }
    }

    /// Which client of the run it is, from 0.
    pub(super) fn client(&self) -> u64 {
        self.client
    }

    /// The place of the next operation among `n` that come in turn.
    pub(super) fn turn(&mut self, n: u64) -> u64 {
        let turn = self.turn;
        self.turn = if turn + 1 < n { turn + 1 } else { 0 };
        turn
    }

    /// How often it was asked this of the set with the number `set`.
    pub(super) fn step(&mut self, set: usize) -> u64 {
        if self.steps.len() <= set {
            self.steps.resize(set + 1, 0);
        }
        self.steps[set] += 1;
        self.steps[set] - 1
    }

    /// A uniform number in [0, 1).
    #[inline]
    pub(super) fn unit(&mut self) -> f64 {
        (self.random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A number of the normal distribution around 0 with the deviation 1, by Marsaglia's polar method.
    pub(super) fn normal(&mut self) -> f64 {
        loop {
            let (x, y) = (2.0 * self.unit() - 1.0, 2.0 * self.unit() - 1.0);
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                return x * (-2.0 * square.ln() / square).sqrt();
            }
        }
    }

    /// A uniform number below `n`.
    #[inline]
    pub(super) fn below(&mut self, n: u64) -> u64 {
        share(self.random.next_u64(), n)
    }
}

/// The number below `n` that a random number stands for, by Lemire's multiplication: its upper bits decide, and the bias is
/// below n/2^64.
#[inline]
pub(super) fn share(random: u64, n: u64) -> u64 {
    ((u128::from(random) * u128::from(n)) >> 64) as u64
}

/// The seed of the client with the number `number` over all workers of a run with the seed `seed`. Neighbours share no stream: the generator
/// mixes the seed.
pub fn client_seed(seed: u64, number: usize) -> u64 {
    seed.wrapping_add((number as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
}
