//! From what was asked for to a session that runs: control plane, gate, engine, and the thread that holds them.

use std::{
    io,
    sync::mpsc::{Receiver, Sender, channel},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use thiserror::Error;

use super::{
    Commission, Ended, Keys, Notice, Order, Peer,
    conduct::Running,
    fill::Fill,
    gate::{Admission, Gate},
    peer::Peers,
    recordings::{Listener, Recordings},
    refusal::Refusals,
    thread::run,
    tuning::Tuning,
    undo::undo_beginning,
};
use crate::{
    clock::Clock,
    knobs::Knobs,
    server::{self, Control, Ledger, Message},
    session::{
        Beginning, Encryption, Live, LiveError, ServerIdentity, SessionStart, TargetBeginning, Writer,
        queue::queue,
    },
    signals::Signal,
};

/// How often the server is asked for its INFO.
const INFO_EVERY: Duration = Duration::from_secs(1);
/// How long the session waits for the first INFO, to name the server in its first record.
const FIRST_INFO: Duration = Duration::from_millis(500);
/// How long the server may take to say what lives on it before the first write: some twenty commands, one after the
/// other, may go a long way.
const GATE_LIMIT: Duration = Duration::from_secs(30);
/// How often a signal is looked for meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Why a session does not begin.
#[derive(Debug, Error)]
pub enum StartError {
    /// The server holds other keys or serves other clients, or the load may do harm, and nobody is there to be asked.
    #[error("{0}")]
    Asks(String),
    /// The load that is wanted cannot be.
    #[error("{0}")]
    Refused(String),
    /// A signal came before it began.
    #[error("interrupted")]
    Interrupted,
    /// Something of it cannot be started.
    #[error("cannot start {0}: {1}")]
    Thread(&'static str, #[source] io::Error),
    /// The engine or a probe cannot be started.
    #[error(transparent)]
    Live(#[from] LiveError),
}

/// A running session, held by whoever started it. Whatever becomes of its peers, it goes on until it is told to end; when
/// this goes, it ends and undoes what is to be undone.
#[derive(Debug)]
pub struct Session {
    orders: Sender<(usize, Order)>,
    /// What it ends with, if it has begun.
    thread: Option<JoinHandle<Option<Ended>>>,
}

impl Session {
    /// Starts one with so many `peers`, who get every record from the first on; it takes `signals` that end it. What a person
    /// would have to be asked is asked of the peers.
    ///
    /// # Errors
    /// When threads cannot be had, the server cannot be resolved, or the load that is wanted may not be.
    pub fn start(
        commission: Commission,
        signals: Receiver<Signal>,
        peers: usize,
    ) -> Result<(Self, Vec<Peer>), StartError> {
        let (peers, listening, orders) = Peers::new(peers);
        let (hand_over, begun) = channel();
        // It is there before anything is begun that must be undone.
        let thread = std::thread::Builder::new().name("session".to_owned());
        let thread = thread.spawn(move || begun.recv().ok().map(run));
        let thread = thread.map_err(|source| StartError::Thread("the session", source))?;
        let running = begin(commission, signals, listening)?;
        hand_over.send(running).expect("the thread waits for it");
        Ok((Self { orders, thread: Some(thread) }, peers))
    }

    /// Ends it unless it has ended, and waits until it has undone what was to be undone. A panic of its thread goes on here.
    pub fn end(mut self) -> Ended {
        let ended = self.join().expect("it is ended once");
        ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic)).expect("it has begun")
    }

    fn join(&mut self) -> Option<std::thread::Result<Option<Ended>>> {
        let thread = self.thread.take()?;
        // It may have ended by itself.
        let _ = self.orders.send((usize::MAX, Order::End));
        Some(thread.join())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Whoever wants to know how it ended calls `end`.
        let _ = self.join();
    }
}

/// Starts everything that measures.
fn begin(
    mut commission: Commission,
    signals: Receiver<Signal>,
    mut peers: Peers,
) -> Result<Running, StartError> {
    let clock = Clock::start();
    let (news, server) = channel();
    let control = Control::start(commission.plan.target.clone(), clock, INFO_EVERY, news)
        .map_err(|source| StartError::Thread("the control plane", source))?
        .redacting(commission.redacts);
    let heard = if commission.unreachable.is_none() { server.recv_timeout(FIRST_INFO).ok() } else { None };
    let is_own = commission.keys == Keys::OwnServers;
    let session = SessionStart::now(identity(&commission, heard.as_ref()));
    // Asked before our own marker is set.
    let leftovers = (!is_own).then(|| control.find_leftovers());
    let ledger = if is_own { Ledger::unmarked() } else { Ledger::new(commission.run, owner(&session)) };
    let mut gate = Gate::new(&commission, ledger.clone());
    commission.notices.drain(..).for_each(|notice| peers.tell(notice));
    let (listener, records) = queue();
    let (recording, exports) = (commission.recording.take(), std::mem::take(&mut commission.exports));
    let begun = pass(&commission, &control, &mut gate, &mut peers, &signals).and_then(|knobs| {
        let target = TargetBeginning { plan: commission.plan.clone(), knobs, heard, server };
        let (warmup, redacts) = (commission.warmup, commission.redacts);
        let beginning = Beginning { start: session, warmup, redacts, targets: vec![target] };
        engage(beginning, clock, listener, (recording, exports))
    });
    // A setup may have run, and some workers written, before another could not start.
    let (live, recordings) = begun.inspect_err(|_| {
        undo_beginning(&gate, &control, &signals, (&mut peers, &commission.plan.target));
    })?;
    Ok(Running {
        refusals: Refusals::new(commission.keeps_going),
        fill: Fill::default(),
        fills: false,
        commission,
        live,
        control,
        gate,
        tuning: Tuning::new(ledger),
        records,
        recordings,
        leftovers,
        clock,
        peers,
        signals,
    })
}

/// Starts the recording and the exports that were asked for, and the engine.
fn engage(
    beginning: Beginning,
    clock: Clock,
    listener: Listener,
    (recording, exports): (Option<Writer>, Vec<Writer>),
) -> Result<(Live, Recordings), StartError> {
    let mut recordings = Recordings::default();
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
            // Their files go again. Why nothing was written there is told.
            let _ = recordings.finish();
            Err(error.into())
        }
    }
}

fn identity(commission: &Commission, heard: Option<&Message>) -> ServerIdentity {
    let target = &commission.plan.target;
    let mut identity = ServerIdentity {
        address: target.address.to_string(),
        built_in: commission.keys == Keys::OwnServers,
        tls: match &target.tls {
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
fn owner(session: &SessionStart) -> server::Owner {
    let (started, host) = (session.started.clone(), session.host.name.clone());
    server::Owner { started, host, pid: Some(std::process::id()) }
}

/// Lets the first knobs pass the gate. Without a person there is nobody to ask; for one the load waits.
fn pass(
    commission: &Commission,
    control: &Control,
    gate: &mut Gate,
    peers: &mut Peers,
    signals: &Receiver<Signal>,
) -> Result<Knobs, StartError> {
    let off = Knobs { load: false, ..commission.knobs.clone() };
    if let Some(cause) = &commission.unreachable {
        peers.tell(Notice::Unreachable { since_s: 0.0, cause: cause.clone() });
    }
    if let Some(knobs) = gate.want(commission.knobs.clone(), control) {
        return Ok(knobs);
    }
    if commission.unreachable.is_some() {
        return Ok(off);
    }
    match (first_admission(control, gate, signals)?, commission.is_attended) {
        (Some(Admission::Pass(knobs)), _) => Ok(knobs),
        (Some(Admission::Ask(question) | Admission::Warn(question)), false) => {
            Err(StartError::Asks(question.replace(" Continue?", "")))
        }
        (Some(Admission::Ask(question)), true) => {
            peers.tell(Notice::FirstWrite(question));
            Ok(off)
        }
        (Some(Admission::Warn(question)), true) => {
            peers.tell(Notice::Danger(question));
            Ok(off)
        }
        (Some(Admission::Refuse(cause)), false) => Err(StartError::Refused(cause)),
        (Some(Admission::Refuse(cause)), true) => {
            peers.tell(Notice::LoadStaysOff(cause));
            Ok(off)
        }
        (None, false) => {
            let address = &commission.plan.target.address;
            let slow = || format!("not all questions were answered within {} s", GATE_LIMIT.as_secs());
            let cause = gate.trouble().map_or_else(slow, str::to_owned);
            Err(StartError::Refused(format!(
                "{address} does not tell what lives on it, so nothing is written there: {cause}"
            )))
        }
        (None, true) => Ok(off),
    }
}

/// What the gate says after the survey and, if it asks nothing, marker and setup; `None` when the server does not tell in
/// time.
fn first_admission(
    control: &Control,
    gate: &mut Gate,
    signals: &Receiver<Signal>,
) -> Result<Option<Admission>, StartError> {
    let deadline = Instant::now() + GATE_LIMIT;
    // Each step of a setup has a time limit of its own.
    while (Instant::now() < deadline || gate.is_extending()) && !gate.is_stuck() {
        if let Some(admission) = gate.look(LOOK_EVERY, control) {
            return Ok(Some(admission));
        }
        if signals.try_recv().is_ok() {
            return Err(StartError::Interrupted);
        }
    }
    Ok(None)
}
