//! The files of a session: exports, which last to its end, and recordings, one at a time, begun by the command line or on the
//! screen.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{Notice, RecordingState};
use crate::{
    session::{FileError, Record, Recording, Writer, queue::Feed},
    units, untrusted,
};

/// Where records of a new recording are sent.
pub(super) type Listener = Feed<Arc<Record>>;

/// The current recording, and those that are being ended.
#[derive(Default)]
pub(super) struct Recordings {
    current: Option<Recording>,
    /// When it began, in seconds of the session.
    since_s: f64,
    ending: Vec<Recording>,
    exports: Vec<Recording>,
    /// The file and size of the current one that were last reported.
    reported: Option<(PathBuf, u64)>,
    /// Those that were reported for not accepting data.
    behind: Vec<PathBuf>,
    /// Why the first that failed did.
    failed: Option<Arc<FileError>>,
}

impl Recordings {
    /// Starts one into `writer`, at `since_s` of the session.
    ///
    /// # Errors
    /// When the system cannot start a thread.
    pub fn start(&mut self, writer: Writer, since_s: f64) -> std::io::Result<Listener> {
        self.since_s = since_s;
        let (recording, listener) = Recording::start(writer)?;
        self.current = Some(recording);
        Ok(listener)
    }

    /// Starts an export into `writer`.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn export(&mut self, writer: Writer) -> std::io::Result<Listener> {
        let (export, listener) = Recording::start(writer)?;
        self.exports.push(export);
        Ok(listener)
    }

    /// Starts one into a new file in `folder`, named after the `target` and the present second.
    ///
    /// # Errors
    /// A message, when one is in progress or the file cannot be created.
    pub fn start_in(&mut self, folder: &Path, target: &str, since_s: f64) -> Result<Listener, String> {
        if let Some(current) = &self.current {
            return Err(format!("the session is recorded to {} already", untrusted::path(&current.path())));
        }
        let writer = Writer::fresh(folder, target).map_err(|error| error.to_string())?;
        self.start(writer, since_s).map_err(|error| format!("cannot start recording: {error}"))
    }

    /// Ends the current one; [`look`](Self::look) reports when it is complete.
    ///
    /// # Errors
    /// A message, when there is none.
    pub fn stop(&mut self) -> Result<(), String> {
        let current = self.current.take().ok_or("there is no recording to stop")?;
        current.stop();
        self.ending.push(current);
        Ok(())
    }

    /// News since the last call, and why one failed.
    pub fn look(&mut self) -> (Vec<Notice>, Option<Arc<FileError>>) {
        let mut notices = self.look_for_losses();
        let mut broken = None;
        let has_failed = self.current.take_if(|current| current.has_ended());
        // An export ends only with the session, or with a failure.
        let exports = self.exports.extract_if(.., |export| export.has_ended());
        let ended = self.ending.extract_if(.., |recording| recording.has_ended());
        let ended: Vec<_> = ended.chain(exports).chain(has_failed).collect();
        for ended in ended {
            let (path, size) = (untrusted::path(&ended.path()), units::bytes(ended.written()));
            notices.push(match ended.finish() {
                Ok(()) => Notice::Info(format!("recorded {size} to {path}; redyno replay shows it")),
                Err(error) => {
                    let is_whole = !matches!(error, FileError::Removed(_) | FileError::Changed(_));
                    let rest = if is_whole { "; the records before are complete" } else { "" };
                    let text = format!("{error}{rest}");
                    broken = Some(Arc::new(error));
                    Notice::Warning(text)
                }
            });
        }
        self.failed = self.failed.take().or_else(|| broken.clone());
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
        (notices, broken)
    }

    /// Warnings about files that have stopped accepting data.
    fn look_for_losses(&mut self) -> Vec<Notice> {
        let mut notices = Vec::new();
        for recording in self.exports.iter().chain(&self.current).chain(&self.ending) {
            let path = recording.path();
            if recording.lost() > 0 && !self.behind.contains(&path) {
                let text = format!("{} accepts no data: measurements are left out of it", path.display());
                notices.push(Notice::Warning(text));
                self.behind.push(path);
            }
        }
        notices
    }

    /// Waits until everything is written. The session must have ended.
    ///
    /// # Errors
    /// Why one failed, now or during the session.
    pub fn finish(self) -> Result<(), Arc<FileError>> {
        let rest = self.ending.into_iter().chain(self.exports).chain(self.current);
        let rest = rest.filter_map(|r| r.finish().err().map(Arc::new));
        // Each is waited for, whatever happened to the ones before.
        let failed: Vec<_> = self.failed.into_iter().chain(rest).collect();
        failed.into_iter().next().map_or(Ok(()), Err)
    }
}
