//! Serves totals of `redyno memtier` to Prometheus at `http://ADDRESS:PORT/metrics`. The totals are sums over all runs
//! since the program began. The metrics have memtier_benchmark's names. Their text contains no address, name or
//! password of the server.

use std::{
    fmt::Write as _,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
    time::{Duration, Instant},
};

use clap::Args;
use parking_lot::Mutex;

use super::{options::MemtierOptions, parse::first_of};
use crate::{
    clock,
    compat::{
        numbers::{checked, number},
        options::List,
        server::os_error_text,
    },
    export::buckets,
    print::page_server::{MetricsAddress, Page, PageServer},
    session::{Interval, Summary},
};

/// The content type of Prometheus' text.
const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";
/// The largest age of a served text. redyno replaces an older text.
const MAX_TEXT_AGE: Duration = Duration::from_secs(1);
const PORT: &str = "must be a number in the range [0-65535].";
const ADDRESS: &str = "must be a numeric IPv4 or IPv6 address.";
const BOUNDS: &str = "--prometheus-latency-buckets must be 1-64 comma-separated, strictly ascending bucket bounds in \
    seconds, each within [1e-06, 86400] and at least 8 us and 1 % above the one before it; +Inf is always there.";
/// The largest number of labels.
const MOST_LABELS: usize = 16;
/// The largest length of a label's name, in bytes.
const LONGEST_NAME: usize = 128;
/// The largest length of a label's value, in bytes.
const LONGEST_VALUE: usize = 256;
/// The largest upper bound of a bucket, in microseconds. Longer latencies are counted only in the bucket
/// `+Inf`.
const LONGEST_US: u64 = 60_000_000;
/// The upper bounds of buckets in microseconds.
const BOUNDS_US: [u64; 26] = [
    100, 250, 500, 750, 1_000, 1_500, 2_000, 3_000, 4_000, 5_000, 7_500, 10_000, 15_000, 20_000, 30_000,
    50_000, 75_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 30_000_000,
    60_000_000,
];

/// The options for Prometheus.
#[derive(Args, Debug, Clone)]
pub(super) struct PrometheusOptions {
    /// Serve the totals of all runs to Prometheus at this port, page /metrics. With 0, redyno chooses a free port and
    /// prints the number of the port
    #[arg(id = "prometheus_port", long = "prometheus-port", value_parser = checked(number::<u16>, PORT))]
    port: Option<u16>,
    /// The address of this machine at which the metrics are served (default: 127.0.0.1)
    #[arg(long = "prometheus-bind-addr", value_name = "ADDR", value_parser = checked(address, ADDRESS))]
    bind: Option<IpAddr>,
    /// A label to add to every metric; can be given up to 16 times
    #[arg(long = "prometheus-run-label", value_name = "KEY=VALUE", value_parser = label)]
    labels: Vec<(String, String)>,
    /// Upper bounds of the buckets of memtier_latency_seconds, in seconds, ascending (default: 26 from 0.0001 to 60)
    #[arg(long = "prometheus-latency-buckets", value_name = "LIST", value_parser = checked(bounds_us, BOUNDS))]
    bounds_us: Option<List<u64>>,
}

impl PrometheusOptions {
    /// Checks the labels, and checks that there is a port.
    ///
    /// # Errors
    /// Fails if there is a contradiction. The message is a line about the first contradiction.
    pub(super) fn check(&self) -> Result<(), String> {
        let names = || self.labels.iter().map(|(name, _)| name);
        let is_repeated =
            names().enumerate().any(|(place, name)| names().take(place).any(|known| known == name));
        first_of(&[
            (is_repeated, "--prometheus-run-label: duplicate label name."),
            (self.labels.len() > MOST_LABELS, "--prometheus-run-label: too many labels (max 16)."),
            (
                self.lacks_port(),
                "--prometheus-bind-addr, --prometheus-run-label and --prometheus-latency-buckets need --prometheus-port.",
            ),
        ])
    }

    /// Returns whether the user gives an option that needs a port, but no port.
    fn lacks_port(&self) -> bool {
        self.port.is_none() && (self.bind.is_some() || self.bounds_us.is_some() || !self.labels.is_empty())
    }

    /// Returns warnings about the values.
    pub(super) fn warnings(&self) -> impl Iterator<Item = String> {
        let of_bounds = self.bounds_us.iter().flatten().find(|bound| **bound > LONGEST_US).map(|bound| {
            let bound_s = *bound as f64 / 1e6;
            format!(
                "warning: --prometheus-latency-buckets: bound {bound_s} is above 60 s: longer latencies are only in +Inf."
            )
        });
        let of_bind = self.bind.filter(|bind| !bind.is_loopback()).map(|bind| {
            format!("warning: --prometheus-bind-addr {bind} is not a loopback address: others can read the metrics.")
        });
        of_bounds.into_iter().chain(of_bind)
    }
}

fn address(text: &str) -> Option<IpAddr> {
    let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    let address = inner.unwrap_or(text).parse().ok();
    address.filter(|address: &IpAddr| inner.is_none() || address.is_ipv6())
}

fn label(text: &str) -> Result<(String, String), &'static str> {
    let (name, value) = text.split_once('=').ok_or("--prometheus-run-label expects KEY=VALUE.")?;
    let is_good = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let is_name = name.bytes().all(is_good) && !name.starts_with(|first: char| first.is_ascii_digit());
    match name {
        _ if name.len() > LONGEST_NAME => Err("--prometheus-run-label: label name exceeds 128 bytes."),
        _ if name.is_empty() || !is_name => Err("--prometheus-run-label: invalid label name."),
        _ if name.starts_with("__") => Err("--prometheus-run-label: names beginning with __ are reserved."),
        "le" | "quantile" | "version" | "git_sha" => {
            Err("--prometheus-run-label: the label name is reserved.")
        }
        _ if value.len() > LONGEST_VALUE => {
            Err("--prometheus-run-label: the label's value exceeds 256 bytes.")
        }
        _ => Ok((name.to_owned(), value.to_owned())),
    }
}

fn bounds_us(text: &str) -> Option<Vec<u64>> {
    let bounds = text.split(',').map(bound_us).collect::<Option<Vec<u64>>>()?;
    let is_good = bounds.len() <= 64 && bounds.is_sorted_by(|bound, next| slot(*bound) < slot(*next));
    is_good.then_some(bounds)
}

/// Reads a bound in seconds, and returns the bound in microseconds.
fn bound_us(text: &str) -> Option<u64> {
    let seconds = number(text).filter(|seconds: &f64| (1e-6..=86_400.0).contains(seconds))?;
    Some((seconds * 1e6).round() as u64)
}

/// Returns the end of the histogram slot that contains a latency in microseconds, as in memtier_benchmark's histogram.
fn slot(us: u64) -> u64 {
    let width = 8 << us.max(1).ilog2().saturating_sub(10);
    (us / width + 1) * width
}

/// The totals of all runs, and the text with these totals.
struct MetricTotals {
    began_ms: u64,
    /// The number of the current run. The next two fields are the numbers of its active threads and
    /// connections.
    run: u32,
    threads: u32,
    connections: u32,
    all: Summary,
    /// The number of different requests that redyno sent again.
    retried: u64,
    heard: Instant,
    written: Option<(Instant, String)>,
    writes: u64,
}

/// The HTTP server for the totals.
pub(super) struct Prometheus {
    sums: Arc<Mutex<MetricTotals>>,
    server: PageServer,
}

impl Prometheus {
    /// Starts the server, if a port is given.
    ///
    /// # Errors
    /// Fails if the address is in use, or does not belong to this machine.
    pub(super) fn open(options: &MemtierOptions) -> Result<Option<Self>, String> {
        let own = &options.prometheus;
        let Some(port) = own.port else { return Ok(None) };
        let sums = Arc::new(Mutex::new(MetricTotals::new()));
        let (shared, of) = (Arc::clone(&sums), options.clone());
        let text = Box::new(move || with(&shared, |sums| sums.text(&of)));
        let address = SocketAddr::new(own.bind.unwrap_or(Ipv4Addr::LOCALHOST.into()), port);
        let server =
            PageServer::start(&MetricsAddress::Tcp(address), Page { content_type: CONTENT_TYPE, text });
        let failed =
            |error| format!("prometheus exporter: failed to bind {address}: {}", os_error_text(&error));
        Ok(Some(Self { sums, server: server.map_err(failed)? }))
    }

    /// Returns the line with the URL of the metrics.
    pub(super) fn line(&self) -> String {
        let address = self.server.address().map(|address| address.to_string());
        format!("Prometheus exporter listening on http://{}/metrics", address.unwrap_or_default())
    }

    /// Registers the start of the run with the number `run`, counted from 1, and the number of its threads.
    pub(super) fn begin(&self, run: u32, threads: u32) {
        with(&self.sums, |sums| (sums.run, sums.threads, sums.heard) = (run, threads, Instant::now()));
    }

    /// Adds an interval. `retried` is the number of requests that were sent again since the first run began.
    pub(super) fn add(&self, interval: &Interval, retried: u64) {
        with(&self.sums, |sums| {
            sums.all.add(interval, true);
            sums.retried = retried;
            if interval.timed_s() > 0.0 {
                sums.connections = interval.clients;
            }
            sums.heard = Instant::now();
        });
    }

    /// Records the end of the run.
    pub(super) fn end(&self) {
        with(&self.sums, |sums| (sums.threads, sums.connections, sums.heard) = (0, 0, Instant::now()));
    }
}

fn with<T>(sums: &Mutex<MetricTotals>, act: impl FnOnce(&mut MetricTotals) -> T) -> T {
    act(&mut sums.lock())
}

impl MetricTotals {
    fn new() -> Self {
        Self {
            began_ms: clock::unix_ms(),
            run: 0,
            threads: 0,
            connections: 0,
            all: Summary::default(),
            retried: 0,
            heard: Instant::now(),
            written: None,
            writes: 0,
        }
    }

    /// Returns the text. The text is at most a second old.
    fn text(&mut self, options: &MemtierOptions) -> String {
        if let Some((_, text)) = self.written.as_ref().filter(|(since, _)| since.elapsed() < MAX_TEXT_AGE) {
            return text.clone();
        }
        self.writes += 1;
        let text = self.write(options);
        self.written = Some((Instant::now(), text.clone()));
        text
    }

    /// Returns the metrics without extra labels: their names, kinds, help texts and values.
    fn rows(&self, options: &MemtierOptions) -> [(&'static str, &'static str, &'static str, String); 17] {
        let all = &self.all;
        let counts = [&all.connections_lost, &all.connects_failed, &all.errors]
            .map(|counts| counts.values().sum::<u64>());
        let found = [all.hits, all.misses];
        let attempts = if options.retries.is_on { all.redirects.values().sum() } else { 0_u64 };
        let (gets, others) = if options.commands.is_empty() { (found, [0; 2]) } else { ([0; 2], found) };
        [
            (
                "start_time_seconds",
                "gauge",
                "When this program began.",
                (self.began_ms as f64 / 1e3).to_string(),
            ),
            ("ops_total", "counter", "Good replies.", all.ops.to_string()),
            ("sent_bytes_total", "counter", "Bytes written to the server.", all.bytes_out.to_string()),
            ("received_bytes_total", "counter", "Bytes read from the server.", all.bytes_in.to_string()),
            ("hits_total", "counter", "GETs that found their key.", gets[0].to_string()),
            ("misses_total", "counter", "GETs that did not find their key.", gets[1].to_string()),
            ("errors_total", "counter", "Requests that failed.", counts[2].to_string()),
            (
                "connection_errors_total",
                "counter",
                "Connections that were lost or could not be opened.",
                (counts[0] + counts[1]).to_string(),
            ),
            ("retry_attempts_total", "counter", "How often requests were sent again.", attempts.to_string()),
            ("retried_ops_total", "counter", "Requests that were sent again.", self.retried.to_string()),
            ("arbitrary_hits_total", "counter", "Values that a --command found.", others[0].to_string()),
            ("arbitrary_misses_total", "counter", "Nulls in replies to a --command.", others[1].to_string()),
            ("connections", "gauge", "Open connections.", self.connections.to_string()),
            ("threads", "gauge", "Threads at work.", self.threads.to_string()),
            ("run", "gauge", "The number of the run, from 1; 0 before the first.", self.run.to_string()),
            ("configured_runs", "gauge", "The number of runs (--run-count).", options.run_count.to_string()),
            (
                "config_test_time_seconds",
                "gauge",
                "The length of a run; 0 if the run ends after a number of requests.",
                (options.test_time_s.unwrap_or_default()).to_string(),
            ),
        ]
    }

    fn write(&self, options: &MemtierOptions) -> String {
        let labels: Vec<_> = options
            .prometheus
            .labels
            .iter()
            .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)))
            .collect();
        let mut text = String::new();
        let own = env!("CARGO_PKG_VERSION");
        let build = format!("version=\"redyno {own}\",git_sha=\"2f74d611\"");
        let block = |more: &str| {
            let all: Vec<_> =
                labels.iter().map(String::as_str).chain([more]).filter(|it| !it.is_empty()).collect();
            if all.is_empty() { String::new() } else { format!("{{{}}}", all.join(",")) }
        };
        let mut one = |name: &str, kind: &str, help: &str, samples: &[(&str, String, String)]| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "# HELP memtier_{name} {help}\n# TYPE memtier_{name} {kind}");
            for (end, labels, value) in samples {
                let _ = writeln!(text, "memtier_{name}{end}{labels} {value}");
            }
        };
        one("build_info", "gauge", "The version of redyno.", &[("", block(&build), "1".to_owned())]);
        for (name, kind, help, value) in self.rows(options) {
            one(name, kind, help, &[("", block(""), value)]);
        }
        let bounds = options.prometheus.bounds_us.as_deref().unwrap_or(&BOUNDS_US);
        let bounds_ns: Vec<_> = bounds.iter().map(|bound| bound * 1000).collect();
        let (all, mut sum) = (&self.all, 0);
        let mut samples: Vec<_> = buckets(&all.service, &bounds_ns)
            .into_iter()
            .map(|(bound, n)| {
                sum += n;
                let bound = if bound.is_finite() { bound.to_string() } else { "+Inf".to_owned() };
                ("_bucket", block(&format!("le=\"{bound}\"")), sum.to_string())
            })
            .collect();
        samples.push(("_count", block(""), all.service.count().to_string()));
        samples.push(("_sum", block(""), (all.service.sum_ns() as f64 / 1e9).to_string()));
        one("latency_seconds", "histogram", "From a request's write to the end of its reply.", &samples);
        let writes = [("", block(""), self.writes.to_string())];
        one("exporter_renders_total", "counter", "How often these metrics were written.", &writes);
        let age = [("", block(""), format!("{:.3}", self.heard.elapsed().as_secs_f64()))];
        one("exporter_snapshot_age_seconds", "gauge", "The age of these figures.", &age);
        text
    }
}

/// Returns the value of a label with the escapes of Prometheus' text format.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
