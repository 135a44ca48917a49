//! The options that let a session turn knobs by itself.

use clap::Args;

use crate::{
    experiment::{Experiment, Find, Limit},
    load::Knobs,
};

/// Experiments: a part of the load.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Load")]
pub struct ExperimentArgs {
    /// Find the highest rate that holds a limit of the response time, such as 'p99<1ms', then end; exit code 3 if there is
    /// none
    #[arg(long, value_name = "LIMIT", conflicts_with_all = ["rate", "requests", "no_load"])]
    pub find: Option<Limit>,
}

impl ExperimentArgs {
    /// Whether there is any: it is a load by its nature.
    pub fn is_given(&self) -> bool {
        self.find.is_some()
    }

    /// The experiment, on top of these knobs.
    pub fn experiment(&self, knobs: &Knobs) -> Option<Box<dyn Experiment + Send>> {
        let limit = self.find.as_ref()?;
        Some(Box::new(Find::new(limit.clone(), knobs.clone())))
    }
}
