//! Connects the ping probe to its server. Looks up the host name, opens a [`PingLine`], and reconnects after a loss. A
//! function blocks for at most the time that its caller allows.
//!
//! ```text
//!  Resting ──► Resolving ──► Connecting ──► Greeting ──► Up
//!     ▲            │              │             │         │
//!     └────────────┴── back-off ──┴─────────────┴─────────┘
//! ```

use std::{collections::VecDeque, time::Duration};

use super::{
    failure::PingFailure,
    line::{PingEvent, PingLine, WakeUp},
    parts::Wall,
    stamped_socket::{Readiness, StampedSocket},
};
use crate::{
    clock::Clock,
    endpoint::{BackOff, Endpoint, Greeting, Resolution, Target, pause},
    probe::{TcpRtt, Timing},
};

/// The client name of the ping connection in CLIENT LIST.
const NAME: &str = "redyno-ping";

/// How often the probe checks whether the lookup of the host name is done: every 5 ms.
const LOOK_FOR_NAME: Duration = Duration::from_millis(5);

enum PingPhase {
    Resting { until_ns: u64 },
    Resolving { resolution: Resolution, deadline_ns: u64 },
    Connecting { socket: StampedSocket, others: VecDeque<Endpoint>, deadline_ns: u64 },
    Connected(Box<PingLine>),
}

/// The ping probe's connection to its server, or the attempt to open it.
pub(super) struct PingLink {
    clock: Clock,
    target: Target,
    greeting: Greeting,
    timeout: Duration,
    back_off: BackOff,
    /// Whether a new connection is being opened because the server announced the end of the last connection.
    is_renewing: bool,
    /// The due times of the PINGs that wait for the new connection, the oldest first.
    waiting: VecDeque<u64>,
    phase: PingPhase,
}

impl PingLink {
    /// Creates a link to `target`. Any step that takes longer than `timeout` counts as failed.
    pub(super) fn new(target: &Target, timeout: Duration, clock: Clock) -> Self {
        Self {
            clock,
            greeting: Greeting::new(&Target { db: 0, ..target.clone() }, NAME),
            target: target.clone(),
            timeout,
            back_off: BackOff::new(),
            is_renewing: false,
            waiting: VecDeque::new(),
            phase: PingPhase::Resting { until_ns: 0 },
        }
    }

    fn timeout_ns(&self) -> u64 {
        u64::try_from(self.timeout.as_nanos()).unwrap_or(u64::MAX)
    }

    fn timed_out(&self, what: &'static str) -> PingFailure {
        PingFailure::Timeout { what, limit: self.timeout }
    }

    /// Returns the due times of the unanswered PINGs, the oldest first.
    pub(super) fn due_ns(&self) -> impl Iterator<Item = u64> {
        self.line().into_iter().flat_map(PingLine::due_ns).chain(self.waiting.iter().copied())
    }

    /// Returns the due time of the oldest unanswered PING. If the server closes each connection after a
    /// reply, PINGs that had to wait for the next connection are left out.
    pub(super) fn awaited_ns(&self) -> Option<u64> {
        self.line().and_then(PingLine::awaited_ns)
    }

    /// Returns whether PINGs can be sent and all PINGs are answered.
    pub(super) fn is_quiet(&self) -> bool {
        self.line().is_some_and(PingLine::is_quiet)
    }

    /// Returns whether the kernel takes timestamps for the connection, and if not, why. Returns `None`
    /// without a connection.
    pub(super) fn timing(&self) -> Option<Timing> {
        self.line().and_then(|line| line.socket.timing())
    }

    /// Returns the kernel's own round-trip figures, or `None` if there are none.
    pub(super) fn tcp(&self) -> Option<TcpRtt> {
        self.line().and_then(|line| line.socket.tcp())
    }

    fn line(&self) -> Option<&PingLine> {
        match &self.phase {
            PingPhase::Connected(line) => Some(line),
            _ => None,
        }
    }

    /// Queues a PING that was due at `due_ns`. Returns false if there is no connection. If the server closes
    /// each connection after a reply, the PING waits for the next connection, and the function returns true.
    pub(super) fn queue_ping(&mut self, due_ns: u64, now_ns: u64) -> bool {
        match &mut self.phase {
            PingPhase::Connected(line) if line.is_greeted() => {
                line.queue_ping(due_ns, now_ns, &self.clock);
                true
            }
            _ => {
                self.waiting.extend(self.is_renewing.then_some(due_ns));
                self.is_renewing
            }
        }
    }

    /// Writes the queued bytes and handles timeouts. Begins the next attempt to connect, or ends an attempt that takes
    /// too long.
    pub(super) fn advance(&mut self, now_ns: u64, emit: &mut dyn FnMut(PingEvent)) {
        if let Err(failure) = self.try_advance(now_ns) {
            self.lose(failure, now_ns, emit);
        }
    }

    fn try_advance(&mut self, now_ns: u64) -> Result<(), PingFailure> {
        if let PingPhase::Resting { until_ns } = self.phase
            && now_ns >= until_ns
        {
            let resolution = self.target.resolve().map_err(PingFailure::Resolve)?;
            self.phase =
                PingPhase::Resolving { resolution, deadline_ns: now_ns.saturating_add(self.timeout_ns()) };
        }
        if let PingPhase::Resolving { resolution, deadline_ns } = &mut self.phase {
            let deadline_ns = *deadline_ns;
            if let Some(endpoints) = resolution.wait(Duration::ZERO).map_err(PingFailure::Resolve)? {
                self.connect(endpoints, deadline_ns, None)?;
            }
        }
        if let PingPhase::Connected(line) = &mut self.phase {
            line.flush()?;
        }
        if now_ns < self.deadline_ns() {
            return Ok(());
        }
        match &self.phase {
            PingPhase::Resting { .. } => Ok(()),
            PingPhase::Resolving { .. } => Err(self.timed_out("the lookup of the name")),
            PingPhase::Connecting { .. } => Err(self.timed_out("the attempt to connect")),
            PingPhase::Connected(line) if line.is_greeted() => Err(self.timed_out("a ping")),
            PingPhase::Connected(_) => Err(self.timed_out("the greeting")),
        }
    }

    /// Returns the time of the next timeout.
    fn deadline_ns(&self) -> u64 {
        match &self.phase {
            PingPhase::Resting { until_ns } => *until_ns,
            PingPhase::Resolving { deadline_ns, .. } | PingPhase::Connecting { deadline_ns, .. } => {
                *deadline_ns
            }
            PingPhase::Connected(line) => line.deadline_ns(self.timeout_ns()),
        }
    }

    /// Tries to connect to one endpoint after the other. If all endpoints fail, the error is the error of the last
    /// endpoint.
    fn connect(
        &mut self,
        mut endpoints: VecDeque<Endpoint>,
        deadline_ns: u64,
        mut last: Option<PingFailure>,
    ) -> Result<(), PingFailure> {
        while let Some(endpoint) = endpoints.pop_front() {
            match StampedSocket::open(&endpoint, self.target.tls.as_ref()) {
                Ok(socket) => {
                    self.phase = PingPhase::Connecting { socket, others: endpoints, deadline_ns };
                    return Ok(());
                }
                Err(error) => last = Some(error.into()),
            }
        }
        Err(last.unwrap_or_else(|| std::io::Error::other("there is no address to connect to").into()))
    }

    /// Waits for an event, at most until `until_ns`. `now_ns` is the current time.
    pub(super) fn wait(&self, now_ns: u64, until_ns: u64) -> Readiness {
        let longest = Duration::from_nanos(until_ns.min(self.deadline_ns()).saturating_sub(now_ns));
        match &self.phase {
            PingPhase::Connecting { socket, .. } => socket.wait(true, longest),
            PingPhase::Connected(line) => line.socket.wait(false, longest),
            PingPhase::Resolving { .. } => {
                pause(longest.min(LOOK_FOR_NAME));
                Readiness::default()
            }
            PingPhase::Resting { .. } => {
                pause(longest);
                Readiness::default()
            }
        }
    }

    /// Handles the result of [`wait`](Self::wait). `at_ns` is the time when `wait` returned.
    pub(super) fn react(&mut self, ready: Readiness, at_ns: u64, emit: &mut dyn FnMut(PingEvent)) {
        if let Err(failure) = self.try_react(ready, at_ns, emit) {
            self.lose(failure, at_ns, emit);
        }
    }

    fn try_react(
        &mut self,
        ready: Readiness,
        at_ns: u64,
        emit: &mut dyn FnMut(PingEvent),
    ) -> Result<(), PingFailure> {
        match &mut self.phase {
            PingPhase::Connecting { .. } if ready.writable => self.finish_connecting(at_ns, emit),
            PingPhase::Connected(line) => {
                let wake_up = || WakeUp { at_ns, wall: Wall::read(&self.clock) };
                // An error flag without a timestamp behind it is a real error, which the read will report.
                let broken = ready.stamped && line.take_departures() == 0 && !ready.readable;
                if ready.readable || broken {
                    line.read_replies(&self.greeting, &mut self.back_off, wake_up(), emit)?;
                    self.renew_if_spent(at_ns);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// If the server has announced the end of the present connection, begins to open a new connection and returns true.
    fn renew_if_spent(&mut self, at_ns: u64) -> bool {
        let is_spent = self.line().is_some_and(PingLine::is_spent);
        if is_spent {
            self.waiting = self.due_ns().collect();
            self.is_renewing = true;
            self.phase = PingPhase::Resting { until_ns: at_ns };
        }
        is_spent
    }

    fn finish_connecting(&mut self, at_ns: u64, emit: &mut dyn FnMut(PingEvent)) -> Result<(), PingFailure> {
        let resting = PingPhase::Resting { until_ns: at_ns };
        let PingPhase::Connecting { mut socket, others, deadline_ns } =
            std::mem::replace(&mut self.phase, resting)
        else {
            return Ok(());
        };
        match socket.finish_open() {
            Ok(true) => {}
            Ok(false) => {
                self.phase = PingPhase::Connecting { socket, others, deadline_ns };
                return Ok(());
            }
            Err(error) => return self.connect(others, deadline_ns, Some(error.into())),
        }
        self.greeting.count(&self.target, 0..usize::MAX);
        let open = self.target.side_calls.opened(&self.target.address);
        let mut line = PingLine::begin((socket, open), &self.greeting, deadline_ns);
        self.is_renewing = false;
        // A request for each of them would need a connection each, and so become a load.
        line.queue_joined(std::mem::take(&mut self.waiting), at_ns, &self.clock);
        if line.is_greeted() {
            emit(PingEvent::Up);
        }
        self.phase = PingPhase::Connected(Box::new(line));
        Ok(())
    }

    fn lose(&mut self, failure: PingFailure, now_ns: u64, emit: &mut dyn FnMut(PingEvent)) {
        let failure = self.last_words(failure, now_ns, emit);
        if self.renew_if_spent(now_ns) {
            return;
        }
        self.is_renewing = false;
        let unanswered = self.due_ns().collect();
        self.waiting.clear();
        let pause_ns = self.back_off.next(&mut rand::rng()).as_nanos() as u64; // at most a second
        let before = std::mem::replace(&mut self.phase, PingPhase::Resting { until_ns: now_ns + pause_ns });
        let last_error = match before {
            PingPhase::Connected(line) => line.end(),
            _ => None,
        };
        // If a server disconnects before it has read all PINGs, the connection is reset. Such a reset counts
        // as a close.
        let failure = match failure {
            PingFailure::Io(_) if failure.kind() == "reset" && last_error.is_some() => {
                PingFailure::Closed { after: last_error }
            }
            other => other,
        };
        emit(PingEvent::Lost { failure, unanswered });
    }

    /// Reads a message that the server sent before it disconnected. Such a message explains the loss better than a
    /// failed write.
    fn last_words(
        &mut self,
        failure: PingFailure,
        at_ns: u64,
        emit: &mut dyn FnMut(PingEvent),
    ) -> PingFailure {
        let (PingPhase::Connected(line), PingFailure::Io(_)) = (&mut self.phase, &failure) else {
            return failure;
        };
        let wake_up = WakeUp { at_ns, wall: Wall::read(&self.clock) };
        match line.read_replies(&self.greeting, &mut self.back_off, wake_up, emit) {
            Err(said @ (PingFailure::TurnedDown(_) | PingFailure::Closed { after: Some(_) })) => said,
            _ => failure,
        }
    }
}
