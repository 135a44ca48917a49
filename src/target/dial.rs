//! Opens one blocking socket to an address before a deadline.

use std::{
    io,
    net::SocketAddr,
    path::Path,
    time::{Duration, Instant},
};

use socket2::{Domain, SockAddr, Socket, Type};

use super::{Address, Endpoint, ReachError, Resolution};

/// Connects, and says which of the host's addresses answered; a unix socket has none.
pub(super) fn dial(address: &Address, deadline: Instant) -> Result<(Socket, Option<SocketAddr>), ReachError> {
    match address {
        Address::Unix(path) => dial_unix(path, address, deadline).map(|socket| (socket, None)),
        Address::Tcp { host, .. } => {
            let found = resolve(address, deadline)
                .map_err(|cause| ReachError::HostNotFound { host: host.clone(), cause })?;
            dial_each(&found, address, deadline)
        }
    }
}

fn resolve(address: &Address, deadline: Instant) -> io::Result<Vec<SocketAddr>> {
    let found = Resolution::start(address)?.wait(left(deadline))?;
    let late = || io::Error::new(io::ErrorKind::TimedOut, "the resolver did not answer in time");
    let tcp = |endpoint| match endpoint {
        Endpoint::Tcp(peer) => Some(peer),
        Endpoint::Unix(_) => None,
    };
    Ok(found.ok_or_else(late)?.into_iter().filter_map(tcp).collect())
}

/// What is left until `deadline`; at least a millisecond, since a timeout of 0 means none to the system.
pub(super) fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1))
}

fn dial_unix(path: &Path, address: &Address, deadline: Instant) -> Result<Socket, ReachError> {
    let dial = || {
        let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
        // With a limit, since a hung server with a full backlog blocks a plain connect for ever.
        socket.connect_timeout(&SockAddr::unix(path)?, left(deadline))?;
        Ok(socket)
    };
    dial().map_err(|cause: io::Error| match cause.kind() {
        io::ErrorKind::NotFound => ReachError::NoSuchSocket(path.to_owned()),
        io::ErrorKind::PermissionDenied => ReachError::SocketForbidden(path.to_owned()),
        // The backlog is full: somebody listens and does not accept.
        io::ErrorKind::WouldBlock => ReachError::Silent(address.clone()),
        _ => from_io(address, cause),
    })
}

/// Tries one address after the other and gives each a fair part of the time that is left.
fn dial_each(
    found: &[SocketAddr],
    address: &Address,
    deadline: Instant,
) -> Result<(Socket, Option<SocketAddr>), ReachError> {
    let mut last = io::Error::other("the name resolves to nothing");
    for (tried, peer) in found.iter().enumerate() {
        let part = left(deadline) / u32::try_from(found.len() - tried).unwrap_or(u32::MAX);
        let dial = || {
            let socket = Socket::new(Domain::for_address(*peer), Type::STREAM, None)?;
            socket.connect_timeout(&SockAddr::from(*peer), part.max(Duration::from_millis(1)))?;
            socket.set_tcp_nodelay(true)?;
            Ok(socket)
        };
        match dial() {
            Ok(socket) => return Ok((socket, Some(*peer))),
            Err(error) => last = error,
        }
    }
    Err(from_io(address, last))
}

fn from_io(address: &Address, cause: io::Error) -> ReachError {
    match cause.kind() {
        io::ErrorKind::ConnectionRefused => ReachError::Refused(address.clone()),
        io::ErrorKind::TimedOut => ReachError::ConnectTimeout(address.clone()),
        _ => ReachError::Io { address: address.clone(), cause },
    }
}
