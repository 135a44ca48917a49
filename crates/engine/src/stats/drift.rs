//! Computes how much two series of measurements with the same setting may differ. The causes are noise and a possible
//! drift of the machine.
//!
//! ```text
//!  ·· · ··             noise: the mean of n seconds is as exact as 1/√n
//!    · ·  ··  · ·
//!           ··  ·····  drift: longer series differ more, and series that are further apart differ even more
//! ```
//! The seconds of one run depend on each other, so an interval from their spread alone is far too narrow. Each series
//! is modelled as a *local level*: white noise on a level that follows a random walk (Harvey, "Forecasting, structural
//! time series models and the Kalman filter", 1989, 2.3 and 3.4). Seconds are first grouped into ten blocks, which
//! removes most of the correlation between neighbours. A single series does not show the ratio of the random walk to
//! the noise. For example, a walk may be as large as the noise from one minute to the next, and hardly be visible
//! within each minute. This module therefore does not estimate the ratio of the walk to the noise. Instead, this module
//! weights ratios from 0 to 256 by how well they explain both series. (The weight is the diffuse likelihood from the
//! Kalman filter, with the scale of the noise integrated out.) The distribution of the difference is a mixture of one
//! Student distribution per ratio (model averaging: Hoeting, Madigan, Raftery and Volinsky, Statistical Science 14(4),
//! 1999).
//!
//! The tests of [`seconds`](super::seconds) verify the coverage of the mixture for three kinds of seconds:
//! autocorrelated seconds, a random walk, and 1/f drift.

use super::student::{beyond, falls_below};

/// The number of blocks of a series, and the smallest number of values in a series.
pub const BLOCKS: usize = 10;

/// The degrees of freedom of two series, each with an unknown level.
const FREEDOM: u32 = 2 * BLOCKS as u32 - 2;

/// The assumed ratios of the walk to the noise, each with its prior weight. The difference between two
/// adjacent series varies because of the walk and because of the noise. A ratio is the variance from the walk
/// divided by the variance from the noise. The first ratio means that there is no walk.
const RATIOS: [(f64, f64); 7] = [
    (0.0, 0.6),
    (0.25, 0.4 / 6.0),
    (1.0, 0.4 / 6.0),
    (4.0, 0.4 / 6.0),
    (16.0, 0.4 / 6.0),
    (64.0, 0.4 / 6.0),
    (256.0, 0.4 / 6.0),
];

/// The weight of the unobserved time between the series. A short series may be a calm part of a random walk with larger
/// movements at other times.
const UNSEEN: f64 = 2.0;

/// The variance of the difference between the means of adjacent blocks of a random walk. The unit is the variance of
/// the walk between the middles of the blocks.
const OF_MEANS: f64 = 2.0 / 3.0;

/// The smallest variance of the noise in the calculation. A deviation of one part in a million has this variance.
const LEAST_NOISE: f64 = 1e-12;

/// A series of values, divided into [`BLOCKS`] blocks.
#[derive(Debug, Clone)]
pub struct Blocks([Block; BLOCKS]);

#[derive(Debug, Clone, Copy, Default)]
struct Block {
    middle_s: f64,
    /// The number of values in a block.
    n: f64,
    mean: f64,
}

impl Blocks {
    /// Groups consecutive values into blocks. The first value begins at `start_s`. Each value covers `each_s` seconds
    /// and is the mean of `of` measured values. Returns `None` for fewer than [`BLOCKS`] values, or a length of 0.
    pub fn of(start_s: f64, each_s: f64, of: u32, values: &[f64]) -> Option<Self> {
        if values.len() < BLOCKS || each_s <= 0.0 {
            return None;
        }
        Some(Self(std::array::from_fn(|i| {
            let (from, to) = (i * values.len() / BLOCKS, (i + 1) * values.len() / BLOCKS);
            let n = (to - from) as f64;
            Block {
                middle_s: start_s + each_s * (from as f64 + n / 2.0),
                n: n * f64::from(of),
                mean: values[from..to].iter().sum::<f64>() / n,
            }
        })))
    }

    fn n(&self) -> f64 {
        self.0.iter().map(|block| block.n).sum()
    }

    fn span_s(&self) -> f64 {
        self.0[BLOCKS - 1].middle_s - self.0[0].middle_s
    }

    /// Runs the Kalman filter with an unknown initial level. The noise has variance 1 per value, and the random walk
    /// has variance `walk` per second. Returns the sum of the squared normalized innovations, and the sum of the
    /// logarithms of their variances.
    fn unexpected(&self, walk: f64) -> (f64, f64) {
        let (mut level, mut variance) = (self.0[0].mean, 1.0 / self.0[0].n);
        let (mut squares, mut logs) = (0.0, 0.0);
        for pair in self.0.windows(2) {
            variance += walk * OF_MEANS * (pair[1].middle_s - pair[0].middle_s);
            let (surprise, of) = (pair[1].mean - level, variance + 1.0 / pair[1].n);
            squares += surprise * surprise / of;
            logs += of.ln();
            level += surprise * variance / of;
            variance *= 1.0 - variance / of;
        }
        (squares, logs)
    }

    /// Returns the variance of a difference, for a random walk of variance 1 per second. The difference is
    /// the mean of the series minus the mean of its first or last block.
    fn walked(&self, from_start: bool) -> f64 {
        let all = self.n();
        let mut share = 0.0;
        let step = |pair: &[Block]| {
            share += pair[0].n / all;
            let left = if from_start { 1.0 - share } else { share };
            left * left * (pair[1].middle_s - pair[0].middle_s)
        };
        self.0.windows(2).map(step).sum()
    }
}

/// Returns the part of the difference between the means that a common slope of both series explains. The result is 0 if
/// chance alone causes such a slope in at least 1 of 100 pairs. The model does not cover a steady slope, because a
/// random walk has no direction. This function covers steady slopes.
pub fn explained_by_slope(one: &Blocks, other: &Blocks) -> f64 {
    let (mut squares, mut products, mut all) = (0.0, 0.0, 0.0);
    let mut middles_s = [0.0; 2];
    for (stretch, middle_s) in [one, other].into_iter().zip(&mut middles_s) {
        let mean = |of: fn(&Block) -> f64| stretch.0.iter().map(of).sum::<f64>() / BLOCKS as f64;
        let level = mean(|block| block.mean);
        *middle_s = mean(|block| block.middle_s);
        for block in &stretch.0 {
            let (x, y) = (block.middle_s - *middle_s, block.mean - level);
            (squares, products, all) = (squares + x * x, products + x * y, all + y * y);
        }
    }
    let slope = products / squares;
    let left = (all - slope * products).max(LEAST_NOISE);
    let is_one = beyond(slope / (left / f64::from(FREEDOM) / squares).sqrt(), FREEDOM) < 0.01;
    if is_one { slope * (middles_s[1] - middles_s[0]) } else { 0.0 }
}

/// The distribution of the difference between the means of two series with the same setting.
#[derive(Debug, Clone)]
pub struct Uncertainty {
    /// For each of [`RATIOS`], the posterior weight and the standard error of the difference.
    errors: [(f64, f64); RATIOS.len()],
}

impl Uncertainty {
    /// Computes the uncertainty of the difference between `one` and `other`. The order of `one` and `other` does not
    /// matter.
    pub fn between(one: &Blocks, other: &Blocks) -> Self {
        let is_first = one.0[0].middle_s <= other.0[0].middle_s;
        let (first, second) = if is_first { (one, other) } else { (other, one) };
        let of_noise = 1.0 / first.n() + 1.0 / second.n();
        let span_s = first.span_s().midpoint(second.span_s());
        let step_s = span_s / (BLOCKS - 1) as f64;
        let apart_s = (second.0[0].middle_s - first.0[BLOCKS - 1].middle_s).max(step_s);
        let of_walk = first.walked(false) + step_s + UNSEEN * (apart_s - step_s) + second.walked(true);
        let explain = |(ratio, before): (f64, f64)| {
            // The difference between two adjacent means of a walk has the variance of two thirds of the length.
            let walk = ratio * of_noise * 1.5 / span_s;
            let parts = [first.unexpected(walk), second.unexpected(walk)];
            let squares = parts.iter().map(|part| part.0).sum::<f64>().max(LEAST_NOISE);
            let logs: f64 = parts.iter().map(|part| part.1).sum();
            let likely = before.ln() - 0.5 * (logs + f64::from(FREEDOM) * squares.ln());
            let variance = squares / f64::from(FREEDOM) * (of_noise + walk * of_walk);
            (likely, variance.sqrt())
        };
        let errors = RATIOS.map(explain);
        let most = errors.iter().map(|(likely, _)| *likely).fold(f64::MIN, f64::max);
        let all: f64 = errors.iter().map(|(likely, _)| (likely - most).exp()).sum();
        Self { errors: errors.map(|(likely, error)| ((likely - most).exp() / all, error)) }
    }

    /// Returns the probability (0 to 1) that noise and drift alone cause a difference of at least this size.
    pub fn chance(&self, difference: f64) -> f64 {
        self.errors.iter().map(|(weight, error)| weight * beyond(difference / error, FREEDOM)).sum()
    }

    /// Returns the absolute difference that noise and drift alone exceed with this probability.
    pub fn exceeded_with(&self, chance: f64) -> f64 {
        falls_below(chance, |difference| self.chance(difference))
    }

    /// Returns the size of a difference that noise alone exceeds with this probability.
    pub fn exceeded_by_noise_with(&self, chance: f64) -> f64 {
        falls_below(chance, |difference| beyond(difference / self.errors[0].1, FREEDOM))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zigzag(start_s: f64, n: usize, slope: f64) -> Blocks {
        let values: Vec<_> = (0..n).map(|i| [0.03, -0.02, -0.03, 0.02][i % 4] + slope * i as f64).collect();
        Blocks::of(start_s, 1.0, 1, &values).unwrap()
    }

    #[test]
    fn the_uncertainty_grows_with_a_slope_and_with_the_distance_of_the_series() {
        let half = |one: &Blocks, other: &Blocks| Uncertainty::between(one, other).exceeded_with(0.025);
        let steady = half(&zigzag(0.0, 60, 0.0), &zigzag(60.0, 60, 0.0));
        let walking = half(&zigzag(0.0, 60, 0.001), &zigzag(60.0, 60, 0.001));
        assert!(walking > 4.0 * steady, "{walking} against {steady}");
        let apart = half(&zigzag(0.0, 60, 0.001), &zigzag(300.0, 60, 0.001));
        assert!(apart > 1.5 * walking, "{apart} against {walking}");
        assert_eq!(apart, half(&zigzag(300.0, 60, 0.001), &zigzag(0.0, 60, 0.001)), "either may come first");
    }

    #[test]
    fn means_of_several_values_count_as_several_values() {
        let values: Vec<_> = (0..40).map(|i| f64::from(i % 3) * 0.01).collect();
        let pairs: Vec<_> = values.chunks_exact(2).map(|pair| (pair[0] + pair[1]) / 2.0).collect();
        let (single, merged) =
            (Blocks::of(0.0, 1.0, 1, &values).unwrap(), Blocks::of(0.0, 2.0, 2, &pairs).unwrap());
        for (one, other) in single.0.iter().zip(&merged.0) {
            assert!((one.mean - other.mean).abs() < 1e-12);
            assert_eq!((one.n, one.middle_s), (other.n, other.middle_s));
        }
    }

    #[test]
    fn too_few_values_are_no_series() {
        assert!(Blocks::of(0.0, 1.0, 1, &[1.0; 9]).is_none());
        assert!(Blocks::of(0.0, 0.0, 1, &[1.0; 10]).is_none());
        let equal = Blocks::of(0.0, 1.0, 1, &[1.0; 10]).unwrap();
        let doubt = Uncertainty::between(&equal, &Blocks::of(10.0, 1.0, 1, &[1.0; 10]).unwrap());
        assert!(doubt.exceeded_with(0.025) < 1e-5 && doubt.chance(0.01) < 1e-6);
    }
}
