//! Which version of a file it is that is read, over several passes and a long time.

use std::{io, os::unix::fs::MetadataExt, path::Path};

use super::{error::DatasetError, reading::unreadable};

/// Which file it is, how long, and when it was changed last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Version {
    file: (u64, u64),
    length: u64,
    changed: (i64, i64),
}

impl Version {
    /// That which the file has now.
    pub(super) fn of(file: &Path) -> Result<Self, DatasetError> {
        let now = file.metadata().map_err(unreadable(file))?;
        Ok(Self { file: (now.dev(), now.ino()), length: now.len(), changed: (now.mtime(), now.mtime_nsec()) })
    }

    /// Whether the file has it still.
    ///
    /// # Errors
    /// When it has another, or is gone.
    pub(super) fn check(self, file: &Path) -> Result<(), DatasetError> {
        let changed =
            || io::Error::other("it has changed since the start, and records of both would be mixed");
        if Self::of(file)? == self { Ok(()) } else { Err(unreadable(file)(changed())) }
    }
}
