//! From the command line to an exit code.

use std::{
    ffi::OsString,
    io::{self, IsTerminal, Write},
    process::ExitCode,
};

use anyhow::Context as _;
use clap::{
    ArgMatches, CommandFactory, FromArgMatches,
    error::{ContextKind, ContextValue, ErrorKind},
};

use super::{
    Failure, UsageError,
    args::{Command, CommandLine},
    clean, demo, effect, oneshot,
    outlet::{Outlet, PATIENCE},
    replay, session,
    words::{Words, were},
};
use crate::{
    foreign,
    signals::{Signal, listen},
};

/// Runs the program.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().collect();
    let parsed = CommandLine::command().try_get_matches_from(&args);
    let code = match parsed.and_then(|given| Ok((CommandLine::from_arg_matches(&given)?, given))) {
        Ok((line, given)) => end(dispatch(&line, &given), &args),
        Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            // A help that cannot be written has no other place to go.
            let _ = error.print();
            return ExitCode::SUCCESS;
        }
        Err(error) => fail(&UsageError::Line(one_line(&error)).into(), &args),
    };
    // Nobody is left to be told what was lost there.
    let _ = Outlet::stderr().end_within(PATIENCE);
    code
}

/// What became of the command, and of what it wrote.
fn end(done: Result<(), Failure>, args: &[OsString]) -> ExitCode {
    match (done, end_output()) {
        (Ok(()), Ok(())) => ExitCode::SUCCESS,
        (Ok(()), Err(failure)) | (Err(failure), Ok(())) => fail(&failure, args),
        (Err(failure), Err(unwritten)) => {
            fail(&unwritten, args);
            fail(&failure, args)
        }
    }
}

/// Gives who reads standard output the time to take the rest. A terminal that takes nothing has no reader who misses
/// it; of a pipe or a file somebody expects all.
fn end_output() -> Result<(), Failure> {
    match Outlet::stdout().end_within(PATIENCE) {
        Ok(lost) if lost > 0 && !io::stdout().is_terminal() => {
            Err(anyhow::anyhow!("{} lost: nobody read standard output", were(lost)).into())
        }
        // Whoever read our lines has had enough, as `head` does.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(anyhow::Error::from(error).context("cannot write to stdout").into())
        }
        _ => Ok(()),
    }
}

fn dispatch(line: &CommandLine, given: &ArgMatches) -> Result<(), Failure> {
    match &line.command {
        Some(Command::Demo(args)) => {
            let stop = listen(&Signal::ENDS).context("cannot take signals")?;
            return Ok(demo::run(args, &stop)?);
        }
        Some(Command::Replay(args)) => return replay::run(args, io::stdout().is_terminal()),
        Some(Command::Clean(args)) => return Ok(clean::run(args, &mut Words::stdout())?),
        None => {}
    }
    let has_terminal = io::stdout().is_terminal();
    match line.oneshot.plan(line.target.target()?, line.session.json)? {
        Some(plan) => {
            effect::check(given, line, has_terminal)?;
            let stop = listen(&Signal::ENDS).context("cannot take signals")?;
            Ok(oneshot::run(&plan, &stop, has_terminal)?)
        }
        None => {
            // Wrong arguments are told before anything is opened, started or asked.
            session::check(line)?;
            effect::check(given, line, has_terminal)?;
            session::run(line, has_terminal)
        }
    }
}

fn fail(failure: &Failure, args: &[OsString]) -> ExitCode {
    if !matches!(failure, Failure::Interrupted) {
        // An argument may be repeated in it, and come from anywhere.
        let told = foreign::lines(without_passwords(&failure.to_string(), args).as_bytes());
        // Without a stderr only the exit code can tell.
        let _ = writeln!(Words::stderr(), "redyno: {told}");
    }
    ExitCode::from(failure.exit_code())
}

/// A message that may repeat an argument, without what such an argument may hold between `://` and `@`: a URI stands
/// easily in the wrong place.
fn without_passwords(message: &str, args: &[OsString]) -> String {
    let mut message = message.to_owned();
    for arg in args {
        let arg = arg.to_string_lossy();
        let secret = arg.split_once("://").and_then(|(_, rest)| Some(rest.rsplit_once('@')?.0));
        if let Some(secret) = secret.filter(|secret| !secret.is_empty()) {
            message = message.replace(&format!("{secret}@"), "…@");
        }
    }
    message
}

/// What is wrong with the command line, in one line with the next step.
fn one_line(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let what: Vec<_> = text.lines().take_while(|line| !line.is_empty()).map(str::trim).collect();
    let what = what.join(" ");
    let what = what.strip_prefix("error: ").unwrap_or(&what);
    let suggestion = [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand].into_iter().find_map(
        |kind| match error.get(kind)? {
            ContextValue::String(text) => Some(text.clone()),
            ContextValue::Strings(texts) => texts.first().cloned(),
            _ => None,
        },
    );
    match suggestion {
        _ if what.contains("://") => format!("{what}; a URI is given with -u"),
        Some(suggestion) => format!("{what}; did you mean '{suggestion}'?"),
        None => format!("{what}; redyno --help lists what there is"),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn complaint(args: &str) -> String {
        let args = std::iter::once("redyno").chain(args.split_whitespace());
        one_line(&CommandLine::try_parse_from(args).unwrap_err())
    }

    #[test]
    fn a_wrong_command_line_gets_one_line_with_the_next_step() {
        assert_eq!(complaint("--lod"), "unexpected argument '--lod' found; did you mean '--load'?");
        assert_eq!(
            complaint("-p"),
            "a value is required for '--port <PORT>' but none was supplied; redyno --help lists what there is"
        );
        for line in
            ["--load --no-load", "--ratio 1:1 --workload get", "-p x", "demo --load", "--raw", "nonsense"]
        {
            assert_eq!(complaint(line).lines().count(), 1, "{line}");
        }
    }

    #[test]
    fn an_argument_in_the_wrong_place_does_not_show_its_password() {
        let args =
            ["redis://u:s3/cr@t@h:1", "--x=rediss://:pw@h", "redis://h", "redis://@h"].map(OsString::from);
        assert_eq!(
            without_passwords("unexpected 'redis://u:s3/cr@t@h:1' and 'rediss://:pw@h', a@b", &args),
            "unexpected 'redis://…@h:1' and 'rediss://…@h', a@b"
        );
        assert!(complaint("redis://h").ends_with("; a URI is given with -u"));
    }

    #[test]
    fn the_host_is_h_as_in_every_redis_tool() {
        let line = CommandLine::try_parse_from(["redyno", "-h", "example.org", "-3"]).unwrap();
        assert_eq!(line.target.host.as_deref(), Some("example.org"));
    }
}
