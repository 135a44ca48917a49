//! TLS with the server: whom to trust, who we are, and a stream that encrypts.
//!
//! ```text
//!  options ──► Settings ──► files read once ──► Tls (shared by all connections)
//!                                                │
//!  plaintext ◄──► TlsStream ◄──► records ◄──► a socket
//! ```
//! The stream knows no sockets and no readiness; who owns the socket waits for it.
//!
//! Without a CA the system's own roots are trusted (what `update-ca-certificates` and SSL_CERT_FILE say, as for
//! redis-cli), not a list that is compiled in: the certificates of Redis servers are mostly signed by a company's own
//! CA. Beyond redis-cli the server's name is checked, which the signature alone does not prove.

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
