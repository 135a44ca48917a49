//! The errors of a workload. An error says what is wrong in a workload file or option, and where.

use std::fmt;

use thiserror::Error;

/// The reason why the text of a workload is invalid or the workload cannot be run. The message also says what
/// to write instead.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
#[error("{reason}")]
pub struct WorkloadError {
    pub(super) reason: String,
    /// The parameter with an invalid value; `None` if the error is not about the value of one parameter.
    pub parameter: Option<String>,
}

impl WorkloadError {
    /// Creates the error with this message. For a message with arguments, use `invalid!` instead.
    pub(crate) fn of(reason: impl fmt::Display) -> Self {
        Self { reason: reason.to_string(), parameter: None }
    }
}

/// Creates a [`WorkloadError`] from a format and its arguments.
macro_rules! invalid {
    ($($format:tt)+) => { $crate::workload::WorkloadError::of(format_args!($($format)+)) };
}
