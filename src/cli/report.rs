//! `redyno report FILE... -o report.html`: recordings as one page, or as text for a ticket.

use std::{
    path::{Path, PathBuf},
    sync::mpsc::Receiver,
};

use clap::Args;

use super::{
    Failure, UsageError,
    compare::named,
    reading::{records, tell_lost},
};
use crate::{
    foreign,
    report::{Form, Report, Source},
    session::Writer,
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
    /// Leave out what the server said in its own words: arguments and clients in the slow log, messages of errors,
    /// addresses
    #[arg(long)]
    pub redact: bool,
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
    let files = files(&args.files);
    let open = |(file, _): &(&str, _)| records(Path::new(file), args.redact, signals);
    let recordings = files.iter().map(open).collect::<Result<Vec<_>, Failure>>()?;
    let report = Box::new(Report::of(form, sources(&files)));
    let mut writer = Writer::create_as(output, report).map_err(anyhow::Error::from)?;
    let written = (|| {
        for record in recordings.into_iter().flatten().inspect(tell_lost) {
            writer.write(&record?).map_err(anyhow::Error::from)?;
        }
        writer.finish().map_err(anyhow::Error::from)?;
        Ok(())
    })();
    // What is said is why it was not finished; that it cannot be removed either says nothing more.
    written.inspect_err(|_| drop(std::fs::remove_file(output)))
}

/// The files that are named, each once with the segments that are named of it.
fn files(names: &[String]) -> Vec<(&str, Vec<u32>)> {
    let mut files: Vec<(&str, Vec<u32>)> = Vec::new();
    for (file, segment) in names.iter().map(|name| named(name)) {
        match files.iter_mut().find(|(known, _)| *known == file) {
            Some((_, segments)) => segments.extend(segment),
            None => files.push((file, segment.into_iter().collect())),
        }
    }
    files
}

/// What they are called in a report, which others read: without folders, unless these tell two of one name apart.
fn sources(files: &[(&str, Vec<u32>)]) -> Vec<Source> {
    let name = |file: &'_ str| foreign::text(file.rsplit('/').next().unwrap_or_default());
    let is_one = |file: &str| files.iter().filter(|(other, _)| name(other) == name(file)).count() == 1;
    let called = |file: &str| if is_one(file) { name(file) } else { foreign::text(file) };
    files.iter().map(|(file, segments)| Source { name: called(file), segments: segments.clone() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_called_without_its_folder_while_that_tells_it_from_others() {
        let called = |names: &[&str]| {
            let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
            let sources = sources(&files(&names));
            sources.into_iter().map(|source| (source.name, source.segments)).collect::<Vec<_>>()
        };
        assert_eq!(
            called(&["/home/ann/a.jsonl#1", "b/c.jsonl", "/home/ann/a.jsonl#4"]),
            [("a.jsonl".to_owned(), vec![1, 4]), ("c.jsonl".to_owned(), vec![])]
        );
        assert_eq!(
            called(&["x/a.jsonl", "y/a.jsonl"]).iter().map(|one| &one.0).collect::<Vec<_>>(),
            ["x/a.jsonl", "y/a.jsonl"]
        );
    }
}
