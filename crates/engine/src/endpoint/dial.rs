//! Opens a connection to a server's address, and gives up at a deadline.

use std::{
    io,
    time::{Duration, Instant},
};

use rustix::event::PollFlags;

use super::{Address, Endpoint, ReachError, Target, Tls, Transport};
use crate::protocol::DialectWords;

/// Connects to the target, but does not begin the TLS handshake.
pub(super) fn dial(target: &Target, tls: Option<&Tls>, deadline: Instant) -> Result<Transport, ReachError> {
    let (address, words) = (&target.address, target.dialect.words());
    let found = resolve(target, deadline).map_err(|cause| not_found(address, cause))?;
    connect_to_any(&found, tls, deadline).map_err(|error| failed(address, words, error))
}

/// Tries to connect to one endpoint after the other, and returns the first connection. The remaining time is divided
/// equally among the endpoints that redyno has not tried yet.
pub(super) fn connect_to_any(
    found: &[Endpoint],
    tls: Option<&Tls>,
    deadline: Instant,
) -> io::Result<Transport> {
    let mut last = io::Error::other("the name resolves to nothing");
    for (tried, endpoint) in found.iter().enumerate() {
        let part = left(deadline) / u32::try_from(found.len() - tried).unwrap_or(u32::MAX);
        match connect(endpoint, tls, Instant::now() + part) {
            Err(error) => last = error,
            connected => return connected,
        }
    }
    Err(last)
}

/// Resolves the target's address to the endpoints to which a socket can connect.
pub(super) fn resolve(target: &Target, deadline: Instant) -> io::Result<Vec<Endpoint>> {
    let found = target.resolve()?.wait(left(deadline))?;
    let late = || io::Error::new(io::ErrorKind::TimedOut, "the resolver did not answer in time");
    Ok(found.ok_or_else(late)?.into())
}

fn connect(endpoint: &Endpoint, tls: Option<&Tls>, until: Instant) -> io::Result<Transport> {
    let transport = Transport::connect(endpoint, tls)?;
    while !transport.is_connected()? {
        if Instant::now() >= until {
            return Err(io::ErrorKind::TimedOut.into());
        }
        transport.wait(PollFlags::OUT, left(until));
    }
    Ok(transport)
}

/// Returns the time until `deadline`.
pub(super) fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

fn not_found(address: &Address, cause: io::Error) -> ReachError {
    match address {
        Address::Tcp { host, .. } => ReachError::HostNotFound { host: host.clone(), cause },
        Address::Unix(_) | Address::Service(_) => ReachError::Io { address: address.clone(), cause },
    }
}

fn failed(address: &Address, words: &'static DialectWords, cause: io::Error) -> ReachError {
    match (cause.kind(), address) {
        (io::ErrorKind::NotFound, Address::Unix(path)) => {
            ReachError::NoSuchSocket { path: path.clone(), words }
        }
        (io::ErrorKind::PermissionDenied, Address::Unix(path)) => {
            ReachError::SocketForbidden { path: path.clone(), words }
        }
        // The backlog is full: a process listens, but does not accept.
        (io::ErrorKind::WouldBlock, Address::Unix(_)) => ReachError::Silent(address.clone()),
        (io::ErrorKind::ConnectionRefused, _) => ReachError::Refused(address.clone()),
        (io::ErrorKind::TimedOut, _) => ReachError::ConnectTimeout(address.clone()),
        _ => ReachError::Io { address: address.clone(), cause },
    }
}
