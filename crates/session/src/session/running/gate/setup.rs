//! The setup of a workload: commands that prepare the server, such as SCRIPT LOAD. The session runs these commands
//! before the first load with this workload.

use std::time::Duration;

use super::{Admission, GateStage, Holders, WriteGate};
use crate::{
    knobs::Knobs,
    server::{ServerError, SetUp},
    workload::Steps,
};

impl WriteGate {
    /// Returns the setup that must still run before a load with these settings, if there is one.
    pub(super) fn missing_setup<'a>(&self, knobs: &'a Knobs) -> Option<&'a Steps> {
        let setup = Some(&knobs.workload.setup).filter(|setup| knobs.load && !setup.is_empty());
        setup.filter(|setup| !self.run.contains(setup))
    }

    /// Returns the letters that the missing setup will add to `notify-keyspace-events`, if there are any.
    pub(super) fn notifications<'a>(&self, knobs: &'a Knobs) -> Option<&'a str> {
        self.missing_setup(knobs)?.notifications()
    }

    /// Handles the result of a setup.
    pub(super) fn handle_setup(
        &mut self,
        setup: Steps,
        outcome: Result<Vec<(u16, SetUp)>, ServerError>,
        holders: &mut Holders,
    ) -> Option<Admission> {
        let failed = |outcomes: Vec<(u16, SetUp)>| {
            outcomes.into_iter().find_map(|(number, it)| Some((number, it.failed?)))
        };
        let cause = match outcome.map(failed) {
            Ok(None) => {
                self.run.push(setup);
                return self.proceed(holders);
            }
            Ok(Some((number, (step, error)))) => {
                format!("{}setup step {step}: {}", holders.subject(number), error.cause())
            }
            Err(error) => format!("the setup was not run: {error}"),
        };
        // Other load settings may have been requested during the setup.
        if self.held.as_ref().is_some_and(|knobs| knobs.workload.setup != setup) {
            return self.proceed(holders);
        }
        self.stage = GateStage::Open;
        self.held.take().map(|_| Admission::Refuse(cause))
    }

    /// Waits at most `limit` until a running setup is done.
    pub fn await_setup(&mut self, limit: Duration) {
        if let GateStage::Preparing(_, answer) = &mut self.stage {
            // The result is not needed: the ledger contains everything that the setup created.
            drop(answer.wait(limit));
        }
    }
}
