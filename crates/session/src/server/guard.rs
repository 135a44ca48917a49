//! A proxy between the client library fred and a server. The guard passes only complete replies of limited depth and
//! size to fred, and otherwise closes the connection.
//!
//! ```text
//! fred ◄── a unix socket of this process ──► guard, a thread ◄── Talk: TCP, TLS or unix socket ──► server
//! ```
//! Fred decodes nested replies recursively, accepts replies of any size, and decodes an incomplete reply from its start
//! whenever more bytes arrive. Fred also accepts only an address, not an open connection. So fred connects to the
//! guard, and the guard sends fred's requests over the connection to the server.

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

/// The time limit of a reply. A server that needs longer is reported as hanging.
pub(super) const REPLY_LIMIT: Duration = Duration::from_secs(2);

/// The size of the buffer for requests from fred, in bytes.
const READ_SIZE: usize = 64 * 1024;

/// The largest size of a reply: 64 MiB. The reply to CLIENT LIST with 10 000 clients has about 4 MiB.
const LONGEST_REPLY: usize = 64 << 20;

/// The time limit for the replies to requests that were sent together. The senders of these requests stop waiting
/// earlier.
const PATIENCE: Duration = REPLY_LIMIT.saturating_mul(2);

/// How long the guard waits for the rest of an unexpected reply. Unexpected input may also be data of TLS itself,
/// without a reply.
const LISTENING: Duration = Duration::from_millis(1);

/// The longest sleep of the guard without input.
const NAP: Duration = Duration::from_secs(60);

/// An error shows this number of bytes of an unexpected reply.
const SHOWN: usize = 60;

/// The socket that fred connects to.
pub(super) struct Door {
    listener: UnixListener,
    path: PathBuf,
}

impl Door {
    /// Creates a socket with a random name. On Linux the socket has no file, so it also works with a full or read-only
    /// disk, and a killed process leaves no file behind.
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

    /// Waits for fred. Connections from other processes are closed, because they could send commands with this
    /// session's permissions.
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

/// A running guard. Dropping the guard closes the connection to fred at once, and the connection to the server after
/// the expected replies.
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
    /// Waits until fred connects to the `door`, then starts a thread that passes fred's requests to `talk`. If the
    /// connection breaks, `breach` contains the reason.
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

    /// Returns the reason why the connection has ended; `None` while the connection is open.
    pub(super) fn breach(&self) -> Option<&String> {
        self.breach.get()
    }
}

/// Passes requests from fred to the server and complete replies back to fred, until fred disconnects.
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

/// Returns the description of an unexpected reply. An error reply is described as the reason why the server
/// disconnects.
fn unasked(bytes: &[u8], reply: Reply) -> String {
    if let Reply::Error(line) = reply {
        return TurnedDown::unasked(Dialect::Resp2, line).to_string();
    }
    let line = bytes.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let beginning = untrusted::bytes(&line[..line.len().min(SHOWN)]);
    format!("the server sent a reply that nothing had asked for: '{beginning}'")
}

/// Returns the reason for a missing reply; `last` is the previous reply if that was an error.
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
