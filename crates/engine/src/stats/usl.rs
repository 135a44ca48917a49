//! Fits the universal scalability law to measurements. The law describes how throughput grows with concurrency, and at
//! which concurrency it stops growing.
//!
//! ```text
//!   X(N) = λN / (1 + σ(N−1) + κN(N−1))            ┌── the knee, N* = √((1−σ)/κ)
//!                                             ·── ▼ ──·
//!   λ  throughput at N = 1                  ·           ··
//!   σ  contention: waiting for others     ·                ··   the cost of coherency reduces throughput
//!   κ  coherency: mutual agreement      ·
//! ```
//! Source: Gunther, "Guerrilla Capacity Planning", 2007, chapters 4 and 5. N/X is linear in 1, N−1 and N(N−1), so the
//! fit uses least squares with non-negative coefficients. Errors are relative to X, because the noise grows with the
//! throughput. The law is a model. Texts about its results must mention this.

use super::student;

/// The smallest number of different values of N. Three coefficients always fit three points, and too often fit a fourth
/// point by chance. A κ above zero needs a Student value of 12.7 with four points, but only 4.3 with five points.
const LEAST_POINTS: usize = 5;
/// The largest accepted difference between the points and the law, as a share of X (root mean square). If the
/// difference is larger, the fit is rejected.
const POOR: f64 = 0.1;
/// The largest accepted ratio of the knee to the largest measured N. No measurement supports a knee beyond this ratio,
/// so redyno does not report such a knee.
const BEYOND: f64 = 2.0;
/// The smallest squared error in the calculation. Points that lie exactly on the law, as in tests, have no error.
const LEAST_SQUARE: f64 = 1e-12;
/// The probability that chance alone makes κ seem to differ from 0, in either direction.
const CHANCE: f64 = 0.05;

/// A fit of the universal scalability law.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Usl {
    /// λ: the throughput at a concurrency of 1.
    pub lambda: f64,
    /// σ: the share of the work that cannot run in parallel, at least 0.
    pub sigma: f64,
    /// κ: the cost of each pair of concurrent requests, at least 0.
    pub kappa: f64,
    /// The point of the highest throughput. The point is `None` if the decline of throughput may be chance, or if the
    /// point is far outside the measured points.
    pub knee: Option<Knee>,
}

/// The point of the highest throughput according to the law.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Knee {
    /// The concurrency, N*.
    pub at: f64,
    /// The throughput at the concurrency of the knee.
    pub peak: f64,
}

impl Usl {
    /// Fits the law to `points` of (concurrency N, throughput). Each N must occur only once. Returns `None`
    /// for fewer than five points, or if the law does not describe the points.
    pub fn of(points: &[(f64, f64)]) -> Option<Self> {
        let is_point = |(n, x): &(f64, f64)| *n >= 1.0 && *x > 0.0 && x.is_finite();
        if points.len() < LEAST_POINTS || !points.iter().all(is_point) {
            return None;
        }
        let column = |term: fn(f64) -> f64| points.iter().map(|(n, x)| term(*n) * x / n).collect::<Vec<_>>();
        let terms = [column(|_| 1.0), column(|n| n - 1.0), column(|n| n * (n - 1.0))];
        let fit = |used: &[usize]| Fit::of(&terms, used);
        let best = |fits: &[Option<Fit>]| {
            let left = |one: &Fit, other: &Fit| one.squares.total_cmp(&other.squares);
            fits.iter().flatten().copied().min_by(left)
        };
        let without_cost = best(&[fit(&[0]), fit(&[0, 1])])?;
        let whole = best(&[Some(without_cost), fit(&[0, 2]), fit(&[0, 1, 2])])?;
        let freedom = points.len() - terms.len();
        let square = whole.squares / freedom as f64;
        let [one, shared, agreed] = whole.coefficients;
        if square.sqrt() > POOR || one <= 0.0 {
            return None;
        }
        let law = Self { lambda: 1.0 / one, sigma: shared / one, kappa: agreed / one, knee: None };
        let is_clear = without_cost.squares - whole.squares
            > student::limit(CHANCE, freedom as u32).powi(2) * square.max(LEAST_SQUARE);
        Some(Self { knee: law.turn().filter(|knee| is_clear && is_in_reach(*knee, points)), ..law })
    }

    /// Returns the throughput at a concurrency of `n`.
    pub fn at(&self, n: f64) -> f64 {
        self.lambda * n / (1.0 + self.sigma * (n - 1.0) + self.kappa * n * (n - 1.0))
    }

    fn turn(&self) -> Option<Knee> {
        let at = ((1.0 - self.sigma) / self.kappa).sqrt();
        at.is_finite().then(|| Knee { at, peak: self.at(at) })
    }
}

fn is_in_reach(knee: Knee, points: &[(f64, f64)]) -> bool {
    let (least, most) =
        points.iter().fold((f64::MAX, f64::MIN), |(least, most), (n, _)| (least.min(*n), most.max(*n)));
    knee.at >= least && knee.at <= most * BEYOND
}

/// The coefficients of the terms. With these coefficients, the sum of the terms is closest to 1 at all points.
#[derive(Debug, Clone, Copy)]
struct Fit {
    coefficients: [f64; 3],
    /// The sum of the squared residuals.
    squares: f64,
}

impl Fit {
    /// Fits the `used` terms by the Gram-Schmidt method. Returns `None` if a coefficient would be negative, or if the
    /// terms are not independent.
    fn of(terms: &[Vec<f64>; 3], used: &[usize]) -> Option<Self> {
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let mut left = vec![1.0; terms[0].len()];
        // Each term, orthogonalized against the earlier terms, and the coefficients of this step.
        let mut own: Vec<(Vec<f64>, [f64; 3])> = Vec::new();
        let mut coefficients = [0.0; 3];
        for term in used {
            let (mut rest, mut shares) = (terms[*term].clone(), [0.0; 3]);
            for (n, (before, _)) in own.iter().enumerate() {
                shares[n] = dot(&rest, before) / dot(before, before);
                rest.iter_mut().zip(before).for_each(|(rest, before)| *rest -= shares[n] * before);
            }
            if dot(&rest, &rest) <= 1e-18 * dot(&terms[*term], &terms[*term]) {
                return None;
            }
            let share = dot(&left, &rest) / dot(&rest, &rest);
            left.iter_mut().zip(&rest).for_each(|(left, rest)| *left -= share * rest);
            coefficients[*term] = share;
            own.push((rest, shares));
        }
        for (n, term) in used.iter().enumerate().rev() {
            let of_later = used[n + 1..].iter().zip(&own[n + 1..]);
            coefficients[*term] -=
                of_later.map(|(later, (_, shares))| coefficients[*later] * shares[n]).sum::<f64>();
        }
        let is_possible = coefficients.iter().all(|coefficient| *coefficient >= 0.0);
        is_possible.then(|| Self { coefficients, squares: dot(&left, &left) })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::stats::simulated::{NoiseKind, NoiseSource};

    const CLIENTS: [f64; 10] = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0];

    fn law(lambda: f64, sigma: f64, kappa: f64) -> Usl {
        Usl { lambda, sigma, kappa, knee: None }
    }

    fn points(law: Usl, concurrencies: &[f64]) -> Vec<(f64, f64)> {
        concurrencies.iter().map(|n| (*n, law.at(*n))).collect()
    }

    /// Returns points of the law with white noise. `noise` is the size of the noise as a share of the throughput.
    fn noisy(law: Usl, noise: f64, seed: u64) -> Vec<(f64, f64)> {
        let shifts = NoiseSource::new(seed).run(NoiseKind::Repeats(0.0), CLIENTS.len());
        let noisy = |((n, x), shift): ((f64, f64), f64)| (n, x * (noise * shift).exp());
        points(law, &CLIENTS).into_iter().zip(shifts).map(noisy).collect()
    }

    proptest! {
        #[test]
        fn a_law_is_recovered_from_its_own_points(
            (lambda, sigma, knee) in (1.0..1e6_f64, 0.0..0.9_f64, 2.0..900.0_f64)
        ) {
            let kappa = (1.0 - sigma) / (knee * knee);
            let found = Usl::of(&points(law(lambda, sigma, kappa), &CLIENTS)).unwrap();
            prop_assert!((found.lambda / lambda - 1.0).abs() < 1e-4, "{found:?}");
            prop_assert!((found.sigma - sigma).abs() < 1e-4, "{found:?}");
            let at = found.knee.unwrap();
            prop_assert!((at.at / knee - 1.0).abs() < 1e-3 && (at.peak / found.at(knee) - 1.0).abs() < 1e-3, "{at:?}");
        }

        #[test]
        fn no_coefficient_is_ever_negative(levels in prop::collection::vec(0.5..2.0_f64, 10)) {
            let points: Vec<_> = CLIENTS.into_iter().zip(levels).collect();
            if let Some(found) = Usl::of(&points) {
                prop_assert!(found.lambda > 0.0 && found.sigma >= 0.0 && found.kappa >= 0.0, "{found:?}");
            }
        }
    }

    #[test]
    fn noise_hardly_moves_the_knee_and_hardly_ever_invents_one() {
        let (turns, flattens) = (law(1000.0, 0.03, 0.97 / 1e4), law(1000.0, 0.03, 0.0));
        let near = |seed: &u64| {
            let knee = Usl::of(&noisy(turns, 0.03, *seed)).and_then(|found| found.knee);
            knee.is_some_and(|knee| (75.0..130.0).contains(&knee.at))
        };
        let has_knee =
            |seed: &u64| Usl::of(&noisy(flattens, 0.03, *seed)).is_some_and(|found| found.knee.is_some());
        let (near, has_knee) = ((0..300).filter(near).count(), (0..300).filter(has_knee).count());
        assert!(near >= 290, "{near} of 300");
        // The 5 % include both signs, and only one sign gives a knee.
        assert!(has_knee <= 15, "{has_knee} of 300");
    }

    #[test]
    fn too_few_points_and_points_off_the_law_have_no_fit() {
        let turns = law(1000.0, 0.03, 0.97 / 1e4);
        assert_eq!(Usl::of(&points(turns, &CLIENTS[..4])), None);
        let stops: Vec<_> = CLIENTS.map(|n| (n, n.min(20.0))).into();
        assert_eq!(Usl::of(&stops), None, "a linear rise that stops at 20 bends too sharply");
        let zero: Vec<_> = CLIENTS.map(|n| (n, 0.0)).into();
        assert_eq!((Usl::of(&zero), Usl::of(&[])), (None, None));
    }

    #[test]
    fn a_knee_far_from_the_points_is_not_reported() {
        let far = law(1000.0, 0.03, 0.97 / 1e4);
        let seen = |concurrencies| Usl::of(&points(far, concurrencies)).unwrap().knee;
        assert_eq!(seen(&[1.0, 2.0, 5.0, 10.0, 20.0]), None);
        assert!(seen(&[1.0, 2.0, 5.0, 10.0, 20.0, 50.0]).is_some());
        assert_eq!(seen(&[200.0, 300.0, 400.0, 500.0, 600.0]), None, "it only falls");
        let always_more = Usl::of(&points(law(1000.0, 0.0, 0.0), &CLIENTS)).unwrap();
        assert_eq!(always_more.knee, None);
        assert!((always_more.at(7.0) / 7000.0 - 1.0).abs() < 1e-9);
    }
}
