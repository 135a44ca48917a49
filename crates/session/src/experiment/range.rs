//! A range of values as text: `1k..50k`, `1..64 in 10`.

use super::{Dimension, WordsError};

/// A range of values of a dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Range {
    /// The first value.
    pub(super) from: u64,
    /// The last value, which can be lower than the first value.
    pub(super) to: u64,
    /// The number of steps, if given.
    pub(super) steps: Option<usize>,
}

impl Range {
    /// Parses a range.
    pub(super) fn parse(dimension: Dimension, words: &str) -> Result<Self, WordsError> {
        let none = || {
            let name = dimension.name();
            WordsError::of(format!(
                "'{words}' is not a range of {name}; write for example {name} 1..64, or 1..64 in 10"
            ))
        };
        let (from, to) = words.split_once("..").ok_or_else(none)?;
        let (to, steps) = match to.split_once(" in ") {
            Some((to, steps)) => {
                let steps = steps.trim().trim_end_matches("steps").trim_end();
                (to, Some(steps.parse().ok().filter(|steps| *steps > 0).ok_or_else(none)?))
            }
            None => (to, None),
        };
        let (from, to) = (from.trim(), to.trim());
        if from.is_empty() || to.is_empty() {
            return Err(none());
        }
        Ok(Self { from: dimension.parse(from)?, to: dimension.parse(to)?, steps })
    }
}
