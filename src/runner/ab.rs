//! An A/B: a session that is handed to the experiment, and a line for each pair.

use std::io::{self, Write as _};

use super::{
    Failure, Listener, Plan, SessionPlan, experiment::outcome, listener::record, sessions::Sessions,
};
use crate::{
    experiment::{Ab, Experiment},
    print::{
        Said,
        ab::Lines,
        printer::Form,
        words::{Words, written},
    },
    session::{Delivery, Order, Record},
};

/// Two settings in alternation.
pub struct AbRun {
    /// The session; its knobs are those of A.
    pub plan: SessionPlan,
    /// The experiment.
    pub ab: Ab,
    /// How it is printed.
    pub form: Form,
}

impl Plan for AbRun {
    fn run(self: Box<Self>) -> Result<(), Failure> {
        let Self { plan, ab, form } = *self;
        let sessions = Sessions::begin(vec![plan])?;
        let mut alternation =
            Alternation { ab, lines: Lines::new(form), out: Words::stdout(), written: Ok(()) };
        // What ends the experiment is told at its end.
        sessions.run(&mut [&mut alternation, &mut Said::default().but_why_it_ends()])
    }
}

/// The experiment, and who is told of it.
struct Alternation {
    ab: Ab,
    lines: Lines,
    out: Words,
    written: io::Result<()>,
}

impl Alternation {
    fn tell(&mut self, text: &str) {
        if self.written.is_ok() {
            self.written = self.out.write_all(text.as_bytes());
        }
    }
}

impl Listener for Alternation {
    fn take(&mut self, from: usize, delivery: &Delivery) -> Vec<(usize, Order)> {
        let was_over = self.ab.is_over() || self.written.is_err();
        if let Some(Record::Session(session)) = record(delivery) {
            let head = self.lines.head(session, &self.ab);
            self.tell(&head);
        }
        let mut orders = self.ab.take(delivery);
        for line in self.lines.new_pairs(&self.ab) {
            self.tell(&line);
        }
        if !was_over && (self.ab.is_over() || self.written.is_err()) {
            orders.push(Order::End);
        }
        orders.into_iter().map(|order| (from, order)).collect()
    }

    fn finish(&mut self) -> Result<(), Failure> {
        self.out.make_room_for_last();
        let verdict = self.lines.verdict(&self.ab);
        self.tell(&verdict);
        Ok(written(std::mem::replace(&mut self.written, Ok(())))?)
    }

    fn verdict(&mut self) -> Result<(), Failure> {
        outcome(self.ab.ending())
    }
}
