//! The first contact with a server. Checks that the server answers, speaks the expected protocol and accepts the
//! credentials. If a check fails, this module finds the cause. The functions of this module block the calling thread.
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
    Greeting, GreetingError, Party, ReachError, Talk, Target, TlsFailure, Transport,
    dial::{dial, left},
    greeting::GreetingStep,
    line::{TimedStream, is_closed, speaks_tls},
    unknown_server::{self, printable},
};
use crate::protocol::{GreetingCommand, GreetingRefusal, Reply};

/// How long to wait for the rest of an unknown server's first line.
const REST_OF_LINE: Duration = Duration::from_millis(200);

/// Connects to `target`, authenticates, and closes the connection.
///
/// Blocks for at most `timeout`.
///
/// # Errors
/// Fails with the diagnosis: what is wrong, and what to do about it.
pub fn reach(target: &Target, timeout: Duration) -> Result<(), ReachError> {
    talk(target, None, timeout).map(drop)
}

/// Connects to `target`, and authenticates with the target's credentials. `name` is the client name of the connection
/// in CLIENT LIST. A session of redyno recognises the connection by this name, and does not count it as a client of
/// another program.
///
/// Blocks for at most `timeout`.
///
/// # Errors
/// Fails with the diagnosis: what is wrong, and what to do about it.
pub fn talk(target: &Target, name: Option<&str>, timeout: Duration) -> Result<Talk, ReachError> {
    let deadline = Instant::now() + timeout;
    let mut line = TimedStream(dial(target, target.tls.as_ref(), deadline)?);
    line.secure(target, deadline)?;
    let mut talk = Talk::on(line, target);
    talk.greet(&Greeting::stepwise(target, name), deadline)?;
    talk.longest = usize::MAX;
    Ok(talk)
}

impl Talk {
    fn greet(&mut self, greeting: &Greeting, deadline: Instant) -> Result<(), ReachError> {
        let (mut greeter, mut words) = greeting.begin();
        let mut is_known = false;
        for step in 0.. {
            if !words.is_empty() {
                greeting.count(&self.target, step..step + 1);
            }
            let (mut answer, mut turn) = (Vec::new(), Ok(GreetingStep::AwaitReply));
            let take = |bytes: &[u8], reply: Reply| {
                (answer, turn) = (bytes.to_vec(), greeter.process_reply(reply, greeting));
            };
            self.ask(words, 1, left(deadline), take).map_err(|error| self.diagnose(error, deadline))?;
            let turn = turn.map_err(|turned_down| refusal(&self.target, &turned_down))?;
            let excess = std::mem::take(&mut self.received);
            // The first reply identifies the server.
            if !std::mem::replace(&mut is_known, true) && !self.target.dialect.answers_ping(&answer) {
                return Err(self.identify([answer, excess].concat(), deadline));
            }
            match turn {
                GreetingStep::SendNext(next) => words = next,
                GreetingStep::AwaitReply => words = &[],
                GreetingStep::Done => break,
            }
        }
        Ok(())
    }

    /// Returns the diagnosis for an error that occurred before the end of the first contact.
    fn diagnose(&mut self, error: ReachError, deadline: Instant) -> ReachError {
        let (address, party) = (self.target.address.clone(), Party::of(&self.target));
        let received = std::mem::take(&mut self.received);
        let ReachError::Io { cause, .. } = error else {
            let is_endless = received.len() > self.longest;
            return if is_endless { ReachError::Endless(party) } else { self.identify(received, deadline) };
        };
        // The system's timeout of a broken connection has an error number.
        let is_late = cause.kind() == io::ErrorKind::TimedOut && cause.raw_os_error().is_none();
        match TlsFailure::of(&cause) {
            // In TLS 1.3, a server refuses a client certificate only after the handshake.
            Some(failure) => ReachError::Tls { address, failure: failure.clone() },
            None if is_late && !received.is_empty() => {
                ReachError::HalfAnswer { party, bytes: printable(&received) }
            }
            None if is_late => match self.failed.take() {
                Some(cause) => ReachError::Io { address, cause },
                None => ReachError::Silent(address),
            },
            None if !is_closed(&cause) => ReachError::Io { address, cause },
            None if !received.is_empty() => self.identify(received, deadline),
            None if matches!(self.line.0, Transport::Plain(_)) && speaks_tls(&self.target, deadline) => {
                ReachError::SpeaksTls(party)
            }
            None => ReachError::Closed(address),
        }
    }

    /// Identifies an unexpected server by its first line, and waits a short time for the rest of the line.
    fn identify(&mut self, mut received: Vec<u8>, deadline: Instant) -> ReachError {
        let until = deadline.min(Instant::now() + REST_OF_LINE);
        let mut buffer = [0; 4096];
        while !received.contains(&b'\n')
            && received.len() < 64
            && let Ok(Some(n @ 1..)) = self.line.read_once(&mut buffer, until)
        {
            received.extend_from_slice(&buffer[..n]);
        }
        unknown_server::diagnosis(&self.target, &received)
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
