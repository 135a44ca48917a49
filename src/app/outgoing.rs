//! What can leave the screen for a file: the figures of the session or of one segment, in a form that other tools read, or a
//! report for people; and pictures of the screen.

use std::fmt;

use crate::{
    export::{Format, Rows},
    report,
};

/// A file that is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    /// In which form.
    pub form: Form,
    /// Of which segment alone; `None` is the whole session.
    pub segment: Option<u32>,
    /// Where to.
    pub to: Destination,
}

/// What a file is made of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Figures; of tables with what a row is of.
    Figures(Format, Rows),
    /// A report.
    Report(report::Form),
}

/// The file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// A new one in the working directory that is called so, and by the present second.
    Fresh(String),
    /// The one that a person named, which is not there yet.
    Named(String),
}

impl Form {
    /// All of them, those with rows once for each kind of these.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        let rows = |format: Format| if format.has_rows() { &Rows::ALL[..] } else { &Rows::ALL[..1] };
        let reports = [report::Form::Html, report::Form::Markdown].map(Self::Report);
        let figures = move |format| rows(format).iter().map(move |rows| Self::Figures(format, *rows));
        Format::ALL.into_iter().flat_map(figures).chain(reports)
    }

    /// What the names of its files end in.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Figures(format, _) => format.extension(),
            Self::Report(form) => form.extension(),
        }
    }

    /// What it is, in a few words.
    pub(super) fn about(self) -> String {
        match self {
            Self::Figures(format, rows) if format.has_rows() => {
                format!("{}; {}", rows.about(), format.about())
            }
            Self::Figures(format, _) => format.about().to_owned(),
            Self::Report(report::Form::Html) => "one page with charts and tables, for any browser".to_owned(),
            Self::Report(report::Form::Markdown) => "the tables of the report, for a ticket".to_owned(),
        }
    }
}

/// `csv`, `csv operations`, `report`
impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Figures(format, rows) if *rows == Rows::default() => f.write_str(format.name()),
            Self::Figures(format, rows) => write!(f, "{} {}", format.name(), rows.name()),
            Self::Report(report::Form::Html) => f.write_str("report"),
            Self::Report(report::Form::Markdown) => f.write_str("ticket"),
        }
    }
}

/// `segment 3 as csv`, `report of the session`
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
    /// Where.
    pub path: String,
    /// What to say about it.
    pub told: String,
}

/// A form of a picture of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Picture {
    /// A drawing that any browser shows.
    Svg,
    /// The characters alone.
    Text,
}

impl Picture {
    /// The extension of its file.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Svg => "svg",
            Self::Text => "txt",
        }
    }
}
