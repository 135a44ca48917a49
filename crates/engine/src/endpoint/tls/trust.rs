//! Decides whether redyno trusts a server's TLS certificate. Normally, a CA of the system or a CA from a file must have
//! signed the certificate. The user can also choose to trust all servers.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
};

use rustls::{
    DigitallySignedStruct, RootCertStore, SignatureScheme,
    client::{
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        verify_server_cert_signed_by_trust_anchor,
    },
    crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime},
    server::ParsedCertificate,
};

use super::{TlsError, files::certificates};

/// Loads the CA certificates that the system trusts. Like other TLS libraries, redyno skips invalid certificates,
/// because some systems have very old certificates.
pub(super) fn system() -> Result<RootCertStore, TlsError> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    let (taken, _) = roots.add_parsable_certificates(found.certs);
    if taken == 0 {
        let cause = found.errors.first().map(|error| format!(" ({error})")).unwrap_or_default();
        return Err(TlsError::NoSystemRoots(cause));
    }
    Ok(roots)
}

/// Loads CAs from a file, from a directory, or from both.
pub(super) fn these(file: Option<&Path>, directory: Option<&Path>) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    if let Some(path) = file {
        add(&mut roots, "--cacert", path, certificates("--cacert", path)?)?;
    }
    if let Some(directory) = directory {
        add_directory(&mut roots, directory)?;
    }
    Ok(roots)
}

fn add(
    roots: &mut RootCertStore,
    option: &'static str,
    path: &Path,
    found: impl IntoIterator<Item = CertificateDer<'static>>,
) -> Result<(), TlsError> {
    let broken = |error: rustls::Error| TlsError::BrokenCertificate {
        option,
        path: path.to_owned(),
        cause: error.to_string(),
    };
    found.into_iter().try_for_each(|certificate| roots.add(certificate).map_err(broken))
}

/// Adds every certificate of every file in a directory. redyno reads files of any name. OpenSSL reads only files whose
/// name is a hash. Files without a certificate are skipped. At least one file must contain a certificate.
fn add_directory(roots: &mut RootCertStore, directory: &Path) -> Result<(), TlsError> {
    const OPTION: &str = "--cacertdir";
    let unreadable = |error: std::io::Error| TlsError::unreadable(OPTION, directory, &error);
    let entries = std::fs::read_dir(directory).map_err(unreadable)?;
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>().map_err(unreadable)?;
    paths.sort();
    // In a hashed directory, each certificate occurs twice.
    let mut seen = BTreeSet::new();
    for path in paths.iter().filter(|path| path.is_file()) {
        let found = match certificates(OPTION, path) {
            Err(TlsError::NoCertificate { .. }) => continue,
            found => found?,
        };
        let fresh: Vec<_> = found.into_iter().filter(|one| seen.insert(one.to_vec())).collect();
        add(roots, OPTION, path, fresh)?;
    }
    if roots.is_empty() {
        return Err(TlsError::NoCertificate { option: OPTION, path: directory.to_owned() });
    }
    Ok(())
}

/// Trusts a server without checking its name. With `roots`, a CA in `roots` must have signed the certificate. Without
/// `roots`, every certificate is accepted. The handshake still proves that the server has the private key of its
/// certificate.
#[derive(Debug)]
pub(super) struct AnyName {
    pub(super) roots: Option<RootCertStore>,
    pub(super) provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if let Some(roots) = &self.roots {
            let algorithms = self.provider.signature_verification_algorithms.all;
            let certificate = ParsedCertificate::try_from(end_entity)?;
            verify_server_cert_signed_by_trust_anchor(&certificate, roots, intermediates, now, algorithms)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
