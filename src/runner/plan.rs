//! From arguments to what a session is asked to do.

use super::launch::Destination;
use crate::{
    cli::{Failure, UsageError, args::CommandLine, compare::check_conditions, headless::Form},
    endpoint::UNVERIFIED,
    load::{FirstWords, LatencyTo, MAX_CLIENTS, Plan, Requests, most_clients},
    session::{
        Notice, TimelineOptions, Writer,
        running::{Commission, Keys, check_clients},
    },
    workload::{KeyNames, RunId},
};

/// Headless, and in which form; else the screen.
///
/// # Errors
/// When a form is asked for that the screen has not.
pub fn form(line: &CommandLine, has_terminal: bool) -> Result<Option<Form>, UsageError> {
    let headless = line.session.headless || !has_terminal;
    match (headless, line.session.json) {
        (true, true) => Ok(Some(Form::Json)),
        (true, false) => Ok(Some(Form::Lines)),
        (false, false) => Ok(None),
        (false, true) => Err(UsageError::Line(
            "--json is for --headless and the one-shot modes, not for the screen".to_owned(),
        )),
    }
}

/// Reads every argument that can be wrong.
///
/// # Errors
/// Names the first one.
pub fn check(line: &CommandLine, has_terminal: bool) -> Result<(), Failure> {
    form(line, has_terminal)?;
    check_conditions(&line.session.fail_if, line.session.base.as_deref())?;
    let knobs = line.knobs(false)?;
    let settings = line.experiment.settings(&knobs)?;
    line.experiment.check_length(line.session.duration, &knobs)?;
    let most = most_clients(line.load.worker_threads(), 1);
    for knobs in settings.iter().map(|setting| &setting.knobs).chain([&knobs]) {
        check_clients(knobs, most).map_err(UsageError::Line)?;
    }
    Ok(())
}

/// What the timeline is told.
pub fn timeline(line: &CommandLine) -> TimelineOptions {
    let mut options = TimelineOptions::default();
    options.ping_window = line.oneshot.interval.unwrap_or(options.ping_window);
    options
}

/// What the session is asked to do; `is_attended` is whether a person sits at a screen.
///
/// # Errors
/// When the arguments are wrong for this destination.
pub fn commission(
    line: &CommandLine,
    destination: &Destination,
    (recording, exports): (Option<Writer>, Vec<Writer>),
    is_attended: bool,
) -> Result<Commission, Failure> {
    let is_own = destination.built_in.is_some();
    let threads = line.load.worker_threads();
    let knobs = line.knobs(is_own)?;
    if is_own && line.load.keep {
        let text = "--keep: the built-in server goes at the end, and its keys with it; name a server";
        return Err(UsageError::Line(text.to_owned()).into());
    }
    let run = RunId::random();
    // Both ends of a connection to the built-in server are files of this process.
    let most_clients = most_clients(threads, if is_own { 2 } else { 1 });
    check_clients(&knobs, most_clients).map_err(UsageError::Line)?;
    let names = line.load.users_names().unwrap_or_else(|| KeyNames::of_run(run));
    for knobs in line.experiment.settings(&knobs)?.iter().map(|setting| &setting.knobs).chain([&knobs]) {
        let spoken = knobs.workload.check_dialect(destination.target.dialect, &names);
        spoken.map_err(|error| UsageError::Line(error.to_string()))?;
    }
    let plan = Plan {
        target: destination.target.clone(),
        first_words: FirstWords::Named,
        latency_to: LatencyTo::LastByte,
        threads,
        seed: line.load.seed(),
        names,
        timeout: line.load.reply_timeout(),
        requests: line.session.requests.map(Requests::InAll),
        length: line.session.duration,
    };
    Ok(Commission {
        plan,
        knobs,
        warmup: line.session.warmup,
        redacts: line.session.redact,
        run,
        keys: match line.load.users_names() {
            _ if is_own => Keys::OwnServers,
            Some(_) => Keys::Users,
            None => Keys::Runs { kept: line.load.keep },
        },
        is_allowed: line.load.yes,
        is_attended,
        keeps_going: line.load.keep_going,
        most_clients,
        unreachable: destination.unreachable.as_ref().map(ToString::to_string),
        recording,
        recordings_in: crate::cli::recordings::directory(),
        exports,
        notices: notices(destination, is_attended, most_clients),
    })
}

/// What a person must know from the start.
fn notices(destination: &Destination, is_attended: bool, most_clients: u32) -> Vec<Notice> {
    let is_unverified = destination.target.tls.as_ref().is_some_and(|tls| !tls.is_verified());
    let unverified = is_unverified.then(|| Notice::Warning(UNVERIFIED.to_owned()));
    // Whoever tries it with the built-in server is told when it matters.
    let limit = (is_attended && destination.built_in.is_none() && most_clients < MAX_CLIENTS).then(|| {
        Notice::Info(format!(
            "the limit of open files (ulimit -Hn) allows {most_clients} clients at the most"
        ))
    });
    unverified.into_iter().chain(limit).collect()
}
