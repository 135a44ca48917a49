//! The file of a session is a recording in JSON lines, or an export. Each record is written immediately, in one write.
//! The file is compressed with zstd if its name ends in `.zst`.
//!
//! After a `kill -9`, or if the disk is full, at most the current second is lost. redyno creates the file before the
//! session begins, so the user learns about an invalid path early. An existing file is never overwritten.

use std::{
    fs::{File, OpenOptions},
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use thiserror::Error;

use super::{
    Record, Sink,
    coalesce::LATE_S,
    file_name, fresh_file,
    lean::Lean,
    output::{FileChange, FileOutput},
};

/// The reasons why a session file cannot be written.
#[derive(Debug, Error)]
pub enum SessionFileError {
    /// A file of this name exists already.
    #[error("{0} is there already and is not overwritten; name another file, or move that one away")]
    Exists(PathBuf),
    /// The name is `-`. In other programs, this means standard output.
    #[error("'-' is not the name of a file, and redyno writes no files to standard output; name a file")]
    Dash,
    /// The file cannot be created.
    #[error("cannot write to {0}: {1}")]
    Create(PathBuf, io::Error),
    /// Another process has removed the file.
    #[error("writing to {0} failed: the file was removed")]
    Removed(PathBuf),
    /// Another process has changed the file.
    #[error("writing to {0} failed: another program changed the file, and its earlier content may be lost")]
    Changed(PathBuf),
    /// A record could not be written.
    #[error("writing to {0} failed: {1}")]
    Write(PathBuf, io::Error),
    /// The file system accepts no data, and redyno has stopped waiting.
    #[error("writing to {0} failed: nothing more could be written for 2 s")]
    Stuck(PathBuf),
    /// Records are missing from the file. The second field is the number of missing records.
    #[error("{0} is incomplete: {1} records were left out, since the disk took too long")]
    Lost(PathBuf, u64),
}

/// A file that is being written.
pub struct SessionWriter {
    path: PathBuf,
    output: FileOutput,
    sink: Box<dyn Sink + Send>,
    rotation: Option<Rotation>,
}

/// The rotation of a recording: the recording continues in a new file after some time.
struct Rotation {
    every_s: f64,
    /// The time when the next file begins, in seconds of the session.
    next_s: f64,
    /// The size of the previous files, in bytes.
    before: u64,
    folder: PathBuf,
    /// The first part of each file name (without the time), and the extension.
    name: String,
    extension: String,
}

impl SessionWriter {
    /// Creates a new recording.
    ///
    /// # Errors
    /// Fails if the file exists, or cannot be created.
    pub fn create(path: &Path) -> Result<Self, SessionFileError> {
        Self::create_as(path, Box::new(Lean))
    }

    /// Creates a new file for the output of `sink`.
    ///
    /// # Errors
    /// The errors are the same as for [`create`](Self::create).
    pub fn create_as(path: &Path, sink: Box<dyn Sink + Send>) -> Result<Self, SessionFileError> {
        let path = path.to_owned();
        if path.as_os_str() == "-" {
            return Err(SessionFileError::Dash);
        }
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => Self::into(file, path, sink),
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => Err(SessionFileError::Exists(path)),
            Err(cause) => Err(SessionFileError::Create(path, cause)),
        }
    }

    /// Creates a recording in `folder`, and creates the folder if it is missing. The file name consists of `target` and
    /// the present time.
    ///
    /// # Errors
    /// Fails if the file cannot be created.
    pub fn fresh(folder: &Path, target: &str) -> Result<Self, SessionFileError> {
        // If this fails, the creation of the file reports the cause.
        let _ = std::fs::create_dir_all(folder);
        Self::fresh_as(folder, &file_name(target), "jsonl", Box::new(Lean))
    }

    /// Creates a file for the output of `sink` in `folder`. The file name consists of `name` and the present time.
    ///
    /// # Errors
    /// Fails if the file cannot be created.
    pub fn fresh_as(
        folder: &Path,
        name: &str,
        extension: &str,
        sink: Box<dyn Sink + Send>,
    ) -> Result<Self, SessionFileError> {
        let fresh = fresh_file(folder, name, extension);
        let (path, file) = fresh.map_err(|(path, cause)| SessionFileError::Create(path, cause))?;
        Self::into(file, path, sink)
    }

    fn into(file: File, path: PathBuf, sink: Box<dyn Sink + Send>) -> Result<Self, SessionFileError> {
        match FileOutput::new(file, &path) {
            Ok(output) => Ok(Self { path, output, sink, rotation: None }),
            Err(cause) => Err(SessionFileError::Create(path, cause)),
        }
    }

    /// Returns the path of the current file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the number of bytes written to this file and the previous files.
    pub fn written(&self) -> u64 {
        self.output.written() + self.rotation.as_ref().map_or(0, |rotation| rotation.before)
    }

    /// Opens an existing device, for tests.
    #[cfg(test)]
    pub(super) fn open_existing(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().write(true).open(path)?;
        let (path, output) = (path.to_owned(), FileOutput::new(file, path)?);
        Ok(Self { path, output, sink: Box::new(Lean), rotation: None })
    }

    /// Continues the recording in a new file at each multiple of `every`, counted from the session's beginning. The
    /// name of each later file consists of this file's name and the later file's creation time.
    pub fn rotated(self, every: Duration) -> Self {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let extensions = [".jsonl.zst", ".jsonl", ".zst"];
        let extension =
            extensions.into_iter().find(|extension| name.ends_with(extension)).unwrap_or_default();
        let stem = name.strip_suffix(extension).unwrap_or(&name);
        let every_s = every.as_secs_f64();
        let rotation = Rotation {
            every_s,
            next_s: every_s,
            before: 0,
            folder: self.path.parent().map(Path::to_owned).unwrap_or_default(),
            name: without_time(stem).to_owned(),
            extension: extension.trim_start_matches('.').to_owned(),
        };
        Self { rotation: Some(rotation), ..self }
    }

    /// Returns whether a record with the time `t_s` belongs to the next file.
    pub(super) fn is_due(&self, t_s: f64) -> bool {
        self.rotation.as_ref().is_some_and(|rotation| t_s >= rotation.next_s + LATE_S)
    }

    /// Returns whether the recording has continued in a second or later file.
    pub(super) fn has_rotated(&self) -> bool {
        self.rotation.as_ref().is_some_and(|rotation| rotation.next_s > rotation.every_s)
    }

    /// Ends this file and creates the next one, at `t_s` seconds of the session. Returns the time when the
    /// new file begins.
    ///
    /// # Errors
    /// The errors are the same as for [`finish`](Self::finish) and [`create`](Self::create).
    pub(super) fn rotate(&mut self, t_s: f64) -> Result<f64, SessionFileError> {
        let Some(mut rotation) = self.rotation.take() else { return Ok(0.0) };
        rotation.before += self.finish()?;
        let fresh = fresh_file(&rotation.folder, &rotation.name, &rotation.extension);
        let (path, file) = fresh.map_err(|(path, cause)| SessionFileError::Create(path, cause))?;
        let from_s = (t_s / rotation.every_s).floor() * rotation.every_s;
        rotation.next_s = from_s + rotation.every_s;
        *self = Self { rotation: Some(rotation), ..Self::into(file, path, Box::new(Lean))? };
        Ok(from_s)
    }

    /// Appends the output for a record. Each piece of the output is one write.
    ///
    /// # Errors
    /// Fails if the system refuses a write. The file may then contain an incomplete piece. Also fails if another
    /// process has removed or changed the file.
    pub fn write(&mut self, record: &Record) -> Result<(), SessionFileError> {
        let pieces = self.sink.push(record);
        self.append(&pieces)
    }

    /// Flushes the output, so that all records so far can be read even if the program is killed.
    ///
    /// # Errors
    /// The errors are the same as for [`write`](Self::write).
    pub fn flush(&mut self) -> Result<(), SessionFileError> {
        self.output.flush().map_err(|cause| SessionFileError::Write(self.path.clone(), cause))
    }

    /// Ends the file. Appends the rest of the output, and returns the file's size in bytes.
    ///
    /// # Errors
    /// The errors are the same as for [`write`](Self::write).
    pub fn finish(&mut self) -> Result<u64, SessionFileError> {
        let pieces = self.sink.finish();
        self.append(&pieces)?;
        self.output.finish().map_err(|cause| SessionFileError::Write(self.path.clone(), cause))?;
        Ok(self.output.written())
    }

    fn append(&mut self, pieces: &[String]) -> Result<(), SessionFileError> {
        for piece in pieces {
            self.check()?;
            self.output
                .write(piece.as_bytes())
                .map_err(|cause| SessionFileError::Write(self.path.clone(), cause))?;
        }
        self.check()
    }

    /// Checks that no other process has removed or changed the file.
    fn check(&self) -> Result<(), SessionFileError> {
        match self.output.harm().map_err(|cause| SessionFileError::Write(self.path.clone(), cause))? {
            None => Ok(()),
            Some(FileChange::Removed) => Err(SessionFileError::Removed(self.path.clone())),
            Some(FileChange::Changed) => Err(SessionFileError::Changed(self.path.clone())),
        }
    }
}

/// Returns a file name without the time at its end.
fn without_time(stem: &str) -> &str {
    let is_time = |time: &&str| {
        time.len() == 15
            && time.bytes().enumerate().all(|(n, c)| if n == 8 { c == b'-' } else { c.is_ascii_digit() })
    };
    let time = stem.len().checked_sub(15).and_then(|at| stem.get(at..)).filter(is_time);
    time.and_then(|time| stem.strip_suffix(time)?.strip_suffix('-')).unwrap_or(stem)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Mark;

    #[test]
    fn records_are_lines_that_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session.jsonl");
        let record = Record::Mark(Mark { t_s: 1.5, text: "two\nlines".into() });
        let mut writer = SessionWriter::create(&path).unwrap();
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
        assert!(matches!(SessionWriter::create(&path), Err(SessionFileError::Exists(_))));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
        assert!(matches!(
            SessionWriter::create(&folder.path().join("no/such")),
            Err(SessionFileError::Create(..))
        ));
    }
}
