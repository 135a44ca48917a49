//! The steps that knobs turn by.

use super::Direction;

/// The highest rate that turning reaches; above it is "max". Typing goes on to the top of the range.
const HIGHEST_TURNED_RATE: u64 = 5_000_000;
/// How far one step turns the share of reads, in percent.
const READS_STEP: u32 = 5;

/// The next of 1, 2, 5, 10, 20, 50, … beyond `n`.
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

pub(super) fn stepped(n: u32, direction: Direction, highest: u32) -> u32 {
    u32::try_from(step_125(n.into(), direction)).unwrap_or(highest).min(highest)
}

/// The next power of two beyond `n`.
pub(super) fn doubled(n: u32, direction: Direction, highest: u32) -> u32 {
    let power = n.checked_ilog2().map_or(1, |log| 1 << log);
    match direction {
        Direction::Up => (power * 2).min(highest),
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
        (Some(rate), _) => step_125(rate.into(), direction),
    };
    u32::try_from(next).ok().filter(|next| u64::from(*next) <= HIGHEST_TURNED_RATE)
}

/// The next multiple of the step beyond `percent`.
pub(super) fn turned_percent(percent: f64, direction: Direction) -> u32 {
    let steps = percent / f64::from(READS_STEP);
    let next = match direction {
        Direction::Up => (steps + 1e-9).floor() + 1.0,
        Direction::Down => (steps - 1e-9).ceil() - 1.0,
    };
    (next.max(0.0) as u32 * READS_STEP).min(100)
}

/// The next of the weights 0, 1, 2, 5, 10, … beyond `n`.
pub(super) fn turned_weight(n: u32, direction: Direction, highest: u32) -> u32 {
    match (n, direction) {
        (0, Direction::Up) => 1,
        (0 | 1, Direction::Down) => 0,
        _ => stepped(n, direction, highest),
    }
}

/// The next tenth beyond `exponent`, a tenth at the least.
pub(super) fn turned_exponent(exponent: f64, direction: Direction, highest: f64) -> f64 {
    let tenths = exponent * 10.0;
    let next = match direction {
        Direction::Up => (tenths + 1e-9).floor() + 1.0,
        Direction::Down => (tenths - 1e-9).ceil() - 1.0,
    };
    // What was typed below a tenth is the lowest already.
    (next / 10.0).clamp(exponent.min(0.1), highest)
}
