//! Recordings as the commands read them that make something else of one: each on a thread of its own, so that a signal ends
//! the wait for a pipe that is silent, or that nobody writes to.

use std::{
    fs,
    io::{self, Write},
    path::Path,
    sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    thread,
    time::Duration,
};

use anyhow::Context as _;

use crate::{
    print::{outlet::is_broken_pipe, printer::Printer, words::StreamText},
    runner::Failure,
    session::{ReadError, Reader, Record, Sink, Writer},
    signals::Signal,
};

/// Records that wait to be taken.
const WAITING: usize = 32;
/// What events are called that a reader makes of what it cannot read.
const RECORDING: &str = "recording";
/// How often signals are looked for meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(40);
const UNWRITTEN: &str = "cannot write to stdout";

/// A record, nothing at the end, or why it cannot go on.
type Read = Result<Option<Record>, ReadError>;

/// The records of a recording, one after the other, once its first is read; without what is private in the server's text
/// where it `redacts`.
///
/// # Errors
/// When it cannot be read, or a signal comes first.
pub(super) fn records<'a>(
    path: &Path,
    redacts: bool,
    signals: &'a Receiver<Signal>,
) -> Result<impl Iterator<Item = Result<Record, Failure>> + use<'a>, Failure> {
    let (sender, read) = sync_channel(WAITING);
    let path = path.to_owned();
    let reader = thread::Builder::new().name("reader".to_owned());
    reader.spawn(move || read_all(&path, &sender)).context("cannot start reading")?;
    let mut records = std::iter::from_fn(move || {
        let record = next(&read, signals).transpose()?;
        Some(record.map(|record| if redacts { record.redacted() } else { record }))
    })
    .fuse();
    let first = records.next().transpose()?;
    Ok(first.map(Ok).into_iter().chain(records))
}

/// Says on stderr what of a recording is none, where nothing that is made of it has a place for that.
pub(super) fn tell_lost(record: &Result<Record, Failure>) {
    if let Ok(Record::Event(event)) = record
        && event.what.name() == RECORDING
    {
        // Without a stderr there is nobody to tell.
        let _ = writeln!(StreamText::stderr(), "redyno: {}", event.what);
    }
}

fn next(read: &Receiver<Read>, signals: &Receiver<Signal>) -> Result<Option<Record>, Failure> {
    loop {
        if signals.try_recv().is_ok() {
            return Err(Failure::Interrupted);
        }
        match read.recv_timeout(LOOK_EVERY) {
            Ok(record) => return Ok(record.map_err(anyhow::Error::from)?),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(anyhow::anyhow!("the recording was not read to its end").into());
            }
        }
    }
}

/// Hands over all of it, unless nobody takes any more.
fn read_all(path: &Path, to: &SyncSender<Read>) {
    let mut reader = match Reader::open(path) {
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

/// Writes what `sink` makes of `records` to a new file, which goes again where that fails.
///
/// # Errors
/// When a record is none, when the file is there already or cannot be written, or when a signal ends it.
pub(super) fn write_all(
    path: &Path,
    sink: Box<dyn Sink + Send>,
    records: impl IntoIterator<Item = Result<Record, Failure>>,
) -> Result<(), Failure> {
    let mut writer = Writer::create_as(path, sink).map_err(anyhow::Error::from)?;
    let write = || {
        for record in records {
            writer.write(&record?).map_err(anyhow::Error::from)?;
        }
        writer.finish().map_err(anyhow::Error::from)?;
        Ok(())
    };
    // What is said is why it was not finished; that it cannot be removed either says nothing more.
    write().inspect_err(|_| drop(fs::remove_file(path)))
}

/// Prints what a printer makes of `records`, as fast as it is taken: nothing is measured meanwhile, and nothing is lost. The
/// reader of the lines may take all the time in the world.
///
/// # Errors
/// When a record is none, when `out` takes no more, or when a signal ends it. That whoever read has had enough is none.
pub fn print_all(
    mut printer: Printer,
    records: impl IntoIterator<Item = Result<Record, Failure>>,
    signals: &Receiver<Signal>,
) -> Result<(), Failure> {
    let out = printer.out.clone();
    let print = || {
        for record in records {
            let record = record?;
            wait(signals, || out.has_room_within(LOOK_EVERY))?;
            printer.feed(&record).context(UNWRITTEN)?;
        }
        printer.finish().context(UNWRITTEN)?;
        wait(signals, || out.is_written_within(LOOK_EVERY))
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
