//! The errors of a dataset and of its use.

use thiserror::Error;

use super::portion::Portion;

/// The reason why a dataset cannot be used.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
pub enum DatasetError {
    /// A record is invalid. `line` is the number of the line on which the record begins, from 1.
    #[error("{file}:{line}: {what}")]
    Broken {
        /// The path of the file.
        file: String,
        /// The number of the line.
        line: u64,
        /// The reason why the record is invalid.
        what: String,
    },
    /// The file cannot be read.
    #[error("{file}: {what}")]
    Unreadable {
        /// The path of the file.
        file: String,
        /// The error message of the system.
        what: String,
    },
    /// A placeholder names a field that is missing in the records.
    #[error("{file} has no field '{field}'; it has {}", .has.join(", "))]
    NoField {
        /// The path of the file.
        file: String,
        /// The missing field.
        field: String,
        /// The existing fields.
        has: Vec<String>,
    },
    /// A placeholder needs a record, but no dataset is given.
    #[error("{0} needs a dataset; give the file with --dataset")]
    NotGiven(Portion),
    /// A dataset is given, but no operation uses its records.
    #[error("--dataset has no effect: no operation has a __field:NAME__ or __record__; leave it out")]
    Unused,
    /// The workload sends bodies of several records, and also parts of single records.
    #[error("{0} sends several whole records; the same workload cannot send parts of single records")]
    Mixed(Portion),
    /// Some operations of the workload use no record, so the dataset does not determine the end of the run.
    #[error("some operations use no record, so the dataset does not end the run; give -n or --duration")]
    NoEnd,
}

/// An error at a line of a file.
pub(super) struct RecordError {
    pub(super) line: u64,
    pub(super) what: String,
}

impl RecordError {
    pub(super) fn at(line: u64, what: impl std::fmt::Display) -> Self {
        Self { line, what: what.to_string() }
    }

    /// Returns the error with the name of the file.
    pub(super) fn of(self, file: &std::path::Path) -> DatasetError {
        DatasetError::Broken { file: file.display().to_string(), line: self.line, what: self.what }
    }
}
