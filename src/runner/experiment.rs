//! Runs an experiment in a session without a screen.

use std::io::Write as _;

use super::{Failure, Listener, listener::record, machine::Machine};
use crate::{
    compare::LatencyBound,
    events::EventKind,
    experiment::{Ending, Experiment},
    print::{printer::OutputForm, words::StreamText},
    session::{Delivery, Order},
};

/// A running experiment, and the settings for its end.
pub(super) struct Driver {
    pub(super) experiment: Box<dyn Experiment>,
    /// Whether the session ends with the experiment.
    pub(super) ends: bool,
    pub(super) form: OutputForm,
    /// The latency limit of the experiment, if there is one.
    pub(super) limit: Option<LatencyBound>,
    /// The wake delays of this machine during the experiment.
    pub(super) machine: Machine,
    /// Whether the end of the experiment was handled.
    pub(super) has_ended: bool,
}

impl Listener for Driver {
    fn take(&mut self, delivery: &Delivery) -> Vec<Order> {
        if let Some(record) = record(delivery) {
            self.machine.push(record);
        }
        if self.has_ended {
            return Vec::new();
        }
        let mut orders = self.experiment.take(delivery);
        if self.experiment.is_over() {
            self.has_ended = true;
            if self.ends {
                // The end of the session restores these settings anyway, so the orders are left out.
                orders.retain(|order| !matches!(order, Order::SetKnobs(_) | Order::SetConfig { .. }));
            }
            let stopped = self.experiment.stopped();
            orders.extend(stopped.map(|cause| Order::Event(EventKind::ExperimentStopped { cause })));
            orders.extend(self.ends.then_some(Order::End));
        }
        orders
    }

    /// Prints the result of the experiment in readable output, even if the session was interrupted or aborted.
    fn finish(&mut self) -> Result<(), Failure> {
        let report = self.experiment.report();
        if self.form == OutputForm::Lines && !report.is_empty() {
            // The end of the program reports whether the result could be written.
            let _ = write!(StreamText::stdout(), "\n{report}");
        }
        Ok(())
    }

    fn verdict(&mut self) -> Result<(), Failure> {
        match (outcome(self.experiment.ending()), &self.limit) {
            (Err(Failure::Crossed(words)), Some(limit)) => Err(match self.machine.explains(limit) {
                Some(why) => Failure::Undecided(format!("{words}; {why}")),
                None => Failure::Crossed(words),
            }),
            (outcome, _) => outcome,
        }
    }
}

/// Returns the result of an experiment. This result decides the exit code.
///
/// # Errors
/// Fails if the experiment has no result, or if its result is unclear or is not the required result.
pub(super) fn outcome(ending: Option<&Ending>) -> Result<(), Failure> {
    match ending {
        None | Some(Ending::Done) => Ok(()),
        Some(Ending::NotHeld(words)) => Err(Failure::Crossed(words.clone())),
        Some(Ending::Undecided(words)) => Err(Failure::Undecided(words.clone())),
        Some(Ending::Interrupted(why)) => Err(Failure::Failed(anyhow::anyhow!("{why}"))),
    }
}
