//! Checks whether a series of measured values is steady. A series is steady if the mean of its values is
//! known precisely enough.
//!
//! Consecutive values depend on each other. So n consecutive values are worth n(1−ρ)/(1+ρ) independent values. Here, ρ
//! is the correlation of neighbouring values (lag 1), corrected for the bias of short series (Marriott and Pope,
//! Biometrika 41, 1954). A negative correlation counts as 0. A rising or falling series has a high correlation, so such
//! a series needs many values to be steady. This module does no I/O.

/// The smallest number of values.
const LEAST: usize = 12;
/// A number from the standard normal distribution has a larger absolute value than this with a probability of 0.05.
const NORMAL: f64 = 1.96;

/// Returns whether the mean of the ordered `values` is known with a relative error of at most `within`, at 95 %
/// confidence.
pub fn is_steady(values: &[f64], within: f64) -> bool {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    if values.len() < LEAST || mean <= 0.0 {
        return false;
    }
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let neighbours: f64 = values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    let seen = if squares > 0.0 { neighbours / squares } else { 0.0 };
    let correlation = (seen + (1.0 + 4.0 * seen) / n).clamp(0.0, 1.0);
    let independent = (n * (1.0 - correlation) / (1.0 + correlation)).max(1.0);
    let error = (squares / (n - 1.0) / independent).sqrt();
    NORMAL * error <= within * mean
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::simulated::{NoiseKind, NoiseSource};

    /// Returns how many of 100 series of `n` values around 1 are steady within 2 %.
    fn steady(kind: NoiseKind, noise: f64, n: usize) -> usize {
        let is = |seed: &u64| {
            let values = NoiseSource::new(*seed).run(kind, n);
            is_steady(&values.iter().map(|value| 1.0 + noise * value).collect::<Vec<_>>(), 0.02)
        };
        (0..100).filter(is).count()
    }

    #[test]
    fn a_series_with_more_noise_needs_more_values() {
        let white = NoiseKind::Repeats(0.0);
        assert_eq!((steady(white, 0.01, 11), steady(white, 0.01, 12)), (0, 100));
        assert!(steady(white, 0.05, 12) < 20, "{}", steady(white, 0.05, 12));
        assert!(steady(white, 0.05, 60) > 95, "{}", steady(white, 0.05, 60));
    }

    #[test]
    fn a_series_of_dependent_values_needs_more_values() {
        let (white, repeats) =
            (steady(NoiseKind::Repeats(0.0), 0.03, 24), steady(NoiseKind::Repeats(0.8), 0.03, 24));
        assert!(white > 90 && repeats < 40, "{white} {repeats}");
    }

    #[test]
    fn a_rising_series_is_not_steady_unless_the_rise_is_small() {
        let climb = |of: f64| (0..40).map(|n| 1.0 + of * f64::from(n) / 40.0).collect::<Vec<_>>();
        assert!(!is_steady(&climb(0.2), 0.02));
        assert!(is_steady(&climb(0.005), 0.02));
    }

    #[test]
    fn an_empty_series_is_not_steady_and_a_constant_series_is() {
        assert!(!is_steady(&[0.0; 50], 0.02) && !is_steady(&[], 0.02));
        assert!(is_steady(&[7.0; 12], 0.0));
    }
}
