//! Compares two settings that were measured in alternation. Computes the difference, and the confidence interval of the
//! difference.
//!
//! A pair consists of one period of each setting, one right after the other. The difference of a pair is the difference
//! between the logarithms of its two values. The module computes the mean of every two of these differences. The
//! estimate is the median of all these means (Hodges and Lehmann, Annals of Mathematical Statistics 34, 1963). The ends
//! of the confidence interval are two of the means, chosen by the distribution of the signed-rank sum (Tukey; Hollander
//! and Wolfe, "Nonparametric Statistical Methods", second edition, 1999, 3.2 to 3.4). A single stall in one of the
//! pairs does not decide the result. The method assumes only that the noise is symmetric. The order of the settings
//! alternates, so a drift changes its sign from pair to pair.

use super::comparison::{Better, CLOSE, Comparison, SMALLEST};

/// The probability that the confidence interval misses the true difference, as long as more pairs may follow. This
/// probability is small because there are many interim results, and each interim result may end the test.
const INTERIM: f64 = 0.005;
/// The probability that the confidence interval misses the true difference after the last pair. With both
/// probabilities, equal settings are reported as different in at most 5 of 100 runs. The tests verify this.
const LAST: f64 = 0.025;

/// Compares two settings by the differences of logarithms of all pairs. `is_last` is true if no more pairs follow. The
/// sides count as the same if the interval excludes differences above 2 % or, after the last pair, differences above 5
/// %.
pub fn compare(differences: &[f64], better: Better, is_last: bool) -> Comparison {
    let (outside, close) = if is_last { (LAST, CLOSE) } else { (INTERIM, SMALLEST) };
    match shift(differences, outside) {
        Some((estimate, interval)) => Comparison::of(estimate, interval, better, close),
        None => Comparison::NOTHING,
    }
}

/// Returns the estimate and its interval, or `None` without pairs. The interval misses the true difference with
/// probability `outside`. The interval is `None` if there are too few pairs for this probability.
fn shift(differences: &[f64], outside: f64) -> Option<(f64, Option<(f64, f64)>)> {
    let mut means: Vec<_> = differences
        .iter()
        .enumerate()
        .flat_map(|(i, one)| differences[i..].iter().map(move |other| f64::midpoint(*one, *other)))
        .collect();
    means.sort_by(f64::total_cmp);
    let count = means.len();
    let last = count.checked_sub(1)?;
    let estimate = f64::midpoint(means[last / 2], means[count / 2]);
    Some((estimate, means_outside(differences.len(), outside).map(|n| (means[n], means[last - n]))))
}

/// Returns how many of the ordered means lie outside the confidence interval on each side. The interval misses the true
/// difference with a probability of at most `outside`. Returns `None` if even the widest interval misses the true
/// difference more often.
fn means_outside(pairs: usize, outside: f64) -> Option<usize> {
    // For each sum, the share of the 2^n sign patterns whose positive ranks have this sum.
    let mut ways = vec![1.0];
    for rank in 1..=pairs {
        let mut with = vec![0.0; ways.len() + rank];
        for (sum, way) in ways.iter().enumerate() {
            with[sum] += way / 2.0;
            with[sum + rank] += way / 2.0;
        }
        ways = with;
    }
    let mut below = 0.0;
    let is_inside = |way: &f64| {
        below += way;
        below <= outside / 2.0
    };
    ways.iter().map(is_inside).take_while(|inside| *inside).count().checked_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{Reason, Verdict};

    const NOISE: Verdict = Verdict::NotClear(Reason::Noise);

    /// An earlier version reported "3.8 % more (0.0 to 9)" as a clear difference.
    #[test]
    fn an_interval_that_touches_zero_is_no_difference() {
        let judged = |low, high| {
            Comparison::of(f64::midpoint(low, high), Some((low, high)), Better::Higher, CLOSE).verdict
        };
        assert_eq!((judged(0.000_1, 0.09), judged(-0.09, -0.000_4)), (NOISE, NOISE));
        assert_eq!((judged(0.001, 0.09), judged(-0.09, -0.001)), (Verdict::Better, Verdict::Worse));
    }

    #[test]
    fn the_intervals_agree_with_published_tables() {
        // Hollander and Wolfe, table A.4: the number of means outside the interval on each side, for a
        // confidence of at most 95 %.
        for (pairs, out) in [(6, 0), (7, 2), (8, 3), (9, 5), (10, 8), (15, 25), (20, 52)] {
            assert_eq!(means_outside(pairs, 0.05), Some(out), "{pairs}");
        }
        assert_eq!((means_outside(5, 0.05), means_outside(8, INTERIM)), (None, None));
        assert!(means_outside(9, INTERIM).is_some());
    }

    #[test]
    fn the_estimate_is_the_median_of_all_pairwise_means() {
        // 1, 1.5, 2, 5, 5.5, 9
        assert_eq!(shift(&[1.0, 2.0, 9.0], LAST), Some((3.5, None)));
        assert_eq!(shift(&[], LAST), None);
        assert_eq!(shift(&[0.5], LAST), Some((0.5, None)));
    }

    fn judged(differences: &[f64], better: Better, is_last: bool) -> Verdict {
        compare(differences, better, is_last).verdict
    }

    fn is_same(verdict: Verdict) -> bool {
        matches!(verdict, Verdict::Same { .. })
    }

    fn about(level: f64, spread: f64, pairs: usize) -> Vec<f64> {
        (0..pairs).map(|n| level + spread * [1.0, -0.5, -1.0, 0.5][n % 4]).collect()
    }

    #[test]
    fn one_stall_decides_nothing() {
        let mut pairs = about(0.0, 0.01, 20);
        pairs[5] = -3.0;
        assert!(is_same(judged(&pairs, Better::Higher, false)));
        pairs.iter_mut().for_each(|pair| *pair += 0.1_f64.ln_1p());
        assert_eq!(judged(&pairs, Better::Higher, false), Verdict::Better);
        assert_eq!(judged(&pairs, Better::Lower, false), Verdict::Worse);
    }

    #[test]
    fn small_or_uncertain_differences_are_not_called_better_or_worse() {
        assert!(is_same(judged(&about(0.012, 0.002, 12), Better::Higher, false)));
        assert_eq!(judged(&about(0.0, 0.04, 12), Better::Higher, false), NOISE);
        assert!(is_same(judged(&about(0.0, 0.04, 12), Better::Higher, true)), "within 5 %");
        assert_eq!(judged(&about(0.05, 0.4, 12), Better::Higher, true), NOISE);
        assert_eq!(judged(&[0.5; 3], Better::Higher, true), Verdict::NotClear(Reason::TooFew));
        assert_eq!(judged(&[], Better::Higher, true), Verdict::NotClear(Reason::TooLittle));
    }
}
