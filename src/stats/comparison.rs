//! Is a difference between two stretches more than chance, and more than a drift of the machine?
//!
//! ```text
//!   baseline   ·· · ·· ·                  each dot is a second
//!   other                  · ·· · ··      faster: by 3 to 7 %
//! ```
//! The difference is that of the means: of the replies per second as they are, of latencies in their logarithms, so
//! that one stall does not decide. Its interval comes from the module `drift`: it allows for seconds that depend on
//! each other, and for a drift that stretches of this length cannot rule out. It holds in 97.5 of 100 pairs.
//!
//! A difference counts only if its interval leaves out zero and it is at least 2 %. On two windows of one run that
//! happens to fewer than 5 in 100 pairs, however their seconds depend on each other; the tests count it. Where noise
//! alone would make it a difference and drift may have, the verdict says that: no amount of waiting mends it,
//! settings in alternation do.

use super::drift::{BLOCKS, Blocks, Doubt, explained_by_slope};

/// So many values of each are the least.
pub const LEAST_VALUES: usize = BLOCKS;
/// The share of pairs of one setting whose difference lies outside the interval.
const OUTSIDE: f64 = 0.025;
/// The smallest difference that is worth telling, as a share of the baseline.
const SMALLEST: f64 = 0.02;
/// Two stretches are the same if no difference above this can be.
const CLOSE: f64 = 0.05;
/// An interval whose end is nearer to zero touches it: as a percentage that end is 0.0.
pub(super) const TOUCHES: f64 = 0.000_5;

/// What the comparison of a quantity says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Verdict {
    /// It is better: more replies, or a shorter latency.
    Faster,
    /// It is worse.
    Slower,
    /// There is no difference above this share of the baseline, 0.05 at most.
    Same {
        /// The share.
        above: f64,
    },
    /// The interval is too wide; so many values of each would tell.
    NotYet {
        /// The number, an estimate; [`LEAST_VALUES`] at least.
        values: f64,
    },
    /// What noise alone would not explain, a drift of the machine does.
    Drift,
}

/// Which way a quantity is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// More is better: replies per second.
    Higher,
    /// Less is better: latencies.
    Lower,
}

/// A stretch of values that follow each other.
#[derive(Debug, Clone, Copy)]
pub struct Stretch<'a> {
    /// When it began.
    pub start_s: f64,
    /// How long one of `values` is.
    pub each_s: f64,
    /// How many measured values one of `values` is the mean of; at least 1.
    pub of: u32,
    /// The values in their order.
    pub values: &'a [f64],
}

/// A verdict with its evidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// What it says.
    pub verdict: Verdict,
    /// How much more than the baseline the other is at least and at most, as shares of it; `None` where there are too
    /// few values, or nothing to be compared with.
    pub interval: Option<(f64, f64)>,
    /// How many measured values of the baseline and of the other were compared.
    pub values: (u64, u64),
}

/// Compares `other` with `baseline`.
pub fn compare(baseline: Stretch, other: Stretch, better: Better) -> Comparison {
    let values = (baseline.measured(), other.measured());
    let measured = baseline.levelled(better).zip(other.levelled(better));
    let Some(((base_level, base), (level, blocks))) = measured else {
        let verdict = Verdict::NotYet { values: LEAST_VALUES as f64 };
        return Comparison { verdict, interval: None, values };
    };
    let difference = level - base_level;
    let doubt = Doubt::between(&base, &blocks);
    let half = doubt.exceeded_with(OUTSIDE);
    let share = |logarithm: f64| logarithm.exp_m1();
    let interval = (share(difference - half), share(difference + half));
    let without_slope = difference - explained_by_slope(&base, &blocks);
    let is_more = half + TOUCHES <= difference.abs().min(without_slope.abs());
    let verdict = if share(difference).abs() >= SMALLEST && is_more {
        match better {
            Better::Higher if difference > 0.0 => Verdict::Faster,
            Better::Lower if difference < 0.0 => Verdict::Faster,
            _ => Verdict::Slower,
        }
    } else {
        undecided(difference, half, doubt.exceeded_by_noise_with(OUTSIDE), values)
    };
    Comparison { verdict, interval: Some(interval), values }
}

/// The verdict on a difference (of logarithms) that is none, with half of its interval and that of noise alone.
fn undecided(difference: f64, half: f64, by_noise: f64, values: (u64, u64)) -> Verdict {
    let size = difference.abs();
    let widest = |half: f64| (size + half).exp_m1();
    if widest(half) <= CLOSE {
        return Verdict::Same { above: widest(half) };
    }
    if widest(by_noise) <= CLOSE || (size.exp_m1() >= SMALLEST && by_noise < size) {
        return Verdict::Drift;
    }
    // It is told as soon as the interval leaves out zero, or a difference that matters.
    let enough = size.max(CLOSE - size);
    let fewer = values.0.min(values.1) as f64;
    Verdict::NotYet { values: (fewer * (half / enough).powi(2)).max(LEAST_VALUES as f64).ceil() }
}

impl Stretch<'_> {
    fn measured(&self) -> u64 {
        self.values.len() as u64 * u64::from(self.of)
    }

    /// The logarithm of the level, and the stretch relative to it.
    fn levelled(&self, better: Better) -> Option<(f64, Blocks)> {
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

/// How much more `other` is than `baseline`, as a share of it: 0.1 is ten percent more. `None` without a baseline to
/// be compared with.
pub fn change(baseline: f64, other: f64) -> Option<f64> {
    (baseline > 0.0).then(|| other / baseline - 1.0)
}

#[cfg(test)]
mod simulated;

#[cfg(test)]
mod tests {
    use super::*;

    fn stretch(start_s: f64, values: &[f64]) -> Stretch<'_> {
        Stretch { start_s, each_s: 1.0, of: 1, values }
    }

    fn zigzag(level: f64, n: usize) -> Vec<f64> {
        (0..n).map(|i| level * (1.0 + [0.02, -0.01, -0.02, 0.01][i % 4])).collect()
    }

    fn verdict(baseline: f64, other: f64, n: usize, better: Better) -> Verdict {
        let (baseline, other) = (zigzag(baseline, n), zigzag(other, n));
        compare(stretch(0.0, &baseline), stretch(n as f64, &other), better).verdict
    }

    #[test]
    fn more_replies_and_shorter_latencies_are_faster() {
        assert_eq!(verdict(1000.0, 1100.0, 60, Better::Higher), Verdict::Faster);
        assert_eq!(verdict(1100.0, 1000.0, 60, Better::Higher), Verdict::Slower);
        assert_eq!(verdict(1000.0, 1100.0, 60, Better::Lower), Verdict::Slower);
        assert_eq!(verdict(1100.0, 1000.0, 60, Better::Lower), Verdict::Faster);
    }

    #[test]
    fn the_interval_is_about_the_difference_and_leaves_out_zero() {
        let (base, other) = (zigzag(1000.0, 60), zigzag(1100.0, 60));
        let found = compare(stretch(0.0, &base), stretch(60.0, &other), Better::Higher);
        let (low, high) = found.interval.unwrap();
        assert!(0.08 < low && low < 0.1 && 0.1 < high && high < 0.12, "{found:?}");
        assert_eq!(found.values, (60, 60));
    }

    #[test]
    fn a_difference_that_does_not_matter_is_none_however_sure_it_is() {
        let Verdict::Same { above } = verdict(1000.0, 1015.0, 200, Better::Higher) else {
            panic!("{:?}", verdict(1000.0, 1015.0, 200, Better::Higher));
        };
        assert!((0.015..0.03).contains(&above), "{above}");
    }

    #[test]
    fn a_slope_that_goes_on_is_a_drift() {
        let slope: Vec<_> = (0..120).map(|i| 1000.0 + f64::from(i)).collect();
        let found = compare(stretch(0.0, &slope[..60]), stretch(60.0, &slope[60..]), Better::Higher);
        assert_eq!(found.verdict, Verdict::Drift);
    }

    #[test]
    fn noise_that_hides_a_difference_says_how_much_more_is_needed() {
        let noisy =
            |n: usize| (0..n).map(|i| 1000.0 + [400.0, -300.0, 200.0, -300.0][i % 4]).collect::<Vec<_>>();
        let (base, other) = (noisy(12), noisy(12));
        let found = compare(stretch(0.0, &base), stretch(12.0, &other), Better::Lower);
        let Verdict::NotYet { values } = found.verdict else { panic!("{found:?}") };
        assert!(values > 24.0, "{found:?}");
    }

    #[test]
    fn a_few_values_tell_nothing_and_neither_does_nothing() {
        let ten = Verdict::NotYet { values: 10.0 };
        let short = compare(stretch(0.0, &[1.0; 9]), stretch(9.0, &[9.0; 50]), Better::Higher);
        assert_eq!((short.verdict, short.interval, short.values), (ten, None, (9, 50)));
        assert_eq!(compare(stretch(0.0, &[]), stretch(0.0, &[]), Better::Lower).verdict, ten);
        let dead = compare(stretch(0.0, &[0.0; 20]), stretch(20.0, &[5.0; 20]), Better::Higher);
        assert_eq!(dead.interval, None);
        let equal = compare(stretch(0.0, &[5.0; 20]), stretch(20.0, &[5.0; 20]), Better::Higher);
        assert!(matches!(equal.verdict, Verdict::Same { above } if above < 0.001), "{equal:?}");
    }

    #[test]
    fn a_second_without_a_reply_is_a_value_like_others() {
        let mut values = zigzag(1000.0, 60);
        values[30] = 0.0;
        let base = zigzag(1000.0, 60);
        let found = compare(stretch(0.0, &base), stretch(60.0, &values), Better::Higher);
        assert!(!matches!(found.verdict, Verdict::Faster | Verdict::Slower), "{found:?}");
        assert!(found.interval.is_some());
    }

    #[test]
    fn a_change_is_a_share_of_the_baseline() {
        assert_eq!(
            (change(200.0, 250.0), change(200.0, 100.0), change(0.0, 1.0)),
            (Some(0.25), Some(-0.5), None)
        );
    }
}
