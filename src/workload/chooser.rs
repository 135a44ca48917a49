//! Which key of a set is drawn: a [`Distribution`] over so many numbers, made ready when a program is compiled.

use std::{
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use super::{
    Distribution, Draws, KeyForm, Keyspace,
    scatter::{scattered, ycsb_hash},
    zipf::{YcsbZipf, Zipf},
};

/// What YCSB's exponential distribution is made of: 95 % of the draws in this part of the keys.
const EXPONENTIAL_PART: f64 = 0.857_142_857_1;
/// -ln(1 - 0.95)
const EXPONENTIAL_LOGARITHM: f64 = 2.995_732_273_553_991;
/// Its mean as a part of the keys, before it is cut at their end.
pub(super) const EXPONENTIAL_MEAN: f64 = EXPONENTIAL_PART / EXPONENTIAL_LOGARITHM;

/// How far the clients have got through a set together. A program goes on with those of the one before.
#[derive(Debug, Clone, Default)]
pub(super) struct Counters {
    /// Keys that were drawn one after the other.
    drawn: Arc<AtomicU64>,
    /// New keys; one number for all sets that are the same keys.
    inserted: Arc<AtomicU64>,
}

/// Draws keys of a set.
#[derive(Debug, Clone)]
pub(super) struct Chooser {
    /// The lowest number.
    first: u64,
    /// How many there are before any is inserted, at least 1.
    count: u64,
    how: How,
    form: KeyForm,
    /// How many new ones an operation has at the most.
    inserts: u64,
    /// New ones that may not be acknowledged yet.
    unsettled: u64,
    /// How many clients draw.
    clients: u64,
    counters: Counters,
}

/// A distribution with what need not be computed for each draw.
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
    /// Of a set of keys, where the knob says `keyspace`, for one client; an operation has up to so many new ones.
    pub(super) fn new(keys: &Keyspace, keyspace: u64, inserts: u64) -> Self {
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
            inserts,
            unsettled: inserts,
            clients: 1,
            counters: Counters::default(),
        }
    }

    /// What the clients count together.
    pub(super) fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Goes on from there.
    pub(super) fn go_on_from(&mut self, counters: Counters) {
        self.counters = counters;
    }

    /// Grows with another set, which is the same keys.
    pub(super) fn grow_with(&mut self, other: &Self) {
        self.counters.inserted = Arc::clone(&other.counters.inserted);
    }

    /// Draws for so many clients, at least 1, with so many operations of each in flight.
    pub(super) fn share_among(&mut self, clients: u64, pipeline: u64) {
        self.clients = clients;
        self.unsettled = self.inserts * clients * pipeline;
    }

    /// The number of the next new key, as it is named. It is drawn like any other once as many were inserted after it as all
    /// clients together have in flight: a read seldom comes before the reply to its insert then.
    pub(super) fn insert(&self) -> u64 {
        let inserted = self.counters.inserted.fetch_add(1, Ordering::Relaxed);
        self.form.named(self.first + self.count + inserted)
    }

    /// A key of the set by its number, as it is named.
    pub(super) fn named(&self, number: u64) -> u64 {
        self.form.named(number)
    }

    /// How many keys there are to be drawn.
    fn settled(&self) -> u64 {
        self.count + self.counters.inserted.load(Ordering::Relaxed).saturating_sub(self.unsettled)
    }

    /// The number of the next key as it is named, of the set with the number `set`.
    #[inline]
    pub(super) fn choose(&self, set: usize, draws: &mut Draws) -> u64 {
        let n = if self.inserts == 0 { self.count } else { self.settled() };
        let place = if let How::Uniform = self.how { draws.below(n) } else { self.place(n, set, draws) };
        self.form.named(self.first + place)
    }

    /// The place of the next key among `n`.
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

    /// YCSB hashes onto the keys that there will be in the end, and draws again what is not there yet. How many these will be
    /// is not known here: at first twice as many as there are, and twice as many again when those are there.
    fn ycsb(&self, zipf: YcsbZipf, n: u64, draws: &mut Draws) -> u64 {
        let all = if self.inserts == 0 { n } else { n.next_power_of_two().max(self.count.saturating_mul(2)) };
        loop {
            let place = ycsb_hash(zipf.rank(draws.unit())) % all;
            if place < n {
                return place;
            }
        }
    }

    /// The next in the part of this client; where there are fewer keys than clients, some share one.
    fn in_own_part(&self, n: u64, set: usize, draws: &mut Draws) -> u64 {
        let (parts, client) = (self.clients.min(n), draws.client());
        let part = client % parts;
        let Range { start, end } = part_of(n, parts, part);
        start + draws.step(set) % (end - start)
    }
}

/// Which of `n` are the part with this number of so many parts, as even as they come.
pub fn part_of(n: u64, parts: u64, part: u64) -> Range<u64> {
    let begin = |part: u64| (u128::from(n) * u128::from(part) / u128::from(parts)) as u64;
    begin(part)..begin(part + 1)
}

/// How many of `n` keys, of which there is one at least, a hotspot has that is this share of them.
pub(super) fn hot_keys(share: f64, n: u64) -> u64 {
    ((n as f64 * share) as u64).clamp(1, n)
}

/// The first that lies in 0 to `n`, rounded down.
fn first_below(n: u64, mut draw: impl FnMut() -> f64) -> u64 {
    loop {
        let drawn = draw();
        // Not below 0, and not above for being rounded to the next number that a float has.
        if drawn >= 0.0 && (drawn as u64) < n {
            return drawn as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, HashMap};

    use proptest::prelude::*;

    use super::*;
    use crate::workload::zeta;

    fn chooser(distribution: &str, first: u64, count: u64) -> Chooser {
        let distribution = distribution.parse().unwrap();
        let keys = Keyspace { first, count: Some(count), distribution, ..Keyspace::default() };
        Chooser::new(&keys, 0, 0)
    }

    /// How often each key came of so many draws.
    fn counts(chooser: &Chooser, draws: u32) -> HashMap<u64, u32> {
        let (mut counts, mut stream) = (HashMap::new(), Draws::new(11));
        (0..draws).for_each(|_| *counts.entry(chooser.choose(0, &mut stream)).or_default() += 1);
        counts
    }

    /// Whether `count` of `n` is the share that was expected, within five standard deviations.
    fn is_share(count: u32, n: u32, expected: f64) -> bool {
        let sigma = (expected * (1.0 - expected) / f64::from(n)).sqrt();
        (f64::from(count) / f64::from(n) - expected).abs() < 5.0 * sigma
    }

    #[test]
    fn the_hottest_key_is_drawn_as_often_as_the_closed_form_says() {
        const N: u32 = 200_000;
        for n in [1000, 100_000, 1_000_000] {
            for name in ["zipfian", "zipfian-in-order", "latest"] {
                let counts = counts(&chooser(name, 7, n), N);
                let (hottest, count) = counts.into_iter().max_by_key(|(_, count)| *count).unwrap();
                assert!(is_share(count, N, 1.0 / zeta(n, 0.99)), "{name} over {n}: {count}");
                match name {
                    "zipfian-in-order" => assert_eq!(hottest, 7),
                    "latest" => assert_eq!(hottest, 7 + n - 1),
                    _ => assert_eq!(hottest, 7 + scattered(0, n)),
                }
            }
            let counts = counts(&chooser("ycsb-zipfian", 0, n), N);
            // Beside the hottest rank, those that fall on the same key as they may.
            let expected = 1.0 / YcsbZipf::ZETA;
            let of_hottest = counts[&(ycsb_hash(0) % n)];
            assert!(is_share(of_hottest, N, expected + (1.0 - expected) / n as f64), "{n}: {of_hottest}");
        }
    }

    /// What the formulas of YCSB's ZipfianGenerator(0, 10^10, 0.99, ZETAN) make of these uniform numbers, and its scrambled
    /// generator of that over 1000 keys; computed apart from this code.
    #[test]
    fn ycsbs_generator_draws_what_ycsb_draws() {
        let zipf = YcsbZipf::new();
        for (unit, rank, key) in [
            (0.0, 0, 211),
            (0.03, 0, 211),
            (0.05, 1, 620),
            (0.06, 2, 393),
            (0.1, 6, 587),
            (0.25, 296, 614),
            (0.5, 134_552, 260),
            (0.75, 42_924_421, 439),
            (0.9, 1_170_869_537, 670),
        ] {
            assert_eq!((zipf.rank(unit), ycsb_hash(zipf.rank(unit)) % 1000), (rank, key), "{unit}");
        }
    }

    #[test]
    fn sequential_and_scattered_reach_every_key() {
        let walk = chooser("sequential", 5, 100);
        let mut clients = [Draws::new(1), Draws::of_client(2, 1)];
        for round in 0..3 {
            let keys: Vec<_> = (0..100).map(|n| walk.choose(0, &mut clients[n % 2])).collect();
            assert!(keys.into_iter().eq(5..105), "round {round}");
        }
        for name in ["zipfian", "ycsb-zipfian", "uniform", "latest", "exponential", "hotspot", "gaussian"] {
            assert_eq!(counts(&chooser(name, 5, 50), 50_000).len(), 50, "{name}");
        }
    }

    #[test]
    fn the_parts_of_clients_do_not_overlap_and_are_the_whole() {
        for (clients, keys) in [(1, 10), (3, 10), (10, 10), (7, 1000)] {
            let mut parted = chooser("partitioned", 3, keys);
            parted.share_among(clients, 1);
            let mut all = BTreeSet::new();
            for client in 0..clients {
                let mut draws = Draws::of_client(9, client);
                let longest = keys.div_ceil(clients) as usize;
                let part: Vec<_> = (0..longest).map(|_| parted.choose(2, &mut draws)).collect();
                let own: BTreeSet<_> = part.iter().copied().collect();
                assert!(part.is_sorted() || own.len() < longest, "{part:?}");
                assert!(all.is_disjoint(&own), "{clients} clients over {keys}");
                all.extend(own);
            }
            assert!(all.into_iter().eq(3..3 + keys), "{clients} clients over {keys}");
        }
        let mut crowded = chooser("partitioned", 0, 2);
        crowded.share_among(5, 1);
        let of_client = |client| crowded.choose(0, &mut Draws::of_client(1, client));
        assert_eq!([0, 1, 2, 3, 4].map(of_client), [0, 1, 0, 1, 0]);
    }

    #[test]
    fn each_client_goes_through_all_by_itself() {
        let walk = chooser("sequential-by-client", 5, 3);
        let mut clients = [Draws::of_client(1, 0), Draws::of_client(1, 1)];
        let keys: Vec<_> = (0..8).map(|n| walk.choose(1, &mut clients[usize::from(n > 3)])).collect();
        assert_eq!(keys, [5, 6, 7, 5, 5, 6, 7, 5]);
    }

    #[test]
    fn a_hotspot_has_its_share() {
        const N: u32 = 100_000;
        for (text, below, share) in
            [("hotspot", 200, 0.8), ("hotspot 0.1 0.5", 100, 0.5), ("hotspot 0 1", 1, 1.0)]
        {
            let counts = counts(&chooser(text, 0, 1000), N);
            let hot = counts.iter().filter(|(key, _)| **key < below).map(|(_, count)| count).sum();
            assert!(share == 1.0 && hot == N || is_share(hot, N, share), "{text}: {hot}");
        }
        assert_eq!(counts(&chooser("hotspot 1 0", 0, 10), 1000).len(), 10);
    }

    #[test]
    fn a_bell_has_its_median_and_its_deviation() {
        const N: u32 = 100_000;
        // Cut at three deviations, a bell is a little narrower.
        for (text, median, deviation) in
            [("gaussian", 50_000.0, 0.9866 * 100_000.0 / 6.0), ("gaussian 20000 1000", 20_000.0, 1000.0)]
        {
            let counts = counts(&chooser(text, 0, 100_000), N);
            let sum = |of: &dyn Fn(f64) -> f64| {
                counts.iter().map(|(key, count)| of(*key as f64 + 0.5) * f64::from(*count)).sum::<f64>()
                    / f64::from(N)
            };
            let mean = sum(&|key| key);
            let found = sum(&|key| (key - mean).powi(2)).sqrt();
            assert!((mean - median).abs() < 5.0 * deviation / f64::from(N).sqrt(), "{text}: {mean}");
            assert!((found / deviation - 1.0).abs() < 0.015, "{text}: {found}");
        }
    }

    #[test]
    fn an_exponential_distribution_has_its_share_in_the_newest() {
        const N: u32 = 100_000;
        let counts = counts(&chooser("exponential", 0, 7000), N);
        let newest = counts.iter().filter(|(key, _)| **key >= 1000).map(|(_, count)| count).sum();
        // 95 % of all draws, of which those beyond the oldest are drawn again.
        let expected = 0.95 / (1.0 - 0.05_f64.powf(7.0 / 6.0));
        assert!(is_share(newest, N, expected), "{newest}");
    }

    #[test]
    fn new_keys_are_drawn_when_as_many_came_after_them_as_are_in_flight() {
        let keys = |distribution: &str| Keyspace {
            first: 100,
            count: Some(10),
            distribution: distribution.parse().unwrap(),
            ..Keyspace::default()
        };
        let mut latest = Chooser::new(&keys("latest"), 0, 1);
        latest.share_among(2, 4);
        let newest = |chooser: &Chooser| counts(chooser, 1000).into_keys().max().unwrap();
        assert_eq!((latest.insert(), newest(&latest)), (110, 109));
        assert_eq!((0..100).fold(0, |_, _| latest.insert()), 210);
        assert_eq!(newest(&latest), 210 - 8);
        let hottest = counts(&latest, 1000).into_iter().max_by_key(|(_, count)| *count).unwrap();
        assert_eq!(hottest.0, newest(&latest));
        for name in ["uniform", "zipfian", "ycsb-zipfian", "sequential", "hotspot", "exponential", "gaussian"]
        {
            let mut grown = Chooser::new(&keys(name), 0, 1);
            grown.go_on_from(latest.counters().clone());
            grown.share_among(2, 4);
            let counts = counts(&grown, 5000);
            assert!(counts.keys().all(|key| (100..203).contains(key)), "{name}");
            assert!(counts.keys().any(|key| *key >= 150), "{name} draws none of those that are new");
        }
    }

    #[test]
    fn hashed_keys_are_named_by_their_hashes() {
        let keys = Keyspace { hashed: true, distribution: Distribution::Sequential, ..Keyspace::default() };
        let chooser = Chooser::new(&keys, 2, 1);
        let mut draws = Draws::new(1);
        assert_eq!([chooser.choose(0, &mut draws), chooser.choose(0, &mut draws)], [0, 1].map(ycsb_hash));
        assert_eq!(chooser.insert(), ycsb_hash(2));
    }

    proptest! {
        #[test]
        fn every_draw_lies_in_the_set(
            name in prop::sample::select(vec![
                "uniform", "sequential", "partitioned", "sequential-by-client", "zipfian 0.3", "zipfian", "zipfian 1", "zipfian 10",
                "zipfian-in-order 2", "ycsb-zipfian", "latest", "latest 1.5", "hotspot", "hotspot 0 0", "hotspot 1 1",
                "exponential", "gaussian",
            ]),
            first in 0..=u64::MAX / 2,
            count in prop::sample::select(vec![1, 2, 3, 10, 1000, 999_999_999_999, u64::MAX / 2]),
            clients in 1..1000_u64,
            seed in any::<u64>(),
        ) {
            let mut chooser = chooser(name, first, count);
            chooser.share_among(clients, 1);
            let mut draws = Draws::of_client(seed, seed % clients);
            for _ in 0..100 {
                let drawn = chooser.choose(0, &mut draws);
                prop_assert!((first..first + count).contains(&drawn), "{name}: {drawn}");
            }
        }
    }
}
