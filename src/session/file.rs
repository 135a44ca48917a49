//! A file that a session is written to: one JSON record a line, or the form of an export, each piece written whole as soon
//! as it is there.
//!
//! kill -9, a dropped line or a full disk cost at most the second that is under way. The file is opened before the
//! session begins, so a bad path fails early, and an earlier recording is never overwritten.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use thiserror::Error;

use super::{Record, Sink, file_name, fresh_file, lean::Lean};

/// Why a session file cannot be written.
#[derive(Debug, Error)]
pub enum FileError {
    /// There is a file of that name.
    #[error("{0} is there already; no file is ever overwritten: name another, or move that one away")]
    Exists(PathBuf),
    /// The file cannot be created.
    #[error("cannot write to {0}: {1}")]
    Create(PathBuf, io::Error),
    /// Nobody finds what is written any more.
    #[error("recording to {0} failed: the file was removed")]
    Removed(PathBuf),
    /// A record could not be written.
    #[error("recording to {0} failed: {1}")]
    Write(PathBuf, io::Error),
}

/// A file that is being written.
pub struct Writer {
    path: PathBuf,
    file: File,
    written: u64,
    sink: Box<dyn Sink + Send>,
}

impl Writer {
    /// Creates a new session file.
    ///
    /// # Errors
    /// When it exists, or cannot be created.
    pub fn create(path: &Path) -> Result<Self, FileError> {
        Self::create_as(path, Box::<Lean>::default())
    }

    /// Creates a new file of what `sink` makes of the records.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub fn create_as(path: &Path, sink: Box<dyn Sink + Send>) -> Result<Self, FileError> {
        let path = path.to_owned();
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => Ok(Self { path, file, written: 0, sink }),
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => Err(FileError::Exists(path)),
            Err(cause) => Err(FileError::Create(path, cause)),
        }
    }

    /// Creates a session file in `folder`, which is made if it is not there, that is called by the `target` and the present
    /// second.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn fresh(folder: &Path, target: &str) -> Result<Self, FileError> {
        // Whether it is there now is told with the file.
        let _ = std::fs::create_dir_all(folder);
        Self::fresh_as(folder, &file_name(target), "jsonl", Box::<Lean>::default())
    }

    /// Creates a file in `folder` that is called by `name` and the present second, of what `sink` makes of the records.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn fresh_as(
        folder: &Path,
        name: &str,
        extension: &str,
        sink: Box<dyn Sink + Send>,
    ) -> Result<Self, FileError> {
        let fresh = fresh_file(folder, name, extension);
        let (path, file) = fresh.map_err(|(path, cause)| FileError::Create(path, cause))?;
        Ok(Self { path, file, written: 0, sink })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes written to it.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// A device that is there already, for tests.
    #[cfg(test)]
    pub(super) fn open_existing(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().write(true).open(path)?;
        Ok(Self { path: path.to_owned(), file, written: 0, sink: Box::<Lean>::default() })
    }

    /// Appends what becomes of a record, each piece in one write.
    ///
    /// # Errors
    /// When the system refuses, and a part of a piece may stand in the file then; when the file was removed.
    pub fn write(&mut self, record: &Record) -> Result<(), FileError> {
        let pieces = self.sink.push(record);
        self.append(&pieces)
    }

    /// Appends what is still to be written at the end; how many bytes it has come to.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn finish(mut self) -> Result<u64, FileError> {
        let pieces = self.sink.finish();
        self.append(&pieces)?;
        Ok(self.written)
    }

    fn append(&mut self, pieces: &[String]) -> Result<(), FileError> {
        let error = |cause| FileError::Write(self.path.clone(), cause);
        for piece in pieces {
            self.file.write_all(piece.as_bytes()).map_err(error)?;
            if self.file.metadata().map_err(error)?.nlink() == 0 {
                return Err(FileError::Removed(self.path.clone()));
            }
            self.written += piece.len() as u64;
        }
        Ok(())
    }
}

/// A record as its line of JSON, with the line's end.
///
/// # Errors
/// When a distribution cannot be encoded, for lack of memory.
pub fn line(record: &Record) -> serde_json::Result<String> {
    let mut line = serde_json::to_string(record)?;
    line.push('\n');
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{Mark, Record};

    #[test]
    fn records_are_lines_that_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session.jsonl");
        let record = Record::Mark(Mark { t_s: 1.5, text: "two\nlines".into() });
        let mut writer = Writer::create(&path).unwrap();
        writer.write(&record).unwrap();
        writer.write(&record).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let back: Vec<Record> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(back, [record.clone(), record]);
    }

    #[test]
    fn an_earlier_recording_is_never_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session.jsonl");
        std::fs::write(&path, "precious").unwrap();
        assert!(matches!(Writer::create(&path), Err(FileError::Exists(_))));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
        assert!(matches!(Writer::create(&folder.path().join("no/such")), Err(FileError::Create(..))));
    }
}
