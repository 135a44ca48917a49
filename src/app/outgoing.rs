//! The files that the screen can write: exports of the session or of a segment, reports, and pictures of the screen.

use std::fmt;

use crate::{
    export::{Format, Rows},
    report,
};

/// A file to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    /// The form of the file.
    pub form: Form,
    /// The segment that the file contains; `None` for the whole session.
    pub segment: Option<u32>,
    /// The name of the file.
    pub to: Destination,
}

/// The forms of files that are made from records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// An export in this format. If the format is a table, the second field is the kind of the table's rows.
    Figures(Format, Rows),
    /// A report.
    Report(report::Form),
}

/// The name of a file to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// A new file in the working directory with this name and the present time.
    Fresh(String),
    /// The file that the user named. This file must not exist yet.
    Named(String),
}

impl Form {
    /// Returns all forms. A format that is a table is returned once for each kind of rows.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        let rows = |format: Format| if format.has_rows() { &Rows::ALL[..] } else { &Rows::ALL[..1] };
        let reports = [report::Form::Html, report::Form::Markdown].map(Self::Report);
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
            Self::Report(report::Form::Html) => "one page with charts and tables, for any browser".to_owned(),
            Self::Report(report::Form::Text) => "the tables of the report, for a terminal".to_owned(),
            Self::Report(report::Form::Markdown) => "the tables of the report, for a ticket".to_owned(),
        }
    }
}

/// Writes `csv`, `csv operations` or `report`.
impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Figures(format, rows) if *rows == Rows::default() => f.write_str(format.name),
            Self::Figures(format, rows) => write!(f, "{} {}", format.name, rows.name()),
            Self::Report(report::Form::Html) => f.write_str("report"),
            Self::Report(report::Form::Markdown) => f.write_str("ticket"),
            Self::Report(report::Form::Text) => f.write_str("text"),
        }
    }
}

/// Writes `segment 3 as csv` or `report of the session`.
impl fmt::Display for Outgoing {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let part =
            self.segment.map_or_else(|| "the session".to_owned(), |segment| format!("segment {segment}"));
        match self.form {
            Form::Figures(..) => write!(f, "{part} as {}", self.form),
            Form::Report(_) => write!(f, "{} of {part}", self.form),
        }
    }
}

/// A file that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The path of the file.
    pub path: String,
    /// A message about the file.
    pub message: String,
}

/// The form of a picture of the screen.
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
