//! The table of options.
//!
//! `--help`, made of the table of options.

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
        "Protocol to use (default: redis): redis, resp2, resp3 or memcache_text. Only resp3 is said to the server, by \
         HELLO 3.",
    ),
    all("-a, --authenticate CREDENTIALS", "Authenticate by a password, or by USER:PASSWORD"),
    all(
        "-u, --uri URI",
        "Server URI, redis://user:password@host:port/dbnum; rediss:// for TLS, valkey:// and memcached:// too. It \
         precedes the other options",
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
        "Make connections again that are lost. Without it the first loss ends the run, and what was measured is told",
    ),
    all(
        "--connection-timeout SECS",
        "How long a connection may wait, for being made and for each reply; 0 is for ever (default: 0)",
    ),
    all(
        "--multi-key-get NUM",
        "Enable multi-key get commands, up to NUM keys (default: 0). One is one request",
    ),
    all("--select-db DB", "DB number to select, when testing a redis server"),
    all(
        "--distinct-client-seed",
        "Taken, and without effect: each client always draws from a seed of its own",
    ),
    all("--randomize", "Another seed each time (default is a constant one)"),
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
    all("-R, --random-data", "Bytes by chance, of another place of a pool each time, and not the letter x"),
    all("--data-size-range RANGE", "Sizes by chance in this range (min-max)"),
    all(
        "--data-size-list LIST",
        "Sizes by their weights (size1:weight1,..sizeN:weightN), by chance and not in turn",
    ),
    all("--data-size-pattern R", "With --data-size-range, by chance (default). S, by the key, is not there"),
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
        "WAIT for a random number of milliseconds in this range, each as often as any other",
    ),
];

/// Options of memtier_benchmark that are refused, each with redyno's own word for it where there is one, in the order of its
/// help.
pub(super) static ABSENT: &[Choice] = &[
    absent("--ipv4, -4, --ipv6, -6", "name an address of that family: -h 127.0.0.1, -h ::1"),
    absent("--debug, -D", ""),
    absent("--cluster-mode", "redyno has no cluster routing yet"),
    absent("--client-stats", "redyno --record FILE keeps the figures of each quarter second"),
    absent("--hdr-file-prefix", "redyno --export hlog:FILE writes HdrHistogram's interval log"),
    absent("--show-config", "--json-out-file has the configuration"),
    absent(
        "--statsd-host, --statsd-port, --statsd-prefix, --statsd-run-label, --graphite-port",
        "redyno --headless --json writes every figure as it comes",
    ),
    absent(
        "--prometheus-port, --prometheus-run-label, --prometheus-latency-buckets",
        "redyno --metrics ADDRESS serves them to Prometheus",
    ),
    absent("--realtime-latencies", "redyno without --headless shows them on its screen"),
    absent("--clients-start, --clients-step, --step-duration", "redyno --sweep turns the clients in steps"),
    absent(
        "--max-reconnect-attempts, --reconnect-backoff-factor",
        "connections that are lost are made again with a back-off of their own, without end",
    ),
    absent(
        "--thread-conn-start-min-jitter-micros, --thread-conn-start-max-jitter-micros",
        "at most 128 connections are in the making at a time",
    ),
    absent("--transaction", "redyno --workload FILE has operations between MULTI and EXEC"),
    absent("--read-preference", ""),
    absent(
        "--retry-on-error, --max-retries, --retry-backoff-ms, --retry-backoff-factor, --retry-on, --max-retry-queue, \
         --failed-keys-file",
        "a request is sent once, and its error is counted",
    ),
    absent("--command-miss-tracking, --miss-rate-threshold", "misses are always counted from the replies"),
    absent("--monitor-input, --monitor-pattern", "redyno --workload FILE has commands of a file"),
    absent("--scan-incremental-iteration, --scan-incremental-max-iterations", ""),
    absent("--data-offset", "--command 'SETRANGE __key__ OFFSET __data__' asks for it"),
    absent("--data-import", "redyno --dataset sends the records of a file"),
    absent("--data-verify, --verify-only", "redyno --dataset FILE --verify reads the records back"),
    absent("--generate-keys, --no-expiry", "redyno --dataset sends the records of a file"),
];

/// What is answered in place of a run.
pub(super) static OWN: [Choice; 2] =
    [all("--help", "Display this help"), all("-v, --version", "Display version information")];

/// All that may stand on a command line.
pub(super) fn known() -> impl Iterator<Item = &'static Choice> {
    GROUPS.iter().flat_map(|(_, options)| *options).chain(ABSENT).chain(&OWN)
}

/// What is deliberately different from memtier_benchmark.
pub const DEVIATIONS: [&str; 9] = [
    "The latency of a request is the time from its own write to the last byte of its own reply, by a monotonic clock, in \
     three significant digits from 1 ns on. Theirs is by the wall clock, in steps of 8 us below 2 ms, with one stamp for all \
     requests that are written at once.",
    "A request that is answered with an error is no operation and has no latency: the first of each kind is told on standard \
     error, and all are counted there at the end. Theirs counts errors as operations.",
    "Each client draws keys of its own, as with --distinct-client-seed. Theirs all ask for the same keys.",
    "-n allkeys is every key: with P each exactly once over all clients, also where these do not divide the keys. Theirs \
     leaves the last one out, or begins anew.",
    "--rate-limiting spreads the requests of all connections evenly over time, whichever is free sends the next, and those \
     that are late are sent later. Theirs come in bursts of 20 ms, and a server that stalls is asked less.",
    "--data-size-list draws sizes by their weights, and an expiry of 0 seconds is not drawn.",
    "-R cuts each value from a pool of bytes by chance; theirs changes one byte a request.",
    "Misses are nulls, also for a --command; an empty value is a hit. On memcached a get of several keys hits if any is there.",
    "The first connection that fails ends the run with exit code 1, unless --reconnect-on-error is given.",
];

/// Width of the names of options in the help.
const NAMES: usize = 30;

/// The options that are there.
pub fn options() -> impl Iterator<Item = &'static Choice> {
    GROUPS.iter().flat_map(|(_, options)| *options).chain(&OWN)
}

/// The whole help.
pub(super) fn usage(program: &str) -> String {
    let mut text = format!("Usage: {program} [options]\nA stand-in for memtier_benchmark.\n");
    for (title, options) in &GROUPS {
        text += &format!("\n{title}:\n{}", listed(*options, NAMES, ""));
    }
    text += "\nNot there, and what redyno has in its stead:\n";
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
