//! The options that let a session turn knobs by itself.

use std::{path::Path, time::Duration};

use clap::Args;

use super::UsageError;
use crate::{
    experiment::{Experiment, Find, Limit, Script, ScriptError, Setting, Sweep, SweepPlan},
    load::Knobs,
    workload::text_of,
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
    /// Turn knobs in the times that a file says, a line each: 'at 30s clients 100', 'from 60s to 120s rate 1k..50k' (in 20 equal
    /// steps, or 'in 60'), 'at 150s end'; without a screen the session ends with it, or after --duration
    #[arg(long, value_name = "FILE", value_parser = ScriptFile::read)]
    #[arg(conflicts_with_all = ["find", "sweep", "requests", "no_load"])]
    pub script: Option<ScriptFile>,
}

/// The file of a script, as it was when the program began.
#[derive(Debug, Clone)]
pub struct ScriptFile {
    name: String,
    text: String,
}

impl ScriptFile {
    fn read(path: &str) -> Result<Self, String> {
        let text = text_of(Path::new(path)).map_err(|error| format!("cannot read it: {}", error.cause))?;
        // The beginning of each message.
        let name = Path::new(path).file_name().map_or(path.into(), |name| name.to_string_lossy());
        Ok(Self { name: name.into_owned(), text })
    }

    fn script(&self, knobs: &Knobs) -> Result<Script, UsageError> {
        let wrong = |error: ScriptError| UsageError::Line(error.to_string());
        Script::parse(&self.name, &self.text, knobs).map_err(wrong)
    }
}

impl ExperimentArgs {
    /// Whether there is any: it is a load by its nature.
    pub fn is_given(&self) -> bool {
        self.find.is_some() || self.sweep.is_some() || self.script.is_some()
    }

    /// What it will put in force on top of these knobs, as far as that is known beforehand.
    ///
    /// # Errors
    /// When one of the settings cannot be.
    pub fn settings(&self, knobs: &Knobs) -> Result<Vec<Setting>, UsageError> {
        if let Some(file) = &self.script {
            return Ok(file.script(knobs)?.settings().to_vec());
        }
        let settings = self.sweep.as_ref().map_or(Ok(Vec::new()), |plan| plan.settings(knobs));
        settings.map_err(|error| UsageError::Line(format!("--sweep: {error}")))
    }

    /// The knobs that a session begins with which would have these without an experiment: no other load comes before the first that
    /// was asked for. Those before a sweep come back after it, where the session goes on.
    ///
    /// # Errors
    /// When one of the settings cannot be.
    pub fn first_knobs(&self, knobs: &Knobs, goes_on: bool) -> Result<Knobs, UsageError> {
        if let Some(file) = &self.script {
            return Ok(file.script(knobs)?.first_knobs().clone());
        }
        let first = self.settings(knobs)?.into_iter().next().filter(|_| !goes_on);
        Ok(first.map_or_else(|| knobs.clone(), |setting| setting.knobs))
    }

    /// Whether a session without a screen, of this length if it has one, ends with it.
    pub fn ends_session(&self, length: Option<Duration>) -> bool {
        self.script.is_none() || length.is_none()
    }

    /// Refuses a script that a session of this length does not play to its end.
    ///
    /// # Errors
    /// Says when it turns last.
    pub fn check_length(&self, length: Option<Duration>, knobs: &Knobs) -> Result<(), UsageError> {
        let (Some(file), Some(length)) = (&self.script, length) else { return Ok(()) };
        let script = file.script(knobs)?;
        let length_s = length.as_secs_f64();
        if script.last_turn_s() < length_s && script.end_s() <= length_s {
            return Ok(());
        }
        let (last_s, end_s) = (script.last_turn_s(), script.end_s());
        Err(UsageError::Line(format!(
            "--duration {length_s} ends before {}, which turns a knob at {last_s} s and ends at {end_s} s",
            file.name
        )))
    }

    /// The experiment, on top of these knobs.
    ///
    /// # Errors
    /// When one of its settings cannot be.
    pub fn experiment(&self, knobs: &Knobs) -> Result<Option<Box<dyn Experiment>>, UsageError> {
        if let Some(limit) = &self.find {
            return Ok(Some(Box::new(Find::new(limit.clone(), knobs.clone()))));
        }
        if let Some(file) = &self.script {
            return Ok(Some(Box::new(file.script(knobs)?)));
        }
        let Some(plan) = &self.sweep else { return Ok(None) };
        let sweep = Sweep::new(plan.clone(), knobs);
        Ok(Some(Box::new(sweep.map_err(|error| UsageError::Line(format!("--sweep: {error}")))?)))
    }
}
