//! What makes something to be written of a session's records: lines, a table, an export.
//!
//! ```text
//! live ──┐
//!        ├─► records, a second each ─► Sink ─► pieces of text ─► a stream, a file
//! file ──┘
//! ```
//! A sink writes nothing itself: who feeds it has the output, and sees to it that nobody waits for it. So every sink works
//! on records as they are measured and on those of a file alike.

use super::{Event, Record, line};
use crate::events::EventKind;

/// A fold over the records of a session that says what to write.
pub trait Sink {
    /// Takes the next record; what is to be written now.
    fn push(&mut self, record: &Record) -> Vec<String>;

    /// The session is over, whether with an end record or without; what is still to be written.
    fn finish(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// What stands at `t_s` in the place of so many pieces that were lost. Nothing is of what only files are made of.
    fn lost(&self, t_s: f64, pieces: u64) -> String {
        let _ = (t_s, pieces);
        String::new()
    }
}

/// The records themselves, one JSON object a line; the last one is the `end` record.
#[derive(Debug, Default)]
pub struct JsonLines;

impl Sink for JsonLines {
    fn push(&mut self, record: &Record) -> Vec<String> {
        // Encoding a record takes memory, and cannot fail otherwise.
        line(record).into_iter().collect()
    }

    fn lost(&self, t_s: f64, pieces: u64) -> String {
        line(&Record::Event(Event::new(t_s, EventKind::OutputLost { lines: pieces }))).unwrap_or_default()
    }
}
