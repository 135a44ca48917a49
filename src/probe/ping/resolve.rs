//! From a target's address to endpoints, without ever blocking the probe: a name server that hangs must not
//! keep ticks from being reported.

use std::{
    collections::VecDeque,
    io,
    net::{IpAddr, SocketAddr, ToSocketAddrs},
    sync::mpsc::{Receiver, TryRecvError, channel},
    thread::Builder,
};

use crate::target::{Address, Endpoint};

use super::failure::Failure;

/// A search for endpoints.
#[derive(Debug)]
pub(super) enum Resolution {
    /// Found.
    Done(VecDeque<Endpoint>),
    /// Asked for in another thread.
    Pending { host: String, answer: Receiver<io::Result<VecDeque<Endpoint>>> },
}

impl Resolution {
    /// Begins a search. Addresses in figures and unix sockets are found at once; a name is looked up by a thread
    /// `resolve`, which is left to itself when its answer is no longer wanted: the system's resolver cannot be
    /// interrupted, only outwaited.
    pub(super) fn start(address: &Address) -> Result<Self, Failure> {
        let (host, port) = match address {
            Address::Unix(path) => return Ok(Self::Done([Endpoint::Unix(path.clone())].into())),
            Address::Tcp { host, port } => (host.clone(), *port),
        };
        if let Ok(ip) = host.parse::<IpAddr>() {
            return Ok(Self::Done([Endpoint::Tcp(SocketAddr::new(ip, port))].into()));
        }
        let (sender, answer) = channel();
        let name = host.clone();
        let look_up = move || {
            let found = (name.as_str(), port).to_socket_addrs();
            // Nobody waits for it any more when it took too long.
            let _ = sender.send(found.map(|addresses| addresses.map(Endpoint::Tcp).collect()));
        };
        Builder::new().name("resolve".to_owned()).spawn(look_up)?;
        Ok(Self::Pending { host, answer })
    }

    /// The endpoints, at least one, if they are known by now.
    pub(super) fn poll(&mut self) -> Result<Option<VecDeque<Endpoint>>, Failure> {
        let (host, answer) = match self {
            Self::Done(endpoints) => return Ok(Some(std::mem::take(endpoints))),
            Self::Pending { host, answer } => (host, answer),
        };
        let error = match answer.try_recv() {
            Err(TryRecvError::Empty) => return Ok(None),
            Ok(Ok(endpoints)) if !endpoints.is_empty() => return Ok(Some(endpoints)),
            Ok(Ok(_)) => io::Error::other("the name has no address"),
            Ok(Err(error)) => error,
            Err(TryRecvError::Disconnected) => io::Error::other("the lookup ended without an answer"),
        };
        Err(Failure::Resolve { host: host.clone(), source: error })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(host: &str) -> Resolution {
        Resolution::start(&Address::Tcp { host: host.to_owned(), port: 6379 }).unwrap()
    }

    #[test]
    fn addresses_in_figures_need_no_lookup() {
        for host in ["127.0.0.1", "::1"] {
            assert_eq!(start(host).poll().unwrap().unwrap().len(), 1);
        }
    }

    #[test]
    fn a_name_is_looked_up_by_another_thread() {
        let mut resolution = start("localhost");
        let endpoints = loop {
            if let Some(endpoints) = resolution.poll().unwrap() {
                break endpoints;
            }
            std::thread::yield_now();
        };
        assert!(endpoints.iter().all(|e| matches!(e, Endpoint::Tcp(address) if address.ip().is_loopback())));
    }
}
