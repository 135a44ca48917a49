//! Passes the records of a running session to its printed lines, JSON lines or YCSB's text.

use std::{
    io::{self, Write as _},
    sync::Arc,
};

use super::{Failure, Listener};
use crate::{
    print::{
        YcsbForm,
        outlet::Outlet,
        printer::{OutputForm, Printer},
        words::{StreamText, stdout_result},
        ycsb_summary,
    },
    session::{Delivery, Order, Record, Sink, Timeline},
};

/// A listener that prints a session.
pub(super) struct Printed {
    printer: Printer,
    /// The data for YCSB's text after the summary.
    ycsb: Option<Timeline>,
    written: io::Result<()>,
    /// Whether the queries of HTTP paths are left out.
    pub(super) redacts: bool,
    /// Whether the session ends when stdout can no longer be written. Such a session has no other output.
    pub(super) ends_session: bool,
}

impl Printed {
    /// Creates a printer of this form. `files` are the files of the recording.
    pub(super) fn new(form: OutputForm, files: Vec<String>, has_ycsb: bool) -> Self {
        let printer = Printer::new(form, Outlet::stdout(), files);
        Self {
            printer,
            ycsb: has_ycsb.then(Timeline::default),
            written: Ok(()),
            redacts: false,
            ends_session: true,
        }
    }

    /// Creates a printer of the page that `sink` returns at the end of the session.
    pub(super) fn page(sink: Box<dyn Sink>, is_for_people: bool) -> Self {
        let mut printer = Printer::of(sink, Outlet::stdout());
        printer.is_for_people = is_for_people;
        Self { printer, ycsb: None, written: Ok(()), redacts: false, ends_session: true }
    }
}

impl Listener for Printed {
    fn take(&mut self, delivery: &Delivery) -> Vec<Order> {
        let Delivery::Record(record) = delivery else { return Vec::new() };
        if self.written.is_err() {
            return Vec::new();
        }
        let bare = self.redacts.then(|| Arc::new(Record::clone(record).without_queries()));
        self.written = self.printer.push(bare.as_ref().unwrap_or(record));
        if record.is_of(0) {
            self.ycsb.iter_mut().for_each(|timeline| timeline.push(record));
        }
        if self.written.is_err() && self.ends_session { vec![Order::End] } else { Vec::new() }
    }

    fn finish(&mut self) -> Result<(), Failure> {
        let before = std::mem::replace(&mut self.written, Ok(()));
        let all = before.and_then(|()| self.printer.finish()).and_then(|()| match &self.ycsb {
            Some(timeline) => {
                write!(StreamText::stdout(), "\n{}", ycsb_summary(timeline, &YcsbForm::default()))
            }
            None => Ok(()),
        });
        Ok(stdout_result(all)?)
    }
}
