//! Options of memtier_benchmark that are not there, each with redyno's own word for it where there is one.

/// Options that are refused.
pub(super) struct Absent {
    pub(super) names: &'static [&'static str],
    /// What is said in their stead.
    pub(super) word: &'static str,
}

const fn absent(names: &'static [&'static str], word: &'static str) -> Absent {
    Absent { names, word }
}

/// All of them, in the order of memtier_benchmark's help.
pub(super) const ABSENT: &[Absent] = &[
    absent(&["--ipv4", "-4", "--ipv6", "-6"], "name an address of that family: -h 127.0.0.1, -h ::1"),
    absent(&["--debug", "-D"], ""),
    absent(&["--cluster-mode"], "redyno has no cluster routing yet"),
    absent(&["--client-stats"], "redyno --record FILE keeps the figures of each quarter second"),
    absent(&["--hdr-file-prefix"], "redyno --export hlog:FILE writes HdrHistogram's interval log"),
    absent(&["--show-config"], "--json-out-file has the configuration"),
    absent(
        &["--statsd-host", "--statsd-port", "--statsd-prefix", "--statsd-run-label", "--graphite-port"],
        "redyno --headless --json writes every figure as it comes",
    ),
    absent(
        &["--prometheus-port", "--prometheus-run-label", "--prometheus-latency-buckets"],
        "redyno --metrics ADDRESS serves them to Prometheus",
    ),
    absent(&["--realtime-latencies"], "redyno without --headless shows them on its screen"),
    absent(
        &["--clients-start", "--clients-step", "--step-duration"],
        "redyno --sweep turns the clients in steps",
    ),
    absent(
        &["--max-reconnect-attempts", "--reconnect-backoff-factor"],
        "connections that are lost are made again with a back-off of their own, without end",
    ),
    absent(
        &["--thread-conn-start-min-jitter-micros", "--thread-conn-start-max-jitter-micros"],
        "at most 128 connections are in the making at a time",
    ),
    absent(&["--transaction"], "redyno --workload FILE has operations between MULTI and EXEC"),
    absent(&["--read-preference"], ""),
    absent(
        &[
            "--retry-on-error",
            "--max-retries",
            "--retry-backoff-ms",
            "--retry-backoff-factor",
            "--retry-on",
            "--max-retry-queue",
            "--failed-keys-file",
        ],
        "a request is sent once, and its error is counted",
    ),
    absent(
        &["--command-miss-tracking", "--miss-rate-threshold"],
        "misses are always counted from the replies",
    ),
    absent(&["--monitor-input", "--monitor-pattern"], "redyno --workload FILE has commands of a file"),
    absent(&["--scan-incremental-iteration", "--scan-incremental-max-iterations"], ""),
    absent(&["--data-offset"], "--command 'SETRANGE __key__ OFFSET __data__' asks for it"),
    absent(&["--data-import"], "redyno --dataset sends the records of a file"),
    absent(&["--data-verify", "--verify-only"], "redyno --dataset FILE --verify reads the records back"),
    absent(&["--generate-keys", "--no-expiry"], "redyno --dataset sends the records of a file"),
];

impl Absent {
    /// What is told where one of them is given.
    pub(super) fn told(&self, name: &str) -> String {
        let word = self.word;
        let hint = if word.is_empty() { String::new() } else { format!(": {word}") };
        format!("error: {name} is not there in redyno memtier{hint}.")
    }
}
