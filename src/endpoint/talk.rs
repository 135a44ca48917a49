//! Questions to a server that let us in, on a connection of their own, each batch waited for.

use std::{
    io,
    time::{Duration, Instant},
};

use super::{
    ReachError, Target,
    line::Line,
    reach::{called, greeted},
};
use crate::{
    protocol::{Dialect, Reply},
    units,
};

/// A connection on which questions are asked.
pub struct Talk {
    line: Line,
    dialect: Dialect,
    /// The bytes of the longest reply that is taken.
    longest: usize,
}

/// Connects to `target`, and becomes who it says we are.
///
/// Blocks for `timeout` at most.
///
/// # Errors
/// The diagnosis: what is wrong, and what to do about it.
pub fn talk(target: &Target, timeout: Duration) -> Result<Talk, ReachError> {
    let (line, _) = greeted(target, Instant::now() + timeout)?;
    Ok(Talk { line, dialect: target.dialect, longest: usize::MAX })
}

/// Connects to `target` and says nothing yet. Blocks for `timeout` at most.
///
/// # Errors
/// As [`talk`].
pub fn call(target: &Target, timeout: Duration) -> Result<Talk, ReachError> {
    let (line, _) = called(target, Instant::now() + timeout)?;
    Ok(Talk { line, dialect: target.dialect, longest: usize::MAX })
}

impl Talk {
    /// The same, which takes no reply that is longer than so many bytes.
    pub fn bounded(self, longest: usize) -> Self {
        Self { longest, ..self }
    }

    /// Sends `questions`, and hands the bytes of each of so many `replies`, and what it is, to `take`.
    ///
    /// # Errors
    /// When the connection breaks, something else than replies comes, or not all are there after `limit`.
    pub fn ask(
        &mut self,
        questions: &[u8],
        replies: usize,
        limit: Duration,
        mut take: impl FnMut(&[u8], Reply),
    ) -> io::Result<()> {
        let deadline = Instant::now() + limit;
        self.line.say(questions, deadline)?;
        let mut skipper = self.dialect.skipper();
        let (mut received, mut buffer) = (Vec::new(), vec![0; 64 * 1024]);
        let (mut begins, mut read, mut heard) = (0, 0, 0);
        let no_reply = |error| io::Error::other(format!("the server sent what is no reply: {error}"));
        while heard < replies {
            let mut rest = &received[read..];
            if let Some(reply) = skipper.next(&mut rest).map_err(no_reply)? {
                read = received.len() - rest.len();
                take(&received[begins..read], reply);
                (begins, heard) = (read, heard + 1);
                continue;
            }
            read = received.len();
            if read - begins > self.longest {
                let most = units::bytes(self.longest as u64);
                return Err(io::Error::other(format!("the server sent a reply of more than {most}")));
            }
            match self.line.hear(&mut buffer, deadline)? {
                Some(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Some(n) => received.extend_from_slice(&buffer[..n]),
                None => return Err(io::ErrorKind::TimedOut.into()),
            }
        }
        match read == received.len() {
            true => Ok(()),
            false => Err(io::Error::other("the server sent a reply that nothing had asked for")),
        }
    }
}
