//! TLS to the server: the trusted CAs, the client certificate, and the encrypted stream.
//!
//! ```text
//!  options ──► Settings ──► files read once ──► Tls (shared by all connections)
//!                                                │
//!  plaintext ◄──► TlsStream ◄──► records ◄──► a socket
//! ```
//! The stream never waits for the socket. The owner of the socket waits.
//!
//! If the user gives no CA, redyno trusts the CAs of the system, as redis-cli does. The CAs of the system are the CAs
//! of `update-ca-certificates` and of SSL_CERT_FILE. redyno contains no list of public CAs, because most Redis servers
//! have a certificate from their company's own CA. Unlike redis-cli, redyno also checks that the certificate is for the
//! server's name.

mod ciphers;
mod failure;
mod files;
mod settings;
mod stream;
mod trust;

pub use ciphers::{Ciphers, UnknownCipher};
pub use failure::{HANDSHAKE_LIMIT, TlsFailure};
pub use files::{ClientCertificate, TlsError};
pub use settings::{Tls, TlsSettings, Trust, UNVERIFIED};
pub use stream::TlsStream;
