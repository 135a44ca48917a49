//! `redyno clean`: removes the keys that a killed session left behind.

use std::{
    io::{self, IsTerminal, Write},
    sync::mpsc,
    time::Duration,
};

use clap::Args;
use thiserror::Error;

use super::target_args::{TargetArgs, TargetArgsError};
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
    /// Remove the keys even while another redyno puts load on the server
    // Before the target, whose heading holds for everything after it.
    #[arg(long)]
    pub yes: bool,
    /// Where.
    #[command(flatten)]
    pub target: TargetArgs,
}

/// Why keys were not removed, or not all.
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
    if let Some(marker) = &survey.leftover {
        writeln!(out, "{} db {}: {marker} left its keys behind", target.address, target.db)?;
    }
    let cleaned = finish(&control.clean())?;
    writeln!(out, "{}", summary(&target, cleaned))?;
    Ok(())
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
            Err(CleanError::InUse { address: survey.address.clone(), connections: counted(n, "connection") })
        }
        _ => Ok(()),
    }
}

fn finish(cleaning: &Cleaning) -> Result<Cleaned, CleanError> {
    let show = io::stderr().is_terminal();
    loop {
        match cleaning.wait(PROGRESS_EVERY) {
            Some(Ok(cleaned)) => return Ok(cleaned),
            Some(Err(cause)) => {
                let removed = counted(cleaning.progress().removed, "key");
                return Err(CleanError::BrokenOff { cause, removed });
            }
            None if show => {
                let now = cleaning.progress();
                let keys = counted(now.total, "key");
                eprintln!("looked at about {} of {keys}, removed {}", now.scanned, now.removed);
            }
            None => {}
        }
    }
}

fn summary(target: &Target, cleaned: Cleaned) -> String {
    let place = format!("{} db {}", target.address, target.db);
    match cleaned {
        Cleaned { removed: 0, marker: false, .. } => {
            format!("{place}: nothing to remove, no key is under {KEY_PREFIX}")
        }
        Cleaned { removed, marker, .. } => {
            let marker = if marker { " and the marker of that session" } else { "" };
            format!("{place}: removed {} under {KEY_PREFIX}{marker}", counted(removed, "key"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_says_what_was_removed_and_where() {
        let say = |removed, marker| summary(&Target::default(), Cleaned { removed, marker, complete: true });
        assert_eq!(say(0, false), "127.0.0.1:6379 db 0: nothing to remove, no key is under redyno:");
        assert_eq!(say(1, false), "127.0.0.1:6379 db 0: removed 1 key under redyno:");
        assert_eq!(
            say(100_000, true),
            "127.0.0.1:6379 db 0: removed 100 000 keys under redyno: and the marker of that session"
        );
    }
}
