//! Conditions after a measurement: what is met is told, to a person and to the runner of a pipeline.

use std::{env, fs::OpenOptions, io::Write};

use anyhow::Context as _;

use super::read::read;
use crate::{
    cli::{Failure, UsageError, words::Words},
    compare::{Condition, Crossed, Run, misfits},
    foreign,
    session::{Timeline, figures::Row},
};

/// What becomes of the conditions that are met.
///
/// # Errors
/// When one is.
pub(super) fn end(crossed: &[Crossed]) -> Result<(), Failure> {
    if is_github() {
        for crossed in crossed {
            // The last words of a program that fails: where nobody takes them the exit code still tells.
            let _ =
                writeln!(Words::stdout(), "::error title=redyno::{}", foreign::text(&crossed.to_string()));
        }
    }
    let told = |crossed: &[&Crossed]| crossed.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    let (unsure, sure): (Vec<_>, Vec<_>) = crossed.iter().partition(|crossed| !crossed.is_sure);
    match (&sure[..], &unsure[..]) {
        ([], []) => Ok(()),
        ([], unsure) => Err(Failure::Undecided(told(unsure))),
        (sure, _) => Err(Failure::Crossed(told(sure))),
    }
}

/// Whether this runs as a step of GitHub Actions.
fn is_github() -> bool {
    env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true")
}

/// Adds `markdown` to the summary of a job of GitHub Actions, if this runs in one.
///
/// # Errors
/// When its file cannot be written.
pub(super) fn add_to_job_summary(markdown: &str) -> Result<(), Failure> {
    let Some(path) = env::var_os("GITHUB_STEP_SUMMARY").filter(|path| is_github() && !path.is_empty()) else {
        return Ok(());
    };
    let mut file =
        OpenOptions::new().append(true).create(true).open(path).context("cannot write the job's summary")?;
    file.write_all(markdown.as_bytes()).context("cannot write the job's summary")?;
    Ok(())
}

/// What conditions of a run that has no base yet may not be.
///
/// # Errors
/// When one is on a change, and there is nothing to compare with.
pub fn check_conditions(conditions: &[Condition], base: Option<&str>) -> Result<(), UsageError> {
    match conditions.iter().find(|condition| condition.is_relative() && base.is_none()) {
        Some(condition) => {
            let text = format!(
                "--fail-if '{condition}' is on a change: name the recording to compare with, --base FILE"
            );
            Err(UsageError::Line(text))
        }
        None => Ok(()),
    }
}

/// Looks at the conditions when a session is over.
///
/// # Errors
/// When one is met, when there was nothing to look at, or when the base cannot be compared with it.
pub fn after_session(
    conditions: &[Condition],
    base: Option<&str>,
    timeline: &Timeline,
) -> Result<(), Failure> {
    if conditions.is_empty() {
        return Ok(());
    }
    let crossed: Vec<_> = match base {
        None => {
            let summary = timeline.summary();
            let (row, is_open) = (Row::of_summary(&summary), summary.response.is_some());
            conditions.iter().filter_map(|condition| condition.of_row(&row, is_open)).collect()
        }
        Some(base) => {
            let new = Run::of("this run", timeline, None);
            let (base, new) = ([read(base)?], [new.map_err(|error| anyhow::anyhow!("--base: {error}"))?]);
            refuse(&misfits(&base, &new))?;
            conditions.iter().filter_map(|condition| condition.of_runs(&base, &new)).collect()
        }
    };
    end(&crossed)
}

/// Refuses what cannot be compared.
///
/// # Errors
/// With the reasons, if there are any.
pub(super) fn refuse(misfits: &[String]) -> Result<(), Failure> {
    if misfits.is_empty() {
        return Ok(());
    }
    let reasons = misfits.join("; ");
    Err(anyhow::anyhow!("these cannot be compared: {reasons}; --anyway does").into())
}
