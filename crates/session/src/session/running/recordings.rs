//! The files that a session is written to: exports, which go on to its end, and recordings, of which one at a time is under
//! way, begun by the command line or from the screen.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{Notice, RecordingState};
use crate::{
    session::{FileError, Record, Recording, Writer, queue::Feed},
    units, untrusted,
};

/// Where the records of a new recording are to be sent.
pub(super) type Listener = Feed<Arc<Record>>;

/// The recording under way, and those that are being ended.
#[derive(Default)]
pub(super) struct Recordings {
    current: Option<Recording>,
    /// When it began, in seconds of the session.
    since_s: f64,
    ending: Vec<Recording>,
    exports: Vec<Recording>,
    /// How much of which file of the current one the screen was told.
    told: Option<(PathBuf, u64)>,
    /// Those of which it was told that they do not take what they should.
    behind: Vec<PathBuf>,
    /// Why the first that broke off did.
    failed: Option<Arc<FileError>>,
}

impl Recordings {
    /// Starts one into `writer`, at `since_s` of the session.
    ///
    /// # Errors
    /// When the system gives no thread.
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

    /// Starts one into a new file in `folder` that is called by the `target` and the present second.
    ///
    /// # Errors
    /// In words, when one is under way or the file cannot be had.
    pub fn start_in(&mut self, folder: &Path, target: &str, since_s: f64) -> Result<Listener, String> {
        if let Some(current) = &self.current {
            return Err(format!("the session is recorded to {} already", untrusted::path(&current.path())));
        }
        let writer = Writer::fresh(folder, target).map_err(|error| error.to_string())?;
        self.start(writer, since_s).map_err(|error| format!("cannot start recording: {error}"))
    }

    /// Ends the one under way; [`look`](Self::look) tells when all is written.
    ///
    /// # Errors
    /// In words, when there is none.
    pub fn stop(&mut self) -> Result<(), String> {
        let current = self.current.take().ok_or("nothing is being recorded")?;
        current.stop();
        self.ending.push(current);
        Ok(())
    }

    /// What has become of them since the last look, and why one broke off.
    pub fn look(&mut self) -> (Vec<Notice>, Option<Arc<FileError>>) {
        let mut notices = self.look_for_losses();
        let mut broken = None;
        let has_failed = self.current.take_if(|current| current.has_ended());
        // An export has no end before the session's but a failure.
        let exports = self.exports.extract_if(.., |export| export.has_ended());
        let ended = self.ending.extract_if(.., |recording| recording.has_ended());
        let ended: Vec<_> = ended.chain(exports).chain(has_failed).collect();
        for ended in ended {
            let (path, size) = (untrusted::path(&ended.path()), units::bytes(ended.written()));
            notices.push(match ended.finish() {
                Ok(()) => Notice::Info(format!("recorded {size} to {path}; redyno replay shows it")),
                Err(error) => {
                    let is_whole = !matches!(error, FileError::Removed(_) | FileError::Changed(_));
                    let rest = if is_whole { "; what was written before is whole" } else { "" };
                    let told = format!("{error}{rest}");
                    broken = Some(Arc::new(error));
                    Notice::Warning(told)
                }
            });
        }
        self.failed = self.failed.take().or_else(|| broken.clone());
        let written = self.current.as_ref().map(|current| (current.path(), current.written()));
        if written != self.told {
            self.told.clone_from(&written);
            let since_s = self.since_s;
            notices.push(Notice::Recording(written.map(|(path, bytes)| RecordingState {
                since_s,
                file: untrusted::path(&path),
                bytes,
            })));
        }
        (notices, broken)
    }

    /// What is to be told of files that have begun not to take what they should.
    fn look_for_losses(&mut self) -> Vec<Notice> {
        let mut notices = Vec::new();
        for recording in self.exports.iter().chain(&self.current).chain(&self.ending) {
            let path = recording.path();
            if recording.lost() > 0 && !self.behind.contains(&path) {
                let told = format!("{} takes nothing: measurements are left out of it", path.display());
                notices.push(Notice::Warning(told));
                self.behind.push(path);
            }
        }
        notices
    }

    /// Waits until all is written. The session must have ended.
    ///
    /// # Errors
    /// Why one broke off, now or while the session went on.
    pub fn finish(self) -> Result<(), Arc<FileError>> {
        let rest = self.ending.into_iter().chain(self.exports).chain(self.current);
        let rest = rest.filter_map(|r| r.finish().err().map(Arc::new));
        // Each is waited for, whatever became of those before.
        let failed: Vec<_> = self.failed.into_iter().chain(rest).collect();
        failed.into_iter().next().map_or(Ok(()), Err)
    }
}
