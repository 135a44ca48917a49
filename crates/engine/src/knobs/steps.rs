//! The steps by which a knob becomes larger or smaller when the user presses a key.

use crate::workload::Distribution;

/// The highest rate that steps can set. The next step up sets `max`. A higher rate must be typed.
const HIGHEST_TURNED_RATE: u64 = 5_000_000;
/// By how many percentage points a step changes the share of reads.
const READS_STEP: u64 = 5;

/// The direction of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Towards lower values.
    Down,
    /// Towards higher values.
    Up,
}

impl Direction {
    /// Returns the opposite direction.
    pub fn reversed(self) -> Self {
        match self {
            Self::Down => Self::Up,
            Self::Up => Self::Down,
        }
    }
}

/// Returns the next number after `n` in this direction, in the series 1, 2, 5, 10, 20, 50, …
pub(super) fn step_125(n: u64, direction: Direction) -> u64 {
    let mut decade = 1_u64;
    while decade <= n / 10 {
        decade *= 10;
    }
    match direction {
        Direction::Up => [1, 2, 5, 10].iter().map(|d| d * decade).find(|step| *step > n).unwrap_or(n),
        Direction::Down => {
            let below = [5, 2, 1].iter().map(|d| d * decade).find(|step| *step < n);
            below.unwrap_or(decade / 2).max(1)
        }
    }
}

/// Returns the power of two that follows `n` in this direction.
pub(super) fn doubled(n: u64, direction: Direction) -> u64 {
    let power = n.checked_ilog2().map_or(1, |log| 1 << log);
    match direction {
        Direction::Up => power * 2,
        Direction::Down if power < n => power,
        Direction::Down => (power / 2).max(1),
    }
}

pub(super) fn turned_rate(rate: Option<u32>, direction: Direction, ops_per_s: Option<f64>) -> Option<u32> {
    let next = match (rate, direction) {
        (None, Direction::Up) => return None,
        (None, Direction::Down) => {
            let reached = ops_per_s.map_or(HIGHEST_TURNED_RATE, |ops| ops as u64);
            step_125(reached.clamp(2, HIGHEST_TURNED_RATE + 1), direction)
        }
        (Some(rate), Direction::Up) => step_125(rate.into(), direction),
        // A rate that the user typed can be higher than all steps.
        (Some(rate), Direction::Down) => step_125(rate.into(), direction).min(HIGHEST_TURNED_RATE),
    };
    u32::try_from(next).ok().filter(|next| u64::from(*next) <= HIGHEST_TURNED_RATE)
}

/// Returns the whole number that follows `n` in this direction.
fn next_whole(n: f64, direction: Direction) -> f64 {
    match direction {
        Direction::Up => (n + 1e-9).floor() + 1.0,
        Direction::Down => (n - 1e-9).ceil() - 1.0,
    }
}

/// Returns the multiple of [`READS_STEP`] that follows `percent` in this direction. The result is 0 or more.
pub(super) fn turned_percent(percent: f64, direction: Direction) -> u64 {
    let next = next_whole(percent / READS_STEP as f64, direction);
    next.max(0.0) as u64 * READS_STEP
}

/// Returns the next weight after `n` in this direction, in the series 0, 1, 2, 5, 10, …
pub(super) fn turned_weight(n: u64, direction: Direction) -> u64 {
    match (n, direction) {
        (0, Direction::Up) => 1,
        (0 | 1, Direction::Down) => 0,
        _ => step_125(n, direction),
    }
}

/// Returns the next multiple of 0.1 after `exponent` in this direction, at least 0.1.
pub(super) fn turned_exponent(exponent: f64, direction: Direction, highest: f64) -> f64 {
    // A typed value below 0.1 does not change with a step down.
    (next_whole(exponent * 10.0, direction) / 10.0).clamp(exponent.min(0.1), highest)
}

/// The distributions that steps can set, the usual one first. All other distributions must be typed.
pub(super) const DISTRIBUTIONS: [&str; 7] =
    ["uniform", "zipfian", "latest", "hotspot", "exponential", "gaussian", "sequential"];

/// Returns the next distribution in this direction in [`DISTRIBUTIONS`], with the same exponent. If there is no further
/// distribution in this direction, the distribution stays the same. After a distribution that is not in the list comes
/// the first distribution of the list.
pub(super) fn turned_distribution(drawn: Distribution, direction: Direction) -> Distribution {
    let at = DISTRIBUTIONS.iter().position(|name| *name == drawn.name());
    let next = at.map_or(0, |at| if direction == Direction::Up { at + 1 } else { at.saturating_sub(1) });
    let next = DISTRIBUTIONS[next.min(DISTRIBUTIONS.len() - 1)];
    if next == drawn.name() {
        return drawn;
    }
    let next = next.parse().unwrap_or(drawn);
    drawn.exponent().map_or(next, |exponent| next.with_exponent(exponent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_down_from_any_typed_rate_sets_a_lower_rate() {
        let down = |rate| turned_rate(Some(rate), Direction::Down, None);
        assert_eq!([7_000_000, 20_000_000, u32::MAX].map(down), [Some(5_000_000); 3]);
        assert_eq!(down(5_000_000), Some(2_000_000));
        let up = |rate| turned_rate(Some(rate), Direction::Up, None);
        assert_eq!([2_000_000, 5_000_000, 7_000_000].map(up), [Some(5_000_000), None, None]);
    }

    #[test]
    fn steps_go_through_the_distributions_keep_the_exponent_and_stop_at_both_ends() {
        let mut walk = vec!["zipfian 1.2".parse::<Distribution>().unwrap()];
        (0..9).for_each(|_| walk.push(turned_distribution(walk[walk.len() - 1], Direction::Up)));
        walk.dedup();
        let names: Vec<_> = walk.iter().map(ToString::to_string).collect();
        let all = ["zipfian 1.2", "latest 1.2", "hotspot 0.2 0.8", "exponential", "gaussian", "sequential"];
        assert_eq!(names, all);
        assert_eq!(turned_distribution(walk[0], Direction::Down), Distribution::Uniform);
        assert_eq!(turned_distribution(Distribution::Uniform, Direction::Down), Distribution::Uniform);
        assert_eq!(turned_distribution(Distribution::YcsbZipfian, Direction::Up), Distribution::Uniform);
    }
}
