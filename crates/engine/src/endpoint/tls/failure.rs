//! The reasons why TLS failed on a connection. Each reason is one line, with advice.

use std::{io, time::Duration};

use rustls::{AlertDescription, CertificateError, Error, ExtendedKeyPurpose};
use thiserror::Error;

use crate::untrusted;

/// How long redyno waits for a server that sends nothing in a TLS handshake, if no other timeout applies: 5 s.
pub const HANDSHAKE_LIMIT: Duration = Duration::from_secs(5);

/// The reason why TLS failed on a connection. The load and the probes count such an error under the kind `tls`.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
pub enum TlsFailure {
    /// No trusted CA has signed the certificate.
    #[error(
        "no CA that is trusted here has signed the server's certificate; name the server's CA with --cacert FILE, or \
         trust any server with --insecure"
    )]
    UnknownIssuer,
    /// An untrusted CA has signed the certificate, and a trusted CA has the same name.
    #[error(
        "a CA trusted here has the same name as the CA that signed the server's certificate, but is a different \
         one; name the server's CA with --cacert FILE, or trust any server with --insecure"
    )]
    OtherIssuer,
    /// The certificate belongs to another server.
    #[error(
        "the server's certificate is not for {asked} but for {names}; ask for one of these names with --sni NAME, or \
         check the CA alone with --tls-ca-only"
    )]
    WrongName {
        /// The required name.
        asked: String,
        /// The names in the certificate.
        names: String,
    },
    /// The certificate has no name.
    #[error(
        "the server's certificate names no host (it has no subjectAltName); give the server a certificate with names, \
         or check the CA alone with --tls-ca-only"
    )]
    NoName,
    /// The certificate has expired.
    #[error("the server's certificate has expired; renew it, or check this machine's clock")]
    Expired,
    /// The certificate is not valid yet.
    #[error("the server's certificate is not valid yet; check the clocks of both machines")]
    NotYetValid,
    /// The certificate is for a CA or a client, and not for a server.
    #[error(
        "the server's certificate is not a server certificate ({0}); give the server its own certificate, signed by the \
         CA, or trust any server with --insecure"
    )]
    WrongPurpose(String),
    /// The certificate has X.509 version 1. With OpenSSL 3.0, the test script of Redis creates such certificates.
    #[error(
        "the server's certificate has X.509 version 1, which rustls does not accept; sign it again as version 3: openssl \
         x509 -req ... -extfile FILE, with 'subjectAltName=DNS:NAME,IP:ADDRESS' in FILE"
    )]
    Version1,
    /// The certificate has another error.
    #[error(
        "the server's certificate was not accepted: {0}; replace it, or trust any server with --insecure"
    )]
    BadCertificate(String),
    /// The server requires a client certificate.
    #[error("the server wants a client certificate; give it with --cert FILE and --key FILE")]
    ClientCertificateWanted,
    /// The server does not accept the client certificate or the handshake.
    #[error(
        "the server refused the TLS handshake ({0}); it may require a valid client certificate (--cert and --key), \
         signed by a CA that the server trusts"
    )]
    Refused(String),
    /// The server does not know the requested server name (SNI).
    #[error("the server does not know the name that redyno asked for; give another name with --sni NAME")]
    UnknownName,
    /// The server and redyno have no TLS version or cipher in common.
    #[error(
        "the server and redyno have no TLS version or cipher in common ({0}); redyno speaks TLS 1.2 and 1.3: see the \
         server's tls-protocols and tls-ciphers"
    )]
    NothingInCommon(String),
    /// The server sent bytes that are not TLS.
    #[error("the server does not speak TLS here; leave out --tls (or write redis://), or name its TLS port")]
    NotTls,
    /// The server sent nothing for [`HANDSHAKE_LIMIT`].
    #[error(
        "no answer to the TLS handshake for 5 s; if the server has no TLS at this port, leave out --tls or name its TLS \
         port"
    )]
    Silent,
    /// Any other error.
    #[error("TLS failed: {0}")]
    Other(String),
}

impl TlsFailure {
    /// Returns the TLS failure that caused the error of a stream, or `None` if the error has another cause.
    pub fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref().and_then(|inner| inner.downcast_ref())
    }
}

impl From<TlsFailure> for io::Error {
    fn from(failure: TlsFailure) -> Self {
        Self::new(io::ErrorKind::InvalidData, failure)
    }
}

impl From<Error> for TlsFailure {
    fn from(error: Error) -> Self {
        match &error {
            Error::InvalidCertificate(cause) => certificate(cause),
            Error::AlertReceived(alert) => refused(*alert),
            Error::PeerIncompatible(_) => Self::NothingInCommon(spoken(&error.to_string())),
            Error::InvalidMessage(_) => Self::NotTls,
            _ => Self::Other(spoken(&error.to_string())),
        }
    }
}

fn certificate(cause: &CertificateError) -> TlsFailure {
    match cause {
        CertificateError::UnknownIssuer => TlsFailure::UnknownIssuer,
        CertificateError::BadSignature => TlsFailure::OtherIssuer,
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => TlsFailure::Expired,
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            TlsFailure::NotYetValid
        }
        CertificateError::NotValidForNameContext { presented, .. } if presented.is_empty() => {
            TlsFailure::NoName
        }
        CertificateError::NotValidForNameContext { expected, presented } => {
            let names: Vec<_> = presented.iter().map(|name| bare(name)).collect();
            TlsFailure::WrongName {
                asked: expected.to_str().into_owned(),
                names: untrusted::text(&names.join(", ")),
            }
        }
        CertificateError::InvalidPurposeContext { required: ExtendedKeyPurpose::ServerAuth, .. } => {
            TlsFailure::WrongPurpose("its extendedKeyUsage lacks serverAuth".to_owned())
        }
        CertificateError::Other(other) if other.to_string().contains("CaUsedAsEndEntity") => {
            TlsFailure::WrongPurpose("it is the certificate of a CA".to_owned())
        }
        CertificateError::Other(other) if other.to_string().contains("UnsupportedCertVersion") => {
            TlsFailure::Version1
        }
        other => TlsFailure::BadCertificate(spoken(&other.to_string())),
    }
}

/// Returns the bare name: `db.example` for `DnsName("db.example")`, and `10.0.0.5` for `IpAddress(10.0.0.5)`.
fn bare(name: &str) -> &str {
    let inner = name.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')')).unwrap_or(name);
    inner.trim_matches('"')
}

fn refused(alert: AlertDescription) -> TlsFailure {
    match alert {
        AlertDescription::CertificateRequired => TlsFailure::ClientCertificateWanted,
        AlertDescription::UnrecognisedName => TlsFailure::UnknownName,
        AlertDescription::ProtocolVersion | AlertDescription::InsufficientSecurity => {
            TlsFailure::NothingInCommon(alerted(alert))
        }
        crate::any_of!(AlertDescription BadCertificate UnsupportedCertificate CertificateRevoked
            CertificateExpired CertificateUnknown UnknownCA AccessDenied DecryptError
            HandshakeFailure) => TlsFailure::Refused(alerted(alert)),
        other => TlsFailure::Other(format!("the server sent the {}", alerted(other))),
    }
}

/// Formats `alert 'handshake failure'`.
fn alerted(alert: AlertDescription) -> String {
    format!("alert '{}'", spoken(&format!("{alert:?}")))
}

/// Rewrites a message of the TLS library as plain words. For example, `NoCipherSuitesInCommon` becomes
/// `no cipher suites in common`.
fn spoken(text: &str) -> String {
    let innermost = text.rsplit('(').next().unwrap_or(text).trim_end_matches(')');
    let mut spoken = String::new();
    let mut before = ' ';
    for c in untrusted::text(innermost).chars() {
        let begins_word = c.is_ascii_uppercase() && before.is_ascii_lowercase();
        if begins_word {
            spoken.push(' ');
        }
        spoken.push(c);
        before = c;
    }
    let word = |word: &str| match word.chars().nth(1) {
        // An abbreviation such as CA is kept.
        Some(second) if second.is_ascii_uppercase() => word.to_owned(),
        _ => word.to_ascii_lowercase(),
    };
    spoken.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_message_contains_the_name_of_a_type() {
        assert_eq!(alerted(AlertDescription::UnknownCA), "alert 'unknown CA'");
        let other = TlsFailure::from(Error::AlertReceived(AlertDescription::HandshakeFailure)).to_string();
        assert!(other.contains("(alert 'handshake failure')"), "{other}");
        assert_eq!(
            spoken("peer is incompatible: NoCipherSuitesInCommon"),
            "peer is incompatible: no cipher suites in common"
        );
        assert_eq!(spoken("Other(OtherError(UnsupportedCertVersion))"), "unsupported cert version");
    }

    #[test]
    fn names_of_certificates_are_shown_bare() {
        assert_eq!(bare("DnsName(\"db.example\")"), "db.example");
        assert_eq!(bare("IpAddress(10.0.0.5)"), "10.0.0.5");
    }

    #[test]
    fn every_failure_is_one_line_with_a_next_step_and_is_found_again_in_an_error() {
        let failure = TlsFailure::from(Error::AlertReceived(AlertDescription::CertificateRequired));
        assert!(failure.to_string().contains("--cert FILE"));
        let error = io::Error::from(failure.clone());
        assert_eq!(TlsFailure::of(&error), Some(&failure));
        assert_eq!(TlsFailure::of(&io::Error::other("x")), None);
        let expired = TlsFailure::from(Error::InvalidCertificate(CertificateError::Expired));
        assert!(expired.to_string().contains("renew"));
    }
}
