//! Stands between fred and a server: fred gets whole replies of bounded depth and size, or the end of the connection.
//!
//! ```text
//! fred ◄── a unix socket of this process ──► guard, a thread ◄── Talk: TCP, TLS or unix socket ──► server
//! ```
//! fred decodes recursively, keeps whatever comes, decodes a reply from its beginning with every piece that arrives, and
//! takes no stream of ours, only an address. So its address is the guard's, which asks on a connection that is greeted.

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

/// How long a reply may take. A server that is slower than this is taken for hung.
pub(super) const REPLY_LIMIT: Duration = Duration::from_secs(2);

/// Room for the requests of one read.
const READ_SIZE: usize = 64 * 1024;

/// The most bytes of one reply, 64 MiB: CLIENT LIST of 10 000 clients has some 4 MiB.
const LONGEST_REPLY: usize = 64 << 20;

/// How long replies to what was asked at once are waited for. Who asked gave up by then.
const PATIENCE: Duration = REPLY_LIMIT.saturating_mul(2);

/// So long the guard listens when something came that nothing had asked for: a part of a reply, or what is TLS's own.
const LISTENING: Duration = Duration::from_millis(1);

/// How long it sleeps at most when nothing comes.
const NAP: Duration = Duration::from_secs(60);

/// As many bytes of a reply that nothing had asked for are shown.
const SHOWN: usize = 60;

/// The socket that fred is to connect to.
pub(super) struct Door {
    listener: UnixListener,
    path: PathBuf,
}

impl Door {
    /// One that nobody finds by chance. On Linux it has no file, so that no full or read-only disk is in its way and a
    /// killed process leaves nothing behind.
    pub(super) fn new() -> io::Result<Self> {
        let name = format!("redyno-{}-{:016x}", std::process::id(), rand::random::<u64>());
        let path = if cfg!(target_os = "linux") {
            PathBuf::from(format!("\0{name}"))
        } else {
            std::env::temp_dir().join(name)
        };
        Ok(Self { listener: UnixListener::bind(&path)?, path })
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Waits for fred. Nobody else is let in: behind this door is a connection that has our rights.
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
        // An abstract one has no file.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// A guard at its post. Dropping it closes both connections, that to the server once no answer is awaited there.
pub(super) struct Guard {
    fred: UnixStream,
    breach: Arc<OnceLock<String>>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        // It may be closed already.
        let _ = self.fred.shutdown(Shutdown::Both);
    }
}

impl Guard {
    /// Waits for fred at the `door`, and asks for it on `talk`. Why that ended stands in `breach` then.
    pub(super) async fn stand(door: Door, talk: Talk, breach: Arc<OnceLock<String>>) -> io::Result<Self> {
        let fred = door.accept().await?;
        let (at_fred, mut talk) = (fred.try_clone()?, talk.bounded(LONGEST_REPLY));
        let guard = Self { fred, breach };
        let breach = Arc::clone(&guard.breach);
        let stand = move || {
            if let Err(why) = relay(&at_fred, &mut talk) {
                // Set once.
                let _ = breach.set(why);
            }
            let _ = at_fred.shutdown(Shutdown::Both);
        };
        thread::Builder::new().name("guard".to_owned()).spawn(stand)?;
        Ok(guard)
    }

    /// Why the connection ended, once it has.
    pub(super) fn breach(&self) -> Option<&String> {
        self.breach.get()
    }
}

/// Hands on what fred asks and what the server answers, reply by reply, until fred hangs up.
///
/// # Errors
/// Why it was ended else.
fn relay(mut fred: &UnixStream, talk: &mut Talk) -> Result<(), String> {
    let mut buffer = vec![0; READ_SIZE];
    // A request has the form of a reply.
    let mut requests = Dialect::Resp2.skipper();
    // The last reply, if that was an error.
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
            // That fred has gone shows by the next read.
            drop(fred.write_all(bytes));
        });
        answered.map_err(|error| cause(error, last.as_deref()))?;
    }
}

/// Waits until fred asks, or hangs up.
///
/// # Errors
/// What the server says meanwhile, or that it hangs up.
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

/// A reply that nothing had asked for, in words; an error says why the server is about to hang up.
fn unasked(bytes: &[u8], reply: Reply) -> String {
    if let Reply::Error(line) = reply {
        return TurnedDown::unasked(Dialect::Resp2, line).to_string();
    }
    let line = bytes.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let beginning = untrusted::bytes(&line[..line.len().min(SHOWN)]);
    format!("the server sent a reply that nothing had asked for: '{beginning}'")
}

/// Why there is no answer, after a `last` reply that was an error.
fn cause(error: ReachError, last: Option<&str>) -> String {
    let after = last.map(|last| format!(" after '{last}'")).unwrap_or_default();
    match error {
        ReachError::Io { cause, .. } if cause.kind() == io::ErrorKind::TimedOut => cause.to_string(),
        // A server that hangs up on what it has not read resets the connection.
        ReachError::Io { cause, .. } if last.is_some() || cause.kind() == io::ErrorKind::UnexpectedEof => {
            format!("the server closed the connection{after}")
        }
        ReachError::Io { cause, .. } => cause.to_string(),
        error => error.to_string(),
    }
}
