//! From the words of a command line to what is asked for, word by word as the benchmarks themselves read it.

use std::{ffi::OsString, os::unix::ffi::OsStrExt};

use super::{Flavour, asked::Asked, flavour::Who, help, options::OPTIONS};
use crate::compat::{Choice, Refusal, Takes};

/// What the words ask for.
pub(super) enum Parsed {
    /// A run.
    Run(Box<Asked>),
    /// An answer, on standard output and standard error, and the exit code.
    Answer(String, String, u8),
}

/// Reads the words behind the name of the program.
pub(super) fn parse(flavour: Flavour, words: &[OsString]) -> Parsed {
    let mut asked = Asked::default();
    let mut rest = words.iter();
    while let Some(word) = rest.clone().next() {
        let name = word.to_string_lossy();
        match name.as_ref() {
            "--help" => return Parsed::Answer(help::usage(flavour), said(&asked, None), 0),
            "-v" | "--version" => return Parsed::Answer(flavour.version(), said(&asked, None), 0),
            "--" if flavour != Flavour::Redis => {
                rest.next();
                break;
            }
            name if !name.starts_with('-') => break,
            _ => {}
        }
        rest.next();
        let taken = match find(flavour, &name).map(|option| &option.takes) {
            None => Err(Refusal::Invalid),
            Some(Takes::Nothing(set)) => set(&mut asked),
            Some(Takes::Value(_, set)) => match rest.next() {
                Some(value) => set(&mut asked, &value.to_string_lossy()),
                None => Err(Refusal::Invalid),
            },
        };
        match taken {
            Ok(()) => {}
            Err(Refusal::Invalid) => {
                let invalid = format!("Invalid option \"{name}\" or option argument missing\n\n");
                return Parsed::Answer(invalid + &help::usage(flavour), said(&asked, None), 1);
            }
            Err(Refusal::Told(text)) => return Parsed::Answer(String::new(), said(&asked, Some(text)), 1),
        }
    }
    asked.command = rest.map(|word| word.as_bytes().to_vec()).collect();
    Parsed::Run(Box::new(asked))
}

fn find(flavour: Flavour, name: &str) -> Option<&'static Choice<Asked, Who>> {
    OPTIONS.iter().find(|option| option.names.contains(&name) && flavour.takes(option.of))
}

/// The warnings so far, and what ends it, a line each.
fn said(asked: &Asked, last: Option<String>) -> String {
    asked.warnings.iter().cloned().chain(last).map(|line| line + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(flavour: Flavour, line: &str) -> Parsed {
        let words: Vec<_> = line.split_whitespace().map(OsString::from).collect();
        parse(flavour, &words)
    }

    fn asked(line: &str) -> Asked {
        match parsed(Flavour::Redyno, line) {
            Parsed::Run(asked) => *asked,
            Parsed::Answer(out, err, code) => panic!("{line}: {code} {out} {err}"),
        }
    }

    #[test]
    fn the_first_word_without_a_dash_begins_the_command() {
        let asked = asked("-n 10 -q lpush abc -q");
        assert_eq!(asked.command, [b"lpush".to_vec(), b"abc".to_vec(), b"-q".to_vec()]);
        assert!(asked.is_quiet && asked.requests() == Some(10));
        assert_eq!(self::asked("-- -x").command, [b"-x".to_vec()]);
    }

    #[test]
    fn what_is_out_of_range_is_taken_as_theirs_takes_it() {
        let asked = asked("-P 0 -d 0 -r -5 -c 7 -t GET,nope --threads 501 -e");
        assert_eq!(
            (asked.pipeline(), asked.data_size(), asked.keyspace, asked.threads),
            (1, 1, Some(0), 500)
        );
        assert_eq!(asked.tests.as_deref(), Some(",get,nope,"));
        assert_eq!(asked.warnings.len(), 2);
        assert_eq!(self::asked("-d 9999999999").data_size(), 1 << 30);
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
            let Parsed::Answer(out, err, code) = parsed(flavour, line) else { panic!("{line}") };
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
            let Parsed::Answer(out, err, code) = parsed(Flavour::Redyno, line) else { panic!("{line}") };
            assert_eq!((out.as_str(), err.as_str(), code), ("", expected, 1));
        }
    }
}
