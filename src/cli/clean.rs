//! `redyno clean`: undoes what a killed session left behind: parameters get their old values, what setups made and keys are
//! removed.

use std::{
    io::{self, BufRead, IsTerminal, Write},
    sync::mpsc,
    time::Duration,
};

use clap::Args;
use thiserror::Error;

use super::{
    target_args::{TargetArgs, TargetArgsError},
    words::Words,
};
use crate::{
    clock::Clock,
    server::{Cleaned, Cleaning, Control, Ledger, Marker, Obstacle, ServerError, Survey, Tuned, value_words},
    session::running::{delete, set_back},
    target::{Address, Target},
    units::counted,
    workload::KeyNames,
};

/// How long the server may take to tell what lives there: a connection and some twenty commands.
const SURVEY_LIMIT: Duration = Duration::from_secs(30);
/// The pause between two lines of progress.
const PROGRESS_EVERY: Duration = Duration::from_secs(1);

/// The arguments of `redyno clean`.
#[derive(Args, Debug, Clone)]
pub struct CleanArgs {
    /// Set parameters back and delete what setups made without asking, and do all this even while another redyno is at work
    /// on the server
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
    /// What was left there cannot be found.
    #[error(
        "{0} is a memcached, which lists no keys, so that those of a killed session cannot be found: it evicts them, or \
         flush_all removes them with all others"
    )]
    Unlisted(Address),
    /// The system.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Nothing could be removed there.
    #[error("{0}")]
    Obstacle(Obstacle),
    /// Somebody else's keys would go: `50 connections`.
    #[error(
        "another redyno puts load on {0} ({1}), and its keys would be removed under it; stop it first, or say --yes"
    )]
    InUse(Address, String),
    /// Somebody else's parameters would be set back, or what they made deleted: `set hz, maxmemory`.
    #[error("another redyno is connected to {0}, and may be the one that {1}; stop it first, or say --yes")]
    Changed(Address, String),
    /// Parameters are to be set, or what setups made is to be deleted, a line each, and nobody is there to be asked.
    #[error("{0}.\nSay --yes to do that and remove the keys.")]
    NeedsYes(String),
    /// Not everything could be set back or deleted; the marker stays.
    #[error("{0}")]
    NotUndone(String),
    /// It broke off, after `500 keys`.
    #[error("{0}; {1} removed before that, how many are left is not known")]
    BrokenOff(ServerError, String),
}

impl CleanError {
    /// The exit code of the program: 2 for bad usage, else 1.
    pub fn exit_code(&self) -> u8 {
        if matches!(self, Self::Target(_) | Self::NeedsYes(_)) { 2 } else { 1 }
    }
}

/// Says to `out` what was found and removed. Where the removal takes longer and stderr is a terminal, it tells its
/// progress there.
///
/// # Errors
/// When the server cannot be reached or refuses, when another session is at work, or when `out` cannot be written.
pub fn run(args: &CleanArgs, out: &mut dyn Write) -> Result<(), CleanError> {
    let target = args.target.target()?;
    if !target.dialect.is_resp() {
        return Err(CleanError::Unlisted(target.address));
    }
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
    for marker in &survey.runs {
        writeln!(out, "{place}: {} {}", marker.owner, found(marker))?;
        for name in &marker.strange {
            let strange = "is none that redyno writes; it was not touched";
            writeln!(out, "{place}: the marker's note of {name} {strange}")?;
        }
    }
    let may_undo = may_undo(&survey.runs, args.yes)?;
    let runs: Vec<_> = survey.runs.into_iter().map(Ledger::found).collect();
    let mut failed = Vec::new();
    for ledger in runs.iter().filter(|_| may_undo) {
        let Marker { tuned, made, .. } = ledger.marker();
        let set_back = tuned.iter().map(|tuned| set_back(tuned, ledger, &control, &target.address));
        let deleted = made.iter().rev().map(|made| delete(made, ledger, &control, &target.address));
        for told in set_back.chain(deleted) {
            match told {
                Ok(told) => writeln!(out, "{place}: {told}")?,
                Err(told) => failed.push(told),
            }
        }
    }
    if runs.is_empty() {
        writeln!(out, "{place}: nothing to undo, no run of redyno is listed there")?;
        return Ok(());
    }
    let cleaned = finish(&control.clean(runs))?;
    writeln!(out, "{place}: {cleaned}")?;
    if failed.is_empty() { Ok(()) } else { Err(CleanError::NotUndone(failed.join("\n"))) }
}

/// What a run left: `left its keys behind`.
fn found(marker: &Marker) -> String {
    let keys = if marker.kept { "kept its keys" } else { "left its keys behind" };
    let keys = format!("{keys} under {}", KeyNames::of_run(marker.run).prefix());
    let made = format!("made {}", names(&marker.made));
    let parts = [
        (marker.has_keys(), keys.as_str()),
        (!marker.tuned.is_empty(), "set parameters of the server"),
        (!marker.made.is_empty(), &made),
    ];
    let parts: Vec<_> = parts.into_iter().filter(|(is_so, _)| *is_so).map(|(_, words)| words).collect();
    if parts.is_empty() { "left nothing to undo".to_owned() } else { parts.join(" and ") }
}

fn names<T: ToString>(all: &[T]) -> String {
    all.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}

/// Whether the parameters of `runs` are to be set back, and what setups made deleted: what a marker says may come from
/// anybody, so a person sees it first. If not, that stays in their markers, and the keys go all the same.
fn may_undo(runs: &[Marker], yes: bool) -> Result<bool, CleanError> {
    let line = |tuned: &Tuned| {
        let now = tuned.to.last().map_or("", |to| value_words(to));
        format!("{} would be set back from {now} to {}", tuned.name, value_words(&tuned.from))
    };
    let made = runs.iter().flat_map(|marker| &marker.made).map(|made| format!("{made} would be deleted"));
    let lines: Vec<_> = runs.iter().flat_map(|marker| &marker.tuned).map(line).chain(made).collect();
    if lines.is_empty() || yes {
        return Ok(true);
    }
    let what = lines.join("\n");
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(CleanError::NeedsYes(what));
    }
    let mut err = Words::stderr();
    write!(err, "{what}\nDo that? [y/N] ")?;
    err.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// A control plane that nobody listens to: only its orders are wanted, and it polls once.
fn start(target: &Target) -> io::Result<Control> {
    let (news, _) = mpsc::channel();
    const NEVER: Duration = Duration::from_secs(24 * 3600);
    Control::start(target.clone(), Clock::start(), NEVER, news)
}

fn refuse_in_use(survey: &Survey, yes: bool) -> Result<(), CleanError> {
    let neighbours = &survey.neighbours;
    let tuned: Vec<_> =
        survey.runs.iter().flat_map(|marker| &marker.tuned).map(|tuned| tuned.name.as_str()).collect();
    let made: Vec<_> = survey.runs.iter().flat_map(|marker| &marker.made).collect();
    let set = (!tuned.is_empty()).then(|| format!("set {}", names(&tuned)));
    let made = (!made.is_empty()).then(|| format!("made {}", names(&made)));
    let deeds: Vec<_> = set.into_iter().chain(made).collect();
    match (neighbours.load, neighbours.sessions) {
        _ if yes || survey.runs.is_empty() => Ok(()),
        (Some(n @ 1..), _) => Err(CleanError::InUse(survey.address.clone(), counted(n, "connection"))),
        (_, Some(1..)) if !deeds.is_empty() => {
            Err(CleanError::Changed(survey.address.clone(), deeds.join(" and ")))
        }
        _ => Ok(()),
    }
}

fn finish(cleaning: &Cleaning) -> Result<Cleaned, CleanError> {
    let mut err = Words::stderr();
    loop {
        match cleaning.wait(PROGRESS_EVERY) {
            Some(Ok(cleaned)) => return Ok(cleaned),
            Some(Err(cause)) => {
                let removed = counted(cleaning.progress().removed, "key");
                return Err(CleanError::BrokenOff(cause, removed));
            }
            None if err.is_terminal() => {
                let now = cleaning.progress();
                let keys = counted(now.total, "key");
                writeln!(err, "looked at about {} of {keys}, removed {}", now.looked_at, now.removed)?;
            }
            None => {}
        }
    }
}
