//! Checks whether a series is steady: whether the mean of its values is known precisely enough.
//!
//! Consecutive values depend on each other, so n values are worth n(1−ρ)/(1+ρ) independent values. Here ρ is the
//! correlation of neighbours (lag 1), corrected for the bias of short series (Marriott and Pope, Biometrika 41, 1954);
//! a negative correlation counts as 0. A series that climbs or falls has a high correlation, so rightly it is called
//! steady only after many values. Pure.

/// The smallest number of values.
const LEAST: usize = 12;
/// The normal distribution exceeds this with probability 0.05, on both sides together.
const NORMAL: f64 = 1.96;

/// Returns whether the mean of `values`, in order, is known within the share `within` of itself, at 95 %
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
    use crate::stats::simulated::{Chance, Kind};

    /// Returns how many of 100 series of `n` values around 1 are steady within 2 %.
    fn steady(kind: Kind, noise: f64, n: usize) -> usize {
        let is = |seed: &u64| {
            let values = Chance::new(*seed).run(kind, n);
            is_steady(&values.iter().map(|value| 1.0 + noise * value).collect::<Vec<_>>(), 0.02)
        };
        (0..100).filter(is).count()
    }

    #[test]
    fn little_noise_is_steady_soon_and_much_needs_more_values() {
        let white = Kind::Repeats(0.0);
        assert_eq!((steady(white, 0.01, 11), steady(white, 0.01, 12)), (0, 100));
        assert!(steady(white, 0.05, 12) < 20, "{}", steady(white, 0.05, 12));
        assert!(steady(white, 0.05, 60) > 95, "{}", steady(white, 0.05, 60));
    }

    #[test]
    fn what_depends_on_what_was_before_needs_more_values_still() {
        let (white, repeats) = (steady(Kind::Repeats(0.0), 0.03, 24), steady(Kind::Repeats(0.8), 0.03, 24));
        assert!(white > 90 && repeats < 40, "{white} {repeats}");
    }

    #[test]
    fn a_climb_is_not_steady_unless_it_is_as_good_as_none() {
        let climb = |of: f64| (0..40).map(|n| 1.0 + of * f64::from(n) / 40.0).collect::<Vec<_>>();
        assert!(!is_steady(&climb(0.2), 0.02));
        assert!(is_steady(&climb(0.005), 0.02));
    }

    #[test]
    fn nothing_is_not_steady_and_the_same_again_and_again_is() {
        assert!(!is_steady(&[0.0; 50], 0.02) && !is_steady(&[], 0.02));
        assert!(is_steady(&[7.0; 12], 0.0));
    }
}
