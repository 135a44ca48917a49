//! Runs a command of redyno, from the command line to the exit code.

use std::{
    ffi::OsString,
    io::{self, IsTerminal, Write},
    path::Path,
    process::ExitCode,
};

use clap::{
    ArgMatches, CommandFactory,
    error::{ContextKind, ContextValue, ErrorKind},
};

use super::{
    args::CommandLine,
    command::{Invocation, PlanResult},
    completions, session,
};
use crate::{
    compat::run_imitated_tool,
    load::{IoChoice, IoMethod},
    print::{
        outlet::{Outlet, PATIENCE},
        words::{StreamText, choose_characters, stdout_result, warn},
    },
    runner::{Failure, Plan, UsageError},
    tui::theme::{Theme, ThemeChoice},
    units::lines_with_verb,
    untrusted,
};

/// Modes of redis-cli that redyno does not have.
const REDIS_CLI_ONLY: [&str; 7] =
    ["--lru-test", "--pipe", "--replica", "--rdb", "--functions-rdb", "--scan", "--eval"];
/// The largest length of the message about a refused command line, in characters.
const LONGEST_REFUSAL: usize = 1024;

/// Adds the command `ycsb` to a command line that begins with a link named `ycsb` or `go-ycsb`.
fn with_command(mut args: Vec<OsString>) -> Vec<OsString> {
    let link = args.first().and_then(|program| Path::new(program).file_name());
    if link.is_some_and(|link| link == "ycsb" || link == "go-ycsb") {
        args.insert(1, "ycsb".into());
    }
    args
}

/// Runs the program.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args = with_command(args.into_iter().collect());
    if let Some(code) = completions::answer(&args, CommandLine::command) {
        return code;
    }
    let has_terminal = io::stdout().is_terminal();
    choose_characters(is_ascii(false));
    let code = match CommandLine::read(&args) {
        _ if let Some(code) = run_imitated_tool(&args) => {
            end_output().map_or_else(|failure| fail(&failure, &args), |()| code)
        }
        Ok((line, given)) => {
            choose_characters(is_ascii(line.is_ascii()));
            end(plan(line, &given, has_terminal, true).and_then(Plan::run), &args)
        }
        _ if args.len() == 3
            && ["--version", "--verbose"].iter().all(|word| args.iter().any(|arg| arg == word)) =>
        {
            let _ = writeln!(StreamText::stdout(), "{}", version_with_reasons());
            end_output().map_or_else(|failure| fail(&failure, &args), |()| ExitCode::SUCCESS)
        }
        Err(error) if is_answer(&error) => end(stdout_result(error.print()).map_err(Into::into), &args),
        Err(error) => fail(&UsageError::Line(one_line(&error, &args)).into(), &args),
    };
    // Without stderr, the loss cannot be reported.
    let _ = Outlet::stderr().end_within(PATIENCE);
    code
}

/// Returns the plan of a command line. `has_terminal` is true if stdout is a terminal. `is_real` is true if the plan
/// will be carried out.
fn plan(mut line: CommandLine, matches: &ArgMatches, has_terminal: bool, is_real: bool) -> PlanResult {
    let given = Invocation { line: CommandLine::command, has_terminal, is_real };
    match line.command.take() {
        Some(command) => command.0.plan(given),
        None => session::plan(line, matches, given),
    }
}

/// Returns whether to use only ASCII characters. The reason is a request of the user (`is_asked`), or a locale without
/// other characters.
fn is_ascii(is_asked: bool) -> bool {
    !Theme::from_env(ThemeChoice::default(), is_asked).has_braille()
}

/// Returns the exit code of the command. If the command's output cannot be written, the command has failed.
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

/// Waits for a limited time until the rest of standard output is read. If a terminal accepts no more output, the lost
/// rest is not an error. In a pipe or a file, the lost rest is an error, because the reader expects all output.
fn end_output() -> Result<(), Failure> {
    match Outlet::stdout().end_within(PATIENCE) {
        Ok(lost) if lost > 0 && !io::stdout().is_terminal() => {
            Err(anyhow::anyhow!("{} lost: nobody read standard output", lines_with_verb(lost)).into())
        }
        // The reader of the output has closed the pipe, as `head` does.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(anyhow::Error::from(error).context("cannot write to stdout").into())
        }
        _ => Ok(()),
    }
}

/// Returns the error if redyno refuses `args` early. An early refusal comes before the program opens files, starts a
/// thread or asks the user. `has_terminal` is true if stdout is a terminal.
#[doc(hidden)]
pub fn refusal(args: &[OsString], has_terminal: bool) -> Option<String> {
    let refused = match CommandLine::read(args) {
        Ok((line, given)) => plan(line, &given, has_terminal, false).err()?,
        Err(error) if is_answer(&error) => return None,
        Err(error) => UsageError::Line(one_line(&error, args)).into(),
    };
    Some(failure_text(&refused, args))
}

/// Returns the version, the facts of the build, and the ways in which the load's threads can read and write on this
/// machine.
fn version_with_reasons() -> String {
    let build = if cfg!(debug_assertions) { "debug" } else { "release" };
    let libc = if cfg!(target_env = "musl") { "musl, static" } else { "the system's C library" };
    let uring = match IoMethod::Uring.check() {
        Ok(()) => "available".to_owned(),
        Err(error) => format!("not available: the system refuses it ({error})"),
    };
    format!(
        "redyno {}\nbuild     {build}, {} {}, {libc}\nepoll     available, the default\nio_uring  {uring}\n--io auto  {}",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::OS,
        std::env::consts::ARCH,
        IoChoice::get()
    )
}

/// Returns whether `error` is a text that the user requested (the help or the version).
fn is_answer(error: &clap::Error) -> bool {
    matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion)
}

fn fail(failure: &Failure, args: &[OsString]) -> ExitCode {
    if !matches!(failure, Failure::Interrupted) {
        warn(&failure_text(failure, args));
    }
    ExitCode::from(failure.exit_code())
}

/// Returns the message of a failure. The message may repeat an argument, which can contain any characters.
fn failure_text(failure: &Failure, args: &[OsString]) -> String {
    let message = without_passwords(&failure.to_string(), args);
    match failure {
        // These messages may have several lines. In any other message, a line break comes from an argument.
        Failure::Usage(UsageError::NeedsYes(_)) | Failure::Failed(_) => untrusted::lines(message.as_bytes()),
        _ => untrusted::at_most(message.as_bytes(), LONGEST_REFUSAL),
    }
}

/// Removes passwords from a message that may repeat an argument. Users easily put a URI in the wrong place, so the part
/// between `://` and `@` is removed. The query of a URI may contain a token, so the query is removed. The text after
/// `-a` is removed even if this text looks like an option.
fn without_passwords(message: &str, args: &[OsString]) -> String {
    let mut message = message.to_owned();
    let words: Vec<_> = args.iter().map(|arg| arg.to_string_lossy()).collect();
    let is_joined = |word: &str| ["-a", "--pass=", "--password="].iter().any(|name| word.starts_with(name));
    // clap removes control characters.
    let bare = |secret: &str| secret.chars().filter(|c| !c.is_control()).collect::<String>();
    let follows = |n: usize| n > 0 && ["-a", "--pass", "--password"].contains(&words[n - 1].as_ref());
    for (_, secret) in words.iter().enumerate().filter(|(n, word)| follows(*n) || is_joined(word)) {
        message =
            message.replace(&format!("'{secret}'"), "'…'").replace(&format!("'{}'", bare(secret)), "'…'");
    }
    for word in &words {
        let uri = word.split_once("://").and_then(|(_, rest)| Some((rest, &rest[rest.find('?')?..])));
        if let Some((rest, query)) = uri {
            // With an @, the text after the first ? may be a part of a password, so the whole text after ://
            // is hidden.
            let secret = if query.contains('@') { rest } else { query };
            message = message.replace(secret, "?…").replace(&bare(secret), "?…");
        }
        let secret = word.split_once("://").and_then(|(_, rest)| Some(rest.rsplit_once('@')?.0));
        if let Some(secret) = secret.filter(|secret| !secret.is_empty()) {
            message = message.replace(&format!("{secret}@"), "…@");
        }
    }
    message
}

/// Returns one line with the error in the command line, and with advice.
fn one_line(error: &clap::Error, args: &[OsString]) -> String {
    // Passwords are removed before the lines are joined: an argument with line breaks would not be found afterwards.
    let text = untrusted::without_user_info(&without_passwords(&error.render().to_string(), args));
    // An argument may contain an empty line.
    let ends = ["Usage:", "For more information", "  tip:"].map(|next| text.find(&format!("\n\n{next}")));
    let what = &text[..ends.into_iter().flatten().min().unwrap_or(text.len())];
    let what: Vec<_> = what.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let what = what.join(" ");
    let what = what.strip_prefix("error: ").unwrap_or(&what);
    let suggestion = [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand].into_iter().find_map(
        |kind| match error.get(kind)? {
            ContextValue::String(text) => Some(text.clone()),
            ContextValue::Strings(texts) => texts.first().cloned(),
            _ => None,
        },
    );
    let usage = text.split_once("\n\nUsage: ").map_or("", |(_, usage)| usage);
    let is_name = |word: &&str| word.bytes().all(|byte| byte.is_ascii_lowercase());
    let command = usage.split(' ').skip(1).take_while(is_name).collect::<Vec<_>>().join(" ");
    let only_original = REDIS_CLI_ONLY.iter().find(|mode| what.contains(&format!("'{mode}'")));
    match suggestion {
        _ if let Some(mode) = only_original => {
            let reason = "redyno has only the modes of redis-cli that measure or examine a server";
            format!("{reason}; for {mode}, use redis-cli {mode}")
        }
        _ if what.contains("://") && !what.contains("'--push ") && command != "versus" => {
            format!("{what}; a URI is given with -u")
        }
        Some(suggestion) => format!("{what}; did you mean '{suggestion}'?"),
        // The message about an invalid value includes the valid ones.
        None if error.kind() == ErrorKind::ValueValidation => what.to_owned(),
        None if command.is_empty() => format!("{what}; `redyno --help` lists the options and commands"),
        None => format!("{what}; `redyno {command} --help` lists its options"),
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use clap::Parser;

    use super::*;

    fn complaint(args: &str) -> String {
        let args: Vec<_> =
            std::iter::once("redyno").chain(args.split_whitespace()).map(OsString::from).collect();
        one_line(&CommandLine::read(&args).unwrap_err(), &args)
    }

    #[test]
    fn a_link_with_the_name_of_ycsb_starts_the_command() {
        let words =
            |line: &str| with_command(line.split(' ').map(OsString::from).collect()).join(OsStr::new(" "));
        assert_eq!(words("/bin/go-ycsb load redis"), "/bin/go-ycsb ycsb load redis");
        assert_eq!(words("redyno ycsb load"), "redyno ycsb load");
    }

    #[test]
    fn n_is_the_database_in_the_modes_of_redis_cli() {
        let db = |line: &str| {
            let args: Vec<_> = line.split(' ').map(OsString::from).collect();
            let (line, _) = CommandLine::read(&args).unwrap();
            (line.target.db, line.session.requests)
        };
        assert_eq!(db("redyno --bigkeys -n 0"), (Some(0), None));
        assert_eq!(db("redyno -n3 --latency-history --no-auth-warning"), (Some(3), None));
        assert_eq!(db("redyno -n 3"), (None, Some(3)));
    }

    #[test]
    fn a_wrong_command_line_gets_one_line_with_the_next_step() {
        assert_eq!(complaint("--lod"), "unexpected argument '--lod' found; did you mean '--load'?");
        assert_eq!(
            complaint("-p"),
            "a value is required for '--port <PORT>' but none was supplied; `redyno --help` lists the options and commands"
        );
        assert_eq!(
            complaint("versus -p 7000"),
            "unexpected argument '-p' found; `redyno versus --help` lists its options"
        );
        assert_eq!(
            complaint("-p 6379 --lru-test 1000"),
            "redyno has only the modes of redis-cli that measure or examine a server; for --lru-test, use redis-cli --lru-test"
        );
        for mode in REDIS_CLI_ONLY {
            assert!(complaint(mode).ends_with(&format!("use redis-cli {mode}")), "{mode}");
        }
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
        for url in
            ["otlp:http://h:0/x?key=s3 cret", "otlp:ftp://h?a=b@c&key=s3cret", "otlp:ftp://h?key=s3\u{7}cret"]
        {
            let args = ["redyno", "--push", url].map(OsString::from);
            let said = one_line(&CommandLine::read(&args).unwrap_err(), &args);
            assert!(said.contains("?…'") && !said.contains("cret") && !said.contains("-u"), "{said}");
        }
        assert!(complaint("clean redis://h").ends_with("; a URI is given with -u"));
        assert!(
            complaint("versus redis://a redis://b redis://c")
                .ends_with("`redyno versus --help` lists its options")
        );
    }

    #[test]
    fn the_host_is_h_as_in_every_redis_tool() {
        let line = CommandLine::try_parse_from(["redyno", "-h", "example.org", "-3"]).unwrap();
        assert_eq!(line.target.host.as_deref(), Some("example.org"));
    }
}
