//! Sinks convert the records of a session to text: lines, a table, or an export.
//!
//! ```text
//! live ──┐
//!        ├─► records, one a second ─► Sink ─► pieces of text ─► a stream, a file
//! file ──┘
//! ```
//! A sink only returns text, and the owner of the sink writes the text. A slow output therefore never blocks the
//! session. Every sink can convert live records and the records of a file.

use super::{Event, Record, line};
use crate::events::EventKind;

/// Converts the records of a session, one after the other, to text.
pub trait Sink {
    /// Converts the next record. Returns the pieces of text to write now.
    fn push(&mut self, record: &Record) -> Vec<String>;

    /// Takes a record of another target. Findings compare the sink's target with the other targets.
    fn push_other(&mut self, record: &Record) {
        let _ = record;
    }

    /// Returns the remaining text at the end of the session, even if the session has no end record.
    fn finish(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// Returns a text in place of output that was lost at `t_s` seconds. `pieces` is the number of lost
    /// pieces. A sink whose text goes only to files returns an empty text.
    fn lost(&self, t_s: f64, pieces: u64) -> String {
        let _ = (t_s, pieces);
        String::new()
    }
}

/// The sink for JSON lines: one line for each record. The last record is `end`.
#[derive(Debug, Default)]
pub struct JsonLines;

impl Sink for JsonLines {
    fn push(&mut self, record: &Record) -> Vec<String> {
        // Encoding a record can fail only if memory is exhausted.
        line(record).into_iter().collect()
    }

    fn lost(&self, t_s: f64, pieces: u64) -> String {
        line(&Record::Event(Event::new(t_s, EventKind::OutputLost { lines: pieces }))).unwrap_or_default()
    }
}
