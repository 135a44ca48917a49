//! Zipf's law: ranks 1 to n, of which each comes as often as 1/rank^exponent.

/// The sum of the terms that are added one by one; what follows is summed in one step.
const SUMMED: u64 = 1000;

/// ζ(n, exponent), the sum of 1/i^exponent for i from 1 to n, in constant time: beyond the first thousand terms by the formula
/// of Euler and Maclaurin, whose relative error is below 10^-12 there.
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

/// ∫ x^-exponent from 1 to `x`.
fn integral(x: f64, exponent: f64) -> f64 {
    let logarithm = x.ln();
    logarithm * expm1_over((1.0 - exponent) * logarithm)
}

/// (e^x - 1)/x, and its limit at 0.
fn expm1_over(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.exp_m1() / x } else { 1.0 + x / 2.0 }
}

/// ln(1 + x)/x, and its limit at 0.
fn ln_1p_over(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.ln_1p() / x } else { 1.0 - x / 2.0 }
}

/// Draws ranks by rejection-inversion: W. Hörmann and G. Derflinger, "Rejection-inversion to generate variates from monotone
/// discrete distributions", ACM TOMACS 6 (1996) 169-184. No table, and a power or two a draw, for every exponent above 0 and
/// every n.
#[derive(Debug, Clone, Copy)]
pub(super) struct Zipf {
    exponent: f64,
    /// The integral up to 3/2, less the term of rank 1.
    lowest: f64,
    /// A rank that is rounded up by no more than this is taken at once.
    near: f64,
    /// How many ranks, and the integral up to half a rank beyond them.
    ranks: u64,
    highest: f64,
}

impl Zipf {
    /// Over the ranks 1 to `ranks`.
    pub(super) fn new(ranks: u64, exponent: f64) -> Self {
        let mut zipf = Self { exponent, lowest: 0.0, near: 0.0, ranks, highest: 0.0 };
        zipf.lowest = integral(1.5, exponent) - 1.0;
        zipf.near = 2.0 - zipf.inverse(integral(2.5, exponent) - 2.0_f64.powf(-exponent));
        zipf.highest = integral(ranks as f64 + 0.5, exponent);
        zipf
    }

    /// The same law over the ranks 1 to `ranks`.
    #[inline]
    pub(super) fn over(mut self, ranks: u64) -> Self {
        if ranks != self.ranks {
            self.ranks = ranks;
            self.highest = integral(ranks as f64 + 0.5, self.exponent);
        }
        self
    }

    /// Draws a rank from numbers of `unit` that are uniform in [0, 1).
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

    /// The x up to which the integral is `area`.
    #[inline]
    fn inverse(&self, area: f64) -> f64 {
        // Below -1 only by rounding.
        let t = (area * (1.0 - self.exponent)).max(-1.0);
        (area * ln_1p_over(t)).exp()
    }
}

/// YCSB's approximation of Zipf's law at 0.99 over the ranks from 0 on, which its scrambled generator draws from: J. Gray and
/// others, "Quickly generating billion-record synthetic databases", SIGMOD 1994.
#[derive(Debug, Clone, Copy)]
pub(super) struct YcsbZipf {
    alpha: f64,
    eta: f64,
}

impl YcsbZipf {
    /// ζ(10^10, 0.99), as it stands there.
    pub(super) const ZETA: f64 = 26.469_028_201_783_02;
    /// One more than its constant says.
    const RANKS: f64 = 10_000_000_001.0;
    pub(super) const EXPONENT: f64 = 0.99;

    pub(super) fn new() -> Self {
        let eta = (1.0 - (2.0 / Self::RANKS).powf(1.0 - Self::EXPONENT))
            / (1.0 - zeta(2, Self::EXPONENT) / Self::ZETA);
        Self { alpha: 1.0 / (1.0 - Self::EXPONENT), eta }
    }

    /// The rank that belongs to a number in [0, 1).
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Draws;

    #[test]
    fn the_sum_in_constant_time_is_the_sum() {
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

    /// How often each of the first ranks comes, against its share of all draws.
    #[test]
    fn ranks_come_as_often_as_the_law_says_at_every_exponent_and_after_growing() {
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
}
