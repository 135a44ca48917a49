//! The address at which redyno serves metrics (`--metrics`).

use std::{
    fmt, io,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    os::unix::{fs::FileTypeExt as _, net::UnixListener},
    path::{Path, PathBuf},
    str::FromStr,
};

use crate::untrusted;

/// An address to listen on: an IP address with a port, or a unix socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MetricsAddress {
    /// An IP address and a port.
    Tcp(SocketAddr),
    /// The path of a unix socket.
    Unix(PathBuf),
}

impl FromStr for MetricsAddress {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WRONG: &str = "it must be a port, an IP and a port such as 127.0.0.1:9121, or unix:PATH";
        match text.strip_prefix("unix:") {
            Some("") => Err(WRONG),
            Some(path) => Ok(Self::Unix(path.into())),
            None => {
                let port =
                    text.trim_start_matches(':').parse().map(|port| (Ipv4Addr::LOCALHOST, port).into());
                port.or_else(|_| text.parse()).map(Self::Tcp).map_err(|_| WRONG)
            }
        }
    }
}

impl fmt::Display for MetricsAddress {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "{address}"),
            Self::Unix(path) => write!(f, "unix:{}", untrusted::path(path)),
        }
    }
}

/// A listening socket.
#[derive(Debug)]
pub(super) enum MetricsListener {
    Tcp(TcpListener),
    /// A unix socket and its file.
    Unix(UnixListener, SocketFile),
}

impl MetricsListener {
    /// Returns the address with its port. Returns `None` for a unix socket.
    pub(super) fn address(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(listener) => listener.local_addr().ok(),
            Self::Unix(..) => None,
        }
    }
}

/// The file of a unix socket. Dropping this value removes the file.
#[derive(Debug)]
pub(super) struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        // Another program may have removed the file.
        let _ = std::fs::remove_file(&self.0);
    }
}

impl MetricsAddress {
    /// Listens on the address.
    ///
    /// # Errors
    /// Fails if the system refuses to listen, because the address is taken or does not belong to this machine.
    pub(super) fn listen(&self) -> io::Result<MetricsListener> {
        match self {
            Self::Tcp(address) => {
                let listener = TcpListener::bind(address)?;
                listener.set_nonblocking(true)?;
                Ok(MetricsListener::Tcp(listener))
            }
            Self::Unix(path) => {
                remove_stale(path);
                let listener = UnixListener::bind(path)?;
                listener.set_nonblocking(true)?;
                Ok(MetricsListener::Unix(listener, SocketFile(path.clone())))
            }
        }
    }
}

/// Removes the socket of a killed process, if no process listens on this socket. First checks that the file is a
/// socket, because a connection to any other file is refused as well.
fn remove_stale(path: &Path) {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket());
    let refused = std::os::unix::net::UnixStream::connect(path)
        .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
    if is_socket && refused {
        // If removing fails, `bind` reports the reason.
        let _ = std::fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_without_an_address_is_a_port_of_localhost() {
        for (text, address) in [
            ("9121", "127.0.0.1:9121"),
            (":9121", "127.0.0.1:9121"),
            ("0.0.0.0:9121", "0.0.0.0:9121"),
            ("[::1]:9121", "[::1]:9121"),
            ("unix:/tmp/m.sock", "unix:/tmp/m.sock"),
        ] {
            assert_eq!(text.parse::<MetricsAddress>().unwrap().to_string(), address);
        }
        for wrong in ["", "host", "1.2.3.4", "99999", "unix:"] {
            assert!(wrong.parse::<MetricsAddress>().unwrap_err().contains("127.0.0.1:9121"), "{wrong}");
        }
    }

    #[test]
    fn the_socket_of_a_killed_process_is_replaced_and_others_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let address = MetricsAddress::Unix(folder.path().join("s"));
        let MetricsAddress::Unix(path) = &address else { panic!("a socket") };
        drop(UnixListener::bind(path).unwrap());
        let listener = address.listen().unwrap();
        assert_eq!(address.listen().unwrap_err().kind(), io::ErrorKind::AddrInUse);
        drop(listener);
        assert!(!path.exists());
        std::fs::write(path, "mine").unwrap();
        assert_eq!(address.listen().unwrap_err().kind(), io::ErrorKind::AddrInUse);
        assert_eq!(std::fs::read_to_string(path).unwrap(), "mine", "a file that is not a socket is kept");
    }
}
