//! `redyno report FILE... -o report.html`: makes one HTML page of recordings, or text for a ticket.

use std::path::PathBuf;

use clap::Args;

use super::{
    command::{Arguments, Invocation, PlanResult},
    reading::{records, warn_of_lost, write_all},
};
use crate::{
    report::{Report, ReportForm, ReportSource},
    runner::{Failure, UsageError, end_signals, named},
    untrusted,
};

const AFTER: &str = "\
The page works without network and is interactive: you can zoom into the charts, which share one cursor. On paper \
and without JavaScript, the page shows pictures of the charts.

Several recordings are compared with the first one. Name a segment of a recording by its number: \
tuning.jsonl#3.

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
    /// The new file to write: .html for a page, .md for text
    #[arg(long, short, value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// Leave texts from the server out: arguments and clients of the slow log, error messages, addresses
    #[arg(long)]
    pub redact: bool,
}

impl Arguments for ReportArgs {
    fn plan(self: Box<Self>, _: Invocation) -> PlanResult {
        let Some(output) = self.output else {
            let text =
                "report writes a file: name it with -o, report.html for a page or report.md for a ticket";
            return Err(UsageError::of(text).into());
        };
        let Some(form) = ReportForm::of(&output) else {
            let text =
                format!("-o {}: the name must end in .html for a page or .md for text", output.display());
            return Err(UsageError::Line(text).into());
        };
        let (names, redacts) = (self.files, self.redact);
        Ok(Box::new(move || {
            let (signals, files) = (end_signals()?, files(&names));
            let open = |(file, _): &(&str, _)| records(&[file.into()], redacts, &signals);
            let recordings = files.iter().map(open).collect::<Result<Vec<_>, Failure>>()?;
            let report = Box::new(Report::of(form, sources(&files)));
            write_all(&output, report, recordings.into_iter().flatten().inspect(warn_of_lost))
        }))
    }
}

/// Returns each named file once, with the segments that the user names in that file.
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

/// Returns the names of the files in the report: without folders, unless two files have the same name.
fn sources(files: &[(&str, Vec<u32>)]) -> Vec<ReportSource> {
    let name = |file: &'_ str| untrusted::text(file.rsplit('/').next().unwrap_or_default());
    let is_one = |file: &str| files.iter().filter(|(other, _)| name(other) == name(file)).count() == 1;
    let called = |file: &str| if is_one(file) { name(file) } else { untrusted::text(file) };
    files
        .iter()
        .map(|(file, segments)| ReportSource { name: called(file), segments: segments.clone() })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_without_its_folder_if_that_name_is_unique() {
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
