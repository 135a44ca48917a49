//! `redyno clean`: undoes what a killed session left behind: parameters get their old values, keys are removed.

use std::{
    io::{self, Write},
    sync::mpsc,
    time::Duration,
};

use clap::Args;
use thiserror::Error;

use super::{
    set_back::set_back,
    target_args::{TargetArgs, TargetArgsError},
    words::Words,
};
use crate::{
    clock::Clock,
    server::{Cleaned, Cleaning, Control, Obstacle, ServerError, Survey, counted},
    target::{Address, Target},
    workload::KEY_PREFIX,
};

/// How long the server may take to tell what lives there: a connection and some twenty commands.
const SURVEY_LIMIT: Duration = Duration::from_secs(30);
/// The pause between two lines of progress.
const PROGRESS_EVERY: Duration = Duration::from_secs(1);

/// The arguments of `redyno clean`.
#[derive(Args, Debug, Clone)]
pub struct CleanArgs {
    /// Do so even while another redyno is at work on the server
    // Before the target, whose heading holds for everything after it.
    #[arg(long)]
    pub yes: bool,
    /// Where.
    #[command(flatten)]
    pub target: TargetArgs,
}

/// Why what was left was not undone, or not all of it.
#[derive(Debug, Error)]
pub enum CleanError {
    /// Bad usage.
    #[error(transparent)]
    Target(#[from] TargetArgsError),
    /// The server, or the way to it.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The system.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Nothing could be removed there.
    #[error("{0}")]
    Obstacle(Obstacle),
    /// Somebody else's keys would go.
    #[error(
        "another redyno puts load on {address} ({connections}), and its keys would be removed under it; stop it \
         first, or say --yes"
    )]
    InUse {
        /// The server.
        address: Address,
        /// `50 connections`.
        connections: String,
    },
    /// Somebody else's parameters would be set back.
    #[error(
        "another redyno is connected to {address}, and may be the one that set {names}; stop it first, or say --yes"
    )]
    Tuned {
        /// The server.
        address: Address,
        /// `hz, maxmemory`.
        names: String,
    },
    /// Parameters could not be set back; the marker stays.
    #[error("{0}")]
    NotSetBack(String),
    /// It broke off.
    #[error("{cause}; {removed} removed before that, how many are left is not known")]
    BrokenOff {
        /// Why.
        cause: ServerError,
        /// `500 keys`.
        removed: String,
    },
}

impl CleanError {
    /// The exit code of the program: 2 for bad usage, else 1.
    pub fn exit_code(&self) -> u8 {
        if matches!(self, Self::Target(_)) { 2 } else { 1 }
    }
}

/// Says to `out` what was found and removed. Where the removal takes longer and stderr is a terminal, it tells its
/// progress there.
///
/// # Errors
/// When the server cannot be reached or refuses, when another session is at work, or when `out` cannot be written.
pub fn run(args: &CleanArgs, out: &mut dyn Write) -> Result<(), CleanError> {
    let target = args.target.target()?;
    let control = start(&target)?;
    let survey = control
        .survey()
        .wait(SURVEY_LIMIT)
        .unwrap_or(Err(ServerError::Timeout { command: "the survey".to_owned(), after: SURVEY_LIMIT }))?;
    if let Some(obstacle) = survey.obstacle() {
        return Err(CleanError::Obstacle(obstacle));
    }
    refuse_in_use(&survey, args.yes)?;
    let place = format!("{} db {}", target.address, target.db);
    let mut failed = Vec::new();
    if let Some(marker) = &survey.leftover {
        let what = if marker.keys { "left its keys behind" } else { "set parameters of the server" };
        writeln!(out, "{place}: {} {what}", marker.owner)?;
        for tuned in &marker.tuned {
            match set_back(tuned, &control, &target.address) {
                Ok(told) => writeln!(out, "{place}: {told}")?,
                Err(told) => failed.push(told),
            }
        }
    }
    let cleaned = finish(&control.clean())?;
    // It may have gone with the last parameter.
    let marker = survey.leftover.is_some() && failed.is_empty();
    writeln!(out, "{place}: {}", summary(Cleaned { marker, ..cleaned }))?;
    if failed.is_empty() { Ok(()) } else { Err(CleanError::NotSetBack(failed.join("\n"))) }
}

/// A control plane that nobody listens to: only its orders are wanted, and it polls once.
fn start(target: &Target) -> io::Result<Control> {
    let (news, _) = mpsc::channel();
    const NEVER: Duration = Duration::from_secs(24 * 3600);
    Control::start(target.clone(), Clock::start(), NEVER, news)
}

fn refuse_in_use(survey: &Survey, yes: bool) -> Result<(), CleanError> {
    match survey.neighbours.load {
        Some(n) if n > 0 && !yes => {
            return Err(CleanError::InUse {
                address: survey.address.clone(),
                connections: counted(n, "connection"),
            });
        }
        _ => {}
    }
    let tuned = survey.leftover.as_ref().map_or(&[][..], |marker| &marker.tuned);
    if tuned.is_empty() || survey.neighbours.sessions.unwrap_or(0) == 0 || yes {
        return Ok(());
    }
    let names = tuned.iter().map(|tuned| tuned.name.as_str()).collect::<Vec<_>>().join(", ");
    Err(CleanError::Tuned { address: survey.address.clone(), names })
}

fn finish(cleaning: &Cleaning) -> Result<Cleaned, CleanError> {
    let mut err = Words::stderr();
    loop {
        match cleaning.wait(PROGRESS_EVERY) {
            Some(Ok(cleaned)) => return Ok(cleaned),
            Some(Err(cause)) => {
                let removed = counted(cleaning.progress().removed, "key");
                return Err(CleanError::BrokenOff { cause, removed });
            }
            None if err.is_terminal() => {
                let now = cleaning.progress();
                let keys = counted(now.total, "key");
                writeln!(err, "looked at about {} of {keys}, removed {}", now.scanned, now.removed)?;
            }
            None => {}
        }
    }
}

fn summary(cleaned: Cleaned) -> String {
    match cleaned {
        Cleaned { removed: 0, marker: false, .. } => {
            format!("nothing to remove, no key is under {KEY_PREFIX}")
        }
        Cleaned { removed, marker, .. } => {
            let marker = if marker { " and the marker of that session" } else { "" };
            format!("removed {} under {KEY_PREFIX}{marker}", counted(removed, "key"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_says_what_was_removed() {
        let say = |removed, marker| summary(Cleaned { removed, marker, complete: true });
        assert_eq!(say(0, false), "nothing to remove, no key is under redyno:");
        assert_eq!(say(1, false), "removed 1 key under redyno:");
        assert_eq!(say(100_000, true), "removed 100 000 keys under redyno: and the marker of that session");
    }
}
