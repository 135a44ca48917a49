//! The options that name a target, with the names that Redis tools use.
//!
//! A command with these options must disable clap's own help flag (`disable_help_flag`), because `-h` is the host in
//! these options.

use std::{
    env::{self, VarError},
    path::PathBuf,
};

use clap::Args;

use super::{tls_args::TlsArgs, values::whole};
use crate::{
    endpoint::{
        Address, Credentials, DEFAULT_HOST, DEFAULT_PORT, ParsedUri, Password, Target, UriError, parse_uri,
    },
    runner::UsageError,
};

/// The environment variable that contains the password, as for redis-cli.
pub const PASSWORD_VARIABLE: &str = "REDISCLI_AUTH";
/// The highest database number that a server can have.
const MAX_DB: u32 = i32::MAX as u32;

/// TARGET: the server to measure.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Target")]
pub struct TargetArgs {
    /// Host name or address [default: 127.0.0.1]
    #[arg(short = 'h', long = "host", value_name = "HOST")]
    pub host: Option<String>,
    /// Port [default: 6379]
    #[arg(short, long, value_name = "PORT", value_parser = whole::<u16>(1..=65535))]
    pub port: Option<u16>,
    /// Path of a Unix socket, to use instead of host and port
    #[arg(short, long, value_name = "SOCKET", conflicts_with_all = ["host", "port"])]
    pub socket: Option<PathBuf>,
    /// The whole address as a URI
    #[arg(
        short,
        long,
        value_name = "URI",
        conflicts_with_all = ["host", "port", "socket", "db"],
        help = "The address as a URI. Redis and Valkey: redis://[[user]:password@]host[:port][/db] (rediss:// for TLS), \
                redis+sentinel://host[:port][,host…]/service[/db] or unix:///path[?db=N]. memcached: \
                memcached://[user:password@]host[:port] (memcacheds:// for TLS) or memcached:///path. HTTP: \
                http://host[:port][/path] (https:// for TLS)"
    )]
    pub uri: Option<Password>,
    /// The name of a target in the config file; @NAME is short for --target NAME
    #[arg(long = "target", value_name = "NAME", conflicts_with = "uri")]
    pub named: Option<String>,
    /// ACL user; needs a password
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
    /// Password; other users of this machine can see this option, so the environment variable REDISCLI_AUTH is safer
    #[arg(short = 'a', long = "pass", value_name = "PASSWORD")]
    pub password: Option<Password>,
    /// Ask for the password at the terminal, without showing it
    #[arg(long, conflicts_with = "password")]
    pub askpass: bool,
    /// Database number [default: 0]
    #[arg(long, value_name = "N", value_parser = whole::<u32>(0..=u64::from(MAX_DB)))]
    pub db: Option<u32>,
    /// Use the protocol RESP3
    #[arg(short = '3')]
    pub resp3: bool,
    /// TLS.
    #[command(flatten)]
    pub tls: TlsArgs,
    /// The server of the named target in the config file.
    #[arg(skip)]
    pub server: Option<Target>,
}

/// Returns whether a URI requests TLS.
pub(super) fn has_tls(uri: &Password) -> bool {
    parse_uri(uri.reveal()).is_ok_and(|parsed| parsed.tls)
}

impl TargetArgs {
    /// Returns whether the options name a server. If the options name no server, the program may choose a server
    /// without TLS.
    pub fn is_given(&self) -> bool {
        self.has_address() || self.uri.is_some() || self.named.is_some() || self.tls.tls
    }

    fn has_address(&self) -> bool {
        self.host.is_some() || self.port.is_some() || self.socket.is_some()
    }

    /// Returns whether an option, the URI or the config file requests TLS.
    pub fn speaks_tls(&self) -> bool {
        self.tls.tls || self.uri.as_ref().is_some_and(has_tls)
    }

    /// Drops the TLS options if the target has no TLS, but the bus with this URI has TLS. The options are then only for
    /// the bus.
    pub(super) fn leave_tls_to(&mut self, bus: Option<&Password>) {
        if bus.is_some_and(has_tls) && !self.speaks_tls() {
            self.tls = TlsArgs::default();
        }
    }

    /// Adopts the server and the options of a target of the config file. The server and the options on the command line
    /// have precedence.
    pub fn follow(&mut self, options: Self) {
        self.server = options.server;
        self.user = self.user.take().or(options.user);
        self.db = self.db.or(options.db);
        self.tls.follow(options.tls);
    }

    /// Returns the target. If the arguments contain no password, the target has the password from the environment.
    ///
    /// # Errors
    /// Fails if options contradict each other or are out of range, or if a file that they name is invalid.
    pub fn target(&self) -> Result<Target, UsageError> {
        match env::var(PASSWORD_VARIABLE) {
            Ok(password) => self.target_with(Some(Password::new(password))),
            Err(VarError::NotPresent) => self.target_with(None),
            Err(VarError::NotUnicode(_)) => Err(UsageError::of(format!(
                "the environment variable {PASSWORD_VARIABLE} is not UTF-8; set it to a password in UTF-8, or unset it"
            ))),
        }
    }

    /// Returns the target as [`target`](Self::target) does, with `from_variable` as the password from the environment.
    ///
    /// # Errors
    /// Returns the errors of [`target`](Self::target).
    pub(super) fn target_with(&self, from_variable: Option<Password>) -> Result<Target, UsageError> {
        let ParsedUri { mut target, tls } = match &self.uri {
            // A URI may contain a password, so it is treated as one.
            Some(uri) => parse_uri(uri.reveal()).map_err(UsageError::of)?,
            None => {
                let server = self.server.clone().unwrap_or_default();
                let (address, db) = (self.address(server.address.clone())?, self.db.unwrap_or(server.db));
                if db > 0 && !server.dialect.has_databases() {
                    return Err(UsageError::of(UriError::NoDb));
                }
                let site = server.dialect.site().filter(|_| address != server.address);
                let dialect = match site {
                    Some(_) => {
                        parse_uri(&address.uri(server.dialect)).map_err(UsageError::of)?.target.dialect
                    }
                    None => server.dialect,
                };
                ParsedUri { target: Target { address, db, dialect, ..server }, tls: false }
            }
        };
        if target.db > MAX_DB {
            let text = format!("--db {}: the database must be between 0 and {MAX_DB}", target.db);
            return Err(UsageError::Line(text));
        }
        if target.credentials.is_none() {
            // The environment variable is for Redis only. As in redis-cli, an empty variable is ignored.
            let is_meant = |it: &Password| target.dialect.has_default_user() && !it.reveal().is_empty();
            target.credentials = self.credentials(from_variable.filter(is_meant))?;
        } else if let Some(option) = self.credential_option() {
            let text = format!("the URI contains the user and password already; leave {option} out");
            return Err(UsageError::Line(text));
        }
        if !target.dialect.has_keys() && target.credentials.is_some() {
            return Err(UsageError::of(UriError::HttpUser));
        }
        if !target.dialect.has_default_user()
            && target.credentials.as_ref().is_some_and(|who| who.user.is_none())
        {
            let text =
                "a password for memcached needs a user: give --user, or -u memcached://user:password@host";
            return Err(UsageError::of(text));
        }
        if self.resp3 {
            target.dialect = target.dialect.in_resp3().ok_or_else(|| {
                UsageError::of("-3 (RESP3) is for Redis and Valkey; leave it out for other servers")
            })?;
        }
        target.tls = self.tls.tls(tls, &target.address)?;
        // With another address, it is not the server that has this name.
        target.name = self.named.clone().filter(|_| !self.has_address());
        Ok(target)
    }

    /// Returns the address in these options. Missing parts come from `usual`.
    fn address(&self, usual: Address) -> Result<Address, UsageError> {
        let host = self.host.as_deref().unwrap_or_default();
        if host.contains("://") {
            return Err(UsageError::of("-h takes a host name or address; give the URI with -u"));
        }
        if let Some(path) = &self.socket {
            if path.to_string_lossy().contains("://") {
                return Err(UsageError::of("-s takes the path of a Unix socket; give the URI with -u"));
            }
            if path.as_os_str().is_empty() {
                return Err(UsageError::of("-s is empty; give the path of a Unix socket"));
            }
            return Ok(Address::Unix(path.clone()));
        }
        let (usual_host, usual_port) = match usual {
            Address::Tcp { host, port } => (host, port),
            Address::Unix(_) | Address::Service(_) if self.host.is_none() && self.port.is_none() => {
                return Ok(usual);
            }
            Address::Unix(_) | Address::Service(_) => (DEFAULT_HOST.to_owned(), DEFAULT_PORT),
        };
        let host = self.host.clone().unwrap_or(usual_host);
        if host.is_empty() {
            return Err(UsageError::of("-h is empty; give a host name or address"));
        }
        Ok(Address::Tcp { host, port: self.port.unwrap_or(usual_port) })
    }

    fn credentials(&self, from_variable: Option<Password>) -> Result<Option<Credentials>, UsageError> {
        match (self.password.clone().or(from_variable), &self.user) {
            (Some(password), user) => Ok(Some(Credentials { user: user.clone(), password })),
            (None, Some(_)) => Err(UsageError::of(format!(
                "--user needs a password: give it with -a, or in the environment variable {PASSWORD_VARIABLE}"
            ))),
            (None, None) => Ok(None),
        }
    }

    fn credential_option(&self) -> Option<&'static str> {
        match (&self.password, &self.user) {
            _ if self.askpass => Some("--askpass"),
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
    use crate::{endpoint::Trust, protocol::Dialect};

    #[derive(Parser)]
    #[command(disable_help_flag = true)]
    struct TestArgs {
        #[command(flatten)]
        target: TargetArgs,
    }

    fn args(line: &str) -> TargetArgs {
        TestArgs::try_parse_from(std::iter::once("redyno").chain(line.split_whitespace())).unwrap().target
    }

    fn target(line: &str, variable: Option<&str>) -> Result<Target, UsageError> {
        args(line).target_with(variable.map(Password::new))
    }

    #[test]
    fn without_options_the_target_is_the_default_and_no_server_is_named() {
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
    fn options_override_a_named_target_and_the_options_of_trust_are_adopted_together() {
        let merged = |line: &str, server: &str, options: &str| {
            let mut args = args(line);
            let server = Some(parse_uri(server).unwrap().target);
            args.follow(TargetArgs { server, ..self::args(options) });
            args
        };
        let found = |line: &str| {
            merged(line, "redis://db:7000/2", "--user ann --db 3")
                .target_with(Some(Password::new("x")))
                .unwrap()
        };
        let shown = |target: Target| {
            (target.address.to_string(), target.db, target.credentials.unwrap().user.unwrap())
        };
        assert_eq!(shown(found("")), ("db:7000".into(), 3, "ann".into()));
        assert_eq!(shown(found("-p 1 --db 5 --user bob")), ("db:1".into(), 5, "bob".into()));
        assert_eq!(shown(found("-s /s")).0, "/s");
        assert_eq!(merged("-h h", "unix:///s", "").target_with(None).unwrap().address.to_string(), "h:6379");
        assert_eq!(
            merged("--db 1", "memcached://h", "").target_with(None),
            Err(UsageError::of(UriError::NoDb))
        );
        let trust = |line, options| merged(line, "redis://h", options).tls.trust();
        assert_eq!(trust("", "--insecure"), Trust::Anybody);
        assert_eq!(
            trust("--cacert a", "--insecure"),
            Trust::These { file: Some("a".into()), directory: None }
        );
        assert_eq!(trust("--insecure", "--cacert a"), Trust::Anybody);
    }

    #[test]
    fn impossible_combinations_and_ranges_are_refused() {
        for (line, expected) in [
            ("-u redis://:x@h -a x", "the URI contains the user and password already; leave -a out"),
            ("-u redis://:x@h --user x", "the URI contains the user and password already; leave --user out"),
            (
                "--user ann",
                "--user needs a password: give it with -a, or in the environment variable REDISCLI_AUTH",
            ),
            (
                "-u memcached://h -a x",
                "a password for memcached needs a user: give --user, or -u memcached://user:password@host",
            ),
            ("-u memcached://h -3", "-3 (RESP3) is for Redis and Valkey; leave it out for other servers"),
            ("-u memcached://h/1", &UriError::NoDb.to_string()),
            ("-u redis://h/2147483648", "--db 2147483648: the database must be between 0 and 2147483647"),
            ("-h=", "-h is empty; give a host name or address"),
            ("-h redis://:p@h", "-h takes a host name or address; give the URI with -u"),
            ("-s unix:///s", "-s takes the path of a Unix socket; give the URI with -u"),
            (
                "--insecure",
                "--insecure needs TLS, which is off; add --tls, use rediss:// in the URI, or leave the option out",
            ),
        ] {
            assert_eq!(target(line, None), Err(UsageError::of(expected)), "{line}");
        }
    }

    #[test]
    fn neither_debug_nor_help_shows_a_password() {
        let shown = format!("{:?}", args("-a hunter2 -u redis://:hunter2@h"));
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}
