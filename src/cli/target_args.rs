//! The options that name a target, as in every Redis tool.
//!
//! The command that takes them in must switch clap's own help flag off (`disable_help_flag`): `-h` is the host here.

use std::{env, env::VarError, path::PathBuf};

use clap::{Args, value_parser};
use thiserror::Error;

use super::UsageError;
use super::tls_args::{TlsArgs, TlsArgsError};
use crate::endpoint::{
    Address, Credentials, DEFAULT_HOST, DEFAULT_PORT, ParsedUri, Password, Target, UriError, parse_uri,
};

/// The environment variable that holds the password, as for redis-cli.
const PASSWORD_VARIABLE: &str = "REDISCLI_AUTH";
/// The highest database number that servers can be configured for.
const MAX_DB: u32 = i32::MAX as u32;

/// The server to talk to.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Target")]
pub struct TargetArgs {
    /// Host name or address [default: 127.0.0.1]
    #[arg(short = 'h', long = "host", value_name = "HOST")]
    pub host: Option<String>,
    /// Port [default: 6379]
    #[arg(short, long, value_name = "PORT", value_parser = value_parser!(u16).range(1..))]
    pub port: Option<u16>,
    /// Unix socket, instead of host and port
    #[arg(short, long, value_name = "SOCKET", conflicts_with_all = ["host", "port"])]
    pub socket: Option<PathBuf>,
    /// All in one, as a URI
    #[arg(
        short,
        long,
        value_name = "URI",
        conflicts_with_all = ["host", "port", "socket", "db"],
        help = "All in one: redis://[[user]:password@]host[:port][/db], rediss:// for TLS, unix:///path[?db=N], or \
                memcached://[user:password@]host[:port], memcacheds:// for TLS, memcached:///path"
    )]
    pub uri: Option<Password>,
    /// ACL user, with a password
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
    /// Password; safer in the environment as REDISCLI_AUTH, where other users do not see it
    #[arg(short = 'a', long = "pass", value_name = "PASSWORD")]
    pub password: Option<Password>,
    /// Database number [default: 0]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(..=i64::from(MAX_DB)))]
    pub db: Option<u32>,
    /// Speak RESP3
    #[arg(short = '3')]
    pub resp3: bool,
    /// TLS.
    #[command(flatten)]
    pub tls: TlsArgs,
}

/// Why the options name no target. Bad usage: exit code 2.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum TargetArgsError {
    /// The URI holds what an option says too.
    #[error("the URI holds user and password already; leave out {0}")]
    CredentialsTwice(&'static str),
    /// A user alone.
    #[error("--user needs a password: give it with -a, or in the environment as {PASSWORD_VARIABLE}")]
    UserWithoutPassword,
    /// A password alone, where each has a user.
    #[error("memcached wants a user with the password: --user, or memcached://user:password@host")]
    PasswordWithoutUser,
    /// RESP3 where another dialect is spoken.
    #[error("-3 is for Redis and Valkey; memcached speaks no RESP")]
    NoResp3,
    /// A password that cannot be read.
    #[error("the environment's {PASSWORD_VARIABLE} is no UTF-8 text")]
    PasswordNotText,
    /// A database number that no server can have.
    #[error("the database must lie between 0 and {MAX_DB}, not {0}")]
    Db(u32),
    /// An empty host or socket path.
    #[error("{0} must not be empty")]
    Empty(&'static str),
    /// A URI where a part of one is wanted.
    #[error("{0} takes no URI; give it with -u")]
    UriInstead(&'static str),
    /// A URI that cannot be read.
    #[error(transparent)]
    Uri(#[from] UriError),
    /// TLS that cannot be spoken so.
    #[error(transparent)]
    Tls(#[from] TlsArgsError),
}

impl From<TargetArgsError> for UsageError {
    fn from(error: TargetArgsError) -> Self {
        Self::of(error)
    }
}

impl TargetArgs {
    /// Whether a server was named at all. Without, the program may choose one, but none that speaks TLS.
    pub fn is_given(&self) -> bool {
        let by_address = self.host.is_some() || self.port.is_some() || self.socket.is_some();
        by_address || self.uri.is_some() || self.tls.tls
    }

    /// The target, with the password from the environment if the arguments give none.
    ///
    /// # Errors
    /// When options contradict each other or lie outside their range, and when a file that they name is not what it
    /// should be.
    pub fn target(&self) -> Result<Target, TargetArgsError> {
        match env::var(PASSWORD_VARIABLE) {
            Ok(password) => self.target_with(Some(Password::new(password))),
            Err(VarError::NotPresent) => self.target_with(None),
            Err(VarError::NotUnicode(_)) => Err(TargetArgsError::PasswordNotText),
        }
    }

    fn target_with(&self, from_variable: Option<Password>) -> Result<Target, TargetArgsError> {
        let ParsedUri { mut target, tls } = match &self.uri {
            // It may hold a password, so it is kept as one.
            Some(uri) => parse_uri(uri.reveal())?,
            None => {
                let (address, db) = (self.address()?, self.db.unwrap_or(0));
                ParsedUri { target: Target { address, db, ..Target::default() }, tls: false }
            }
        };
        if target.db > MAX_DB {
            return Err(TargetArgsError::Db(target.db));
        }
        if target.credentials.is_none() {
            // The variable is for Redis only. As redis-cli: an empty one is none.
            let is_meant = |it: &Password| target.dialect.has_default_user() && !it.reveal().is_empty();
            target.credentials = self.credentials(from_variable.filter(is_meant))?;
        } else if let Some(option) = self.credential_option() {
            return Err(TargetArgsError::CredentialsTwice(option));
        }
        if !target.dialect.has_default_user()
            && target.credentials.as_ref().is_some_and(|who| who.user.is_none())
        {
            return Err(TargetArgsError::PasswordWithoutUser);
        }
        if self.resp3 {
            target.dialect = target.dialect.in_resp3().ok_or(TargetArgsError::NoResp3)?;
        }
        target.tls = self.tls.tls(tls, &target.address)?;
        Ok(target)
    }

    fn address(&self) -> Result<Address, TargetArgsError> {
        let host = self.host.as_deref().unwrap_or_default();
        if host.contains("://") {
            return Err(TargetArgsError::UriInstead("-h"));
        }
        if let Some(path) = &self.socket {
            if path.to_string_lossy().contains("://") {
                return Err(TargetArgsError::UriInstead("-s"));
            }
            if path.as_os_str().is_empty() {
                return Err(TargetArgsError::Empty("-s"));
            }
            return Ok(Address::Unix(path.clone()));
        }
        let host = self.host.clone().unwrap_or_else(|| DEFAULT_HOST.to_owned());
        if host.is_empty() {
            return Err(TargetArgsError::Empty("-h"));
        }
        Ok(Address::Tcp { host, port: self.port.unwrap_or(DEFAULT_PORT) })
    }

    fn credentials(&self, from_variable: Option<Password>) -> Result<Option<Credentials>, TargetArgsError> {
        match (self.password.clone().or(from_variable), &self.user) {
            (Some(password), user) => Ok(Some(Credentials { user: user.clone(), password })),
            (None, Some(_)) => Err(TargetArgsError::UserWithoutPassword),
            (None, None) => Ok(None),
        }
    }

    fn credential_option(&self) -> Option<&'static str> {
        match (&self.password, &self.user) {
            (Some(_), _) => Some("-a"),
            (None, Some(_)) => Some("--user"),
            (None, None) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::protocol::Dialect;

    #[derive(Parser)]
    #[command(disable_help_flag = true)]
    struct Line {
        #[command(flatten)]
        target: TargetArgs,
    }

    fn args(line: &str) -> TargetArgs {
        Line::try_parse_from(std::iter::once("redyno").chain(line.split_whitespace())).unwrap().target
    }

    fn target(line: &str, variable: Option<&str>) -> Result<Target, TargetArgsError> {
        args(line).target_with(variable.map(Password::new))
    }

    #[test]
    fn without_options_it_is_the_usual_address_and_none_was_named() {
        assert_eq!(target("", None), Ok(Target::default()));
        assert!(!args("-3 --db 1 -a x").is_given());
        for line in ["-h h", "-p 1", "-s /s", "-u redis://h", "--tls"] {
            assert!(args(line).is_given(), "{line}");
        }
    }

    #[test]
    fn options_name_address_database_and_protocol() {
        let found = target("-h ::1 -p 7000 --db 3 -3", None).unwrap();
        assert_eq!(
            (found.address.to_string().as_str(), found.db, found.dialect),
            ("[::1]:7000", 3, Dialect::Resp3)
        );
        assert_eq!(target("-s /run/r.sock", None).unwrap().address, Address::Unix("/run/r.sock".into()));
        assert_eq!(target("-u redis://h:1/2", None).unwrap().db, 2);
    }

    #[test]
    fn a_password_comes_from_the_option_the_uri_or_the_environment_in_this_order() {
        let who = |line, variable| target(line, variable).unwrap().credentials.unwrap();
        assert_eq!(who("-a one --user ann", Some("two")).password, Password::new("one"));
        assert_eq!(who("--user ann", Some("two")).user.as_deref(), Some("ann"));
        assert_eq!(who("-u redis://:three@h", Some("two")).password, Password::new("three"));
        assert_eq!(who("-u redis://h", Some("two")).password, Password::new("two"));
        assert_eq!(target("", Some("")).unwrap().credentials, None);
        assert_eq!(target("-u memcached://h", Some("two")).unwrap().credentials, None);
    }

    #[test]
    fn impossible_combinations_and_ranges_are_refused() {
        let cases = [
            ("-u redis://:x@h -a x", TargetArgsError::CredentialsTwice("-a")),
            ("-u redis://:x@h --user x", TargetArgsError::CredentialsTwice("--user")),
            ("--user ann", TargetArgsError::UserWithoutPassword),
            ("-u memcached://h -a x", TargetArgsError::PasswordWithoutUser),
            ("-u memcached://h -3", TargetArgsError::NoResp3),
            ("-u memcached://h/1", TargetArgsError::Uri(UriError::NoDb)),
            ("-u redis://h/2147483648", TargetArgsError::Db(2_147_483_648)),
            ("-h=", TargetArgsError::Empty("-h")),
            ("-h redis://:p@h", TargetArgsError::UriInstead("-h")),
            ("-s unix:///s", TargetArgsError::UriInstead("-s")),
            ("--insecure", TargetArgsError::Tls(TlsArgsError::NeedsTls("--insecure"))),
        ];
        for (line, expected) in cases {
            assert_eq!(target(line, None), Err(expected), "{line}");
        }
    }

    #[test]
    fn neither_debug_nor_help_shows_a_password() {
        let shown = format!("{:?}", args("-a hunter2 -u redis://:hunter2@h"));
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}
