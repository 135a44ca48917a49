//! Reads recordings for the commands that convert them. A separate thread reads the recording. So Ctrl-C also
//! ends the wait for a pipe that is silent or has no writer.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    thread,
    time::Duration,
};

use anyhow::Context as _;

use crate::{
    print::{outlet::is_broken_pipe, printer::Printer, words::warn},
    runner::Failure,
    session::{JoinedReader, ReadError, Record, SessionWriter, Sink},
    signals::Signal,
};

/// The largest number of records in the queue between the reader and the receiver.
const WAITING: usize = 32;
/// The name of the events that the reader returns in place of unreadable lines.
const RECORDING: &str = "recording";
/// The interval at which signals are checked while waiting.
const SIGNAL_CHECK_INTERVAL: Duration = Duration::from_millis(40);
const UNWRITTEN: &str = "cannot write to stdout";

/// A record, `None` at the end, or the reason why reading failed.
type RecordResult = Result<Option<Record>, ReadError>;

/// Returns the records of a recording in one or several files, in order. Waits until the first record is read. With
/// `redacts`, the records lack the private parts of the server's text.
///
/// # Errors
/// Fails if the recording cannot be read, or a signal arrives before the first record.
pub(super) fn records<'a>(
    paths: &[PathBuf],
    redacts: bool,
    signals: &'a Receiver<Signal>,
) -> Result<impl Iterator<Item = Result<Record, Failure>> + use<'a>, Failure> {
    let (sender, read) = sync_channel(WAITING);
    let paths = paths.to_owned();
    let reader = thread::Builder::new().name("reader".to_owned());
    reader.spawn(move || read_all(&paths, &sender)).context("cannot start reading")?;
    let mut records = std::iter::from_fn(move || {
        let record = next(&read, signals).transpose()?;
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

fn next(read: &Receiver<RecordResult>, signals: &Receiver<Signal>) -> Result<Option<Record>, Failure> {
    loop {
        if signals.try_recv().is_ok() {
            return Err(Failure::Interrupted);
        }
        match read.recv_timeout(SIGNAL_CHECK_INTERVAL) {
            Ok(record) => return Ok(record.map_err(anyhow::Error::from)?),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(anyhow::anyhow!("the recording was not read to its end").into());
            }
        }
    }
}

/// Sends all records, unless the receiver is gone.
fn read_all(paths: &[PathBuf], to: &SyncSender<RecordResult>) {
    let mut reader = match JoinedReader::open(paths) {
        Ok(reader) => reader,
        Err(error) => return drop(to.send(Err(error))),
    };
    loop {
        let record = reader.next_record();
        let goes_on = matches!(record, Ok(Some(_)));
        if to.send(record).is_err() || !goes_on {
            return;
        }
    }
}

/// Writes the output of `sink` for `records` to a new file, and removes the file if writing fails.
///
/// # Errors
/// Fails if a record is invalid, if the file exists already or cannot be written, or if a signal arrives.
pub(super) fn write_all(
    path: &Path,
    sink: Box<dyn Sink + Send>,
    records: impl IntoIterator<Item = Result<Record, Failure>>,
) -> Result<(), Failure> {
    let mut writer = SessionWriter::create_as(path, sink).map_err(anyhow::Error::from)?;
    let write = || {
        for record in records {
            writer.write(&record?).map_err(anyhow::Error::from)?;
        }
        writer.finish().map_err(anyhow::Error::from)?;
        Ok(())
    };
    // The error says why the file was not finished. If the removal fails too, this second error adds nothing.
    write().inspect_err(|_| drop(fs::remove_file(path)))
}

/// Prints the output of a printer for `records`, as fast as the reader of this output accepts it. No
/// measurement runs at the same time, so nothing is lost if this reader is slow.
///
/// # Errors
/// Fails if a record is invalid, if the output cannot be written, or if a signal arrives. It is no error if
/// the reader closes the output early.
pub fn print_all(
    mut printer: Printer,
    records: impl IntoIterator<Item = Result<Record, Failure>>,
    signals: &Receiver<Signal>,
) -> Result<(), Failure> {
    let out = printer.out.clone();
    let print = || {
        for record in records {
            let record = record?;
            wait(signals, || out.has_room_within(SIGNAL_CHECK_INTERVAL))?;
            printer.feed(&record).context(UNWRITTEN)?;
        }
        printer.finish().context(UNWRITTEN)?;
        wait(signals, || out.is_written_within(SIGNAL_CHECK_INTERVAL))
    };
    match print() {
        Err(Failure::Failed(error)) if is_broken_pipe(&error) => Ok(()),
        Err(Failure::Interrupted) => {
            out.give_up();
            Err(Failure::Interrupted)
        }
        printed => printed,
    }
}

fn wait(signals: &Receiver<Signal>, is_there: impl Fn() -> io::Result<bool>) -> Result<(), Failure> {
    loop {
        if signals.try_recv().is_ok() {
            return Err(Failure::Interrupted);
        }
        if is_there().context(UNWRITTEN)? {
            return Ok(());
        }
    }
}
