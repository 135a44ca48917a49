//! An experiment among those who listen to a session without a screen.

use std::io::Write as _;

use super::{Failure, Listener};
use crate::{
    events::EventKind,
    experiment::{Ending, Experiment},
    print::{printer::Form, words::StreamText},
    session::{Delivery, Order},
};

/// An experiment that turns the knobs of a session.
pub(super) struct Driver {
    pub(super) experiment: Box<dyn Experiment>,
    /// Whether the session ends with it.
    pub(super) ends: bool,
    pub(super) form: Form,
    /// Whether the session knows that it is over.
    pub(super) has_ended: bool,
}

impl Listener for Driver {
    fn take(&mut self, delivery: &Delivery) -> Vec<Order> {
        if self.has_ended {
            return Vec::new();
        }
        let mut orders = self.experiment.take(delivery);
        if self.experiment.is_over() {
            self.has_ended = true;
            if self.ends {
                // What the end of the session sets back, or what nobody would see.
                orders.retain(|order| !matches!(order, Order::SetKnobs(_) | Order::SetConfig { .. }));
            }
            let stopped = self.experiment.stopped();
            orders.extend(stopped.map(|cause| Order::Event(EventKind::ExperimentStopped { cause })));
            orders.extend(self.ends.then_some(Order::End));
        }
        orders
    }

    /// Prints what was found, where that is for a person.
    fn verdict(&mut self) -> Result<(), Failure> {
        let report = self.experiment.report();
        if self.form == Form::Lines && !report.is_empty() {
            // What became of it is asked at the end of the program.
            let _ = write!(StreamText::stdout(), "\n{report}");
        }
        outcome(self.experiment.ending())
    }
}

/// What the ending of an experiment means for a script.
///
/// # Errors
/// When what was asked for is not so, is not clear, or could not be found out.
pub(super) fn outcome(ending: Option<&Ending>) -> Result<(), Failure> {
    match ending {
        None | Some(Ending::Done) => Ok(()),
        Some(Ending::NotHeld(words)) => Err(Failure::Crossed(words.clone())),
        Some(Ending::Undecided(words)) => Err(Failure::Undecided(words.clone())),
        Some(Ending::Interrupted(why)) => Err(Failure::Failed(anyhow::anyhow!("{why}"))),
    }
}
