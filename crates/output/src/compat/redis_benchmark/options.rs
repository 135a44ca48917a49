//! The options of `redyno bench`. clap parses them, and shows their descriptions in the help. The benchmark itself sets
//! the limits of numbers.

use std::{
    convert::Infallible, ffi::OsString, os::unix::ffi::OsStringExt as _, path::PathBuf, time::Duration,
};

use clap::{
    Arg, ArgAction, Args, Command,
    builder::{OsStringValueParser, TypedValueParser as _},
};

use super::{Flavour, parse::OutputFormat};
use crate::{
    compat::{
        numbers::{atoi, seconds},
        options,
        server::ServerOptions,
    },
    endpoint::ReadFrom,
    load::LatencyTo,
    units::LONGEST,
};

/// The largest number of keys. The names of keys have twelve digits.
const MOST_KEYS: i64 = 999_999_999_999;

/// The largest number of keys of a command. Redis refuses a command with more than 1024 × 1024 words.
const MOST_KEYS_OF_A_CALL: i64 = 1_000_000;

/// The options that only valkey-benchmark has, and not redis-benchmark.
pub(super) const OF_VALKEY: &str =
    "duration warmup sequential rps num_functions num_keys_in_fcall mptcp rfr dataset maxdocs";

/// The values of the options.
#[derive(Args, Debug, Clone)]
#[command(version, disable_version_flag = true, args_override_self = true)]
#[command(after_help = include_str!("differences.txt"))]
pub struct BenchOptions {
    /// Server hostname (default 127.0.0.1)
    #[arg(short = 'h', value_name = "hostname")]
    pub(super) host: Option<String>,
    /// Server port (default 6379)
    #[arg(short, value_name = "port", value_parser = number)]
    pub(super) port: Option<i64>,
    /// Server socket (overrides host and port)
    #[arg(short, value_name = "socket")]
    pub(super) socket: Option<PathBuf>,
    /// Password for AUTH; redyno reads no environment variable for the password
    #[arg(short = 'a', value_name = "password")]
    pub(super) password: Option<String>,
    /// Used to send ACL style 'AUTH username pass'. Needs -a.
    #[arg(long, value_name = "username")]
    pub(super) user: Option<String>,
    /// Server URI, redis://user:password@host:port/dbnum; rediss:// for TLS, also valkey:// and valkeys://
    #[arg(id = "uris", short, value_name = "uri")]
    pub(super) uris: Vec<String>,
    /// Number of parallel connections
    #[arg(short, value_name = "clients", default_value_t = 50, value_parser = number)]
    pub(super) clients: i64,
    /// Total number of requests (default 100000)
    #[arg(short = 'n', value_name = "requests", value_parser = requests)]
    pub(super) requests: Option<i64>,
    /// Run each test for this many seconds (mutually exclusive with -n)
    #[arg(long, value_name = "seconds", value_parser = length)]
    pub(super) duration: Option<Duration>,
    /// Run each test for this many seconds before recording results
    #[arg(long, value_name = "seconds", value_parser = length)]
    pub(super) warmup: Option<Duration>,
    /// Data size of SET/GET value in bytes
    #[arg(short, value_name = "size", default_value_t = 3, value_parser = data_size)]
    pub(super) data_size: usize,
    /// SELECT the specified db number (default 0)
    #[arg(id = "db", long = "dbnum", value_name = "db", value_parser = number)]
    pub(super) db: Option<i64>,
    /// Start session in RESP3 protocol mode.
    #[arg(short = '3')]
    pub(super) resp3: bool,
    /// Enable multi-thread mode.
    #[arg(long, value_name = "num", default_value_t = 0, hide_default_value = true, value_parser = number)]
    pub(super) threads: i64,
    /// Enable cluster mode: redyno sends the requests to all masters. The keys of each request have a new random hash
    /// tag. In your own command, write {tag} in the key; redyno replaces {tag} by the hash tag of the request.
    #[arg(long = "cluster", conflicts_with = "hash")]
    pub(super) is_cluster: bool,
    /// Send CLIENT TRACKING on before starting benchmark.
    #[arg(long = "enable-tracking")]
    pub(super) tracks: bool,
    /// 1=keep alive 0=reconnect
    #[arg(short, value_name = "boolean", default_value_t = 1, value_parser = number)]
    pub(super) keep_alive: i64,
    /// Replace each __rand_int__ by a new random number of 12 digits from 0 to keyspacelen-1: random keys for
    /// SET/GET/INCR, random values for SADD, random members and scores for ZADD. Without -r, redyno sends __rand_int__
    /// unchanged, and all commands use the same key.
    #[arg(short = 'r', value_name = "keyspacelen", value_parser = keyspace)]
    pub(super) keyspace: Option<u64>,
    /// With -r: use sequential numbers, not random numbers. __rand_int__ and each of __rand_1st__ to __rand_9th__ have
    /// their own counter.
    #[arg(id = "sequential", long = "sequential")]
    pub(super) is_sequential: bool,
    /// Pipeline this number of requests: send them before waiting for the replies. Default 1 (no pipeline).
    #[arg(short = 'P', value_name = "numreq", default_value_t = 1, hide_default_value = true, value_parser = pipeline)]
    pub(super) pipeline: u32,
    /// Quiet. Just show query/sec values
    #[arg(short = 'q')]
    pub(super) is_quiet: bool,
    /// Accepted without effect. redyno always measures three significant digits, as redis-benchmark does by default,
    /// and prints three decimals
    #[arg(long, value_name = "digits")]
    pub(super) precision: Option<String>,
    /// Output in CSV format
    #[arg(long = "csv")]
    pub(super) is_csv: bool,
    /// Loop. Run the tests forever
    #[arg(short)]
    pub(super) loops: bool,
    /// Only run the comma separated list of tests. The test names are the same as the ones produced as output; other
    /// names are ignored. The -t option is ignored if a specific command is supplied on the command line.
    #[arg(short, value_name = "tests", value_parser = tests)]
    pub(super) tests: Option<String>,
    /// Idle mode. Just open N idle connections and wait.
    #[arg(short = 'I', conflicts_with = "hash")]
    pub(super) is_idle: bool,
    /// Read last argument of the command from STDIN.
    #[arg(short = 'x')]
    pub(super) reads_stdin: bool,
    /// Send this many requests per second, evenly, even if the server is slow. Default 0 (no limit)
    #[arg(long, value_name = "requests", value_parser = rps)]
    pub(super) rps: Option<u32>,
    /// Set the seed for random number generator. Default: a random seed.
    #[arg(long, value_name = "num", value_parser = number)]
    pub(super) seed: Option<i64>,
    /// Accepted without effect. An error always ends the run.
    #[arg(short = 'e')]
    pub(super) ends_on_error: bool,
    /// Number of functions in the library that the test 'function_load' loads.
    #[arg(long, value_name = "num", default_value_t = 10, value_parser = number)]
    pub(super) num_functions: i64,
    /// Number of keys passed to FCALL in the test 'fcall'.
    #[arg(long, value_name = "num", default_value_t = 1, value_parser = call_keys)]
    pub(super) num_keys_in_fcall: i64,
    #[command(flatten)]
    pub(super) server: ServerOptions,
    /// Directory of trusted CA certificates. Without --cacert and --cacertdir the system's CAs are trusted.
    #[arg(long, value_name = "dir")]
    pub(super) cacertdir: Option<PathBuf>,
    /// Allow insecure TLS connection by skipping cert validation.
    #[arg(long = "insecure")]
    pub(super) is_insecure: bool,
    /// Ciphers to offer for TLS 1.2, in the order of preference: OpenSSL names, separated by colons. redyno does not
    /// support OpenSSL's names for groups of ciphers (HIGH, !aNULL).
    #[arg(long, value_name = "list")]
    pub(super) tls_ciphers: Option<String>,
    /// Ciphers to offer for TLS 1.3: OpenSSL names, separated by colons.
    #[arg(long, value_name = "list")]
    pub(super) tls_ciphersuites: Option<String>,
    /// Enable an MPTCP connection. Not supported yet.
    #[arg(id = "mptcp", long = "mptcp")]
    pub(super) is_mptcp: bool,
    /// Read from replicas in cluster mode: no, yes (from replicas) or all (from masters and replicas in turn). Without
    /// --cluster it has no effect.
    #[arg(id = "rfr", long = "rfr", value_name = "mode", default_value = "no", value_parser = reads)]
    pub(super) read_from: ReadFrom,
    /// Replace __field:name__ in the command by a field of the records in this file: CSV, TSV, JSON lines or XML, also
    /// with gzip. redyno decodes __field:name:base64__. Each command or sequence uses the next record. After the last
    /// record, redyno starts again with the first.
    #[arg(long, value_name = "file")]
    pub(super) dataset: Option<PathBuf>,
    /// Use only this number of records of --dataset, beginning with the first (default all)
    #[arg(long, value_name = "num", value_parser = number)]
    pub(super) maxdocs: Option<i64>,
    /// Measure latencies as redis-benchmark does: all requests of a batch get the same latency, the time to the first
    /// byte of the first reply
    #[arg(long, value_name = "first-byte", value_parser = latency_to)]
    pub(super) compat: Option<LatencyTo>,
    /// Print a JSON object for each test, with redyno's own figures and the distribution
    #[arg(long = "json")]
    pub(super) is_json: bool,
    /// Output this help and exit.
    #[arg(long, action = ArgAction::Help)]
    pub(super) help: Option<bool>,
    /// Output version and exit.
    #[arg(short_alias = 'v', long, action = ArgAction::Version)]
    pub(super) version: Option<bool>,
    /// Your own command, instead of the tests
    #[arg(id = "words", value_name = "COMMAND ARGS", trailing_var_arg = true)]
    #[arg(value_parser = OsStringValueParser::new().map(OsString::into_vec))]
    pub(super) command: Vec<Vec<u8>>,
    /// The format of the output.
    #[arg(skip)]
    pub(super) form: OutputFormat,
    /// Warnings to print on standard error before anything else.
    #[arg(skip)]
    pub(super) warnings: Vec<String>,
}

/// Returns the parser of the command line.
pub(super) fn parser(flavour: Flavour) -> Command {
    let line = options::parser::<BenchOptions>(flavour.program(), flavour.version());
    line.mut_args(|option: Arg| {
        let is_of_valkey = OF_VALKEY.split(' ').any(|id| option.get_id() == id);
        option.hide(is_of_valkey && flavour == Flavour::Redis)
    })
}

/// Parses a number as C's atoi does.
fn number(text: &str) -> Result<i64, Infallible> {
    Ok(atoi(text))
}

fn data_size(text: &str) -> Result<usize, Infallible> {
    Ok(atoi(text).clamp(1, 1 << 30) as usize)
}

fn pipeline(text: &str) -> Result<u32, Infallible> {
    Ok(u32::try_from(atoi(text).max(1)).unwrap_or(u32::MAX))
}

/// Returns the list of tests in lower case, with a comma before and after each name.
fn tests(text: &str) -> Result<String, Infallible> {
    Ok(format!(",{},", text.to_ascii_lowercase()))
}

fn requests(text: &str) -> Result<i64, &'static str> {
    let digits = text.trim_start().trim_start_matches('+');
    match digits.starts_with(|first: char| first.is_ascii_digit()) {
        true => Ok(atoi(text)),
        false => Err("the number of requests must be a number such as 100000"),
    }
}

fn keyspace(text: &str) -> Result<u64, &'static str> {
    let digits = text.strip_prefix('-');
    match digits.is_some_and(|digits| !digits.starts_with(|first: char| first.is_ascii_digit())) {
        true => Err("must be a number"),
        false => Ok(atoi(text).clamp(0, MOST_KEYS) as u64),
    }
}

fn length(text: &str) -> Result<Duration, String> {
    let length = seconds(text).unwrap_or_default();
    let most = LONGEST.as_secs();
    if length > LONGEST { Err(format!("at most {most} seconds are possible")) } else { Ok(length) }
}

fn rps(text: &str) -> Result<u32, String> {
    let most = |_| format!("at most {} requests per second are possible", u32::MAX);
    u32::try_from(atoi(text).max(0)).map_err(most)
}

fn call_keys(text: &str) -> Result<i64, String> {
    let keys = Some(atoi(text)).filter(|keys| *keys <= MOST_KEYS_OF_A_CALL);
    keys.ok_or_else(|| format!("at most {MOST_KEYS_OF_A_CALL} keys are possible"))
}

fn reads(text: &str) -> Result<ReadFrom, &'static str> {
    match text {
        "no" => Ok(ReadFrom::Primary),
        "yes" => Ok(ReadFrom::Replica),
        "all" => Ok(ReadFrom::Any),
        _ => Err("must be no, yes or all"),
    }
}

fn latency_to(text: &str) -> Result<LatencyTo, &'static str> {
    match text {
        "first-byte" => Ok(LatencyTo::FirstByte),
        _ => Err("must be first-byte"),
    }
}
