//! Reads the records of a dataset from a file of JSON lines: each line is a record. redyno sends a string
//! field as its text, and any other field as its JSON.

use std::{collections::BTreeMap, io::BufRead};

use serde_json::value::RawValue;

use super::{
    error::RecordError,
    format::BOM,
    portion::{FieldBuffer, Portion},
    reading::Input,
};

/// Reads a file of JSON lines.
pub(super) struct JsonRecords {
    input: Input,
    line: Vec<u8>,
}

type Object<'a> = BTreeMap<String, &'a RawValue>;

impl JsonRecords {
    pub(super) fn new(input: Input) -> Self {
        Self { input, line: Vec::new() }
    }

    pub(super) fn names(&mut self) -> Result<Vec<String>, RecordError> {
        let Some(number) = self.read_line()? else { return Ok(Vec::new()) };
        Ok(object(&self.line, number)?.into_keys().collect())
    }

    /// Appends the `wanted` parts of the next record. Returns the number of the line on which the record begins.
    pub(super) fn next(
        &mut self,
        wanted: &[Portion],
        to: &mut FieldBuffer,
    ) -> Result<Option<u64>, RecordError> {
        let Some(number) = self.read_line()? else { return Ok(None) };
        let object = object(&self.line, number)?;
        for portion in wanted {
            let Some(name) = portion.field() else {
                to.push(self.line.trim_ascii_start());
                continue;
            };
            let missing = || RecordError::at(number, format!("the record has no field '{name}'"));
            let value = object.get(name).ok_or_else(missing)?.get();
            if value.starts_with('"') {
                let text: String = serde_json::from_str(value).map_err(|error| fault(&error, number))?;
                to.push(text.as_bytes());
            } else {
                to.push(value.as_bytes());
            }
        }
        Ok(Some(number))
    }

    /// Reads the next line that is not empty. Returns the number of the line.
    fn read_line(&mut self) -> Result<Option<u64>, RecordError> {
        loop {
            let number = self.input.line;
            self.input.begin_record();
            self.line.clear();
            let read = self.input.read_until(b'\n', &mut self.line);
            if read.map_err(|error| RecordError::at(number, error))? == 0 {
                return Ok(None);
            }
            if number == 1 && self.line.starts_with(BOM) {
                self.line.drain(..BOM.len());
            }
            self.line.truncate(self.line.trim_ascii_end().len());
            if !self.line.is_empty() {
                return Ok(Some(number));
            }
        }
    }
}

fn object(line: &[u8], number: u64) -> Result<Object<'_>, RecordError> {
    serde_json::from_slice(line).map_err(|error| fault(&error, number))
}

fn fault(error: &serde_json::Error, line: u64) -> RecordError {
    let text = error.to_string();
    // serde_json counts lines from the beginning of the record, so its line number is always 1.
    let what = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what);
    RecordError::at(line, format!("not a JSON object, at column {}: {what}", error.column()))
}
