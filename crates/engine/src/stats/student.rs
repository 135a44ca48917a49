//! Student's t-distribution, for confidence intervals.

use std::f64::consts::FRAC_2_PI;

/// Returns the probability that a value of the distribution has an absolute value of at least `t`. `freedom` is the
/// number of degrees of freedom, at least 1. The formulas are exact (Abramowitz and Stegun, Handbook of Mathematical
/// Functions, 1964, 26.7.3 and 26.7.4).
pub(super) fn beyond(t: f64, freedom: u32) -> f64 {
    let angle = (t.abs() / f64::from(freedom).sqrt()).atan();
    let (sine, cosine) = angle.sin_cos();
    let is_even = freedom.is_multiple_of(2);
    let (mut sum, mut term) = (0.0, if is_even { 1.0 } else { cosine });
    let (mut k, square) = (if is_even { 1 } else { 2 }, cosine * cosine);
    while k < freedom {
        sum += term;
        term *= f64::from(k) / f64::from(k + 1) * square;
        k += 2;
    }
    let within = if is_even { sine * sum } else { FRAC_2_PI * (angle + sine * sum) };
    (1.0 - within).clamp(0.0, 1.0)
}

/// Returns the absolute value that a value of the distribution exceeds with the probability `chance`.
pub(super) fn limit(chance: f64, freedom: u32) -> f64 {
    falls_below(chance, |t| beyond(t, freedom))
}

/// Returns the argument at which the value of the decreasing function `falling` falls below `value`. The function must
/// be 1 at 0.
pub(super) fn falls_below(value: f64, falling: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, 1e-6);
    while falling(high) > value && high < 1e9 {
        low = high;
        high *= 2.0;
    }
    // Each halving makes the result, which is between `high / 2` and `high`, more exact; 36 of them to 1e-11 of it.
    for _ in 0..36 {
        let middle = f64::midpoint(low, high);
        if falling(middle) > value { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distribution_agrees_with_published_tables() {
        for (t, freedom, chance) in [
            (0.0, 18, 1.0),
            (1.734_064, 18, 0.1),
            (2.100_922, 18, 0.05),
            (2.878_440, 18, 0.01),
            (12.706_205, 1, 0.05),
            (4.302_653, 2, 0.05),
            (3.182_446, 3, 0.05),
            (2.776_445, 4, 0.05),
            (4.604_095, 4, 0.01),
            (2.570_582, 5, 0.05),
        ] {
            assert!((beyond(t, freedom) - chance).abs() < 1e-6, "{t}, {freedom}: {}", beyond(t, freedom));
        }
    }

    #[test]
    fn the_limit_is_exact_for_many_degrees_of_freedom() {
        for (freedom, value) in [(1, 12.706), (2, 4.303), (10, 2.228), (11, 2.201), (20, 2.086), (97, 1.985)]
        {
            assert!((limit(0.05, freedom) - value).abs() < 6e-4, "{freedom}: {}", limit(0.05, freedom));
        }
    }
}
