//! Draws the keys of requests at random. Each set of keys has a [`Distribution`], such as Zipf.
//!
//! Each client has its own random state.

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
    Distribution, KeyForm, KeyNames, Keyset, OperationOrder, Share, Workload,
    compiled::CompiledKeyset,
    growth::{InsertedKey, NewKeys},
    key_form::SetNames,
    same_slot,
    zipf::{YcsbZipf, Zipf, scattered, ycsb_hash},
};

/// The part of the keys that receives 95 % of the draws in YCSB's exponential distribution.
const EXPONENTIAL_PART: f64 = 0.857_142_857_1;
/// The natural logarithm in the mean of YCSB's exponential distribution: -ln(1 - 0.95).
const EXPONENTIAL_LOGARITHM: f64 = 2.995_732_273_553_991;
/// The mean of YCSB's exponential distribution, as a share of all keys. A draw beyond the last key is
/// repeated, and the mean includes such draws.
pub(super) const EXPONENTIAL_MEAN: f64 = EXPONENTIAL_PART / EXPONENTIAL_LOGARITHM;

/// The counters of a set of keys, which all clients share. A new program continues with the counters of the previous
/// program.
#[derive(Debug, Clone, Default)]
pub(super) struct KeyCounters {
    /// The number of keys drawn in sequence so far.
    drawn: Arc<AtomicU64>,
    /// The keys that the load has inserted. Sets with the same keys share this list.
    growth: Arc<NewKeys>,
}

/// Chooses the keys of one set.
#[derive(Debug, Clone)]
pub(super) struct Chooser {
    /// The number of the first key.
    first: u64,
    /// The number of keys before the load inserts new keys, at least 1.
    count: u64,
    /// The distribution of the keys, which are numbered from 0. The median of a normal distribution is relative to the
    /// first key.
    distribution: Distribution,
    /// The ranks of a distribution with an exponent.
    zipf: Zipf,
    /// The ranks of YCSB's distribution.
    ycsb_zipf: YcsbZipf,
    form: KeyForm,
    /// Whether operations insert new keys.
    grows: bool,
    /// Whether all operations of a client's turn use the same key. A turn is one pass through the operations.
    by_turn: bool,
    /// The number of clients, at least 1.
    pub(super) clients: u64,
    /// This process's share of the sequential keys and of the new keys.
    pub(super) share: Share,
    /// The counters that all clients share.
    pub(super) counters: KeyCounters,
}

impl Chooser {
    /// Creates the chooser of a set of keys, for a load with one client and `keyspace` keys. `grows` is true if
    /// operations insert new keys.
    pub(super) fn new(keys: &Keyset, keyspace: u64, grows: bool) -> Self {
        let numbers = keys.numbers(keyspace);
        let count = numbers.end - numbers.start;
        let mut distribution = keys.distribution;
        if let Distribution::Gaussian { median: Some(median), .. } = &mut distribution {
            *median -= numbers.start as f64;
        }
        Self {
            first: numbers.start,
            count,
            distribution,
            zipf: Zipf::new(count, distribution.exponent().unwrap_or(1.0)),
            ycsb_zipf: YcsbZipf::new(),
            form: keys.form(),
            grows,
            by_turn: false,
            clients: 1,
            share: Share::ALL,
            counters: KeyCounters::default(),
        }
    }

    /// Shares the list of new keys with another set that has the same keys.
    pub(super) fn grow_with(&mut self, other: &Self) {
        self.counters.growth = Arc::clone(&other.counters.growth);
    }

    /// Returns the number in the name of the next new key, and a handle. The handle makes the key available to other
    /// requests, after the reply to operation number `operation` of the batch.
    pub(super) fn insert(&self, operation: u32) -> (u64, InsertedKey) {
        let growth = Arc::clone(&self.counters.growth);
        let number = self.share.nth(growth.insert());
        (self.form.named(self.first + self.count + number), InsertedKey { growth, number, operation })
    }

    /// Returns the next key in the slot of the key whose name contains `number`. Keys that the load inserted are not
    /// considered.
    pub(super) fn next_in_slot(&self, number: u64) -> u64 {
        same_slot::next(number, self.first..self.first + self.count)
    }

    /// Returns the number in the name of key number `number`: the same number, or its hash. Numbers after the last key
    /// count as the last key.
    pub(super) fn named(&self, number: u64) -> u64 {
        self.form.named(number.min(self.first + (self.count - 1)))
    }

    /// Draws a key of set number `set`. Returns the number in the key's name.
    #[inline]
    pub(super) fn choose(&self, set: usize, draws: &mut Draws) -> u64 {
        if self.grows || self.by_turn {
            return self.choose_rarely(set, draws);
        }
        let n = self.count;
        let place = if let Distribution::Uniform = self.distribution {
            draws.below(n)
        } else {
            self.place(n, set, draws)
        };
        self.form.named(self.first + place)
    }

    /// Draws a key of a set with new keys. If all operations of a turn share one key, returns this key. Returns the
    /// number in the key's name.
    fn choose_rarely(&self, set: usize, draws: &mut Draws) -> u64 {
        let answered = self.counters.growth.answered();
        let known = draws.place_of_turn.filter(|_| self.by_turn);
        let place = known.unwrap_or_else(|| self.place(self.count + answered, set, draws));
        draws.place_of_turn = Some(place);
        let new = place
            .checked_sub(self.count)
            .map(|nth| self.counters.growth.nth(nth, answered).unwrap_or_else(|| self.share.nth(nth)));
        self.form.named(self.first + new.map_or(place, |number| self.count + number))
    }

    /// Draws the index of a key among `n` keys.
    #[inline(never)]
    fn place(&self, n: u64, set: usize, draws: &mut Draws) -> u64 {
        match self.distribution {
            Distribution::Uniform => draws.below(n),
            Distribution::Sequential => {
                self.share.nth(self.counters.drawn.fetch_add(1, Ordering::Relaxed)) % n
            }
            Distribution::Partitioned => self.in_own_part(n, set, draws),
            Distribution::SequentialByClient => draws.step(set) % n,
            Distribution::Zipfian(_) => scattered(self.zipf.over(n).draw(|| draws.unit()) - 1, n),
            Distribution::ZipfianInOrder(_) => self.zipf.over(n).draw(|| draws.unit()) - 1,
            Distribution::YcsbZipfian => self.ycsb(n, draws),
            Distribution::Latest(_) => n - self.zipf.over(n).draw(|| draws.unit()),
            Distribution::Hotspot { keys, share } => {
                let hot = hot_keys(keys, n);
                if hot == n || draws.unit() < share { draws.below(hot) } else { hot + draws.below(n - hot) }
            }
            Distribution::Exponential => {
                let mean = n as f64 * EXPONENTIAL_MEAN;
                n - 1 - first_below(n, || -draws.unit().ln() * mean)
            }
            Distribution::Gaussian { median, deviation } => {
                let median = median.unwrap_or(n as f64 / 2.0);
                let deviation = deviation.unwrap_or(n as f64 / 6.0);
                first_below(n, || median + deviation * draws.normal())
            }
        }
    }

    /// Draws a key as YCSB does. A hash maps a rank to one of the keys that will exist in the end. If this key does not
    /// exist yet, the draw is repeated. redyno does not know the final number of keys. redyno assumes twice the initial
    /// number. If this is too low, redyno assumes the present number of keys, rounded up to a power of two.
    fn ycsb(&self, n: u64, draws: &mut Draws) -> u64 {
        let all = if self.grows { n.next_power_of_two().max(self.count.saturating_mul(2)) } else { n };
        loop {
            let place = ycsb_hash(self.ycsb_zipf.rank(draws.unit())) % all;
            if place < n {
                return place;
            }
        }
    }

    /// Returns the next key in the client's own part of the keys. If there are fewer keys than clients, several clients
    /// share a part.
    fn in_own_part(&self, n: u64, set: usize, draws: &mut Draws) -> u64 {
        let (parts, client) = (self.clients.min(n), draws.client);
        let part = client % parts;
        let Range { start, end } = part_of(n, parts, part);
        start + draws.step(set) % (end - start)
    }
}

/// Divides `n` into `parts` ranges of nearly equal size, and returns the range number `part`.
pub fn part_of(n: u64, parts: u64, part: u64) -> Range<u64> {
    let begin = |part: u64| (u128::from(n) * u128::from(part) / u128::from(parts)) as u64;
    begin(part)..begin(part + 1)
}

/// Returns the number of keys in a hotspot: `share` of `n` keys, but at least one.
pub(super) fn hot_keys(share: f64, n: u64) -> u64 {
    ((n as f64 * share) as u64).clamp(1, n)
}

/// Draws numbers until a number is at least 0 and below `n`. Returns the first such number, rounded down.
fn first_below(n: u64, mut draw: impl FnMut() -> f64) -> u64 {
    loop {
        let drawn = draw();
        // The cast rounds down. The comparison uses integers, because a float near `n` may be rounded up to `n`.
        if drawn >= 0.0 && (drawn as u64) < n {
            return drawn as u64;
        }
    }
}

impl Workload {
    /// Returns the choosers of all sets of keys, and the names of their keys.
    pub(super) fn sets(&self, keyspace: u64, names: &KeyNames) -> (Vec<Chooser>, Vec<SetNames>) {
        let set = |(keys, &CompiledKeyset { grows, .. }): (&Keyset, &CompiledKeyset)| {
            let prefix = if keys.bare { String::new() } else { [names.prefix(), &keys.prefix].concat() };
            let form = keys.form();
            // A single operation has no turns.
            let by_turn = self.order == OperationOrder::OneKeyInTurn && self.operations.len() > 1;
            (Chooser { by_turn, ..Chooser::new(keys, keyspace, grows) }, SetNames { prefix, form, grows })
        };
        self.keys.values().zip(&self.compiled().keysets).map(set).unzip()
    }
}

/// The random state of a client.
#[derive(Debug, Clone)]
pub struct Draws {
    pub(super) random: Pcg64Mcg,
    /// The number of the client in the run, from 0.
    pub(super) client: u64,
    /// The index of the client's next operation. This field is used only if the client sends its operations
    /// in turn.
    turn: u64,
    /// The index of the key that all operations of the client's current turn share, if this key is drawn at random.
    place_of_turn: Option<u64>,
    /// The cursor in the reply to the client's last SCAN. Each cursor is sent once, so an error makes the SCAN begin
    /// again.
    pub(super) cursor: u64,
    /// For each set of keys, the number of sequential keys that this client has drawn from its own sequence.
    steps: Vec<u64>,
}

impl Draws {
    /// Creates the random state for this seed. Different seeds lead to different requests.
    pub fn new(seed: u64) -> Self {
        let random = Pcg64Mcg::seed_from_u64(seed);
        Self { random, client: 0, turn: 0, place_of_turn: None, cursor: 0, steps: Vec::new() }
    }

    /// Creates the random state of client number `client` of the run, counted from 0, for this seed.
    pub fn of_client(seed: u64, client: u64) -> Self {
        Self { client, ..Self::new(seed) }
    }

    /// Returns whether the client's next operation begins a turn, if the operations are sent in turn.
    pub(super) fn begins_turn(&self) -> bool {
        self.turn == 0
    }

    /// Returns the index of the next operation, if `n` operations are sent in turn.
    pub(super) fn turn(&mut self, n: u64) -> u64 {
        let turn = self.turn;
        if turn == 0 {
            self.place_of_turn = None;
        }
        self.turn = if turn + 1 < n { turn + 1 } else { 0 };
        turn
    }

    /// Stores the cursor in the reply to a SCAN.
    #[cold]
    pub fn take_cursor(&mut self, cursor: u64) {
        self.cursor = cursor;
    }

    /// Returns the index of the next operation. This operation begins a SCAN or continues it, at most `most` times.
    pub(super) fn turn_of_scan(&mut self, most: u64) -> u64 {
        let goes_on = self.cursor != 0 && self.turn < most;
        self.turn = if goes_on { self.turn + 1 } else { 0 };
        u64::from(goes_on)
    }

    /// Counts the calls of this function for set number `set`. Returns the number of earlier calls.
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

    /// Draws a normally distributed number with mean 0 and standard deviation 1 by Marsaglia's polar method.
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

/// Maps a random number to a number below `n` by Lemire's multiplication. The bias is below n/2^64.
#[inline]
pub(super) fn share(random: u64, n: u64) -> u64 {
    ((u128::from(random) * u128::from(n)) >> 64) as u64
}

/// Returns the seed of one client. The seed is computed from the seed of the run and from the client's number among the
/// clients of all workers. Even similar seeds lead to independent random numbers, because the generator mixes the seed.
pub fn client_seed(seed: u64, number: usize) -> u64 {
    seed.wrapping_add((number as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
}
