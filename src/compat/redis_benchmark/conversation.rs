//! A few questions on a connection of their own, each of which waits for its answer as long as it takes, or as the run may.

use std::{
    io::{self, Read as _, Write as _},
    time::{Duration, Instant},
};

use rustix::event::PollFlags;

use crate::{
    compat::{place, plain},
    endpoint::{Endpoints, Target, Transport},
    foreign,
    protocol::Dialect,
};

/// How long a wait is before it is begun anew.
const TURN: Duration = Duration::from_secs(3600);
/// The longest answer that is waited for.
const LONGEST: usize = 64 << 20;

/// A connection that is asked.
pub(super) struct Conversation {
    transport: Transport,
    received: Vec<u8>,
    /// Until when it waits, where that is limited.
    deadline: Option<Instant>,
}

/// An answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// An error, without its sign.
    Error(String),
    /// The texts of a list; a null is an empty one.
    Texts(Vec<String>),
    /// Anything else.
    Other,
}

impl Conversation {
    /// Connects, and says who we are where there is a password; it waits for `limit` in all, if there is one.
    ///
    /// # Errors
    /// What is to be printed.
    pub(super) fn open(target: &Target, server: &str, limit: Option<Duration>) -> Result<Self, String> {
        let deadline = limit.map(|limit| Instant::now() + limit);
        let unreachable = |error: io::Error| {
            format!("Could not connect to {server} at {}: {}", place(target), plain(&error))
        };
        let transport = connect(target, deadline).map_err(unreachable)?;
        let mut conversation = Self { transport, received: Vec::new(), deadline };
        conversation
            .shake_hands()
            .map_err(|error| format!("Could not negotiate a TLS connection: {}", plain(&error)))?;
        let Some(credentials) = &target.credentials else { return Ok(conversation) };
        let words = [Some("AUTH"), credentials.user.as_deref(), Some(credentials.password.reveal())];
        let words: Vec<_> = words.into_iter().flatten().map(str::as_bytes).collect();
        match conversation.ask(&words) {
            Ok(Answer::Error(error)) => Err(replied(target, &error)),
            Ok(_) => Ok(conversation),
            Err(_) => Err(format!("ERROR: failed to fetch reply from {}", place(target))),
        }
    }

    fn shake_hands(&mut self) -> io::Result<()> {
        while !self.transport.shake_hands()? {
            self.wait(PollFlags::IN)?;
        }
        Ok(())
    }

    /// Sends a command and waits for its answer.
    ///
    /// # Errors
    /// When the connection breaks, or what comes is no answer.
    pub(super) fn ask(&mut self, words: &[&[u8]]) -> io::Result<Answer> {
        // A server that turns clients away says why and hangs up: that is worth more than a write that fails.
        let unsaid = self.say(&Dialect::Resp2.encode(words)).err();
        loop {
            if let Some((answer, length)) = read(&self.received)? {
                self.received.drain(..length);
                return Ok(answer);
            }
            let mut buffer = [0; 4096];
            match self.transport.read(&mut buffer) {
                Ok(0) => return Err(unsaid.unwrap_or(io::ErrorKind::UnexpectedEof.into())),
                Ok(n) => self.received.extend_from_slice(&buffer[..n]),
                Err(error) if is_nothing(&error) => self.wait(PollFlags::IN)?,
                Err(error) => return Err(error),
            }
        }
    }

    /// Whether what came and was no answer is what a memcached says.
    pub(super) fn is_memcached(&self) -> bool {
        Dialect::Memcached.answers_ping(&self.received)
    }

    fn say(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() || self.transport.wants_write() {
            match self.transport.write(bytes) {
                Ok(n) => bytes = &bytes[n..],
                Err(error) if is_nothing(&error) => self.wait(PollFlags::OUT)?,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn wait(&self, interest: PollFlags) -> io::Result<()> {
        let out = if self.transport.wants_write() { PollFlags::OUT } else { PollFlags::empty() };
        let turn = turn(self.deadline)?;
        if !self.transport.has_more() {
            self.transport.wait(interest | out, turn);
        }
        Ok(())
    }
}

/// How long the next wait is at the most.
fn turn(deadline: Option<Instant>) -> io::Result<Duration> {
    let left = deadline.map_or(TURN, |deadline| deadline.saturating_duration_since(Instant::now()));
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left.min(TURN)) }
}

/// Tries one address of the host after the other.
fn connect(target: &Target, deadline: Option<Instant>) -> io::Result<Transport> {
    let endpoints = Endpoints::find(target, turn(deadline)?, 0)?.current(0).unwrap_or_default();
    let mut last = io::ErrorKind::NotFound.into();
    for endpoint in endpoints.iter() {
        let connected = Transport::connect(endpoint, target.tls.as_ref()).and_then(|transport| {
            while !transport.is_connected()? {
                transport.wait(PollFlags::OUT, turn(deadline)?);
            }
            Ok(transport)
        });
        match connected {
            Ok(transport) => return Ok(transport),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// What is printed of an error that a server answers with before the run.
pub(super) fn replied(target: &Target, error: &str) -> String {
    format!("Node {} replied with error:\n{error}", place(target))
}

fn is_nothing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// The answer that `bytes` begin with, and its length; `None` where it is not whole yet.
fn read(bytes: &[u8]) -> io::Result<Option<(Answer, usize)>> {
    let Some((line, mut end)) = line(bytes) else { return Ok(None) };
    let number = |text: &[u8]| foreign::bytes(text).parse::<i64>().ok();
    match line.split_first() {
        Some((b'-', error)) => Ok(Some((Answer::Error(foreign::bytes(error)), end))),
        Some((b'+' | b':', _)) => Ok(Some((Answer::Other, end))),
        Some((b'$', length)) => {
            let whole = text(bytes, end, number(length))?;
            Ok(whole.map(|(_, end)| (Answer::Other, end)))
        }
        Some((b'*', count)) => {
            let mut texts = Vec::new();
            for _ in 0..number(count).unwrap_or(0) {
                let Some((head, after)) = self::line(&bytes[end..]) else { return Ok(None) };
                let length = head.strip_prefix(b"$").and_then(number);
                let Some((word, next)) = text(bytes, end + after, length)? else { return Ok(None) };
                texts.push(word);
                end = next;
            }
            Ok(Some((Answer::Texts(texts), end)))
        }
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// The line that `bytes` begin with, and where the next begins.
fn line(bytes: &[u8]) -> Option<(&[u8], usize)> {
    let end = memchr::memmem::find(bytes, b"\r\n")?;
    Some((&bytes[..end], end + 2))
}

/// The text of this length from `from` on, and where it ends; `None` where it is not whole yet.
fn text(bytes: &[u8], from: usize, length: Option<i64>) -> io::Result<Option<(String, usize)>> {
    match length.map(usize::try_from) {
        Some(Ok(length)) if length <= LONGEST => {
            let word = bytes.get(from..from + length).map(foreign::bytes);
            let is_whole = bytes.len() >= from + length + 2;
            Ok(word.filter(|_| is_whole).map(|word| (word, from + length + 2)))
        }
        Some(Err(_)) => Ok(Some((String::new(), from))),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(bytes: &str) -> Option<(Answer, usize)> {
        read(bytes.as_bytes()).unwrap()
    }

    #[test]
    fn answers_are_read_when_they_are_whole() {
        let pair = "*2\r\n$4\r\nsave\r\n$0\r\n\r\n";
        let texts = Answer::Texts(vec!["save".to_owned(), String::new()]);
        assert_eq!(told(&format!("{pair}+x")), Some((texts, pair.len())));
        assert!((0..pair.len()).all(|length| told(&pair[..length]).is_none()));
        assert_eq!(told("-ERR no\r\n"), Some((Answer::Error("ERR no".to_owned()), 9)));
        assert_eq!(told("$3\r\nabc\r\n"), Some((Answer::Other, 9)));
        assert_eq!(told("*0\r\n"), Some((Answer::Texts(Vec::new()), 4)));
        assert!(read(b"HTTP/1.1 400\r\n").is_err());
        assert!(read(b"*1\r\n$99999999999\r\n").is_err());
    }
}
