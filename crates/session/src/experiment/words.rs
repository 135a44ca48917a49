//! What is wrong with the words of an experiment.

use std::fmt;

use thiserror::Error;

use crate::units::ParseQuantityError;

/// Why words are no experiment, setting, limit, script or series, and what would be one.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
#[error("{0}")]
pub struct WordsError(String);

impl WordsError {
    pub(super) fn of(reason: impl fmt::Display) -> Self {
        Self(reason.to_string())
    }
}

impl From<ParseQuantityError> for WordsError {
    fn from(error: ParseQuantityError) -> Self {
        Self::of(error)
    }
}
