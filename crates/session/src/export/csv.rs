//! Exports a session as comma-separated values (RFC 4180). If a figure has too few samples, its cell is
//! empty.

use std::borrow::Cow;

use super::{
    Format, FormatContents,
    sample_rows::{self, SampleRow},
    sheet::{Rows, Sheet, SheetRow, WORDS},
};
use crate::session::{Record, Sink, figures::FIGURES};

/// Comma-separated values: one line for each row.
pub const CSV: Format =
    Format::new("csv", "csv", "a line for each row, with named columns", FormatContents::Rows, |rows, _| {
        Box::new(Csv::of(rows))
    });

/// The writer of the CSV: a line with the names of the columns, then a line for each row.
#[derive(Debug)]
pub(super) struct Csv {
    sheet: Sheet,
    is_headed: bool,
}

impl Csv {
    pub(super) fn of(rows: Rows) -> Self {
        Self { sheet: Sheet::of(rows), is_headed: false }
    }

    fn heading(&mut self) -> Option<String> {
        if std::mem::replace(&mut self.is_headed, true) {
            return None;
        }
        let besides = sample_rows::names(self.sheet.rows);
        let of_load = || WORDS.into_iter().chain(FIGURES.iter().map(|figure| figure.name)).collect();
        let names: Vec<_> = if besides.is_empty() { of_load() } else { besides };
        Some(written(names))
    }
}

impl Sink for Csv {
    fn push(&mut self, record: &Record) -> Vec<String> {
        let mut lines: Vec<_> = self.heading().into_iter().collect();
        self.sheet.push(record, |line: &SheetRow| lines.push(written(line.cells())));
        lines.extend(SampleRow::of(self.sheet.rows, record).iter().map(|row| written(row.cells())));
        lines
    }

    fn finish(&mut self) -> Vec<String> {
        let mut lines: Vec<_> = self.heading().into_iter().collect();
        self.sheet.finish(|line| lines.push(written(line.cells())));
        lines
    }
}

/// Returns a cell that is safe in spreadsheets. A text that a spreadsheet would run as a formula, such as a malicious
/// name, gets an apostrophe in front. Numbers are not changed.
pub(super) fn inert(cell: &str) -> Cow<'_, str> {
    let is_number = || cell.parse::<f64>().is_ok_and(f64::is_finite);
    match cell.starts_with(['=', '+', '-', '@', '\t', '\r']) && !is_number() {
        true => Cow::Owned(format!("'{cell}")),
        false => Cow::Borrowed(cell),
    }
}

/// Returns the cells as a line of CSV.
fn written(cells: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    // Writing to memory, with the same number of cells in every line, cannot fail.
    let cells = cells.into_iter().map(|cell| inert(cell.as_ref()).into_owned());
    writer.write_record(cells).expect("a line of cells");
    let bytes = writer.into_inner().expect("writes to memory do not fail");
    String::from_utf8(bytes).expect("cells are text")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_formula_becomes_text_and_a_number_is_kept() {
        for formula in ["=HYPERLINK(1)", "+1+1", "-2+3", "@SUM(1)", "\t=1", "\r=1", "-", "+inf", "=1"] {
            assert_eq!(inert(formula), format!("'{formula}"));
        }
        for plain in ["-0.25", "+1", "-1e9", "0", "GET", "a=b", "'=1", ""] {
            assert_eq!(inert(plain), plain);
        }
    }
}
