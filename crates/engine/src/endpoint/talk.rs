//! A connection for requests that are not part of the load. Each batch of requests waits for its replies.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd},
    time::{Duration, Instant},
};

use super::{
    Party, ReachError, Target,
    dial::{connect_to_any, resolve},
    line::Stream,
    reach::greeted,
    stranger,
};
use crate::protocol::{ProtocolError, Reply, Skipper};

/// The longest accepted reply on a connection without authentication.
const LONGEST_OF_ANYBODY: usize = 64 * 1024;

/// A connection for requests that are not part of the load.
pub struct Talk {
    line: Stream,
    target: Target,
    skipper: Skipper,
    /// The position in `received` at which the reply in progress begins, and the position up to which it was
    /// parsed.
    begins: usize,
    read: usize,
    received: Vec<u8>,
    /// The longest accepted reply, in bytes.
    longest: usize,
}

/// Why there is no connection, with the system's message.
#[derive(Debug)]
pub enum NoTalk {
    /// The connection could not be opened.
    Connect(io::Error),
    /// TLS failed on it.
    Tls(io::Error),
}

/// Connects to `target`, and authenticates with the target's credentials.
///
/// Blocks for at most `timeout`.
///
/// # Errors
/// The diagnosis: what is wrong, and what to do about it.
pub fn talk(target: &Target, timeout: Duration) -> Result<Talk, ReachError> {
    Ok(Talk::on(greeted(target, Instant::now() + timeout)?, target, usize::MAX))
}

impl Talk {
    /// Limits the replies: one of more than `longest` bytes, or one that a decoder [cannot
    /// handle](Skipper::bounded), is an error.
    #[must_use]
    pub fn bounded(self, longest: usize) -> Self {
        Self { longest, skipper: self.skipper.bounded(), ..self }
    }

    /// Connects to `target` by `deadline`, with TLS if required, and sends no command.
    ///
    /// # Errors
    /// When it cannot be reached, or does not speak TLS as requested.
    pub fn silent(target: &Target, deadline: Instant) -> Result<Self, NoTalk> {
        let found = resolve(target, deadline).map_err(NoTalk::Connect)?;
        let connected = connect_to_any(&found, target.tls.as_ref(), deadline);
        let mut line = Stream(connected.map_err(NoTalk::Connect)?);
        match line.shake_hands(deadline) {
            Ok(true) => Ok(Self::on(line, target, LONGEST_OF_ANYBODY)),
            Ok(false) => Err(NoTalk::Tls(io::ErrorKind::TimedOut.into())),
            Err(error) => Err(NoTalk::Tls(error)),
        }
    }

    fn on(line: Stream, target: &Target, longest: usize) -> Self {
        let skipper = target.dialect.skipper();
        Self { line, target: target.clone(), skipper, begins: 0, read: 0, received: Vec::new(), longest }
    }

    /// Sends `questions`, waits for this number of `replies`, and calls `take` with the bytes and the kind of
    /// each reply.
    ///
    /// # Errors
    /// When the connection breaks, when something other than replies arrives, or when they are incomplete after
    /// `limit`.
    pub fn ask(
        &mut self,
        questions: &[u8],
        replies: usize,
        limit: Duration,
        mut take: impl FnMut(&[u8], Reply),
    ) -> Result<(), ReachError> {
        let deadline = Instant::now() + limit;
        self.forget();
        // A server that rejects clients says why and disconnects: its message is better than a failed write.
        let mut unsaid = self.line.say(questions, deadline).err();
        let (mut buffer, mut heard) = (vec![0; 64 * 1024], 0);
        while heard < replies {
            let mut rest = &self.received[self.read..];
            let reply = match self.skipper.next(&mut rest) {
                Ok(reply) => reply,
                Err(excess @ ProtocolError::Excess(_)) => {
                    return Err(self.broken(io::Error::other(format!("the server sent {excess}"))));
                }
                Err(_) => return Err(stranger::diagnosis(&self.target, &self.received[self.begins..])),
            };
            self.read = self.received.len() - rest.len();
            if let Some(reply) = reply {
                take(&self.received[self.begins..self.read], reply);
                (self.begins, heard) = (self.read, heard + 1);
                continue;
            }
            if self.received.len() - self.begins > self.longest {
                return Err(ReachError::Endless(Party::of(&self.target)));
            }
            if self.begins > self.received.len() / 2 {
                self.forget();
            }
            match self.line.hear(&mut buffer, deadline) {
                Ok(Some(0)) => {
                    let closed = || io::ErrorKind::UnexpectedEof.into();
                    return Err(self.broken(unsaid.take().unwrap_or_else(closed)));
                }
                Ok(Some(n)) => self.received.extend_from_slice(&buffer[..n]),
                Ok(None) => return Err(self.broken(io::ErrorKind::TimedOut.into())),
                Err(error) => return Err(self.broken(error)),
            }
        }
        Ok(())
    }

    /// Removes the replies that were processed from `received`.
    fn forget(&mut self) {
        self.read -= self.begins;
        self.received.drain(..std::mem::take(&mut self.begins));
    }

    /// Returns whether the server sent more data than the expected replies.
    pub fn has_more(&self) -> bool {
        self.begins < self.received.len()
    }

    fn broken(&self, cause: io::Error) -> ReachError {
        ReachError::Io { address: self.target.address.clone(), cause }
    }
}

impl AsFd for Talk {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.line.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::{io::Write, net::TcpListener, thread};

    use super::*;
    use crate::endpoint::Address;

    #[test]
    fn many_replies_of_a_mebibyte_are_no_excess_together_and_are_not_kept() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = thread::spawn(move || {
            let reply = [b"$1048576\r\n".as_slice(), &vec![b'x'; 1 << 20], b"\r\n"].concat();
            let (mut client, _) = listener.accept().unwrap();
            (0..40).for_each(|_| client.write_all(&reply).unwrap());
            client
        });
        let address = Address::Tcp { host: "127.0.0.1".to_owned(), port };
        let target = Target { address, ..Target::default() };
        let limit = Duration::from_secs(30);
        let mut talk = Talk::silent(&target, Instant::now() + limit).unwrap_or_else(|_| panic!("it listens"));
        talk = talk.bounded(2 << 20);
        let mut lengths = Vec::new();
        talk.ask(b"", 40, limit, |bytes, _| lengths.push(bytes.len())).unwrap();
        assert_eq!(lengths, vec![(1 << 20) + 12; 40]);
        assert!(talk.received.capacity() < 8 << 20, "{}", talk.received.capacity());
        drop(server.join().unwrap());
    }
}
