//! Looks up host names with a time limit. Without a limit, a name server that hangs would stop the measurement.

use std::{
    collections::VecDeque,
    fmt, io,
    net::{IpAddr, SocketAddr, ToSocketAddrs},
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, channel},
    },
    thread::Builder,
    time::Duration,
};

use super::{Address, Endpoint};

/// A resolver of host names. Clones share their state.
#[derive(Clone, Default)]
pub struct Resolver(Option<Arc<LookUp>>);

type LookUp = dyn Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync;

impl Resolver {
    /// Creates a resolver that calls `look_up` instead of the system's resolver. `look_up` may block.
    pub fn new(look_up: impl Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(look_up)))
    }

    /// Creates a resolver that returns only the IPv6 addresses of a name, or only its IPv4 addresses.
    pub fn of_family(is_ipv6: bool) -> Self {
        Self::new(move |host, port| {
            let all = (host, port).to_socket_addrs()?;
            let found: Vec<_> = all.filter(|address| address.is_ipv6() == is_ipv6).collect();
            let family = if is_ipv6 { "IPv6" } else { "IPv4" };
            let missing = || io::Error::other(format!("the name has no {family} address"));
            (!found.is_empty()).then_some(found).ok_or_else(missing)
        })
    }

    /// Begins to resolve `address`. IP addresses and unix sockets need no lookup. A host name is looked up by a thread
    /// named `resolve`. If the answer is no longer needed, redyno abandons this thread, because the system's resolver
    /// cannot be interrupted.
    ///
    /// # Errors
    /// Fails if the system cannot start a thread.
    pub fn start(&self, address: &Address) -> io::Result<Resolution> {
        let (host, port) = match address {
            Address::Unix(path) => return Ok(Resolution::Done([Endpoint::Unix(path.clone())].into())),
            Address::Tcp { host, port } => (host.clone(), *port),
            Address::Service(_) => {
                return Err(io::Error::other("only Sentinels know the primary of a service"));
            }
        };
        if let Ok(ip) = host.parse::<IpAddr>() {
            return Ok(Resolution::Done([Endpoint::Tcp(SocketAddr::new(ip, port))].into()));
        }
        let resolver = self.clone();
        Resolution::of(move || resolver.look_up(&host, port))
    }

    fn look_up(&self, host: &str, port: u16) -> io::Result<VecDeque<Endpoint>> {
        let found = match &self.0 {
            None => (host, port).to_socket_addrs()?.collect(),
            Some(look_up) => look_up(host, port)?,
        };
        Ok(found.into_iter().map(Endpoint::Tcp).collect())
    }
}

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(if self.0.is_none() { "Resolver(the system's)" } else { "Resolver(…)" })
    }
}

impl PartialEq for Resolver {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(mine), Some(others)) => Arc::ptr_eq(mine, others),
            _ => false,
        }
    }
}

impl Eq for Resolver {}

/// A lookup of endpoints.
pub enum Resolution {
    /// The lookup is finished.
    Done(VecDeque<Endpoint>),
    /// The lookup is in progress in another thread.
    Pending(Receiver<io::Result<VecDeque<Endpoint>>>),
}

impl Resolution {
    /// Begins a lookup on a thread named `resolve`.
    pub(super) fn of(
        look_up: impl FnOnce() -> io::Result<VecDeque<Endpoint>> + Send + 'static,
    ) -> io::Result<Self> {
        let (sender, answer) = channel();
        // If the lookup took too long, the receiver is gone.
        Builder::new().name("resolve".to_owned()).spawn(move || drop(sender.send(look_up())))?;
        Ok(Self::Pending(answer))
    }

    /// Returns at least one endpoint, or `None` if the lookup takes longer than `limit`. A second call does not return
    /// the same endpoints again.
    ///
    /// # Errors
    /// Fails if the name resolves to nothing.
    pub fn wait(&mut self, limit: Duration) -> io::Result<Option<VecDeque<Endpoint>>> {
        let answer = match self {
            Self::Done(endpoints) => return Ok(Some(std::mem::take(endpoints))),
            Self::Pending(answer) => answer,
        };
        match answer.recv_timeout(limit) {
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Ok(Ok(endpoints)) if !endpoints.is_empty() => Ok(Some(endpoints)),
            Ok(Ok(_)) => Err(io::Error::other("the name has no address")),
            Ok(Err(error)) => Err(error),
            Err(RecvTimeoutError::Disconnected) => {
                Err(io::Error::other("the lookup ended without an answer"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(host: &str) -> Resolution {
        let address = Address::Tcp { host: host.to_owned(), port: 6379 };
        Resolver::default().start(&address).unwrap()
    }

    #[test]
    fn ip_addresses_need_no_lookup() {
        for host in ["127.0.0.1", "::1"] {
            assert_eq!(start(host).wait(Duration::ZERO).unwrap().unwrap().len(), 1);
        }
    }

    #[test]
    fn a_name_is_looked_up_by_another_thread() {
        let endpoints = start("localhost").wait(Duration::from_secs(60)).unwrap().unwrap();
        assert!(endpoints.iter().all(|e| matches!(e, Endpoint::Tcp(address) if address.ip().is_loopback())));
    }
}
