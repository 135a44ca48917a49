//! Runs the tests of `redyno bench` one after the other, each with its own connections.

use std::{
    ffi::OsString,
    io::{self, Read as _, Write},
    ops::ControlFlow,
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use super::{
    Flavour,
    catalogue::{self, Test},
    command_steps::Payload,
    idle::{CLOSED, keep_open},
    layout::{CSV_HEADER, Progress, ProgressSuffix, TestReport},
    masters::Masters,
    options::BenchOptions,
    parse::{OutputFormat, parse},
    server_config::{QueryConnection, ServerConfig, unreachable},
};
use crate::{
    clock::Clock,
    compat::{
        run::{EarlyEnd, LoadReport, complain, run_to_end},
        server::{os_error_text, without_number, without_step},
    },
    endpoint::{ReachError, TalkError, Target},
    knobs::Knobs,
    load::{ClusterPlan, FirstCommands, Fleet, LoadPlan, RequestLimit, WorkerOptions},
    print::words::StreamText,
    protocol::Dialect,
    session::{SessionEnd, StandaloneLoad},
    signals::{Signal, listen},
    untrusted,
    workload::{DatasetError, KeyNames},
};

/// The warning about --rfr for a master without a replica.
const NO_REPLICA: &str =
    "WARNING: a master has no replica that answers; reads of its keys go to this master\n";
/// redis-benchmark's warning about -k 0.
const NO_KEEP_ALIVE: &str = "WARNING: Keepalive disabled. You probably need 'echo 1 > /proc/sys/net/ipv4/tcp_tw_reuse' for \
    Linux and 'sudo sysctl -w net.inet.tcp.msl=1000' for Mac OS X in order to use a lot of clients/requests\n";

/// The number of the warm-up's segment.
const WARMUP_SEGMENT: u32 = 1;

/// Runs the benchmark of this command line, and prints its own errors.
pub(in crate::compat) fn run(flavour: Flavour, words: &[OsString]) -> ExitCode {
    let options = match parse(flavour, words) {
        Ok(options) => options,
        Err(answer) => return answer.print_text(),
    };
    // The run continues when the terminal is gone, as in redis-benchmark.
    drop(listen(&[Signal::HangUp]));
    match BenchRun::begin(flavour, options).and_then(|mut bench| bench.run()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(stop) => stop.end("cannot write to stdout"),
    }
}

/// A run of the benchmark.
struct BenchRun {
    flavour: Flavour,
    options: BenchOptions,
    target: Target,
    config: Option<ServerConfig>,
    /// The primaries of the cluster (`--cluster`).
    masters: Option<Masters>,
    /// The title of the user's own command.
    title: String,
    seed: u64,
    clock: Clock,
    payload: Payload,
    out: StreamText,
}

impl BenchRun {
    /// Requests the server's configuration, and prints the warnings that come before the run.
    fn begin(flavour: Flavour, mut options: BenchOptions) -> Result<Self, EarlyEnd> {
        options.warnings.iter().for_each(|warning| complain(&format!("{warning}\n")));
        if options.dataset.is_some() && options.command.is_empty() {
            return Err(without_field("a command with field placeholders"));
        }
        let failed = |error| EarlyEnd::Message(format!("Could not negotiate a TLS connection: {error}"));
        let target = options.server.target(options.dialect()).map_err(failed)?;
        let (mut config, mut masters) = (None, None);
        let mut out = StreamText::stdout();
        if let Some(ring) = options.server.ring(&target).map_err(EarlyEnd::Message)? {
            let found = Masters::of(ring, &target, flavour, options.duration).map_err(EarlyEnd::Message)?;
            complain(&found.warnings());
            if options.form == OutputFormat::Normal {
                out.write_all(found.head().as_bytes())?;
            }
            masters = Some(found);
        } else if options.is_cluster {
            let found = Masters::find(&target, flavour, options.duration).map_err(EarlyEnd::Message)?;
            complain(&found.warnings());
            if options.form != OutputFormat::Json {
                out.write_all(found.head().as_bytes())?;
            }
            // As in redis-benchmark, there is a thread for each master, unless --threads sets another number.
            options.threads = if options.threads == 0 { found.count() as i64 } else { options.threads };
            masters = Some(found);
        } else {
            config = ServerConfig::fetch(&target, flavour.server(), options.duration)
                .map_err(EarlyEnd::Message)?;
            if config.is_none() {
                complain("WARNING: Could not fetch server CONFIG\n");
            }
        }
        if options.keep_alive == 0 {
            complain(NO_KEEP_ALIVE);
        }
        if !options.command.is_empty() && options.tests.is_some() {
            complain("WARNING: Option -t is ignored.\n");
        }
        let title = catalogue::title(&options);
        if options.reads_stdin && !options.command.is_empty() {
            let mut last = Vec::new();
            io::stdin()
                .read_to_end(&mut last)
                .map_err(|error| EarlyEnd::Message(format!("Error: {error}")))?;
            options.command.push(last);
        }
        let seed = options.seed.map_or_else(rand::random, |seed| seed as u64);
        let (clock, payload) = (Clock::start(), Payload::new());
        Ok(Self { flavour, options, target, config, masters, title, seed, clock, payload, out })
    }

    fn run(&mut self) -> Result<(), EarlyEnd> {
        if self.options.is_idle {
            let (server, clients) = (self.flavour.server(), self.options.clients);
            match keep_open(&self.target, server, clients, &mut self.out)? {}
        }
        let own = self.own_test()?;
        self.check_one_key(own.as_ref())?;
        if self.options.form == OutputFormat::Csv {
            self.print(CSV_HEADER)?;
        }
        loop {
            if let Some(test) = &own {
                self.run_test(test)?;
            } else {
                for test in catalogue::tests(self.flavour, &self.options, &mut self.payload) {
                    self.run_test(&test)?;
                }
                if self.shows_progress() {
                    self.print("\n")?;
                }
            }
            if !self.options.loops {
                return Ok(());
            }
        }
    }

    /// Returns the test of the user's own command and its dataset, if there is such a command.
    fn own_test(&mut self) -> Result<Option<Test>, EarlyEnd> {
        if self.options.command.is_empty() {
            return Ok(None);
        }
        let mut test = catalogue::user_test(self.flavour, &self.title, &self.options, &mut self.payload)
            .map_err(EarlyEnd::Message)?;
        if let Some(file) = &self.options.dataset {
            let says = |text: String| {
                if self.options.form == OutputFormat::Normal {
                    complain(&text);
                }
            };
            says(format!("Loading dataset from {}...\n", untrusted::path(file)));
            let workload = test.workload.with_dataset(file, self.options.records()).map_err(unloaded)?;
            let records = workload.dataset.as_ref().map_or(0, |dataset| dataset.records);
            says(format!("\rLoaded {records} documents{:20}\n", ""));
            test.workload = Arc::new(workload);
        }
        Ok(Some(test))
    }

    /// With `--hash`, checks that each operation of each test has keys of only one server.
    fn check_one_key(&mut self, own: Option<&Test>) -> Result<(), EarlyEnd> {
        if !self.options.server.is_ring() {
            return Ok(());
        }
        let suite = match own {
            None => catalogue::tests(self.flavour, &self.options, &mut self.payload),
            Some(_) => Vec::new(),
        };
        let dialect = self.target.dialect;
        let is_of_several = |test: &&Test| test.workload.check_one_key(dialect).is_err();
        own.into_iter().chain(&suite).find(is_of_several).map_or(Ok(()), |test| {
            let title = untrusted::text(&test.title);
            Err(EarlyEnd::Message(format!(
                "{title} has several keys, which --hash may place on different servers; choose other tests with -t"
            )))
        })
    }

    fn run_test(&mut self, test: &Test) -> Result<(), EarlyEnd> {
        if let Some(command) = &test.before {
            match self.masters.as_ref().filter(|masters| masters.cluster.is_ring()) {
                Some(ring) => {
                    ring.targets().try_for_each(|target| self.send_setup_command(target, command))?;
                }
                None => self.send_setup_command(&self.target, command)?,
            }
        }
        let mut progress = Progress::new(test, self.progress_suffix());
        let (end, rates) = self.measure(test, &mut progress)?;
        let (options, config, masters) = (&self.options, self.config.as_ref(), self.masters.as_ref());
        let report = TestReport { test, options, config, masters, end: &end, rates: &rates };
        let cleared = if self.shows_progress() { progress.clear() } else { String::new() };
        let lines = report.lines();
        self.print(&(cleared + &lines))
    }

    /// Sends a command once, on a separate connection.
    fn send_setup_command(&self, target: &Target, command: &[Vec<u8>]) -> Result<(), EarlyEnd> {
        let words: Vec<_> = command.iter().map(Vec::as_slice).collect();
        let asking = QueryConnection::open(target, self.flavour.server(), self.options.duration);
        let why = match asking.map_err(EarlyEnd::Message)?.ask(&words) {
            Ok(Ok(_)) => return Ok(()),
            Ok(Err(error)) => format!("Error from server: {error}"),
            Err(ReachError::Io { cause, .. }) => format!("Error: {}", os_error_text(&cause)),
            Err(error) => format!("Error: {error}"),
        };
        Err(EarlyEnd::Message(why))
    }

    /// Runs a test. Returns its last record, and the rate in each interval, in requests per second.
    fn measure(&mut self, test: &Test, progress: &mut Progress) -> Result<(SessionEnd, Vec<f64>), EarlyEnd> {
        let failed = |error| EarlyEnd::Message(format!("Could not start: {error}"));
        let warmup = self.options.warmup;
        let alone =
            StandaloneLoad::start(&self.plan(test), self.knobs(test), warmup, self.clock).map_err(failed)?;
        let mut rates = Vec::new();
        let end = run_to_end(alone, "Error", |seen| {
            match seen {
                // The primary answers such a request, so it is not an error.
                LoadReport::Error("no-replica", _) => complain(NO_REPLICA),
                // The first error ends the whole run.
                LoadReport::Error(kind, message) => return Err(self.error(kind, message)),
                LoadReport::Interval(interval, Some(all)) if !interval.drain => {
                    let is_warmup = warmup.is_some() && interval.segment == WARMUP_SEGMENT;
                    if !is_warmup {
                        rates.push(interval.ops_per_s * test.commands as f64);
                    }
                    let line = progress.line(interval, all, is_warmup);
                    if self.shows_progress() {
                        self.print(&line)?;
                    }
                }
                LoadReport::Interval(..) | LoadReport::OfWorker(..) => {}
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok((end, rates))
    }

    /// Returns whether a progress line is drawn while a test runs.
    fn shows_progress(&self) -> bool {
        matches!(self.options.form, OutputFormat::Normal | OutputFormat::Quiet)
    }

    fn progress_suffix(&self) -> ProgressSuffix {
        match self.flavour {
            _ if self.options.duration.is_some() => ProgressSuffix::Seconds,
            Flavour::Valkey => ProgressSuffix::Requests,
            Flavour::Redyno | Flavour::Redis => ProgressSuffix::Nothing,
        }
    }

    fn plan(&self, test: &Test) -> LoadPlan {
        let clients = usize::try_from(self.options.clients.max(1)).unwrap_or(1);
        let cluster = |masters: &Masters| {
            // With replicas, a client connects to the replicas as well.
            let nodes = masters.cluster.topology().nodes().count();
            let plan = ClusterPlan::new(Arc::clone(&masters.cluster), clients * nodes);
            let read_from = if self.options.is_cluster { self.options.read_from } else { plan.read_from };
            ClusterPlan { read_from, ..plan }
        };
        LoadPlan {
            cluster: self.masters.as_ref().map(cluster),
            target: self.target.clone(),
            first_words: FirstCommands::Bare { tracks: self.options.tracks },
            latency_to: self.options.compat.unwrap_or_default(),
            workers: WorkerOptions::default(),
            // A thread without clients has nothing to do.
            threads: usize::try_from(self.options.threads).unwrap_or(0).clamp(1, clients),
            seed: self.seed,
            names: KeyNames::given(""),
            // redis-benchmark has no timeout.
            timeout: Duration::MAX,
            requests: self
                .options
                .requests()
                .map(|requests| RequestLimit::Shared(requests.div_ceil(test.commands))),
            length: self.options.duration,
            fleet: Fleet::default(),
        }
    }

    fn knobs(&self, test: &Test) -> Knobs {
        Knobs {
            load: true,
            // `BenchOptions::check` has limited this number.
            clients: self.options.clients.max(1) as u32,
            pipeline: self.options.pipeline,
            rate: self.options.rps.map(|rps| u64::from(rps).div_ceil(test.commands) as u32),
            // A batch is finished first, so the client reconnects once per batch.
            reconnect: (self.options.keep_alive == 0).then_some(1),
            workload: Arc::clone(&test.workload),
            value_size: 1,
            ..Knobs::default()
        }
    }

    /// Returns the reason to stop after the first error of this kind.
    fn error(&self, kind: &str, message: &str) -> EarlyEnd {
        // Error prefixes of the server are in capitals.
        let is_servers = kind.starts_with(|first: char| first.is_ascii_uppercase());
        if is_servers || kind == "maxclients" {
            return EarlyEnd::Message(format!(
                "Error from server: {}",
                without_step(Dialect::Resp2, message).1
            ));
        }
        match kind {
            "refused" | "unreachable" => {
                let error = TalkError::Connect(io::Error::other(message.to_owned()));
                EarlyEnd::Message(unreachable(&self.target, self.flavour.server(), &error))
            }
            // A server with too many clients closes further connections before it speaks TLS.
            _ if message.starts_with("the server closed the connection") => {
                EarlyEnd::Message(CLOSED.to_owned())
            }
            "tls" => EarlyEnd::Message(format!("Could not negotiate a TLS connection: {message}")),
            _ => EarlyEnd::Message(format!("Error: {}", without_number(message))),
        }
    }

    fn print(&mut self, text: &str) -> Result<(), EarlyEnd> {
        self.out.write_all(text.as_bytes())?;
        Ok(self.out.flush()?)
    }
}

/// Returns valkey-benchmark's message about a dataset without the field `requires`.
fn without_field(requires: &str) -> EarlyEnd {
    let example = "Example: SET doc:__rand_int__ \"__field:content__\"";
    EarlyEnd::Message(format!("Error: Dataset mode requires {requires}\n{example}"))
}

/// Returns valkey-benchmark's message about an unusable dataset.
fn unloaded(error: DatasetError) -> EarlyEnd {
    let line = match error {
        DatasetError::Unused => return without_field("at least one field placeholder"),
        DatasetError::NoField { field, has, .. } => format!(
            "Error: Field placeholder '__field:{field}__' not found in dataset fields\nAvailable fields: {}",
            has.join(", ")
        ),
        DatasetError::Unreadable { file, what } => format!("Cannot open dataset file: {file}: {what}"),
        error => error.to_string(),
    };
    EarlyEnd::Message(format!("{line}\nFailed to initialize dataset"))
}
