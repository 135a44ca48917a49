//! The first contact: checks that the server answers, speaks the expected protocol and accepts the credentials. If not,
//! diagnoses the cause. The functions of this module block the calling thread.
//!
//! ```text
//! connect ─ TLS ─ PING ─ AUTH ─ HELLO 3 ─ SELECT ─ PING
//!            │     │      └── as the target requires
//!            │     └ first, and without a password, because an unknown server must not get one
//!            └ if the target requires it
//! ```

use std::{
    io,
    time::{Duration, Instant},
};

use super::{
    Greeting, GreetingError, Party, ReachError, Target, TlsFailure, Transport,
    dial::dial,
    greeting::{Greeter, GreetingStep},
    line::{TimedStream, is_closed, speaks_tls},
    unknown_server::{self, printable},
};
use crate::protocol::{GreetingCommand, GreetingRefusal, ProtocolError};

/// The longest accepted reply. A reply to HELLO has a few hundred bytes, or a few thousand if the server has many
/// modules.
const MOST_BYTES: usize = 64 * 1024;
/// How long to wait for the rest of an unknown server's first line.
const REST_OF_LINE: Duration = Duration::from_millis(200);

/// Connects to `target`, authenticates, and closes the connection.
///
/// Blocks for at most `timeout`.
///
/// # Errors
/// Returns the diagnosis: what is wrong, and what to do about it.
pub fn reach(target: &Target, timeout: Duration) -> Result<(), ReachError> {
    connect_and_greet(target, Instant::now() + timeout).map(drop)
}

/// Connects to `target` by `deadline`, with TLS if required, and authenticates.
pub(super) fn connect_and_greet(target: &Target, deadline: Instant) -> Result<TimedStream, ReachError> {
    let mut line = TimedStream(dial(target, target.tls.as_ref(), deadline)?);
    line.secure(target, deadline)?;
    let mut talk = Conversation { line, target, deadline, received: Vec::new() };
    talk.greet(&Greeting::stepwise(target))?;
    Ok(talk.line)
}

struct Conversation<'a> {
    line: TimedStream,
    target: &'a Target,
    deadline: Instant,
    /// The bytes received since the last command was sent.
    received: Vec<u8>,
}

impl Conversation<'_> {
    fn greet(&mut self, greeting: &Greeting) -> Result<(), ReachError> {
        let (mut greeter, mut words) = greeting.begin();
        let mut is_known = false;
        loop {
            let turn = self.ask(words, &mut greeter, greeting)?;
            // The first reply identifies the server.
            if !std::mem::replace(&mut is_known, true) && !self.target.dialect.answers_ping(&self.received) {
                return Err(self.identify());
            }
            match turn {
                GreetingStep::SendNext(next) => words = next,
                GreetingStep::AwaitReply => words = &[],
                GreetingStep::Done => return Ok(()),
            }
        }
    }

    fn ask<'g>(
        &mut self,
        words: &[u8],
        greeter: &mut Greeter,
        greeting: &'g Greeting,
    ) -> Result<GreetingStep<'g>, ReachError> {
        self.received.clear();
        let sent = self.line.write_all_until(words, self.deadline);
        // A server that rejects clients sends the reason and disconnects. This reason is a better message
        // than the error of the write.
        match (self.answer(greeter, greeting), sent) {
            (Err(ReachError::Silent(_)), Err(cause)) if cause.kind() != io::ErrorKind::TimedOut => {
                Err(self.broken(cause))
            }
            (answer, _) => answer,
        }
    }

    /// Reads one reply to its end, and processes it.
    fn answer<'g>(
        &mut self,
        greeter: &mut Greeter,
        greeting: &'g Greeting,
    ) -> Result<GreetingStep<'g>, ReachError> {
        let mut skipper = self.target.dialect.skipper();
        loop {
            let fresh_from = self.received.len();
            if fresh_from > MOST_BYTES {
                return Err(ReachError::Endless(Party::of(self.target)));
            }
            if self.read(self.deadline)? == 0 {
                return Err(self.ended());
            }
            match skipper.next(&mut &self.received[fresh_from..]) {
                Ok(None) => {}
                Ok(Some(reply)) => {
                    let turned_down = |turned_down| refusal(self.target, &turned_down);
                    return greeter.process_reply(reply, greeting).map_err(turned_down);
                }
                Err(ProtocolError::LongLine) => {
                    return Err(ReachError::Endless(Party::of(self.target)));
                }
                Err(excess @ ProtocolError::Excess(_)) => {
                    return Err(self.broken(io::Error::other(format!("the server sent {excess}"))));
                }
                Err(_) => return Err(self.identify()),
            }
        }
    }

    /// Reads once, and appends the data to `received`. Returns the number of bytes, which is 0 at the end of the
    /// stream.
    fn read(&mut self, until: Instant) -> Result<usize, ReachError> {
        let mut buffer = [0; 4096];
        match self.line.read_once(&mut buffer, until) {
            Ok(None) => Err(self.out_of_time()),
            Ok(Some(n)) => {
                self.received.extend_from_slice(&buffer[..n]);
                Ok(n)
            }
            Err(error) if is_closed(&error) => Ok(0),
            Err(cause) => Err(self.broken(cause)),
        }
    }

    /// Returns the diagnosis of a socket's error, which may be a TLS error. In TLS 1.3, a server refuses a
    /// client certificate only after the handshake.
    fn broken(&self, cause: io::Error) -> ReachError {
        let address = self.target.address.clone();
        match TlsFailure::of(&cause) {
            Some(failure) => ReachError::Tls { address, failure: failure.clone() },
            None => ReachError::Io { address, cause },
        }
    }

    fn out_of_time(&self) -> ReachError {
        if self.received.is_empty() {
            return ReachError::Silent(self.target.address.clone());
        }
        ReachError::HalfAnswer { party: Party::of(self.target), bytes: printable(&self.received) }
    }

    fn ended(&mut self) -> ReachError {
        if !self.received.is_empty() {
            return self.identify();
        }
        let may_want_tls = matches!(self.line.0, Transport::Plain(_));
        if may_want_tls && speaks_tls(self.target, self.deadline) {
            return ReachError::SpeaksTls(Party::of(self.target));
        }
        ReachError::Closed(self.target.address.clone())
    }

    /// Identifies an unexpected server by its first line, and waits a short time for the rest of the line.
    fn identify(&mut self) -> ReachError {
        let until = self.deadline.min(Instant::now() + REST_OF_LINE);
        while !self.received.contains(&b'\n') && self.received.len() < 64 {
            if !matches!(self.read(until), Ok(1..)) {
                break;
            }
        }
        unknown_server::diagnosis(self.target, &self.received)
    }
}

/// Returns the diagnosis for a server that refused a command of the first contact.
fn refusal(target: &Target, turned_down: &GreetingError) -> ReachError {
    let (address, party) = (target.address.clone(), Party::of(target));
    // If AUTH does not exist on the server, for example because it was renamed, the message repeats the arguments.
    let message = turned_down.reply.split(", with args").next().unwrap_or_default().to_owned();
    let command = match turned_down.step {
        GreetingCommand::Hello => "HELLO",
        GreetingCommand::SetName | GreetingCommand::Tracking => "CLIENT",
        GreetingCommand::Connection => target.dialect.words().ping,
        step => target.dialect.named(step),
    };
    match turned_down.refusal {
        GreetingRefusal::TooManyClients => ReachError::TooManyClients(party),
        GreetingRefusal::ProtectedMode => ReachError::ProtectedMode(address),
        GreetingRefusal::PasswordNeeded => ReachError::PasswordNeeded(party),
        GreetingRefusal::WrongPassword => {
            let user = target.credentials.as_ref().and_then(|credentials| credentials.user.as_ref());
            let named = user.map(|user| format!("user '{user}'"));
            ReachError::WrongPassword { party, user: named.unwrap_or_else(|| "the default user".into()) }
        }
        GreetingRefusal::NoPasswordSet => ReachError::PasswordNotAsked(party),
        GreetingRefusal::NotPermitted => ReachError::NotPermitted { address, command, message },
        GreetingRefusal::Loading => ReachError::Loading(address),
        GreetingRefusal::Busy => ReachError::Busy { address, message },
        GreetingRefusal::NoSuchDb => ReachError::NoSuchDb { address, db: target.db, message },
        GreetingRefusal::NoResp3 => ReachError::NoResp3(address),
        GreetingRefusal::TooOld => ReachError::TooOld(address),
        GreetingRefusal::Harmless | GreetingRefusal::Other => {
            ReachError::ErrorReply { address, command, message }
        }
    }
}
