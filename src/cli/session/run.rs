//! Runs a session from the arguments to the summary.

use std::{
    collections::VecDeque,
    io::{self, Write},
    sync::{
        Arc,
        mpsc::{Receiver, Sender, channel},
    },
    time::Duration,
};

use anyhow::Context as _;

use super::{
    finish::{finish, remove_keys},
    gate::{Gate, Verdict, Whose},
    launch::{Destination, destination},
    recordings::Recordings,
    refusal::Refusals,
    source::{LiveSource, check_clients},
    tuning::Tuning,
};
use crate::{
    app::{Delivery, Notice, Source, summary},
    cli::{
        Failure, UsageError,
        args::CommandLine,
        headless::{Form, Printer},
        outlet::Outlet,
        tls_args::UNVERIFIED,
        words::Words,
    },
    clock::Clock,
    load::{Knobs, MAX_CLIENTS, Plan, most_clients},
    server::{Control, Ledger, Message, Owner},
    session::{
        Beginning, Encryption, Live, Record, ServerIdentity, SessionStart, TargetBeginning, Timeline,
        TimelineOptions, Writer,
    },
    signals::{Signal, listen},
    tui::{self, theme::Theme},
    workload::{KeyNames, RunId},
};

/// How often the server is asked for its INFO.
const INFO_EVERY: Duration = Duration::from_secs(1);
/// How long the session waits for the first INFO, to name the server in its first record.
const FIRST_INFO: Duration = Duration::from_millis(500);
/// How long the server may take to say what lives on it before the first write: some twenty commands, one after the
/// other, may go a long way.
const GATE_LIMIT: Duration = Duration::from_secs(30);
/// How often a headless session looks for records.
const LOOK_EVERY: Duration = Duration::from_millis(40);

/// What the arguments ask for, read once and checked.
struct Wishes {
    knobs: Knobs,
    /// The name of the run, made once.
    run: RunId,
    plan: Plan,
    warmup: Option<Duration>,
    timeline: TimelineOptions,
    theme: Theme,
    mouse: bool,
    /// The most clients that the system lets this process hold.
    most_clients: u32,
    /// Headless, and in which form; else the screen.
    form: Option<Form>,
}

impl Wishes {
    fn read(line: &CommandLine, destination: &Destination, form: Option<Form>) -> Result<Self, Failure> {
        let mut timeline = TimelineOptions::default();
        timeline.ping_window = line.oneshot.window()?.unwrap_or(timeline.ping_window);
        let threads = line.load.worker_threads()?;
        // A number of requests is a load, too.
        let knobs = line.load.knobs(destination.built_in.is_some() || line.session.requests.is_some())?;
        if destination.built_in.is_some() && line.load.keep {
            let text = "--keep: the built-in server goes at the end, and its keys with it; name a server";
            return Err(UsageError::Line(text.to_owned()).into());
        }
        let run = RunId::random();
        let names = line.load.names()?.unwrap_or_else(|| KeyNames::of_run(run));
        // Both ends of a connection to the built-in server are files of this process.
        let most_clients = most_clients(threads, if destination.built_in.is_some() { 2 } else { 1 });
        check_clients(&knobs, most_clients).map_err(UsageError::Line)?;
        Ok(Self {
            knobs,
            run,
            most_clients,
            plan: Plan {
                target: destination.target.clone(),
                threads,
                seed: line.load.seed(),
                names,
                timeout: line.load.reply_timeout()?,
                requests: line.session.requests()?,
                length: line.session.length()?,
            },
            warmup: line.session.warmup_length()?,
            timeline,
            theme: line.session.look.theme()?,
            mouse: line.session.look.mouse(),
            form,
        })
    }
}

/// Runs a session with arguments that have passed [`check`]; `has_terminal` is whether stdout is one.
///
/// # Errors
/// When the arguments are wrong, the server cannot be reached, nothing can be drawn or written, or a signal ends it.
pub fn run(line: &CommandLine, has_terminal: bool) -> Result<(), Failure> {
    let form = form(line, has_terminal)?;
    let writer =
        line.session.record.as_deref().map(Writer::create).transpose().map_err(anyhow::Error::from)?;
    let wanted = if form.is_some() { &Signal::ENDS[..] } else { &Signal::ALL[..] };
    let signals = listen(wanted).context("cannot take signals")?;
    let destination = destination(&line.target, form.is_none())?;
    let wishes = Wishes::read(line, &destination, form)?;
    let mut source = start(line, &destination, &wishes, writer, &signals)?;
    let (ended_by, recorded) = match wishes.form {
        Some(form) => headless(source, form, &signals)?,
        None => match on_screen(&mut source, &wishes, &signals) {
            Ok((outcome, mut timeline)) => {
                let recorded = finish(source, &signals, |record| timeline.push(record));
                // The terminal may be gone, and with it who would read this.
                let _ = write!(Words::stdout(), "{}", summary(&timeline));
                (outcome, recorded)
            }
            Err(error) => {
                // The session ends with the screen, whatever ended that: its keys must go.
                finish(source, &signals, |_| ())?;
                return Err(error.into());
            }
        },
    };
    drop(destination);
    recorded?;
    match ended_by {
        EndedBy::Itself => Ok(()),
        EndedBy::Signal => Err(Failure::Interrupted),
        EndedBy::Refusal(cause) => Err(Failure::Failed(anyhow::anyhow!(cause))),
    }
}

/// What ended a session.
#[derive(Debug, PartialEq)]
enum EndedBy {
    /// The time that was asked for, or the person at the screen.
    Itself,
    Signal,
    /// The server refuses the load for good, and why.
    Refusal(String),
}

fn form(line: &CommandLine, has_terminal: bool) -> Result<Option<Form>, UsageError> {
    let headless = line.session.headless || !has_terminal;
    match (headless, line.session.json) {
        (true, true) => Ok(Some(Form::Json)),
        (true, false) => Ok(Some(Form::Lines)),
        (false, false) => Ok(None),
        (false, true) => Err(UsageError::Line(
            "--json is for --headless and the one-shot modes, not for the screen".to_owned(),
        )),
    }
}

/// Reads every argument that can be wrong.
///
/// # Errors
/// Names the first one.
pub fn check(line: &CommandLine, has_terminal: bool) -> Result<(), Failure> {
    form(line, has_terminal)?;
    let threads = line.load.worker_threads()?;
    check_clients(&line.load.knobs(false)?, most_clients(threads, 1)).map_err(UsageError::Line)?;
    line.load.reply_timeout()?;
    line.load.names()?;
    line.session.length()?;
    line.session.requests()?;
    line.session.warmup_length()?;
    line.session.look.theme()?;
    line.oneshot.window()?;
    Ok(())
}

/// Starts everything that measures.
fn start(
    line: &CommandLine,
    destination: &Destination,
    wishes: &Wishes,
    writer: Option<Writer>,
    signals: &Receiver<Signal>,
) -> Result<LiveSource, Failure> {
    let clock = Clock::start();
    let (news, server) = channel();
    let control = Control::start(destination.target.clone(), clock, INFO_EVERY, news)
        .context("cannot start the control plane")?;
    let heard = if destination.unreachable.is_none() { server.recv_timeout(FIRST_INFO).ok() } else { None };
    let session = SessionStart::now(identity(destination, heard.as_ref()));
    // Asked before our own marker is set.
    let leftovers = destination.built_in.is_none().then(|| control.find_leftovers());
    let ledger = match destination.built_in {
        Some(_) => Ledger::unmarked(),
        None => Ledger::new(wishes.run, owner(&session)),
    };
    let whose = match (&destination.built_in, &line.load.key_prefix) {
        (Some(_), _) => Whose::OwnServers,
        (None, Some(_)) => Whose::Users,
        (None, None) => Whose::Runs { ledger: ledger.clone(), kept: line.load.keep },
    };
    let mut gate = Gate::new(wishes.plan.names.clone(), whose, line.load.yes);
    let mut notices = VecDeque::new();
    if session.target.tls == Encryption::Unverified {
        notices.push_back(Notice::Warning(UNVERIFIED.to_owned()));
    }
    let (listener, records) = channel();
    let begun = pass(wishes, destination, &control, &mut gate, &mut notices).and_then(|knobs| {
        let target = TargetBeginning { plan: wishes.plan.clone(), knobs, heard, server };
        let beginning = Beginning { start: session, warmup: wishes.warmup, targets: vec![target] };
        Ok(engage(beginning, clock, listener, writer)?)
    });
    // Some workers may have written before another could not start.
    let (live, recordings) = begun.inspect_err(|_| remove_keys(&gate, &control, signals))?;
    let most_clients = wishes.most_clients;
    if wishes.form.is_none() && most_clients < MAX_CLIENTS {
        let text = format!("the limit of open files (ulimit -Hn) allows {most_clients} clients at the most");
        notices.push_back(Notice::Info(text));
    }
    Ok(LiveSource {
        live,
        control,
        gate,
        refusals: Refusals::new(line.load.keep_going),
        most_clients,
        tuning: Tuning::new(ledger),
        address: destination.target.address.clone(),
        records,
        recordings,
        leftovers,
        clock,
        is_over: false,
        is_cluster_told: false,
        notices,
    })
}

/// Starts the recording that was asked for, and the engine.
fn engage(
    beginning: Beginning,
    clock: Clock,
    listener: Sender<Arc<Record>>,
    writer: Option<Writer>,
) -> anyhow::Result<(Live, Recordings)> {
    let mut recordings = Recordings::default();
    let mut listeners = vec![listener];
    if let Some(writer) = writer {
        listeners.push(recordings.start(writer, 0.0).context("cannot start recording")?);
    }
    Ok((Live::start(beginning, clock, listeners)?, recordings))
}

fn identity(destination: &Destination, heard: Option<&Message>) -> ServerIdentity {
    let mut identity = ServerIdentity {
        address: destination.target.address.to_string(),
        built_in: destination.built_in.is_some(),
        tls: match &destination.target.tls {
            None => Encryption::None,
            Some(tls) if tls.is_verified() => Encryption::Verified,
            Some(_) => Encryption::Unverified,
        },
        ..ServerIdentity::default()
    };
    if let Some(Message::Status { status, .. }) = heard {
        identity.server = format!("{} {}", status.name, status.version);
        identity.mode.clone_from(&status.mode);
        identity.role.clone_from(&status.role);
    }
    identity
}

/// Whose the marker on the server is.
fn owner(session: &SessionStart) -> Owner {
    let (started, host) = (session.started.clone(), session.host.name.clone());
    Owner { started, host, pid: Some(std::process::id()) }
}

/// Lets the first knobs pass the gate. Without a screen there is nobody to ask; on the screen the load waits.
fn pass(
    wishes: &Wishes,
    destination: &Destination,
    control: &Control,
    gate: &mut Gate,
    notices: &mut VecDeque<Notice>,
) -> Result<Knobs, Failure> {
    let off = Knobs { load: false, ..wishes.knobs.clone() };
    if let Some(error) = &destination.unreachable {
        notices.push_back(Notice::Unreachable { since_s: 0.0, cause: error.to_string() });
    }
    if let Some(knobs) = gate.want(wishes.knobs.clone(), control) {
        return Ok(knobs);
    }
    if destination.unreachable.is_some() {
        return Ok(off);
    }
    // The survey, then the marker.
    let verdict = gate.look(GATE_LIMIT, control).or_else(|| gate.look(GATE_LIMIT, control));
    match (verdict, wishes.form) {
        (Some(Verdict::Pass(knobs)), _) => Ok(knobs),
        (Some(Verdict::Ask(question)), Some(_)) => {
            Err(UsageError::NeedsYes(question.replace(" Continue?", "")).into())
        }
        (Some(Verdict::Ask(question)), None) => {
            notices.push_back(Notice::FirstWrite { question });
            Ok(off)
        }
        (Some(Verdict::Refuse(cause)), Some(_)) => Err(Failure::Failed(anyhow::anyhow!(cause))),
        (Some(Verdict::Refuse(cause)), None) => {
            notices.push_back(Notice::LoadStaysOff(cause));
            Ok(off)
        }
        (None, Some(_)) => {
            let address = &destination.target.address;
            let slow = || format!("not all questions were answered within {} s", GATE_LIMIT.as_secs());
            let cause = gate.trouble().map_or_else(slow, str::to_owned);
            Err(Failure::Failed(anyhow::anyhow!(
                "{address} does not tell what lives on it, so nothing is written there: {cause}"
            )))
        }
        (None, None) => Ok(off),
    }
}

/// The screen. What ended it, and all that was measured.
fn on_screen(
    source: &mut LiveSource,
    wishes: &Wishes,
    signals: &Receiver<Signal>,
) -> anyhow::Result<(EndedBy, Timeline)> {
    let options = tui::Options {
        theme: wishes.theme,
        knobs: wishes.knobs.clone(),
        timeline: wishes.timeline,
        playback: None,
        mouse: wishes.mouse,
    };
    let finished = tui::run(source, options, signals)?;
    let ended_by = match finished.outcome {
        tui::Outcome::Signal(_) => EndedBy::Signal,
        tui::Outcome::Quit | tui::Outcome::Ended => EndedBy::Itself,
    };
    Ok((ended_by, finished.timeline))
}

/// Lines or JSON until the end: what ended it, and whether all was recorded that should be.
fn headless(
    mut source: LiveSource,
    form: Form,
    signals: &Receiver<Signal>,
) -> anyhow::Result<(EndedBy, anyhow::Result<()>)> {
    let mut printer = Printer::new(form, Outlet::stdout());
    let mut written = Ok(());
    let ended_by = 'session: loop {
        for delivery in source.poll() {
            match delivery {
                Delivery::Record(record) => written = written.and_then(|()| printer.push(&record)),
                Delivery::Notice(Notice::Leave | Notice::Ended) => break 'session EndedBy::Itself,
                Delivery::Notice(Notice::LoadStopped(cause)) => break 'session EndedBy::Refusal(cause),
                Delivery::Notice(Notice::Info(text) | Notice::Warning(text) | Notice::LoadStaysOff(text)) => {
                    // Nobody reads it any more when stderr is gone.
                    let _ = writeln!(Words::stderr(), "redyno: {text}");
                }
                // These are records as well, or belong to a screen.
                Delivery::Notice(_) => {}
            }
        }
        if written.is_err() {
            break EndedBy::Itself;
        }
        if signals.recv_timeout(LOOK_EVERY).is_ok() {
            break EndedBy::Signal;
        }
    };
    let recorded = finish(source, signals, |record| {
        if written.is_ok() {
            written = printer.push(record);
        }
    });
    match written.and_then(|()| printer.finish()) {
        // Whoever read our lines has had enough, as `head` does.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok((ended_by, recorded)),
        Err(error) => Err(anyhow::Error::from(error).context("cannot write to stdout")),
        Ok(()) => Ok((ended_by, recorded)),
    }
}
