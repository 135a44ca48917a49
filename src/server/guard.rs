//! Stands between fred and a server: fred gets whole replies of bounded depth and size, or the end of the connection.
//!
//! ```text
//! fred ◄── a unix socket of this process ──► guard ◄── TCP, TLS or unix socket ──► server
//! ```
//! fred decodes recursively, keeps whatever comes, decodes a reply from its beginning with every piece that arrives, and
//! takes no stream of ours, only an address. So its address is the guard's, and the server's is known to the guard only.

use std::{
    io,
    path::{Path, PathBuf},
    pin::pin,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use rustls::pki_types::ServerName;
use thiserror::Error;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf, split},
    net::{TcpStream, UnixListener, UnixStream},
    task::JoinHandle,
    time::timeout,
};
use tokio_rustls::TlsConnector;

use crate::{
    endpoint::{Address, Reached, Target, TurnedDown},
    protocol::{Dialect, Excess, Meter, ProtocolError},
    untrusted,
};

/// Room for one read.
const READ_SIZE: usize = 64 * 1024;

/// How long the rest of what a server says is waited for that takes no requests any more.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// As many bytes of a reply that nothing had asked for are shown.
const SHOWN: usize = 60;

/// Why the guard hung up.
#[derive(Debug, Error)]
enum Breach {
    /// What the server says is not handed on.
    #[error("the server sent {0}")]
    Excess(#[from] Excess),
    /// A reply that nothing had asked for; its beginning.
    #[error("the server sent a reply that nothing had asked for: '{0}'")]
    Unasked(String),
    /// An error that nothing had asked for: why it is about to hang up.
    #[error("{0}")]
    TurnedDown(#[from] TurnedDown),
    #[error("the server closed the connection{}", after(.0))]
    Closed(Option<TurnedDown>),
    #[error("{0}")]
    Io(#[from] io::Error),
    /// Ours to fred; never seen.
    #[error("a request that is none: {0}")]
    Request(#[from] ProtocolError),
}

/// The error after which the server closed.
fn after(last: &Option<TurnedDown>) -> String {
    last.as_ref().map(|last| format!(" after '{}'", last.reply)).unwrap_or_default()
}

/// A guard at its post. Dropping it closes both connections.
pub(super) struct Guard {
    path: PathBuf,
    task: JoinHandle<()>,
    breach: Arc<OnceLock<String>>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Guard {
    /// Connects to a target that was `reached` a moment ago, and waits for fred.
    pub(super) async fn stand(target: &Target, reached: Reached) -> io::Result<Self> {
        let server = connect(target, reached).await?;
        let (listener, path) = listen()?;
        let breach = Arc::new(OnceLock::new());
        let told = Arc::clone(&breach);
        let file = SocketFile(path.clone());
        let task = tokio::spawn(async move {
            let Ok(fred) = accept(listener).await else { return };
            drop(file);
            if let Err(breach) = relay(fred, server).await {
                // Set once.
                let _ = told.set(breach.to_string());
            }
        });
        Ok(Self { path, task, breach })
    }

    /// Where fred is to connect.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Why the connection ended, once it has.
    pub(super) fn breach(&self) -> Arc<OnceLock<String>> {
        Arc::clone(&self.breach)
    }
}

/// A stream to a server.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// Connects, with TLS where the target asks for it.
pub(super) async fn connect(target: &Target, reached: Reached) -> io::Result<Box<dyn Stream>> {
    let socket = match (&target.address, reached.peer) {
        (Address::Unix(path), _) => return Ok(Box::new(UnixStream::connect(path).await?)),
        // The address that answered, not the name: that was looked up already.
        (Address::Tcp { .. }, Some(peer)) => TcpStream::connect(peer).await?,
        (Address::Tcp { host, port }, None) => TcpStream::connect((host.as_str(), *port)).await?,
    };
    socket.set_nodelay(true)?;
    let Some(tls) = &target.tls else { return Ok(Box::new(socket)) };
    let name = ServerName::try_from(tls.server_name()).map_err(io::Error::other)?;
    Ok(Box::new(TlsConnector::from(Arc::clone(tls.config())).connect(name, socket).await?))
}

/// The file of a socket, removed when fred has come or never will.
struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        // An abstract one has no file.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A socket that nobody finds by chance. On Linux it has no file, so that no full or read-only disk is in its way and a
/// killed process leaves nothing behind.
fn listen() -> io::Result<(UnixListener, PathBuf)> {
    let name = format!("redyno-{}-{:016x}", std::process::id(), rand::random::<u64>());
    let path = if cfg!(target_os = "linux") {
        PathBuf::from(format!("\0{name}"))
    } else {
        std::env::temp_dir().join(name)
    };
    Ok((UnixListener::bind(&path)?, path))
}

/// Waits for fred. Nobody else is let in: behind this door our credentials are about to be spoken.
async fn accept(listener: UnixListener) -> io::Result<UnixStream> {
    loop {
        let (stream, _) = listener.accept().await?;
        let peer = stream.peer_cred()?.pid();
        if peer.is_none_or(|pid| u32::try_from(pid) == Ok(std::process::id())) {
            return Ok(stream);
        }
    }
}

async fn relay(fred: UnixStream, server: Box<dyn Stream>) -> Result<(), Breach> {
    let asked = AtomicU64::new(0);
    let (from_fred, to_fred) = split(fred);
    let (from_server, to_server) = split(server);
    let mut replies = pin!(replies(from_server, to_fred, &asked));
    tokio::select! {
        ended = requests(from_fred, to_server, &asked) => match ended {
            // What the server said before it hung up is worth more than a write that fails.
            Err(Breach::Io(error)) => timeout(LAST_WORDS, replies).await.unwrap_or(Err(error.into())),
            ended => ended,
        },
        ended = &mut replies => ended,
    }
}

/// Hands requests on, and counts them.
async fn requests(
    mut fred: ReadHalf<UnixStream>,
    mut server: WriteHalf<Box<dyn Stream>>,
    asked: &AtomicU64,
) -> Result<(), Breach> {
    let mut buffer = vec![0; READ_SIZE];
    // A request has the form of a reply.
    let mut skipper = Dialect::Resp2.skipper();
    loop {
        let n = fred.read(&mut buffer).await?;
        if n == 0 {
            return Ok(());
        }
        let mut input = &buffer[..n];
        while skipper.next(&mut input)?.is_some() {
            asked.fetch_add(1, Ordering::Relaxed);
        }
        server.write_all(&buffer[..n]).await?;
        server.flush().await?;
    }
}

/// Hands whole replies on that were asked for and are within the bounds of the [`Meter`].
async fn replies(
    mut server: ReadHalf<Box<dyn Stream>>,
    mut fred: WriteHalf<UnixStream>,
    asked: &AtomicU64,
) -> Result<(), Breach> {
    let mut buffer = vec![0; READ_SIZE];
    let mut meter = Meter::default();
    // What came and was not handed on yet, and the last reply, if that was an error.
    let (mut held, mut last) = (Vec::new(), None);
    loop {
        let n = match server.read(&mut buffer).await {
            Ok(0) => return Err(Breach::Closed(last)),
            Ok(n) => n,
            // A server that hangs up on what it has not read resets the connection.
            Err(_) if last.is_some() => return Err(Breach::Closed(last)),
            Err(error) => return Err(error.into()),
        };
        held.extend_from_slice(&buffer[..n]);
        let (mut input, mut whole) = (&buffer[..n], 0);
        while meter.next(&mut input)? {
            let line = held[whole..].split(|byte| *byte == b'\r').next().unwrap_or_default();
            last = line.strip_prefix(b"-").map(|error| TurnedDown::unasked(Dialect::Resp2, error));
            let counted =
                asked.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
            if counted.is_err() {
                let beginning = || untrusted::bytes(&line[..line.len().min(SHOWN)]);
                return Err(last.map_or_else(|| Breach::Unasked(beginning()), Breach::TurnedDown));
            }
            whole = held.len() - input.len();
        }
        if whole > 0 {
            let rest = held.split_off(whole);
            fred.write_all(&held).await?;
            held = rest;
        }
    }
}
