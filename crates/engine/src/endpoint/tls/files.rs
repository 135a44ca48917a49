//! Reads certificates and keys for TLS from PEM files, and reports errors in these files.

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

/// The largest accepted file, in bytes. The certificates of all CAs of a system have less than 1 MiB.
const MOST_BYTES: u64 = 16 << 20;
/// How long a pipe may take to deliver a certificate or key: 5 s.
const PATIENCE: Duration = Duration::from_secs(5);

/// The client certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCertificate {
    /// The PEM file with the certificate. After the certificate, the file contains the certificates of the CAs that
    /// signed it.
    pub certificate: PathBuf,
    /// The file with the certificate's private key, in PEM form and not encrypted.
    pub key: PathBuf,
}

/// The reason why TLS cannot be used as requested. The error is reported before redyno connects.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
pub enum TlsError {
    /// A file or directory cannot be read.
    #[error("{option} {path}: {cause}", path = .path.display())]
    Unreadable {
        /// The option that named the file or directory.
        option: &'static str,
        /// The file's path.
        path: PathBuf,
        /// The system's message.
        cause: String,
    },
    /// The file contains no certificate.
    #[error(
        "{option} {path}: the file contains no certificate in PEM form (-----BEGIN CERTIFICATE-----)",
        path = .path.display()
    )]
    NoCertificate {
        /// The option that named the file.
        option: &'static str,
        /// The file's path.
        path: PathBuf,
    },
    /// The PEM text is broken, or a certificate cannot be parsed.
    #[error("{option} {path}: a certificate in the file is broken: {cause}", path = .path.display())]
    BrokenCertificate {
        /// The option that named the file.
        option: &'static str,
        /// The file's path.
        path: PathBuf,
        /// The error.
        cause: String,
    },
    /// The client certificate has X.509 version 1. `openssl x509 -req` writes such certificates without extensions.
    #[error(
        "--cert {path}: the certificate has X.509 version 1, which rustls does not accept; sign it again as version 3: \
         openssl x509 -req ... -extfile FILE, with 'extendedKeyUsage=clientAuth' in FILE",
        path = .0.display()
    )]
    Version1(PathBuf),
    /// The file contains no private key.
    #[error("--key {path}: the file contains no private key in PEM form", path = .0.display())]
    NoKey(PathBuf),
    /// The private key is encrypted.
    #[error(
        "--key {path}: the private key is encrypted; give a copy without a passphrase, as `openssl pkey -in {path}` \
         writes it",
        path = .0.display()
    )]
    EncryptedKey(PathBuf),
    /// The private key cannot be used.
    #[error("--key {path}: the private key cannot be used: {cause}", path = .path.display())]
    BadKey {
        /// The file's path.
        path: PathBuf,
        /// The error.
        cause: String,
    },
    /// Certificate and key do not match.
    #[error("--key {key}: this is not the key of the certificate in {certificate}",
        key = .0.key.display(), certificate = .0.certificate.display())]
    OtherKey(ClientCertificate),
    /// The system trusts no CA.
    #[error("this system has no CA certificates{0}; name the server's CA with --cacert FILE")]
    NoSystemRoots(String),
    /// No certificate can have the requested name.
    #[error("a certificate cannot have the name '{0}'; give the server's name with --sni NAME")]
    ServerName(String),
    /// TLS was requested on a unix socket.
    #[error("a unix socket takes no TLS; leave out --tls, or name host and port")]
    UnixSocket,
    /// The primary of a Sentinel service uses TLS, but the name in its certificate is unknown.
    #[error(
        "the primary of a Sentinel service may change, so its certificate's name is unknown; give this name with --sni"
    )]
    Sentinel,
    /// The TLS library returned another error.
    #[error("TLS cannot be set up: {0}")]
    Library(String),
}

impl TlsError {
    /// Converts the TLS library's error about the client certificate or its key.
    pub(super) fn client(client: &ClientCertificate, error: &rustls::Error) -> Self {
        match error {
            rustls::Error::InconsistentKeys(_) => Self::OtherKey(client.clone()),
            rustls::Error::InvalidCertificate(cause)
                if cause.to_string().contains("UnsupportedCertVersion") =>
            {
                Self::Version1(client.certificate.clone())
            }
            rustls::Error::InvalidCertificate(_) => Self::BrokenCertificate {
                option: "--cert",
                path: client.certificate.clone(),
                cause: error.to_string(),
            },
            _ => Self::BadKey { path: client.key.clone(), cause: error.to_string() },
        }
    }
}

/// Reads all certificates of a file, at least one.
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

/// Reads the client certificate, the certificates of the CAs that signed it, and the private key of the
/// client certificate.
pub(super) fn identity(
    client: &ClientCertificate,
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), TlsError> {
    let chain = certificates("--cert", &client.certificate)?;
    let text = read("--key", &client.key)?;
    let key = PrivateKeyDer::from_pem_slice(&text).map_err(|error| match error {
        // The form of PKCS #8, and the older form that OpenSSL writes with -traditional.
        _ if [&b"BEGIN ENCRYPTED PRIVATE KEY"[..], b"Proc-Type: 4,ENCRYPTED"]
            .iter()
            .any(|mark| memchr::memmem::find(&text, mark).is_some()) =>
        {
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

/// Reads a file, or a pipe such as `<(command)` in a shell. Fails for a device whose data never ends, and for a pipe
/// without a writer.
fn bounded(path: &Path) -> io::Result<Vec<u8>> {
    // Without O_NONBLOCK, opening a pipe would wait for a writer.
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
                return Err(io::Error::new(io::ErrorKind::TimedOut, "it is a pipe without a writer"));
            }
            Err(_) => std::thread::sleep(Duration::from_millis(10)),
        }
    }
    let cause = format!("it has more than {} MiB, so it is no file of certificates", MOST_BYTES >> 20);
    Err(io::Error::other(cause))
}

impl TlsError {
    /// Creates the error with the system's message about a file.
    pub(super) fn unreadable(option: &'static str, path: &Path, cause: &std::io::Error) -> Self {
        Self::Unreadable { option, path: path.to_owned(), cause: cause.to_string() }
    }
}
