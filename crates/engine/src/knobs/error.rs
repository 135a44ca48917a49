//! The error of the knobs.

use std::fmt;

use thiserror::Error;

use crate::{units::ParseQuantityError, workload::WorkloadError};

/// The reason why a knob cannot have a value, or why several knobs cannot have their values together. The message also
/// says what to write instead.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
#[error("{0}")]
pub struct KnobError(String);

impl KnobError {
    pub(super) fn of(reason: impl fmt::Display) -> Self {
        Self(reason.to_string())
    }
}

impl From<WorkloadError> for KnobError {
    fn from(error: WorkloadError) -> Self {
        Self::of(error)
    }
}

impl From<ParseQuantityError> for KnobError {
    fn from(error: ParseQuantityError) -> Self {
        Self::of(error)
    }
}
