//! Certificates and keys from PEM files, and what can be wrong with them.

use std::{
    fs::OpenOptions,
    io::{self, Read},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use rustls::pki_types::{
    CertificateDer, PrivateKeyDer,
    pem::{self, PemObject},
};
use thiserror::Error;

/// The most bytes that are read of a file: all CAs of a system have less than one MiB.
const MOST_BYTES: u64 = 16 << 20;
/// How long a pipe may take to bring them: 5 s.
const PATIENCE: Duration = Duration::from_secs(5);

/// The certificate that we show the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCertificate {
    /// PEM: the certificate, then those that sign it.
    pub certificate: PathBuf,
    /// PEM: its private key, not encrypted.
    pub key: PathBuf,
}

/// Why TLS cannot be spoken as it was asked for, reported before anything is connected.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
pub enum TlsError {
    /// A file or directory that cannot be read.
    #[error("{option} {path}: {cause}", path = .path.display())]
    Unreadable {
        /// The option that named it.
        option: &'static str,
        /// Its path.
        path: PathBuf,
        /// What the system said.
        cause: String,
    },
    /// No certificate in it.
    #[error(
        "{option} {path}: there is no certificate in PEM form (-----BEGIN CERTIFICATE-----) in it",
        path = .path.display()
    )]
    NoCertificate {
        /// The option that named it.
        option: &'static str,
        /// Its path.
        path: PathBuf,
    },
    /// PEM that is broken, or a certificate that cannot be understood.
    #[error("{option} {path}: a certificate in it is broken: {cause}", path = .path.display())]
    BrokenCertificate {
        /// The option that named it.
        option: &'static str,
        /// Its path.
        path: PathBuf,
        /// What is wrong.
        cause: String,
    },
    /// No key in it.
    #[error("--key {path}: there is no private key in PEM form in it", path = .0.display())]
    NoKey(PathBuf),
    /// A key that only a passphrase opens.
    #[error(
        "--key {path}: the private key is encrypted; give a copy without a passphrase, as `openssl pkey -in {path}` \
         writes it",
        path = .0.display()
    )]
    EncryptedKey(PathBuf),
    /// A key that cannot be used.
    #[error("--key {path}: the private key cannot be used: {cause}", path = .path.display())]
    BadKey {
        /// Its path.
        path: PathBuf,
        /// What is wrong.
        cause: String,
    },
    /// Certificate and key are of two pairs.
    #[error("--key {key}: this is not the key of the certificate in {certificate}",
        key = .0.key.display(), certificate = .0.certificate.display())]
    OtherKey(ClientCertificate),
    /// The system trusts nobody.
    #[error("this system has no CA certificates{0}; name the server's own with --cacert FILE")]
    NoSystemRoots(String),
    /// A name that no certificate can have.
    #[error("'{0}' is no name that a certificate can have; give the server's own with --sni NAME")]
    ServerName(String),
    /// TLS on a unix socket.
    #[error("a unix socket takes no TLS; leave out --tls, or name host and port")]
    UnixSocket,
    /// The library refuses.
    #[error("TLS cannot be set up: {0}")]
    Library(String),
}

impl TlsError {
    /// What the library has against certificate and key of ours.
    pub(super) fn client(client: &ClientCertificate, error: &rustls::Error) -> Self {
        match error {
            rustls::Error::InconsistentKeys(_) => Self::OtherKey(client.clone()),
            rustls::Error::InvalidCertificate(_) => Self::BrokenCertificate {
                option: "--cert",
                path: client.certificate.clone(),
                cause: error.to_string(),
            },
            _ => Self::BadKey { path: client.key.clone(), cause: error.to_string() },
        }
    }
}

/// All certificates of a file, at least one.
pub(super) fn certificates(
    option: &'static str,
    path: &Path,
) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let text = read(option, path)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match found {
        Ok(found) if found.is_empty() => Err(TlsError::NoCertificate { option, path: path.to_owned() }),
        Ok(found) => Ok(found),
        Err(error) => {
            Err(TlsError::BrokenCertificate { option, path: path.to_owned(), cause: error.to_string() })
        }
    }
}

/// Our certificate with those that sign it, and its key.
pub(super) fn identity(
    client: &ClientCertificate,
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), TlsError> {
    let chain = certificates("--cert", &client.certificate)?;
    let text = read("--key", &client.key)?;
    let key = PrivateKeyDer::from_pem_slice(&text).map_err(|error| match error {
        _ if memchr::memmem::find(&text, b"BEGIN ENCRYPTED PRIVATE KEY").is_some() => {
            TlsError::EncryptedKey(client.key.clone())
        }
        pem::Error::NoItemsFound => TlsError::NoKey(client.key.clone()),
        error => TlsError::BadKey { path: client.key.clone(), cause: error.to_string() },
    })?;
    Ok((chain, key))
}

fn read(option: &'static str, path: &Path) -> Result<Vec<u8>, TlsError> {
    bounded(path).map_err(|error| TlsError::unreadable(option, path, &error))
}

/// A file's bytes; also a pipe's, as a shell makes one of `<(command)`. What has no end (a device), or nobody at its other
/// end, is an error.
fn bounded(path: &Path) -> io::Result<Vec<u8>> {
    // To open a pipe without this is to wait for somebody who writes to it.
    let mut file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    let deadline = Instant::now() + PATIENCE;
    let mut bytes = Vec::new();
    while bytes.len() as u64 <= MOST_BYTES {
        let room = MOST_BYTES + 1 - bytes.len() as u64;
        match (&mut file).take(room).read_to_end(&mut bytes) {
            Ok(_) if bytes.len() as u64 <= MOST_BYTES => return Ok(bytes),
            Ok(_) => break,
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
            Err(_) if Instant::now() >= deadline => {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "nobody writes to the other end of it"));
            }
            Err(_) => std::thread::sleep(Duration::from_millis(10)),
        }
    }
    let cause = format!("this has more than {} MiB, and is no file of certificates", MOST_BYTES >> 20);
    Err(io::Error::other(cause))
}

impl TlsError {
    /// What the system said of a file.
    pub(super) fn unreadable(option: &'static str, path: &Path, cause: &std::io::Error) -> Self {
        Self::Unreadable { option, path: path.to_owned(), cause: cause.to_string() }
    }
}
