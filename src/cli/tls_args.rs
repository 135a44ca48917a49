//! The options of TLS, named as redis-cli names them.
//!
//! redis-cli accepts these options without `--tls`, and ignores them. In redyno, a TLS option without TLS is an error,
//! because the user expects encryption.

use std::{ffi::OsString, path::PathBuf};

use clap::Args;

use crate::{
    endpoint::{Address, ClientCertificate, Tls, TlsSettings, Trust},
    runner::UsageError,
};

/// TLS: which servers are trusted, and our own certificate.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "TLS")]
pub struct TlsArgs {
    /// Use TLS; a rediss:// URI has the same effect. redyno verifies the server's certificate and name
    #[arg(long)]
    pub tls: bool,
    /// Trust servers whose certificate is signed by a CA in this file (PEM) [default: the system's CAs]
    #[arg(long, value_name = "FILE")]
    pub cacert: Option<PathBuf>,
    /// Trust the CAs in all files of this directory (PEM)
    #[arg(long, value_name = "DIR")]
    pub cacertdir: Option<PathBuf>,
    /// The client certificate that redyno sends (PEM); needs --key
    #[arg(long, value_name = "FILE", requires = "key")]
    pub cert: Option<PathBuf>,
    /// The private key for --cert (PEM)
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub key: Option<PathBuf>,
    /// Server name for SNI; the server's certificate must match this name [default: the host]
    #[arg(long, value_name = "NAME")]
    pub sni: Option<String>,
    /// As redis-cli does, verify the CA that signed the server's certificate, but not the name in the certificate
    #[arg(long)]
    pub tls_ca_only: bool,
    /// Use TLS, but do not verify the server's certificate
    #[arg(long, conflicts_with_all = ["cacert", "cacertdir", "tls_ca_only"])]
    pub insecure: bool,
}

impl TlsArgs {
    /// Adopts the options of `other` that are missing in this value. The options that decide which servers are trusted
    /// are adopted only together.
    pub fn follow(&mut self, other: Self) {
        self.tls |= other.tls;
        if self.trust() == Trust::System {
            (self.insecure, self.cacert, self.cacertdir) = (other.insecure, other.cacert, other.cacertdir);
        }
        self.tls_ca_only |= other.tls_ca_only && !self.insecure;
        if self.cert.is_none() {
            (self.cert, self.key) = (other.cert, other.key);
        }
        self.sni = self.sni.take().or(other.sni);
    }

    /// Returns the TLS settings for the server at `address`, if an option or the URI (`by_uri`) requests TLS. Reads the
    /// files.
    ///
    /// # Errors
    /// Fails if options contradict each other, or a file is invalid.
    pub fn tls(&self, by_uri: bool, address: &Address) -> Result<Option<Tls>, UsageError> {
        if !self.tls && !by_uri {
            let needs_tls = |option: &str| {
                let next = "add --tls, use rediss:// in the URI, or leave the option out";
                Err(UsageError::of(format!("{option} needs TLS, which is off; {next}")))
            };
            // The first option with a value, else the first flag.
            let first = self.given().min_by_key(|(_, value)| value.is_none());
            return first.map_or(Ok(None), |(option, _)| needs_tls(option));
        }
        let settings = TlsSettings {
            trust: self.trust(),
            client: self.client(),
            server_name: self.sni.clone(),
            ca_only: self.tls_ca_only,
            ..TlsSettings::default()
        };
        Tls::new(settings, address).map(Some).map_err(UsageError::of)
    }

    /// Returns the given options except `--tls`, each with its value.
    pub(super) fn given(&self) -> impl Iterator<Item = (&'static str, Option<OsString>)> {
        let flags = [("--tls-ca-only", self.tls_ca_only), ("--insecure", self.insecure)];
        let files = [
            ("--cacert", &self.cacert),
            ("--cacertdir", &self.cacertdir),
            ("--cert", &self.cert),
            ("--key", &self.key),
        ];
        let flags = flags.into_iter().filter(|(_, is_given)| *is_given).map(|(option, _)| (option, None));
        let files = files.into_iter().filter_map(|(option, file)| Some((option, Some(file.clone()?.into()))));
        flags.chain(files).chain(self.sni.iter().map(|name| ("--sni", Some(name.into()))))
    }

    /// Returns these options as words of a command line.
    pub(super) fn words(&self) -> Vec<OsString> {
        let tls = self.tls.then_some(("--tls", None));
        let all = tls.into_iter().chain(self.given());
        all.flat_map(|(option, value)| std::iter::once(option.into()).chain(value)).collect()
    }

    pub(super) fn trust(&self) -> Trust {
        match (self.insecure, &self.cacert, &self.cacertdir) {
            (true, ..) => Trust::Anybody,
            (false, None, None) => Trust::System,
            (false, file, directory) => Trust::These { file: file.clone(), directory: directory.clone() },
        }
    }

    fn client(&self) -> Option<ClientCertificate> {
        let (certificate, key) = self.cert.clone().zip(self.key.clone())?;
        Some(ClientCertificate { certificate, key })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tls(args: &TlsArgs, by_uri: bool) -> Result<Option<Tls>, UsageError> {
        args.tls(by_uri, &Address::default())
    }

    #[test]
    fn tls_is_used_if_an_option_or_the_uri_requests_it() {
        let insecure = TlsArgs { insecure: true, ..TlsArgs::default() };
        assert_eq!(tls(&TlsArgs::default(), false), Ok(None));
        for (asked, by_uri) in [(true, false), (false, true)] {
            let found = tls(&TlsArgs { tls: asked, ..insecure.clone() }, by_uri).unwrap().unwrap();
            assert!(!found.is_verified());
        }
        let refused = tls(&insecure, false).unwrap_err().to_string();
        assert_eq!(
            refused,
            "--insecure needs TLS, which is off; add --tls, use rediss:// in the URI, or leave the option out"
        );
    }
}
