//! Two targets under the same load: two sessions that are handed to one experiment.

use std::io::{self, Write as _};

use super::{
    Failure, Listener, Plan, SessionPlan, experiment::outcome, listener::record, sessions::Sessions,
};
use crate::{
    experiment::{self, Side, Versus},
    load::Knobs,
    print::{
        Said,
        outlet::CLEAR,
        printer::Form,
        versus::Lines,
        words::{Words, written},
    },
    session::{Delivery, Order, Record},
};

/// Two targets in alternation.
pub struct VersusRun {
    /// A's session and B's, each with its name.
    pub plans: [SessionPlan; 2],
    /// How long everything takes.
    pub times: experiment::Plan,
    /// How it is printed.
    pub form: Form,
}

impl Plan for VersusRun {
    fn run(self: Box<Self>) -> Result<(), Failure> {
        let Self { plans, times, form } = *self;
        let names = plans.each_ref().map(|plan| plan.name.clone().unwrap_or_default());
        let knobs = plans[0].commission.knobs.clone();
        let sessions = Sessions::begin(plans.into())?;
        let mut comparison = Comparison {
            versus: Versus::new(&knobs, names.clone(), times),
            lines: Lines::new(form),
            knobs,
            progress: Progress::of(form),
            shown: String::new(),
            out: Words::stdout(),
            written: Ok(()),
            was_told_to_end: false,
        };
        // What ends the comparison is told at its end.
        sessions.run(&mut [&mut comparison, &mut Said::of(names.into()).but_why_it_ends()])
    }
}

/// How it is told on stderr how far it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// In a line that the next takes away, before a person.
    Drawn,
    /// In a line each.
    Lines,
    /// Not at all: every pair is told on stdout, or it is over.
    None,
}

impl Progress {
    fn of(form: Form) -> Self {
        match form {
            Form::Json => Self::None,
            Form::Lines if Words::stderr().is_terminal() => Self::Drawn,
            Form::Lines => Self::Lines,
        }
    }
}

/// A comparison, and who is told of it.
struct Comparison {
    versus: Versus,
    lines: Lines,
    knobs: Knobs,
    progress: Progress,
    /// How far it was when that was told last.
    shown: String,
    out: Words,
    written: io::Result<()>,
    was_told_to_end: bool,
}

impl Listener for Comparison {
    fn take(&mut self, from: usize, delivery: &Delivery) -> Vec<(usize, Order)> {
        if let Some(Record::Session(session)) = record(delivery) {
            let head = self.lines.begun(from, session, &self.knobs);
            self.tell(&head);
        }
        let orders = self.versus.take(Side::ALL[from], delivery);
        let pairs = self.lines.new_pairs(&self.versus);
        self.tell(&pairs);
        if matches!(delivery, Delivery::Notice(_)) {
            self.show("");
        } else if !orders.is_empty() {
            let progress = self.versus.progress();
            self.show(&progress);
        }
        let mut orders: Vec<_> = orders.into_iter().map(|(to, order)| (to as usize, order)).collect();
        if !self.was_told_to_end && (self.versus.ending().is_some() || self.written.is_err()) {
            self.was_told_to_end = true;
            self.show("");
            self.progress = Progress::None;
            orders.extend(Side::ALL.map(|side| (side as usize, Order::End)));
        }
        orders
    }

    fn finish(&mut self) -> Result<(), Failure> {
        self.out.make_room_for_last();
        let last = self.lines.verdict(&self.versus);
        self.tell(&last);
        Ok(written(std::mem::replace(&mut self.written, Ok(())))?)
    }

    fn verdict(&mut self) -> Result<(), Failure> {
        outcome(self.versus.ending())
    }
}

impl Comparison {
    /// Tells on stderr how far it is; nothing takes away what is drawn there.
    fn show(&mut self, progress: &str) {
        let mut out = Words::stderr();
        // If stderr is gone, so is who would read this.
        match self.progress {
            Progress::Drawn => drop(write!(out, "{CLEAR}{progress}").and_then(|()| out.flush())),
            Progress::Lines if !progress.is_empty() && progress != self.shown => {
                progress.clone_into(&mut self.shown);
                drop(writeln!(out, "redyno: {progress}").and_then(|()| out.flush()));
            }
            Progress::Lines | Progress::None => {}
        }
    }

    fn tell(&mut self, text: &str) {
        if self.written.is_ok() && !text.is_empty() {
            self.show("");
            self.written = self.out.write_all(text.as_bytes());
        }
    }
}
