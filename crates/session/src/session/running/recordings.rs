//! The recordings and exports of a session. An export runs until the end of the session. The command line or the screen
//! starts a recording. Only one recording runs at a time.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{Commission, Notice, RecordingState};
use crate::{
    events::EventKind,
    session::{Record, Recording, SessionFileError, SessionWriter, queue::Feed},
    units, untrusted,
};

/// The sender for the records of a new file.
pub(super) type RecordFeed = Feed<Arc<Record>>;

/// The running recording, the recordings that are ending, and the exports.
#[derive(Default)]
pub(super) struct Recordings {
    current: Option<Recording>,
    /// The start of the current recording, in seconds of the session.
    since_s: f64,
    ending: Vec<Recording>,
    exports: Vec<Recording>,
    /// Whether files contain the arguments of commands in the slow log.
    keeps_arguments: bool,
    /// Whether the queries of URL paths are removed from recordings.
    redacts: bool,
    /// The path and size of the current recording, as last reported.
    reported: Option<(PathBuf, u64)>,
    /// The files that accept no data. redyno has sent a warning about these files.
    behind: Vec<PathBuf>,
    /// The error of the first file that failed.
    failed: Option<Arc<SessionFileError>>,
}

impl Recordings {
    /// Returns an empty set of files. Recordings and exports that start later contain only the data that `commission`
    /// allows.
    pub fn of(commission: &Commission) -> Self {
        let (keeps_arguments, redacts) = (commission.keeps_arguments, commission.redacts);
        Self { keeps_arguments, redacts, ..Self::default() }
    }

    /// Starts a recording into `writer`, `since_s` seconds after the start of the session.
    ///
    /// # Errors
    /// Fails if the system cannot start a thread.
    pub fn start(&mut self, writer: SessionWriter, since_s: f64) -> std::io::Result<RecordFeed> {
        self.since_s = since_s;
        let (recording, listener) = Recording::start(writer)?;
        self.current = Some(recording);
        Ok(listener.keeping_arguments(self.keeps_arguments).redacting(self.redacts))
    }

    /// Starts an export into `writer`.
    ///
    /// # Errors
    /// Returns the errors of [`start`](Self::start).
    pub fn export(&mut self, writer: SessionWriter) -> std::io::Result<RecordFeed> {
        let (export, listener) = Recording::start(writer)?;
        self.exports.push(export);
        Ok(listener.keeping_arguments(self.keeps_arguments))
    }

    /// Starts a recording into a new file in `folder`. The file name consists of `target` and the present time.
    ///
    /// # Errors
    /// Returns a message if a recording is in progress or the file cannot be created.
    pub fn start_in(&mut self, folder: &Path, target: &str, since_s: f64) -> Result<RecordFeed, String> {
        if let Some(current) = &self.current {
            return Err(format!("the session is recorded to {} already", untrusted::path(&current.path())));
        }
        let writer = SessionWriter::fresh(folder, target).map_err(|error| error.to_string())?;
        self.start(writer, since_s).map_err(|error| format!("cannot start recording: {error}"))
    }

    /// Ends the current recording. [`poll`](Self::poll) reports when the file is complete.
    ///
    /// # Errors
    /// Returns a message if no recording is running.
    pub fn stop(&mut self) -> Result<(), String> {
        let current = self.current.take().ok_or("there is no recording to stop")?;
        current.stop();
        self.ending.push(current);
        Ok(())
    }

    /// Returns the notices since the last call, and an event about each file that failed.
    pub fn poll(&mut self) -> (Vec<Notice>, Vec<EventKind>) {
        let mut notices = self.look_for_losses();
        let mut failures = Vec::new();
        let has_failed = self.current.take_if(|current| current.has_ended());
        let ended = self.ending.extract_if(.., |recording| recording.has_ended());
        let recordings = ended.chain(has_failed).map(|ended| (ended, false));
        // An export ends only with the session, or with an error.
        let exports = self.exports.extract_if(.., |export| export.has_ended()).map(|ended| (ended, true));
        for (ended, is_export) in recordings.chain(exports).collect::<Vec<_>>() {
            let (path, size) = (untrusted::path(&ended.path()), units::bytes(ended.written()));
            notices.push(match ended.finish() {
                Ok(()) => Notice::Info(format!("recorded {size} to {path}; `redyno replay` shows it")),
                Err(error) => {
                    let is_whole =
                        !matches!(error, SessionFileError::Removed(_) | SessionFileError::Changed(_));
                    let rest = if is_whole { "; the part written before this is complete" } else { "" };
                    let cause = error.to_string();
                    let text = format!("{cause}{rest}");
                    failures.push(match is_export {
                        true => EventKind::ExportFailed { cause },
                        false => EventKind::RecordingFailed { cause },
                    });
                    self.failed.get_or_insert_with(|| Arc::new(error));
                    Notice::Warning(text)
                }
            });
        }
        let written = self.current.as_ref().map(|current| (current.path(), current.written()));
        if written != self.reported {
            self.reported.clone_from(&written);
            let since_s = self.since_s;
            notices.push(Notice::Recording(written.map(|(path, bytes)| RecordingState {
                since_s,
                file: untrusted::path(&path),
                bytes,
            })));
        }
        (notices, failures)
    }

    /// Returns warnings about files that have stopped accepting data.
    fn look_for_losses(&mut self) -> Vec<Notice> {
        let mut notices = Vec::new();
        for recording in self.exports.iter().chain(&self.current).chain(&self.ending) {
            let path = recording.path();
            if recording.lost() > 0 && !self.behind.contains(&path) {
                let shown = untrusted::path(&path);
                let text = format!("{shown} accepts no data: some measurements will be missing there");
                notices.push(Notice::Warning(text));
                self.behind.push(path);
            }
        }
        notices
    }

    /// Waits until all files are written. Call this function only after the session has ended.
    ///
    /// # Errors
    /// Returns the first error of a file, now or during the session.
    pub fn finish(self) -> Result<(), Arc<SessionFileError>> {
        let rest = self.ending.into_iter().chain(self.exports).chain(self.current);
        let rest = rest.filter_map(|r| r.finish().err().map(Arc::new));
        // All files are finished, even after one of them has failed.
        let failed: Vec<_> = self.failed.into_iter().chain(rest).collect();
        failed.into_iter().next().map_or(Ok(()), Err)
    }
}
