//! From the words of a command line to what is asked for, as getopt_long reads them: options in any order, long ones by any
//! beginning that no other has, values behind `=`, a space or a letter.

use std::ffi::OsString;

use super::{
    absent::ABSENT,
    asked::{Asked, Pattern, Protocol, Requests},
    help,
    options::{Row, all, settle},
};
use crate::compat::{Refusal, Takes};

/// What the words ask for.
pub(super) enum Parsed {
    /// A run.
    Run(Box<Asked>),
    /// An answer on standard output.
    Answer(String),
    /// A refusal in a line on standard error.
    Refused(String),
}

/// Reads the words behind the name of `program`.
pub(super) fn parse(program: &str, words: &[OsString]) -> Parsed {
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let mut reading = Reading { program, asked: Asked::default(), rest: words.into_iter(), answer: None };
    let read = reading.read().and_then(|()| settle(&mut reading.asked)).and_then(|()| check(&reading.asked));
    match (read, reading.answer) {
        (_, Some(answer)) => Parsed::Answer(answer),
        (Ok(()), None) => Parsed::Run(Box::new(reading.asked)),
        (Err(Refusal::Told(line)), None) => Parsed::Refused(line),
        (Err(Refusal::Invalid), None) => Parsed::Refused(format!("{program}: invalid option")),
    }
}

/// How far the words are read.
struct Reading<'p> {
    program: &'p str,
    asked: Asked,
    rest: std::vec::IntoIter<String>,
    /// What is asked for in place of a run.
    answer: Option<String>,
}

/// What a name may be that begins with these letters.
enum Found {
    Option(&'static Row),
    Absent(&'static super::absent::Absent),
    Answer(fn(&str) -> String),
}

impl Reading<'_> {
    fn read(&mut self) -> Result<(), Refusal> {
        while let Some(word) = self.rest.next().filter(|_| self.answer.is_none()) {
            if let Some(name) = word.strip_prefix("--").filter(|name| !name.is_empty()) {
                let (name, value) = match name.split_once('=') {
                    Some((name, value)) => (name, Some(value.to_owned())),
                    None => (name, None),
                };
                self.take_long(name, value)?;
            } else if let Some(letters) =
                word.strip_prefix('-').filter(|letters| !letters.is_empty() && word != "--")
            {
                self.take_short(letters)?;
            } else {
                return self.refuse(&format!("'{word}' is no option"));
            }
        }
        Ok(())
    }

    fn refuse<T>(&self, why: &str) -> Result<T, Refusal> {
        Err(Refusal::Told(format!("{}: {why}", self.program)))
    }

    fn take_long(&mut self, name: &str, value: Option<String>) -> Result<(), Refusal> {
        let (known, found) = match find_long(name).as_slice() {
            [] => return self.refuse(&format!("unrecognized option '--{name}'")),
            [(known, _), (other, _), ..] => {
                return self.refuse(&format!("option '--{name}' is ambiguous: '{known}', '{other}'"));
            }
            [(known, found)] => (*known, *found),
        };
        let takes_none = matches!(found, Found::Answer(_))
            || matches!(found, Found::Option(row) if matches!(row.takes, Takes::Nothing(_)));
        if takes_none && value.is_some() {
            return self.refuse(&format!("option '{known}' doesn't allow an argument"));
        }
        self.take(found, value, known)
    }

    /// Takes letters behind one dash: the value of an option is what is left of them, or the next word.
    fn take_short(&mut self, letters: &str) -> Result<(), Refusal> {
        let mut rest = letters.chars();
        while let Some(letter) = rest.next() {
            let name = format!("-{letter}");
            let row = all().find(|row| row.names.contains(&name.as_str())).map(Found::Option);
            let absent =
                || ABSENT.iter().find(|absent| absent.names.contains(&name.as_str())).map(Found::Absent);
            let version = || (letter == 'v').then_some(Found::Answer(help::version));
            let Some(found) = row.or_else(absent).or_else(version) else {
                return self.refuse(&format!("invalid option -- '{letter}'"));
            };
            let has_value = matches!(&found, Found::Option(row) if matches!(row.takes, Takes::Value(..)));
            let value = rest.as_str();
            let value = (has_value && !value.is_empty()).then(|| value.to_owned());
            let is_last = value.is_some();
            self.take(&found, value, &name)?;
            if is_last {
                return Ok(());
            }
        }
        Ok(())
    }

    fn take(&mut self, found: &Found, value: Option<String>, name: &str) -> Result<(), Refusal> {
        match found {
            Found::Answer(answer) => self.answer = Some(answer(self.program)),
            Found::Absent(absent) => return Err(Refusal::Told(absent.told(name))),
            Found::Option(row) => match row.takes {
                Takes::Nothing(set) => set(&mut self.asked)?,
                Takes::Value(_, set) => match value.or_else(|| self.rest.next()) {
                    Some(value) => set(&mut self.asked, &value)?,
                    None => return self.refuse(&format!("option '{name}' requires an argument")),
                },
            },
        }
        Ok(())
    }
}

/// The options whose long name this is, or else begins with it.
fn find_long(name: &str) -> Vec<(&'static str, &'static Found)> {
    static KNOWN: std::sync::LazyLock<Vec<(&'static str, Found)>> = std::sync::LazyLock::new(|| {
        let options = all().flat_map(|row| row.names.iter().map(move |name| (*name, Found::Option(row))));
        let absent = ABSENT
            .iter()
            .flat_map(|absent| absent.names.iter().map(move |name| (*name, Found::Absent(absent))));
        let answers = [("--help", Found::Answer(help::usage)), ("--version", Found::Answer(help::version))];
        options.chain(absent).chain(answers).filter(|(name, _)| name.starts_with("--")).collect()
    });
    let exact: Vec<_> = KNOWN.iter().filter(|(known, _)| &known[2..] == name).collect();
    let begun = || KNOWN.iter().filter(|(known, _)| known[2..].starts_with(name)).collect();
    let found = if exact.is_empty() { begun() } else { exact };
    found.into_iter().map(|(known, found)| (*known, found)).collect()
}

/// Whether what is asked for goes together.
fn check(asked: &Asked) -> Result<(), Refusal> {
    let told = |line: &str| Err(Refusal::Told(format!("error: {line}")));
    let sizes = [asked.data_size.is_some(), asked.data_size_list.is_some(), asked.data_size_range.is_some()];
    let of_commands = asked.commands.iter().map(|command| command.pattern);
    let is_gaussian =
        asked.patterns().into_iter().chain(of_commands).any(|pattern| pattern == Pattern::Gaussian);
    let parallel = asked.commands.iter().filter(|command| command.pattern == Pattern::Parallel).count();
    match asked {
        _ if !asked.commands.is_empty() && asked.key_pattern.is_some() => {
            told("when using arbitrary command, key pattern is configured with --command-key-pattern option.")
        }
        _ if !asked.commands.is_empty() && asked.ratio.is_some() => {
            told("when using arbitrary command, ratio is configured with --command-ratio option.")
        }
        _ if parallel > 0 && parallel < asked.commands.len() => {
            told("parallel key-pattern must be configured to all commands.")
        }
        _ if sizes == [true, true, false] || sizes == [true, false, true] || sizes == [true; 3] => {
            told("data-size cannot be used with data-size-list or data-size-range.")
        }
        _ if sizes == [false, true, true] => told("data-size-list cannot be used with data-size-range."),
        _ if (asked.key_stddev.is_some() || asked.key_median.is_some()) && !is_gaussian => {
            told("key-stddev and key-median are only allowed together with key-pattern set to G.")
        }
        _ if asked.key_minimum > asked.key_maximum => told("key-minimum must not be above key-maximum."),
        _ if asked.server.socket.is_some()
            && (asked.server.host.is_some() || asked.server.port.is_some()) =>
        {
            told("UNIX domain socket and TCP cannot be used together.")
        }
        _ if asked.protocol == Protocol::MemcacheText && asked.server.db > 0 => {
            told("select-db can only be used with redis protocol.")
        }
        _ if asked.requests == Some(Requests::AllKeys) && asked.test_time_s.is_some() => {
            told("--test-time and --requests are mutually exclusive.")
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn parsed(line: &str) -> Parsed {
        let words: Vec<_> = line.split_whitespace().map(OsString::from).collect();
        parse("redyno memtier", &words)
    }

    /// What a line asks for.
    pub(in crate::compat::memtier) fn asked(line: &str) -> Asked {
        match parsed(line) {
            Parsed::Run(asked) => *asked,
            Parsed::Answer(text) | Parsed::Refused(text) => panic!("{line}: {text}"),
        }
    }

    fn refused(line: &str) -> String {
        match parsed(line) {
            Parsed::Refused(text) => text,
            _ => panic!("{line} is taken"),
        }
    }

    #[test]
    fn options_are_read_in_each_way_that_getopt_reads_them() {
        let asked = asked(
            "-c7 -t 2 --requests=5 --key-pref x --ratio 1:0 -Rd 100 --key-pattern=P:P --key-pattern S:G",
        );
        assert_eq!((asked.clients, asked.threads, asked.requests), (7, 2, Some(Requests::Each(5))));
        assert_eq!(
            (asked.key_prefix.as_str(), asked.is_data_random, asked.data_size),
            ("x", true, Some(100))
        );
        assert_eq!(asked.patterns(), [Pattern::Sequential, Pattern::Gaussian]);
        assert_eq!(asked.requests_in_all(), Some(5 * 7 * 2));
    }

    #[test]
    fn the_defaults_are_memtiers() {
        let asked = asked("");
        assert_eq!((asked.clients, asked.threads, asked.pipeline), (50, 4, 1));
        assert_eq!((asked.requests_each(), asked.requests_in_all()), (Some(10_000), Some(2_000_000)));
        assert_eq!((asked.ratio().a, asked.ratio().b, asked.key_maximum), (1, 10, 10_000_000));
        assert_eq!(self::asked("--test-time 5").requests_in_all(), None);
        let all = "-n allkeys --key-minimum 1 --key-maximum 100 -c 3 -t 1";
        assert_eq!(self::asked(all).requests_in_all(), Some(300));
        assert_eq!(self::asked(&format!("{all} --key-pattern P:P")).requests_in_all(), Some(100));
    }

    #[test]
    fn what_is_no_option_is_refused_in_a_line() {
        for (line, expected) in [
            ("--zz", "redyno memtier: unrecognized option '--zz'"),
            ("-z", "redyno memtier: invalid option -- 'z'"),
            ("-c 3 -n", "redyno memtier: option '-n' requires an argument"),
            ("--key-m 3", "redyno memtier: option '--key-m' is ambiguous: '--key-minimum', '--key-maximum'"),
            ("--tls=1", "redyno memtier: option '--tls' doesn't allow an argument"),
            ("get", "redyno memtier: 'get' is no option"),
            ("-n 0", "error: requests must be greater than zero."),
            ("-n 1 --test-time 1", "error: --test-time and --requests are mutually exclusive."),
            ("--ratio 1", "error: ratio must be expressed as [0-n]:[0-n]."),
            (
                "-d 1 --data-size-range 1-2",
                "error: data-size cannot be used with data-size-list or data-size-range.",
            ),
            ("--command-ratio 2", "error: no arbitrary command found."),
            (
                "--command get --ratio 1:1",
                "error: when using arbitrary command, ratio is configured with --command-ratio option.",
            ),
            (
                "--key-pattern P:R",
                "error: parallel key-pattern must be configured for both SET and GET commands.",
            ),
            ("-S /x -p 1", "error: UNIX domain socket and TCP cannot be used together."),
        ] {
            assert_eq!(refused(line), expected, "{line}");
        }
    }

    #[test]
    fn what_is_not_there_says_so_whether_or_not_a_value_follows() {
        for absent in ABSENT {
            for name in absent.names {
                for line in [(*name).to_owned(), format!("-c 3 {name} 5 -n 5")] {
                    assert_eq!(refused(&line), absent.told(name));
                }
            }
        }
        let line = "error: --debug is not there in redyno memtier.";
        assert_eq!((refused("--debug").as_str(), refused("-RD")), (line, line.replace("--debug", "-D")));
        let cluster = "error: --cluster-mode is not there in redyno memtier: it is not there yet.";
        assert_eq!(
            refused("--cluster-mode"),
            cluster.replace("it is not there yet", "redyno has no cluster routing yet")
        );
        assert!(
            refused("--statsd-host=h").ends_with("redyno --headless --json writes every figure as it comes.")
        );
        assert!(refused("-P memcache_binary").contains("memcache_binary is not there"));
        assert!(refused("--data-size-pattern S").contains("is not there"));
    }

    #[test]
    fn who_and_where_may_be_said_in_a_uri_which_precedes() {
        let asked = asked("-a ann:pw:x -p 7 --uri redis://bob:secret@db:99/3");
        assert_eq!(
            (asked.server.user.as_deref(), asked.server.password.as_deref()),
            (Some("bob"), Some("secret"))
        );
        assert_eq!(
            (asked.server.host.as_deref(), asked.server.port, asked.server.db),
            (Some("db"), Some(99), 3)
        );
        let asked = self::asked("-a ann:pw:x");
        assert_eq!(
            (asked.server.user.as_deref(), asked.server.password.as_deref()),
            (Some("ann"), Some("pw:x"))
        );
        assert_eq!(self::asked("-u memcached://h").protocol, Protocol::MemcacheText);
    }
}
