//! From the words of a command line to what is asked for, word by word as the benchmarks themselves read it.

use std::{ffi::OsString, os::unix::ffi::OsStrExt as _};

use super::{Flavour, asked::BenchOptions, help};
use crate::compat::{
    options::{Habit, Reader, Refusal},
    run::Answer,
};

/// Reads the words behind the name of the program.
///
/// # Errors
/// What is said where they ask for no run.
pub(super) fn parse(flavour: Flavour, words: &[OsString]) -> Result<BenchOptions, Answer> {
    let mut asked = BenchOptions::usual();
    let habit = Habit::Command { ends_with_dashes: flavour != Flavour::Redis };
    let read = Reader::new(habit, help::options(flavour), words)
        .read(|given| asked.take(given.choice.name(), &given.value));
    let (out, last, code) = match read {
        Ok(command) => {
            asked.command = command.iter().map(|word| word.as_bytes().to_vec()).collect();
            return Ok(asked);
        }
        Err(Refusal::Help) => (help::usage(flavour), None, 0),
        Err(Refusal::Version) => (flavour.version(), None, 0),
        Err(Refusal::Told(line)) => (String::new(), Some(line), 1),
        Err(Refusal::Wrong(option, _)) => {
            let invalid = format!("Invalid option \"{option}\" or option argument missing\n\n");
            (invalid + &help::usage(flavour), None, 1)
        }
    };
    let err = asked.warnings.into_iter().chain(last).map(|line| line + "\n").collect();
    Err(Answer { out, err, code })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compat::redis_benchmark::asked::Form;

    fn parsed(flavour: Flavour, line: &str) -> Result<BenchOptions, Answer> {
        let words: Vec<_> = line.split_whitespace().map(OsString::from).collect();
        parse(flavour, &words)
    }

    fn asked(line: &str) -> BenchOptions {
        parsed(Flavour::Redyno, line).unwrap_or_else(|answer| panic!("{line}: {answer:?}"))
    }

    fn answer(flavour: Flavour, line: &str) -> Answer {
        parsed(flavour, line).err().unwrap_or_else(|| panic!("{line} is taken"))
    }

    #[test]
    fn the_first_word_without_a_dash_begins_the_command() {
        let asked = asked("-n 10 -q lpush abc -q");
        assert_eq!(asked.command, [b"lpush".to_vec(), b"abc".to_vec(), b"-q".to_vec()]);
        assert_eq!((asked.form, asked.requests()), (Form::Quiet, Some(10)));
        assert_eq!(self::asked("-- -x").command, [b"-x".to_vec()]);
    }

    #[test]
    fn what_is_out_of_range_is_taken_as_theirs_takes_it() {
        let asked = asked("-P 0 -d 0 -r -5 -c 7 -t GET,nope --threads 501 -e");
        assert_eq!((asked.pipeline, asked.data_size, asked.keyspace, asked.threads), (1, 1, Some(0), 500));
        assert_eq!(asked.tests.as_deref(), Some(",get,nope,"));
        assert_eq!(asked.warnings.len(), 2);
        assert_eq!(self::asked("-d 9999999999").data_size, 1 << 30);
    }

    #[test]
    fn what_is_no_option_is_named_above_the_usage() {
        for (flavour, line, name) in [
            (Flavour::Redyno, "--zz", "--zz"),
            (Flavour::Redyno, "-q -n", "-n"),
            (Flavour::Redyno, "-r -x", "-r"),
            (Flavour::Redis, "--num-functions 3", "--num-functions"),
            (Flavour::Redis, "--", "--"),
        ] {
            let Answer { out, err, code } = answer(flavour, line);
            let first = format!("Invalid option \"{name}\" or option argument missing\n\nUsage: ");
            assert!(out.starts_with(&first) && err.is_empty() && code == 1, "{out}");
        }
    }

    #[test]
    fn what_ends_it_is_told_on_standard_error() {
        for (line, expected) in [
            ("--duration 1 -n 5", "Options -n and --duration are mutually exclusive.\n"),
            ("-p 65536", "Invalid server port.\n"),
            ("--cluster", "--cluster is not there yet in redyno bench\n"),
        ] {
            let Answer { out, err, code } = answer(Flavour::Redyno, line);
            assert_eq!((out.as_str(), err.as_str(), code), ("", expected, 1));
        }
    }
}
