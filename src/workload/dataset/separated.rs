//! Rows of columns between commas, quoted where need be, or between tabs, never quoted; the first row names the columns.

use csv::{ByteRecord, ErrorKind, Reader, ReaderBuilder};

use super::{error::Fault, fields::Fields, input::Input};
use crate::foreign;

/// Reads rows.
pub(super) struct Separated {
    reader: Reader<Input>,
    row: ByteRecord,
    /// The places of those columns that are wanted, once that is known.
    columns: Option<Vec<usize>>,
}

impl Separated {
    pub(super) fn new(input: Input, separator: u8) -> Self {
        let mut form = ReaderBuilder::new();
        let reader = form.delimiter(separator).quoting(separator == b',').from_reader(input);
        Self { reader, row: ByteRecord::new(), columns: None }
    }

    pub(super) fn names(&mut self) -> Result<Vec<String>, Fault> {
        let line = self.reader.position().line();
        let heading = self.reader.byte_headers().map_err(|error| fault(&error, line))?;
        Ok(heading.iter().map(foreign::bytes).collect())
    }

    pub(super) fn next(&mut self, wanted: &[String], to: &mut Fields) -> Result<bool, Fault> {
        if self.columns.is_none() {
            let names = self.names()?;
            let place = |name: &String| {
                let found = names.iter().position(|known| known == name);
                found.ok_or_else(|| Fault::at(1, format!("there is no column '{name}'")))
            };
            self.columns = Some(wanted.iter().map(place).collect::<Result<_, _>>()?);
        }
        self.reader.get_mut().begin_record();
        let line = self.reader.position().line();
        let is_there = self.reader.read_byte_record(&mut self.row);
        if !is_there.map_err(|error| fault(&error, line))? {
            return Ok(false);
        }
        self.columns.iter().flatten().for_each(|column| to.push(&self.row[*column]));
        Ok(true)
    }
}

fn fault(error: &csv::Error, line: u64) -> Fault {
    match error.kind() {
        ErrorKind::UnequalLengths { pos, expected_len, len } => {
            let line = pos.as_ref().map_or(line, csv::Position::line);
            Fault::at(line, format!("the row has {len} columns, the heading {expected_len}"))
        }
        ErrorKind::Io(error) => Fault::at(line, error),
        _ => Fault::at(line, error),
    }
}
