//! The thread that hands a session to an experiment, beside whoever else listens.

use std::thread::JoinHandle;

use anyhow::Context as _;

use super::Failure;
use crate::{
    experiment::{Ending, Experiment},
    happening::Happening,
    print::{outlet::Outlet, printer::Form, words::plain},
    session::{Order, running::Peer},
};

/// An experiment that runs, if there is one.
pub(super) struct Driver(Option<JoinHandle<Box<dyn Experiment>>>);

impl Driver {
    /// Lets `experiment` turn the knobs as `peer`; `ends` is whether the session ends with it.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub(super) fn start(
        experiment: Option<Box<dyn Experiment>>,
        peer: Option<Peer>,
        ends: bool,
    ) -> Result<Self, Failure> {
        let Some((mut experiment, peer)) = experiment.zip(peer) else { return Ok(Self(None)) };
        let drive = move || {
            while !experiment.is_over() {
                let Some(delivery) = peer.rest().next() else { break };
                let mut orders = experiment.take(&delivery);
                if ends && experiment.is_over() {
                    // What the end of the session sets back, or what nobody would see.
                    orders.retain(|order| !matches!(order, Order::SetKnobs(_) | Order::SetConfig { .. }));
                }
                orders.into_iter().for_each(|order| peer.order(order));
            }
            if let Some(cause) = experiment.stopped() {
                peer.order(Order::Tell(Happening::ExperimentStopped { cause }));
            }
            if ends {
                peer.order(Order::End);
            }
            experiment
        };
        let thread = std::thread::Builder::new().name("experiment".to_owned()).spawn(drive);
        Ok(Self(Some(thread.context("cannot start the experiment")?)))
    }

    /// After the end of the session: prints what was found, where that is for a person, and what it means for a script.
    ///
    /// # Errors
    /// When it was not found, is not clear, or could not be looked for.
    pub(super) fn tell(self, form: Form) -> Result<(), Failure> {
        let Some(thread) = self.0 else { return Ok(()) };
        let experiment = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let report = experiment.report();
        if form == Form::Lines && !report.is_empty() {
            // What became of it is asked at the end of the program.
            let _ = Outlet::stdout().offer(plain(format!("\n{report}").into_bytes()), |_| Vec::new());
        }
        outcome(experiment.ending())
    }
}

/// What the ending of an experiment means for a script.
///
/// # Errors
/// When what was asked for is not so, is not clear, or could not be found out.
pub fn outcome(ending: Option<&Ending>) -> Result<(), Failure> {
    match ending {
        None | Some(Ending::Done) => Ok(()),
        Some(Ending::NotHeld(words)) => Err(Failure::Crossed(words.clone())),
        Some(Ending::Undecided(words)) => Err(Failure::Undecided(words.clone())),
        Some(Ending::Interrupted(why)) => Err(Failure::Failed(anyhow::anyhow!("{why}"))),
    }
}
