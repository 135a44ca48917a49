//! A ramp in a script: a knob changes in equal steps from one value to another.

use crate::experiment::{Dimension, WordsError, dimension::Range};

/// The maximum number of steps if the script does not set a number.
const STEPS: usize = 20;
/// The minimum length of a step if the script does not set a number of steps, in seconds.
const SHORTEST_S: f64 = 1.0;
/// The minimum length of any step, in seconds. The minimum is one tick, the length of a measured interval.
const TICK_S: f64 = 0.25;

/// A ramp of one knob or parameter.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ramp {
    pub(super) dimension: Dimension,
    from_s: f64,
    pub(super) to_s: f64,
    from: u64,
    to: u64,
    steps: usize,
}

impl Ramp {
    /// Parses a ramp that begins at `from_s` and ends at `to_s`.
    pub(super) fn parse(from_s: f64, to_s: f64, words: &str) -> Result<Self, WordsError> {
        let (dimension, words) = Dimension::in_words(words)?;
        let Range { from, to, steps } = Range::parse(dimension, words)?;
        let length_s = to_s - from_s;
        if length_s <= 0.0 {
            return Err(WordsError::of(format!("a ramp from {from_s} s must end later, not at {to_s} s")));
        }
        let steps = steps.unwrap_or(((length_s / SHORTEST_S) as usize).clamp(1, STEPS));
        if length_s / (steps as f64) < TICK_S {
            let text = format!(
                "{steps} steps in {length_s} s are shorter than {TICK_S} s each; give fewer steps or more time"
            );
            return Err(WordsError::of(text));
        }
        Ok(Self { dimension, from_s, to_s, from, to, steps })
    }

    /// Returns the time of each change, in seconds since the script began, and the new value. Steps with the same value
    /// after rounding are one change.
    pub(super) fn turns(&self) -> Vec<(f64, u64)> {
        let between = |from: f64, to: f64, n: usize| from + (to - from) * n as f64 / self.steps as f64;
        let turn = |n| {
            let value = between(self.from as f64, self.to as f64, n).round() as u64;
            (between(self.from_s, self.to_s, n), value)
        };
        let mut turns: Vec<_> = (0..=self.steps).map(turn).collect();
        turns.dedup_by_key(|(_, value)| *value);
        turns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turns(from_s: f64, to_s: f64, words: &str) -> Vec<(f64, u64)> {
        Ramp::parse(from_s, to_s, words).unwrap().turns()
    }

    #[test]
    fn a_ramp_goes_in_equal_steps_from_its_beginning_to_its_end() {
        let long = turns(60.0, 120.0, "rate 1k..50k");
        assert_eq!(
            (long.len(), long[0], long[1], long[20]),
            (21, (60.0, 1000), (63.0, 3450), (120.0, 50_000))
        );
        assert_eq!(
            turns(0.0, 4.5, "clients 10..2"),
            [(0.0, 10), (1.125, 8), (2.25, 6), (3.375, 4), (4.5, 2)]
        );
        assert_eq!(turns(10.0, 20.0, "rate 1..100 in 2 steps"), [(10.0, 1), (15.0, 51), (20.0, 100)]);
        assert_eq!(turns(0.0, 10.0, "pipeline 1..2"), [(0.0, 1), (5.0, 2)], "half is more");
        assert_eq!(turns(0.0, 0.5, "pipeline 1..3"), [(0.0, 1), (0.5, 3)]);
    }

    #[test]
    fn a_ramp_needs_time() {
        let error = |from_s, to_s, words| Ramp::parse(from_s, to_s, words).unwrap_err().to_string();
        assert_eq!(error(9.0, 9.0, "rate 1..5"), "a ramp from 9 s must end later, not at 9 s");
        assert_eq!(
            error(9.0, 19.0, "rate 1..5k in 41"),
            "41 steps in 10 s are shorter than 0.25 s each; give fewer steps or more time"
        );
    }
}
