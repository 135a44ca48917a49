//! Starts a session: its control plane, the checks before the first write, the load engine, and the session's thread.

use std::{
    io,
    sync::{
        Arc,
        mpsc::{Receiver, Sender, channel},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use thiserror::Error;

use super::{
    Commission, KeyOwner, Notice, Order, Peer, SessionResult,
    conduct::LiveSession,
    following::NodeSource,
    node::{SessionNode, measure},
    peer::Peers,
    ping_window::PingMedianWindow,
    recordings::{RecordFeed, Recordings},
    stage::Admission,
    thread::run,
    tuning::{SetOutcome, Wish},
    undo::{restore_parameters, undo_writes},
};
use crate::{
    clock::Clock,
    endpoint::UNVERIFIED,
    knobs::Knobs,
    server::{self, ControlMessage},
    session::{
        Encryption, Live, LiveError, LiveSettings, ServerIdentity, SessionStart, SessionWriter,
        TargetSettings, queue::queue,
    },
    signals::Signal,
};

/// The longest wait for the first reply to INFO. The session waits for this reply because the first record contains the
/// server's name and version.
const FIRST_INFO: Duration = Duration::from_millis(500);
/// The time limit of the survey of the server's data before the first write. The survey sends about twenty commands in
/// sequence, perhaps over a slow network.
const GATE_LIMIT: Duration = Duration::from_secs(30);
/// The time between two checks for signals while the session waits for the server.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The reasons why a session does not begin.
#[derive(Debug, Error)]
pub enum StartError {
    /// There is a question for the user, but no screen for this question. The question is about a server with other
    /// keys or clients, or about a load that may do harm.
    #[error("{1}")]
    Asks(u16, String),
    /// The requested load cannot run at this node.
    #[error("{1}")]
    Refused(u16, String),
    /// A signal arrived before the session began.
    #[error("interrupted")]
    Interrupted,
    /// A part of the session, such as a thread, cannot be started.
    #[error("cannot start {0}: {1}")]
    Thread(&'static str, #[source] io::Error),
    /// The engine or a probe cannot be started.
    #[error(transparent)]
    Live(#[from] LiveError),
    /// The session did not begin. The text is about the server parameters that redyno had already set.
    #[error("{0}; {1}")]
    AfterSettings(#[source] Box<Self>, String),
}

impl StartError {
    /// Adds lines about restored parameters.
    fn with(self, lines: &[String]) -> Self {
        match self {
            error if lines.is_empty() => error,
            Self::Refused(node, why) => Self::Refused(node, format!("{why}; {}", lines.join("; "))),
            error => Self::AfterSettings(Box::new(error), lines.join("; ")),
        }
    }
}

/// The owner of a running session. The session does not depend on its peers (screens and experiments), and continues
/// even when all peers are gone. Dropping this value ends the session and cleans up.
#[derive(Debug)]
pub struct Session {
    orders: Sender<(usize, Order)>,
    /// The session's thread, if it was started.
    thread: Option<JoinHandle<Option<SessionResult>>>,
}

impl Session {
    /// Starts a session with `peers` peers, such as a screen or an experiment. Each peer receives all records of the
    /// session, and may show questions to the user. Each of `signals` also ends the session.
    ///
    /// # Errors
    /// Fails if threads cannot be started, if the server's name cannot be resolved, or if the wanted load is not
    /// allowed.
    pub fn start(
        commission: Commission,
        signals: Receiver<Signal>,
        peers: usize,
    ) -> Result<(Self, Vec<Peer>), StartError> {
        let keeps = commission.keeps_arguments;
        let (peers, listening, orders) = Peers::new(peers, |id| keeps || (commission.is_attended && id == 0));
        let (hand_over, begun) = channel();
        // The thread is created before anything is done that must be undone later. If the thread cannot be
        // created, nothing is left behind.
        let thread = std::thread::Builder::new().name("session".to_owned());
        let thread = thread.spawn(move || begun.recv().ok().map(run));
        let thread = thread.map_err(|source| StartError::Thread("the session", source))?;
        let running = begin(commission, signals, listening)?;
        hand_over.send(running).expect("the thread waits for it");
        Ok((Self { orders, thread: Some(thread) }, peers))
    }

    /// Ends the session if it is still running, and waits until the session has cleaned up. If the session's thread
    /// panicked, this function panics too.
    pub fn end(mut self) -> SessionResult {
        let ended = self.join().expect("it is ended once");
        ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic)).expect("it has begun")
    }

    fn join(&mut self) -> Option<std::thread::Result<Option<SessionResult>>> {
        let thread = self.thread.take()?;
        // The session may have ended by itself.
        let _ = self.orders.send((usize::MAX, Order::End));
        Some(thread.join())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // A caller that needs the result calls `end` instead.
        let _ = self.join();
    }
}

/// Starts the measurement of all nodes.
fn begin(
    mut commission: Commission,
    signals: Receiver<Signal>,
    mut peers: Peers,
) -> Result<LiveSession, StartError> {
    let clock = Clock::start();
    let (mut controls, mut targets) = (Vec::new(), Vec::new());
    for (number, target) in (0..).zip(commission.targets()) {
        let first = controls.first().map(Arc::as_ref);
        let (control, target) = measure(&commission, number, target, clock, first)
            .map_err(|source| StartError::Thread("the control plane", source))?;
        controls.push(control);
        targets.push(target);
    }
    targets[0].fleet = commission.fleet.take();
    // A node that does not answer before the deadline is recorded with its address only.
    let deadline = Instant::now() + FIRST_INFO;
    for target in targets.iter_mut().skip(usize::from(commission.unreachable.is_some())) {
        target.heard = target.server.recv_timeout(deadline.saturating_duration_since(Instant::now())).ok();
    }
    let mut identities =
        targets.iter().map(|target| identity(target, commission.keys == KeyOwner::OwnServers));
    let first = SessionStart::now(identities.next().unwrap_or_default());
    let start =
        SessionStart { nodes: Arc::new(identities.collect()), members: commission.members(), ..first };
    let owner = owner(&start);
    let nodes = (0..).zip(commission.targets());
    let nodes = nodes.map(|(number, target)| {
        let node = SessionNode::new(number, target, &controls, &commission, &owner);
        node.map_err(|why| StartError::Refused(number, why))
    });
    let mut nodes: Vec<_> = nodes.collect::<Result<_, _>>()?;
    let (warmup, redacts) = (commission.warmup, commission.redacts);
    let host_root = std::mem::take(&mut commission.host_root);
    let cluster = commission.cluster().cloned();
    let mut beginning = LiveSettings { start, warmup, redacts, host_root, cluster, targets };
    commission.notices.drain(..).for_each(|notice| peers.send(0, notice));
    let (listener, records) = queue();
    let listener = listener.keeping_arguments(true);
    let recordings = Recordings::of(&commission);
    let files = (commission.recording.take(), std::mem::take(&mut commission.exports));
    let begun = pass(&commission, &mut nodes, &mut peers, &signals).and_then(|passed| {
        for (target, knobs) in beginning.targets.iter_mut().zip(passed) {
            target.knobs = knobs.unwrap_or_else(|| target.knobs.clone());
        }
        set_config(&commission, &mut nodes, &mut peers, &signals)?;
        engage((beginning, clock), listener, recordings, files)
    });
    let (live, recordings) = begun.map_err(|error| give_up(error, &mut nodes, &signals, &mut peers))?;
    let following = NodeSource::begin(&commission);
    let pings = PingMedianWindow::new(&commission);
    Ok(LiveSession {
        commission,
        live,
        nodes,
        records,
        recordings,
        clock,
        peers,
        signals,
        owner,
        following,
        pings,
    })
}

/// Undoes all changes after a session failed to start. Returns the error with lines about restored parameters.
fn give_up(
    error: StartError,
    nodes: &mut [SessionNode],
    signals: &Receiver<Signal>,
    peers: &mut Peers,
) -> StartError {
    let mut lines = Vec::new();
    restore_parameters(nodes, |_, line| lines.push(line));
    // A setup may have run, and some workers may have written, even if another worker could not start.
    undo_writes(nodes, signals, peers);
    error.with(&lines)
}

/// Sets the server parameters that the session's instructions (the commission) contain, on all nodes with
/// load.
fn set_config(
    commission: &Commission,
    nodes: &mut [SessionNode],
    peers: &mut Peers,
    signals: &Receiver<Signal>,
) -> Result<(), StartError> {
    for node in nodes.iter_mut().filter(|node| !node.is_watched) {
        for (parameter, to) in &commission.config {
            let wish = Wish { parameter, to: to.clone(), peer: 0 };
            node.tuning.set(wish, &node.control);
            let deadline = Instant::now() + GATE_LIMIT;
            let mut outcomes = Vec::new();
            while outcomes.is_empty() && Instant::now() < deadline {
                outcomes = node.tuning.poll(LOOK_EVERY, &node.control);
                look_for_signal(signals)?;
            }
            if outcomes.is_empty() {
                let slow = format!("{} was not set within {} s", parameter.name, GATE_LIMIT.as_secs());
                return Err(StartError::Refused(node.number, slow));
            }
            for outcome in outcomes {
                match outcome {
                    SetOutcome::Set(_) => {}
                    SetOutcome::Note(notice) => peers.send(node.number, notice),
                    SetOutcome::NotSet(_, why) => return Err(StartError::Refused(node.number, why)),
                }
            }
        }
    }
    Ok(())
}

/// Starts the recording, the exports and the load engine.
fn engage(
    (beginning, clock): (LiveSettings, Clock),
    listener: RecordFeed,
    mut recordings: Recordings,
    (recording, exports): (Option<SessionWriter>, Vec<SessionWriter>),
) -> Result<(Live, Recordings), StartError> {
    let mut listeners = vec![listener];
    if let Some(writer) = recording {
        let started = recordings.start(writer, 0.0);
        listeners.push(started.map_err(|source| StartError::Thread("recording", source))?);
    }
    for writer in exports {
        let started = recordings.export(writer);
        listeners.push(started.map_err(|source| StartError::Thread("an export", source))?);
    }
    match Live::start(beginning, clock, listeners) {
        Ok(live) => Ok((live, recordings)),
        Err(error) => {
            // The empty files are removed. The error below tells the reason.
            let _ = recordings.finish();
            Err(error.into())
        }
    }
}

fn identity(TargetSettings { plan, heard, .. }: &TargetSettings, is_own: bool) -> ServerIdentity {
    let mut identity = ServerIdentity {
        address: plan.target.address.to_string(),
        name: plan.target.name.clone(),
        built_in: is_own,
        tls: match &plan.target.tls {
            None => Encryption::None,
            Some(tls) if tls.checks_name() => Encryption::Verified,
            Some(tls) if tls.is_verified() => Encryption::CaOnly,
            Some(_) => Encryption::Unverified,
        },
        ..ServerIdentity::default()
    };
    if let Some(ControlMessage::Status { status, .. }) = heard {
        identity.server = format!("{} {}", status.name, status.version);
        identity.mode.clone_from(&status.mode);
        identity.role.clone_from(&status.role);
    }
    identity
}

/// Returns the owner that redyno writes into its marker key: this process on this machine.
fn owner(session: &SessionStart) -> server::Owner {
    let (started, host) = (session.started.clone(), session.host.name.clone());
    server::Owner { started, host, pid: Some(std::process::id()) }
}

/// Runs the checks before the first write, at all nodes. redyno writes to no node before the user has answered all
/// questions. If there is a question, the load waits for the answer. Without a screen, the session does not start.
fn pass(
    commission: &Commission,
    nodes: &mut [SessionNode],
    peers: &mut Peers,
    signals: &Receiver<Signal>,
) -> Result<Vec<Option<Knobs>>, StartError> {
    let mut passed = Vec::new();
    for node in nodes.iter_mut() {
        if node.target.tls.as_ref().is_some_and(|tls| !tls.is_verified()) {
            peers.send(node.number, Notice::Warning(UNVERIFIED.to_owned()));
        }
        passed.push(match node.is_watched {
            true => Some(Knobs { load: false, ..commission.knobs.clone() }),
            false => node.gate.request(commission.knobs.clone(), &mut node.holders),
        });
    }
    for may_write in [false, true] {
        for (node, own) in nodes.iter_mut().zip(&mut passed) {
            if own.is_some() || node.is_unreachable {
                continue;
            }
            let admission = if may_write { node.gate.open(&mut node.holders) } else { None };
            let admission = if admission.is_some() { admission } else { first_admission(node, signals)? };
            match admission {
                Some(Admission::Pass(knobs)) => *own = Some(knobs),
                None if node.gate.stage.is_allowed() => {}
                // The remaining steps follow after the user's answer.
                admission if commission.is_attended => {
                    if let Some(Err(notice)) = admission.map(|admission| admission.knobs(true)) {
                        peers.send(node.number, notice);
                    }
                    return Ok(passed);
                }
                admission => return Err(not_begun(node, admission)),
            }
        }
    }
    Ok(passed)
}

/// Waits for the next result of a node's checks, and returns it. Returns `None` if the next step is allowed without a
/// question, or if the server does not answer in time.
fn first_admission(
    node: &mut SessionNode,
    signals: &Receiver<Signal>,
) -> Result<Option<Admission>, StartError> {
    let deadline = Instant::now() + GATE_LIMIT;
    let gate = &mut node.gate;
    // Each step of a setup has its own time limit.
    while (Instant::now() < deadline || gate.stage.is_extending())
        && !gate.is_stuck()
        && !gate.stage.is_allowed()
    {
        if let Some(admission) = gate.poll(LOOK_EVERY, &mut node.holders) {
            return Ok(Some(admission));
        }
        look_for_signal(signals)?;
    }
    Ok(None)
}

/// Fails if a signal has arrived.
fn look_for_signal(signals: &Receiver<Signal>) -> Result<(), StartError> {
    if signals.try_recv().is_ok() { Err(StartError::Interrupted) } else { Ok(()) }
}

/// Returns the error for a session that cannot begin because there is no screen to ask the user.
fn not_begun(node: &SessionNode, admission: Option<Admission>) -> StartError {
    match admission {
        Some(Admission::Ask(question) | Admission::Warn(question)) => {
            StartError::Asks(node.number, question.replace(" Continue?", ""))
        }
        Some(Admission::Refuse(cause)) => StartError::Refused(node.number, cause),
        Some(Admission::Pass(_)) | None => {
            let address = &node.target.address;
            let slow = || format!("it did not answer all requests within {} s", GATE_LIMIT.as_secs());
            let cause = node.gate.trouble().map_or_else(slow, str::to_owned);
            let text = format!(
                "{address} does not report its keys and clients, so nothing is written there: {cause}"
            );
            StartError::Refused(node.number, text)
        }
    }
}
