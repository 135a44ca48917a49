//! The command line's options of the load, and the load settings that result from them.

use std::{path::PathBuf, sync::Arc, time::Duration};

use clap::Args;

use super::values::{GivenRate, bytes, count, prefix, rate, requests, seconds, speed, threads, whole};
use crate::{
    endpoint::ReadFrom,
    knobs::{
        Arrivals, Backlog, KnobError, Knobs, MAX_CLIENTS, MAX_KEYSPACE, MAX_PIPELINE, RandomLength, Rhythm,
    },
    load::{Cores, IoMethod, WorkerOptions, most_workers, usual_workers},
    runner::UsageError,
    untrusted,
    workload::{
        DatasetError, Distribution, DueTimes, KeyNames, MAX_VALUE_SIZE, ParameterValue, Suggested,
        TraceOrder, Workload, WorkloadChoice, WorkloadError,
    },
};

/// The options that have no effect on the commands of a trace.
const CONFLICTS_WITH_TRACE: &[&str] = &[
    "workload",
    "ratio",
    "dataset",
    "keys",
    "data_size",
    "distribution",
    "prefill",
    "no_prefill",
    "threads",
];

/// LOAD: which requests are sent, and how.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Load")]
pub struct LoadArgs {
    /// Number of clients (connections that send requests) [default: 50]
    #[arg(short = 'c', long, value_name = "CLIENTS", value_parser = count::<u32>(1..=MAX_CLIENTS.into()))]
    pub clients: Option<u32>,
    /// Pipeline: the number of requests that a client sends before it waits for the replies [default: 1]
    #[arg(short = 'P', long, value_name = "PIPELINE", value_parser = count::<u32>(1..=MAX_PIPELINE.into()))]
    pub pipeline: Option<u32>,
    /// Open loop: all clients together send this many requests per second, without waiting for replies. The response
    /// time starts at the scheduled time of a request, which avoids coordinated omission. With max, redyno uses a
    /// closed loop: each client waits for its replies, then sends again [default: max, unless the workload or a file
    /// sets the rate]
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub rate: Option<GivenRate>,
    /// How --rate spaces requests. constant: equal gaps; poisson: random gaps; times: as in the file of --times or
    /// --trace. With 'bursty 10x 1s/10s', 1 s in every 10 s has ten times the rate of the other 9 s. --rate is then the
    /// mean rate [default: times with --times or --trace, else constant]
    #[arg(long, value_name = "NAME", conflicts_with = "times")]
    pub arrivals: Option<Arrivals>,
    /// Open loop: send a request at each time in this file. The file has one time per line, in seconds since the start,
    /// in ascending order. Without a screen, a run ends at the end of the file, unless you give -n or --duration
    #[arg(long, value_name = "FILE", group = "timed", conflicts_with = "threads")]
    pub times: Option<PathBuf>,
    /// What to do if no connection is free at the scheduled time of a request. queue: send the request late. shed: drop
    /// a request that is 10 ms late, and count it [default: queue]
    #[arg(long, value_name = "NAME")]
    pub backlog: Option<Backlog>,
    /// When a client sends again. spread: as soon as redyno has read this client's replies. grouped: after redyno has
    /// read all clients' replies, so that many requests are sent together [default: grouped]
    #[arg(long, value_name = "NAME")]
    pub rhythm: Option<Rhythm>,
    /// Make each client reconnect after every N replies, with TLS handshake and AUTH. Before a client reconnects, it
    /// waits for all outstanding replies [default: clients keep their connections]
    #[arg(long, value_name = "N", value_parser = count::<u32>(1..=u32::MAX.into()))]
    pub reconnect: Option<u32>,
    /// Make each client pause before it sends again. Examples: 20ms; 5ms..50ms (random, uniform); 'exponential 20ms'
    /// (random, with this mean). The first pause of each client is randomly shorter, so that clients do not start
    /// together [default: no pauses]
    #[arg(long, value_name = "T")]
    pub think: Option<RandomLength>,
    /// Make each client reconnect after this time, with TLS handshake and AUTH. The forms of --think are possible, too.
    /// Before a client reconnects, it waits for all outstanding replies. The first connection of each client is
    /// randomly shorter [default: clients keep their connections]
    #[arg(long, value_name = "T")]
    pub session_length: Option<RandomLength>,
    /// Workload: a preset ('redyno workloads' lists them) or a TOML file [default: cache, SET:GET 1:10]
    #[arg(long, value_name = "NAME|FILE", conflicts_with = "ratio")]
    pub workload: Option<String>,
    /// Set a parameter of the workload; can be given several times
    #[arg(long, value_name = "NAME=VALUE", requires = "workload")]
    pub set: Vec<ParameterValue>,
    /// Number of receivers: additional connections that receive the messages of a workload such as pubsub, queue or
    /// stream, or the invalidations of client tracking [default: set by the workload]
    #[arg(long, value_name = "N", value_parser = count::<u32>(1..=u32::MAX.into()), requires = "workload")]
    pub receivers: Option<u32>,
    /// Replace the placeholders __field:NAME__ and __record__ with data from this file. Each operation uses the next
    /// record; after the last record, the first one follows. Formats, with or without gzip: CSV, TSV, JSON lines,
    /// fvecs, bvecs, npy, and the XML of Wikipedia's abstracts. Without a screen, a run ends at the end of the file,
    /// unless you give -n or --duration
    #[arg(long, value_name = "FILE")]
    pub dataset: Option<PathBuf>,
    /// Use only the first N records of the dataset
    #[arg(long, value_name = "N", value_parser = requests, requires = "dataset")]
    pub maxdocs: Option<u64>,
    /// Send the commands of this file at their recorded times. Make the file with 'redyno capture' or 'redis-cli
    /// MONITOR'. redyno adds the prefix of this run to each key. redyno skips and counts transactions, scripts, and
    /// commands that are administrative, dangerous or blocking. Without a screen, a run ends at the end of the file,
    /// unless you give -n or --duration
    #[arg(long, value_name = "FILE", group = "timed", conflicts_with_all = CONFLICTS_WITH_TRACE)]
    pub trace: Option<PathBuf>,
    /// Speed of --times or --trace: 2 is twice as fast as the file, 0.5 is half as fast [default: 1]
    #[arg(long, value_name = "FACTOR", value_parser = speed, requires = "timed", conflicts_with = "rate")]
    pub speed: Option<f64>,
    /// Ratio of SETs to GETs, such as 1:10 [default: 1:10]
    #[arg(long, value_name = "SET:GET", value_parser = Workload::parse_ratio)]
    pub ratio: Option<Arc<Workload>>,
    /// Value size in bytes, such as 100, 4k or 1M [default: 32]
    #[arg(short = 'd', long, value_name = "BYTES", value_parser = bytes::<u32>(1..=MAX_VALUE_SIZE.into()))]
    pub data_size: Option<u32>,
    /// Keyspace: the number of different keys [default: 10k]
    #[arg(short = 'r', long, value_name = "KEYS", value_parser = count::<u64>(1..=MAX_KEYSPACE))]
    pub keys: Option<u64>,
    /// How redyno chooses keys: uniform, sequential, partitioned (each client has its own keys), zipfian,
    /// zipfian-in-order (the lowest key is the hottest), ycsb-zipfian, latest, hotspot, exponential or gaussian.
    /// Parameters need quotes: 'zipfian 1.1', 'latest 1.1', 'hotspot 0.2 0.8' (80 % of the requests go to 20 % of the
    /// keys), 'gaussian MEDIAN DEVIATION' [default: set by the workload]
    #[arg(long, value_name = "NAME")]
    pub distribution: Option<Distribution>,
    /// Before measuring, write the keys that the workload reads. If the workload defines no prefill, redyno uses the
    /// workload's write operation, or SET if there is none
    #[arg(long, conflicts_with = "no_prefill")]
    pub prefill: bool,
    /// Skip the prefill that the workload defines
    #[arg(long)]
    pub no_prefill: bool,
    /// Worker threads [default: one per core in --cpus; without --cpus, the machine's cores minus 1, at least 1]
    #[arg(long, value_name = "N", value_parser = threads)]
    pub threads: Option<usize>,
    /// How worker threads read and write: epoll, uring or auto. uring is Linux's io_uring, which needs fewer system
    /// calls; TLS connections always use epoll. With auto, redyno first compares epoll and uring for a quarter of a
    /// second, then uses the faster one [default: epoll]
    #[arg(long, value_name = "METHOD")]
    pub io: Option<IoMethod>,
    /// CPU cores for the worker threads, such as 1 or 0,2-4. The first thread uses the first core in the list, the
    /// second thread the second core [default: the system chooses the cores]
    #[arg(long, value_name = "CORES")]
    pub cpus: Option<Cores>,
    /// Make worker threads poll instead of sleep. Threads then react fastest, but each thread uses a whole core
    #[arg(long)]
    pub busy: bool,
    /// Reply timeout in seconds. If a reply takes longer, redyno closes the connection and reconnects [default: 5]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub timeout: Option<Duration>,
    /// On a cluster: the maximum number of connections in total, over all clients and nodes. A client opens the
    /// connection to a node before its first request to this node [default: as many as the limit of open files allows]
    #[arg(long, value_name = "N", value_parser = count::<u32>(1..=u32::MAX.into()))]
    pub max_connections: Option<u32>,
    /// Which nodes get read-only requests, with a cluster or with a primary and its replicas: primary, replica, any
    /// (primary and replicas in turn) or nearest. The nearest node has the lowest median PING time of the last 10 s
    /// [default: primary]
    #[arg(long, value_name = "NODES")]
    pub read_from: Option<ReadFrom>,
    /// Continue the load after the errors NOAUTH, WRONGPASS and NOPERM [default: stop the load, because the server then
    /// refuses every request]
    #[arg(long)]
    pub keep_going: bool,
    /// Random seed: the same seed gives the same requests at the same times [default: random]
    #[arg(long, value_name = "N", value_parser = whole::<u64>(0..=u64::MAX))]
    pub seed: Option<u64>,
    /// Start with the load on; this is the default with options such as -c, --rate or --workload
    #[arg(long, conflicts_with = "no_load")]
    pub load: bool,
    /// Start with the load off
    #[arg(long)]
    pub no_load: bool,
    /// Keep the keys that the load wrote. At the end, redyno prints how to reuse or remove the keys
    #[arg(long, conflicts_with_all = ["key_prefix", "own_names"])]
    pub keep: bool,
    /// Name each key NAME plus twelve digits, and do not remove the keys at the end. redyno asks before it overwrites
    /// existing keys [default: redyno adds a prefix to all keys, and removes the keys at the end]
    #[arg(long, value_name = "NAME", value_parser = prefix)]
    pub key_prefix: Option<KeyNames>,
    /// Use the workload's key names without a prefix, and do not remove the keys at the end. redyno asks before it
    /// overwrites existing keys
    #[arg(long, conflicts_with = "key_prefix")]
    pub own_names: bool,
    /// Do not ask before writing to a server that holds other keys, serves other clients, or may run out of memory.
    /// Also do not ask before HTTP requests that may change data or go to another machine
    #[arg(long)]
    pub yes: bool,
    /// The workload that the options choose, once it is loaded.
    #[arg(skip)]
    pub chosen: Option<Arc<Workload>>,
    /// The times of `--times` or `--trace`, once the file is read.
    #[arg(skip)]
    pub due_times: Option<DueTimes>,
    /// Whether the command line contains an option that shapes the load; sizes from the config file do not count.
    #[arg(skip)]
    pub is_shaped: Option<bool>,
}

impl LoadArgs {
    /// Returns whether an option turns the load on.
    fn turns_load_on(&self) -> bool {
        self.load || self.is_shaped.unwrap_or_else(|| self.describes_load())
    }

    pub(super) fn describes_load(&self) -> bool {
        let numbers = [self.clients, self.pipeline, self.reconnect, self.data_size, self.receivers];
        let is_shaped = numbers.iter().any(Option::is_some) || self.rate.is_some() || self.keys.is_some();
        let is_given = self.chosen.is_some() || self.workload.is_some();
        let is_chosen = is_given || self.ratio.is_some() || self.distribution.is_some();
        let rests = self.think.is_some() || self.session_length.is_some() || self.times.is_some();
        self.prefill || is_shaped || is_chosen || rests
    }

    /// Loads the workload, by name or from its file, and its dataset. Adopts the load that the workload suggests,
    /// except for values that options set. Returns the suggested load.
    ///
    /// # Errors
    /// Fails if the workload is unknown or invalid. Also returns the errors of [`read_dataset`](Self::read_dataset).
    pub fn choose(&mut self) -> Result<Suggested, UsageError> {
        let mut suggested = Suggested::default();
        if let Some(text) = &self.workload {
            let chosen = WorkloadChoice::find(text, &self.set.clone().into());
            let chosen = chosen.map_err(|error| UsageError::of(format!("--workload: {error}")))?;
            self.chosen = Some(chosen.workload);
            self.follow(&chosen.load);
            suggested = chosen.load;
        }
        self.read_dataset()?;
        let speed = self.speed.unwrap_or(1.0);
        let refused = |option: &str, error: WorkloadError| {
            UsageError::of(format!("{option}: {}", untrusted::without_user_info(&error.to_string())))
        };
        if let Some(file) = &self.trace {
            if self.chosen.is_some() {
                let text = "--trace cannot be used with commands after --; leave one of them out";
                return Err(UsageError::of(text));
            }
            let workload = Workload::of_trace(file, speed, TraceOrder::OfFile)
                .map_err(|error| refused("--trace", error))?;
            self.due_times = workload.trace.as_ref().map(|trace| trace.times.clone());
            self.chosen = Some(Arc::new(workload));
        }
        if let Some(file) = &self.times {
            self.due_times = Some(DueTimes::read(file, speed).map_err(|error| refused("--times", error))?);
        }
        Ok(suggested)
    }

    /// Adopts the load that a workload suggests, except for values that options set. If a file has times, these times
    /// set the rate.
    pub fn follow(&mut self, load: &Suggested) {
        self.clients = self.clients.or(load.clients);
        self.pipeline = self.pipeline.or(load.pipeline);
        let suggested = load.rate.filter(|_| self.times.is_none()).map(|rate| GivenRate(Some(rate)));
        self.rate = self.rate.or(suggested);
        self.keys = self.keys.or(load.keys);
        self.data_size = self.data_size.or(load.data_size);
        self.threads = self.threads.or(load.threads.map(|threads| threads as usize));
    }

    /// Adopts sizes from the config file, such as the number of clients. Sizes that an option or the workload sets are
    /// not changed. Sizes from the config file do not turn the load on.
    pub fn follow_defaults(&mut self, file: &Self) {
        self.is_shaped = Some(self.describes_load());
        let Self { clients, pipeline, keys, data_size, .. } = *file;
        self.follow(&Suggested { clients, pipeline, keys, data_size, ..Suggested::default() });
        self.threads = self.threads.or(file.threads);
        self.timeout = self.timeout.or(file.timeout);
    }

    /// Checks that `--arrivals` and `--backlog` are given only for a load with a rate.
    ///
    /// # Errors
    /// Fails if such an option has no effect because the load has no rate. The error names the option.
    pub(super) fn check_rate(&self, has_rate: bool) -> Result<(), UsageError> {
        let options = [(self.arrivals.is_some(), "--arrivals"), (self.backlog.is_some(), "--backlog")];
        match options.into_iter().find(|(is_given, _)| *is_given && !has_rate) {
            Some((_, option)) => Err(UsageError::Line(format!(
                "{option} has no effect without a rate (add --rate); leave it out"
            ))),
            None => Ok(()),
        }
    }

    /// Loads the dataset once, for the chosen workload.
    ///
    /// # Errors
    /// Fails if a dataset is missing or not needed, or if the dataset's file is invalid.
    pub fn read_dataset(&mut self) -> Result<(), UsageError> {
        let portion = self.chosen.iter().flat_map(|workload| workload.portions()).next();
        let read = match (&self.dataset, &self.chosen, portion) {
            (None, _, None) => return Ok(()),
            (None, _, Some(portion)) => Err(DatasetError::NotGiven(portion)),
            (Some(_), None, _) => Err(DatasetError::Unused),
            (Some(file), Some(workload), _) => workload.with_dataset(file, self.maxdocs),
        };
        self.chosen = Some(Arc::new(read.map_err(UsageError::of)?));
        Ok(())
    }

    /// Returns the number of requests in one pass over the times or the dataset. Returns `None` without times and
    /// dataset.
    ///
    /// # Errors
    /// Fails if some requests use no record of the dataset, so that a pass over the dataset has no end.
    pub fn requests_per_pass(&self) -> Result<Option<u64>, DatasetError> {
        if let Some(times) = &self.due_times {
            return Ok(Some(times.count()));
        }
        let Some(workload) = &self.chosen else { return Ok(None) };
        let Some(dataset) = &workload.dataset else { return Ok(None) };
        if workload.is_of_records() { Ok(Some(dataset.records)) } else { Err(DatasetError::NoEnd) }
    }

    /// Returns whether no option changes the workload.
    pub fn has_default_workload(&self) -> bool {
        self.chosen.is_none() && self.ratio.is_none() && !self.no_prefill
    }

    /// Returns the knobs at the start. Without an option for the load, `by_default` decides whether the load is on.
    ///
    /// # Errors
    /// Fails if a knob is out of range. The error names the first such knob.
    pub fn knobs(&self, by_default: bool) -> Result<Knobs, KnobError> {
        let usual = Knobs::default();
        let workload = self
            .with_option_distribution(self.chosen.clone().or(self.ratio.clone()).unwrap_or(usual.workload))?;
        let times = self.due_times.clone();
        let workload = match self.receivers.filter(|_| self.chosen.is_some()) {
            Some(count) => Arc::new(workload.with_receivers(count)?),
            None => workload,
        };
        let workload = match (self.prefill, self.no_prefill) {
            (true, _) => Arc::new(workload.with_prefill()?),
            (_, true) => Arc::new(workload.without_prefill()),
            _ => workload,
        };
        let knobs = Knobs {
            load: !self.no_load && (by_default || self.turns_load_on()),
            clients: self.clients.unwrap_or(usual.clients),
            pipeline: self.pipeline.unwrap_or(usual.pipeline),
            rate: self.rate.map_or_else(|| times.as_ref().map(|times| times.rate()), |given| given.0),
            arrivals: self.arrivals.unwrap_or(if times.is_some() { Arrivals::Times } else { usual.arrivals }),
            times,
            backlog: self.backlog.unwrap_or(usual.backlog),
            rhythm: self.rhythm.unwrap_or(usual.rhythm),
            reconnect: self.reconnect,
            think: self.think,
            session_length: self.session_length,
            workload,
            value_size: self.data_size.unwrap_or(usual.value_size),
            keyspace: self.keys.unwrap_or(usual.keyspace),
        };
        knobs.checked()
    }

    /// Returns `workload` with the distribution of keys that the options set.
    fn with_option_distribution(&self, workload: Arc<Workload>) -> Result<Arc<Workload>, WorkloadError> {
        match self.distribution {
            None => Ok(workload),
            Some(_) if workload.keys.is_empty() => Err(workload.has_no_keys()),
            Some(distribution) => Ok(workload.with_distribution(distribution)),
        }
    }

    /// Returns the key names that `--key-prefix` or `--own-names` sets, if one of these options is given.
    pub fn user_key_names(&self) -> Option<KeyNames> {
        self.key_prefix.clone().or_else(|| self.own_names.then(|| KeyNames::given("")))
    }

    /// Returns the number of worker threads. Without an option, this is one less than the machine has cores. For times
    /// of a file, one thread sends the requests in their order.
    pub fn worker_threads(&self) -> usize {
        if self.trace.is_some() || self.times.is_some() {
            return 1;
        }
        let given = self.threads.or(self.cpus.as_ref().map(|cores| cores.count().clamp(1, most_workers())));
        given.unwrap_or_else(usual_workers)
    }

    /// Returns the options for running the worker threads.
    pub fn worker_options(&self) -> WorkerOptions {
        let (cores, io) = (self.cpus.clone().unwrap_or_default(), self.io.unwrap_or_default());
        // The choice of auto is made before the session begins, and the first record contains it.
        io.resolved();
        WorkerOptions { io, busy: self.busy, cores }
    }

    /// Returns the time limit for a reply.
    pub fn reply_timeout(&self) -> Duration {
        self.timeout.unwrap_or(Duration::from_secs(5))
    }

    /// Returns the seed from the options. Without this option, returns a random seed.
    pub fn seed(&self) -> u64 {
        self.seed.unwrap_or_else(rand::random)
    }
}

#[cfg(test)]
mod tests;
