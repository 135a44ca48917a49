//! Carries out `redyno agent`.

use anyhow::anyhow;

use super::{Failure, Plan, end_signals};
use crate::{
    fleet::{AgentEnd, AgentPlan, run_agent},
    print::words::warn,
};

/// An agent to run.
pub struct AgentRun(pub AgentPlan);

impl Plan for AgentRun {
    fn run(self: Box<Self>) -> Result<(), Failure> {
        match run_agent(&self.0, &end_signals()?, warn).map_err(anyhow::Error::from)? {
            AgentEnd::Session => Ok(()),
            AgentEnd::Signal => Err(Failure::Interrupted),
            AgentEnd::Silence => {
                Err(Failure::Failed(anyhow!("the session was silent for 4 s, so the load was ended")))
            }
        }
    }
}
