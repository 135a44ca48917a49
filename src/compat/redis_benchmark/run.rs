//! Runs what is asked for: one test after the other, each with connections of its own.

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
    asked::{Asked, Form},
    catalogue,
    conversation::{Answer, Conversation},
    custom,
    idle::{self, Lost},
    layout::{Behind, CSV_HEADER, Progress, Report, Setting},
    parse::{Parsed, parse},
    payload::Payload,
    server_config::ServerConfig,
    suite::Test,
};
use crate::{
    clock::Clock,
    compat::{Stop, place, plain, to_its_end, without_number, without_step},
    endpoint::Target,
    happening::Happening,
    load::{FirstWords, Knobs, Plan, Requests},
    print::words::Words,
    protocol::Dialect,
    session::{Alone, End, Event, Record, Summary},
    signals::{Signal, listen},
    workload::{DatasetError, KeyNames},
};

/// What theirs says of -k 0.
const NO_KEEP_ALIVE: &str = "WARNING: Keepalive disabled. You probably need 'echo 1 > /proc/sys/net/ipv4/tcp_tw_reuse' for \
    Linux and 'sudo sysctl -w net.inet.tcp.msl=1000' for Mac OS X in order to use a lot of clients/requests\n";

/// The segment that a warm-up is.
const FIRST: u32 = 1;

/// Whose benchmark a command line asks for, if it does, and the words of it.
pub fn called(args: &[OsString]) -> Option<(Flavour, &[OsString])> {
    let (program, words) = args.split_first()?;
    match Flavour::of_program(program) {
        Some(flavour) => Some((flavour, words)),
        None => words
            .split_first()
            .filter(|(first, _)| *first == "bench")
            .map(|(_, rest)| (Flavour::Redyno, rest)),
    }
}

/// Runs the benchmark that these words ask for, and says so itself if it fails.
pub fn run(flavour: Flavour, words: &[OsString]) -> ExitCode {
    let (mut out, mut err) = (Words::stdout(), Words::stderr());
    // Nobody is left to be told of a stream that is gone.
    let mut complain = |text: &str| drop(err.write_all(text.as_bytes()).and_then(|()| err.flush()));
    let asked = match parse(flavour, words) {
        Parsed::Run(asked) => asked,
        Parsed::Answer(answer, complaint, code) => {
            complain(&complaint);
            let _ = out.write_all(answer.as_bytes());
            return ExitCode::from(code);
        }
    };
    // As theirs: it goes on when the terminal is gone.
    drop(listen(&[Signal::HangUp]));
    match Bench::begin(flavour, *asked, out, &mut complain).and_then(|mut bench| bench.run()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(stop) => stop.end("cannot write to stdout", |line| complain(&format!("{line}\n"))),
    }
}

/// A run.
struct Bench {
    flavour: Flavour,
    asked: Asked,
    target: Target,
    setting: Setting,
    /// What a command of one's own is called.
    title: String,
    seed: u64,
    clock: Clock,
    payload: Payload,
    out: Words,
}

impl Bench {
    /// Asks the server for its configuration, and says what is to be said before.
    fn begin(
        flavour: Flavour,
        mut asked: Asked,
        out: Words,
        complain: &mut impl FnMut(&str),
    ) -> Result<Self, Stop> {
        asked.warnings.iter().for_each(|warning| complain(&format!("{warning}\n")));
        let told = |error| Stop::Told(format!("Could not negotiate a TLS connection: {error}"));
        let target = asked.server.target(asked.dialect()).map_err(told)?;
        let config = ServerConfig::fetch(&target, flavour.server(), asked.duration).map_err(Stop::Told)?;
        if config.is_none() {
            complain("WARNING: Could not fetch server CONFIG\n");
        }
        if asked.keep_alive() == 0 {
            complain(NO_KEEP_ALIVE);
        }
        if asked.dataset.is_some() && asked.command.is_empty() {
            return Err(Stop::Told("--dataset needs a command with a __field:name__".to_owned()));
        }
        if !asked.command.is_empty() && asked.tests.is_some() {
            complain("WARNING: Option -t is ignored.\n");
        }
        let (clients, keep_alive, threads) = (asked.clients(), asked.keep_alive(), asked.threads);
        let setting = Setting { clients, keep_alive, threads, rps: asked.rps, config };
        let title = custom::title(&asked);
        if asked.reads_stdin && !asked.command.is_empty() {
            let mut last = Vec::new();
            io::stdin().read_to_end(&mut last).map_err(|error| Stop::Told(format!("Error: {error}")))?;
            asked.command.push(last);
        }
        let seed = asked.seed.unwrap_or_else(rand::random);
        let (clock, payload) = (Clock::start(), Payload::new());
        Ok(Self { flavour, asked, target, setting, title, seed, clock, payload, out })
    }

    fn run(&mut self) -> Result<(), Stop> {
        if self.asked.is_idle {
            return self.hold();
        }
        if self.asked.form() == Form::Csv {
            self.print(CSV_HEADER)?;
        }
        loop {
            if self.asked.command.is_empty() {
                for test in catalogue::tests(self.flavour, &self.asked, &mut self.payload) {
                    self.run_test(&test)?;
                }
                if self.draws() {
                    self.print("\n")?;
                }
            } else if let Some(mut test) =
                custom::test(self.flavour, &self.title, &self.asked, &mut self.payload)
            {
                if let Some(file) = &self.asked.dataset {
                    let told = |error: DatasetError| Stop::Told(format!("--dataset: {error}"));
                    let workload = test.workload.with_dataset(file, self.asked.maxdocs).map_err(told)?;
                    test.workload = Arc::new(workload);
                }
                self.run_test(&test)?;
            }
            if !self.asked.loops {
                return Ok(());
            }
        }
    }

    /// Holds idle connections until one is lost.
    fn hold(&mut self) -> Result<(), Stop> {
        let (server, place) = (self.flavour.server(), place(&self.target));
        let end = |lost| match lost {
            Lost::Unreachable(error) => unreachable(server, &place, &error),
            Lost::Said(error) => Stop::Told(format!("Error from server: {error}")),
            Lost::Closed(error) => Stop::Told(format!("Error: {}", plain(&error))),
        };
        match idle::hold(&self.target, self.asked.clients(), &mut self.out, end)? {}
    }

    fn run_test(&mut self, test: &Test) -> Result<(), Stop> {
        if let Some(command) = &test.before {
            self.ask_before(command)?;
        }
        let mut progress = Progress::new();
        let (end, rates) = self.measure(test, &mut progress)?;
        let report = Report {
            title: &test.title,
            requests: end.summary.ops * test.commands,
            requests_per_s: end.summary.ops_per_s * test.commands as f64,
            commands: test.commands,
            end: &end,
            setting: &self.setting,
            payload: test.payload,
            rates: &rates,
        };
        let form = self.asked.form();
        let cleared = if self.draws() { progress.clear() } else { String::new() };
        let lines = report.lines(form);
        self.print(&(cleared + &lines))
    }

    /// Sends a command once, on a connection of its own.
    fn ask_before(&self, command: &[Vec<u8>]) -> Result<(), Stop> {
        let words: Vec<_> = command.iter().map(Vec::as_slice).collect();
        let mut conversation = Conversation::open(&self.target, self.flavour.server(), self.asked.duration)
            .map_err(Stop::Told)?;
        match conversation.ask(&words) {
            Ok(Answer::Error(error)) => Err(Stop::Told(format!("Error from server: {error}"))),
            Ok(_) => Ok(()),
            Err(error) => Err(Stop::Told(format!("Error: {}", without_number(&error.to_string())))),
        }
    }

    /// Runs a test; the sum of it, and the rate in each stretch.
    fn measure(&mut self, test: &Test, progress: &mut Progress) -> Result<(End, Vec<f64>), Stop> {
        let failed = |error| Stop::Told(format!("Could not start: {error}"));
        let warmup = self.asked.warmup;
        let alone = Alone::start(&self.plan(test), self.knobs(test), warmup, self.clock).map_err(failed)?;
        let (mut rates, mut warm) = (Vec::new(), Summary::default());
        let end = to_its_end(alone, |record, so_far| {
            self.heed(record)?;
            let (Record::Interval(interval), Some(all)) = (record, so_far) else {
                return Ok(ControlFlow::Continue(()));
            };
            let is_warmup = warmup.is_some() && interval.segment == FIRST;
            if interval.drain {
                return Ok(ControlFlow::Continue(()));
            }
            if is_warmup {
                warm.add(interval, true);
            } else {
                rates.push(interval.ops_per_s * test.commands as f64);
            }
            let all = if is_warmup { &warm } else { all };
            let line = progress.line(test.drawn(is_warmup), interval, all, self.behind(is_warmup, all));
            if self.draws() {
                self.print(&line)?;
            }
            Ok::<_, Stop>(ControlFlow::Continue(()))
        })?;
        Ok((end, rates))
    }

    /// Whether lines are drawn while a test runs.
    fn draws(&self) -> bool {
        matches!(self.asked.form(), Form::Normal | Form::Quiet)
    }

    fn behind(&self, is_warmup: bool, all: &Summary) -> Behind {
        match self.flavour {
            _ if is_warmup || self.asked.duration.is_some() => Behind::Seconds(all.length_s),
            Flavour::Valkey => Behind::Requests,
            Flavour::Redyno | Flavour::Redis => Behind::Nothing,
        }
    }

    fn plan(&self, test: &Test) -> Plan {
        let clients = usize::try_from(self.setting.clients.max(1)).unwrap_or(1);
        Plan {
            target: self.target.clone(),
            first_words: FirstWords::Bare { tracks: self.asked.tracks },
            latency_to: self.asked.latency_to,
            // A thread without clients has nothing to do.
            threads: usize::try_from(self.asked.threads).unwrap_or(0).clamp(1, clients),
            seed: self.seed,
            names: KeyNames::given(""),
            // Theirs waits for as long as it takes.
            timeout: Duration::MAX,
            requests: self.asked.requests().map(|requests| Requests::InAll(requests.div_ceil(test.commands))),
            length: self.asked.duration,
        }
    }

    fn knobs(&self, test: &Test) -> Knobs {
        Knobs {
            load: true,
            clients: u32::try_from(self.setting.clients.max(1)).unwrap_or(u32::MAX),
            pipeline: self.asked.pipeline(),
            rate: self.asked.rps.map(|rps| u64::from(rps).div_ceil(test.commands) as u32),
            // A batch is finished first, so that it is one a batch.
            reconnect: (self.setting.keep_alive == 0).then_some(1),
            workload: std::sync::Arc::clone(&test.workload),
            value_size: 1,
            ..Knobs::default()
        }
    }

    /// The first error ends everything.
    fn heed(&self, record: &Record) -> Result<(), Stop> {
        match record {
            Record::Event(Event { what: Happening::FirstError { error, message }, .. }) => {
                Err(self.error(error, message))
            }
            Record::Event(Event { what: Happening::WorkerDied { cause }, .. }) => {
                Err(Stop::Told(format!("Error: {}", without_number(cause))))
            }
            _ => Ok(()),
        }
    }

    /// What is said of the first error of this kind.
    fn error(&self, kind: &str, message: &str) -> Stop {
        // The kinds that a server names are in capitals.
        let is_servers = kind.starts_with(|first: char| first.is_ascii_uppercase());
        if is_servers || kind == "maxclients" {
            return Stop::Told(format!("Error from server: {}", without_step(Dialect::Resp2, message).1));
        }
        match kind {
            "refused" | "unreachable" => unreachable(
                self.flavour.server(),
                &place(&self.target),
                &io::Error::other(message.to_owned()),
            ),
            "tls" => Stop::Told(format!("Could not negotiate a TLS connection: {message}")),
            _ if message == "the server closed the connection" => {
                Stop::Told("Error: Server closed the connection".to_owned())
            }
            _ => Stop::Told(format!("Error: {}", without_number(message))),
        }
    }

    fn print(&mut self, text: &str) -> Result<(), Stop> {
        self.out.write_all(text.as_bytes())?;
        Ok(self.out.flush()?)
    }
}

fn unreachable(server: &str, place: &str, error: &io::Error) -> Stop {
    Stop::Told(format!("Could not connect to {server} at {place}: {}", plain(error)))
}
