//! The options of TLS, named as redis-cli names them.
//!
//! redis-cli takes them without `--tls` too, and ignores them; here that is an error, since whoever gives one counts on
//! being encrypted.

use std::path::PathBuf;

use clap::Args;

use crate::{
    endpoint::{Address, ClientCertificate, Tls, TlsSettings, Trust},
    runner::UsageError,
};

/// TLS: whom we trust, who we are.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "TLS")]
pub struct TlsArgs {
    /// Speak TLS, as rediss:// in a URI does; the server's certificate and name are checked
    #[arg(long)]
    pub tls: bool,
    /// Trust servers that a CA of this file has signed (PEM) [default: the system's CAs]
    #[arg(long, value_name = "FILE")]
    pub cacert: Option<PathBuf>,
    /// The same with all files of a directory
    #[arg(long, value_name = "DIR")]
    pub cacertdir: Option<PathBuf>,
    /// Show the server this client certificate (PEM), with --key
    #[arg(long, value_name = "FILE", requires = "key")]
    pub cert: Option<PathBuf>,
    /// The private key of --cert (PEM)
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub key: Option<PathBuf>,
    /// The name that the server is asked for and its certificate must have [default: the host]
    #[arg(long, value_name = "NAME")]
    pub sni: Option<String>,
    /// Encrypt, but trust any server: nobody checks who it is
    #[arg(long, conflicts_with_all = ["cacert", "cacertdir"])]
    pub insecure: bool,
}

impl TlsArgs {
    /// Takes over what `other` says where nothing is said here. Whom to trust is one thing: no part of it is taken over alone.
    pub fn follow(&mut self, other: Self) {
        self.tls |= other.tls;
        if self.trust() == Trust::System {
            (self.insecure, self.cacert, self.cacertdir) = (other.insecure, other.cacert, other.cacertdir);
        }
        if self.cert.is_none() {
            (self.cert, self.key) = (other.cert, other.key);
        }
        self.sni = self.sni.take().or(other.sni);
    }

    /// TLS with the server at `address`, if it is asked for here or `by_uri`. Reads the files.
    ///
    /// # Errors
    /// When options contradict each other, or a file is not what it should be.
    pub fn tls(&self, by_uri: bool, address: &Address) -> Result<Option<Tls>, UsageError> {
        if !self.tls && !by_uri {
            let needs_tls = |option| {
                let next = "add --tls, or write rediss:// in the URI";
                Err(UsageError::of(format!("{option} is for TLS, which was not asked for; {next}")))
            };
            return self.first_given().map_or(Ok(None), needs_tls);
        }
        let settings = TlsSettings {
            trust: self.trust(),
            client: self.client(),
            server_name: self.sni.clone(),
            ..TlsSettings::default()
        };
        Tls::new(settings, address).map(Some).map_err(UsageError::of)
    }

    fn first_given(&self) -> Option<&'static str> {
        let all = [
            (self.cacert.is_some(), "--cacert"),
            (self.cacertdir.is_some(), "--cacertdir"),
            (self.cert.is_some(), "--cert"),
            (self.key.is_some(), "--key"),
            (self.sni.is_some(), "--sni"),
            (self.insecure, "--insecure"),
        ];
        all.into_iter().find(|(given, _)| *given).map(|(_, option)| option)
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
    fn tls_is_spoken_when_an_option_or_the_uri_says_so() {
        let insecure = TlsArgs { insecure: true, ..TlsArgs::default() };
        assert_eq!(tls(&TlsArgs::default(), false), Ok(None));
        for (asked, by_uri) in [(true, false), (false, true)] {
            let found = tls(&TlsArgs { tls: asked, ..insecure.clone() }, by_uri).unwrap().unwrap();
            assert!(!found.is_verified());
        }
        let refused = tls(&insecure, false).unwrap_err().to_string();
        assert_eq!(
            refused,
            "--insecure is for TLS, which was not asked for; add --tls, or write rediss:// in the URI"
        );
    }
}
