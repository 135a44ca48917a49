//! A session without a screen: records go to stdout as readable lines or as JSON.

use std::{
    io::{self, Write},
    sync::Arc,
};

use super::lines::Lines;
use crate::{
    app::summary,
    session::{Coalesce, Record, Timeline, line},
};

/// The form of a headless session's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A readable line a second, and a summary at the end.
    Lines,
    /// One JSON object a line; the last one is the `end` record.
    Json,
}

/// Writes records as they come.
pub struct Printer<W> {
    form: Form,
    out: W,
    coalesce: Coalesce,
    lines: Lines,
    timeline: Timeline,
}

impl<W: Write> Printer<W> {
    /// A printer of `form` on `out`.
    pub fn new(form: Form, out: W) -> Self {
        Self { form, out, coalesce: Coalesce::new(), lines: Lines::default(), timeline: Timeline::default() }
    }

    /// Takes a record, and writes what can be written.
    ///
    /// # Errors
    /// When `out` takes no more.
    pub fn push(&mut self, record: &Arc<Record>) -> io::Result<()> {
        self.timeline.push(record);
        for record in self.coalesce.push(record) {
            self.write(&record)?;
        }
        self.out.flush()
    }

    fn write(&mut self, record: &Record) -> io::Result<()> {
        match self.form {
            Form::Json => self.out.write_all(line(record)?.as_bytes()),
            Form::Lines => self.lines.push(record).iter().try_for_each(|line| writeln!(self.out, "{line}")),
        }
    }

    /// Writes the summary, where it is not the last record itself.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub fn finish(mut self) -> io::Result<()> {
        for record in self.coalesce.rest() {
            self.write(&record)?;
        }
        if self.form == Form::Lines {
            for line in self.lines.rest() {
                writeln!(self.out, "{line}")?;
            }
            write!(self.out, "\n{}", summary(&self.timeline))?;
        }
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{End, Mark, Summary};

    fn printed(form: Form) -> String {
        let mut out = Vec::new();
        let mut printer = Printer::new(form, &mut out);
        for record in [
            Record::Mark(Mark { t_s: 1.0, text: "hot".into() }),
            Record::End(Box::new(End { t_s: 2.0, summary: Summary::default() })),
        ] {
            printer.push(&Arc::new(record)).unwrap();
        }
        printer.finish().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn lines_end_with_a_summary() {
        assert_eq!(printed(Form::Lines), "   1.0 s  mark: hot\n\n00:00:02 measured\n");
    }

    #[test]
    fn json_ends_with_the_end_record() {
        let text = printed(Form::Json);
        let last: Record = serde_json::from_str(text.lines().last().unwrap()).unwrap();
        assert!(matches!(last, Record::End(_)));
    }
}
