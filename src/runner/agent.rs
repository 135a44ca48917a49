//! Carries out `redyno agent`.

use anyhow::anyhow;

use super::{Failure, Plan, ends, fleet::say};
use crate::fleet::{AgentEnd, AgentPlan, attend};

/// An agent to run.
pub struct AgentRun(pub AgentPlan);

impl Plan for AgentRun {
    fn run(self: Box<Self>) -> Result<(), Failure> {
        match attend(&self.0, &ends()?, say).map_err(anyhow::Error::from)? {
            AgentEnd::Session => Ok(()),
            AgentEnd::Signal => Err(Failure::Interrupted),
            AgentEnd::Silence => {
                Err(Failure::Failed(anyhow!("the session was silent for 4 s, so the load was ended")))
            }
        }
    }
}
