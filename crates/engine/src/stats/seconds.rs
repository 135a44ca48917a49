//! Compares two series of measured seconds. The result says whether chance and a drift of the machine can
//! explain the difference between the series.
//!
//! ```text
//!   baseline   ·· · ·· ·                  each dot is a second
//!   other                  · ·· · ··      faster: by 3 to 7 %
//! ```
//! The difference between the series is the difference between their means. Replies per second are averaged directly.
//! Latencies are averaged by their logarithms, so that one stall does not decide the result. The module `drift`
//! computes the confidence interval of the difference. This interval takes into account that seconds depend on each
//! other, and that the machine may drift. The confidence level is 97.5 %.
//! Both series may rise or fall with the same slope. This slope may explain so much of the difference that the rest is
//! unclear or has the opposite sign. If the slope explains so much, the verdict names drift as the reason.
//!
//! A difference counts if it is at least 2 % and its interval excludes zero. Two series of the same run are reported as
//! different in fewer than 5 of 100 pairs, even if their seconds depend on each other. The tests verify that the share
//! of such reports stays below this limit. If noise alone does not explain the difference but a drift may explain it,
//! the verdict mentions this. If drift may explain the difference, more seconds do not help. Measuring the two settings
//! in alternation helps.

use super::{
    comparison::{Better, CLOSE, Comparison, Reason, SMALLEST, TOUCHES, Verdict},
    drift::{BLOCKS, Blocks, Uncertainty, explained_by_slope},
};

/// The probability that the confidence interval misses the true difference.
const OUTSIDE: f64 = 0.025;

/// A series of consecutive values.
#[derive(Debug, Clone, Copy)]
pub struct TimeSeries<'a> {
    /// The time when the series began, in seconds.
    pub start_s: f64,
    /// The time that each of `values` covers, in seconds.
    pub each_s: f64,
    /// Each of `values` is the mean of this number of measured values, at least 1.
    pub of: u32,
    /// The values in order.
    pub values: &'a [f64],
}

/// Compares `other` with `baseline`.
pub fn compare(baseline: TimeSeries, other: TimeSeries, better: Better) -> Comparison {
    let values = (baseline.measured(), other.measured());
    let measured = baseline.level_and_blocks(better).zip(other.level_and_blocks(better));
    let Some(((base_level, base), (level, blocks))) = measured else {
        return Comparison { verdict: more_seconds(BLOCKS as f64, values), ..Comparison::NOTHING };
    };
    let difference = level - base_level;
    let doubt = Uncertainty::between(&base, &blocks);
    let half = doubt.exceeded_with(OUTSIDE);
    let share = |logarithm: f64| logarithm.exp_m1();
    // The rest of the difference, negative if it points the other way.
    let without_slope = (difference - explained_by_slope(&base, &blocks)) * difference.signum();
    let is_clear = |size: f64| size >= half + TOUCHES;
    let verdict = match share(difference).abs() >= SMALLEST && is_clear(difference.abs()) {
        true if is_clear(without_slope) => better.verdict(difference),
        true => Verdict::NotClear(Reason::Drift),
        false => undecided(difference, half, doubt.exceeded_by_noise_with(OUTSIDE), values),
    };
    let interval = (share(difference - half), share(difference + half));
    Comparison { change: Some(share(difference)), interval: Some(interval), verdict }
}

/// Returns the verdict for a difference of logarithms that is not significant. `half` is half the width of the
/// confidence interval. `by_noise` is half the width of the interval without drift.
fn undecided(difference: f64, half: f64, by_noise: f64, values: (u64, u64)) -> Verdict {
    let size = difference.abs();
    let widest = |half: f64| (size + half).exp_m1();
    if widest(half) <= CLOSE {
        return Verdict::Same { above: widest(half) };
    }
    if widest(by_noise) <= CLOSE || (size.exp_m1() >= SMALLEST && by_noise < size) {
        return Verdict::NotClear(Reason::Drift);
    }
    // The result is clear as soon as the interval excludes zero or relevant differences.
    let enough = size.max(CLOSE - size);
    let fewer = values.0.min(values.1) as f64;
    more_seconds((fewer * (half / enough).powi(2)).max(BLOCKS as f64).ceil(), values)
}

/// Returns how many more seconds each side needs for `wanted` values. The pair contains the present number of values of
/// each side, with one value per second.
fn more_seconds(wanted: f64, (first, second): (u64, u64)) -> Verdict {
    let missing = |there: u64| wanted - there as f64;
    Verdict::NotClear(Reason::MoreSeconds {
        first: Some(missing(first)).filter(|missing| *missing > 0.0),
        second: missing(second).max(1.0),
    })
}

impl TimeSeries<'_> {
    fn measured(&self) -> u64 {
        self.values.len() as u64 * u64::from(self.of)
    }

    /// Returns the logarithm of the series' level, and the series in blocks. The values in the blocks are logarithms,
    /// or relative to the level.
    fn level_and_blocks(&self, better: Better) -> Option<(f64, Blocks)> {
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let (level, relative): (f64, Vec<f64>) = match better {
            Better::Higher => {
                let level = mean(self.values);
                (level.ln(), self.values.iter().map(|value| value / level).collect())
            }
            Better::Lower => {
                let logarithms: Vec<_> = self.values.iter().map(|value| value.ln()).collect();
                (mean(&logarithms), logarithms)
            }
        };
        let blocks = Blocks::of(self.start_s, self.each_s, self.of, &relative)?;
        level.is_finite().then_some((level, blocks))
    }
}

#[cfg(test)]
mod simulated;

#[cfg(test)]
mod tests {
    use super::*;

    fn stretch(start_s: f64, values: &[f64]) -> TimeSeries<'_> {
        TimeSeries { start_s, each_s: 1.0, of: 1, values }
    }

    fn zigzag(level: f64, n: usize) -> Vec<f64> {
        (0..n).map(|i| level * (1.0 + [0.02, -0.01, -0.02, 0.01][i % 4])).collect()
    }

    fn verdict(baseline: f64, other: f64, n: usize, better: Better) -> Verdict {
        let (baseline, other) = (zigzag(baseline, n), zigzag(other, n));
        compare(stretch(0.0, &baseline), stretch(n as f64, &other), better).verdict
    }

    #[test]
    fn more_replies_and_shorter_latencies_are_better() {
        assert_eq!(verdict(1000.0, 1100.0, 60, Better::Higher), Verdict::Better);
        assert_eq!(verdict(1100.0, 1000.0, 60, Better::Higher), Verdict::Worse);
        assert_eq!(verdict(1000.0, 1100.0, 60, Better::Lower), Verdict::Worse);
        assert_eq!(verdict(1100.0, 1000.0, 60, Better::Lower), Verdict::Better);
    }

    #[test]
    fn the_interval_contains_the_difference_and_excludes_zero() {
        let (base, other) = (zigzag(1000.0, 60), zigzag(1100.0, 60));
        let found = compare(stretch(0.0, &base), stretch(60.0, &other), Better::Higher);
        let (low, high) = found.interval.unwrap();
        assert!(0.08 < low && low < 0.1 && 0.1 < high && high < 0.12, "{found:?}");
        assert!((found.change.unwrap() - 0.1).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn a_small_difference_is_none_even_if_it_is_certain() {
        let Verdict::Same { above } = verdict(1000.0, 1015.0, 200, Better::Higher) else {
            panic!("{:?}", verdict(1000.0, 1015.0, 200, Better::Higher));
        };
        assert!((0.015..0.03).contains(&above), "{above}");
    }

    #[test]
    fn a_common_slope_is_a_drift() {
        let slope: Vec<_> = (0..120).map(|i| 1000.0 + f64::from(i)).collect();
        let found = compare(stretch(0.0, &slope[..60]), stretch(60.0, &slope[60..]), Better::Higher);
        assert_eq!(found.verdict, Verdict::NotClear(Reason::Drift));
    }

    #[test]
    fn a_difference_that_is_smaller_than_a_common_slope_explains_is_a_drift() {
        let rising = |level: f64| (0..60).map(|i| level + f64::from(i)).collect::<Vec<_>>();
        let (base, other) = (rising(1000.0), rising(1670.0));
        // At the slope of both series, the other would be about 1.6 times as high as it is.
        let found = compare(stretch(0.0, &base), stretch(1260.0, &other), Better::Higher);
        let (low, high) = found.interval.unwrap();
        assert!(low > SMALLEST && high < 2.0, "the difference itself is clear: {found:?}");
        assert_eq!(found.verdict, Verdict::NotClear(Reason::Drift), "{found:?}");
    }

    #[test]
    fn with_much_noise_the_verdict_says_how_many_more_seconds_are_needed() {
        let noisy =
            |n: usize| (0..n).map(|i| 1000.0 + [400.0, -300.0, 200.0, -300.0][i % 4]).collect::<Vec<_>>();
        let (base, other) = (noisy(12), noisy(12));
        let found = compare(stretch(0.0, &base), stretch(12.0, &other), Better::Lower);
        let Verdict::NotClear(Reason::MoreSeconds { first: Some(first), second }) = found.verdict else {
            panic!("{found:?}")
        };
        assert!(first > 12.0 && second > 12.0, "{found:?}");
    }

    #[test]
    fn a_few_values_show_nothing() {
        let more = |first, second| Verdict::NotClear(Reason::MoreSeconds { first, second });
        let short = compare(stretch(0.0, &[1.0; 9]), stretch(9.0, &[9.0; 50]), Better::Higher);
        assert_eq!((short.verdict, short.interval), (more(Some(1.0), 1.0), None));
        assert_eq!(
            compare(stretch(0.0, &[]), stretch(0.0, &[]), Better::Lower).verdict,
            more(Some(10.0), 10.0)
        );
        let dead = compare(stretch(0.0, &[0.0; 20]), stretch(20.0, &[5.0; 20]), Better::Higher);
        assert_eq!(dead.interval, None);
        let equal = compare(stretch(0.0, &[5.0; 20]), stretch(20.0, &[5.0; 20]), Better::Higher);
        assert!(matches!(equal.verdict, Verdict::Same { above } if above < 0.001), "{equal:?}");
    }

    #[test]
    fn a_second_without_replies_is_a_value() {
        let mut values = zigzag(1000.0, 60);
        values[30] = 0.0;
        let base = zigzag(1000.0, 60);
        let found = compare(stretch(0.0, &base), stretch(60.0, &values), Better::Higher);
        assert!(!matches!(found.verdict, Verdict::Better | Verdict::Worse), "{found:?}");
        assert!(found.interval.is_some());
    }
}
