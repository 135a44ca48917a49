//! Carries out the runs of `redyno memtier`, one after the other, and prints the results.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs::File,
    io::{self, Write},
    ops::ControlFlow,
    path::Path,
    process::ExitCode,
    sync::{Arc, mpsc::Receiver},
};

use super::{
    configuration, files, import,
    layout::{self, MemtierReport, Progress},
    load::{find_nodes, primaries},
    option_values::RequestCount as Asking,
    options::MemtierOptions,
    parse::{parse, without_effect},
    prometheus::Prometheus,
    requests::RunRequests,
    retries::Retrying,
    statsd::Statsd,
};
use crate::{
    clock::{self, Clock},
    compat::{
        run::{EarlyEnd, LoadReport, run_to_end},
        server::{address_text, os_error_text, without_number, without_step},
    },
    endpoint::{Cluster, Target},
    export::memtier::Results,
    print::words::StreamText,
    protocol::GreetingCommand,
    session::{Interval, StandaloneLoad},
    signals::{Signal, listen},
    units, untrusted,
    workload::KeyNames,
};

/// The seed of all random numbers, unless a random seed is requested.
const SEED: u64 = 1;

/// Errors of these kinds mean that the server cannot be reached, provided that no request was answered before.
const UNREACHABLE: [&str; 5] = ["refused", "unreachable", "no-port", "tls", "maxclients"];

/// The kind of error that only means that a read went to the primary.
const NO_REPLICA: &str = "no-replica";

/// Runs the benchmark of this command line, and prints its own errors.
pub(in crate::compat) fn run(program: &'static str, words: &[OsString]) -> ExitCode {
    let ended = match parse(program, words) {
        Ok(options) => Memtier::begin(options).and_then(|mut memtier| memtier.run()),
        Err(answer) => return answer.print_text(),
    };
    ended.unwrap_or_else(|stop| stop.end("error: cannot write results"))
}

/// The requested runs.
pub(super) struct Memtier {
    pub(super) options: MemtierOptions,
    pub(super) requests: RunRequests,
    pub(super) target: Target,
    /// The cluster (`--cluster-mode`), the servers that share the load (`--hash`), or the server to which redyno sends
    /// failed requests again.
    pub(super) cluster: Option<Arc<Cluster>>,
    pub(super) retrying: Retrying,
    pub(super) seed: u64,
    clock: Clock,
    interrupts: Receiver<Signal>,
    out: Box<dyn Write>,
    /// The file for the JSON, and the name of this file.
    json: Option<(File, String)>,
    err: StreamText,
    statsd: Option<Statsd>,
    prometheus: Option<Prometheus>,
    /// The loss that ends the run, if lost connections end the run. The pair has a line about the loss, and whether the
    /// error means that the server cannot be reached.
    loss: Option<(String, bool)>,
}

impl Memtier {
    /// Opens the outputs, and prints the text before the runs.
    fn begin(mut options: MemtierOptions) -> Result<Self, EarlyEnd> {
        let imported = options.read_import().map_err(EarlyEnd::error)?;
        let monitored = options.read_monitor().map_err(EarlyEnd::error)?;
        let requests = RunRequests::of(&options).map_err(EarlyEnd::error)?;
        let dialect = options.protocol.dialect();
        let checked = requests.workload.check_dialect(dialect, &KeyNames::given(&options.key_prefix));
        checked.map_err(EarlyEnd::error)?;
        let target = options.server.target(dialect).map_err(EarlyEnd::error)?;
        let cluster = find_nodes(&options, &requests, &target).map_err(EarlyEnd::error)?;
        options.check_amounts(primaries(cluster.as_deref())).map_err(EarlyEnd::error)?;
        let interrupts = listen(&[Signal::Interrupt]).map_err(EarlyEnd::error)?;
        let (mut out, mut err): (Box<dyn Write>, _) = (Box::new(StreamText::stdout()), StreamText::stderr());
        let (statsd, said) = Statsd::open(&options.statsd);
        let prometheus = Prometheus::open(&options).map_err(EarlyEnd::error)?;
        let (retrying, unwritten) = Retrying::begin(&options.retries, &requests);
        prometheus.iter().try_for_each(|prometheus| writeln!(out, "{}", prometheus.line()))?;
        out.flush()?;
        for line in
            without_effect(&options).into_iter().chain(imported).chain(monitored).chain(said).chain(unwritten)
        {
            writeln!(err, "{line}")?;
        }
        if options.shows_config {
            writeln!(err, "============== Configuration values: ==============")?;
            write!(out, "{}", configuration::lines(&options, &target))?;
            writeln!(err, "===================================================")?;
        }
        if options.requests == Some(Asking::AllKeys) {
            writeln!(out, "setting requests to {}", options.requests_per_client().unwrap_or_default())?;
        }
        let json = options.json_out_file.as_ref();
        let json = json.map(|path| Ok::<_, EarlyEnd>((create(path)?, untrusted::path(path)))).transpose()?;
        if let Some((_, name)) = &json {
            writeln!(err, "Json file {name} created...")?;
        }
        match &options.out_file {
            None => writeln!(err, "Writing results to stdout")?,
            Some(path) => {
                writeln!(err, "Writing results to {}...", untrusted::path(path))?;
                out = Box::new(create(path)?);
            }
        }
        let seed = if options.is_randomized { rand::random() } else { SEED };
        let clock = Clock::start();
        let loss = None;
        Ok(Self {
            options,
            requests,
            target,
            cluster,
            retrying,
            seed,
            clock,
            interrupts,
            out,
            json,
            err,
            statsd,
            prometheus,
            loss,
        })
    }

    fn run(&mut self) -> Result<ExitCode, EarlyEnd> {
        let mut runs = Vec::new();
        let count = if self.options.import.is_only_verified { 0 } else { self.options.run_count };
        for number in 1..=count {
            let results = self.measure(number)?;
            let is_last = results.is_interrupted == Some(true) || self.loss.is_some();
            runs.push(results);
            if is_last {
                break;
            }
        }
        self.report(&runs)?;
        if let Some(warning) = self.retrying.end() {
            writeln!(self.err, "{warning}")?;
        }
        match self.loss.take() {
            Some((loss, _)) => {
                writeln!(self.err, "{loss}")?;
                Ok(ExitCode::FAILURE)
            }
            None => Ok(ExitCode::SUCCESS),
        }
    }

    /// Prints the results of the runs.
    fn report(&mut self, runs: &[Results]) -> Result<(), EarlyEnd> {
        let together = Results::together(runs);
        let mut text = if runs.is_empty() { String::new() } else { layout::head(&self.options) };
        let titled = layout::results_with_titles(&self.options, runs, &together);
        let (options, requests) = (&self.options, &self.requests);
        let report = |(title, results)| MemtierReport { title, options, requests, results };
        let reports: Vec<_> = titled.iter().map(|(title, results)| report((title, *results))).collect();
        for report in &reports {
            text += &layout::table(report);
            if !options.hides_histogram {
                text += &layout::distribution(report);
            }
        }
        self.out.write_all(text.as_bytes())?;
        let (mut verified, mut unverified) = (None, Ok(()));
        if options.import.is_verified && self.loss.is_none() {
            if runs.last().is_some_and(|run| run.is_interrupted == Some(true)) {
                writeln!(self.err, "The run was interrupted, so the data is not verified.")?;
            } else {
                writeln!(self.out, "\n\nPerforming data verification...")?;
                match import::verify(options, &self.target, &self.interrupts) {
                    Ok(results) => {
                        for line in &results.lines {
                            writeln!(self.err, "{line}")?;
                        }
                        write!(self.out, "{}", results.text())?;
                        verified = Some(results);
                    }
                    // The results of the load are complete, so they are written nevertheless.
                    Err(error) => unverified = Err(EarlyEnd::error(error)),
                }
            }
        }
        self.out.flush()?;
        if let Some((file, name)) = &mut self.json {
            let json = layout::json(&self.options, &self.target, &reports, verified.as_ref());
            serde_json::to_writer_pretty(&mut *file, &json).map_err(io::Error::from)?;
            writeln!(file)?;
            writeln!(self.err, "Saving JSON output file: {name}\nJson file closed.")?;
        }
        for (kind, n) in &together.errors {
            writeln!(self.err, "{} failed: {kind}", units::count_with_noun(*n, "request"))?;
        }
        if together.totals.all.ops == 0 && !together.errors.is_empty() {
            self.loss.get_or_insert(("error: no request succeeded".to_owned(), false));
        }
        unverified
    }

    /// Runs the load once.
    fn measure(&mut self, number: u32) -> Result<Results, EarlyEnd> {
        writeln!(self.err, "[RUN #{number}] Preparing benchmark client...")?;
        let plan = self.plan(number);
        let mut alone =
            StandaloneLoad::start(&plan, self.knobs(0), None, self.clock).map_err(EarlyEnd::error)?;
        alone.turn_later(self.steps());
        let mut of_clients = Vec::new();
        if self.options.client_stats.is_some() {
            alone.divide_by_worker();
            of_clients = vec![Results::none(self.requests.rows.len(), 0); plan.threads];
        }
        writeln!(self.err, "[RUN #{number}] Launching threads now...")?;
        let (options, clients, mut failed) = (self.options.clone(), self.options.connections(), 0);
        self.begin_metrics(number);
        let mut progress = Progress::new(number, &options, self.retrying.retries.clone());
        let mut results = self.no_results();
        let end = run_to_end(alone, "error", |seen| match seen {
            LoadReport::Error(kind, message) => self.handle_error(kind, message),
            LoadReport::OfWorker(client, interval) => {
                of_clients[client].add(interval, |name| self.requests.row_of.get(name).copied());
                Ok(ControlFlow::Continue(()))
            }
            LoadReport::Interval(interval, so_far) => {
                let retried = self.retrying.requests();
                self.prometheus.iter().for_each(|prometheus| prometheus.add(interval, retried));
                results.add(interval, |name| self.requests.row_of.get(name).copied());
                failed = if interval.ops > 0 { 0 } else { failed + failures(interval) };
                if let Some(most) = options.most_attempts.filter(|most| failed >= most * clients) {
                    let line = format!("Maximum reconnection attempts ({most}) exceeded.");
                    self.loss.get_or_insert((line, false));
                    return Ok(ControlFlow::Break(()));
                }
                if results.totals.all.ops == 0 && self.loss.is_some() {
                    return Ok(ControlFlow::Continue(()));
                }
                if progress.add(interval) {
                    self.draw(&progress.line())?;
                    self.statsd.iter().for_each(|statsd| statsd.send(&progress.metrics(false)));
                }
                if so_far.is_none() || self.interrupts.try_recv().is_err() {
                    return Ok(ControlFlow::Continue(()));
                }
                results.is_interrupted = Some(true);
                let after_s = progress.length_s();
                self.draw(&format!(
                    "\n[RUN #{number}] Interrupted by user (Ctrl+C) after {after_s:.1} secs, stopping threads...\n"
                ))?;
                Ok(ControlFlow::Break(()))
            }
        })?;
        if let Some((line, _)) =
            self.loss.take_if(|(_, is_unreachable)| *is_unreachable && results.totals.all.ops == 0)
        {
            return Err(EarlyEnd::Message(line));
        }
        self.draw(&(progress.line() + "\n\n"))?;
        self.end_metrics(number, &progress.metrics(true));
        results.length_s = end.summary.length_s;
        self.write_files(number, &results, &of_clients)?;
        Ok(results)
    }

    /// Returns the results before the first request. On several servers, the results have columns for
    /// redirects (MOVED and ASK).
    fn no_results(&self) -> Results {
        let has_redirects = self.cluster.as_ref().is_some_and(|cluster| !cluster.is_replication());
        let mut results = Results::none(self.requests.rows.len(), clock::unix_ms());
        results.redirects = has_redirects.then(BTreeMap::new);
        results
    }

    /// Reports the beginning of a run to StatsD and Prometheus.
    fn begin_metrics(&self, number: u32) {
        self.statsd.iter().for_each(|statsd| statsd.begin(number, &self.options));
        self.prometheus.iter().for_each(|prometheus| prometheus.begin(number, self.options.threads));
    }

    /// Reports the end of a run, with its last metrics.
    fn end_metrics(&self, number: u32, metrics: &[String]) {
        self.statsd.iter().for_each(|statsd| statsd.end(number, metrics));
        self.prometheus.iter().for_each(Prometheus::end);
    }

    /// Writes the files of a run: the results of its clients, and its latency distributions.
    fn write_files(&mut self, run: u32, results: &Results, of_clients: &[Results]) -> Result<(), EarlyEnd> {
        let (options, requests) = (&self.options, &self.requests);
        let report = MemtierReport { title: "", options, requests, results };
        let clients = options
            .client_stats
            .iter()
            .flat_map(|prefix| of_clients.iter().enumerate().map(move |it| (prefix, it)));
        let mut all: Vec<_> = clients
            .map(|(prefix, (client, results))| {
                let each = options.clients as usize;
                let file = files::client_file(prefix, run, (client / each, client % each));
                (file, files::client_csv(&requests.rows, results, report.is_arbitrary()), String::new())
            })
            .collect();
        all.extend(
            options.hdr_file_prefix.iter().flat_map(|prefix| files::distributions(prefix, run, &report)),
        );
        let stats =
            options.client_stats.as_ref().map(|_| format!("[RUN {run}] Writing client stats files...\n"));
        let lines: String = stats.into_iter().chain(all.iter().map(|(.., line)| line.clone())).collect();
        self.draw(&lines)?;
        files::write(&all).map_err(EarlyEnd::error)
    }

    fn draw(&mut self, text: &str) -> Result<(), EarlyEnd> {
        self.err.write_all(text.as_bytes())?;
        Ok(self.err.flush()?)
    }

    /// Handles the first error of this kind. Prints an error reply. Ends the run if the error makes a connection
    /// useless.
    fn handle_error(&mut self, kind: &str, message: &str) -> Result<ControlFlow<()>, EarlyEnd> {
        let place = address_text(&self.target);
        if kind == NO_REPLICA {
            self.draw("\na primary has no replica that answers; reads of its keys go to this primary\n")?;
            return Ok(ControlFlow::Continue(()));
        }
        let line = match without_step(self.target.dialect, message) {
            (Some(GreetingCommand::Auth), error) => {
                return Err(EarlyEnd::error(format_args!("authentication failed [-{error}]")));
            }
            (Some(GreetingCommand::Select), error) => {
                return Err(EarlyEnd::Message(format!("database selection failed: {error}")));
            }
            (Some(GreetingCommand::Hello), error) => {
                return Err(EarlyEnd::error(format_args!("HELLO failed [-{error}]")));
            }
            (None, error) if kind.starts_with(|first: char| first.is_ascii_uppercase()) => {
                self.draw(&format!("\nserver {place} handle error response: -{error}\n"))?;
                return Ok(ControlFlow::Continue(()));
            }
            (_, error) => format!("{place}: connection error: {}", without_number(error)),
        };
        if self.options.reconnects_on_error {
            self.draw(&format!("\n{line}, attempting reconnection...\n"))?;
            return Ok(ControlFlow::Continue(()));
        }
        self.loss.get_or_insert((line, UNREACHABLE.contains(&kind)));
        Ok(ControlFlow::Break(()))
    }
}

/// Returns the number of failed attempts to connect.
fn failures(interval: &Interval) -> u64 {
    interval.connects_failed.values().sum()
}

/// Opens a file for results.
fn create(path: &Path) -> Result<File, EarlyEnd> {
    let unwritable =
        |error| EarlyEnd::error(format_args!("{}: {}", untrusted::path(path), os_error_text(&error)));
    File::create(path).map_err(unwritable)
}
