//! A session without a screen: records go to stdout as readable lines or as JSON.

use std::{io, sync::Arc};

use super::{lines::Lines, outlet::Outlet};
use crate::{
    app::summary,
    happening::Happening,
    session::{Coalesce, Event, Record, Timeline, line},
};

/// The form of a headless session's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A readable line a second, and a summary at the end.
    Lines,
    /// One JSON object a line; the last one is the `end` record.
    Json,
}

/// Writes records as they come, and never waits for who reads them: what finds no room is lost, which is told where
/// the output goes on.
pub struct Printer {
    form: Form,
    out: Outlet,
    coalesce: Coalesce,
    lines: Lines,
    timeline: Timeline,
}

impl Printer {
    /// A printer of `form` on `out`.
    pub fn new(form: Form, out: Outlet) -> Self {
        Self { form, out, coalesce: Coalesce::new(), lines: Lines::default(), timeline: Timeline::default() }
    }

    /// Takes a record, and writes what can be written.
    ///
    /// # Errors
    /// When `out` takes no more.
    pub fn push(&mut self, record: &Arc<Record>) -> io::Result<()> {
        self.timeline.push(record);
        if matches!(**record, Record::End(_)) {
            self.out.make_room_for_last();
        }
        for record in self.coalesce.push(record) {
            self.write(&record)?;
        }
        Ok(())
    }

    fn write(&mut self, record: &Record) -> io::Result<()> {
        match self.form {
            Form::Json => self.offer(line(record)?),
            Form::Lines => self.lines.push(record).into_iter().try_for_each(|line| self.offer(line + "\n")),
        }
    }

    fn offer(&self, piece: String) -> io::Result<()> {
        let (form, t_s) = (self.form, self.timeline.now_s());
        self.out.offer(piece.into_bytes(), |n| lost(form, t_s, n).into_bytes())
    }

    /// Writes the summary, where it is not the last record itself.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub fn finish(mut self) -> io::Result<()> {
        self.out.make_room_for_last();
        for record in self.coalesce.rest() {
            self.write(&record)?;
        }
        if self.form == Form::Lines {
            for line in self.lines.rest() {
                self.offer(line + "\n")?;
            }
            self.offer(format!("\n{}", summary(&self.timeline)))?;
        }
        Ok(())
    }
}

/// What stands where `lines` were lost.
fn lost(form: Form, t_s: f64, lines: u64) -> String {
    let event = Event::new(t_s, Happening::OutputLost { lines });
    match form {
        // An event is text and a number: it can be encoded.
        Form::Json => line(&Record::Event(event)).unwrap_or_default(),
        Form::Lines => format!("{t_s:6.1} s  {}: {}\n", event.what.name(), event.what),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        cli::outlet::{
            Limits,
            testing::{LIMIT, Reader},
        },
        session::{End, Mark, Summary},
    };

    const ROOMY: Limits = Limits { pieces: 1000, bytes: 1_000_000 };

    fn mark(t_s: f64) -> Arc<Record> {
        Arc::new(Record::Mark(Mark { t_s, text: "hot".into() }))
    }

    fn end() -> Arc<Record> {
        Arc::new(Record::End(Box::new(End { t_s: 9.0, summary: Summary::default() })))
    }

    fn printed(form: Form) -> String {
        let reader = Reader::default();
        let out = Outlet::start("out", reader.clone(), ROOMY);
        let mut printer = Printer::new(form, out.clone());
        for record in [mark(1.0), end()] {
            printer.push(&record).unwrap();
        }
        printer.finish().unwrap();
        assert!(out.is_written_within(LIMIT).unwrap());
        reader.text()
    }

    #[test]
    fn lines_end_with_a_summary() {
        assert_eq!(printed(Form::Lines), "   1.0 s  mark: hot\n\n00:00:09 measured\n");
    }

    #[test]
    fn json_ends_with_the_end_record() {
        let text = printed(Form::Json);
        let last: Record = serde_json::from_str(text.lines().last().unwrap()).unwrap();
        assert!(matches!(last, Record::End(_)));
    }

    /// What a reader sees who stops after the first record and goes on before the last two.
    fn interrupted(form: Form) -> String {
        let reader = Reader::default();
        let out = Outlet::start("out", reader.clone(), Limits { pieces: 2, bytes: 1_000_000 });
        let mut printer = Printer::new(form, out.clone());
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
    fn what_was_lost_is_told_where_the_output_goes_on() {
        // One is being written, three wait: with two there is still room.
        let lines = interrupted(Form::Lines);
        let marks = |text: &str| -> Vec<String> {
            text.lines().map(|line| line.get(..8).unwrap_or_default().to_owned()).collect()
        };
        assert_eq!(
            marks(&lines)[..6],
            ["   1.0 s", "   2.0 s", "   3.0 s", "   4.0 s", "   8.0 s", "   8.0 s"]
        );
        assert_eq!(
            lines.lines().nth(4).unwrap(),
            "   8.0 s  output lost: 3 lines were lost here: nobody read them"
        );
        let json = interrupted(Form::Json);
        let records: Vec<Record> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(
            matches!(&records[4..], [Record::Event(lost), Record::Mark(_), Record::End(_)]
                if lost.what == Happening::OutputLost { lines: 3 }),
            "{records:?}"
        );
    }
}
