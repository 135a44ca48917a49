//! Turns the options of an imitated tool into the target of the load. It formats addresses and errors as this
//! tool does.

use std::{io, net::IpAddr, path::PathBuf, sync::Arc};

use clap::Args;

use super::{numbers::checked, options::NO_NAMES};
use crate::{
    endpoint::{
        Address, ClientCertificate, Cluster, Credentials, DEFAULT_HOST, DEFAULT_PORT, ParsedUri, Password,
        Resolver, Target, Tls, TlsError, TlsSettings, Trust, UriError, parse_uri,
    },
    protocol::{Dialect, GreetingCommand},
    untrusted,
};

/// The options for the server that the tools have in common, and the values of their other options for the server.
#[derive(Args, Debug, Clone, Default)]
pub struct ServerOptions {
    /// Enable TLS transport security
    #[arg(id = "is_tls", long = "tls")]
    pub is_tls: bool,
    /// Server name indication for TLS
    #[arg(long, value_name = "HOST")]
    sni: Option<String>,
    /// Use this bundle of CAs for TLS (default: the system's CAs)
    #[arg(long, value_name = "FILE")]
    cacert: Option<PathBuf>,
    /// Use this client certificate for TLS
    #[arg(long = "cert", value_name = "FILE")]
    pub certificate: Option<PathBuf>,
    /// Use this private key for TLS
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
    /// Divide the keys among several servers. Give each server with its own -u. redyno uses libmemcached's consistent
    /// hash
    #[arg(long, value_name = "ketama", value_parser = checked(ketama, "must be ketama."))]
    hash: Option<String>,
    #[arg(skip)]
    pub host: Option<String>,
    #[arg(skip)]
    pub port: Option<u16>,
    #[arg(skip)]
    pub socket: Option<PathBuf>,
    /// Whether to use only the IPv6 addresses of the host, or only its IPv4 addresses.
    #[arg(skip)]
    pub is_ipv6: Option<bool>,
    #[arg(skip)]
    pub user: Option<String>,
    #[arg(skip)]
    pub password: Option<String>,
    #[arg(skip)]
    pub db: i64,
    #[arg(skip)]
    pub tls: TlsSettings,
    /// The parsed URIs, in their order.
    #[arg(skip)]
    uris: Vec<ParsedUri>,
}

fn ketama(text: &str) -> Option<String> {
    Some(text.to_owned()).filter(|name| name == "ketama")
}

/// The error for `--hash` if only some of the URIs request TLS.
const SOME_TLS: &str = "--hash needs TLS for all servers or for none; give all URIs the same scheme";

impl ServerOptions {
    /// Takes the values of a URI, and returns its dialect (the protocol of the server). For missing values in the URI,
    /// earlier options stay valid, as in the other tools.
    ///
    /// # Errors
    /// Fails if the URI is invalid.
    pub fn take_uri(&mut self, text: &str) -> Result<Dialect, String> {
        if text.starts_with('@') {
            return Err(format!("{text}{NO_NAMES}"));
        }
        let parsed = parse_uri(text).map_err(|error| error.to_string())?;
        self.uris.push(parsed.clone());
        match parsed.target.address {
            Address::Tcp { host, port } => {
                let (names_host, names_port, names_db) = named_parts(text);
                self.host = self.host.take().filter(|_| !names_host).or(Some(host));
                self.port = self.port.filter(|_| !names_port).or(Some(port));
                self.db = if names_db { parsed.target.db.into() } else { self.db };
            }
            Address::Unix(path) => {
                self.socket = Some(path);
                self.db = if text.contains('?') { parsed.target.db.into() } else { self.db };
            }
            Address::Service(_) => return Err(UriError::Sentinels.to_string()),
        }
        if let Some(Credentials { user, password }) = parsed.target.credentials {
            (self.user, self.password) = (user, Some(password.reveal().to_owned()));
        }
        self.is_tls |= parsed.tls;
        Ok(parsed.target.dialect)
    }

    /// Returns whether the servers of all URIs share the load by consistent hash (`--hash ketama`).
    pub fn is_ring(&self) -> bool {
        self.hash.is_some()
    }

    /// Sets the trusted certificates. With `is_unverified`, any certificate is trusted. Otherwise, certificates of the
    /// CAs in `--cacert` and in this directory are trusted.
    pub fn settle_tls(&mut self, is_unverified: bool, directory: Option<PathBuf>) {
        self.tls.trust = match (self.cacert.clone(), directory) {
            _ if is_unverified => Trust::Anybody,
            (None, None) => Trust::System,
            (file, directory) => Trust::These { file, directory },
        };
        self.tls.server_name = self.sni.clone();
    }

    /// Returns whether the host is an IP address of the family that `-4` or `-6` excludes.
    pub fn is_of_other_family(&self) -> bool {
        let ip = self.host.as_ref().and_then(|host| host.parse::<IpAddr>().ok());
        ip.zip(self.is_ipv6).is_some_and(|(ip, is_ipv6)| ip.is_ipv6() != is_ipv6)
    }

    /// Returns the server as a target with this dialect.
    ///
    /// # Errors
    /// Fails if a file for TLS is invalid.
    pub fn target(&self, dialect: Dialect) -> Result<Target, TlsError> {
        // The default host is an IPv4 address.
        let usual = if self.is_ipv6 == Some(true) { "localhost" } else { DEFAULT_HOST };
        let host = self.host.clone().unwrap_or_else(|| usual.to_owned());
        let tcp = Address::Tcp { host, port: self.port.unwrap_or(DEFAULT_PORT) };
        let address = self.socket.clone().map_or(tcp, Address::Unix);
        let client = self.certificate.clone().zip(self.key.clone());
        let client = client.map(|(certificate, key)| ClientCertificate { certificate, key });
        // The other tools check the CA of a certificate, but not the name in it.
        let settings = TlsSettings { client, ca_only: true, ..self.tls.clone() };
        let tls = self.is_tls.then(|| Tls::new(settings, &address)).transpose()?;
        let password = self.password.clone().map(Password::new);
        let credentials = password.map(|password| Credentials { user: self.user.clone(), password });
        // The server refuses the highest number with the same words as an impossible number.
        let db = u32::try_from(self.db).unwrap_or(i32::MAX as u32);
        let resolver = self.is_ipv6.map(Resolver::of_family).unwrap_or_default();
        Ok(Target { address, credentials, db, dialect, tls, resolver, ..Target::default() })
    }

    /// Returns the servers of all URIs as a ring. Returns `None` without `--hash`. All servers get the other options of
    /// `target`.
    ///
    /// # Errors
    /// Fails if the servers cannot share a load. The error is a message.
    pub fn ring(&self, target: &Target) -> Result<Option<Arc<Cluster>>, String> {
        if !self.is_ring() {
            return Ok(None);
        }
        // The URIs are compared before the other options apply to all servers.
        let named: Vec<_> = self.uris.iter().map(|uri| uri.target.clone()).collect();
        Cluster::of_ring(&named).map_err(|error| error.to_string())?;
        if self.uris.iter().any(|uri| uri.tls != self.uris[0].tls) {
            return Err(SOME_TLS.to_owned());
        }
        let servers: Result<Vec<_>, _> = named.into_iter().map(|named| target.at(named.address)).collect();
        let servers = servers.map_err(|error| error.to_string())?;
        Cluster::of_ring(&servers).map(|ring| Some(Arc::new(ring))).map_err(|error| error.to_string())
    }
}

/// Returns whether a valid URI over TCP names a host, a port and a database.
fn named_parts(uri: &str) -> (bool, bool, bool) {
    let rest = uri.split_once("://").map_or("", |(_, rest)| rest);
    let (authority, db) = rest.split_once('/').unwrap_or((rest, ""));
    let host_port = authority.rsplit('@').next().unwrap_or_default();
    // The colons of an IPv6 address are before its bracket.
    let names_port = host_port.rsplit(']').next().is_some_and(|after| after.contains(':'));
    (!host_port.is_empty() && !host_port.starts_with(':'), names_port, !db.is_empty())
}

/// Returns the address, in the benchmarks' format.
pub fn address_text(target: &Target) -> String {
    match &target.address {
        Address::Tcp { host, port } => format!("{}:{port}", untrusted::text(host)),
        Address::Unix(path) => untrusted::path(path),
        service @ Address::Service(_) => service.to_string(),
    }
}

/// Returns an error of the operating system as text, without the error number.
pub fn os_error_text(error: &io::Error) -> String {
    without_number(&error.to_string())
}

/// Returns an error text without the number at its end.
pub fn without_number(text: &str) -> String {
    text.split(" (os error").next().unwrap_or(text).to_owned()
}

/// Splits an error message into the step of the connection that the server refused (such as AUTH), if redyno has added
/// one to the message, and the server's own text.
pub fn without_step(dialect: Dialect, message: &str) -> (Option<GreetingCommand>, &str) {
    let steps = [
        GreetingCommand::Auth,
        GreetingCommand::Tracking,
        GreetingCommand::Select,
        GreetingCommand::Hello,
        GreetingCommand::Connection,
    ];
    let split = |step: GreetingCommand| {
        Some((step, message.strip_prefix(&format!("{} was refused: ", dialect.named(step)))?))
    };
    steps.into_iter().find_map(split).map_or((None, message), |(step, error)| (Some(step), error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_changes_only_the_values_that_it_names() {
        let after = |uri: &str| {
            let (host, port) = (Some("given".to_owned()), Some(7));
            let mut server = ServerOptions { host, port, db: 3, ..ServerOptions::default() };
            server.take_uri(uri).unwrap();
            (server.host.unwrap(), server.port.unwrap(), server.db)
        };
        let cases = [
            ("redis://h:9/4", ("h", 9, 4)),
            ("redis://h:9/0", ("h", 9, 0)),
            ("redis://h:9/", ("h", 9, 3)),
            ("redis://ann:pw@h", ("h", 7, 3)),
            ("redis://[::1]", ("::1", 7, 3)),
            ("redis://[::1]:9", ("::1", 9, 3)),
            ("redis:///4", ("given", 7, 4)),
            ("redis://pw@:9", ("given", 9, 3)),
            ("unix:///run/r.sock", ("given", 7, 3)),
            ("unix:///run/r.sock?db=0", ("given", 7, 0)),
        ];
        for (uri, (host, port, db)) in cases {
            assert_eq!(after(uri), (host.to_owned(), port, db), "{uri}");
        }
        let mut server = ServerOptions::default();
        server.take_uri("memcached://h").unwrap();
        assert_eq!((server.port, server.db), (Some(11211), 0));
    }
}
