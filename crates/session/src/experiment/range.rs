//! A range of values in words: `1k..50k`, `1..64 in 10`.

use super::{Dimension, WordsError};

/// From one value of a dimension to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Range {
    /// Where it begins.
    pub(super) from: u64,
    /// Where it ends, above or below.
    pub(super) to: u64,
    /// In so many steps, where that was said.
    pub(super) steps: Option<usize>,
}

impl Range {
    /// The range that the words say.
    pub(super) fn parse(dimension: Dimension, words: &str) -> Result<Self, WordsError> {
        let none = || {
            let name = dimension.name();
            WordsError::of(format!(
                "'{words}' is no range of {name}; say for example {name} 1..64, or 1..64 in 10"
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
