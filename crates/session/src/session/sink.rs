//! Sinks, which turn a session's records into text: lines, a table, an export.
//!
//! ```text
//! live ──┐
//!        ├─► records, one a second ─► Sink ─► pieces of text ─► a stream, a file
//! file ──┘
//! ```
//! A sink writes nothing itself: its owner has the output, and never blocks on it. So every sink works with live
//! records and with the records of a file.

use super::{Event, Record, line};
use crate::events::EventKind;

/// A fold over the records of a session that returns text to write.
pub trait Sink {
    /// Takes the next record; returns the text to write now.
    fn push(&mut self, record: &Record) -> Vec<String>;

    /// Ends the session, with or without an end record; returns the rest of the text.
    fn finish(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the text at `t_s` in place of this number of lost pieces. It is empty for sinks that only write files.
    fn lost(&self, t_s: f64, pieces: u64) -> String {
        let _ = (t_s, pieces);
        String::new()
    }
}

/// The records themselves, as JSON lines; the last one is the `end` record.
#[derive(Debug, Default)]
pub struct JsonLines;

impl Sink for JsonLines {
    fn push(&mut self, record: &Record) -> Vec<String> {
        // Encoding a record can only fail for lack of memory.
        line(record).into_iter().collect()
    }

    fn lost(&self, t_s: f64, pieces: u64) -> String {
        line(&Record::Event(Event::new(t_s, EventKind::OutputLost { lines: pieces }))).unwrap_or_default()
    }
}
