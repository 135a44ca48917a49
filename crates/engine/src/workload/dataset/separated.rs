//! Reads datasets from CSV and TSV files. Only the columns of CSV may be quoted. The first row contains the
//! names of the columns.
//!
//! ```text
//!  id,title ⏎ 1,"a ""b"", c" ⏎        a column that begins with a quote also ends with one: RFC 4180
//! ```
//! After a closing quote, only a comma or the end of the row is allowed. Without this rule, a missing quote would merge
//! all rows up to the next quote into one column.

use std::io::{self, BufRead};

use super::{
    error::RecordError,
    format::BOM,
    portion::{FieldBuffer, Portion, push_object},
    reading::Input,
};
use crate::untrusted;

/// Reads the rows of a CSV or TSV file.
pub(super) struct Separated {
    input: Input,
    separator: u8,
    /// Whether a column may be quoted.
    has_quotes: bool,
    /// The columns of the last row that was read.
    row: FieldBuffer,
    /// The names of the columns. `None` until the first row is read.
    names: Option<Vec<String>>,
    /// The requested columns. `None` until their positions are known.
    columns: Option<Vec<RequestedColumn>>,
}

/// A requested part of a row: one column, or all columns.
enum RequestedColumn {
    At(usize),
    All,
}

/// The end of a column: only the column ends, or also the row.
#[derive(Debug, PartialEq, Eq)]
enum ColumnEnd {
    Column,
    Row,
}

const QUOTE: u8 = b'"';

impl Separated {
    pub(super) fn new(input: Input, separator: u8) -> Self {
        let has_quotes = separator == b',';
        Self { input, separator, has_quotes, row: FieldBuffer::default(), names: None, columns: None }
    }

    pub(super) fn names(&mut self) -> Result<Vec<String>, RecordError> {
        if let Some(names) = &self.names {
            return Ok(names.clone());
        }
        if self.input.fill_buf().map_err(|error| RecordError::at(1, error))?.starts_with(BOM) {
            self.input.consume(BOM.len());
        }
        self.read_row()?;
        let names: Vec<_> = self.row.iter().map(untrusted::bytes).collect();
        Ok(self.names.insert(names).clone())
    }

    /// Appends the `wanted` parts of the next record. Returns the number of the line on which the record begins.
    pub(super) fn next(
        &mut self,
        wanted: &[Portion],
        to: &mut FieldBuffer,
    ) -> Result<Option<u64>, RecordError> {
        if self.columns.is_none() {
            let names = self.names()?;
            let column = |portion: &Portion| match portion.field() {
                None => Ok(RequestedColumn::All),
                Some(name) => {
                    let found = names.iter().position(|known| known == name);
                    let missing = || RecordError::at(1, format!("there is no column '{name}'"));
                    found.map(RequestedColumn::At).ok_or_else(missing)
                }
            };
            self.columns = Some(wanted.iter().map(column).collect::<Result<_, _>>()?);
        }
        let Some(line) = self.read_row()? else { return Ok(None) };
        let names = self.names.as_deref().unwrap_or_default();
        let (has, expected) = (self.row.count(), names.len());
        if has != expected {
            return Err(RecordError::at(
                line,
                format!("the row has {has} columns, but the heading has {expected}"),
            ));
        }
        for column in self.columns.iter().flatten() {
            match column {
                RequestedColumn::At(place) => to.push(self.row.get(*place)),
                RequestedColumn::All => {
                    push_object(line, names.iter().map(String::as_bytes).zip(self.row.iter()), to)?;
                }
            }
        }
        Ok(Some(line))
    }

    /// Reads the next row that is not empty. Returns the number of the line on which the row begins.
    fn read_row(&mut self) -> Result<Option<u64>, RecordError> {
        self.row.clear();
        let mut line = self.begin_row();
        while let Some(b'\n' | b'\r') = self.peek(line)? {
            self.input.consume(1);
            line = self.begin_row();
        }
        if self.peek(line)?.is_none() {
            return Ok(None);
        }
        loop {
            let end = if self.has_quotes && self.peek(line)? == Some(QUOTE) {
                self.read_quoted()?
            } else {
                self.read_plain().map_err(|error| RecordError::at(line, error))?
            };
            if end == ColumnEnd::Row {
                return Ok(Some(line));
            }
        }
    }

    fn begin_row(&mut self) -> u64 {
        self.input.begin_record();
        self.input.line
    }

    /// Returns the next byte.
    fn peek(&mut self, line: u64) -> Result<Option<u8>, RecordError> {
        Ok(self.input.fill_buf().map_err(|error| RecordError::at(line, error))?.first().copied())
    }

    /// Reads an unquoted column. Returns whether the row ends after this column.
    fn read_plain(&mut self) -> io::Result<ColumnEnd> {
        loop {
            let available = self.input.fill_buf()?;
            let (read, found) = match memchr::memchr3(self.separator, b'\n', b'\r', available) {
                Some(at) => (at, available.get(at).copied()),
                None => (available.len(), None),
            };
            self.row.extend(&available[..read]);
            self.input.consume(read + usize::from(found.is_some()));
            if found.is_some() || read == 0 {
                self.row.end();
                return Ok(self.ended_by(found));
            }
        }
    }

    /// Returns whether the row or only the column ends at this byte. `None` is the end of the file. CR LF counts as two
    /// row ends with an empty row between them.
    fn ended_by(&self, found: Option<u8>) -> ColumnEnd {
        if found == Some(self.separator) { ColumnEnd::Column } else { ColumnEnd::Row }
    }

    /// Reads the rest of a quoted column. Returns whether the row ends after this column.
    fn read_quoted(&mut self) -> Result<ColumnEnd, RecordError> {
        let opened = self.input.line;
        let fault = |error| {
            RecordError::at(
                opened,
                format!("{error}; the quote that opens here is not closed before that place"),
            )
        };
        self.input.consume(1);
        loop {
            let available = self.input.fill_buf().map_err(fault)?;
            if available.is_empty() {
                return Err(RecordError::at(opened, "the quote that opens here is never closed"));
            }
            let closing = memchr::memchr(QUOTE, available);
            let read = closing.unwrap_or(available.len());
            self.row.extend(&available[..read]);
            self.input.consume(read);
            if closing.is_none() {
                continue;
            }
            self.input.consume(1);
            match self.peek(opened)? {
                Some(QUOTE) => {
                    self.row.extend(&[QUOTE]);
                    self.input.consume(1);
                }
                end if end.is_none_or(|next| next == self.separator || next == b'\n' || next == b'\r') => {
                    self.input.consume(usize::from(end.is_some()));
                    self.row.end();
                    return Ok(self.ended_by(end));
                }
                _ => return Err(closed_within(opened, self.input.line)),
            }
        }
    }
}

fn closed_within(opened: u64, line: u64) -> RecordError {
    let what = "where neither a comma nor the end of the row follows";
    RecordError::at(opened, format!("the quote that opens here is closed in line {line}, {what}"))
}
