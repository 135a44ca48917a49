//! Parses a command line as redis-benchmark or valkey-benchmark does. The *flavour* is the benchmark that redyno
//! imitates.

use std::ffi::OsString;

use clap::{ArgMatches, Command, error::ErrorKind, parser::ValueSource};

use super::options::{BenchOptions, OF_VALKEY, parser};
use crate::{
    compat::{
        options::{NO_NAMES, line_of, option_of, read, reason},
        run::PrintedText,
    },
    knobs::{MAX_CLIENTS, MAX_PIPELINE},
    protocol::Dialect,
};

/// The largest number of threads.
const MOST_THREADS: i64 = 500;

const NO_EFFECT: &str =
    "WARNING: -e option has no effect. We now immediately exit on error to avoid false results.";

/// Reads the arguments after the name of the program.
///
/// # Errors
/// Fails if the arguments are invalid or request no run. The error is the text to print.
pub(super) fn parse(flavour: Flavour, words: &[OsString]) -> Result<BenchOptions, PrintedText> {
    let mut line = parser(flavour);
    let (mut options, given) = match read::<BenchOptions>(&mut line, words) {
        Ok(read) => read,
        Err(error) if !error.use_stderr() => return Err(PrintedText::of(error.to_string())),
        Err(error) => {
            let option = option_of(&error);
            return Err(match reason(&error).filter(|reason| !reason.starts_with("must ")) {
                Some(reason) => PrintedText::refusal(&format!("{option}: {reason}"), 1),
                None if error.kind() == ErrorKind::ArgumentConflict => {
                    PrintedText::refusal(&line_of(&error), 1)
                }
                None => invalid(&mut line, &option),
            });
        }
    };
    let own = words.len() - options.command.len();
    // After an option that needs a value, `--` is this value.
    let ends_with_dashes =
        own > 0 && words[own - 1] == "--" && read::<BenchOptions>(&mut line, &words[..own - 1]).is_ok();
    if flavour == Flavour::Redis {
        let is_given = |id: &&str| given.value_source(id) == Some(ValueSource::CommandLine);
        let option = OF_VALKEY.split(' ').find(is_given).map(|id| format!("--{}", id.replace('_', "-")));
        if let Some(option) = option.or_else(|| ends_with_dashes.then(|| "--".to_owned())) {
            return Err(invalid(&mut line, &option));
        }
    }
    if let (false, Some(name)) =
        (ends_with_dashes, options.command.first().filter(|word| word.starts_with(b"@")))
    {
        let name = crate::untrusted::bytes(name);
        return Err(PrintedText::refusal(&format!("{name}{NO_NAMES}"), 1));
    }
    options.settle();
    let settled = options.settle_server(&given).and_then(|()| options.check());
    settled.map_err(|line| PrintedText::refusal(&[&options.warnings[..], &[line]].concat().join("\n"), 1))?;
    Ok(options)
}

/// Returns the text about an invalid option or value, as the benchmarks print it.
fn invalid(line: &mut Command, option: &str) -> PrintedText {
    let out = format!("Invalid option \"{option}\" or option argument missing\n\n{}", line.render_help());
    PrintedText { out, err: String::new(), code: 1 }
}

/// The format of the output. If several formats are requested, the last of them in this list is used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum OutputFormat {
    /// A page per test.
    #[default]
    Normal,
    /// A line per test.
    Quiet,
    /// A row per test.
    Csv,
    /// A record per test.
    Json,
}

impl BenchOptions {
    /// Applies the options that depend on other options. Options about the server are applied elsewhere.
    fn settle(&mut self) {
        self.form = match self {
            Self { is_json: true, .. } => OutputFormat::Json,
            Self { is_csv: true, .. } => OutputFormat::Csv,
            Self { is_quiet: true, .. } => OutputFormat::Quiet,
            _ => OutputFormat::Normal,
        };
        if self.threads > MOST_THREADS {
            self.warnings.push(format!("WARNING: Too many threads, limiting threads to {MOST_THREADS}."));
        }
        if self.ends_on_error {
            self.warnings.push(NO_EFFECT.to_owned());
        }
        self.threads = self.threads.clamp(0, MOST_THREADS);
        self.rps = self.rps.filter(|rps| *rps > 0);
        self.duration = self.duration.filter(|length| !length.is_zero());
        self.warmup = self.warmup.filter(|length| !length.is_zero());
    }

    /// Applies the options for the server, in the order of the command line. A URI replaces only earlier options.
    fn settle_server(&mut self, given: &ArgMatches) -> Result<(), String> {
        let server = &mut self.server;
        let ids = ["host", "port", "socket", "user", "password", "db", "uris"];
        let places = |id| given.indices_of(id).into_iter().flatten().map(move |place| (place, id));
        let mut order: Vec<_> = ids.into_iter().flat_map(places).collect();
        order.sort_unstable();
        let mut uris = self.uris.iter();
        for (_, id) in order {
            match id {
                "host" => server.host = self.host.clone(),
                "port" => {
                    let port = self.port.map(u16::try_from).transpose();
                    server.port = port.map_err(|_| "Invalid server port.")?;
                }
                "socket" => server.socket = self.socket.clone(),
                "user" => server.user = self.user.clone(),
                "password" => server.password = self.password.clone(),
                "db" => server.db = self.db.unwrap_or_default(),
                _ => {
                    let uri = uris.next().map(|uri| server.take_uri(uri)).transpose()?;
                    if uri.is_some_and(|dialect| !dialect.counts_words()) {
                        return Err("Invalid URI scheme: bench speaks to Redis and Valkey".to_owned());
                    }
                }
            }
        }
        server.settle_tls(self.is_insecure, self.cacertdir.clone());
        let ciphers = &mut server.tls.ciphers;
        let names = self.tls_ciphers.iter().try_for_each(|names| ciphers.name_tls12(names));
        names.map_err(|error| format!("--tls-ciphers: {error}"))?;
        let names = self.tls_ciphersuites.iter().try_for_each(|names| ciphers.name_tls13(names));
        names.map_err(|error| format!("--tls-ciphersuites: {error}"))
    }

    /// Checks that the options do not contradict each other, and that the amounts are possible.
    fn check(&self) -> Result<(), String> {
        let Self { clients, pipeline, .. } = self;
        if self.is_mptcp {
            return Err("--mptcp is not supported by redyno bench yet; leave it out".to_owned());
        }
        if self.duration.is_some() && self.requests.is_some_and(|requests| requests > 0) {
            return Err("Options -n and --duration are mutually exclusive.".to_owned());
        }
        if *clients > MAX_CLIENTS.into() && !self.is_idle {
            return Err(format!(
                "{clients} clients are too many: redyno opens at most {MAX_CLIENTS} connections; lower -c"
            ));
        }
        if *pipeline > MAX_PIPELINE {
            return Err(format!(
                "a pipeline of {pipeline} requests is too deep: at most {MAX_PIPELINE} are possible; lower -P"
            ));
        }
        Ok(())
    }

    pub(super) fn dialect(&self) -> Dialect {
        if self.resp3 { Dialect::Resp3 } else { Dialect::Resp2 }
    }

    /// Returns the largest number of records of the dataset to use.
    pub(super) fn records(&self) -> Option<u64> {
        self.maxdocs.and_then(|most| u64::try_from(most).ok()).filter(|most| *most > 0)
    }

    /// Returns the number of requests to send. Returns `None` if only the time limits the run.
    pub(super) fn requests(&self) -> Option<u64> {
        let requests = u64::try_from(self.requests.unwrap_or(100_000)).unwrap_or(0);
        self.duration.is_none().then_some(requests)
    }
}

/// The benchmark that determines the options, tests and lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Flavour {
    /// `redyno bench`: the options of both benchmarks, and the tests and output lines of redis-benchmark.
    #[default]
    Redyno,
    /// A link named redis-benchmark: like the benchmark of Redis 8.
    Redis,
    /// A link named valkey-benchmark: like the benchmark of Valkey 9.1.
    Valkey,
}

impl Flavour {
    /// Returns the name of the program in its help.
    pub(super) fn program(self) -> &'static str {
        match self {
            Self::Redyno => "redyno bench",
            Self::Redis => "redis-benchmark",
            Self::Valkey => "valkey-benchmark",
        }
    }

    /// Returns the version after the name of the program. A script may find the imitated version there.
    pub(super) fn version(self) -> String {
        let own = env!("CARGO_PKG_VERSION");
        match self {
            Self::Redyno => own.to_owned(),
            Self::Redis => format!("8.0.0 (redyno {own})"),
            Self::Valkey => format!("9.1.0 (redyno {own})"),
        }
    }

    /// Returns the server's name in messages about a server that cannot be reached.
    pub(super) fn server(self) -> &'static str {
        if self == Self::Valkey { "server" } else { "Redis" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(flavour: Flavour, line: &str) -> Result<BenchOptions, PrintedText> {
        let words: Vec<_> = line.split_whitespace().map(OsString::from).collect();
        parse(flavour, &words)
    }

    impl BenchOptions {
        /// Returns the benchmarks' defaults.
        pub fn usual() -> Self {
            options("")
        }
    }

    fn options(line: &str) -> BenchOptions {
        parsed(Flavour::Redyno, line).unwrap_or_else(|answer| panic!("{line}: {answer:?}"))
    }

    fn answer(flavour: Flavour, line: &str) -> PrintedText {
        parsed(flavour, line).err().unwrap_or_else(|| panic!("{line} is taken"))
    }

    #[test]
    fn the_first_word_without_a_dash_begins_the_command() {
        let options = options("-n 10 -q lpush abc -q");
        assert_eq!(options.command, [b"lpush".to_vec(), b"abc".to_vec(), b"-q".to_vec()]);
        assert_eq!((options.form, options.requests()), (OutputFormat::Quiet, Some(10)));
        assert_eq!(self::options("-- -x").command, [b"-x".to_vec()]);
        assert_eq!(self::options("-- @prod").command, [b"@prod".to_vec()]);
        assert_eq!(self::options("-q get -- x").command.len(), 3);
    }

    #[test]
    fn a_value_may_look_like_an_option_and_the_last_value_is_used() {
        let options = options("-a -q -h -- -c 5x -n 3 -n 7 -c +9 -k x --csv -q");
        assert_eq!(
            (options.server.password.as_deref(), options.server.host.as_deref()),
            (Some("-q"), Some("--"))
        );
        assert_eq!((options.clients, options.requests(), options.keep_alive), (9, Some(7), 0));
        assert_eq!(options.form, OutputFormat::Csv);
        for flavour in [Flavour::Redyno, Flavour::Redis] {
            let options = parsed(flavour, "-q -a --").unwrap_or_else(|answer| panic!("{answer:?}"));
            assert_eq!(options.server.password.as_deref(), Some("--"));
        }
    }

    #[test]
    fn a_uri_and_the_options_of_the_server_replace_each_other_in_their_order() {
        let server = |line: &str| {
            let server = options(line).server;
            (server.host.unwrap(), server.port.unwrap(), server.db)
        };
        let of = |host: &str, port, db| (host.to_owned(), port, db);
        assert_eq!(server("-p 7 --dbnum 3 -u redis://h:9"), of("h", 9, 3));
        assert_eq!(server("-u redis://h:9/2 -p 7 --dbnum 3"), of("h", 7, 3));
        assert_eq!(server("-u redis://h:9 -h a -u redis://:8/4"), of("a", 8, 4));
    }

    #[test]
    fn values_out_of_range_are_limited_as_in_redis_benchmark() {
        let options = options("-P 0 -d 0 -r -5 -c 7 -t GET,nope --threads 501 -e");
        assert_eq!(
            (options.pipeline, options.data_size, options.keyspace, options.threads),
            (1, 1, Some(0), 500)
        );
        assert_eq!(options.tests.as_deref(), Some(",get,nope,"));
        assert_eq!(options.warnings.len(), 2);
        assert_eq!(self::options("-d 9999999999").data_size, 1 << 30);
    }

    #[test]
    fn an_invalid_option_is_named_above_the_usage() {
        for (flavour, line, name) in [
            (Flavour::Redyno, "--zz", "--zz"),
            (Flavour::Redyno, "-q -n", "-n"),
            (Flavour::Redyno, "-r -x", "-r"),
            (Flavour::Redyno, "--hash x", "--hash"),
            (Flavour::Redyno, "--rfr some", "--rfr"),
            (Flavour::Redyno, "--compat last-byte", "--compat"),
            (Flavour::Redis, "-q -- get", "--"),
            (Flavour::Redis, "--num-functions 3", "--num-functions"),
            (Flavour::Redis, "--", "--"),
            (Flavour::Redis, "-a -- --", "--"),
        ] {
            let PrintedText { out, err, code } = answer(flavour, line);
            let first = format!("Invalid option \"{name}\" or option argument missing\n\nUsage: ");
            assert!(out.starts_with(&first) && err.is_empty() && code == 1, "{out}");
        }
    }

    #[test]
    fn contradictory_and_unsupported_options_are_refused_on_standard_error() {
        for (line, expected) in [
            ("--duration 1 -n 5", "Options -n and --duration are mutually exclusive.\n"),
            ("-n abc", "-n: the number of requests must be a number such as 100000\n"),
            ("-n -5", "-n: the number of requests must be a number such as 100000\n"),
            ("-p 65536", "Invalid server port.\n"),
            ("-c 18001", "18001 clients are too many: redyno opens at most 18000 connections; lower -c\n"),
            ("-P 10001", "a pipeline of 10001 requests is too deep: at most 10000 are possible; lower -P\n"),
            ("--duration 10000000000000000000", "--duration: at most 31536000 seconds are possible\n"),
            ("--warmup 100000000000000000000", "--warmup: at most 31536000 seconds are possible\n"),
            ("--rps 4294967296", "--rps: at most 4294967295 requests per second are possible\n"),
            ("--num-keys-in-fcall 1000001", "--num-keys-in-fcall: at most 1000000 keys are possible\n"),
            ("@prod", &format!("@prod{NO_NAMES}\n")),
            ("-u @prod", &format!("@prod{NO_NAMES}\n")),
            ("-e -p 65536", &format!("{NO_EFFECT}\nInvalid server port.\n")),
            ("--mptcp", "--mptcp is not supported by redyno bench yet; leave it out\n"),
        ] {
            let PrintedText { out, err, code } = answer(Flavour::Redyno, line);
            assert_eq!((out.as_str(), err.as_str(), code), ("", expected, 1));
        }
    }
}
