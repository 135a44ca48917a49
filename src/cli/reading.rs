//! Reads recordings for the commands that convert them. A signal ends these commands at once, even while they wait for
//! a silent pipe or for a pipe without a reader.

use std::{
    fs,
    path::{Path, PathBuf},
    process,
    sync::Arc,
    thread,
    time::Duration,
};

use anyhow::Context as _;
use parking_lot::Mutex;

use crate::{
    print::{outlet::is_broken_pipe, printer::Printer, words::warn},
    runner::{Failure, end_signals},
    session::{JoinedReader, Record, SessionWriter, Sink},
};

/// The name of the events that replace unreadable lines.
const RECORDING: &str = "recording";
const UNWRITTEN: &str = "cannot write to stdout";

/// The path of the file that is being written. `None` without such a file.
pub(super) type UnfinishedFile = Arc<Mutex<Option<PathBuf>>>;

/// Makes signals end the program. A signal also removes the unfinished file.
///
/// # Errors
/// Fails if the system does not allow this process to handle signals, or to start a thread.
pub(super) fn end_on_signals() -> Result<UnfinishedFile, Failure> {
    let (signals, unfinished) = (end_signals()?, UnfinishedFile::default());
    let removed = Arc::clone(&unfinished);
    let end = move || {
        if signals.recv().is_ok() {
            // If the removal fails, nothing is left to do.
            removed.lock().iter().for_each(|path| drop(fs::remove_file(path)));
            process::exit(Failure::Interrupted.exit_code().into());
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(end).context("cannot take signals")?;
    Ok(unfinished)
}

/// Returns the records of a recording in one or several files, in order. Reads the first record at once. With
/// `redacts`, private parts of the server's text are left out.
///
/// # Errors
/// Fails if the recording cannot be read.
pub(super) fn records(
    paths: &[PathBuf],
    redacts: bool,
) -> Result<impl Iterator<Item = Result<Record, Failure>> + use<>, Failure> {
    let mut reader = JoinedReader::open(paths).map_err(anyhow::Error::from)?;
    let mut records = std::iter::from_fn(move || {
        let record = reader.next_record().map_err(|error| anyhow::Error::from(error).into()).transpose()?;
        Some(record.map(|record| if redacts { record.redacted() } else { record }))
    })
    .fuse();
    let first = records.next().transpose()?;
    Ok(first.map(Ok).into_iter().chain(records))
}

/// Reports unreadable lines on stderr, for outputs that cannot contain such a report.
pub(super) fn warn_of_lost(record: &Result<Record, Failure>) {
    if let Ok(Record::Event(event)) = record
        && event.what.name() == RECORDING
    {
        warn(&event.what.to_string());
    }
}

/// Writes the output of `sink` for `records` to a new file, and removes the file if writing fails.
///
/// # Errors
/// Fails if a record is invalid, or if the file exists already or cannot be written.
pub(super) fn write_all(
    path: &Path,
    sink: Box<dyn Sink + Send>,
    records: impl IntoIterator<Item = Result<Record, Failure>>,
    unfinished: &UnfinishedFile,
) -> Result<(), Failure> {
    let mut written = unfinished.lock();
    let mut writer = SessionWriter::create_as(path, sink).map_err(anyhow::Error::from)?;
    *written = Some(path.to_owned());
    drop(written);
    let write = || {
        for record in records {
            writer.write(&record?).map_err(anyhow::Error::from)?;
        }
        writer.finish().map_err(anyhow::Error::from)?;
        *unfinished.lock() = None;
        Ok(())
    };
    // The error says why the file was not finished. If the removal fails too, this second error adds nothing.
    write().inspect_err(|_| drop(fs::remove_file(path)))
}

/// Prints the output of a printer for `records`, as fast as the reader of this output accepts it. No measurement runs
/// at the same time, so a slow reader loses nothing.
///
/// # Errors
/// Fails if a record is invalid, or if the output cannot be written. If the reader closes the output early, this is not
/// an error.
pub fn print_all(
    mut printer: Printer,
    records: impl IntoIterator<Item = Result<Record, Failure>>,
) -> Result<(), Failure> {
    let out = printer.out.clone();
    let print = || {
        for record in records {
            let record = record?;
            out.has_room_within(Duration::MAX).context(UNWRITTEN)?;
            printer.feed(&record).context(UNWRITTEN)?;
        }
        printer.finish().context(UNWRITTEN)?;
        out.is_written_within(Duration::MAX).context(UNWRITTEN)?;
        Ok(())
    };
    match print() {
        Err(Failure::Failed(error)) if is_broken_pipe(&error) => Ok(()),
        printed => printed,
    }
}
