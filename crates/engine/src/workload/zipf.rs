//! Zipf's law: rank r, from 1 to n, occurs in proportion to 1/r^exponent.
//!
//! The numbers of keys are scattered, so that the hottest keys do not have adjacent numbers.

/// The number of terms that are summed one by one. A formula computes the sum of the other terms.
const SUMMED: u64 = 1000;

/// Returns ζ(n, exponent), the sum of 1/i^exponent for i from 1 to n, in constant time. The function sums the terms
/// after the first thousand by the Euler-Maclaurin formula, with a relative error below 10^-12.
pub fn zeta(n: u64, exponent: f64) -> f64 {
    let first: f64 = (1..=n.min(SUMMED)).rev().map(|i| (i as f64).powf(-exponent)).sum();
    if n <= SUMMED {
        return first;
    }
    let (k, n) = (SUMMED as f64, n as f64);
    let ends = 0.5 * (n.powf(-exponent) - k.powf(-exponent));
    let slopes = exponent / 12.0 * (k.powf(-exponent - 1.0) - n.powf(-exponent - 1.0));
    first + (integral(n, exponent) - integral(k, exponent)) + ends + slopes
}

/// Returns the integral of x^-exponent from 1 to `x`.
fn integral(x: f64, exponent: f64) -> f64 {
    let logarithm = x.ln();
    logarithm * expm1_over((1.0 - exponent) * logarithm)
}

/// Returns (e^x - 1)/x, and the limit 1 at x = 0.
fn expm1_over(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.exp_m1() / x } else { 1.0 + x / 2.0 }
}

/// Returns ln(1 + x)/x, and the limit 1 at x = 0.
fn ln_1p_over(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.ln_1p() / x } else { 1.0 - x / 2.0 }
}

/// Draws ranks by rejection-inversion (Hörmann and Derflinger, "Rejection-inversion to generate variates from monotone
/// discrete distributions", ACM TOMACS 6 (1996) 169-184). The method works for every exponent above 0 and every n. The
/// method needs no table, and computes one or two powers for each draw.
#[derive(Debug, Clone, Copy)]
pub(super) struct Zipf {
    exponent: f64,
    /// The integral of the frequencies up to 3/2, minus the frequency of rank 1.
    lowest: f64,
    /// The largest difference at which a rank is accepted without a further check. The drawn number is rounded to the
    /// rank. The difference is the rank minus the drawn number.
    near: f64,
    /// The number of ranks.
    ranks: u64,
    /// The integral of the frequencies up to a point half a rank after the last rank.
    highest: f64,
}

impl Zipf {
    /// Creates the distribution of the ranks from 1 to `ranks`.
    pub(super) fn new(ranks: u64, exponent: f64) -> Self {
        let mut zipf = Self { exponent, lowest: 0.0, near: 0.0, ranks, highest: 0.0 };
        zipf.lowest = integral(1.5, exponent) - 1.0;
        zipf.near = 2.0 - zipf.inverse(integral(2.5, exponent) - 2.0_f64.powf(-exponent));
        zipf.highest = integral(ranks as f64 + 0.5, exponent);
        zipf
    }

    /// Returns the distribution with the same exponent for the ranks from 1 to `ranks`.
    #[inline]
    pub(super) fn over(mut self, ranks: u64) -> Self {
        if ranks != self.ranks {
            self.ranks = ranks;
            self.highest = integral(ranks as f64 + 0.5, self.exponent);
        }
        self
    }

    /// Draws a rank. `unit` returns uniform random numbers in [0, 1).
    #[inline]
    pub(super) fn draw(&self, mut unit: impl FnMut() -> f64) -> u64 {
        loop {
            let area = self.highest + unit() * (self.lowest - self.highest);
            let x = self.inverse(area);
            let rank = ((x + 0.5) as u64).clamp(1, self.ranks);
            let k = rank as f64;
            if k - x <= self.near || area >= integral(k + 0.5, self.exponent) - k.powf(-self.exponent) {
                return rank;
            }
        }
    }

    /// Returns the number x at which the integral from 1 to x equals `area`.
    #[inline]
    fn inverse(&self, area: f64) -> f64 {
        // The product is below -1 only because of rounding.
        let t = (area * (1.0 - self.exponent)).max(-1.0);
        (area * ln_1p_over(t)).exp()
    }
}

/// Draws ranks from 0 on, as YCSB's scrambled generator does. The method approximates Zipf's law with the exponent
/// 0.99. The source is Gray and others, "Quickly generating billion-record synthetic databases", SIGMOD 1994.
#[derive(Debug, Clone, Copy)]
pub(super) struct YcsbZipf {
    alpha: f64,
    eta: f64,
}

impl YcsbZipf {
    /// ζ(10^10, 0.99), as in YCSB's code.
    pub(super) const ZETA: f64 = 26.469_028_201_783_02;
    /// The number of ranks, which is one more than YCSB's constant.
    const RANKS: f64 = 10_000_000_001.0;
    pub(super) const EXPONENT: f64 = 0.99;

    pub(super) fn new() -> Self {
        let eta = (1.0 - (2.0 / Self::RANKS).powf(1.0 - Self::EXPONENT))
            / (1.0 - zeta(2, Self::EXPONENT) / Self::ZETA);
        Self { alpha: 1.0 / (1.0 - Self::EXPONENT), eta }
    }

    /// Returns the rank for a uniform random number in [0, 1).
    #[inline]
    pub(super) fn rank(self, unit: f64) -> u64 {
        let uz = unit * Self::ZETA;
        if uz < 1.0 {
            return 0;
        }
        if uz < 1.0 + 0.5_f64.powf(Self::EXPONENT) {
            return 1;
        }
        (Self::RANKS * (self.eta * unit - self.eta + 1.0).powf(self.alpha)) as u64
    }
}

/// An odd number with well mixed bits: 2^64 divided by the golden ratio.
const MIX: u64 = 0x9E37_79B9_7F4A_7C15;
const ROUNDS: [u64; 4] =
    [0x243F_6A88_85A3_08D3, 0x1319_8A2E_0370_7344, 0xA409_3822_299F_31D0, 0x082E_FA98_EC4E_6C89];

/// Maps the number `from` to a number below `n` by a permutation. The permutation is the same in every run.
///
/// The permutation is a Feistel network of four rounds over the next power of two. A result of `n` or more is mapped
/// again. On average, this happens less than once. While `n` grows up to the next power of two, few results change.
#[inline]
pub(super) fn scattered(from: u64, n: u64) -> u64 {
    let bits = u64::BITS - n.saturating_sub(1).leading_zeros();
    let low_bits = bits / 2;
    let low = (1 << low_bits) - 1;
    let high = (1_u64 << (bits - low_bits)) - 1;
    let mut number = from;
    loop {
        let (mut left, mut right) = (number >> low_bits, number & low);
        for keys in ROUNDS.chunks_exact(2) {
            left ^= mixed(right, keys[0]) & high;
            right ^= mixed(left, keys[1]) & low;
        }
        number = left << low_bits | right;
        if number < n {
            return number;
        }
    }
}

#[inline]
fn mixed(number: u64, key: u64) -> u64 {
    ((number ^ key).wrapping_mul(MIX)) >> 32
}

/// Returns YCSB's hash of a number. The hash is the absolute value of the 64-bit FNV hash of the number's eight bytes,
/// lowest byte first.
#[inline]
pub(super) fn ycsb_hash(number: u64) -> u64 {
    let hash = number.to_le_bytes().into_iter().fold(0xCBF2_9CE4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(1_099_511_628_211)
    });
    hash.cast_signed().unsigned_abs()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::workload::Draws;

    #[test]
    fn zeta_is_equal_to_the_summed_terms() {
        for exponent in [0.3, 0.99, 1.0, 1.2, 3.0] {
            for n in [1, 2, 999, 1000, 1001, 50_000] {
                let summed: f64 = (1..=n).rev().map(|i| (i as f64).powf(-exponent)).sum();
                let error = (zeta(n, exponent) / summed - 1.0).abs();
                assert!(error < 1e-12, "{exponent} {n}: {error}");
            }
        }
        assert!((zeta(10_000_000_000, 0.99) / YcsbZipf::ZETA - 1.0).abs() < 1e-9);
    }

    #[test]
    fn the_hottest_keys_have_the_shares_of_the_closed_form() {
        let shares = [(1000, 12.94), (100_000, 7.83), (1_000_000, 6.50), (10_000_000, 5.54)];
        for (n, percent) in shares {
            assert!((100.0 / zeta(n, 0.99) - percent).abs() < 0.005, "{n}: {}", 1.0 / zeta(n, 0.99));
        }
    }

    /// Compares the frequency of each of the first ranks with its expected share.
    #[test]
    fn ranks_have_their_frequency_at_every_exponent_and_after_growing() {
        const N: u32 = 200_000;
        for exponent in [0.2, 0.99, 1.0, 1.000_000_01, 1.5, 4.0] {
            for ranks in [1, 2, 7, 1000, 1_000_000_000] {
                let (zipf, mut draws) = (Zipf::new(3, exponent).over(ranks), Draws::new(ranks));
                let mut counts = [0_u32; 6];
                for _ in 0..N {
                    let rank = zipf.draw(|| draws.unit());
                    assert!((1..=ranks).contains(&rank));
                    counts[(rank as usize - 1).min(5)] += 1;
                }
                let share = |rank: u64| (rank as f64).powf(-exponent) / zeta(ranks, exponent);
                for (rank, count) in (1..=ranks.min(5)).zip(counts) {
                    let expected = share(rank) * f64::from(N);
                    let sigma = (expected * (1.0 - share(rank))).sqrt().max(1.0);
                    let off = (f64::from(count) - expected) / sigma;
                    assert!(
                        off.abs() < 5.0,
                        "{exponent} over {ranks}: rank {rank} came {count}, {expected:.1} expected"
                    );
                }
            }
        }
    }

    #[test]
    fn scattering_is_a_permutation() {
        for n in [1, 2, 3, 4, 5, 7, 8, 9, 100, 1000, 1023, 1024, 1025, 65_537] {
            let mut places: Vec<_> = (0..n).map(|from| scattered(from, n)).collect();
            places.sort_unstable();
            assert!(places.into_iter().eq(0..n), "{n}");
        }
    }

    #[test]
    fn adjacent_numbers_are_scattered() {
        let places: Vec<_> = (0..1000).map(|from| scattered(from, 1_000_000)).collect();
        let near = places.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) < 1000).count();
        assert!(near < 10, "{near} of 1000 stayed near");
        for tenth in 0..10 {
            let n = places.iter().filter(|place| **place / 100_000 == tenth).count();
            assert!((60..140).contains(&n), "{n} of 1000 in tenth {tenth}");
        }
    }

    #[test]
    fn a_growing_set_moves_few_numbers() {
        let moved = (0..600).filter(|from| scattered(*from, 600) != scattered(*from, 610)).count();
        assert!(moved < 30, "{moved}");
    }

    /// The expected hashes come from Utils.fnvhash64 in Java.
    #[test]
    fn the_hash_is_the_same_as_in_ycsb() {
        assert_eq!([0, 1, 2].map(ycsb_hash), [6284781860667377211, 8517097267634966620, 1820151046732198393]);
    }

    proptest! {
        #[test]
        fn a_number_stays_below_n(n in 1..=u64::MAX >> 1, from in any::<u64>()) {
            prop_assert!(scattered(from % n, n) < n);
        }
    }
}
