//! Is a difference between two stretches more than their own noise? A rank test on their seconds.
//!
//! ```text
//!   baseline   · ·· ··· ·· ·                      each dot is a second
//!   other              ·  ·· ··· ·· ·             49 of 50 pairs: higher
//! ```
//! Every second of one is compared with every second of the other. The share of pairs in which the other is the higher,
//! ties counted half, is *A* = U / (m n): the common-language effect of McGraw and Wong (1992), the *A* of Vargha and
//! Delaney, "A critique and improvement of the CL common language effect size statistics of McGraw and Wong", Journal
//! of Educational and Behavioral Statistics 25(2), 2000, who call 0.71 and more a large effect. *U* is that of Mann and
//! Whitney, "On a test of whether one of two random variables is stochastically larger than the other", Annals of
//! Mathematical Statistics 18(1), 1947; its normal approximation with the correction for ties and for continuity says
//! how likely such a share is by chance.
//!
//! A difference counts only if it is both: unlikely by chance, and larger than the spread from second to second.
//! The first alone would call every difference one if the stretches were long enough, the second alone a lucky few
//! seconds. The test takes seconds for independent of each other; a slow drift within a segment makes it too sure, and
//! the second condition is what then holds it back.

/// So many seconds of each are the least: below, no order of them is unlikely enough.
pub const LEAST_SECONDS: usize = 8;
/// A difference that chance brings less often than this is one.
const SIGNIFICANT: f64 = 0.01;
/// The share of pairs from which on the difference is larger than the spread.
const LARGE: f64 = 0.71;

/// What the comparison of a quantity says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is better: more replies, or a shorter latency.
    Faster,
    /// It is worse.
    Slower,
    /// The difference is not more than the spread from second to second.
    Same,
    /// There are too few seconds of one of them.
    TooShort,
}

impl Verdict {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Same => "same within noise",
            Self::TooShort => "too short to tell",
        }
    }
}

/// Which way a quantity is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// More is better: replies per second.
    Higher,
    /// Less is better: latencies.
    Lower,
}

/// A verdict with its evidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// What it says.
    pub verdict: Verdict,
    /// The share of pairs of seconds in which the other is higher than the baseline, 0 to 1; 0.5 is no difference.
    pub higher: f64,
    /// How likely a share as far from 0.5 is by chance, 0 to 1.
    pub p: f64,
    /// How many seconds of the baseline and of the other were compared.
    pub seconds: (usize, usize),
}

/// Compares seconds of `other` with seconds of `baseline`, each in any order.
pub fn compare(baseline: &[f64], other: &[f64], better: Better) -> Comparison {
    let seconds = (baseline.len(), other.len());
    let Ranks { higher, p } = ranks(baseline, other);
    let is_large = higher.max(1.0 - higher) >= LARGE;
    let verdict = match better {
        _ if seconds.0.min(seconds.1) < LEAST_SECONDS => Verdict::TooShort,
        _ if p >= SIGNIFICANT || !is_large => Verdict::Same,
        Better::Higher if higher > 0.5 => Verdict::Faster,
        Better::Lower if higher < 0.5 => Verdict::Faster,
        _ => Verdict::Slower,
    };
    Comparison { verdict, higher, p, seconds }
}

struct Ranks {
    higher: f64,
    p: f64,
}

/// The share of pairs that `other` wins, and how likely that is by chance.
fn ranks<'a>(baseline: &'a [f64], other: &'a [f64]) -> Ranks {
    let (m, n) = (baseline.len() as f64, other.len() as f64);
    if baseline.is_empty() || other.is_empty() {
        return Ranks { higher: 0.5, p: 1.0 };
    }
    let of = |values: &'a [f64], is_other: bool| values.iter().map(move |value| (*value, is_other));
    let mut all: Vec<_> = of(baseline, false).chain(of(other, true)).collect();
    all.sort_unstable_by(|(a, _), (b, _)| a.total_cmp(b));
    let (mut wins, mut ties, mut below) = (0.0, 0.0, 0.0);
    for equal in all.chunk_by(|(a, _), (b, _)| a == b) {
        let theirs = equal.iter().filter(|(_, is_other)| *is_other).count() as f64;
        let ours = equal.len() as f64 - theirs;
        wins += theirs * (below + ours / 2.0);
        below += ours;
        let t = equal.len() as f64;
        ties += t * t * t - t;
    }
    let total = m + n;
    let variance = m * n / 12.0 * (total + 1.0 - ties / (total * (total - 1.0)));
    // Half a pair of continuity: U moves in steps.
    let distance = ((wins - m * n / 2.0).abs() - 0.5).max(0.0);
    let p = if variance > 0.0 { two_sided(distance / variance.sqrt()) } else { 1.0 };
    Ranks { higher: wins / (m * n), p }
}

/// The share of a normal distribution that lies at least `z` from its middle, on either side: `erfc(z / √2)` by
/// Abramowitz and Stegun, Handbook of Mathematical Functions (1964), 7.1.26, right to 1.5e-7.
fn two_sided(z: f64) -> f64 {
    let x = z / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let terms = [1.061_405_429, -1.453_152_027, 1.421_413_741, -0.284_496_736, 0.254_829_592];
    let polynomial = terms.into_iter().fold(0.0, |sum, term| (sum + term) * t);
    (polynomial * (-x * x).exp()).clamp(0.0, 1.0)
}

/// How much more `other` is than `baseline`, as a share of it: 0.1 is ten percent more. `None` without a baseline to
/// be compared with.
pub fn change(baseline: f64, other: f64) -> Option<f64> {
    (baseline > 0.0).then(|| other / baseline - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(middle: f64, n: u32) -> Vec<f64> {
        (0..n).map(|i| middle + f64::from(i * 7 % n) - f64::from(n) / 2.0).collect()
    }

    #[test]
    fn the_statistic_is_that_of_the_textbook() {
        let baseline = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0];
        let other = [6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0];
        let found = compare(&baseline, &other, Better::Higher);
        // Of the hundred pairs ten are lost and five are ties: U = 87.5; ten ranks are shared by five pairs of equals:
        // z = 37 / sqrt(100/12 * (21 - 30/380)) = 2.8022, and erfc(z / sqrt 2) = 0.0050754.
        assert!((found.higher - 0.875).abs() < 1e-12, "{found:?}");
        assert!((found.p - 0.005_075_4).abs() < 1e-6, "{found:?}");
        assert_eq!((found.verdict, found.seconds), (Verdict::Faster, (10, 10)));
        assert_eq!(compare(&other, &baseline, Better::Higher).verdict, Verdict::Slower);
        assert_eq!(compare(&baseline, &other, Better::Lower).verdict, Verdict::Slower);
    }

    #[test]
    fn the_normal_tail_has_its_known_values() {
        for (z, p) in [(0.0, 1.0), (1.0, 0.317_310_5), (1.959_964, 0.05), (3.290_527, 0.001)] {
            assert!((two_sided(z) - p).abs() < 1e-6, "{z}: {}", two_sided(z));
        }
    }

    #[test]
    fn a_shift_within_the_spread_is_noise_however_long_it_was_measured() {
        let verdict = |shift, n| compare(&spread(1000.0, n), &spread(1000.0 + shift, n), Better::Higher);
        assert_eq!(verdict(0.0, 100).verdict, Verdict::Same);
        let small = verdict(15.0, 100);
        assert!(small.p < 0.01 && small.higher < 0.71, "{small:?}");
        assert_eq!(small.verdict, Verdict::Same);
        assert_eq!(verdict(60.0, 100).verdict, Verdict::Faster);
    }

    #[test]
    fn a_few_seconds_tell_nothing_and_neither_do_equal_ones() {
        let short = compare(&[1.0; 7], &[9.0; 50], Better::Higher);
        assert_eq!(short.verdict, Verdict::TooShort);
        assert_eq!(compare(&[], &[], Better::Lower).verdict, Verdict::TooShort);
        let equal = compare(&[5.0; 20], &[5.0; 20], Better::Higher);
        assert_eq!((equal.verdict, equal.higher, equal.p), (Verdict::Same, 0.5, 1.0));
        let eight = compare(&spread(10.0, 8), &spread(100.0, 8), Better::Lower);
        assert_eq!(eight.verdict, Verdict::Slower);
    }

    #[test]
    fn a_change_is_a_share_of_the_baseline() {
        assert_eq!(
            (change(200.0, 250.0), change(200.0, 100.0), change(0.0, 1.0)),
            (Some(0.25), Some(-0.5), None)
        );
    }
}
