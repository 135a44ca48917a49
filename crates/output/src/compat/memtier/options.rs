//! The options of `redyno memtier`, with memtier_benchmark's defaults. clap parses them, and shows their descriptions
//! in the help.

use std::path::PathBuf;

use clap::{Arg, ArgAction, Args, Command};

use super::{
    monitor::MonitorOptions,
    option_values::{
        Breakdown, ImportOptions, KeyOrder, MemtierProtocol, RequestCount, UserCommand, above_zero, exponent,
        key_pattern, offset, port, reads, seconds, size_pattern, size_range, tls_protocols,
    },
    prometheus::PrometheusOptions,
    retries::RetryOptions,
    statsd::StatsdOptions,
};
use crate::{
    compat::{
        numbers::{NumberRange, Ratio, checked, percentiles, positive, weights, whole},
        options::{self, List},
        server::ServerOptions,
    },
    endpoint::ReadFrom,
};

/// The default prefix of keys.
pub(super) const KEY_PREFIX: &str = "memtier-";
/// The default number of the last key.
pub(super) const KEY_MAXIMUM: u64 = 10_000_000;

const RATIO: &str = "must be expressed as [0-n]:[0-n].";
const RANGE: &str = "must be expressed as [0-n]-[1-n].";
const SIZE_RANGE: &str = "must be expressed as [1-n]-[1-n].";
const WEIGHTS: &str =
    "must be expressed as [size1:weight1],...[sizeN:weightN], with sizes and a weight above 0.";
const OFFSET: &str = "must be a number from 0 to 536870911.";
const PATTERN: &str = "must be in the format of [S/R/Z/G/P].";
const QUANTILES: &str = "quantiles must be expressed as [0.0-100.0],[0.0-100.0](,...)";
const UNPARSED: &str = "failed to parse arbitrary command.";

const JITTER: &str = "at most 128 connections are opened at a time";
const MISSES: &str = "misses are always counted from the replies";
/// The options of memtier_benchmark that redyno does not have, and redyno's alternatives.
pub(super) const ABSENT: [(&str, &str); 8] = [
    ("--debug", ""),
    ("-D", ""),
    ("--realtime-latencies", "redyno without --headless shows these latencies on its screen"),
    ("--thread-conn-start-min-jitter-micros", JITTER),
    ("--thread-conn-start-max-jitter-micros", JITTER),
    ("--command-miss-tracking", MISSES),
    ("--miss-rate-threshold", MISSES),
    ("--generate-keys", "redyno --dataset sends the fields of a file in the commands that you give"),
];

/// The first option of each group of the help, and the title of the group.
const GROUPS: [(&str, &str); 7] = [
    ("host", "Connection and General Options"),
    ("out_file", "Results Output Options"),
    ("requests", "Test Options"),
    ("commands", "Arbitrary command"),
    ("data_size", "Object Options"),
    ("data_import", "Imported Data Options"),
    ("key_prefix", "Key and WAIT Options"),
];

/// The values of the options.
#[derive(Args, Debug, Clone)]
#[command(
    version,
    disable_version_flag = true,
    infer_long_args = true,
    args_override_self = true,
    after_help = include_str!("differences.txt")
)]
pub struct MemtierOptions {
    /// Server address (default: localhost)
    #[arg(short = 'h', visible_short_alias = 's', long, visible_alias = "server", value_name = "ADDR")]
    pub(super) host: Option<String>,
    /// Server port (default: 6379)
    #[arg(short, long, value_parser = checked(port, "must be a number in the range [1-65535]."))]
    pub(super) port: Option<u16>,
    /// UNIX Domain socket name (default: none)
    #[arg(short = 'S', long = "unix-socket", value_name = "FILE")]
    pub(super) socket: Option<PathBuf>,
    /// Use only the IPv4 addresses of the server
    #[arg(short = '4', long = "ipv4", overrides_with = "is_ipv6")]
    pub(super) is_ipv4: bool,
    /// Use only the IPv6 addresses of the server
    #[arg(short = '6', long = "ipv6")]
    pub(super) is_ipv6: bool,
    /// Protocol to use: redis, resp2, resp3 or memcache_text. redyno sends HELLO 3 for resp3 only
    #[arg(short = 'P', long, default_value = "redis", value_parser = MemtierProtocol::read)]
    pub(super) protocol: MemtierProtocol,
    /// Authenticate with a password, or with USER:PASSWORD
    #[arg(short, long, value_name = "CREDENTIALS")]
    pub(super) authenticate: Option<String>,
    /// Server URI, redis://user:password@host:port/dbnum; rediss:// for TLS, also valkey:// and memcached://. The URI
    /// overrides the other options of the connection
    #[arg(id = "uris", short, long = "uri", value_name = "URI")]
    pub(super) uris: Vec<String>,
    #[command(flatten)]
    pub(super) server: ServerOptions,
    /// Skip the verification of the server's certificate
    #[arg(long)]
    pub(super) tls_skip_verify: bool,
    /// TLSv1.2, TLSv1.3, or both separated by a comma (default). redyno does not support older versions
    #[arg(long, value_name = "LIST", value_parser = tls_protocols)]
    pub(super) tls_protocols: Option<[bool; 2]>,
    /// Send the load to all primaries of the server's cluster. --pipeline and --rate-limiting then apply to each client
    /// on each primary
    #[arg(long = "cluster-mode", conflicts_with = "hash")]
    pub(super) is_cluster: bool,
    /// Which nodes of a cluster get the GETs: primary, secondary or secondaryPreferred. If no replica of a shard
    /// answers, its primary gets the GETs
    #[arg(id = "preference", long = "read-preference", default_value = "primary", value_parser = reads)]
    pub(super) read_from: ReadFrom,
    /// Number of full-test iterations to perform
    #[arg(short = 'x', long, default_value_t = 1, value_parser = positive::<u32>)]
    pub(super) run_count: u32,
    /// Name of output file (default: stdout)
    #[arg(short, long, value_name = "FILE")]
    pub(super) out_file: Option<PathBuf>,
    /// Name of the JSON file, in memtier's own schema (format version 2)
    #[arg(long, visible_alias = "memtier-json", value_name = "FILE")]
    pub(super) json_out_file: Option<PathBuf>,
    /// Write the results of each client for each second to FILE-RUN-THREAD-CLIENT.csv. With this option, each client
    /// has its own thread
    #[arg(long, value_name = "FILE")]
    pub(super) client_stats: Option<String>,
    /// Write the latency distribution of all requests and of each row to files whose names begin with FILE:
    /// HdrHistogram's percentile text (.txt) and its log (.hgrm)
    #[arg(long, value_name = "FILE")]
    pub(super) hdr_file_prefix: Option<String>,
    /// Print the configuration before the run
    #[arg(long = "show-config")]
    pub(super) shows_config: bool,
    /// Don't print the detailed latency distribution
    #[arg(long = "hide-histogram")]
    pub(super) hides_histogram: bool,
    /// The percentiles in the table
    #[arg(long = "print-percentiles", default_value = "50,99,99.9", value_parser = checked(percentiles, QUANTILES))]
    pub(super) percentiles: List<f64>,
    /// With -x, print the results of each run
    #[arg(long = "print-all-runs")]
    pub(super) prints_all_runs: bool,
    /// Print one row for all commands that begin with the same word (command), or one row for each --command (line)
    #[arg(long = "command-stats-breakdown", default_value = "command", value_parser = Breakdown::read)]
    pub(super) breakdown: Breakdown,
    #[command(flatten)]
    pub(super) statsd: StatsdOptions,
    #[command(flatten)]
    pub(super) prometheus: PrometheusOptions,
    /// Number of total requests per client (default: 10000); 'allkeys' means the number of keys. With allkeys and the
    /// pattern P, all clients together send this number of requests
    #[arg(short = 'n', long, value_parser = RequestCount::read)]
    pub(super) requests: Option<RequestCount>,
    /// Maximum number of requests per second on each connection (default is unlimited)
    #[arg(long = "rate-limiting", value_parser = positive::<u32>)]
    pub(super) rate: Option<u32>,
    /// Number of clients per thread
    #[arg(short, long, default_value_t = 50, value_parser = positive::<u32>)]
    pub(super) clients: u32,
    /// Number of threads
    #[arg(short, long, default_value_t = 4, value_parser = positive::<u32>)]
    pub(super) threads: u32,
    /// Number of seconds to run the test, instead of -n
    #[arg(long = "test-time", value_name = "SECS", value_parser = seconds)]
    pub(super) test_time_s: Option<u64>,
    /// Clients per thread in the first step of a staircase, fewer than --clients; needs --clients-step, --step-duration
    /// and --test-time
    #[arg(long, value_name = "NUMBER", value_parser = positive::<u32>)]
    pub(super) clients_start: Option<u32>,
    /// Clients per thread that each step of the staircase adds
    #[arg(long, value_name = "NUMBER", value_parser = positive::<u32>)]
    pub(super) clients_step: Option<u32>,
    /// Number of seconds of each step of the staircase
    #[arg(long = "step-duration", value_name = "SECS", value_parser = positive::<u32>)]
    pub(super) step_duration_s: Option<u32>,
    /// Set:Get ratio (default: 1:10). 1:10 means one SET, then ten GETs
    #[arg(long, value_parser = checked(Ratio::read, RATIO))]
    pub(super) ratio: Option<Ratio>,
    /// Number of concurrent pipelined requests
    #[arg(long, default_value_t = 1, value_parser = positive::<u32>)]
    pub(super) pipeline: u32,
    /// Number of requests after which re-connection is performed
    #[arg(long, value_name = "NUMBER", value_parser = positive::<u32>, conflicts_with = "is_cluster")]
    pub(super) reconnect_interval: Option<u32>,
    /// Reconnect lost connections. Without this option, the run ends with the first lost connection, and prints the
    /// results so far
    #[arg(long = "reconnect-on-error")]
    pub(super) reconnects_on_error: bool,
    /// End the run after this number of failed attempts to reconnect for each client. redyno adds up the attempts of
    /// all clients, and sets the sum to 0 after any reply (default: 0, never)
    #[arg(long = "max-reconnect-attempts", value_name = "NUMBER", value_parser = whole::<u64>)]
    pub(super) most_attempts: Option<u64>,
    /// Accepted without effect. The pauses between attempts double from 10 ms to 1 s
    #[arg(long = "reconnect-backoff-factor", value_name = "NUMBER", value_parser = above_zero)]
    pub(super) reconnect_factor: Option<f64>,
    #[command(flatten)]
    pub(super) retries: RetryOptions,
    /// Timeout for connecting and for each reply; 0 is no timeout
    #[arg(long = "connection-timeout", value_name = "SECS", default_value_t = 0, value_parser = whole::<u64>)]
    pub(super) connection_timeout_s: u64,
    /// Enable multi-key get commands, with up to this number of keys. A multi-key get counts as one request
    #[arg(long, value_name = "NUMBER", default_value_t = 0, value_parser = whole::<u32>)]
    pub(super) multi_key_get: u32,
    /// DB number to select, when testing a redis server
    #[arg(long, value_name = "DB", default_value_t = 0, value_parser = whole::<u32>)]
    pub(super) select_db: u32,
    /// Use different keys in each run of -x. Each client has its own seed, also without this option
    #[arg(long = "distinct-client-seed")]
    pub(super) has_seeds_by_run: bool,
    /// Use a random seed (default is a constant one)
    #[arg(long = "randomize")]
    pub(super) is_randomized: bool,
    /// A command to send, in quotes; can be given several times. redyno replaces __key__ by a key, also within a word,
    /// and the word __data__ by a value: --command="hset __key__ f __data__"
    #[arg(long = "command", value_name = "COMMAND", value_parser = checked(UserCommand::read, UNPARSED))]
    pub(super) commands: Vec<UserCommand>,
    /// How many times in a row the preceding --command is sent (default: 1)
    #[arg(long = "command-ratio", value_name = "NUMBER", value_parser = positive::<u32>)]
    pub(super) ratios: Vec<u32>,
    /// Key pattern for the preceding --command (default: R), as for --key-pattern
    #[arg(long = "command-key-pattern", value_name = "PATTERN", value_parser = checked(KeyOrder::read, PATTERN))]
    pub(super) patterns: Vec<KeyOrder>,
    /// Send all commands in order, such as MULTI, SET __key__ 1, EXEC. Use the same key and the same connection for
    /// each pass through the commands. Null replies to EXEC count as Aborts/sec
    #[arg(long = "transaction", conflicts_with_all = ["hash", "reconnect_interval"])]
    pub(super) is_transaction: bool,
    #[command(flatten)]
    pub(super) monitor: MonitorOptions,
    /// Make each client follow the cursor in the reply to its --command "SCAN 0 ...". The client sends SCAN with this
    /// cursor until the cursor is 0, and then begins again. Needs --pipeline 1. The results have a row for SCAN 0 and a
    /// row for the other SCANs
    #[arg(long = "scan-incremental-iteration", conflicts_with_all = ["hash", "is_cluster"])]
    pub(super) follows_cursors: bool,
    /// Send SCAN with a cursor at most this many times in a row (default: 0, no limit)
    #[arg(long = "scan-incremental-max-iterations", value_name = "NUMBER", value_parser = whole::<u64>)]
    pub(super) most_scans: Option<u64>,
    /// Object data size in bytes (default: 32)
    #[arg(short, long, value_name = "SIZE", value_parser = positive::<u32>)]
    pub(super) data_size: Option<u32>,
    /// Use values of random bytes, cut from a pool, instead of the letter x
    #[arg(short = 'R', long = "random-data", conflicts_with = "data_import")]
    pub(super) is_data_random: bool,
    /// Use SETRANGE and GETRANGE with this offset in bytes, instead of SET and GET
    #[arg(long, value_name = "OFFSET", default_value_t = 0, value_parser = checked(offset, OFFSET))]
    pub(super) data_offset: u32,
    /// Random sizes in this range (min-max)
    #[arg(long, value_name = "RANGE", value_parser = checked(size_range, SIZE_RANGE))]
    pub(super) data_size_range: Option<NumberRange>,
    /// Random sizes with these weights (size1:weight1,..sizeN:weightN)
    #[arg(long, value_name = "LIST", value_parser = checked(weights, WEIGHTS), conflicts_with = "data_size_range")]
    pub(super) data_size_list: Option<List<(u32, u32)>>,
    /// With R (default), the sizes of --data-size-range are random. redyno does not support S, a fixed size for each
    /// key
    #[arg(long, value_name = "R", value_parser = size_pattern)]
    data_size_pattern: Option<KeyOrder>,
    /// Use random expiry values from this range, in seconds, at least 1; SET becomes SETEX
    #[arg(long, value_name = "RANGE", value_parser = checked(NumberRange::read, RANGE))]
    pub(super) expiry_range: Option<NumberRange>,
    #[command(flatten)]
    pub(super) import: ImportOptions,
    /// Prefix for keys
    #[arg(long, value_name = "PREFIX", default_value = KEY_PREFIX)]
    pub(super) key_prefix: String,
    /// Key ID minimum value
    #[arg(long, value_name = "NUMBER", default_value_t = 0, value_parser = whole::<u64>)]
    pub(super) key_minimum: u64,
    /// Key ID maximum value
    #[arg(long, value_name = "NUMBER", default_value_t = KEY_MAXIMUM, value_parser = positive::<u64>)]
    pub(super) key_maximum: u64,
    /// Set:Get pattern (default: R:R). R: uniform; S: in sequence, all keys for each client; P: in sequence, a separate
    /// part of the keys for each client; G: Gaussian; Z: zipf, the lowest key is the hottest
    #[arg(long, value_name = "PATTERN", value_parser = key_pattern)]
    pub(super) key_pattern: Option<[KeyOrder; 2]>,
    /// The standard deviation of G (default: a sixth of the key range)
    #[arg(long, value_name = "NUMBER", value_parser = above_zero)]
    pub(super) key_stddev: Option<f64>,
    /// The median point of G (default: the center of the key range)
    #[arg(long, value_name = "NUMBER", value_parser = above_zero)]
    pub(super) key_median: Option<f64>,
    /// The exponent of Z, between 0 and 5 (default: 1)
    #[arg(long, value_name = "NUMBER", value_parser = checked(exponent, "must be within interval (0, 5)."))]
    pub(super) key_zipf_exp: Option<f64>,
    /// Set:Wait ratio a:b (default is no WAIT commands - 1:0): one WAIT before each group of a/b + 1 SETs, so 10:1
    /// means groups of 11 SETs
    #[arg(long, value_parser = checked(Ratio::read, RATIO), conflicts_with_all = ["hash", "is_cluster"])]
    pub(super) wait_ratio: Option<Ratio>,
    /// WAIT for a random number of slaves in this range
    #[arg(long, value_name = "RANGE", value_parser = checked(NumberRange::read, RANGE))]
    pub(super) num_slaves: Option<NumberRange>,
    /// WAIT for a random number of milliseconds in this range, uniformly distributed
    #[arg(long, value_name = "RANGE", value_parser = checked(NumberRange::read, RANGE))]
    pub(super) wait_timeout: Option<NumberRange>,
    /// Display this help
    #[arg(long, action = ArgAction::Help)]
    help: Option<bool>,
    /// Display version information
    #[arg(short = 'v', long, action = ArgAction::Version)]
    version: Option<bool>,
}

/// Returns the parser of the command line.
pub(super) fn parser(program: &'static str) -> Command {
    let own = env!("CARGO_PKG_VERSION");
    let version = match program {
        // A script may find the imitated version there.
        "memtier_benchmark" => format!("v=255.255.255 sha=2f74d611:0 (redyno {own})"),
        _ => own.to_owned(),
    };
    let mut heading = "";
    let line = options::parser::<MemtierOptions>(program, version).mut_args(move |option: Arg| {
        let begun = GROUPS.iter().find(|(first, _)| option.get_id() == first);
        heading = begun.map_or(heading, |(_, title)| title);
        option.help_heading(heading)
    });
    line.next_help_heading("Not supported, with redyno's alternative").args(ABSENT.map(|(name, hint)| {
        let option = Arg::new(name).help(hint).num_args(0..=1).value_name("VALUE");
        name.strip_prefix("--").map_or(option.clone().short('D'), |long| option.long(long))
    }))
}
