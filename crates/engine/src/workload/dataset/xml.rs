//! Reads datasets from XML files such as Wikipedia's abstracts. Each child of the root element is a record,
//! and each child of a record is a field.
//!
//! ```text
//! <feed>
//!   <doc><title>Wikipedia: Anarchism</title><url>https://…</url><abstract>…</abstract></doc>
//! ```
//! The value of a field is all text inside its element, with entities resolved.

use quick_xml::{Reader, escape::resolve_predefined_entity, events::Event};

use super::{
    error::RecordError,
    portion::{FieldBuffer, Portion, push_object},
    reading::Input,
};
use crate::untrusted;

/// Reads the records of an XML file.
pub(super) struct Xml {
    reader: Reader<Input>,
    buffer: Vec<u8>,
    /// The number of open elements.
    depth: usize,
    /// The names and texts of the last record's fields.
    record: Vec<(Vec<u8>, Vec<u8>)>,
}

/// The number of open elements directly inside a record. Inside a field of a record, this number is `FIELD`.
const RECORD: usize = 2;
const FIELD: usize = 3;

impl Xml {
    pub(super) fn new(input: Input) -> Self {
        Self { reader: Reader::from_reader(input), buffer: Vec::new(), depth: 0, record: Vec::new() }
    }

    pub(super) fn names(&mut self) -> Result<Vec<String>, RecordError> {
        self.read_record()?;
        Ok(self.record.iter().map(|(name, _)| untrusted::bytes(name)).collect())
    }

    /// Appends the `wanted` parts of the next record. Returns the number of the line on which the record begins.
    pub(super) fn next(
        &mut self,
        wanted: &[Portion],
        to: &mut FieldBuffer,
    ) -> Result<Option<u64>, RecordError> {
        let Some(line) = self.read_record()? else { return Ok(None) };
        for portion in wanted {
            let Some(name) = portion.field() else {
                push_object(line, self.record.iter().map(|(name, text)| (&name[..], &text[..])), to)?;
                continue;
            };
            let found = self.record.iter().find(|(known, _)| known == name.as_bytes());
            let missing = || RecordError::at(line, format!("the record has no field '{name}'"));
            to.push(&found.ok_or_else(missing)?.1);
        }
        Ok(Some(line))
    }

    /// Reads the next record. Returns the number of the line on which the record begins.
    fn read_record(&mut self) -> Result<Option<u64>, RecordError> {
        self.record.clear();
        self.reader.get_mut().begin_record();
        let mut begins = self.reader.get_ref().line;
        loop {
            self.buffer.clear();
            let line = self.reader.get_ref().line;
            let event = self.reader.read_event_into(&mut self.buffer);
            match event.map_err(|error| RecordError::at(line, error))? {
                Event::Start(tag) => {
                    self.depth += 1;
                    match self.depth {
                        RECORD => begins = line,
                        FIELD => self.record.push((tag.name().as_ref().to_vec(), Vec::new())),
                        _ => {}
                    }
                }
                Event::Empty(tag) if self.depth == RECORD => {
                    self.record.push((tag.name().as_ref().to_vec(), Vec::new()));
                }
                Event::Empty(_) if self.depth + 1 == RECORD => return Ok(Some(line)),
                Event::End(_) => {
                    self.depth -= 1;
                    if self.depth + 1 == RECORD {
                        return Ok(Some(begins));
                    }
                }
                Event::Text(text) => take(self.depth, &mut self.record, &text, line)?,
                Event::CData(text) => take(self.depth, &mut self.record, &text, line)?,
                Event::GeneralRef(name) => {
                    let one = name.resolve_char_ref().map_err(|error| RecordError::at(line, error))?;
                    let one = one.map(String::from);
                    let name = untrusted::bytes(&name);
                    let known = resolve_predefined_entity(&name);
                    let text = one.or(known.map(str::to_owned)).ok_or_else(|| {
                        RecordError::at(line, format!("the entity &{name}; is not defined"))
                    })?;
                    take(self.depth, &mut self.record, text.as_bytes(), line)?;
                }
                Event::Eof if self.depth > 0 => {
                    return Err(RecordError::at(line, "the file ends within an element"));
                }
                Event::Eof => return Ok(None),
                Event::Empty(_) | Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
            }
        }
    }
}

/// Appends `text` to the last field if the element of the field is open.
fn take(depth: usize, record: &mut [(Vec<u8>, Vec<u8>)], text: &[u8], line: u64) -> Result<(), RecordError> {
    match record.last_mut() {
        Some((_, field)) if depth >= FIELD => field.extend_from_slice(text),
        _ if text.trim_ascii().is_empty() => {}
        _ => return Err(RecordError::at(line, "there is text outside of a field")),
    }
    Ok(())
}
