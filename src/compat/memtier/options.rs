//! The table of options.
//!
//! `--help`, generated from the table of options.

use crate::compat::options::{Choice, absent, all, deviations, listed};

/// All options by their groups, in the order of the help.
pub(super) static GROUPS: [(&str, &[Choice]); 6] = [
    ("Connection and General Options", CONNECTION),
    ("Results Output Options", RESULTS),
    ("Test Options", TEST),
    ("Arbitrary command", COMMANDS),
    ("Object Options", OBJECTS),
    ("Key and WAIT Options", KEYS),
];

const CONNECTION: &[Choice] = &[
    all("-h, --host, -s, --server ADDR", "Server address (default: localhost)"),
    all("-p, --port PORT", "Server port (default: 6379)"),
    all("-S, --unix-socket SOCKET", "UNIX Domain socket name (default: none)"),
    all(
        "-P, --protocol PROTOCOL",
        "Protocol to use (default: redis): redis, resp2, resp3 or memcache_text. Only for resp3 the server is asked, by \
         HELLO 3.",
    ),
    all("-a, --authenticate CREDENTIALS", "Authenticate by a password, or by USER:PASSWORD"),
    all(
        "-u, --uri URI",
        "Server URI, redis://user:password@host:port/dbnum; rediss:// for TLS, valkey:// and memcached:// too. It \
         overrides the other options",
    ),
    all("--tls", "Enable TLS transport security"),
    all("--cert FILE", "Use this client certificate for TLS"),
    all("--key FILE", "Use this private key for TLS; without it that of --cert"),
    all("--cacert FILE", "Use this bundle of CAs for TLS; without it the system's are trusted"),
    all("--tls-skip-verify", "Skip the verification of the server's certificate"),
    all("--tls-protocols LIST", "TLSv1.2,TLSv1.3, which is what is spoken; no other list is taken"),
    all("--sni STRING", "Add an SNI header"),
    all("-x, --run-count NUMBER", "Number of full-test iterations to perform"),
];

const RESULTS: &[Choice] = &[
    all("-o, --out-file FILE", "Name of output file (default: stdout)"),
    all(
        "--json-out-file, --memtier-json FILE",
        "Name of the JSON file, in memtier's own schema (format version 2)",
    ),
    all("--hide-histogram", "Don't print the detailed latency distribution"),
    all("--print-percentiles LIST", "Which percentiles the table has (default: 50,99,99.9)"),
    all("--print-all-runs", "With -x, print the results of each run"),
    all(
        "--command-stats-breakdown command|line",
        "A row for all that begin with the same word (default), or one for each --command",
    ),
];

const TEST: &[Choice] = &[
    all(
        "-n, --requests NUMBER",
        "Number of total requests per client (default: 10000); 'allkeys' is as many as there are keys, with the pattern P \
         over all clients together",
    ),
    all(
        "--rate-limiting NUMBER",
        "The most requests per second from an individual connection (default is unlimited)",
    ),
    all("-c, --clients NUMBER", "Number of clients per thread (default: 50)"),
    all("-t, --threads NUMBER", "Number of threads (default: 4)"),
    all("--test-time SECS", "Number of seconds to run the test, in place of -n"),
    all("--ratio RATIO", "Set:Get ratio (default: 1:10): so many SETs, then so many GETs"),
    all("--pipeline NUMBER", "Number of concurrent pipelined requests (default: 1)"),
    all("--reconnect-interval NUM", "Number of requests after which re-connection is performed"),
    all(
        "--reconnect-on-error",
        "Reconnect lost connections. Without it the first loss ends the run, and the results so far are printed",
    ),
    all(
        "--connection-timeout SECS",
        "Timeout for connecting and for each reply; 0 is no timeout (default: 0)",
    ),
    all(
        "--multi-key-get NUM",
        "Enable multi-key get commands, up to NUM keys (default: 0). One is one request",
    ),
    all("--select-db DB", "DB number to select, when testing a redis server"),
    all("--distinct-client-seed", "Accepted without effect: each client always has a seed of its own"),
    all("--randomize", "Use a random seed (default is a constant one)"),
];

const COMMANDS: &[Choice] = &[
    all(
        "--command COMMAND",
        "A command to send, in quotes; may be given again. __key__ is a key of the Key Options, with what stands around \
         it, and __data__ a word of the Object Options: --command=\"hset __key__ f __data__\"",
    ),
    all("--command-ratio NUM", "The number of times the command before it is sent in sequence (default: 1)"),
    all(
        "--command-key-pattern PATTERN",
        "Key pattern for the command before it (default: R), as of --key-pattern",
    ),
];

const OBJECTS: &[Choice] = &[
    all("-d, --data-size SIZE", "Object data size in bytes (default: 32)"),
    all("-R, --random-data", "Random bytes, cut from a pool, in place of the letter x"),
    all("--data-size-range RANGE", "Random sizes in this range (min-max)"),
    all(
        "--data-size-list LIST",
        "Sizes by their weights (size1:weight1,..sizeN:weightN), at random and not in turn",
    ),
    all(
        "--data-size-pattern R",
        "With --data-size-range, at random (default). S, by the key, is not supported",
    ),
    all(
        "--expiry-range RANGE",
        "Use random expiry values from this range, in seconds, from 1 on; SET becomes SETEX",
    ),
];

const KEYS: &[Choice] = &[
    all("--key-prefix PREFIX", "Prefix for keys (default: \"memtier-\")"),
    all("--key-minimum NUMBER", "Key ID minimum value (default: 0)"),
    all("--key-maximum NUMBER", "Key ID maximum value (default: 10000000)"),
    all(
        "--key-pattern PATTERN",
        "Set:Get pattern (default: R:R). R uniform; S one after the other, each client through all; P the same, each \
         client in a part of its own; G Gaussian; Z zipf, the lowest key being the hottest",
    ),
    all("--key-stddev NUMBER", "The standard deviation of G (default: a sixth of the key range)"),
    all("--key-median NUMBER", "The median point of G (default: the center of the key range)"),
    all("--key-zipf-exp NUMBER", "The exponent of Z, between 0 and 5 (default: 1)"),
    all(
        "--wait-ratio RATIO",
        "Set:Wait ratio (default is no WAIT commands - 1:0): so many WAITs before so many SETs",
    ),
    all("--num-slaves RANGE", "WAIT for a random number of slaves in this range"),
    all(
        "--wait-timeout RANGE",
        "WAIT for a random number of milliseconds in this range, uniformly distributed",
    ),
];

/// Options of memtier_benchmark that are not supported, each with redyno's alternative if there is one, in the order of
/// memtier_benchmark's help.
pub(super) static ABSENT: &[Choice] = &[
    absent("--ipv4, -4, --ipv6, -6", "name an address of that family: -h 127.0.0.1, -h ::1"),
    absent("--debug, -D", ""),
    absent("--cluster-mode", "redyno has no cluster routing yet"),
    absent("--client-stats", "redyno --record FILE keeps the figures of each quarter second"),
    absent("--hdr-file-prefix", "redyno --export hlog:FILE writes HdrHistogram's interval log"),
    absent("--show-config", "--json-out-file has the configuration"),
    absent(
        "--statsd-host, --statsd-port, --statsd-prefix, --statsd-run-label, --graphite-port",
        "redyno --headless --json prints every figure as it is measured",
    ),
    absent(
        "--prometheus-port, --prometheus-run-label, --prometheus-latency-buckets",
        "redyno --metrics ADDRESS serves them to Prometheus",
    ),
    absent("--realtime-latencies", "redyno without --headless shows them on its screen"),
    absent("--clients-start, --clients-step, --step-duration", "redyno --sweep changes the clients in steps"),
    absent(
        "--max-reconnect-attempts, --reconnect-backoff-factor",
        "lost connections are always reconnected, with redyno's own back-off",
    ),
    absent(
        "--thread-conn-start-min-jitter-micros, --thread-conn-start-max-jitter-micros",
        "at most 128 connections are opened at a time",
    ),
    absent("--transaction", "redyno --workload FILE has operations between MULTI and EXEC"),
    absent("--read-preference", ""),
    absent(
        "--retry-on-error, --max-retries, --retry-backoff-ms, --retry-backoff-factor, --retry-on, --max-retry-queue, \
         --failed-keys-file",
        "a request is sent once, and its error is counted",
    ),
    absent("--command-miss-tracking, --miss-rate-threshold", "misses are always counted from the replies"),
    absent("--monitor-input, --monitor-pattern", "redyno --workload FILE reads commands from a file"),
    absent("--scan-incremental-iteration, --scan-incremental-max-iterations", ""),
    absent("--data-offset", "use --command 'SETRANGE __key__ OFFSET __data__'"),
    absent("--data-import", "redyno --dataset sends the records of a file"),
    absent("--data-verify, --verify-only", "redyno --dataset FILE --verify reads the records back"),
    absent("--generate-keys, --no-expiry", "redyno --dataset sends the records of a file"),
];

/// Options that print a text instead of running a load.
pub(super) static OWN: [Choice; 2] =
    [all("--help", "Display this help"), all("-v, --version", "Display version information")];

/// Returns all options, including those without support.
pub(super) fn known() -> impl Iterator<Item = &'static Choice> {
    GROUPS.iter().flat_map(|(_, options)| *options).chain(ABSENT).chain(&OWN)
}

/// The deliberate differences from memtier_benchmark.
pub const DEVIATIONS: [&str; 9] = [
    "The latency of a request is the time from its own write to the last byte of its own reply, by a monotonic clock, with \
     three significant digits from 1 ns on. memtier_benchmark uses the wall clock, steps of 8 us below 2 ms, and one timestamp \
     for all requests that are written together.",
    "A request with an error reply is not counted as an operation and has no latency. The first error of each kind is printed \
     on standard error, and all are counted there at the end. memtier_benchmark counts errors as operations.",
    "Each client draws its own keys, as with --distinct-client-seed. memtier_benchmark's clients all draw the same keys.",
    "-n allkeys requests every key: with P, each exactly once over all clients, even if the number of clients does not divide \
     the number of keys. memtier_benchmark leaves out the last key, or begins again.",
    "--rate-limiting spreads the requests of all connections evenly over time; any free connection sends the next one, and \
     late requests are sent late. memtier_benchmark sends bursts every 20 ms, and sends less to a server that stalls.",
    "--data-size-list draws sizes by their weights, and an expiry of 0 seconds is never drawn.",
    "-R cuts each value from a random place of a pool; memtier_benchmark changes one byte a request.",
    "Misses are nulls, also for a --command; an empty value is a hit. On memcached, a get of several keys is a hit if any \
     exists.",
    "The first connection that fails ends the run with exit code 1, unless --reconnect-on-error is given.",
];

/// The width of the names of options in the help.
const NAMES: usize = 30;

/// Returns the supported options.
pub fn options() -> impl Iterator<Item = &'static Choice> {
    GROUPS.iter().flat_map(|(_, options)| *options).chain(&OWN)
}

/// Returns the whole help.
pub(super) fn usage(program: &str) -> String {
    let mut text = format!("Usage: {program} [options]\nA stand-in for memtier_benchmark.\n");
    for (title, options) in &GROUPS {
        text += &format!("\n{title}:\n{}", listed(*options, NAMES, ""));
    }
    text += "\nNot supported, with redyno's alternative:\n";
    text += &(listed(ABSENT, NAMES, "nothing") + &deviations(&DEVIATIONS));
    text += &format!(
        "\nExamples:\n  {program} -p 6379 --test-time 10\n  {program} -P memcache_text -p 11211 --ratio 1:10 -n 10000\n"
    );
    text.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_names_every_option_and_no_line_is_too_long() {
        let text = usage("redyno memtier");
        for (_, options) in GROUPS {
            for Choice { written, .. } in options {
                assert!(text.contains(&format!("\n {written}")), "{written}");
            }
        }
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
    }
}
