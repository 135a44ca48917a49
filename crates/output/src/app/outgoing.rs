//! The files that the screen can write: exports of the session or of a segment, reports, and pictures of the screen.

use std::fmt;

use crate::{
    export::{Format, Rows},
    report,
};

/// A file to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRequest {
    /// The form of the file.
    pub form: FileForm,
    /// The segment that the file contains. `None` for the whole session.
    pub segment: Option<u32>,
    /// The name of the file.
    pub to: FileDestination,
}

/// The forms of files that are made from records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileForm {
    /// An export in this format. If the format is a table, the second field is the kind of the table's rows.
    Figures(Format, Rows),
    /// A report.
    Report(report::ReportForm),
}

/// The name of a file to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileDestination {
    /// A new file in the working directory with this name and the present time.
    Fresh(String),
    /// The file that the user named. This file must not exist yet.
    Named(String),
}

impl FileForm {
    /// Returns all forms. A format that is a table is returned once for each kind of rows.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        let rows = |format: Format| if format.has_rows() { &Rows::ALL[..] } else { &Rows::ALL[..1] };
        let reports = [report::ReportForm::Html, report::ReportForm::Markdown].map(Self::Report);
        let figures = move |format| rows(format).iter().map(move |rows| Self::Figures(format, *rows));
        Format::ALL.into_iter().flat_map(figures).chain(reports)
    }

    /// Returns the extension of a file of this form.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Figures(format, _) => format.extension,
            Self::Report(form) => form.extension(),
        }
    }

    /// Returns a short description.
    pub(super) fn about(self) -> String {
        match self {
            Self::Figures(format, rows) if format.has_rows() => {
                format!("{}; {}", rows.about(), format.about)
            }
            Self::Figures(format, _) => format.about.to_owned(),
            Self::Report(report::ReportForm::Html) => {
                "one page with charts and tables, for any browser".to_owned()
            }
            Self::Report(report::ReportForm::Text) => "the tables of the report, for a terminal".to_owned(),
            Self::Report(report::ReportForm::Markdown) => "the tables of the report, for a ticket".to_owned(),
        }
    }
}

/// Writes `csv`, `csv operations` or `report`.
impl fmt::Display for FileForm {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Figures(format, rows) if *rows == Rows::default() => f.write_str(format.name),
            Self::Figures(format, rows) => write!(f, "{} {}", format.name, rows.name()),
            Self::Report(report::ReportForm::Html) => f.write_str("report"),
            Self::Report(report::ReportForm::Markdown) => f.write_str("ticket"),
            Self::Report(report::ReportForm::Text) => f.write_str("text"),
        }
    }
}

/// Writes `segment 3 as csv` or `report of the session`.
impl fmt::Display for FileRequest {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let part =
            self.segment.map_or_else(|| "the session".to_owned(), |segment| format!("segment {segment}"));
        match self.form {
            FileForm::Figures(..) => write!(f, "{part} as {}", self.form),
            FileForm::Report(_) => write!(f, "{} of {part}", self.form),
        }
    }
}

/// A file that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenFile {
    /// The path of the file.
    pub path: String,
    /// A message about the file.
    pub message: String,
}

/// The file format of a picture of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Picture {
    /// SVG, for any browser.
    Svg,
    /// Plain text.
    Text,
}

impl Picture {
    /// Returns the extension of a file of this form.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Svg => "svg",
            Self::Text => "txt",
        }
    }
}
