//! `redyno report FILE... -o report.html`: makes one HTML page from recordings, or text for a ticket.

use std::path::PathBuf;

use clap::Args;

use super::{
    command::{Arguments, Invocation, PlanResult},
    reading::{end_on_signals, records, warn_of_lost, write_all},
};
use crate::{
    export::OneSegment,
    report::{Report, ReportForm, ReportSource},
    runner::{Failure, UsageError, named},
    session::Record,
    untrusted,
};

const AFTER: &str = "\
You can open the page without a network. You can zoom into the charts, and all charts share one cursor. If you print \
the page, or if JavaScript is off, the page shows pictures of the charts.

If you give several recordings, the report compares each of them with the first recording. Each change of a load \
setting (knob) starts a new segment of a recording. For a report of one segment, add its number to the file name: \
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
    /// Remove the server's own texts from the output: error messages, addresses, and the arguments and clients in the
    /// slow log
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
        files(&names).map_err(UsageError::Line)?;
        Ok(Box::new(move || {
            let (unfinished, mut files) = (end_on_signals()?, files(&names).map_err(UsageError::Line)?);
            let mut recordings = Vec::new();
            for file in &files {
                recordings.push(checked(records(&[file.0.into()], redacts)?, file.clone()));
            }
            let mut only = only_segment(&mut files).map(OneSegment::numbered);
            let is_wanted = |record: &Result<Record, Failure>| match (&mut only, record) {
                (Some(only), Ok(record)) => only.has(record),
                _ => true,
            };
            let records = recordings.into_iter().flatten().inspect(warn_of_lost).filter(is_wanted);
            write_all(&output, Box::new(Report::of(form, sources(&files))), records, &unfinished)
        }))
    }
}

/// A recording's file, and the segments that the user names in this file.
type RecordingFile<'a> = (&'a str, Vec<u32>);

/// Returns each named file once, with the segments that the user names in that file.
///
/// # Errors
/// Fails if a file or a segment is named twice, or if a file is named as a whole and by segment.
fn files(names: &[String]) -> Result<Vec<RecordingFile<'_>>, String> {
    let mut files: Vec<RecordingFile> = Vec::new();
    for (name, (file, segment)) in names.iter().map(|name| (name, named(name))) {
        match (files.iter_mut().find(|(known, _)| *known == file), segment) {
            (None, segment) => files.push((file, segment.into_iter().collect())),
            (Some((_, segments)), Some(segment)) if !segments.is_empty() && !segments.contains(&segment) => {
                segments.push(segment);
            }
            (Some((_, segments)), segment) if segments.is_empty() == segment.is_none() => {
                return Err(format!("{name} is named twice; name it once"));
            }
            _ => {
                return Err(format!(
                    "{file} is named as a whole and by segment; name it once, or name only its segments"
                ));
            }
        }
    }
    Ok(files)
}

/// Removes and returns the segment, if the user names exactly one segment of one file. The report then contains only
/// this segment.
fn only_segment(files: &mut [RecordingFile]) -> Option<u32> {
    match files {
        [(_, segments)] if segments.len() == 1 => segments.pop(),
        _ => None,
    }
}

/// Returns the records. If the recording lacks a named segment, an error follows the last record.
fn checked(
    records: impl Iterator<Item = Result<Record, Failure>>,
    (file, mut missing): RecordingFile<'_>,
) -> impl Iterator<Item = Result<Record, Failure>> {
    let mut records = records.map(Some).chain([None]);
    std::iter::from_fn(move || {
        let record = records.next()?;
        if let Some(Ok(Record::Segment(segment))) = &record {
            missing.retain(|number| *number != segment.segment);
        }
        let lacks = |number| {
            let file = untrusted::text(file);
            Err(anyhow::anyhow!(
                "{file} has no segment {number}; `redyno export --rows segments` lists its segments"
            )
            .into())
        };
        record.or_else(|| missing.first().map(lacks))
    })
}

/// Returns the names of the files in the report. The names have folders only if two files have the same name.
fn sources(files: &[RecordingFile]) -> Vec<ReportSource> {
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
            let sources = sources(&files(&names).unwrap());
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
