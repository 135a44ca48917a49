//! A proxy between fred and a server: fred gets complete replies of limited depth and size, or the end of the
//! connection.
//!
//! ```text
//! fred ◄── a unix socket of this process ──► guard, a thread ◄── Talk: TCP, TLS or unix socket ──► server
//! ```
//! Fred decodes recursively, accepts replies of any size, decodes a reply from its start again with each received
//! piece, and accepts only an address, no stream. So fred connects to the guard, and the guard has the connection to
//! the server.

use std::{
    io::{self, Read as _, Write as _},
    net::Shutdown,
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    thread,
    time::Duration,
};

use rustix::event::{PollFd, PollFlags};
use tokio::net::UnixListener;

use crate::{
    endpoint::{ReachError, Talk, TurnedDown, wait_for},
    protocol::{Dialect, Reply},
    untrusted,
};

/// The time limit of a reply. A server that takes longer counts as hung.
pub(super) const REPLY_LIMIT: Duration = Duration::from_secs(2);

/// The size of the buffer for the requests of one read, in bytes.
const READ_SIZE: usize = 64 * 1024;

/// The largest size of a reply: 64 MiB. CLIENT LIST of 10 000 clients has some 4 MiB.
const LONGEST_REPLY: usize = 64 << 20;

/// The time limit for the replies to requests that were sent together. Their senders have given up by then.
const PATIENCE: Duration = REPLY_LIMIT.saturating_mul(2);

/// How long the guard waits for more after an unexpected input: a part of a reply, or data of TLS itself.
const LISTENING: Duration = Duration::from_millis(1);

/// The longest sleep of the guard without input.
const NAP: Duration = Duration::from_secs(60);

/// The number of bytes of an unexpected reply that an error shows.
const SHOWN: usize = 60;

/// The socket that fred connects to.
pub(super) struct Door {
    listener: UnixListener,
    path: PathBuf,
}

impl Door {
    /// Creates a socket with a random name. On Linux the socket has no file: a full or read-only disk does not matter,
    /// and a killed process leaves nothing behind.
    pub(super) fn new() -> io::Result<Self> {
        let name = format!("redyno-{}-{:016x}", std::process::id(), rand::random::<u64>());
        let path = if cfg!(target_os = "linux") {
            PathBuf::from(format!("\0{name}"))
        } else {
            std::env::temp_dir().join(name)
        };
        Ok(Self { listener: UnixListener::bind(&path)?, path })
    }

    /// Returns the path of the socket.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Waits for fred. Other processes are not accepted, since the connection behind the socket has this session's
    /// rights.
    async fn accept(&self) -> io::Result<UnixStream> {
        loop {
            let (stream, _) = self.listener.accept().await?;
            let peer = stream.peer_cred()?.pid();
            if peer.is_none_or(|pid| u32::try_from(pid) == Ok(std::process::id())) {
                let stream = stream.into_std()?;
                stream.set_nonblocking(false)?;
                return Ok(stream);
            }
        }
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        // An abstract socket has no file.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// A running guard. Dropping it closes both connections; that to the server after its expected replies.
pub(super) struct Guard {
    fred: UnixStream,
    breach: Arc<OnceLock<String>>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        // The connection may be closed already.
        let _ = self.fred.shutdown(Shutdown::Both);
    }
}

impl Guard {
    /// Waits for fred at the `door`, and passes its requests to `talk`. When this ends, `breach` has the reason.
    pub(super) async fn stand(door: Door, talk: Talk, breach: Arc<OnceLock<String>>) -> io::Result<Self> {
        let fred = door.accept().await?;
        let (at_fred, mut talk) = (fred.try_clone()?, talk.bounded(LONGEST_REPLY));
        let guard = Self { fred, breach };
        let breach = Arc::clone(&guard.breach);
        let stand = move || {
            if let Err(why) = relay(&at_fred, &mut talk) {
                // Only the first reason is kept.
                let _ = breach.set(why);
            }
            let _ = at_fred.shutdown(Shutdown::Both);
        };
        thread::Builder::new().name("guard".to_owned()).spawn(stand)?;
        Ok(guard)
    }

    /// Returns why the connection has ended, if it has.
    pub(super) fn breach(&self) -> Option<&String> {
        self.breach.get()
    }
}

/// Passes requests from fred to the server, and replies back, one complete reply at a time, until fred disconnects.
///
/// # Errors
/// The reason, if the connection ends otherwise.
fn relay(mut fred: &UnixStream, talk: &mut Talk) -> Result<(), String> {
    let mut buffer = vec![0; READ_SIZE];
    // Requests are encoded like replies.
    let mut requests = Dialect::Resp2.skipper();
    // The last reply, if it was an error.
    let mut last = None;
    loop {
        wait_for_fred(fred, talk, last.as_deref())?;
        let Ok(n @ 1..) = fred.read(&mut buffer) else { return Ok(()) };
        let (mut input, mut asked) = (&buffer[..n], 0);
        while let Ok(Some(_)) = requests.next(&mut input) {
            asked += 1;
        }
        let answered = talk.ask(&buffer[..n], asked, PATIENCE, |bytes, reply| {
            last = if let Reply::Error(line) = reply { Some(untrusted::bytes(line)) } else { None };
            // The next read shows whether fred has disconnected.
            drop(fred.write_all(bytes));
        });
        answered.map_err(|error| cause(error, last.as_deref()))?;
    }
}

/// Waits until fred sends a request, or disconnects.
///
/// # Errors
/// The unexpected message of the server, or that it disconnects.
fn wait_for_fred(fred: &UnixStream, talk: &mut Talk, last: Option<&str>) -> Result<(), String> {
    loop {
        let mut polled = [PollFd::new(fred, PollFlags::IN), PollFd::new(&*talk, PollFlags::IN)];
        wait_for(&mut polled, if talk.has_more() { Duration::ZERO } else { NAP });
        let [fred_asks, server_speaks] = polled.map(|polled| !polled.revents().is_empty());
        if server_speaks || talk.has_more() {
            let mut said = String::new();
            match talk.ask(&[], 1, LISTENING, |bytes, reply| said = unasked(bytes, reply)) {
                Ok(()) => return Err(said),
                Err(ReachError::Io { cause, .. }) if cause.kind() == io::ErrorKind::TimedOut => {}
                Err(error) => return Err(cause(error, last)),
            }
        }
        if fred_asks {
            return Ok(());
        }
    }
}

/// Returns the description of an unexpected reply; an error says why the server is about to disconnect.
fn unasked(bytes: &[u8], reply: Reply) -> String {
    if let Reply::Error(line) = reply {
        return TurnedDown::unasked(Dialect::Resp2, line).to_string();
    }
    let line = bytes.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let beginning = untrusted::bytes(&line[..line.len().min(SHOWN)]);
    format!("the server sent a reply that nothing had asked for: '{beginning}'")
}

/// Returns the description of a missing reply, after a `last` reply that was an error.
fn cause(error: ReachError, last: Option<&str>) -> String {
    let after = last.map(|last| format!(" after '{last}'")).unwrap_or_default();
    match error {
        ReachError::Io { cause, .. } if cause.kind() == io::ErrorKind::TimedOut => cause.to_string(),
        // A server that disconnects without reading a request resets the connection.
        ReachError::Io { cause, .. } if last.is_some() || cause.kind() == io::ErrorKind::UnexpectedEof => {
            format!("the server closed the connection{after}")
        }
        ReachError::Io { cause, .. } => cause.to_string(),
        error => error.to_string(),
    }
}
