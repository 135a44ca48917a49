//! The user's TLS settings, and the TLS configuration that redyno creates from these settings and their
//! files.

use std::{fmt, net::IpAddr, path::PathBuf, sync::Arc};

use rustls::{ClientConfig, ClientConnection, client::Resumption, pki_types::ServerName};

use super::{Ciphers, ClientCertificate, TlsError, files, trust};
use crate::endpoint::Address;

/// The warning if the server's certificate is not verified.
pub const UNVERIFIED: &str = "--insecure: encrypted, but the server's identity is not verified";

/// The rule that determines which servers are trusted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Trust {
    /// Servers with a certificate that was signed by a CA of the system.
    #[default]
    System,
    /// Servers with a certificate that was signed by a CA from this file or directory.
    These {
        /// A file of PEM certificates.
        file: Option<PathBuf>,
        /// A directory of files with PEM certificates.
        directory: Option<PathBuf>,
    },
    /// Any server is trusted. The traffic is encrypted, but the identity of the server is not verified.
    Anybody,
}

/// The settings of TLS.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TlsSettings {
    /// The rule that determines which servers are trusted.
    pub trust: Trust,
    /// The client certificate.
    pub client: Option<ClientCertificate>,
    /// The server name. By default, the server name is the host of the address. redyno sends this name to the server
    /// (SNI). The server's certificate must contain this name.
    pub server_name: Option<String>,
    /// Whether a trusted CA's signature is enough. If true, redyno does not check the name in the certificate. redyno
    /// then sends a name to the server only if `server_name` is set.
    pub ca_only: bool,
    /// The cipher suites that are offered to the server.
    pub ciphers: Ciphers,
}

/// A TLS configuration, with which connections can be opened. Clones share their state.
#[derive(Clone)]
pub struct Tls {
    settings: TlsSettings,
    server_name: ServerName<'static>,
    config: Arc<ClientConfig>,
}

impl Tls {
    /// Creates the configuration for the server at `address`. Reads all files that `settings` names.
    ///
    /// # Errors
    /// Fails if a file cannot be read or is invalid, if there is no trusted CA, or if TLS cannot be used at this
    /// address.
    pub fn new(settings: TlsSettings, address: &Address) -> Result<Self, TlsError> {
        let server_name = server_name(&settings, address)?;
        let provider = Arc::new(settings.ciphers.provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| TlsError::Library(error.to_string()))?;
        let roots = match &settings.trust {
            Trust::System => Some(trust::system()?),
            Trust::These { file, directory } => Some(trust::these(file.as_deref(), directory.as_deref())?),
            Trust::Anybody => None,
        };
        let builder = match roots {
            Some(roots) if !settings.ca_only => builder.with_root_certificates(roots),
            roots => builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(trust::AnyName { roots, provider })),
        };
        let mut config = match &settings.client {
            None => builder.with_no_client_auth(),
            Some(client) => {
                let (chain, key) = files::identity(client)?;
                let refused = |error| TlsError::client(client, &error);
                builder.with_client_auth_cert(chain, key).map_err(refused)?
            }
        };
        // Without session resumption, each new connection costs as much as the connection of a new client.
        config.resumption = Resumption::disabled();
        config.enable_sni = !settings.ca_only || settings.server_name.is_some();
        Ok(Self { settings, server_name, config: Arc::new(config) })
    }

    /// Returns whether the server's identity is verified.
    pub fn is_verified(&self) -> bool {
        self.settings.trust != Trust::Anybody
    }

    /// Returns whether the name in the server's certificate is checked.
    pub fn checks_name(&self) -> bool {
        self.is_verified() && !self.settings.ca_only
    }

    /// Returns the same configuration for the server at another address. If the settings give a server name, the name
    /// stays the same.
    ///
    /// # Errors
    /// Fails if TLS cannot be used at this address.
    pub fn at(&self, address: &Address) -> Result<Self, TlsError> {
        Ok(Self { server_name: server_name(&self.settings, address)?, ..self.clone() })
    }

    /// Returns the configuration for the TLS library, and the name that the server's certificate must have.
    pub fn connector(&self) -> (Arc<ClientConfig>, ServerName<'static>) {
        (Arc::clone(&self.config), self.server_name.clone())
    }

    /// Creates the TLS state of a new connection.
    pub(super) fn session(&self) -> Result<ClientConnection, rustls::Error> {
        ClientConnection::new(Arc::clone(&self.config), self.server_name.clone())
    }
}

fn server_name(settings: &TlsSettings, address: &Address) -> Result<ServerName<'static>, TlsError> {
    let is_checked = settings.trust != Trust::Anybody && !settings.ca_only;
    let name = match (&settings.server_name, address) {
        (_, Address::Unix(_)) => return Err(TlsError::UnixSocket),
        (None, Address::Service(_)) if is_checked => return Err(TlsError::Sentinel),
        (None, Address::Service(_)) => "sentinel",
        (Some(name), _) => name.as_str(),
        // In a link-local address, the interface after `%` is not a part of the server's name.
        (None, Address::Tcp { host, .. }) => match host.split_once('%') {
            Some((ip, _)) if ip.parse::<IpAddr>().is_ok() => ip,
            _ => host,
        },
    };
    ServerName::try_from(name.to_owned()).map_err(|_| TlsError::ServerName(name.to_owned()))
}

impl PartialEq for Tls {
    fn eq(&self, other: &Self) -> bool {
        (&self.settings, &self.server_name) == (&other.settings, &other.server_name)
    }
}

impl Eq for Tls {}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Tls")
            .field("settings", &self.settings)
            .field("server_name", &self.server_name)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tls(name: Option<&str>, host: &str) -> Result<Tls, TlsError> {
        let settings = TlsSettings {
            trust: Trust::Anybody,
            server_name: name.map(str::to_owned),
            ..TlsSettings::default()
        };
        Tls::new(settings, &Address::Tcp { host: host.to_owned(), port: 1 })
    }

    #[test]
    fn the_server_goes_by_its_host_unless_it_is_given_a_name() {
        for (name, host, expected) in [
            (None, "db.example", "db.example"),
            (None, "redis_1", "redis_1"),
            (None, "10.0.0.5", "10.0.0.5"),
            (None, "fe80::1%eth0", "fe80::1"),
            (Some("db.example"), "10.0.0.5", "db.example"),
        ] {
            assert_eq!(tls(name, host).unwrap().server_name.to_str(), expected, "{name:?} {host}");
        }
        assert_eq!(tls(None, "no name").unwrap_err(), TlsError::ServerName("no name".to_owned()));
    }

    #[test]
    fn a_unix_socket_takes_no_tls() {
        let settings = TlsSettings { trust: Trust::Anybody, ..TlsSettings::default() };
        assert_eq!(Tls::new(settings, &Address::Unix("/s".into())), Err(TlsError::UnixSocket));
    }
}
