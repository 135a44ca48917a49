//! What is wrong with a dataset, or with what is asked of it.

use thiserror::Error;

use super::portion::Portion;

/// Why a dataset cannot be used.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
pub enum DatasetError {
    /// A record that is none. The line is that on which it begins, from 1 on.
    #[error("{file}:{line}: {what}")]
    Broken {
        /// The file.
        file: String,
        /// Where.
        line: u64,
        /// What is wrong there.
        what: String,
    },
    /// The file cannot be read.
    #[error("{file}: {what}")]
    Unreadable {
        /// The file.
        file: String,
        /// What the system said.
        what: String,
    },
    /// A field that the records do not have.
    #[error("{file} has no field '{field}'; it has {}", .has.join(", "))]
    NoField {
        /// The file.
        file: String,
        /// What was asked for.
        field: String,
        /// What there is.
        has: Vec<String>,
    },
    /// Something of a record where there is no dataset.
    #[error("{0} is of a dataset's record; give the file with --dataset")]
    NotGiven(Portion),
    /// A dataset that nothing is sent of.
    #[error("--dataset has no effect: no operation has a __field:NAME__ or __record__; leave it out")]
    Unused,
    /// Nothing says when a run of a workload ends of which not every operation takes a record.
    #[error("not every operation takes a record of the dataset; say with -n or --duration when the run ends")]
    NoEnd,
}

/// Something wrong at a line of a file.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) line: u64,
    pub(super) what: String,
}

impl Fault {
    pub(super) fn at(line: u64, what: impl std::fmt::Display) -> Self {
        Self { line, what: what.to_string() }
    }

    /// Of the file with this name.
    pub(super) fn of(self, file: &std::path::Path) -> DatasetError {
        DatasetError::Broken { file: file.display().to_string(), line: self.line, what: self.what }
    }
}
