//! Certificates that are made for a test, servers that show them, and sessions with those.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose,
    date_time_ymd,
};
use tempfile::TempDir;

use super::{
    Server, free_port,
    program::{Outcome, run},
};

/// What this machine is called.
pub const HERE: [&str; 2] = ["localhost", "127.0.0.1"];

/// A CA with the files that it makes; they are gone when it is dropped.
pub struct Authority {
    directory: TempDir,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// The files of a certificate and its key.
#[derive(Debug, Clone)]
pub struct Pair {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// From when until when a certificate holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Valid {
    Now,
    Past,
    Future,
}

impl Authority {
    /// A CA that nobody else is called like.
    pub fn new() -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        Self::named(&format!("CA {} for a test", NUMBER.fetch_add(1, Ordering::Relaxed)))
    }

    /// A CA of this name.
    pub fn named(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let issuer = CertifiedIssuer::self_signed(params, key()).expect("a CA");
        let directory = tempfile::tempdir().expect("a directory for certificates");
        fs::write(directory.path().join("ca.pem"), issuer.pem()).expect("the CA's file");
        Self { directory, issuer }
    }

    /// Its certificate.
    pub fn path(&self) -> String {
        self.file("ca.pem")
    }

    /// Its directory.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// A file beside its certificate.
    pub fn file(&self, name: &str) -> String {
        self.directory.path().join(name).to_str().expect("a path in UTF-8").to_owned()
    }

    /// A certificate for `names`, hosts and addresses; without one it names nobody.
    pub fn issue(&self, names: &[&str], valid: Valid) -> Pair {
        let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).expect("names");
        let (from, to) = match valid {
            Valid::Now => (2020, 4000),
            Valid::Past => (2020, 2021),
            Valid::Future => (3999, 4000),
        };
        params.not_before = date_time_ymd(from, 1, 1);
        params.not_after = date_time_ymd(to, 1, 1);
        params.is_ca = IsCa::ExplicitNoCa;
        let key = key();
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        let number = fs::read_dir(self.directory.path()).expect("the directory").count();
        let pair = Pair {
            certificate: self.file(&format!("{number}.pem")).into(),
            key: self.file(&format!("{number}.key")).into(),
        };
        fs::write(&pair.certificate, certificate.pem()).expect("the certificate's file");
        fs::write(&pair.key, key.serialize_pem()).expect("the key's file");
        pair
    }

    /// A certificate for this machine that says to have X.509 version 1.
    pub fn issue_version_1(&self) -> Pair {
        let pair = self.issue(&HERE, Valid::Now);
        let pem = fs::read_to_string(&pair.certificate).expect("the certificate");
        let lines: String = pem.lines().filter(|line| !line.starts_with("--")).collect();
        let mut bytes = BASE64.decode(lines).expect("base64");
        let version_3 = [0xa0, 3, 2, 1, 2];
        let at = bytes.windows(5).position(|bytes| bytes == version_3).expect("a version");
        bytes[at + 4] = 0;
        let encoded = BASE64.encode(bytes);
        let pem = format!("-----BEGIN CERTIFICATE-----\n{encoded}\n-----END CERTIFICATE-----\n");
        fs::write(&pair.certificate, pem).expect("the certificate's file");
        pair
    }
}

fn key() -> KeyPair {
    KeyPair::generate().expect("a key")
}

/// A Redis with a port for TLS, beside its plain one.
pub struct TlsServer {
    pub server: Server,
    pub port: u16,
}

impl TlsServer {
    /// A Redis that shows `pair` and takes any client, unless `args` say otherwise.
    pub fn start(authority: &Authority, pair: &Pair, args: &[&str]) -> Self {
        let port = free_port();
        let (certificate, key) = (pair.certificate.to_str(), pair.key.to_str());
        let recipe = Server::redis().with_args(&[
            "--tls-port",
            &port.to_string(),
            "--tls-cert-file",
            certificate.expect("a path in UTF-8"),
            "--tls-key-file",
            key.expect("a path in UTF-8"),
            "--tls-ca-cert-file",
            &authority.path(),
            "--tls-auth-clients",
            "no",
        ]);
        Self { server: recipe.with_args(args).start(), port }
    }

    /// The same with a CA of its own and a certificate for this machine.
    pub fn usual(args: &[&str]) -> (Authority, Self) {
        let authority = Authority::new();
        let pair = authority.issue(&HERE, Valid::Now);
        let server = Self::start(&authority, &pair, args);
        (authority, server)
    }

    /// Its TLS port as redyno's `-p` takes it.
    pub fn port_text(&self) -> String {
        self.port.to_string()
    }
}

/// A short headless session under load.
pub fn session(args: &[&str]) -> Outcome {
    let usual = ["--headless", "--json", "--load", "--yes", "-c", "5", "--rate", "500", "--duration", "1"];
    run(&[args, &usual].concat())
}

/// One line on stderr with these parts, and this exit code.
pub fn assert_one_line(outcome: &Outcome, code: i32, parts: &[&str]) {
    assert_eq!(outcome.code(), code, "{outcome:?}");
    let line = outcome.err.strip_suffix('\n').unwrap_or_else(|| panic!("{outcome:?}"));
    assert!(line.starts_with("redyno: ") && !line.contains('\n'), "{outcome:?}");
    for part in parts {
        assert!(line.contains(part), "no '{part}' in: {line}");
    }
}
