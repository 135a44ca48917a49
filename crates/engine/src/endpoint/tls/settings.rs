//! What TLS is spoken with: the settings, and what becomes of them once the files are read.

use std::{fmt, net::IpAddr, path::PathBuf, sync::Arc};

use rustls::{ClientConfig, ClientConnection, client::Resumption, pki_types::ServerName};

use super::{Ciphers, ClientCertificate, TlsError, files, trust};
use crate::endpoint::Address;

/// What is shown where nothing is checked.
pub const UNVERIFIED: &str = "--insecure: encrypted, but nobody checks who the server is";

/// Which servers are trusted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Trust {
    /// Those whose certificate the system's roots sign.
    #[default]
    System,
    /// Those whose certificate one of these CAs signs.
    These {
        /// A file of PEM certificates.
        file: Option<PathBuf>,
        /// A directory of such files.
        directory: Option<PathBuf>,
    },
    /// Any server: the traffic is encrypted, but nobody knows for whom.
    Anybody,
}

/// How TLS is to be spoken.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TlsSettings {
    /// Which servers are trusted.
    pub trust: Trust,
    /// Who we are.
    pub client: Option<ClientCertificate>,
    /// The name that the server is asked for (SNI) and that its certificate must have; without one it is the host.
    pub server_name: Option<String>,
    /// Which ciphers are offered.
    pub ciphers: Ciphers,
}

/// TLS, ready to be spoken. Clones share it.
#[derive(Clone)]
pub struct Tls {
    settings: TlsSettings,
    server_name: ServerName<'static>,
    config: Arc<ClientConfig>,
}

impl Tls {
    /// For the server at `address`. Reads all files.
    ///
    /// # Errors
    /// When a file cannot be read or is not what it should be, when no CA is there to trust, when the address can have
    /// no certificate.
    pub fn new(settings: TlsSettings, address: &Address) -> Result<Self, TlsError> {
        let server_name = server_name(&settings, address)?;
        let provider = Arc::new(settings.ciphers.provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| TlsError::Library(error.to_string()))?;
        let builder = match &settings.trust {
            Trust::System => builder.with_root_certificates(trust::system()?),
            Trust::These { file, directory } => {
                builder.with_root_certificates(trust::these(file.as_deref(), directory.as_deref())?)
            }
            Trust::Anybody => {
                builder.dangerous().with_custom_certificate_verifier(Arc::new(trust::Anybody(provider)))
            }
        };
        let mut config = match &settings.client {
            None => builder.with_no_client_auth(),
            Some(client) => {
                let (chain, key) = files::identity(client)?;
                let refused = |error| TlsError::client(client, &error);
                builder.with_client_auth_cert(chain, key).map_err(refused)?
            }
        };
        // A new connection is to cost what a new client's costs.
        config.resumption = Resumption::disabled();
        Ok(Self { settings, server_name, config: Arc::new(config) })
    }

    /// Whether it is checked who the server is.
    pub fn is_verified(&self) -> bool {
        self.settings.trust != Trust::Anybody
    }

    /// The name that the server is asked for and must have; an address in figures is not asked for.
    pub fn server_name(&self) -> String {
        self.server_name.to_str().into_owned()
    }

    /// A connection's state, before its first byte.
    pub(super) fn session(&self) -> Result<ClientConnection, rustls::Error> {
        ClientConnection::new(Arc::clone(&self.config), self.server_name.clone())
    }
}

fn server_name(settings: &TlsSettings, address: &Address) -> Result<ServerName<'static>, TlsError> {
    let name = match (&settings.server_name, address) {
        (_, Address::Unix(_)) => return Err(TlsError::UnixSocket),
        (Some(name), _) => name.as_str(),
        // The interface of a link-local address is no part of it.
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
            assert_eq!(tls(name, host).unwrap().server_name(), expected, "{name:?} {host}");
        }
        assert_eq!(tls(None, "no name").unwrap_err(), TlsError::ServerName("no name".to_owned()));
    }

    #[test]
    fn a_unix_socket_takes_no_tls() {
        let settings = TlsSettings { trust: Trust::Anybody, ..TlsSettings::default() };
        assert_eq!(Tls::new(settings, &Address::Unix("/s".into())), Err(TlsError::UnixSocket));
    }
}
