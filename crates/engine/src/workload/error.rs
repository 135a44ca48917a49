//! Errors in a workload.

use std::fmt;

use thiserror::Error;

/// The reason why a workload's text is invalid, or why a workload cannot be run, and what to write instead.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
#[error("{0}")]
pub struct WorkloadError(String);

impl WorkloadError {
    pub(crate) fn of(reason: impl fmt::Display) -> Self {
        Self(reason.to_string())
    }
}
