//! Chooses keys of a set: a [`Distribution`] over a number of keys, prepared when a program is compiled.
//!
//! The random state of a client.

#[cfg(test)]
mod tests;

use std::{
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::{
    Distribution, KeyForm, KeyNames, Keyset, Workload,
    compiled::CompiledKeyset,
    growth::{Growth, Inserted},
    key_form::SetNames,
    zipf::{YcsbZipf, Zipf, scattered, ycsb_hash},
};

/// YCSB's exponential distribution has 95 % of the draws in this part of the keys.
const EXPONENTIAL_PART: f64 = 0.857_142_857_1;
/// -ln(1 - 0.95)
const EXPONENTIAL_LOGARITHM: f64 = 2.995_732_273_553_991;
/// The mean of that distribution as a part of the keys, before it is cut at their end.
pub(super) const EXPONENTIAL_MEAN: f64 = EXPONENTIAL_PART / EXPONENTIAL_LOGARITHM;

/// The clients' common progress through a set. A new program continues from the previous one.
#[derive(Debug, Clone, Default)]
pub(super) struct Counters {
    /// The number of keys drawn in sequence.
    drawn: Arc<AtomicU64>,
    /// New keys; one growth for all sets of the same keys.
    growth: Arc<Growth>,
}

/// Chooses keys of a set.
#[derive(Debug, Clone)]
pub(super) struct Chooser {
    /// The lowest number.
    first: u64,
    /// The number of keys before any is inserted, at least 1.
    count: u64,
    how: How,
    form: KeyForm,
    /// Whether operations insert new ones.
    grows: bool,
    /// The number of clients, at least 1.
    pub(super) clients: u64,
    /// The clients' common counters.
    pub(super) counters: Counters,
}

/// A distribution with precomputed values.
#[derive(Debug, Clone, Copy)]
enum How {
    Uniform,
    Sequential,
    Partitioned,
    SequentialByClient,
    Zipfian(Zipf),
    ZipfianInOrder(Zipf),
    YcsbZipfian(YcsbZipf),
    Latest(Zipf),
    Hotspot { keys: f64, share: f64 },
    Exponential,
    Gaussian { median: Option<f64>, deviation: Option<f64> },
}

impl Chooser {
    /// Creates the chooser for a set of keys, if the knob is `keyspace`, for one client; `grows` is whether operations
    /// insert new keys.
    pub(super) fn new(keys: &Keyset, keyspace: u64, grows: bool) -> Self {
        let numbers = keys.numbers(keyspace);
        let count = numbers.end - numbers.start;
        let zipf = |exponent| Zipf::new(count, exponent);
        let how = match keys.distribution {
            Distribution::Uniform => How::Uniform,
            Distribution::Sequential => How::Sequential,
            Distribution::Partitioned => How::Partitioned,
            Distribution::SequentialByClient => How::SequentialByClient,
            Distribution::Zipfian(exponent) => How::Zipfian(zipf(exponent)),
            Distribution::ZipfianInOrder(exponent) => How::ZipfianInOrder(zipf(exponent)),
            Distribution::YcsbZipfian => How::YcsbZipfian(YcsbZipf::new()),
            Distribution::Latest(exponent) => How::Latest(zipf(exponent)),
            Distribution::Hotspot { keys, share } => How::Hotspot { keys, share },
            Distribution::Exponential => How::Exponential,
            Distribution::Gaussian { median, deviation } => {
                let median = median.map(|median| median - numbers.start as f64);
                How::Gaussian { median, deviation }
            }
        };
        Self {
            first: numbers.start,
            count,
            how,
            form: keys.form(),
            grows,
            clients: 1,
            counters: Counters::default(),
        }
    }

    /// Shares growth with another set of the same keys.
    pub(super) fn grow_with(&mut self, other: &Self) {
        self.counters.growth = Arc::clone(&other.counters.growth);
    }

    /// Returns the number of the next new key, as in its name, and the handle that makes it available for drawing when
    /// the operation at this place of its batch is answered.
    pub(super) fn insert(&self, operation: u32) -> (u64, Inserted) {
        let growth = Arc::clone(&self.counters.growth);
        let number = growth.insert();
        (self.form.named(self.first + self.count + number), Inserted { growth, number, operation })
    }

    /// Returns the number of a drawn key, as in its name.
    pub(super) fn named(&self, number: u64) -> u64 {
        self.form.named(number)
    }

    /// Returns the number of the next key, as in its name, for the set with the number `set`.
    #[inline]
    pub(super) fn choose(&self, set: usize, draws: &mut Draws) -> u64 {
        if self.grows {
            return self.choose_grown(set, draws);
        }
        let n = self.count;
        let place = if let How::Uniform = self.how { draws.below(n) } else { self.place(n, set, draws) };
        self.form.named(self.first + place)
    }

    /// Returns the number of the next key, if there are new keys.
    fn choose_grown(&self, set: usize, draws: &mut Draws) -> u64 {
        let answered = self.counters.growth.answered();
        let place = self.place(self.count + answered, set, draws);
        let new = place.checked_sub(self.count).map(|nth| self.counters.growth.nth(nth, answered));
        self.form.named(self.first + new.map_or(place, |number| self.count + number))
    }

    /// Returns the place of the next key among `n`.
    #[inline(never)]
    fn place(&self, n: u64, set: usize, draws: &mut Draws) -> u64 {
        match self.how {
            How::Uniform => draws.below(n),
            How::Sequential => self.counters.drawn.fetch_add(1, Ordering::Relaxed) % n,
            How::Partitioned => self.in_own_part(n, set, draws),
            How::SequentialByClient => draws.step(set) % n,
            How::Zipfian(zipf) => scattered(zipf.over(n).draw(|| draws.unit()) - 1, n),
            How::ZipfianInOrder(zipf) => zipf.over(n).draw(|| draws.unit()) - 1,
            How::YcsbZipfian(zipf) => self.ycsb(zipf, n, draws),
            How::Latest(zipf) => n - zipf.over(n).draw(|| draws.unit()),
            How::Hotspot { keys, share } => {
                let hot = hot_keys(keys, n);
                if hot == n || draws.unit() < share { draws.below(hot) } else { hot + draws.below(n - hot) }
            }
            How::Exponential => {
                let mean = n as f64 * EXPONENTIAL_MEAN;
                n - 1 - first_below(n, || -draws.unit().ln() * mean)
            }
            How::Gaussian { median, deviation } => {
                let median = median.unwrap_or(n as f64 / 2.0);
                let deviation = deviation.unwrap_or(n as f64 / 6.0);
                first_below(n, || median + deviation * draws.normal())
            }
        }
    }

    /// Draws like YCSB, which hashes onto the final number of keys, and draws again if a key does not exist yet. The
    /// final number is unknown here: at first twice the present number, and doubled whenever it is reached.
    fn ycsb(&self, zipf: YcsbZipf, n: u64, draws: &mut Draws) -> u64 {
        let all = if self.grows { n.next_power_of_two().max(self.count.saturating_mul(2)) } else { n };
        loop {
            let place = ycsb_hash(zipf.rank(draws.unit())) % all;
            if place < n {
                return place;
            }
        }
    }

    /// Returns the next key in this client's part; if there are fewer keys than clients, some share one.
    fn in_own_part(&self, n: u64, set: usize, draws: &mut Draws) -> u64 {
        let (parts, client) = (self.clients.min(n), draws.client());
        let part = client % parts;
        let Range { start, end } = part_of(n, parts, part);
        start + draws.step(set) % (end - start)
    }
}

/// Returns this part of `n`, divided as evenly as possible.
pub fn part_of(n: u64, parts: u64, part: u64) -> Range<u64> {
    let begin = |part: u64| (u128::from(n) * u128::from(part) / u128::from(parts)) as u64;
    begin(part)..begin(part + 1)
}

/// Returns the number of keys in a hotspot of this share, of `n` keys, at least one.
pub(super) fn hot_keys(share: f64, n: u64) -> u64 {
    ((n as f64 * share) as u64).clamp(1, n)
}

/// Returns the first number within 0 to `n`, rounded down.
fn first_below(n: u64, mut draw: impl FnMut() -> f64) -> u64 {
    loop {
        let drawn = draw();
        // Not below 0; rounding of a float must not exceed the range either.
        if drawn >= 0.0 && (drawn as u64) < n {
            return drawn as u64;
        }
    }
}

impl Workload {
    /// Returns the sets of keys with their choosers and names.
    pub(super) fn sets(&self, keyspace: u64, names: &KeyNames) -> (Vec<Chooser>, Vec<SetNames>) {
        let set = |(keys, &CompiledKeyset { grows, .. }): (&Keyset, &CompiledKeyset)| {
            let prefix = if keys.bare { String::new() } else { [names.prefix(), &keys.prefix].concat() };
            let form = keys.form();
            (Chooser::new(keys, keyspace, grows), SetNames { prefix, form, grows })
        };
        self.keys.values().zip(&self.compiled().keysets).map(set).unzip()
    }
}

/// The random state of a client.
#[derive(Debug, Clone)]
pub struct Draws {
    pub(super) random: Pcg64Mcg,
    /// The number of the client in the run, from 0.
    client: u64,
    /// How many operations were sent in turn.
    turn: u64,
    /// The client's progress in its parts of partitioned sets.
    steps: Vec<u64>,
}

impl Draws {
    /// Creates the stream with this seed. Different streams never give the same requests.
    pub fn new(seed: u64) -> Self {
        Self { random: Pcg64Mcg::seed_from_u64(seed), client: 0, turn: 0, steps: Vec::new() }
    }

    /// Creates the stream with this seed, for the client `client` of the run, from 0.
    pub fn of_client(seed: u64, client: u64) -> Self {
        Self { client, ..Self::new(seed) }
    }

    /// Returns the number of the client in the run, from 0.
    pub(super) fn client(&self) -> u64 {
        self.client
    }

    /// Returns the place of the next operation among `n` that come in turn.
    pub(super) fn turn(&mut self, n: u64) -> u64 {
        let turn = self.turn;
        self.turn = if turn + 1 < n { turn + 1 } else { 0 };
        turn
    }

    /// Returns how often this was called for the set with the number `set`.
    pub(super) fn step(&mut self, set: usize) -> u64 {
        if self.steps.len() <= set {
            self.steps.resize(set + 1, 0);
        }
        self.steps[set] += 1;
        self.steps[set] - 1
    }

    /// Draws a uniform number in [0, 1).
    #[inline]
    pub(super) fn unit(&mut self) -> f64 {
        (self.random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Draws a normally distributed number with mean 0 and deviation 1, by Marsaglia's polar method.
    pub(super) fn normal(&mut self) -> f64 {
        loop {
            let (x, y) = (2.0 * self.unit() - 1.0, 2.0 * self.unit() - 1.0);
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                return x * (-2.0 * square.ln() / square).sqrt();
            }
        }
    }

    /// Draws a uniform number below `n`.
    #[inline]
    pub(super) fn below(&mut self, n: u64) -> u64 {
        share(self.random.next_u64(), n)
    }
}

/// Maps a random number to a number below `n`, by Lemire's multiplication: its upper bits decide, and the bias is below
/// n/2^64.
#[inline]
pub(super) fn share(random: u64, n: u64) -> u64 {
    ((u128::from(random) * u128::from(n)) >> 64) as u64
}

/// Returns the seed of the client `number` over all workers of a run with the seed `seed`. Similar seeds give
/// independent streams: the generator mixes the seed.
pub fn client_seed(seed: u64, number: usize) -> u64 {
    seed.wrapping_add((number as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
}
