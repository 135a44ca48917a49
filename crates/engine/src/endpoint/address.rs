//! The address of a server, before and after the lookup of its host name, and the credentials for the server.

use std::{fmt, net::SocketAddr, path::PathBuf};

use crate::{
    protocol::{Dialect, HttpSite},
    untrusted,
};

/// Returns a word, quoted for a shell.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The address on which a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A TCP host and port.
    Tcp {
        /// The host name or the IP address. An IPv6 address has no brackets here.
        host: String,
        /// The port, 1 to 65535.
        port: u16,
    },
    /// A unix socket.
    Unix(PathBuf),
    /// The primary of a service that Sentinels watch. Before each connection, redyno asks the Sentinels for the address
    /// of the primary.
    Service(Service),
}

/// A service that Sentinels watch: a primary and its replicas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    /// The name of the service, such as `mymaster`.
    pub name: String,
    /// Hosts and ports of the Sentinels, at least one.
    pub sentinels: Vec<(String, u16)>,
}

/// The default host.
pub const DEFAULT_HOST: &str = "127.0.0.1";
/// The default port.
pub const DEFAULT_PORT: u16 = 6379;

impl Default for Address {
    fn default() -> Self {
        Self::Tcp { host: DEFAULT_HOST.to_owned(), port: DEFAULT_PORT }
    }
}

impl Address {
    /// Returns whether the address is a host name or a Sentinel service. The server behind such an address
    /// may change.
    pub fn is_name(&self) -> bool {
        match self {
            Self::Tcp { host, .. } => host.parse::<std::net::IpAddr>().is_err(),
            Self::Unix(_) => false,
            Self::Service(_) => true,
        }
    }

    /// Returns whether the text of the address shows that the server is on this machine.
    pub fn is_loopback(&self) -> bool {
        match self {
            Self::Tcp { host, .. } => {
                host.parse().map_or(host == "localhost", |ip: std::net::IpAddr| ip.is_loopback())
            }
            Self::Unix(_) => true,
            Self::Service(_) => false,
        }
    }

    /// Returns the addresses to which redyno connects first. For a service, returns the Sentinels of the
    /// service. Otherwise, returns the address itself.
    pub fn first_servers(&self) -> Vec<Self> {
        match self {
            Self::Service(service) => {
                let sentinels = service.sentinels.iter().cloned();
                sentinels.map(|(host, port)| Self::Tcp { host, port }).collect()
            }
            address => vec![address.clone()],
        }
    }

    /// Formats the address as command line options of redyno: `-h 127.0.0.1 -p 6379`. redis-cli accepts the same
    /// options, except the options of a Sentinel service.
    pub fn options(&self) -> String {
        match self {
            Self::Tcp { host, port } => format!("-h {} -p {port}", quoted(host)),
            Self::Unix(path) => format!("-s {}", quoted(&untrusted::path(path))),
            Self::Service(_) => format!("-u {}", self.uri(Dialect::Resp2)),
        }
    }

    /// Formats the address and a database as options of redyno: `-h 127.0.0.1 -p 6379 --db 5`.
    pub fn options_in(&self, db: u32) -> String {
        match (db, self) {
            (0, _) => self.options(),
            (db, Self::Service(_)) => format!("{}/{db}", self.options()),
            (db, _) => format!("{} --db {db}", self.options()),
        }
    }

    /// Formats the address as a URI for this dialect, without a user: `memcached://127.0.0.1:11211`.
    pub fn uri(&self, dialect: Dialect) -> String {
        let (scheme, path) = (dialect.scheme(false), dialect.site().map_or("", HttpSite::path));
        match self {
            Self::Tcp { .. } => format!("{scheme}://{self}{path}"),
            Self::Unix(path) => {
                format!("{scheme}+unix://{}", encoded(path.as_os_str().as_encoded_bytes(), b"/"))
            }
            Self::Service(Service { name, sentinels }) => {
                let sentinels: Vec<_> = sentinels.iter().map(|(host, port)| host_port(host, *port)).collect();
                format!("{scheme}+sentinel://{}/{}", sentinels.join(","), encoded(name.as_bytes(), b""))
            }
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Tcp { host, port } => f.write_str(&host_port(host, *port)),
            Self::Unix(path) => f.write_str(&untrusted::path(path)),
            Self::Service(Service { name, sentinels }) => {
                let sentinel =
                    sentinels.first().map_or_else(String::new, |(host, port)| host_port(host, *port));
                write!(f, "{} (Sentinel {sentinel})", untrusted::text(name))
            }
        }
    }
}

/// Encodes bytes for a URI. `decoded` converts the result back to these bytes. A shell reads the result as one word.
/// Letters, digits, `-`, `.`, `_`, `~` and the characters in `plain` stay as they are.
fn encoded(bytes: &[u8], plain: &[u8]) -> String {
    let is_plain =
        |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || plain.contains(&byte);
    let written = |byte: &u8| match is_plain(*byte) {
        true => char::from(*byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    bytes.iter().map(written).collect()
}

fn host_port(host: &str, port: u16) -> String {
    let host = untrusted::text(host);
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

/// An address for a socket: a target's address after the lookup of its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// A resolved TCP address.
    Tcp(SocketAddr),
    /// A unix socket.
    Unix(PathBuf),
}

/// redyno's user and password on a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The ACL user. `None` means the default user.
    pub user: Option<String>,
    /// The user's password.
    pub password: Password,
}

/// A password. `Debug` output hides the text of the password.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(String);

impl Password {
    /// Creates a password with this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the password's text. Use the text only for authentication on a connection.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl From<String> for Password {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("Password(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_loopback() {
        let of = |host: &str| Address::Tcp { host: host.to_owned(), port: 1 }.is_loopback();
        assert!(["127.0.0.1", "127.9.9.9", "::1", "localhost"].into_iter().all(of));
        assert!(!["10.0.0.1", "0.0.0.0", "::", "localhost.example.com", "h"].into_iter().any(of));
    }

    #[test]
    fn a_password_is_not_in_what_debug_prints() {
        let credentials = Credentials { user: None, password: Password::new("s3cret") };
        assert!(!format!("{credentials:?}").contains("s3cret"));
    }

    #[test]
    fn a_service_is_written_with_its_name_and_its_sentinels() {
        let sentinels = vec![("a".to_owned(), 1), ("::1".to_owned(), 2)];
        let address = Address::Service(Service { name: "main".to_owned(), sentinels });
        assert_eq!(address.to_string(), "main (Sentinel a:1)");
        assert_eq!(address.options_in(5), "-u redis+sentinel://a:1,[::1]:2/main/5");
    }

    #[test]
    fn options_are_quoted_for_a_shell() {
        let path = |text: &str| Address::Unix(text.into()).options();
        assert_eq!([path("/run/a.sock"), path("/it's")], ["-s /run/a.sock", r"-s '/it'\''s'"]);
        let host = Address::Tcp { host: "::1".to_owned(), port: 7 };
        assert_eq!(host.options(), "-h ::1 -p 7");
    }

    #[test]
    fn an_ipv6_address_is_written_in_brackets() {
        let address = Address::Tcp { host: "::1".into(), port: 7000 };
        assert_eq!(address.to_string(), "[::1]:7000");
    }
}
