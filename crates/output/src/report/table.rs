//! A table of a report, for the HTML page, for Markdown and for a terminal.

use std::ops::Range;

use crate::{export::markdown_text, units};

/// A row of the table.
#[derive(Debug, Clone, Default)]
pub(crate) struct TableRow {
    pub(crate) cells: Vec<String>,
    /// The segment of the row. `None` if the row is not about a single segment.
    pub(super) segment: Option<u32>,
}

impl TableRow {
    pub(super) fn of(cells: Vec<String>) -> Self {
        Self { cells, segment: None }
    }
}

/// A table with headings.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReportTable {
    pub(super) title: String,
    pub(super) headings: Vec<String>,
    /// The columns that contain numbers. All other columns contain text.
    pub(super) numbers: Range<usize>,
    pub(crate) rows: Vec<TableRow>,
    /// The note below the table.
    pub(super) note: String,
}

impl ReportTable {
    /// Creates a table without a note. The first `words` columns contain text, and all other columns contain numbers.
    pub(super) fn of(title: &str, headings: &[&str], words: usize, rows: Vec<TableRow>) -> Self {
        let numbers = words..headings.len();
        let headings = headings.iter().map(|&heading| heading.to_owned()).collect();
        Self { title: title.to_owned(), headings, numbers, rows, note: String::new() }
    }

    /// Returns the table as aligned text; empty without rows.
    pub(super) fn text(&self) -> String {
        if self.rows.is_empty() {
            return String::new();
        }
        let heading = self.headings.iter().any(|heading| !heading.is_empty()).then(|| self.headings.clone());
        let rows = self.rows.iter().map(|row| row.cells.clone());
        let lines: Vec<_> = heading.into_iter().chain(rows).collect();
        let note = if self.note.is_empty() { String::new() } else { format!("{}\n", self.note) };
        format!("{}\n{}{note}\n", self.title, units::aligned(&lines, |column| self.numbers.contains(&column)))
    }

    /// Returns the table in Markdown; empty without rows.
    pub(super) fn markdown(&self) -> String {
        if self.rows.is_empty() {
            return String::new();
        }
        let line = |cells: &[String]| {
            format!("| {} |\n", cells.iter().map(|cell| markdown_text(cell)).collect::<Vec<_>>().join(" | "))
        };
        let rule = |n: usize| if self.numbers.contains(&n) { "--:|" } else { "---|" };
        let rules: String = (0..self.headings.len()).map(rule).collect();
        let rows: String = self.rows.iter().map(|row| line(&row.cells)).collect();
        let note =
            if self.note.is_empty() { String::new() } else { format!("\n{}\n", markdown_text(&self.note)) };
        format!("### {}\n\n{}|{rules}\n{rows}{note}\n", markdown_text(&self.title), line(&self.headings))
    }
}
