//! `redyno export FILE --format FORMAT` converts a recording for other tools.

use std::{collections::BTreeSet, path::PathBuf};

use clap::Args;

use super::{
    command::{Arguments, Invocation, PlanResult},
    reading::{end_on_signals, print_all, records, warn_of_lost, write_all},
    values::whole,
};
use crate::{
    export::{Format, PERCENTILES, Rows},
    print::{outlet::Outlet, printer::Printer, words::warn},
    runner::{Failure, UsageError},
    session::{Record, SessionStart},
};

/// Returns the help text below the options.
fn formats() -> String {
    format!(
        "Formats:\n{}\nDuring a session, --export FORMAT:FILE writes the same formats.\n\nExamples:\n  redyno \
        export tuning.jsonl --format csv --rows segments\n  redyno export tuning.jsonl --format hlog -o \
        tuning.hlog",
        Format::listed()
    )
}

/// The arguments of `redyno export`.
#[derive(Args, Debug, Clone)]
#[command(after_help = formats())]
pub struct ExportArgs {
    /// The recording, made by --record FILE
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Output format
    #[arg(long, short, value_name = "FORMAT")]
    pub format: Format,
    /// Write to a new file [default: standard output]
    #[arg(long, short, value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// The kind of rows: intervals (a row per second and segment), operations, nodes, agents, segments, probes or
    /// server
    #[arg(long, value_name = "NAME", value_parser = rows)]
    pub rows: Option<Rows>,
    /// With --format hgrm: the latencies to export, 'response', 'delivery', 'handover', 'invalidation' or the name of
    /// an operation [default: service times of all operations]
    #[arg(long, value_name = "TAG")]
    pub tag: Option<String>,
    /// If the recording has several targets: the number of the target to export, starting at 0
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole::<u16>(0..=65535))]
    pub target: u16,
    /// Remove the server's own texts from the output: error messages, addresses, and the arguments and clients in the
    /// slow log
    #[arg(long)]
    pub redact: bool,
}

impl ExportArgs {
    /// Returns the kind of rows; `None` if the rows of the format are fixed.
    fn rows(&self) -> Option<Rows> {
        self.format.has_rows().then(|| self.rows.unwrap_or_default())
    }
}

fn rows(name: &str) -> Result<Rows, String> {
    Rows::ALL.into_iter().find(|rows| rows.name() == name).ok_or_else(|| {
        let names = Rows::ALL.map(Rows::name).join(", ");
        format!("there are {names}")
    })
}

impl Arguments for ExportArgs {
    fn plan(self: Box<Self>, _: Invocation) -> PlanResult {
        let name = self.format.name;
        if self.rows.is_some() && !self.format.has_rows() {
            let text = format!(
                "--rows is for {}; leave it out with {name}, whose rows are fixed",
                Format::with_rows()
            );
            return Err(UsageError::Line(text).into());
        }
        if self.tag.is_some() && self.format != PERCENTILES {
            let text =
                format!("--tag is for hgrm; leave it out with {name}, which contains all distributions");
            return Err(UsageError::Line(text).into());
        }
        Ok(Box::new(move || run(&self)))
    }
}

/// Writes the export.
///
/// # Errors
/// Fails if the recording cannot be read or lacks the requested data, or if the export cannot be written.
fn run(args: &ExportArgs) -> Result<(), Failure> {
    let unfinished = end_on_signals()?;
    let records = records(std::slice::from_ref(&args.file), args.redact)?.inspect(warn_of_lost);
    let records = checked(records, args);
    let sink = args.format.sink_of(args.target, args.rows.unwrap_or_default(), args.tag.as_deref());
    let Some(output) = &args.output else {
        return print_all(Printer::of(sink, Outlet::stdout()), records);
    };
    write_all(output, sink, records, &unfinished)
}

/// Returns the records, beginning with the record that shows the requested target. If the recording lacks the requested
/// data, an error follows the last record.
fn checked(
    records: impl Iterator<Item = Result<Record, Failure>>,
    args: &ExportArgs,
) -> impl Iterator<Item = Result<Record, Failure>> {
    let mut had = RecordingContent::default();
    let mut has_target = false;
    let mut records = records.map(Some).chain([None]);
    std::iter::from_fn(move || {
        loop {
            let Some(record) = records.next()? else {
                let checked = had.check(args);
                had.without_rows(args).filter(|_| checked.is_ok()).iter().for_each(|line| warn(line));
                return checked.err().map(|error| Err(error.into()));
            };
            record.iter().for_each(|record| had.push(record, args));
            if !has_target && record.is_ok() {
                // The first record that is returned has the addresses of all nodes so far.
                has_target = usize::from(args.target) < had.targets();
                let session = had.session.clone().filter(|_| has_target);
                match session {
                    Some(session) => return Some(Ok(Record::Session(session))),
                    None => continue,
                }
            }
            return Some(record);
        }
    })
}

/// The content of the recording that has been read so far.
#[derive(Default)]
struct RecordingContent {
    session: Option<SessionStart>,
    /// The operations of the requested target, and the kinds of messages that its receivers got.
    operations: BTreeSet<String>,
    has_response: bool,
    /// Whether there is a row of the requested kind.
    has_row: bool,
}

impl RecordingContent {
    fn push(&mut self, record: &Record, args: &ExportArgs) {
        let target = args.target;
        self.has_row =
            self.has_row || record.is_of(target) && args.rows().is_some_and(|rows| rows.has_row_of(record));
        match record {
            Record::Session(session) => self.session = Some(session.clone()),
            Record::Interval(interval) if record.is_of(target) => {
                let messages = interval.arrivals.iter().map(|(name, _)| name);
                for name in interval.commands.keys().map(String::as_str).chain(messages) {
                    if !self.operations.contains(name) {
                        self.operations.insert(name.to_owned());
                    }
                }
                self.has_response |= interval.response.is_some();
            }
            record => drop(self.session.as_mut().map(|session| session.follow(record))),
        }
    }

    /// Returns the number of targets so far.
    fn targets(&self) -> usize {
        self.session.as_ref().map_or(0, |session| 1 + session.nodes.len())
    }

    fn check(&self, args: &ExportArgs) -> Result<(), UsageError> {
        let targets = self.targets();
        if usize::from(args.target) >= targets {
            let there = match targets {
                1 => "one, number 0".to_owned(),
                n => format!("{n} from 0 on"),
            };
            return Err(UsageError::Line(format!(
                "--target {}: the recording has no such target; it has {there}",
                args.target
            )));
        }
        match args.tag.as_deref() {
            Some("response") if !self.has_response => {
                Err(UsageError::Line("--tag response: the recording has no response times, because no segment had a rate; leave --tag out".to_owned()))
            }
            Some(tag) if tag != "response" && !self.operations.contains(tag) => {
                let names = self.operations.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
                Err(UsageError::Line(format!(
                    "--tag {tag}: the recording has no such operation; it has {names} and response"
                )))
            }
            _ => Ok(()),
        }
    }

    /// Returns a message if the recording has no row of the requested kind.
    fn without_rows(&self, args: &ExportArgs) -> Option<String> {
        let rows = args.rows().filter(|_| !self.has_row)?;
        Some(format!("--rows {}: the recording has no such row ({})", rows.name(), rows.about()))
    }
}
