//! Errors in the text of an experiment.

use std::fmt;

use thiserror::Error;

use crate::units::ParseQuantityError;

/// Why a text is not an experiment, setting, limit, script or series, and what to write instead.
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
