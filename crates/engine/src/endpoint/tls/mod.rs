//! TLS to the server: whom to trust, our own certificate, and an encrypting stream.
//!
//! ```text
//!  options ──► Settings ──► files read once ──► Tls (shared by all connections)
//!                                                │
//!  plaintext ◄──► TlsStream ◄──► records ◄──► a socket
//! ```
//! The stream does not know sockets or readiness; the owner of the socket waits for it.
//!
//! Without a CA, the system's own roots are trusted (those of `update-ca-certificates` and SSL_CERT_FILE, as in
//! redis-cli), not a compiled list: certificates of Redis servers are mostly signed by a company's own CA. Unlike
//! redis-cli, the server's name is verified too, which the signature alone does not prove.

mod ciphers;
mod failure;
mod files;
mod settings;
mod stream;
mod trust;

pub use ciphers::{Ciphers, UnknownCipher};
pub use failure::TlsFailure;
pub use files::{ClientCertificate, TlsError};
pub use settings::{Tls, TlsSettings, Trust, UNVERIFIED};
pub use stream::TlsStream;
