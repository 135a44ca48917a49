//! A target's address, resolved: what a socket connects to.

use std::{io, net::SocketAddr, net::ToSocketAddrs, path::PathBuf};

use super::Address;

/// Where a connection leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// A resolved TCP address.
    Tcp(SocketAddr),
    /// A unix socket.
    Unix(PathBuf),
}

impl Endpoint {
    /// All endpoints of `address`, at least one. A name is looked up, for which this waits.
    ///
    /// # Errors
    /// When the name resolves to nothing.
    pub fn resolve(address: &Address) -> io::Result<Vec<Self>> {
        match address {
            Address::Unix(path) => Ok(vec![Self::Unix(path.clone())]),
            Address::Tcp { host, port } => {
                let found: Vec<_> = (host.as_str(), *port).to_socket_addrs()?.map(Self::Tcp).collect();
                if found.is_empty() { Err(io::Error::other("the name has no address")) } else { Ok(found) }
            }
        }
    }
}
