//! Parses the URI of a target server.
//!
//! ```text
//! redis://[[user]:password@]host[:port][/db]          valkey:// likewise; IPv6 in brackets
//! rediss://…                                          valkeys:// likewise: the same with TLS
//! redis+unix://[[user]:password@]/path[?db=N]         valkey+unix:// and unix:// likewise
//! redis+sentinel://[[user]:password@]host[:port][,host[:port]…]/service[/db]   rediss+sentinel:// with TLS
//! memcached://[user:password@]host[:port]             memcacheds:// with TLS; memcached:///path is a unix socket, as is
//!                                                     memcached+unix:///path
//! http://host[:port][/path][?query]                   https:// with TLS
//! ```
//! As in redis-cli, a part before `@` without a colon is the password. Parts are percent-decoded. A password with an
//! unescaped `/` or `@` is parsed wrongly. Error messages therefore contain no part of the URI except the scheme.

mod http;

use std::path::PathBuf;

use thiserror::Error;

use super::{Address, Credentials, DEFAULT_HOST, Password, Service, Target};
use crate::protocol::Dialect;

/// The port on which a Sentinel usually listens.
const SENTINEL_PORT: u16 = 26_379;

/// The reason why a text is not a valid URI of a server.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum UriError {
    /// The text has no `scheme://`.
    #[error("the URI has no scheme; write redis://host:port or unix:///path")]
    NoScheme,
    /// The scheme is unknown.
    #[error("a URI of a target begins with {known}, redis+sentinel://, redis+unix:// or unix://, not with '{0}://'", known = schemes())]
    Scheme(String),
    /// The brackets contain no IPv6 address, or the text after the brackets is not a port.
    #[error(
        "the host in the URI is not well-formed; write an IPv6 address in brackets, as in redis://[::1]:6379"
    )]
    Host,
    /// The port is invalid.
    #[error("the port in the URI must be a number from 1 to 65535")]
    Port,
    /// The database is invalid.
    #[error("the database in the URI must be a whole number, as in redis://host:6379/2")]
    Db,
    /// The URI names a database, but the server has no databases.
    #[error("memcached has no databases; leave out the number at the end of the URI")]
    NoDb,
    /// The URI of a unix socket has no path.
    #[error("the URI names no socket; write its absolute path, as in unix:///run/redis.sock")]
    NoPath,
    /// The URI of Sentinels names no service.
    #[error(
        "the URI names no service; write its name after the Sentinels, as in redis+sentinel://host:26379/mymaster"
    )]
    NoService,
    /// The URI names Sentinels, but the address of one server is required.
    #[error("Sentinels cannot be given here; give the address of the primary")]
    Sentinels,
    /// The URI has a fragment or an unknown query. The only known query is `db=N`, for a unix socket.
    #[error("the URI has an unknown query or fragment; only ?db=N is known, for a unix socket")]
    Query,
    /// An HTTP URI has a fragment, which is never part of a request.
    #[error("HTTP does not send a # and the text after it; leave them out, or write %23")]
    Fragment,
    /// An HTTP URI has a user.
    #[error(
        "an HTTP address takes no user and password; give the field Authorization in [http] headers of a workload file"
    )]
    HttpUser,
    /// The path of an HTTP URI has bytes that a request cannot have.
    #[error("the path of an HTTP address has spaces or letters beyond ASCII; write them as %20 and so on")]
    HttpPath,
    /// A percent sign is not followed by two hexadecimal digits, or the decoded bytes are not UTF-8.
    #[error("the URI has a broken percent-encoding; a literal % is written %25")]
    Encoding,
}

/// The content of a URI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedUri {
    /// The target. The TLS configuration of the target is not set, because a URI names no certificates.
    pub target: Target,
    /// Whether the URI requires TLS.
    pub tls: bool,
}

/// Parses a URI. The RESP version is 2, because a URI cannot choose the version.
///
/// # Errors
/// Fails if the text is not a URI of one of the supported forms.
pub fn parse_uri(text: &str) -> Result<ParsedUri, UriError> {
    let (scheme, rest) = text.split_once("://").ok_or(UriError::NoScheme)?;
    let lower = scheme.to_ascii_lowercase();
    if let Some((dialect, tls)) = Dialect::of_scheme(&lower) {
        if !dialect.has_keys() {
            return http::target(rest, tls).map(|target| ParsedUri { target, tls });
        }
        // In a dialect without databases, a URI with only a path names a unix socket.
        let is_socket = !dialect.has_databases() && !tls && (rest.starts_with('/') || rest.contains("@/"));
        let found = if is_socket { unix(rest)? } else { tcp(rest, dialect.port())? };
        return of_dialect(found, dialect).map(|target| ParsedUri { target, tls });
    }
    if let Some((dialect, tls)) = lower.strip_suffix("+sentinel").and_then(Dialect::of_scheme)
        && dialect.has_databases()
    {
        return Ok(ParsedUri { target: Target { dialect, ..service(rest)? }, tls });
    }
    let by_socket = lower.strip_suffix("+unix").map(Dialect::of_scheme);
    match (lower.as_str(), by_socket) {
        ("unix", _) => Ok(ParsedUri { target: unix(rest)?, tls: false }),
        (_, Some(Some((dialect, false)))) if dialect.has_keys() => {
            of_dialect(unix(rest)?, dialect).map(|target| ParsedUri { target, tls: false })
        }
        // The text before "://" may be a misplaced password. The error repeats this text only if the text can
        // be a scheme.
        (other, _) if other.len() <= 16 && other.bytes().all(|b| b.is_ascii_alphabetic() || b == b'+') => {
            Err(UriError::Scheme(scheme.to_owned()))
        }
        _ => Err(UriError::NoScheme),
    }
}

/// Returns all URI schemes over TCP, for an error message.
fn schemes() -> String {
    Dialect::schemes().map(|scheme| format!("{scheme}://")).collect::<Vec<_>>().join(", ")
}

fn of_dialect(target: Target, dialect: Dialect) -> Result<Target, UriError> {
    if !dialect.has_databases() && target.db > 0 {
        return Err(UriError::NoDb);
    }
    Ok(Target { dialect, ..target })
}

fn tcp(rest: &str, usual_port: u16) -> Result<Target, UriError> {
    if rest.contains(['?', '#']) {
        return Err(UriError::Query);
    }
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (user_info, host_port) = split_user_info(authority);
    let (host, port) = host_and_port(host_port, usual_port)?;
    Ok(Target {
        address: Address::Tcp { host, port },
        credentials: user_info.map(credentials).transpose()?,
        db: database(path)?,
        ..Target::default()
    })
}

fn service(rest: &str) -> Result<Target, UriError> {
    if rest.contains(['?', '#']) {
        return Err(UriError::Query);
    }
    let (authority, path) = rest.split_once('/').ok_or(UriError::NoService)?;
    let (user_info, hosts) = split_user_info(authority);
    let sentinels = hosts.split(',').map(|host| host_and_port(host, SENTINEL_PORT));
    let (name, db) = path.split_once('/').unwrap_or((path, ""));
    let name = Some(decoded(name)?).filter(|name| !name.is_empty()).ok_or(UriError::NoService)?;
    Ok(Target {
        address: Address::Service(Service { name, sentinels: sentinels.collect::<Result<_, _>>()? }),
        credentials: user_info.map(credentials).transpose()?,
        db: database(db)?,
        ..Target::default()
    })
}

fn database(path: &str) -> Result<u32, UriError> {
    if path.is_empty() { Ok(0) } else { number(path).ok_or(UriError::Db) }
}

fn unix(rest: &str) -> Result<Target, UriError> {
    let (rest, query) = rest.split_once('?').map_or((rest, None), |(rest, query)| (rest, Some(query)));
    let (authority, path) = rest.split_at(rest.find('/').ok_or(UriError::NoPath)?);
    let (user_info, host) = split_user_info(authority);
    if !host.is_empty() || path == "/" {
        return Err(UriError::NoPath);
    }
    let db = match query {
        None => 0,
        Some(query) => number(query.strip_prefix("db=").ok_or(UriError::Query)?).ok_or(UriError::Db)?,
    };
    Ok(Target {
        address: Address::Unix(PathBuf::from(decoded(path)?)),
        credentials: user_info.map(credentials).transpose()?,
        db,
        ..Target::default()
    })
}

/// Splits `[user-info@]host` at the last `@`, so that a password may contain `@`.
fn split_user_info(authority: &str) -> (Option<&str>, &str) {
    authority.rsplit_once('@').map_or((None, authority), |(user_info, host)| (Some(user_info), host))
}

fn credentials(user_info: &str) -> Result<Credentials, UriError> {
    let (user, password) = user_info.split_once(':').unwrap_or(("", user_info));
    let user = Some(decoded(user)?).filter(|user| !user.is_empty());
    Ok(Credentials { user, password: Password::new(decoded(password)?) })
}

/// Parses `host`, `host:port`, `[v6]` and `[v6]:port`, with defaults for missing parts.
fn host_and_port(text: &str, usual_port: u16) -> Result<(String, u16), UriError> {
    let (host, port) = if let Some(bracketed) = text.strip_prefix('[') {
        let (host, after) = bracketed.split_once(']').ok_or(UriError::Host)?;
        host.split('%').next().unwrap_or(host).parse::<std::net::Ipv6Addr>().map_err(|_| UriError::Host)?;
        let port = if after.is_empty() { None } else { Some(after.strip_prefix(':').ok_or(UriError::Host)?) };
        (host.to_owned(), port)
    } else {
        let (host, port) = text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port)));
        if port.is_some_and(|port| port.contains(':')) {
            return Err(UriError::Host);
        }
        (decoded(host)?, port)
    };
    let host = if host.is_empty() { DEFAULT_HOST.to_owned() } else { host };
    let port = port.map_or(Some(usual_port), number).filter(|port| *port > 0);
    Ok((host, port.ok_or(UriError::Port)?))
}

/// Parses a number that consists only of digits. `parse` alone would also accept a `+`.
fn number<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// Decodes percent-encoding. Replaces `%` and two hexadecimal digits with the byte.
///
/// # Errors
/// Fails if two digits are missing, or if the bytes are not UTF-8.
pub fn decoded(text: &str) -> Result<String, UriError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let [high, low, tail @ ..] = tail else { return Err(UriError::Encoding) };
        let digit = |byte: &u8| char::from(*byte).to_digit(16).ok_or(UriError::Encoding);
        bytes.push((digit(high)? * 16 + digit(low)?) as u8);
        rest = tail;
    }
    String::from_utf8(bytes).map_err(|_| UriError::Encoding)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(address: Address, who: Option<(Option<&str>, &str)>, db: u32) -> Target {
        let credentials = who.map(|(user, password)| Credentials {
            user: user.map(str::to_owned),
            password: Password::new(password),
        });
        Target { address, credentials, db, ..Target::default() }
    }

    fn tcp(host: &str, port: u16) -> Address {
        Address::Tcp { host: host.into(), port }
    }

    #[test]
    fn a_uri_names_host_port_database_and_credentials() {
        let cases = [
            ("redis://", target(tcp("127.0.0.1", 6379), None, 0)),
            ("redis://db.example", target(tcp("db.example", 6379), None, 0)),
            ("valkey://db.example:7000/3", target(tcp("db.example", 7000), None, 3)),
            ("redis://:pw@h/", target(tcp("h", 6379), Some((None, "pw")), 0)),
            ("redis://pw@h", target(tcp("h", 6379), Some((None, "pw")), 0)),
            ("REDIS://ann:p%40s%2Fs%3A%25@h:1/15", target(tcp("h", 1), Some((Some("ann"), "p@s/s:%")), 15)),
            ("redis://ann:a:b@c@h:2", target(tcp("h", 2), Some((Some("ann"), "a:b@c")), 0)),
            ("redis://[::1]:7000/1", target(tcp("::1", 7000), None, 1)),
            ("redis://[fe80::1%eth0]", target(tcp("fe80::1%eth0", 6379), None, 0)),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_uri(text), Ok(ParsedUri { target: expected, tls: false }), "{text}");
        }
    }

    #[test]
    fn an_s_at_the_end_of_the_scheme_requires_tls() {
        for text in ["rediss://ann:pw@h:1/2", "valkeys://ann:pw@h:1/2", "REDISS://ann:pw@h:1/2"] {
            let expected = target(tcp("h", 1), Some((Some("ann"), "pw")), 2);
            assert_eq!(parse_uri(text), Ok(ParsedUri { target: expected, tls: true }), "{text}");
        }
    }

    #[test]
    fn a_unix_socket_has_a_path_and_its_database_in_the_query() {
        let socket = |path: &str| Address::Unix(path.into());
        let plain = |target| Ok(ParsedUri { target, tls: false });
        assert_eq!(parse_uri("unix:///run/r.sock"), plain(target(socket("/run/r.sock"), None, 0)));
        assert_eq!(
            parse_uri("redis+unix://ann:pw@/a%20b.sock?db=4"),
            plain(target(socket("/a b.sock"), Some((Some("ann"), "pw")), 4))
        );
        assert_eq!(parse_uri("unix://run/r.sock"), Err(UriError::NoPath));
        assert_eq!(parse_uri("unix:///"), Err(UriError::NoPath));
        assert_eq!(parse_uri("unix:///r.sock?timeout=1"), Err(UriError::Query));
    }

    #[test]
    fn sentinels_are_named_with_their_service() {
        let service = |name: &str, sentinels: &[(&str, u16)]| {
            let sentinels = sentinels.iter().map(|(host, port)| ((*host).to_owned(), *port)).collect();
            Address::Service(Service { name: name.to_owned(), sentinels })
        };
        let three = service("main", &[("a", 1), ("::1", 26_379), ("c", 26_379)]);
        let parsed = |text| parse_uri(text).map(|parsed| (parsed.target, parsed.tls));
        assert_eq!(
            parsed("redis+sentinel://ann:pw@a:1,[::1],c/main/3"),
            Ok((target(three, Some((Some("ann"), "pw")), 3), false))
        );
        let one = target(service("my main", &[("h", 26_379)]), None, 0);
        assert_eq!(parsed("valkeys+sentinel://h/my%20main"), Ok((one, true)));
        for text in ["redis+sentinel://h", "redis+sentinel://h/", "redis+sentinel://h//2"] {
            assert_eq!(parsed(text), Err(UriError::NoService), "{text}");
        }
        assert_eq!(parsed("redis+sentinel://h/main/x"), Err(UriError::Db));
        assert_eq!(parsed("redis+sentinel://h/main?x"), Err(UriError::Query));
        assert_eq!(parsed("memcached+sentinel://h/m"), Err(UriError::NoScheme));
    }

    #[test]
    fn a_memcached_uri_has_its_own_port_and_sockets_but_no_databases() {
        let parsed = |text: &str| {
            let ParsedUri { target, tls } = parse_uri(text)?;
            let who = target.credentials.map(|who| (who.user, who.password.reveal().to_owned()));
            assert_eq!(target.dialect, Dialect::Memcached);
            Ok((target.address, who, tls))
        };
        let ann = Some((Some("ann".to_owned()), "pw".to_owned()));
        let socket = |path: &str| Address::Unix(path.into());
        assert_eq!(parsed("memcached://"), Ok((tcp("127.0.0.1", 11211), None, false)));
        assert_eq!(parsed("memcacheds://ann:pw@h:1/"), Ok((tcp("h", 1), ann.clone(), true)));
        assert_eq!(parsed("memcached:///run/m.sock"), Ok((socket("/run/m.sock"), None, false)));
        assert_eq!(parsed("memcached+unix://ann:pw@/m"), Ok((socket("/m"), ann.clone(), false)));
        assert_eq!(parsed("memcached://ann:pw@/m"), Ok((socket("/m"), ann, false)));
        assert_eq!(parsed("memcached://h/2"), Err(UriError::NoDb));
        assert_eq!(parsed("memcached+unix:///m?db=1"), Err(UriError::NoDb));
    }

    #[test]
    fn an_invalid_uri_is_refused_with_one_line() {
        let cases = [
            ("127.0.0.1:6379", UriError::NoScheme),
            ("ftp://h", UriError::Scheme("ftp".into())),
            ("rediss+unix:///s", UriError::Scheme("rediss+unix".into())),
            ("redis://h:0", UriError::Port),
            ("redis://h:65536", UriError::Port),
            ("redis://h:+1", UriError::Port),
            ("redis://h:", UriError::Port),
            ("redis://h/x", UriError::Db),
            ("redis://h/-1", UriError::Db),
            ("redis://h/1/2", UriError::Db),
            ("redis://::1:6379", UriError::Host),
            ("redis://[::1", UriError::Host),
            ("redis://[::1]6379", UriError::Host),
            ("redis://[h]", UriError::Host),
            ("redis://h?db=1", UriError::Query),
            ("redis://:%4@h", UriError::Encoding),
            ("redis://:%+1@h", UriError::Encoding),
            ("redis://:%ff@h", UriError::Encoding),
        ];
        for (text, expected) in cases {
            let error = parse_uri(text).unwrap_err();
            assert_eq!(error, expected, "{text}");
            assert!(!error.to_string().contains('\n'));
        }
    }

    #[test]
    fn no_error_repeats_a_password_wherever_it_ended_up() {
        for text in [
            "redis://user:hunter2",
            "redis://:hunter2/x@h",
            "redis://:hunter2#@h",
            "redis://:hunter2%zz@h",
            "redis://user:hunter2@h:port",
            "redis://user:hunter2@h/db",
            "hunter2://h",
            "unix://:hunter2@run/x",
        ] {
            let error = parse_uri(text).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
        }
    }
    #[test]
    fn the_uri_of_an_address_leads_to_the_same_address() {
        for name in ["my main", "50%25/2", "a?b#c", "né\u{202e}", "it's"] {
            let service = Service { name: name.to_owned(), sentinels: vec![("a".to_owned(), 1)] };
            for address in [Address::Service(service), Address::Unix(format!("/run/{name}.sock").into())] {
                let parsed = parse_uri(&address.uri(Dialect::Resp2));
                assert_eq!(parsed.map(|parsed| parsed.target.address), Ok(address));
            }
        }
    }
}
