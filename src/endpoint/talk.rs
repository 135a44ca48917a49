//! Questions to a server that let us in, on a connection of their own, each batch waited for.

use std::{
    io,
    time::{Duration, Instant},
};

use super::{ReachError, Target, line::Line, reach::greeted};
use crate::protocol::Reply;

/// A connection on which questions are asked.
pub struct Talk {
    line: Line,
    target: Target,
}

/// Connects to `target`, and becomes who it says we are.
///
/// Blocks for `timeout` at most.
///
/// # Errors
/// The diagnosis: what is wrong, and what to do about it.
pub fn talk(target: &Target, timeout: Duration) -> Result<Talk, ReachError> {
    let (line, _) = greeted(target, Instant::now() + timeout)?;
    Ok(Talk { line, target: target.clone() })
}

impl Talk {
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
    ) -> Result<(), ReachError> {
        let deadline = Instant::now() + limit;
        self.line.say(questions, deadline).map_err(|error| self.broken(error))?;
        let mut skipper = self.target.dialect.skipper();
        let (mut received, mut buffer) = (Vec::new(), vec![0; 64 * 1024]);
        let (mut begins, mut read, mut heard) = (0, 0, 0);
        while heard < replies {
            let mut rest = &received[read..];
            match skipper.next(&mut rest).map_err(|error| self.broken(io::Error::other(error)))? {
                Some(reply) => {
                    read = received.len() - rest.len();
                    take(&received[begins..read], reply);
                    (begins, heard) = (read, heard + 1);
                }
                None => {
                    read = received.len();
                    let came = self.line.hear(&mut buffer, deadline).map_err(|error| self.broken(error))?;
                    match came {
                        Some(0) => return Err(self.broken(io::ErrorKind::UnexpectedEof.into())),
                        Some(n) => received.extend_from_slice(&buffer[..n]),
                        None => return Err(self.broken(io::ErrorKind::TimedOut.into())),
                    }
                }
            }
        }
        Ok(())
    }

    fn broken(&self, cause: io::Error) -> ReachError {
        ReachError::Io { address: self.target.address.clone(), cause }
    }
}
