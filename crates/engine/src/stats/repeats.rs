//! Compares two settings by repeated runs with each setting. The settings count as different if their
//! difference is larger than the random differences between runs with the same setting.
//!
//! Each run is one value. The logarithms of both sides are assumed to have the same variance (Student's two-sample
//! t-test). Some effects, such as memory placement or temperature, shift a whole run. The variance between runs
//! includes these effects. The spread within a single run does not.

use super::{
    comparison::{Better, CLOSE, Comparison},
    student,
};

/// The probability that the interval misses the true difference. The probability may be at most 0.05. This value is
/// enough to find a difference of 10 % with three runs of each side. The test finds this difference in more than 95 of
/// 100 comparisons, if runs deviate by 2 %.
const OUTSIDE: f64 = 0.04;

/// Compares `new` with `base`, which both contain one positive value per run.
pub fn compare(base: &[f64], new: &[f64], better: Better) -> Comparison {
    let logarithms = |values: &[f64]| values.iter().map(|value| value.ln()).collect::<Vec<_>>();
    let (base, new) = (logarithms(base), logarithms(new));
    if base.is_empty() || new.is_empty() || base.iter().chain(&new).any(|value| !value.is_finite()) {
        return Comparison::NOTHING;
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let squares = |values: &[f64]| {
        let mean = mean(values);
        values.iter().map(|value| (value - mean).powi(2)).sum::<f64>()
    };
    let estimate = mean(&new) - mean(&base);
    let freedom = (base.len() + new.len() - 2) as u32;
    let interval = (base.len() > 1 && new.len() > 1).then(|| {
        let variance = (squares(&base) + squares(&new)) / f64::from(freedom);
        let error = (variance * (1.0 / base.len() as f64 + 1.0 / new.len() as f64)).sqrt();
        let half = error * student::limit(OUTSIDE, freedom);
        (estimate - half, estimate + half)
    });
    Comparison::of(estimate, interval, better, CLOSE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{Verdict, simulated::NoiseSource};

    /// Returns the share of simulated comparisons with this verdict, with three runs of each side. `more` is the true
    /// difference. `noise` is the standard deviation of a run.
    fn share(is_so: impl Fn(Verdict) -> bool, more: f64, noise: f64) -> f64 {
        let mut chance = NoiseSource::new(11);
        let times = 2000;
        let mut runs =
            |level: f64| (0..3).map(|_| level * (noise * chance.normal()).exp()).collect::<Vec<_>>();
        let is_it = |_: &u32| {
            let (base, new) = (runs(1.0), runs(1.0 + more));
            is_so(compare(&base, &new, Better::Lower).verdict)
        };
        f64::from((0..times).filter(is_it).count() as u32) / f64::from(times)
    }

    #[test]
    fn equal_settings_are_called_different_in_at_most_five_percent() {
        for noise in [0.005, 0.02, 0.1] {
            let wrong = share(|verdict| matches!(verdict, Verdict::Better | Verdict::Worse), 0.0, noise);
            assert!(wrong <= 0.05, "{wrong} at {noise}");
        }
    }

    #[test]
    fn a_difference_of_ten_percent_is_found_with_a_noise_of_two_percent() {
        let found = share(|verdict| verdict == Verdict::Worse, 0.1, 0.02);
        assert!(found > 0.95, "{found}");
        assert!(share(|verdict| matches!(verdict, Verdict::Same { .. }), 0.0, 0.01) > 0.8);
    }

    #[test]
    fn single_runs_give_a_difference_without_an_interval() {
        let of = |base: &[f64], new: &[f64]| compare(base, new, Better::Higher);
        let single = of(&[2.0], &[3.0]);
        assert!((single.change.unwrap() - 0.5).abs() < 1e-9 && single.interval.is_none(), "{single:?}");
        assert_eq!((of(&[], &[3.0]), of(&[0.0], &[3.0])), (Comparison::NOTHING, Comparison::NOTHING));
        let found = of(&[100.0, 102.0, 98.0], &[110.0, 112.0, 109.0]);
        let (low, high) = found.interval.unwrap();
        assert!(low > 0.05 && high < 0.16 && (found.change.unwrap() - 0.104).abs() < 0.005, "{found:?}");
    }
}
