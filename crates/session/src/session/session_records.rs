//! Returns the records of a session so far, for exports. These records can be read any number of times. In a replay,
//! the records come from the recording. In a live session, the records come from a temporary file that the session
//! writes.
//!
//! ```text
//! peer ─► thread "kept" ─► one record a second ─► unlinked file, at most 1 GiB ─► records, for exports
//! ```
//! The file of a live session is unlinked (has no name). The system therefore removes the file when the process ends.

use std::{
    fs::{File, OpenOptions},
    io::{self, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use parking_lot::Mutex;
use thiserror::Error;

use super::{
    Coalesce, Delivery, Event, JoinedReader, ReadError, Reader, Record, Sink, lean::Lean, running::Peer,
};
use crate::{events::EventKind, units, untrusted};

/// The largest size of the file. The size is enough for about a day of a load with two commands in closed loop.
const MOST_BYTES: u64 = 1 << 30;

/// The reasons why the records of a session are not available.
#[derive(Debug, Error)]
pub enum SessionRecordsError {
    /// Not all records were kept.
    #[error("not all records of this session are kept for exports ({0}); press r to record from now on")]
    Lost(String),
    /// The recording comes from a pipe, which can be read only once.
    #[error("{0} is no file, so it cannot be read a second time; replay a file")]
    NoFile(PathBuf),
    /// The records cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// The records of a session so far.
#[derive(Debug)]
pub struct SessionRecords(RecordSource);

#[derive(Debug)]
enum RecordSource {
    Recording(Vec<PathBuf>),
    Own(LiveRecords),
}

/// The records of a live session.
#[derive(Debug)]
struct LiveRecords {
    /// The file for reading, or the reason why the file could not be created. All copies of this handle share one read
    /// position.
    file: Result<File, String>,
    /// The reason why no more records are written to the file; `None` while records are written.
    trouble: Arc<Mutex<Option<String>>>,
}

impl SessionRecords {
    /// Returns the records of a replayed recording that consists of these files. `paths` must not be empty.
    pub fn recording(paths: Vec<PathBuf>) -> Self {
        Self(RecordSource::Recording(paths))
    }

    /// Writes the records that `peer` receives from now on to an unlinked file in `folder`. Creates the
    /// folder if it is missing. A failure to write the file is reported later, when the records are read.
    pub fn start(folder: &Path, peer: Peer) -> Self {
        let trouble: Arc<Mutex<_>> = Arc::default();
        let began = nameless(folder).and_then(|(file, written)| {
            let failure = Arc::clone(&trouble);
            let body = move || {
                let why = keep(&peer, Limited { file: written, left: MOST_BYTES }).err();
                *failure.lock() = why.map(|why| why.to_string());
            };
            std::thread::Builder::new().name("kept".to_owned()).spawn(body)?;
            Ok(file)
        });
        let file = began.map_err(|why| format!("{}: {why}", untrusted::path(folder)));
        Self(RecordSource::Own(LiveRecords { file, trouble }))
    }

    /// Returns the path of the recording's first file as text. Returns an empty text for a live session, because its
    /// file has no name.
    pub fn name(&self) -> String {
        match &self.0 {
            RecordSource::Recording(paths) => untrusted::path(&paths[0]),
            RecordSource::Own(_) => String::new(),
        }
    }

    /// Returns the records up to the last complete second. Only one such iterator can exist at a time, because it
    /// borrows `self`.
    ///
    /// # Errors
    /// Fails if the records cannot be read, or if some records were not kept.
    pub fn records(
        &mut self,
    ) -> Result<impl Iterator<Item = Result<Record, ReadError>>, SessionRecordsError> {
        let (mut reader, is_open) = match &self.0 {
            RecordSource::Recording(paths) => {
                if let Some(path) =
                    paths.iter().find(|path| path.metadata().is_ok_and(|about| !about.is_file()))
                {
                    return Err(SessionRecordsError::NoFile(path.clone()));
                }
                (JoinedReader::open(paths)?, false)
            }
            RecordSource::Own(own) => (JoinedReader::of(own.reader()?), true),
        };
        // A file that is still being written has no end record, and its last line may be incomplete.
        let is_wanted = move |record: &Record| {
            let cut = |event: &Event| matches!(event.what, EventKind::RecordingCut { .. });
            !is_open || !matches!(record, Record::Event(event) if cut(event))
        };
        let records = std::iter::from_fn(move || reader.next_record().transpose());
        Ok(records.filter(move |record| record.as_ref().map_or(true, &is_wanted)))
    }
}

impl LiveRecords {
    fn reader(&self) -> Result<Reader, SessionRecordsError> {
        let file = self.file.as_ref().map_err(|why| SessionRecordsError::Lost(why.clone()))?;
        if let Some(why) = &*self.trouble.lock() {
            return Err(SessionRecordsError::Lost(why.clone()));
        }
        let path = Path::new("the records of this session");
        let failed = |why| ReadError::Io(path.to_owned(), why);
        let mut file = file.try_clone().map_err(failed)?;
        file.seek(SeekFrom::Start(0)).map_err(failed)?;
        Ok(Reader::of(file, path)?)
    }
}

/// Creates an unlinked file, and returns two handles with separate positions, for reading and for writing.
fn nameless(folder: &Path) -> io::Result<(File, File)> {
    std::fs::create_dir_all(folder)?;
    let path = folder.join(format!(".kept-{}", std::process::id()));
    let written = OpenOptions::new().write(true).create_new(true).open(&path)?;
    let read = File::open(&path);
    std::fs::remove_file(&path)?;
    Ok((read?, written))
}

/// Writes the peer's records until the session is over.
fn keep(peer: &Peer, mut file: Limited) -> io::Result<()> {
    let (mut coalesce, mut lines) = (Coalesce::default(), Lean);
    for delivery in peer.rest() {
        if let Delivery::Record(record) = delivery {
            if let Record::Event(Event { what: EventKind::RecordsLost { .. }, .. }) = &*record {
                return Err(io::Error::other("the disk took too long"));
            }
            file.write_all(&coalesce.push(&record), &mut lines)?;
        }
    }
    file.write_all(&coalesce.rest(), &mut lines)
}

/// A file with a limited size.
struct Limited {
    file: File,
    left: u64,
}

impl Limited {
    fn write_all(&mut self, records: &[Arc<Record>], lines: &mut Lean) -> io::Result<()> {
        let text: String = records.iter().flat_map(|record| lines.push(record)).collect();
        let left = self.left.checked_sub(text.len() as u64);
        let too_many = || io::Error::other(format!("they are more than {}", units::bytes(MOST_BYTES)));
        self.left = left.ok_or_else(too_many)?;
        self.file.write_all(text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{Mark, ServerIdentity, SessionStart};

    fn own(folder: &Path) -> (SessionRecords, Limited) {
        let (file, written) = nameless(folder).unwrap();
        let own = LiveRecords { file: Ok(file), trouble: Arc::default() };
        (SessionRecords(RecordSource::Own(own)), Limited { file: written, left: 4096 })
    }

    fn mark(text: &str) -> Arc<Record> {
        Arc::new(Record::Mark(Mark { t_s: 1.0, text: text.to_owned() }))
    }

    #[test]
    fn kept_records_can_be_read_repeatedly_from_an_unnamed_file() {
        let folder = tempfile::tempdir().unwrap();
        let (mut kept, mut file) = own(folder.path());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        let start = Arc::new(Record::Session(SessionStart::now(ServerIdentity::default())));
        let mut lines = Lean;
        let mut all = vec![start];
        for text in ["a", "b"] {
            all.push(mark(text));
            file.write_all(&all[if text == "a" { 0 } else { 2 }..], &mut lines).unwrap();
            let read: Vec<_> = kept.records().unwrap().map(|record| Arc::new(record.unwrap())).collect();
            assert_eq!(read, all, "and that it has no end is not reported");
        }
    }

    #[test]
    fn incomplete_records_are_refused_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let (kept, mut file) = own(folder.path());
        let why = file.write_all(&[mark(&"x".repeat(5000))], &mut Lean).unwrap_err();
        let SessionRecords(RecordSource::Own(LiveRecords { trouble, .. })) = &kept else {
            panic!("{kept:?}")
        };
        *trouble.lock() = Some(why.to_string());
        let mut kept = kept;
        let error = kept.records().err().unwrap().to_string();
        assert!(
            error.contains("they are more than 1.00 GiB") && error.contains("press r to record"),
            "{error}"
        );
    }
}
