//! Parses the command lines of the imitated tools with clap. Each tool has a type with its options, and its own texts
//! about a refused command line.

use std::{error::Error as _, ffi::OsString};

use clap::{
    Arg, ArgMatches, Args, Command,
    error::{ContextKind, ContextValue, ErrorKind},
};

/// A list in the value of one option. clap would read a `Vec` as several values.
pub type List<T> = Vec<T>;

/// The end of the message about a named target such as `@prod`.
pub const NO_NAMES: &str = ": this command reads no config file and has no named targets; give the server's host and port, or \
    its URI with -u";

/// Returns the parser of a program with the options `A`. As in getopt, the word after an option with a value is this
/// value, even if the word begins with a dash.
pub fn parser<A: Args>(program: &'static str, version: String) -> Command {
    let with_any_value = |option: Arg| {
        let takes_value = !option.is_positional() && option.get_action().takes_values();
        if takes_value { option.allow_hyphen_values(true) } else { option }
    };
    let line = A::augment_args(Command::new(program)).about(None::<&str>).version(version);
    line.no_binary_name(true).disable_help_flag(true).mut_args(with_any_value)
}

/// Parses the arguments of a program.
///
/// # Errors
/// Fails if the arguments are invalid, or request the help or the version.
pub fn read<A: Args>(line: &mut Command, words: &[OsString]) -> Result<(A, ArgMatches), clap::Error> {
    let given = line.try_get_matches_from_mut(words)?;
    Ok((A::from_arg_matches(&given)?, given))
}

/// Returns the option of an error, without its value. If the error is about a word that is no option, returns this
/// word.
pub fn option_of(error: &clap::Error) -> String {
    names_of(error, ContextKind::InvalidArg)
}

fn names_of(error: &clap::Error, kind: ContextKind) -> String {
    let name = |option: &String| option.split(" <").next().unwrap_or(option).to_owned();
    match error.get(kind) {
        Some(ContextValue::String(option)) => name(option),
        Some(ContextValue::Strings(options)) => options.iter().map(name).collect::<Vec<_>>().join(" or "),
        _ => String::new(),
    }
}

/// Returns the error of an option's parser.
pub fn reason(error: &clap::Error) -> Option<String> {
    error.source().map(ToString::to_string)
}

/// Returns the error as one line. The text `error:` at its beginning is left out.
pub fn line_of(error: &clap::Error) -> String {
    if error.kind() == ErrorKind::ArgumentConflict {
        let [option, others] =
            [ContextKind::InvalidArg, ContextKind::PriorArg].map(|kind| names_of(error, kind));
        return format!("{option} cannot be used with {others}; leave one out");
    }
    let text = error.to_string();
    let text = text.split("\n\n").next().unwrap_or(&text).trim_start_matches("error: ");
    text.lines().map(str::trim).collect::<Vec<_>>().join(" ")
}
