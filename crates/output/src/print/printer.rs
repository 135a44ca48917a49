//! Prints a session without a screen: passes the session's records to a sink, and writes the sink's output.

use std::{io, sync::Arc};

use super::{lines::Lines, outlet::Outlet, words::plain};
use crate::session::{Coalesce, JsonLines, Record, Sink};

/// The form of the output of a session without a screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputForm {
    /// A readable line per second, and a summary at the end.
    Lines,
    /// JSON lines; the last line is the `end` record.
    Json,
}

impl OutputForm {
    /// Returns the form JSON if `is_json` is true, and the form of lines otherwise.
    pub fn of(is_json: bool) -> Self {
        if is_json { Self::Json } else { Self::Lines }
    }
}

/// A printer of a session's records. The printer writes the output of its sink immediately, and never waits for a
/// reader. If the outlet is full, output is lost. The printer reports the loss when there is room again.
pub struct Printer {
    sink: Box<dyn Sink>,
    /// The output.
    pub out: Outlet,
    coalesce: Coalesce,
    /// The time of the latest record, in seconds since the session began.
    now_s: f64,
    /// Whether the output is text for people.
    pub is_for_people: bool,
}

impl Printer {
    /// Creates a printer of this form to `out`. `files` are the files of the recording.
    pub fn new(form: OutputForm, out: Outlet, files: Vec<String>) -> Self {
        match form {
            OutputForm::Lines => Self { is_for_people: true, ..Self::of(Box::new(Lines::of(files)), out) },
            OutputForm::Json => Self::of(Box::new(JsonLines), out),
        }
    }

    /// Creates a printer that writes the output of `sink` to `out`.
    pub fn of(sink: Box<dyn Sink>, out: Outlet) -> Self {
        Self { sink, out, coalesce: Coalesce::default(), now_s: 0.0, is_for_people: false }
    }

    /// Adds a record, and writes all output that this record completes.
    ///
    /// # Errors
    /// Fails if `out` can no longer be written.
    pub fn push(&mut self, record: &Arc<Record>) -> io::Result<()> {
        if matches!(**record, Record::End(_)) {
            self.out.make_room_for_last();
        }
        let seconds = self.coalesce.push(record);
        seconds.iter().try_for_each(|record| self.feed(record))
    }

    /// Adds a record that covers a whole second, as the records of a file do.
    ///
    /// # Errors
    /// Returns the errors of [`push`](Self::push).
    pub fn feed(&mut self, record: &Record) -> io::Result<()> {
        self.now_s = record.t_s().map_or(self.now_s, |t_s| t_s.max(self.now_s));
        let pieces = self.sink.push(record);
        pieces.into_iter().try_for_each(|piece| self.offer(piece))
    }

    fn offer(&self, piece: String) -> io::Result<()> {
        let piece = piece.into_bytes();
        let piece = if self.is_for_people { plain(piece) } else { piece };
        self.out.offer(piece, |n| self.sink.lost(self.now_s, n).into_bytes())
    }

    /// Writes the rest of the output.
    ///
    /// # Errors
    /// Returns the errors of [`push`](Self::push).
    pub fn finish(&mut self) -> io::Result<()> {
        self.out.make_room_for_last();
        let seconds = self.coalesce.rest();
        seconds.iter().try_for_each(|record| self.feed(record))?;
        let pieces = self.sink.finish();
        pieces.into_iter().try_for_each(|piece| self.offer(piece))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        events::EventKind,
        print::outlet::{
            Limits,
            testing::{LIMIT, Reader},
        },
        session::{Mark, SessionEnd, Summary},
    };

    const ROOMY: Limits = Limits { pieces: 1000, bytes: 1_000_000 };

    fn mark(t_s: f64) -> Arc<Record> {
        Arc::new(Record::Mark(Mark { t_s, text: "hot".into() }))
    }

    fn end() -> Arc<Record> {
        Arc::new(Record::End(Box::new(SessionEnd {
            t_s: 9.0,
            summary: Summary::default(),
            ..SessionEnd::default()
        })))
    }

    fn printed(form: OutputForm) -> String {
        let reader = Reader::default();
        let out = Outlet::start("out", reader.clone(), ROOMY);
        let mut printer = Printer::new(form, out.clone(), Vec::new());
        for record in [mark(1.0), end()] {
            printer.push(&record).unwrap();
        }
        printer.finish().unwrap();
        assert!(out.is_written_within(LIMIT).unwrap());
        reader.text()
    }

    #[test]
    fn lines_end_with_a_summary() {
        assert_eq!(printed(OutputForm::Lines), "   1.0 s  mark: hot\n\n00:00:09 measured\n");
    }

    #[test]
    fn json_ends_with_the_end_record() {
        let text = printed(OutputForm::Json);
        let last: Record = serde_json::from_str(text.lines().last().unwrap()).unwrap();
        assert!(matches!(last, Record::End(_)));
    }

    /// Returns the output for a reader that stops after the first record and continues before the last two.
    fn interrupted(form: OutputForm) -> String {
        let reader = Reader::default();
        let out = Outlet::start("out", reader.clone(), Limits { pieces: 2, bytes: 1_000_000 });
        let mut printer = Printer::new(form, out.clone(), Vec::new());
        reader.stall();
        for n in 1..=7 {
            printer.push(&mark(f64::from(n))).unwrap();
            reader.wait_until_it_stalls();
        }
        reader.go_on();
        assert!(out.is_written_within(LIMIT).unwrap());
        printer.push(&mark(8.0)).unwrap();
        printer.push(&end()).unwrap();
        printer.finish().unwrap();
        assert!(out.is_written_within(LIMIT).unwrap());
        reader.text()
    }

    #[test]
    fn a_loss_is_reported_where_the_output_continues() {
        // One line is being written, and three lines wait, so the queue is full.
        let lines = interrupted(OutputForm::Lines);
        let marks = |text: &str| -> Vec<String> {
            text.lines().map(|line| line.get(..8).unwrap_or_default().to_owned()).collect()
        };
        assert_eq!(
            marks(&lines)[..6],
            ["   1.0 s", "   2.0 s", "   3.0 s", "   4.0 s", "   8.0 s", "   8.0 s"]
        );
        assert_eq!(
            lines.lines().nth(4).unwrap(),
            "   8.0 s  output lost: 3 lines were lost here: the reader of the output was too slow"
        );
        let json = interrupted(OutputForm::Json);
        let records: Vec<Record> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(
            matches!(&records[4..], [Record::Event(lost), Record::Mark(_), Record::End(_)]
                if lost.what == EventKind::OutputLost { lines: 3 }),
            "{records:?}"
        );
    }
}
