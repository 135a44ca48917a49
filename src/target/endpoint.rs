//! A target's address, resolved: what a socket connects to.

use std::{net::SocketAddr, path::PathBuf};

/// Where a connection leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// A resolved TCP address.
    Tcp(SocketAddr),
    /// A unix socket.
    Unix(PathBuf),
}
