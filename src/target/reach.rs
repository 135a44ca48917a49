//! Is it there, is it a Redis, and does it let us in: one short blocking conversation, and a diagnosis if not.
//!
//! ```text
//! connect ─ TLS ─ PING ─ AUTH ─ HELLO 3 ─ SELECT ─ PING
//!            │     │      └── as far as the target asks for them
//!            │     └ first, and without a password: a server that is no Redis must not be told one
//!            └ if the target asks for it
//! ```

use std::{
    io::{self, Read, Write},
    net::SocketAddr,
    time::{Duration, Instant},
};

use super::{
    Address, Credentials, ReachError, Target, TlsFailure,
    dial::{dial, left},
    greeting::{TOO_MANY, is_turned_away, without_password},
    line::{Line, is_closed, speaks_tls},
    stranger::{self, printable},
};
use crate::protocol::{ProtocolError, Reply, Skipper, encode_command};

/// The most bytes of an answer: that to HELLO has some hundred, with many modules some thousand.
const MOST_BYTES: usize = 64 * 1024;
/// How long the rest of a stranger's first line is waited for.
const REST_OF_LINE: Duration = Duration::from_millis(200);

/// What is known of a server that let us in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reached {
    /// Which address of the host answered; `None` for a unix socket.
    pub peer: Option<SocketAddr>,
}

/// Connects to `target`, becomes who it says we are, and closes again.
///
/// Blocks for `timeout` at most.
///
/// # Errors
/// The diagnosis: what is wrong, and what to do about it.
pub fn reach(target: &Target, timeout: Duration) -> Result<Reached, ReachError> {
    let deadline = Instant::now() + timeout;
    let (socket, peer) = dial(&target.address, deadline)?;
    let line = match &target.tls {
        None => Line::Plain(socket),
        Some(tls) => Line::secure(socket, tls, &target.address, deadline)?,
    };
    let password = target.credentials.as_ref().map_or("", |credentials| credentials.password.reveal());
    let address = &target.address;
    let mut talk = Conversation { line, address, password, deadline, received: Vec::new() };
    let first = talk.ask("PING", &[b"PING"])?;
    match &first {
        Answer::Good if !talk.received.starts_with(b"+PONG") => return Err(talk.not_redis()),
        Answer::Good => {}
        // Who we are decides; without credentials nothing will change.
        Answer::Error(line) if target.credentials.is_some() && asks_for_authentication(line) => {}
        Answer::Error(line) => return Err(talk.refusal("PING", line)),
    }
    if let Some(credentials) = &target.credentials {
        talk.authenticate(credentials)?;
    }
    if target.resp3 {
        talk.switch_to_resp3()?;
    }
    if target.db != 0 {
        talk.select(target.db)?;
    }
    match talk.ask("PING", &[b"PING"])? {
        Answer::Good => Ok(Reached { peer }),
        Answer::Error(line) => Err(talk.refusal("PING", &line)),
    }
}

fn asks_for_authentication(line: &str) -> bool {
    line.starts_with("NOAUTH") || line.starts_with("NOPERM")
}

enum Answer {
    Good,
    /// The error's line without its `-`.
    Error(String),
}

struct Conversation<'a> {
    line: Line,
    address: &'a Address,
    /// What no message holds; empty without one.
    password: &'a str,
    deadline: Instant,
    /// What came since the last question.
    received: Vec<u8>,
}

impl Conversation<'_> {
    fn ask(&mut self, command: &'static str, words: &[&[u8]]) -> Result<Answer, ReachError> {
        self.received.clear();
        let sent = self
            .line
            .limit(left(self.deadline))
            .and_then(|()| self.line.write_all(&encode_command(words)))
            .and_then(|()| self.line.flush());
        // A server that turns clients away writes its reason and closes: what it said is worth more than the
        // failed write.
        match (self.answer(), sent) {
            (Err(ReachError::Silent(_)), Err(cause)) if !is_timeout(&cause) => {
                Err(ReachError::Io { address: self.address.clone(), cause })
            }
            (Ok(Answer::Error(line)), _) if is_turned_away(line.as_bytes()) => {
                Err(self.refusal(command, &line))
            }
            (answer, _) => answer,
        }
    }

    /// Reads up to the end of one reply.
    fn answer(&mut self) -> Result<Answer, ReachError> {
        let mut skipper = Skipper::new();
        loop {
            let fresh_from = self.received.len();
            if fresh_from > MOST_BYTES {
                return Err(ReachError::Endless(self.address.clone()));
            }
            if self.read(self.deadline)? == 0 {
                return Err(self.ended());
            }
            let mut fresh = &self.received[fresh_from..];
            match skipper.next(&mut fresh) {
                Ok(None) => {
                    // A skipper waits for the end of the line before it judges; strangers may never send one.
                    if !matches!(
                        self.received[0],
                        b'+' | b'-' | b':' | b'$' | b'*' | b'%' | b'_' | b'>' | b'|'
                    ) {
                        return Err(self.not_redis());
                    }
                }
                Ok(Some(Reply::Error(line))) => {
                    return Ok(Answer::Error(without_password(line, self.password)));
                }
                Ok(Some(_)) => return Ok(Answer::Good),
                Err(ProtocolError::LongLine) => return Err(ReachError::Endless(self.address.clone())),
                Err(_) => return Err(self.not_redis()),
            }
        }
    }

    /// Appends what arrives before `until`; 0 is the end of the stream.
    fn read(&mut self, until: Instant) -> Result<usize, ReachError> {
        let mut buffer = [0; 4096];
        loop {
            if Instant::now() >= until {
                return Err(self.out_of_time());
            }
            let read = self.line.limit(left(until)).and_then(|()| self.line.read(&mut buffer));
            match read {
                Ok(n) => {
                    self.received.extend_from_slice(&buffer[..n]);
                    return Ok(n);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted || is_timeout(&error) => {}
                Err(error) if is_closed(&error) => return Ok(0),
                Err(cause) => return Err(self.broken(cause)),
            }
        }
    }

    /// What an error of the socket means. In TLS 1.3 a client learns after the handshake only that its certificate is
    /// not accepted.
    fn broken(&self, cause: io::Error) -> ReachError {
        let address = self.address.clone();
        match TlsFailure::of(&cause) {
            Some(failure) => ReachError::Tls { address, failure: failure.clone() },
            None => ReachError::Io { address, cause },
        }
    }

    fn out_of_time(&self) -> ReachError {
        if self.received.is_empty() {
            return ReachError::Silent(self.address.clone());
        }
        ReachError::HalfAnswer { address: self.address.clone(), bytes: printable(&self.received) }
    }

    fn ended(&mut self) -> ReachError {
        if !self.received.is_empty() {
            return self.not_redis();
        }
        let may_want_tls = matches!(self.line, Line::Plain(_));
        if may_want_tls && speaks_tls(self.address, self.deadline) {
            return ReachError::SpeaksTls(self.address.clone());
        }
        ReachError::Closed(self.address.clone())
    }

    /// Says who it is instead, after a short wait for the rest of what it had to say.
    fn not_redis(&mut self) -> ReachError {
        let until = self.deadline.min(Instant::now() + REST_OF_LINE);
        while !self.received.contains(&b'\n') && self.received.len() < 64 {
            if !matches!(self.read(until), Ok(1..)) {
                break;
            }
        }
        stranger::diagnosis(self.address, &self.received)
    }

    fn authenticate(&mut self, credentials: &Credentials) -> Result<(), ReachError> {
        let user = credentials.user.as_deref().map(str::as_bytes);
        let password = credentials.password.reveal().as_bytes();
        let words: Vec<&[u8]> = [b"AUTH".as_slice()].into_iter().chain(user).chain([password]).collect();
        let Answer::Error(line) = self.ask("AUTH", &words)? else { return Ok(()) };
        let address = self.address.clone();
        Err(if line.starts_with("WRONGPASS") || line.starts_with("ERR invalid password") {
            let named = credentials.user.as_ref().map(|user| format!("user '{user}'"));
            ReachError::WrongPassword { address, user: named.unwrap_or_else(|| "the default user".into()) }
        } else if line.contains("without any password configured") || line.contains("no password is set") {
            ReachError::PasswordNotAsked(address)
        } else {
            // A server without AUTH (it may have been renamed) repeats its arguments.
            self.refusal("AUTH", line.split(", with args").next().unwrap_or_default())
        })
    }

    fn switch_to_resp3(&mut self) -> Result<(), ReachError> {
        match self.ask("HELLO", &[b"HELLO", b"3"])? {
            Answer::Good => Ok(()),
            Answer::Error(line) if line.starts_with("NOPROTO") || line.starts_with("ERR unknown command") => {
                Err(ReachError::NoResp3(self.address.clone()))
            }
            Answer::Error(line) => Err(self.refusal("HELLO", &line)),
        }
    }

    fn select(&mut self, db: u32) -> Result<(), ReachError> {
        match self.ask("SELECT", &[b"SELECT", db.to_string().as_bytes()])? {
            Answer::Good => Ok(()),
            Answer::Error(message) if message.starts_with("ERR") => {
                Err(ReachError::NoSuchDb { address: self.address.clone(), db, message })
            }
            Answer::Error(line) => Err(self.refusal("SELECT", &line)),
        }
    }

    /// What an error reply means, whatever was asked.
    fn refusal(&self, command: &'static str, line: &str) -> ReachError {
        let (address, message) = (self.address.clone(), line.to_owned());
        match line.split(' ').next().unwrap_or_default() {
            "NOAUTH" => ReachError::PasswordNeeded(address),
            "NOPERM" => ReachError::NotPermitted { address, command, message },
            "LOADING" => ReachError::Loading(address),
            "DENIED" => ReachError::ProtectedMode(address),
            "BUSY" | "MASTERDOWN" | "CLUSTERDOWN" | "TRYAGAIN" => ReachError::Busy { address, message },
            _ if line.starts_with(TOO_MANY) => ReachError::TooManyClients(address),
            _ => ReachError::ErrorReply { address, command, message },
        }
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}
