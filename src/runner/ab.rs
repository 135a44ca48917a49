//! Carries out `redyno ab` and `redyno versus`: a session with an A/B comparison, and the output of the comparison.

use std::io::{self, Write as _};

use super::{
    Failure, Listener, Plan, SessionPlan, experiment::outcome, listener::record, running::RunningSession,
};
use crate::{
    experiment::{Ab, Experiment},
    print::{
        NoticeFilter, NoticePrinter,
        ab::AbLines,
        outlet::CLEAR,
        printer::OutputForm,
        words::{StreamText, stdout_result},
    },
    session::{Delivery, Order, Record},
};

/// A planned A/B comparison of two settings, or of two targets.
pub struct AbRun {
    /// The session.
    pub plan: SessionPlan,
    /// The experiment.
    pub ab: Ab,
    /// The form of the output.
    pub form: OutputForm,
}

impl Plan for AbRun {
    fn run(self: Box<Self>) -> Result<(), Failure> {
        let Self { plan, ab, form } = *self;
        let names = plan.names.clone();
        let session = RunningSession::begin(plan)?;
        let mut alternation = AbListener {
            progress: ProgressForm::of(form, &ab),
            ab,
            lines: AbLines::new(form),
            shown: String::new(),
            out: StreamText::stdout(),
            written: Ok(()),
            was_ended: false,
        };
        // The reason for the end of the experiment is printed when the session ends.
        session.run(&mut [&mut alternation, &mut NoticePrinter::of(names, NoticeFilter::WithoutReason)])
    }
}

/// The form of the progress on stderr.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ProgressForm {
    /// One line of the terminal, which is redrawn for each change.
    Drawn,
    /// Separate lines.
    Lines,
    /// No progress. Every pair is printed on stdout, or the experiment is over.
    None,
}

impl ProgressForm {
    fn of(form: OutputForm, ab: &Ab) -> Self {
        match form {
            _ if !ab.is_of_targets() => Self::None,
            OutputForm::Json => Self::None,
            OutputForm::Lines if StreamText::stderr().is_terminal => Self::Drawn,
            OutputForm::Lines => Self::Lines,
        }
    }
}

/// A listener that runs an A/B comparison, and prints the output of the comparison.
struct AbListener {
    ab: Ab,
    lines: AbLines,
    progress: ProgressForm,
    /// The text of the last progress on stderr.
    shown: String,
    out: StreamText,
    written: io::Result<()>,
    was_ended: bool,
}

impl Listener for AbListener {
    fn take(&mut self, delivery: &Delivery) -> Vec<Order> {
        if let Some(Record::Session(session)) = record(delivery) {
            let head = self.lines.begun(session, &self.ab);
            self.print(&head);
        }
        record(delivery).into_iter().for_each(|record| self.lines.follow(record));
        let mut orders = self.ab.take(delivery);
        let pairs = self.lines.new_pairs(&self.ab);
        self.print(&pairs);
        if matches!(delivery, Delivery::Notice(..)) {
            self.show("");
        } else if !orders.is_empty() {
            let progress = self.ab.progress();
            self.show(&progress);
        }
        if !self.was_ended && (self.ab.is_over() || self.written.is_err()) {
            self.was_ended = true;
            self.show("");
            self.progress = ProgressForm::None;
            orders.push(Order::End);
        }
        orders
    }

    fn finish(&mut self) -> Result<(), Failure> {
        self.out.make_room_for_last();
        let verdict = self.lines.verdict(&self.ab);
        self.print(&verdict);
        Ok(stdout_result(std::mem::replace(&mut self.written, Ok(())))?)
    }

    fn verdict(&mut self) -> Result<(), Failure> {
        outcome(self.ab.ending())
    }
}

impl AbListener {
    /// Prints the progress on stderr. On a terminal, the text replaces the previous text.
    fn show(&mut self, progress: &str) {
        let mut out = StreamText::stderr();
        // If stderr is gone, the progress has no reader.
        match self.progress {
            ProgressForm::Drawn => drop(write!(out, "{CLEAR}{progress}").and_then(|()| out.flush())),
            ProgressForm::Lines if !progress.is_empty() && progress != self.shown => {
                progress.clone_into(&mut self.shown);
                drop(writeln!(out, "redyno: {progress}").and_then(|()| out.flush()));
            }
            ProgressForm::Lines | ProgressForm::None => {}
        }
    }

    fn print(&mut self, text: &str) {
        if self.written.is_ok() && !text.is_empty() {
            self.show("");
            self.written = self.out.write_all(text.as_bytes());
        }
    }
}
