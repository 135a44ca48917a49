//! The options for experiments, in which redyno changes knobs (settings such as clients and rate) by itself.

use std::{path::Path, time::Duration};

use clap::Args;

use crate::{
    experiment::{Experiment, ExperimentSetting, ExperimentSpec, Limit, Script, SweepPlan},
    knobs::Knobs,
    runner::UsageError,
    workload::text_of,
};

/// EXPERIMENTS: options that change knobs by themselves.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Load")]
pub struct ExperimentArgs {
    /// Find the highest rate at which the response time stays within a limit such as 'p99<1ms', then end. The exit code
    /// is 3 if there is no such rate
    #[arg(long, value_name = "LIMIT", conflicts_with_all = ["rate", "requests", "no_load"])]
    pub find: Option<Limit>,
    /// Measure several values of a load setting (knob) or of a server parameter, then end. Examples: 'clients 1..1000',
    /// 'rate 1k..50k in 10' (10 steps), 'config io-threads 1,2,4'. The best step has the highest throughput. With a
    /// limit ('pipeline 1..64 p99<1ms'), the best step must also stay within the limit
    #[arg(long, value_name = "KNOB A..B", conflicts_with_all = ["find", "requests", "no_load"])]
    pub sweep: Option<SweepPlan>,
    /// Change load settings (knobs) at the times in this file. The file has lines such as 'at 30s clients 100', 'from
    /// 60s to 120s rate 1k..50k' (20 equal steps; add 'in 60' for 60 steps) and 'at 150s end'. Without a screen, the
    /// session ends after --duration. Without --duration, the session ends with the script
    #[arg(long, value_name = "FILE", value_parser = ScriptFile::read)]
    #[arg(conflicts_with_all = ["find", "sweep", "requests", "no_load"])]
    pub script: Option<ScriptFile>,
}

/// A script file. redyno reads the file at the start of the program.
#[derive(Debug, Clone)]
pub struct ScriptFile {
    name: String,
    text: String,
}

impl ScriptFile {
    fn read(path: &str) -> Result<Self, String> {
        let text = text_of(Path::new(path)).map_err(|error| format!("cannot read it: {}", error.cause))?;
        // Each message begins with this name.
        let name = Path::new(path).file_name().map_or(path.into(), |name| name.to_string_lossy());
        Ok(Self { name: name.into_owned(), text })
    }

    fn script(&self, knobs: &Knobs) -> Result<Script, UsageError> {
        Script::parse(&self.name, &self.text, knobs).map_err(UsageError::of)
    }

    /// Refuses a script that does not fit into a session of this `length`.
    fn check_length(&self, script: &Script, length: Option<Duration>) -> Result<(), UsageError> {
        let (last_s, end_s) = (script.last_turn_s(), script.end_s());
        match length.map(|length| length.as_secs_f64()) {
            Some(length_s) if last_s >= length_s || end_s > length_s => Err(UsageError::of(format!(
                "--duration {length_s} is too short for {}: the last change is at {last_s} s, and the script ends at {end_s} s; give {end_s} or more",
                self.name
            ))),
            _ => Ok(()),
        }
    }
}

impl ExperimentArgs {
    /// Returns whether the options request an experiment. An experiment also turns the load on.
    pub fn is_given(&self) -> bool {
        self.find.is_some() || self.sweep.is_some() || self.script.is_some()
    }

    /// Returns the experiment for a session with these knobs and this length, if the options request an experiment. If
    /// the session ends with the experiment, there is no load before the experiment's first setting.
    ///
    /// # Errors
    /// Fails if a setting is invalid, or the session ends before the script.
    pub fn experiment_effect(
        &self,
        knobs: Knobs,
        length: Option<Duration>,
        goes_on: bool,
    ) -> Result<ExperimentEffect, UsageError> {
        if let Some(file) = &self.script {
            let script = file.script(&knobs)?;
            file.check_length(&script, length)?;
            return Ok(ExperimentEffect {
                knobs: script.first_knobs().clone(),
                settings: script.settings().to_vec(),
                experiment: Some(Box::new(script)),
                ends_session: length.is_none(),
            });
        }
        if let Some(plan) = &self.sweep {
            let sweep = ExperimentSpec::sweep(plan.clone(), &knobs);
            let sweep = sweep.map_err(|error| UsageError::of(format!("--sweep: {error}")))?;
            let settings = sweep.settings().to_vec();
            // If the session continues after a sweep, the knobs from before the sweep are restored.
            let first = settings.first().filter(|_| !goes_on);
            let knobs = first.map_or(knobs, |setting| setting.knobs.clone());
            return Ok(ExperimentEffect {
                knobs,
                settings,
                experiment: Some(sweep.begin()),
                ends_session: true,
            });
        }
        let find = self.find.clone().map(|limit| ExperimentSpec::find(limit, knobs.clone())).transpose();
        let find = find.map_err(|error| UsageError::of(format!("--find: {error}")))?;
        let experiment = find.map(ExperimentSpec::begin);
        Ok(ExperimentEffect { knobs, settings: Vec::new(), experiment, ends_session: true })
    }
}

/// The effect of an experiment on a session.
pub struct ExperimentEffect {
    /// The knobs at the start.
    pub knobs: Knobs,
    /// The settings of the experiment that are known in advance.
    pub settings: Vec<ExperimentSetting>,
    /// The experiment, if there is one.
    pub experiment: Option<Box<dyn Experiment>>,
    /// Whether a session without a screen ends with the experiment.
    pub ends_session: bool,
}
