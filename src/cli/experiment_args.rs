//! The options that let a session turn knobs by itself.

use clap::Args;

use super::UsageError;
use crate::{
    experiment::{Experiment, Find, Limit, Setting, Sweep, SweepPlan},
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
    /// Measure a knob, or a parameter of the server, at one value after the other, then end: 'clients 1..1000', 'rate 1k..50k in 10',
    /// 'config io-threads 1,2,4'; the best step has the most throughput, of those that hold a limit if one follows ('pipeline 1..64
    /// p99<1ms')
    #[arg(long, value_name = "KNOB A..B", conflicts_with_all = ["find", "requests", "no_load"])]
    pub sweep: Option<SweepPlan>,
}

impl ExperimentArgs {
    /// Whether there is any: it is a load by its nature.
    pub fn is_given(&self) -> bool {
        self.find.is_some() || self.sweep.is_some()
    }

    /// What it will put in force on top of these knobs, as far as that is known beforehand.
    ///
    /// # Errors
    /// When one of the settings cannot be.
    pub fn settings(&self, knobs: &Knobs) -> Result<Vec<Setting>, UsageError> {
        let settings = self.sweep.as_ref().map_or(Ok(Vec::new()), |plan| plan.settings(knobs));
        settings.map_err(|error| UsageError::Line(format!("--sweep: {error}")))
    }

    /// The experiment, on top of these knobs.
    ///
    /// # Errors
    /// When one of its settings cannot be.
    pub fn experiment(&self, knobs: &Knobs) -> Result<Option<Box<dyn Experiment + Send>>, UsageError> {
        if let Some(limit) = &self.find {
            return Ok(Some(Box::new(Find::new(limit.clone(), knobs.clone()))));
        }
        let Some(plan) = &self.sweep else { return Ok(None) };
        let sweep = Sweep::new(plan.clone(), knobs);
        Ok(Some(Box::new(sweep.map_err(|error| UsageError::Line(format!("--sweep: {error}")))?)))
    }
}
