//! How the stand-ins for benchmarks run: what is said in place of a run, a load to its end, and why it may end before.

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

/// How often a load is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// What is said in place of a run.
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
    /// What was asked for.
    pub fn of(out: String) -> Self {
        Self { out, err: String::new(), code: 0 }
    }

    /// Why there is no run.
    pub fn refusal(line: &str, code: u8) -> Self {
        Self { out: String::new(), err: format!("{line}\n"), code }
    }

    /// Says it.
    pub fn give(&self) -> ExitCode {
        complain(&self.err);
        // A help that cannot be written has no other place to go.
        let _ = StreamText::stdout().write_all(self.out.as_bytes());
        ExitCode::from(self.code)
    }
}

/// Says something on standard error. If that is gone, there is nothing to say it on.
pub fn complain(text: &str) {
    let mut err = StreamText::stderr();
    drop(err.write_all(text.as_bytes()).and_then(|()| err.flush()));
}

/// Why a run ends before its end.
#[derive(Debug)]
pub enum Stop {
    /// This is printed on standard error.
    Told(String),
    /// Nobody takes what is written.
    Output(io::Error),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl Stop {
    /// Says it: of output that nobody takes, that it is `unwritten`. The exit code.
    pub fn end(self, unwritten: &str) -> ExitCode {
        match self {
            // Whoever read our lines has had enough, as `head` does.
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => return ExitCode::SUCCESS,
            Self::Output(error) => complain(&format!("{unwritten}: {error}\n")),
            Self::Told(line) => complain(&format!("{line}\n")),
        }
        ExitCode::FAILURE
    }
}

/// What a load says while it runs.
pub enum LoadReport<'a> {
    /// What was measured in a stretch; and the sum so far, while it is not over.
    Interval(&'a Interval, Option<&'a Summary>),
    /// The first error of a kind, and its message.
    Error(&'a str, &'a str),
}

/// Runs a load until it is over, or `heed` breaks it off; the sum of all. Lines of errors begin with `error`, as the tool has it.
///
/// # Errors
/// As `heed`, or when a worker dies; the load is ended then.
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
            Err(Stop::Told(format!("{error}: {}", without_number(cause))))
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
        // It is over, whatever this says.
        let _ = look(&record, None)?;
        if let Record::End(record) = record {
            end = Some(*record);
        }
    }
    Ok(end.expect("the last record of a load is its end"))
}
