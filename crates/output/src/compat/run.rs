//! Runs the load of an imitated benchmark until its end. This file also has the reasons for an early end, and texts
//! that are printed instead of a run, such as the help.

use std::{
    fmt::Display,
    io::{self, Write as _},
    ops::ControlFlow,
    process::ExitCode,
    time::Duration,
};

use super::server::without_number;
use crate::{
    events::EventKind,
    print::words::StreamText,
    session::{Event, Interval, Record, SessionEnd, StandaloneLoad, Summary},
};

/// The time between two polls of a running load.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// A text that is printed instead of a run, such as the help or an error.
#[derive(Debug)]
pub struct PrintedText {
    /// The text for standard output.
    pub out: String,
    /// The text for standard error.
    pub err: String,
    /// The exit code.
    pub code: u8,
}

impl PrintedText {
    /// Creates the printed text for a request of the user, such as `--help`.
    pub fn of(out: String) -> Self {
        Self { out, err: String::new(), code: 0 }
    }

    /// Creates the printed text for a refused command line, with the reason.
    pub fn refusal(line: &str, code: u8) -> Self {
        Self { out: String::new(), err: format!("{line}\n"), code }
    }

    /// Prints the text. Returns the exit code.
    pub fn print_text(&self) -> ExitCode {
        complain(&self.err);
        // If the help cannot be written, there is no other place for it.
        let _ = StreamText::stdout().write_all(self.out.as_bytes());
        ExitCode::from(self.code)
    }
}

/// Prints a message on standard error, unless the stream is closed.
pub fn complain(text: &str) {
    let mut err = StreamText::stderr();
    drop(err.write_all(text.as_bytes()).and_then(|()| err.flush()));
}

/// The reason why a run ends early.
pub enum EarlyEnd {
    /// This message is printed on standard error.
    Message(String),
    /// The output cannot be written. Its reader may have closed the output.
    Output(io::Error),
}

impl From<io::Error> for EarlyEnd {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl EarlyEnd {
    /// Returns an early end with this reason. The message begins with `error:`, as in memtier_benchmark.
    pub fn error(reason: impl Display) -> Self {
        Self::Message(format!("error: {reason}"))
    }

    /// Prints the reason, or the message `unwritten` if output cannot be written. Returns the exit code.
    pub fn end(self, unwritten: &str) -> ExitCode {
        match self {
            // The reader of the output has closed the pipe, as `head` does.
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => return ExitCode::SUCCESS,
            Self::Output(error) => complain(&format!("{unwritten}: {error}\n")),
            Self::Message(line) => complain(&format!("{line}\n")),
        }
        ExitCode::FAILURE
    }
}

/// A report of a running load.
pub enum LoadReport<'a> {
    /// The measurements of an interval, and the sum of all intervals so far. After the end of the load, there is no
    /// sum.
    Interval(&'a Interval, Option<&'a Summary>),
    /// The measurements of the worker with this number, requested by [`StandaloneLoad::divide_by_worker`].
    OfWorker(usize, &'a Interval),
    /// The first error of a kind, with its message.
    Error(&'a str, &'a str),
}

/// Runs a load until its end, or until `heed` stops the load. Returns the last record with the sum. `error` is the
/// beginning of the line about an error, as in the imitated tool.
///
/// # Errors
/// Fails if `heed` returns an error, or if a worker dies. The load also stops if this function fails.
pub fn run_to_end(
    mut alone: StandaloneLoad,
    error: &str,
    mut heed: impl FnMut(LoadReport) -> Result<ControlFlow<()>, EarlyEnd>,
) -> Result<SessionEnd, EarlyEnd> {
    let mut goes_on = true;
    while goes_on && !alone.is_over() {
        std::thread::sleep(POLL_INTERVAL);
        for record in alone.take() {
            let report = report(&record, Some(alone.summary()), error)?;
            goes_on &= report.map_or(Ok(ControlFlow::Continue(())), &mut heed)?.is_continue();
        }
        for (worker, interval) in alone.take_of_workers() {
            // The answer of `heed` to the figures of a single worker does not stop the load.
            let _ = heed(LoadReport::OfWorker(worker, &interval))?;
        }
    }
    alone.end_load();
    let records = alone.take();
    for (worker, interval) in alone.take_of_workers() {
        let _ = heed(LoadReport::OfWorker(worker, &interval))?;
    }
    let mut end = None;
    for record in records.into_iter().chain(alone.finish()) {
        // The load is over, so the answer of `heed` does not matter.
        let _ = report(&record, None, error)?.map(&mut heed).transpose()?;
        if let Record::End(record) = record {
            end = Some(*record);
        }
    }
    Ok(end.expect("the last record of a load is its end"))
}

/// Returns the report for a record, if the record is an interval or a first error.
///
/// # Errors
/// Fails if a worker has died.
fn report<'a>(
    record: &'a Record,
    so_far: Option<&'a Summary>,
    error: &str,
) -> Result<Option<LoadReport<'a>>, EarlyEnd> {
    match record {
        Record::Interval(interval) => Ok(Some(LoadReport::Interval(interval, so_far))),
        Record::Event(Event { what: EventKind::FirstError { error, message }, .. }) => {
            Ok(Some(LoadReport::Error(error, message)))
        }
        Record::Event(Event { what: EventKind::WorkerDied { cause }, .. }) => {
            Err(EarlyEnd::Message(format!("{error}: {}", without_number(cause))))
        }
        _ => Ok(None),
    }
}
