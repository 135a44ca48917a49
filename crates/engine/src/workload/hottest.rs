//! Computes the share of all requests that the hottest keys get, from the key distribution.

use std::{f64::consts, ops::Range};

use super::{
    Distribution,
    chooser::{EXPONENTIAL_MEAN, hot_keys},
    zeta,
    zipf::YcsbZipf,
};

/// The number of keys is divided by this number. redyno reports the share of the hottest hundredth of the keys.
const HOTTEST: u64 = 100;

/// The shares of the hottest keys in all draws, from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HottestShares {
    /// The share of the draws that the hottest key gets.
    pub key: f64,
    /// The share of the draws that the hottest hundredth of the keys gets.
    pub hundredth: f64,
    /// The number of keys in the hottest hundredth, at least one.
    pub keys: u64,
}

impl Distribution {
    /// Returns the shares of the hottest keys in the draws, for a set of keys with these numbers. The set must have at
    /// least one key.
    pub fn hottest(self, numbers: &Range<u64>) -> HottestShares {
        let keys = ((numbers.end - numbers.start) / HOTTEST).max(1);
        let share = |of| self.share_of_hottest(of, numbers);
        HottestShares { key: share(1), hundredth: share(keys), keys }
    }

    /// Returns the share of the draws that the `m` hottest keys get.
    fn share_of_hottest(self, m: u64, numbers: &Range<u64>) -> f64 {
        let n = numbers.end - numbers.start;
        let part = m as f64 / n as f64;
        match self {
            Self::Uniform | Self::Sequential | Self::Partitioned | Self::SequentialByClient => part,
            Self::Zipfian(exponent) | Self::ZipfianInOrder(exponent) | Self::Latest(exponent) => {
                zeta(m, exponent) / zeta(n, exponent)
            }
            // The ranks after the `m` hottest ranks are spread equally over all keys.
            Self::YcsbZipfian => {
                let hottest = zeta(m, YcsbZipf::EXPONENT) / YcsbZipf::ZETA;
                hottest + (1.0 - hottest) * part
            }
            Self::Hotspot { keys, share } => hotspot(hot_keys(keys, n), share, m, n),
            Self::Exponential => {
                let below = |part: f64| -(-part / EXPONENTIAL_MEAN).exp_m1();
                below(part) / below(1.0)
            }
            Self::Gaussian { median, deviation } => {
                let median = median.map(|median| median - numbers.start as f64);
                bell(median, deviation, m as f64, n as f64)
            }
        }
    }
}

/// Returns the share of the draws that the `m` hottest of `n` keys get. The hotspot has `hot` keys and gets `share` of
/// the requests.
fn hotspot(hot: u64, share: f64, m: u64, n: u64) -> f64 {
    let share = if hot < n { share } else { 1.0 };
    let (hot, n, m) = (hot as f64, n as f64, m as f64);
    let density = |(keys, share): (f64, f64)| if keys > 0.0 { share / keys } else { 0.0 };
    let (spot, rest) = ((hot, share), (n - hot, 1.0 - share));
    // If a key of the hotspot is drawn less often than a key outside, the keys outside are the hottest.
    let (hotter, colder) = if density(spot) >= density(rest) { (spot, rest) } else { (rest, spot) };
    m.min(hotter.0) * density(hotter) + (m - hotter.0).max(0.0) * density(colder)
}

/// Returns the share of the draws that the `m` keys at the peak of a Gaussian curve get. The keys have the numbers 0 to
/// `n`.
fn bell(median: Option<f64>, deviation: Option<f64>, m: f64, n: f64) -> f64 {
    let (median, deviation) = (median.unwrap_or(n / 2.0), deviation.unwrap_or(n / 6.0));
    let below = |x: f64| erf((x - median) / (deviation * consts::SQRT_2));
    let from = (median - m / 2.0).floor();
    // A key covers the range between two consecutive whole numbers.
    let share = |from: f64| below(from + m) - below(from);
    let best = [from, from + 1.0].map(|from| share(from.clamp(0.0, n - m)));
    best[0].max(best[1]) / (below(n) - below(0.0))
}

/// Returns the error function. The function uses formula 7.1.26 of Abramowitz and Stegun, Handbook of Mathematical
/// Functions (1964). This formula is accurate to 1.5e-7. This accuracy is not enough near 0, so the function uses the
/// first terms of the series 7.1.5 there.
fn erf(x: f64) -> f64 {
    if x.abs() < 0.1 {
        let square = x * x;
        let series = 1.0 - square / 3.0 + square * square / 10.0 - square * square * square / 42.0;
        return consts::FRAC_2_SQRT_PI * x * series;
    }
    let t = 1.0 / (1.0 + 0.327_591_1 * x.abs());
    let terms = [1.061_405_429, -1.453_152_027, 1.421_413_741, -0.284_496_736, 0.254_829_592];
    let sum = terms.into_iter().fold(0.0, |sum, term| sum * t + term) * t;
    (1.0 - sum * (-x * x).exp()).copysign(x)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::workload::{
        Draws, Keyset,
        chooser::Chooser,
        zipf::{scattered, ycsb_hash},
    };

    const FIRST: u64 = 7;

    /// Returns the measured share of the draws that the keys in `hottest` get, among `n` keys.
    fn drawn(distribution: Distribution, n: u64, hottest: &BTreeSet<u64>) -> f64 {
        const DRAWS: u32 = 200_000;
        let keys = Keyset { first: FIRST, count: Some(n), distribution, ..Keyset::default() };
        let (chooser, mut draws) = (Chooser::new(&keys, 0, false), Draws::new(5));
        let hits = (0..DRAWS).filter(|_| hottest.contains(&(chooser.choose(0, &mut draws) - FIRST))).count();
        hits as f64 / f64::from(DRAWS)
    }

    #[test]
    fn the_closed_forms_agree_with_the_draws() {
        const N: u64 = 1000;
        type Hot = fn(u64) -> u64;
        type Case<'a> = (&'a str, &'a dyn Fn(u64) -> u64, f64);
        let lowest: Hot = |rank| rank;
        let highest: Hot = |rank| N - 1 - rank;
        // The keys around a key, ordered by their distance from the key.
        let around: fn(u64, u64) -> u64 =
            |top, rank| if rank % 2 == 0 { top + rank / 2 } else { top - 1 - rank / 2 };
        let cases: [Case; 14] = [
            ("uniform", &lowest, 0.0),
            ("sequential", &lowest, 0.0),
            ("zipfian", &|rank| scattered(rank, N), 0.0),
            ("zipfian 1.4", &|rank| scattered(rank, N), 0.0),
            ("zipfian-in-order 0.5", &lowest, 0.0),
            ("latest", &highest, 0.0),
            // Other ranks are hashed to the hottest keys at random.
            ("ycsb-zipfian", &|rank| ycsb_hash(rank) % N, 0.1),
            ("hotspot", &lowest, 0.0),
            ("hotspot 0.9 0.1", &highest, 0.0),
            ("hotspot 0.005 0.5", &lowest, 0.0),
            ("exponential", &highest, 0.0),
            ("gaussian", &|rank| around(500, rank), 0.0),
            ("gaussian 307 3", &|rank| around(300, rank), 0.0),
            ("gaussian 307.5 0.2", &|rank| around(300, rank), 0.0),
        ];
        for (text, hot, tolerance) in cases {
            let distribution: Distribution = text.parse().unwrap();
            let hottest = distribution.hottest(&(FIRST..FIRST + N));
            assert_eq!(hottest.keys, 10);
            for (m, share) in [(1, hottest.key), (10, hottest.hundredth)] {
                let drawn = drawn(distribution, N, &(0..m).map(hot).collect());
                let sigma = (share * (1.0 - share) / 200_000.0).sqrt();
                let within = 5.0 * sigma + tolerance * share + 1e-6;
                assert!(
                    (drawn - share).abs() <= within,
                    "{text}, {m} of {N}: {drawn} drawn, {share} reported"
                );
            }
        }
    }

    #[test]
    fn a_single_key_gets_all_draws() {
        let all = "uniform partitioned zipfian latest ycsb-zipfian hotspot exponential gaussian";
        for name in all.split(' ') {
            let hottest = name.parse::<Distribution>().unwrap().hottest(&(3..4));
            assert!((hottest.key - 1.0).abs() < 1e-6 && hottest.keys == 1, "{name}: {hottest:?}");
        }
    }

    #[test]
    fn the_error_function_agrees_with_the_tables() {
        for (x, erf_of_x) in [
            (0.0, 0.0),
            (0.05, 0.056_371_978),
            (0.099_999, 0.112_461_799),
            (0.100_001, 0.112_464_033),
            (0.5, 0.520_499_878),
            (1.0, 0.842_700_793),
            (3.0, 0.999_977_91),
        ] {
            assert!((erf(x) - erf_of_x).abs() < 2e-7, "{x}: {}", erf(x));
            assert!((erf(-x) + erf_of_x).abs() < 2e-7, "-{x}");
        }
    }
}
