//! The table of redis-benchmark's options, the handling of each option, and the help, which is generated from
//! the table.

use std::{sync::LazyLock, time::Duration};

use super::{
    Flavour,
    parse::{BenchOptions, OutputFormat},
};
use crate::{
    compat::{
        numbers::{atoi, seconds},
        options::{OptionRefusal, OptionTable, ToolOption, invalid},
    },
    endpoint::ReadFrom,
    load::LatencyTo,
    units::LONGEST,
};

/// The options of all flavours (the imitated benchmarks and redyno's own).
pub static OPTIONS: LazyLock<OptionTable> = LazyLock::new(|| OptionTable::read(include_str!("options.txt")));

/// The largest number of threads.
const MOST_THREADS: i64 = 500;
/// The largest number of keys; the keys have twelve digits.
const MOST_KEYS: i64 = 999_999_999_999;

/// The largest number of keys of a command. Redis refuses a command with more than 1024 × 1024 words.
const MOST_KEYS_OF_A_CALL: i64 = 1_000_000;

const NO_EFFECT: &str =
    "WARNING: -e option has no effect. We now immediately exit on error to avoid false results.";

impl BenchOptions {
    /// Handles an option with its value.
    pub(super) fn take(&mut self, option: &str, text: &str) -> Result<(), OptionRefusal> {
        match option {
            "--help" => return Err(OptionRefusal::Help),
            "--version" => return Err(OptionRefusal::Version),
            "-c" => self.clients = atoi(text),
            "-n" | "--duration" | "--warmup" | "--rps" => return self.take_length(option, text),
            "-d" => self.data_size = atoi(text).clamp(1, 1 << 30) as usize,
            "-3" => self.resp3 = true,
            "--threads" => {
                self.threads = atoi(text).max(0);
                if self.threads > MOST_THREADS {
                    self.threads = MOST_THREADS;
                    self.warnings
                        .push(format!("WARNING: Too many threads, limiting threads to {MOST_THREADS}."));
                }
            }
            "--enable-tracking" => self.tracks = true,
            "-k" => self.keep_alive = atoi(text),
            "-r" => {
                let digits = text.strip_prefix('-');
                if digits.is_some_and(|digits| !digits.starts_with(|first: char| first.is_ascii_digit())) {
                    return Err(invalid(option));
                }
                self.keyspace = Some(atoi(text).clamp(0, MOST_KEYS) as u64);
            }
            "--sequential" => self.is_sequential = true,
            "-P" => self.pipeline = u32::try_from(atoi(text).max(1)).unwrap_or(u32::MAX),
            "-l" => self.loops = true,
            "-t" => self.tests = Some(format!(",{},", text.to_ascii_lowercase())),
            "-I" => self.is_idle = true,
            "-x" => self.reads_stdin = true,
            "--seed" => self.seed = Some(atoi(text) as u64),
            "--num-functions" => self.num_functions = atoi(text),
            "--num-keys-in-fcall" => {
                self.num_keys_in_fcall = atoi(text);
                if self.num_keys_in_fcall > MOST_KEYS_OF_A_CALL {
                    return refused(&format!("{option}: at most {MOST_KEYS_OF_A_CALL} keys are possible"));
                }
            }
            "--dataset" => self.dataset = Some(text.into()),
            "--maxdocs" => self.maxdocs = u64::try_from(atoi(text)).ok().filter(|most| *most > 0),
            "-q" => self.form = self.form.max(OutputFormat::Quiet),
            "--csv" => self.form = self.form.max(OutputFormat::Csv),
            "--json" => self.form = OutputFormat::Json,
            "-e" => self.warnings.push(NO_EFFECT.to_owned()),
            "--compat" if text == "first-byte" => self.latency_to = LatencyTo::FirstByte,
            "--rfr" => match text {
                "no" => self.read_from = ReadFrom::Primary,
                "yes" => self.read_from = ReadFrom::Replica,
                "all" => self.read_from = ReadFrom::Any,
                _ => return Err(invalid(option)),
            },
            "--precision" => {}
            "--cluster" => self.is_cluster = true,
            "--mptcp" => {
                return refused(&format!("{option} is not supported by redyno bench yet; leave it out"));
            }
            option => return self.take_server(option, text),
        }
        Ok(())
    }

    /// Handles an option about the number of requests or the duration.
    fn take_length(&mut self, option: &str, text: &str) -> Result<(), OptionRefusal> {
        let exclusive = "Options -n and --duration are mutually exclusive.";
        match option {
            "-n" => {
                let is_number =
                    text.trim_start().trim_start_matches('+').starts_with(|it: char| it.is_ascii_digit());
                if !is_number {
                    return refused("-n: the number of requests must be a number such as 100000");
                }
                self.requests = Some(atoi(text));
                return if self.duration.is_some() { refused(exclusive) } else { Ok(()) };
            }
            "--duration" => {
                self.duration = length(option, text)?;
                return if self.requests.is_some_and(|n| n > 0) { refused(exclusive) } else { Ok(()) };
            }
            "--warmup" => self.warmup = length(option, text)?,
            _ => {
                let rps = u32::try_from(atoi(text).max(0));
                let most = format!("--rps: at most {} requests per second are possible", u32::MAX);
                self.rps = Some(rps.map_err(|_| OptionRefusal::Message(most))?).filter(|rps| *rps > 0);
            }
        }
        Ok(())
    }

    /// Handles an option about the server's address or credentials.
    fn take_server(&mut self, option: &str, text: &str) -> Result<(), OptionRefusal> {
        let unknown = |error| OptionRefusal::Message(format!("{option}: {error}"));
        let server = &mut self.server;
        match option {
            "-p" => match u16::try_from(atoi(text)) {
                Ok(port) => server.port = Some(port),
                Err(_) => return refused("Invalid server port."),
            },
            "-a" => server.password = Some(text.to_owned()),
            "-u" => match server.take_uri(text) {
                Ok(dialect) if dialect.counts_words() => {}
                Ok(_) => return refused("Invalid URI scheme: bench speaks to Redis and Valkey"),
                Err(error) => return refused(&error.to_string()),
            },
            "--dbnum" => server.db = atoi(text),
            "--tls-ciphers" => server.tls.ciphers.name_tls12(text).map_err(unknown)?,
            "--tls-ciphersuites" => server.tls.ciphers.name_tls13(text).map_err(unknown)?,
            option => return if server.take(option, text) { Ok(()) } else { Err(invalid(option)) },
        }
        Ok(())
    }
}

/// Returns the duration in the value of an option, or `None` for 0.
fn length(option: &str, text: &str) -> Result<Option<Duration>, OptionRefusal> {
    let length = seconds(text);
    let most = LONGEST.as_secs();
    match length.is_some_and(|length| length > LONGEST) {
        true => Err(OptionRefusal::Message(format!("{option}: at most {most} seconds are possible"))),
        false => Ok(length),
    }
}

fn refused(line: &str) -> Result<(), OptionRefusal> {
    Err(OptionRefusal::Message(line.to_owned()))
}

/// The width of the names of options in the help.
const NAMES: usize = 20;

/// Returns the options of the benchmark that is imitated (`flavour`).
pub(super) fn options(flavour: Flavour) -> impl Iterator<Item = &'static ToolOption> {
    OPTIONS.all().filter(move |option| flavour.supports(option.of))
}

/// Returns the whole help.
pub(super) fn usage(flavour: Flavour) -> String {
    let program = flavour.program();
    let end = if flavour == Flavour::Redis { "" } else { " [--]" };
    format!(
        "Usage: {program} [OPTIONS]{end} [COMMAND ARGS...]\n{}\nExamples:\n  {program} -p 6379 -t get,set -n 100000 -q\n  \
         {program} -c 200 -P 16 -r 1000000 SET key:__rand_int__ x\n",
        OPTIONS.help(NAMES, |option| flavour.supports(option.of))
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compat::options::tests::assert_no_name_is_repeated;

    #[test]
    fn no_name_of_an_option_is_repeated_and_each_option_is_handled() {
        assert_no_name_is_repeated(OPTIONS.all());
        let values = [
            "1",
            "ketama",
            "redis://h",
            "first-byte",
            "no",
            "TLS_AES_128_GCM_SHA256",
            "ECDHE-RSA-AES128-GCM-SHA256",
        ];
        for option in OPTIONS.all() {
            let is_taken = |text| {
                !matches!(BenchOptions::usual().take(option.name(), text), Err(OptionRefusal::Wrong(..)))
            };
            assert!(values.into_iter().any(is_taken), "{}", option.written);
        }
    }

    #[test]
    fn the_help_names_every_option_and_no_line_is_too_long() {
        let text = usage(Flavour::Redyno);
        for option in OPTIONS.all() {
            assert!(text.contains(&format!("\n {}", option.name())), "{}", option.written);
        }
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
        assert!(!usage(Flavour::Redis).contains("--num-functions"));
    }
}
