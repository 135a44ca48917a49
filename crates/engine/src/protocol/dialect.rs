//! The dialects, which are the protocols that servers speak. Only this module decides how a dialect encodes commands,
//! finds the ends of replies, pings, authenticates and appears in a URI.
//!
//! | | encodes | skips | pings | authenticates |
//! |---|---|---|---|---|
//! | RESP2 | words, each with its length | [`Skipper`] | `PING`, `+PONG` | AUTH, SELECT, CLIENT SETNAME |
//! | RESP3 | as RESP2 | as RESP2 | as RESP2 | HELLO 3 behind AUTH |
//! | memcached | lines, a value with its length | to the end of a line, a value, END | `mn`, `MN` | a `set` of user
//! and password |
//! | HTTP/1.1 | a header, a body with its length | a header, its body | `HEAD`, any status | - |
//!
//! In every dialect a request has one reply.

use super::{
    HttpSite, Introduction, Part, Refusal, Skipper, Step, Unspoken, Words, http, memcached,
    request_parts::Laid, resp, resp_skipper::RespSkipper, words,
};

/// A dialect.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Dialect {
    /// The protocol of every Redis and Valkey.
    #[default]
    Resp2,
    /// The newer protocol of Redis (since version 6) and Valkey, which a client has to request.
    Resp3,
    /// memcached's text protocol, classic and meta commands.
    Memcached,
    /// HTTP/1.1, to this site.
    Http(&'static HttpSite),
}

/// URI schemes: the name, whether it uses TLS, and the dialect.
const SCHEMES: [(&str, bool, Dialect); 8] = [
    ("redis", false, Dialect::Resp2),
    ("rediss", true, Dialect::Resp2),
    ("valkey", false, Dialect::Resp2),
    ("valkeys", true, Dialect::Resp2),
    ("memcached", false, Dialect::Memcached),
    ("memcacheds", true, Dialect::Memcached),
    ("http", false, Dialect::Http(&http::NOWHERE)),
    ("https", true, Dialect::Http(&http::NOWHERE)),
];

impl Dialect {
    /// Returns the dialect of a URI's scheme, and whether it uses TLS.
    pub fn of_scheme(scheme: &str) -> Option<(Self, bool)> {
        SCHEMES.iter().find(|(name, ..)| *name == scheme).map(|(_, tls, dialect)| (*dialect, *tls))
    }

    /// Returns all URI schemes.
    pub fn schemes() -> impl Iterator<Item = &'static str> {
        SCHEMES.iter().map(|(name, ..)| *name)
    }

    /// Returns the URI scheme of the dialect, with TLS or without.
    pub fn scheme(self, with_tls: bool) -> &'static str {
        match (self, with_tls) {
            (Self::Resp2 | Self::Resp3, false) => "redis",
            (Self::Resp2 | Self::Resp3, true) => "rediss",
            (Self::Memcached, false) => "memcached",
            (Self::Memcached, true) => "memcacheds",
            (Self::Http(_), false) => "http",
            (Self::Http(_), true) => "https",
        }
    }

    /// Returns the words for messages about servers of this dialect.
    pub fn words(self) -> &'static Words {
        match self {
            Self::Resp2 | Self::Resp3 => &words::REDIS,
            Self::Memcached => &words::MEMCACHED,
            Self::Http(_) => &words::HTTP,
        }
    }

    /// Returns the dialect of a server with this name and version: `memcached 1.6.18`, `redis 7.0.15`, `http 1.1`.
    pub fn of_server(name: &str) -> Self {
        match name.split(' ').next() {
            Some("memcached") => Self::Memcached,
            Some("http") => Self::Http(&http::NOWHERE),
            _ => Self::default(),
        }
    }

    /// Returns the default port.
    pub fn port(self) -> u16 {
        match self {
            Self::Resp2 | Self::Resp3 => 6379,
            Self::Memcached => 11211,
            Self::Http(_) => 80,
        }
    }

    /// Returns how many bytes of memory, approximately, a server needs for a string key in addition to its name and
    /// value.
    pub fn key_overhead(self) -> u64 {
        match self {
            Self::Resp2 | Self::Resp3 => 64,
            Self::Memcached => 48,
            Self::Http(_) => 0,
        }
    }

    /// Encodes a command of fixed words, none of which is a value; by HTTP, a request with its body.
    pub fn encode(self, words: &[&[u8]]) -> Vec<u8> {
        match self {
            Self::Resp2 | Self::Resp3 => resp::encode(words),
            Self::Memcached => memcached::encode(words),
            Self::Http(site) => http::encode(site, words),
        }
    }

    /// Returns word number `word` of command number `command` in encoded commands, both from 0; `None` if there is none.
    /// In memcached's protocol, commands without a value precede that command. HTTP has no keys to look for.
    pub(crate) fn request_word(self, requests: &[u8], command: usize, word: usize) -> Option<&[u8]> {
        match self {
            Self::Resp2 | Self::Resp3 => resp::request_word(requests, command, word),
            Self::Memcached => memcached::request_word(requests, command, word),
            Self::Http(_) => None,
        }
    }

    /// Returns the layout of a command of these words.
    ///
    /// # Errors
    /// When the dialect does not have the command.
    pub(super) fn lay_out<'a>(self, words: &[Vec<Part<'a>>]) -> Result<Vec<Laid<'a>>, Unspoken> {
        match self {
            Self::Resp2 | Self::Resp3 => Ok(resp::lay_out(words)),
            Self::Memcached => memcached::lay_out(words),
            Self::Http(site) => http::lay_out(site, words),
        }
    }

    /// Checks that the dialect has a command of these words.
    ///
    /// # Errors
    /// When it does not; the error gives the reason.
    pub fn check(self, words: &[Vec<Part>]) -> Result<(), Unspoken> {
        self.lay_out(words).map(|_| ())
    }

    /// Returns a skipper, which finds the ends of replies, for a new connection.
    pub fn skipper(self) -> Skipper {
        match self {
            Self::Resp2 | Self::Resp3 => Skipper::Resp(RespSkipper::default()),
            Self::Memcached => Skipper::Memcached(memcached::MemcachedSkipper::default()),
            Self::Http(_) => Skipper::Http(Box::default()),
        }
    }

    /// Returns a request that every server answers in the same way and with very little work: PING, memcached's `mn`, or
    /// HEAD of the path in the URI.
    pub fn ping(self) -> &'static [u8] {
        match self {
            // The form common to RESP2 and RESP3, so that it may precede HELLO.
            Self::Resp2 | Self::Resp3 => b"*1\r\n$4\r\nPING\r\n",
            Self::Memcached => memcached::PING,
            Self::Http(site) => site.ping(),
        }
    }

    /// Returns whether the reply to a [`ping`](Self::ping), good or an error, may begin with these bytes.
    pub fn answers_ping(self, first: &[u8]) -> bool {
        match self {
            Self::Resp2 | Self::Resp3 => first.starts_with(b"+PONG") || first.starts_with(b"-"),
            Self::Memcached => [memcached::PONG, b"ERROR", b"CLIENT_ERROR", b"SERVER_ERROR"]
                .iter()
                .any(|known| first.starts_with(known)),
            Self::Http(_) => first.starts_with(b"HTTP/1."),
        }
    }

    /// Returns the commands of a greeting in order, each with one reply.
    pub fn introduce(self, who: &Introduction) -> Vec<(Step, Vec<u8>)> {
        match self {
            Self::Resp2 => resp::introduce(who, false),
            Self::Resp3 => resp::introduce(who, true),
            Self::Memcached => memcached::introduce(who),
            Self::Http(_) => Vec::new(),
        }
    }

    /// Returns what an error means as the reply to a command of the greeting.
    pub fn refusal(self, step: Step, line: &[u8]) -> Refusal {
        match self {
            Self::Resp2 | Self::Resp3 => resp::refusal(step, line),
            Self::Memcached => memcached::refusal(step, line),
            // Whatever the status of the reply is, the server speaks HTTP.
            Self::Http(_) if step == Step::Ping => Refusal::Harmless,
            Self::Http(_) => Refusal::Other,
        }
    }

    /// Returns whether an answer without authentication shows that the server needs no password. The password is not
    /// sent to such a server.
    pub fn answers_only_whom_it_knows(self) -> bool {
        self == Self::Memcached
    }
}

/// HTTP.
impl Dialect {
    /// Returns the site to which requests are sent by HTTP.
    pub fn site(self) -> Option<&'static HttpSite> {
        if let Self::Http(site) = self { Some(site) } else { None }
    }

    /// Returns the dialect with these header fields in each request; only HTTP has some.
    #[must_use]
    pub(crate) fn with_fields(self, fields: &[(String, String)]) -> Self {
        match self {
            Self::Http(site) if !fields.is_empty() => Self::Http(site.with_fields(fields)),
            other => other,
        }
    }

    /// Checks that the methods of a workload, in upper case, can be sent together.
    ///
    /// # Errors
    /// When they cannot; the error gives the reason.
    pub fn check_together<'m>(self, methods: impl Iterator<Item = &'m str>) -> Result<(), Unspoken> {
        if self.site().is_some() { http::check_alone(methods) } else { Ok(()) }
    }

    /// Returns whether replies to this command, in upper case, end with their header although it announces a body.
    pub(crate) fn is_bodiless(self, command: &str) -> bool {
        self.site().is_some() && http::is_bodiless(command)
    }
}

/// Which features a dialect has.
impl Dialect {
    /// Returns whether the server is a Redis or Valkey.
    fn is_resp(self) -> bool {
        matches!(self, Self::Resp2 | Self::Resp3)
    }

    /// Returns whether a server has keys, and statistics about its data and clients.
    pub fn has_keys(self) -> bool {
        self.site().is_none()
    }

    /// Returns whether only a URI can select the dialect.
    pub fn needs_uri(self) -> bool {
        !self.is_resp()
    }

    /// Returns the RESP3 variant of the dialect, if there is one.
    pub fn in_resp3(self) -> Option<Self> {
        self.is_resp().then_some(Self::Resp3)
    }

    /// Returns whether a request is a list of words, each with its length, and not a line of text.
    pub fn counts_words(self) -> bool {
        self.is_resp()
    }

    /// Returns whether a password without a user name belongs to a default user.
    pub fn has_default_user(self) -> bool {
        self.is_resp()
    }

    /// Returns whether a server has numbered databases.
    pub fn has_databases(self) -> bool {
        self.is_resp()
    }

    /// Returns whether the values of keys can be hashes, lists and sets, and replies can be arrays with null elements.
    pub fn has_collections(self) -> bool {
        self.is_resp()
    }

    /// Returns whether commands can be placed between MULTI and EXEC.
    pub fn has_transactions(self) -> bool {
        self.is_resp()
    }

    /// Returns whether a server can be set up before a load with scripts, functions and indexes.
    pub fn has_setup(self) -> bool {
        self != Self::Memcached
    }

    /// Returns whether a server sends messages without a request (RESP3 pushes).
    #[inline]
    pub fn has_pushes(self) -> bool {
        self == Self::Resp3
    }

    /// Returns whether a server supports compare-and-swap (CAS): a write that names the number of an item fails if
    /// another client has changed the item.
    pub fn has_cas(self) -> bool {
        self == Self::Memcached
    }

    /// Returns whether a server can list its keys, so that the keys of a run can be found.
    pub fn lists_keys(self) -> bool {
        self.is_resp()
    }

    /// Returns whether a server can list its commands (COMMAND).
    pub fn lists_commands(self) -> bool {
        self.is_resp()
    }

    /// Returns whether a server has parameters that can be changed while it runs.
    pub fn has_config(self) -> bool {
        self.is_resp()
    }

    /// Returns whether a server keeps a log of slow commands (SLOWLOG) and of slow events (LATENCY).
    pub fn has_slow_log(self) -> bool {
        self.is_resp()
    }

    /// Returns whether a server always counts how often each command ran, and how long.
    pub fn times_commands(self) -> bool {
        self.is_resp()
    }
}

impl Dialect {
    /// Returns the command of a greeting's step, without its arguments.
    pub fn named(self, step: Step) -> &'static str {
        match (self, step) {
            (_, Step::Ping) => self.words().ping,
            (Self::Memcached, Step::Auth) => "the password",
            (_, Step::Auth) => "AUTH",
            (_, Step::Hello) => "HELLO 3",
            (_, Step::Tracking) => "CLIENT TRACKING",
            (_, Step::Select) => "SELECT",
            (_, Step::SetName) => "CLIENT SETNAME",
            (_, Step::Connection) => "the connection",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ping_is_a_command_with_one_reply_of_its_dialect() {
        let resp = [("+PONG\r\n", true), ("-LOADING x\r\n", true), ("+OK\r\n", false)];
        let memcached = [("MN\r\n", true), ("CLIENT_ERROR unauthenticated\r\n", true), ("END\r\n", false)];
        for (dialect, word, answers) in [
            (Dialect::Resp2, "PING", resp),
            (Dialect::Resp3, "PING", resp),
            (Dialect::Memcached, "mn", memcached),
        ] {
            assert_eq!(dialect.encode(&[word.as_bytes()]), dialect.ping());
            for (answer, is_one) in answers {
                assert_eq!(dialect.answers_ping(answer.as_bytes()), is_one, "{answer}");
                let mut rest = answer.as_bytes();
                assert!(dialect.skipper().next(&mut rest).unwrap().is_some() && rest.is_empty());
            }
        }
    }
}
