//! Starts and stops the thread of the built-in server.

use std::{
    io::{self, ErrorKind},
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    sync::Arc,
    thread::JoinHandle,
};

use mio::{Poll, Waker};
use socket2::{SockAddr, Socket, Type};
use thiserror::Error;

use super::{
    cluster::Member,
    engine::Engine,
    event_loop::{EventLoop, ServerListener, WAKER},
    faults::{Fault, FaultScript},
    state::{ServerParameters, StopSignal},
};
use crate::endpoint::Password;

/// The length of the queue of connections that a listening socket has not accepted yet. A large load can open this many
/// connections at once.
const BACKLOG: i32 = 1024;

/// The options of a server.
#[derive(Debug, Clone)]
pub struct Options {
    /// The address to listen on; port 0 selects a free port.
    pub address: SocketAddr,
    /// The path of a unix socket on which the server also listens. The file must not exist yet. The server removes the
    /// file at the end.
    pub unix_socket: Option<PathBuf>,
    /// The password that clients must send, or `None` if clients need no password.
    pub password: Option<Password>,
    /// The faults to simulate.
    pub faults: Vec<Fault>,
    /// The seed of random values. The same seed gives the same random faults, and the same results of random commands.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            unix_socket: None,
            password: None,
            faults: Vec::new(),
            seed: 1,
        }
    }
}

/// The reason why a server did not start, or why a running server failed.
#[derive(Debug, Error)]
pub enum Error {
    /// Another server listens on this address.
    #[error("{0} is taken: another server listens there")]
    Taken(SocketAddr),
    /// The server cannot listen on the address or the unix socket, for another reason than [`Taken`](Error::Taken).
    #[error("cannot listen at {place}")]
    Listen {
        /// The address or the path of the unix socket.
        place: String,
        /// The reason.
        source: io::Error,
    },
    /// The operating system refused a poll (such as an epoll instance) or a thread.
    #[error("the built-in server cannot run")]
    System(#[from] io::Error),
    /// The server's thread panicked, because of a bug.
    #[error("the built-in server's thread panicked")]
    Panicked,
    /// The server cannot simulate the requested faults.
    #[error("{0}")]
    Unfit(String),
}

/// Starts a server on a new thread. When this function returns, the server accepts connections.
///
/// # Errors
/// Fails if the server cannot listen on its address, or the system refuses a poll or a thread.
pub fn start(options: Options) -> Result<Handle, Error> {
    match options.faults.iter().any(Fault::needs_cluster) {
        true => Err(Error::Unfit(
            "reshard, failover, hot and 'node N' are faults of a cluster; give --nodes 3".to_owned(),
        )),
        false => launch(options, None),
    }
}

/// Starts a single server, or a node of a cluster.
pub(super) fn launch(options: Options, member: Option<Member>) -> Result<Handle, Error> {
    let tcp = listen(&options.address.into()).map_err(|source| match source.kind() {
        ErrorKind::AddrInUse => Error::Taken(options.address),
        _ => Error::Listen { place: options.address.to_string(), source },
    })?;
    let address = tcp.local_addr()?.as_socket().unwrap_or(options.address);
    let mut listeners = vec![ServerListener { socket: tcp, name: address.to_string() }];
    if let Some(path) = &options.unix_socket {
        let socket = SockAddr::unix(path).and_then(|address| listen(&address));
        let socket = socket.map_err(|source| Error::Listen { place: path.display().to_string(), source })?;
        listeners.push(ServerListener { socket, name: format!("{}:0", path.display()) });
    }
    let unix_file = options.unix_socket.map(SocketFile);
    let poll = Poll::new()?;
    let waker = Waker::new(poll.registry(), WAKER)?;
    let stop = Arc::new(StopSignal::default());
    let mut config =
        ServerParameters::new(address.port(), options.password.as_ref().map_or("", Password::reveal));
    if member.is_some() {
        config.join_cluster();
    }
    let seed = options.seed;
    let thread = std::thread::Builder::new().name("demo".to_owned()).spawn({
        let stop = Arc::clone(&stop);
        move || {
            let script = FaultScript::new(options.faults, seed);
            // The engine's clock starts here, on the server's thread.
            let mut engine = Engine::new(config, script, Arc::clone(&stop), seed);
            engine.state.member = member.map(Arc::new);
            Ok(EventLoop::new(poll, listeners, engine, stop)?.run()?)
        }
    })?;
    let addresses = vec![address];
    Ok(Handle { address, addresses, _unix_file: unix_file, stop, waker: Some(waker), thread: Some(thread) })
}

fn listen(address: &SockAddr) -> io::Result<Socket> {
    let socket = Socket::new(address.domain(), Type::STREAM, None)?;
    // Otherwise, the old connections of a server that has just stopped would block its port for a minute.
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)?;
    Ok(socket)
}

/// The file of a unix socket; dropping this value removes the file.
#[derive(Debug)]
pub(super) struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        // If the file is already removed, nothing is left to do.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The handle of a running server or cluster. Dropping the handle stops the server, or all nodes of the cluster.
pub struct Handle {
    /// The address of the server, or of the cluster's first node.
    pub address: SocketAddr,
    /// The addresses of all nodes: first all primaries, then the first replica of each primary, then the second
    /// replicas, and so on. A single server has one address.
    pub addresses: Vec<SocketAddr>,
    pub(super) _unix_file: Option<SocketFile>,
    pub(super) stop: Arc<StopSignal>,
    pub(super) waker: Option<Waker>,
    pub(super) thread: Option<JoinHandle<Result<(), Error>>>,
}

impl Handle {
    /// Returns whether the server or the cluster is still running.
    pub fn is_running(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// Stops the server or the cluster: closes its connections, and waits until its thread has ended.
    ///
    /// # Errors
    /// Fails if the server or a node had failed before.
    pub fn stop(mut self) -> Result<(), Error> {
        self.end()
    }

    fn end(&mut self) -> Result<(), Error> {
        self.stop.request();
        // If the poll is gone, the thread has ended already.
        let _ = self.waker.as_ref().map(Waker::wake);
        self.thread.take().map_or(Ok(()), |thread| thread.join().unwrap_or(Err(Error::Panicked)))
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // A caller that needs the result calls `stop`.
        let _ = self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_address_is_named() {
        let first = start(Options::default()).unwrap();
        let second = start(Options { address: first.address, ..Options::default() });
        assert_eq!(
            second.err().map(|error| error.to_string()),
            Some(format!("{} is taken: another server listens there", first.address))
        );
        first.stop().unwrap();
    }
}
