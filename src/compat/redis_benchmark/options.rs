//! The table of options, and how each of them is handled.
//!
//! `--help`, generated from the table of options.

use super::{
    Flavour,
    parse::{BenchOptions, Form},
};
use crate::{
    compat::{
        numbers::{atoi, seconds},
        options::{Choice, Refusal, all, deviations, invalid, listed, ours, valkey},
    },
    load::LatencyTo,
};

/// All options, in the order of the help.
pub(super) static OPTIONS: &[Choice] = &[
    all("-h <hostname>", "Server hostname (default 127.0.0.1)"),
    all("-p <port>", "Server port (default 6379)"),
    all("-s <socket>", "Server socket (overrides host and port)"),
    all("-a <password>", "Password for AUTH; the environment is not asked for one"),
    all("--user <username>", "Used to send ACL style 'AUTH username pass'. Needs -a."),
    all(
        "-u <uri>",
        "Server URI, redis://user:password@host:port/dbnum; rediss:// for TLS, valkey:// and valkeys:// too",
    ),
    all("-c <clients>", "Number of parallel connections (default 50)"),
    all("-n <requests>", "Total number of requests (default 100000)"),
    valkey("--duration <seconds>", "Run each test for this many seconds (mutually exclusive with -n)"),
    valkey("--warmup <seconds>", "Run each test for this many seconds before recording results"),
    all("-d <size>", "Data size of SET/GET value in bytes (default 3)"),
    all("--dbnum <db>", "SELECT the specified db number (default 0)"),
    all("-3", "Start session in RESP3 protocol mode."),
    all("--threads <num>", "Enable multi-thread mode."),
    all(
        "--cluster",
        "Enable cluster mode: the requests go to all masters, and their keys have a hash tag that is drawn anew for each \
         request. In a command of your own, write {tag} in the key; it becomes that tag.",
    ),
    all("--enable-tracking", "Send CLIENT TRACKING on before starting benchmark."),
    all("-k <boolean>", "1=keep alive 0=reconnect (default 1)"),
    all(
        "-r <keyspacelen>",
        "Replace __rand_int__ in arguments by a random number of 12 digits from 0 to keyspacelen-1, drawn anew each \
         time: random keys for SET/GET/INCR, random values for SADD, random members and scores for ZADD. Without -r \
         it is sent as it is, and all commands use the same key.",
    ),
    valkey(
        "--sequential",
        "With -r: sequential numbers in place of random ones; __rand_int__ and each of __rand_1st__ to __rand_9th__ have \
         their own counter.",
    ),
    all(
        "-P <numreq>",
        "Pipeline <numreq> requests: send them before waiting for the replies. Default 1 (no pipeline).",
    ),
    all("-q", "Quiet. Just show query/sec values"),
    all(
        "--precision <digits>",
        "Accepted without effect: latencies always have three significant digits, the benchmarks' default, and are always \
         written with three decimals",
    ),
    all("--csv", "Output in CSV format"),
    all("-l", "Loop. Run the tests forever"),
    all(
        "-t <tests>",
        "Only run the comma separated list of tests. The test names are the same as the ones produced as output; \
         others are ignored. The -t option is ignored if a specific command is supplied on the command line.",
    ),
    all("-I", "Idle mode. Just open N idle connections and wait."),
    all("-x", "Read last argument of the command from STDIN."),
    valkey(
        "--rps <requests>",
        "Send so many requests per second, evenly, whatever the server does. Default 0 (no limit)",
    ),
    all("--seed <num>", "Set the seed for random number generator. Default: a random seed."),
    all("-e", "Accepted without effect: an error always ends the run."),
    valkey(
        "--num-functions <num>",
        "Number of functions in the library that the test 'function_load' loads (default 10).",
    ),
    valkey("--num-keys-in-fcall <num>", "Number of keys passed to FCALL in the test 'fcall' (default 1)."),
    all("--tls", "Establish a secure TLS connection."),
    all("--sni <host>", "Server name indication for TLS."),
    all("--cacert <file>", "CA certificate file to verify with."),
    all(
        "--cacertdir <dir>",
        "Directory of trusted CA certificates. Without --cacert and --cacertdir the system's are trusted.",
    ),
    all("--insecure", "Allow insecure TLS connection by skipping cert validation."),
    all("--cert <file>", "Client certificate to authenticate with."),
    all("--key <file>", "Private key file to authenticate with."),
    all(
        "--tls-ciphers <list>",
        "Ciphers to offer for TLS 1.2, the preferred first, by their OpenSSL names with colons between them. \
         OpenSSL's words for groups of ciphers (HIGH, !aNULL) are not supported.",
    ),
    all("--tls-ciphersuites <list>", "Ciphers to offer for TLS 1.3, in the same form."),
    valkey("--mptcp", "Enable an MPTCP connection. Not supported yet."),
    valkey(
        "--rfr <mode>",
        "Read from replicas in cluster mode: no, yes or all. Without --cluster it has no effect.",
    ),
    valkey(
        "--dataset <file>",
        "Fields of records for __field:name__ in the command: CSV, TSV, JSON lines or XML, gzip too. Each command or \
         sequence uses the next record; after the last one the first again.",
    ),
    valkey("--maxdocs <num>", "Take only the first <num> records of --dataset (default all)"),
    ours(
        "--compat first-byte",
        "Measure latencies as redis-benchmark does: to the first byte of the first reply of a batch, for all of its \
         requests",
    ),
    ours("--json", "Print a JSON object for each test, with redyno's own figures and the distribution"),
    all("--help", "Output this help and exit."),
    all("--version", "Output version and exit."),
];

/// The largest number of threads.
const MOST_THREADS: i64 = 500;
/// The largest number of keys, which twelve digits can count.
const MOST_KEYS: i64 = 999_999_999_999;

const NO_EFFECT: &str =
    "WARNING: -e option has no effect. We now immediately exit on error to avoid false results.";

impl BenchOptions {
    /// Handles an option with its value.
    pub(super) fn take(&mut self, option: &str, text: &str) -> Result<(), Refusal> {
        match option {
            "--help" => return Err(Refusal::Help),
            "--version" => return Err(Refusal::Version),
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
            "--num-keys-in-fcall" => self.num_keys_in_fcall = atoi(text),
            "--dataset" => self.dataset = Some(text.into()),
            "--maxdocs" => self.maxdocs = u64::try_from(atoi(text)).ok().filter(|most| *most > 0),
            "-q" => self.form = self.form.max(Form::Quiet),
            "--csv" => self.form = self.form.max(Form::Csv),
            "--json" => self.form = Form::Json,
            "-e" => self.warnings.push(NO_EFFECT.to_owned()),
            "--compat" if text == "first-byte" => self.latency_to = LatencyTo::FirstByte,
            "--rfr" if ["no", "yes", "all"].contains(&text) => {}
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
    fn take_length(&mut self, option: &str, text: &str) -> Result<(), Refusal> {
        let exclusive = "Options -n and --duration are mutually exclusive.";
        match option {
            "-n" => {
                self.requests = Some(atoi(text));
                return if self.duration.is_some() { refused(exclusive) } else { Ok(()) };
            }
            "--duration" => {
                self.duration = seconds(text);
                return if self.requests.is_some_and(|n| n > 0) { refused(exclusive) } else { Ok(()) };
            }
            "--warmup" => self.warmup = seconds(text),
            _ => self.rps = u32::try_from(atoi(text)).ok().filter(|rps| *rps > 0),
        }
        Ok(())
    }

    /// Handles an option about the server's address or credentials.
    fn take_server(&mut self, option: &str, text: &str) -> Result<(), Refusal> {
        let unknown = |error| Refusal::Message(format!("{option}: {error}"));
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

fn refused(line: &str) -> Result<(), Refusal> {
    Err(Refusal::Message(line.to_owned()))
}

/// The deliberate differences from redis-benchmark and valkey-benchmark.
pub const DEVIATIONS: [&str; 8] = [
    "The latency of a request is the time from its write to the last byte of its own reply. The benchmarks measure once for \
     each batch, to the first byte of the first reply, and record that for every request of it; --compat first-byte does so too.",
    "Latencies have three significant digits from 1 ns on, by a monotonic clock, and none is cut at 3 s. Those of the benchmarks \
     have steps of 8 us, and --precision sets their digits; here it changes nothing.",
    "Exactly -n requests are sent and counted, also with -P. The benchmarks send up to one batch more.",
    "A sequence of commands has one latency, from its write to the last byte of its last reply, and is sent whole: -n and \
     --rps are rounded up to whole sequences.",
    "With --dataset, all fields of a sequence come from one record. valkey-benchmark uses a record for each command of it.",
    "Numbers do not overflow at 2^31; -n 0 ends at once. --duration and --warmup may have a fraction, and --duration also ends \
     the wait for a server that does not reply.",
    "--rps counts every request, also in a sequence. Requests are due evenly and not in bursts of a millisecond, and -P is the \
     most that are sent together.",
    "With --threads each thread counts its own requests, and a run ends with its last reply, not with the next quarter second.",
];

/// The width of the names of options in the help.
const NAMES: usize = 20;

/// Returns the options in the order of the help.
pub fn options(flavour: Flavour) -> impl Iterator<Item = &'static Choice> {
    OPTIONS.iter().filter(move |option| flavour.takes(option.of))
}

/// Returns the whole help.
pub(super) fn usage(flavour: Flavour) -> String {
    let program = flavour.program();
    let end = if flavour == Flavour::Redis { "" } else { " [--]" };
    let text = format!("Usage: {program} [OPTIONS]{end} [COMMAND ARGS...]\n\nOptions:\n");
    let examples = format!(
        "\nExamples:\n  {program} -p 6379 -t get,set -n 100000 -q\n  {program} -c 200 -P 16 -r 1000000 SET key:__rand_int__ x\n"
    );
    text + &listed(options(flavour), NAMES, "") + &deviations(&DEVIATIONS) + &examples
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compat::options::tests::assert_no_name_stands_twice;

    #[test]
    fn no_option_stands_twice_and_each_is_taken() {
        assert_no_name_stands_twice(OPTIONS.iter());
        let values =
            ["1", "redis://h", "first-byte", "no", "TLS_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256"];
        for option in OPTIONS {
            let is_taken =
                |text| !matches!(BenchOptions::usual().take(option.name(), text), Err(Refusal::Wrong(..)));
            assert!(values.into_iter().any(is_taken), "{}", option.written);
        }
    }

    #[test]
    fn it_names_every_option_and_no_line_is_too_long() {
        let text = usage(Flavour::Redyno);
        for option in OPTIONS {
            assert!(text.contains(&format!("\n {}", option.name())), "{}", option.written);
        }
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
        assert!(!usage(Flavour::Redis).contains("--num-functions"));
    }
}
