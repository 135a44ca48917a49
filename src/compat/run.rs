//! How the imitated benchmarks run: a text in place of a run, a load to its end, and the reasons for an early end.

use std::{
    io::{self, Write as _},
    ops::ControlFlow,
    process::ExitCode,
    time::Duration,
};

use super::server::without_number;
use crate::{
    events::EventKind,
    print::words::StreamText,
    session::{Alone, End, Event, Interval, Record, Summary},
};

/// How often a running load is polled.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// A text that is printed in place of a run.
#[derive(Debug)]
pub struct Answer {
    /// On standard output.
    pub out: String,
    /// On standard error.
    pub err: String,
    /// The exit code.
    pub code: u8,
}

impl Answer {
    /// A text that was requested.
    pub fn of(out: String) -> Self {
        Self { out, err: String::new(), code: 0 }
    }

    /// The reason for a refusal.
    pub fn refusal(line: &str, code: u8) -> Self {
        Self { out: String::new(), err: format!("{line}\n"), code }
    }

    /// Prints it.
    pub fn give(&self) -> ExitCode {
        complain(&self.err);
        // If the help cannot be written, there is no other place for it.
        let _ = StreamText::stdout().write_all(self.out.as_bytes());
        ExitCode::from(self.code)
    }
}

/// Prints a message on standard error, unless that is gone.
pub fn complain(text: &str) {
    let mut err = StreamText::stderr();
    drop(err.write_all(text.as_bytes()).and_then(|()| err.flush()));
}

/// Why a run ends early.
#[derive(Debug)]
pub enum Stop {
    /// This message is printed on standard error.
    Message(String),
    /// The reader of the output is gone.
    Output(io::Error),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl Stop {
    /// Prints the reason; if output cannot be written, the message `unwritten`. Returns the exit code.
    pub fn end(self, unwritten: &str) -> ExitCode {
        match self {
            // The reader of our lines has closed the pipe, as `head` does.
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => return ExitCode::SUCCESS,
            Self::Output(error) => complain(&format!("{unwritten}: {error}\n")),
            Self::Message(line) => complain(&format!("{line}\n")),
        }
        ExitCode::FAILURE
    }
}

/// A report of a running load.
pub enum LoadReport<'a> {
    /// The measurements of a stretch; and the sum so far, until the load is over.
    Interval(&'a Interval, Option<&'a Summary>),
    /// The first error of a kind, with its message.
    Error(&'a str, &'a str),
}

/// Runs a load until it is over, or `heed` stops it; returns the sum. Lines about errors begin with `error`, as the tool's do.
///
/// # Errors
/// As `heed`, or when a worker dies; the load is ended in both cases.
pub fn to_its_end(
    mut alone: Alone,
    error: &str,
    mut heed: impl FnMut(LoadReport) -> Result<ControlFlow<()>, Stop>,
) -> Result<End, Stop> {
    let mut look = |record: &Record, so_far: Option<&Summary>| match record {
        Record::Interval(interval) => heed(LoadReport::Interval(interval, so_far)),
        Record::Event(Event { what: EventKind::FirstError { error, message }, .. }) => {
            heed(LoadReport::Error(error, message))
        }
        Record::Event(Event { what: EventKind::WorkerDied { cause }, .. }) => {
            Err(Stop::Message(format!("{error}: {}", without_number(cause))))
        }
        _ => Ok(ControlFlow::Continue(())),
    };
    let mut goes_on = true;
    while goes_on && !alone.is_over() {
        std::thread::sleep(LOOK_EVERY);
        for record in alone.take() {
            goes_on &= look(&record, Some(alone.summary()))?.is_continue();
        }
    }
    let mut end = None;
    for record in alone.finish() {
        // The load is over, whatever this reports.
        let _ = look(&record, None)?;
        if let Record::End(record) = record {
            end = Some(*record);
        }
    }
    Ok(end.expect("the last record of a load is its end"))
}
