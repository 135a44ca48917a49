//! `redyno report FILE... -o report.html`: recordings as one page, or as text for a ticket.

use std::{
    path::{Path, PathBuf},
    sync::mpsc::Receiver,
};

use clap::Args;

use super::{Failure, UsageError, compare::named, replay::records};
use crate::{
    report::{Form, Report, Source},
    session::{Reader, Record, Writer},
    signals::Signal,
};

const AFTER: &str = "\
The page needs no network: charts that zoom and share one cursor, with pictures in their place on
paper and where scripts do not run.

Several recordings are compared with the first. Of one with several settings under load, the segment
that is meant is named with its number: tuning.jsonl#3.

Examples:
  redyno report tuning.jsonl -o tuning.html
  redyno report before.jsonl after.jsonl -o change.html
  redyno report tuning.jsonl -o ticket.md";

/// The arguments of `redyno report`.
#[derive(Args, Debug, Clone)]
#[command(after_help = AFTER)]
pub struct ReportArgs {
    /// The recordings, made by --record FILE
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<String>,
    /// The new file to write: .html is a page, .md is text for a ticket
    #[arg(long, short, value_name = "OUT")]
    pub output: Option<PathBuf>,
}

impl ReportArgs {
    /// Where to, in which form.
    ///
    /// # Errors
    /// When that is not said, or says no form.
    pub(super) fn check(&self) -> Result<(&Path, Form), UsageError> {
        let Some(output) = self.output.as_deref() else {
            let text =
                "report writes a file: name it with -o, report.html for a page or report.md for a ticket";
            return Err(UsageError::Line(text.to_owned()));
        };
        let form = Form::of(output).ok_or_else(|| {
            let text = format!(
                "-o {}: its name says no form; .html is a page, .md is text for a ticket",
                output.display()
            );
            UsageError::Line(text)
        });
        Ok((output, form?))
    }
}

/// Writes the report.
///
/// # Errors
/// When a recording cannot be read, when the file is there already or cannot be written, or when a signal ends it.
pub(super) fn run(args: &ReportArgs, signals: &Receiver<Signal>) -> Result<(), Failure> {
    let (output, form) = args.check()?;
    let files: Vec<_> = args.files.iter().map(|name| named(name)).collect();
    let readers =
        files.iter().map(|(file, _)| Ok(Reader::open(Path::new(file)).map_err(anyhow::Error::from)?));
    let readers = readers.collect::<Result<Vec<_>, Failure>>()?;
    let sources =
        files.iter().map(|(file, segment)| Source { name: (*file).to_owned(), segment: *segment }).collect();
    let mut writer =
        Writer::create_as(output, Box::new(Report::of(form, sources))).map_err(anyhow::Error::from)?;
    let written = (|| {
        for reader in readers {
            records(reader).try_for_each(|record| add(&mut writer, &record?, signals))?;
        }
        writer.finish().map_err(anyhow::Error::from)?;
        Ok(())
    })();
    // What is said is why it was not finished; that it cannot be removed either says nothing more.
    written.inspect_err(|_| drop(std::fs::remove_file(output)))
}

fn add(writer: &mut Writer, record: &Record, signals: &Receiver<Signal>) -> Result<(), Failure> {
    if signals.try_recv().is_ok() {
        return Err(Failure::Interrupted);
    }
    Ok(writer.write(record).map_err(anyhow::Error::from)?)
}
