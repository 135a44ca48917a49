//! The protocol of a server: the only place that knows how a dialect encodes commands, finds the ends of replies,
//! pings, authenticates, and appears in a URI.
//!
//! | | encodes | skips | pings | authenticates |
//! |---|---|---|---|---|
//! | RESP2 | words, each with its length | [`Skipper`] | `PING`, `+PONG` | AUTH, SELECT, CLIENT SETNAME |
//! | RESP3 | as RESP2 | as RESP2 | as RESP2 | HELLO 3 behind AUTH |
//! | memcached | lines, a value with its length | to the end of a line, a value, END | `mn`, `MN` | a `set` of user
//! and password |
//!
//! In every dialect a request has one reply.

use super::{
    Introduction, Part, Refusal, Skipper, Step, Unspoken, Words, memcached, request_parts::Laid, resp,
    resp_skipper::RespSkipper, words,
};

/// A dialect.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Dialect {
    /// The protocol of every Redis and Valkey.
    #[default]
    Resp2,
    /// Their protocol since Redis 6, on request.
    Resp3,
    /// memcached's text protocol, classic and meta commands.
    Memcached,
}

/// URI schemes: the name, whether it uses TLS, and the dialect.
const SCHEMES: [(&str, bool, Dialect); 6] = [
    ("redis", false, Dialect::Resp2),
    ("rediss", true, Dialect::Resp2),
    ("valkey", false, Dialect::Resp2),
    ("valkeys", true, Dialect::Resp2),
    ("memcached", false, Dialect::Memcached),
    ("memcacheds", true, Dialect::Memcached),
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
        }
    }

    /// Returns the terms for messages about a server of this dialect.
    pub fn words(self) -> &'static Words {
        match self {
            Self::Resp2 | Self::Resp3 => &words::REDIS,
            Self::Memcached => &words::MEMCACHED,
        }
    }

    /// Returns the dialect of a server with this name and version: `memcached 1.6.18`, `redis 7.0.15`.
    pub fn of_server(name: &str) -> Self {
        if name.starts_with(words::MEMCACHED.server) { Self::Memcached } else { Self::default() }
    }

    /// Returns the default port.
    pub fn port(self) -> u16 {
        match self {
            Self::Resp2 | Self::Resp3 => 6379,
            Self::Memcached => 11211,
        }
    }

    /// Returns about how many bytes of memory a server needs for a string key, in addition to the data sent.
    pub fn key_overhead(self) -> u64 {
        match self {
            Self::Resp2 | Self::Resp3 => 64,
            Self::Memcached => 48,
        }
    }

    /// Encodes a command of fixed words, none of which is a value.
    pub fn encode(self, words: &[&[u8]]) -> Vec<u8> {
        match self {
            Self::Resp2 | Self::Resp3 => resp::encode(words),
            Self::Memcached => memcached::encode(words),
        }
    }

    /// Lays out a command of these words.
    ///
    /// # Errors
    /// When the dialect does not have the command.
    pub(super) fn lay_out<'a>(self, words: &[Vec<Part<'a>>]) -> Result<Vec<Laid<'a>>, Unspoken> {
        match self {
            Self::Resp2 | Self::Resp3 => Ok(resp::lay_out(words)),
            Self::Memcached => memcached::lay_out(words),
        }
    }

    /// Checks that the dialect has a command of these words.
    ///
    /// # Errors
    /// When it does not; the error gives the reason.
    pub fn check(self, words: &[Vec<Part>]) -> Result<(), Unspoken> {
        self.lay_out(words).map(|_| ())
    }

    /// Returns the skipper for the replies of a new connection.
    pub fn skipper(self) -> Skipper {
        match self {
            Self::Resp2 | Self::Resp3 => Skipper::Resp(RespSkipper::default()),
            Self::Memcached => Skipper::Memcached(memcached::MemcachedSkipper::default()),
        }
    }

    /// Returns a request that every server understands in the same way, and that costs it next to nothing.
    pub fn ping(self) -> &'static [u8] {
        match self {
            // The form common to RESP2 and RESP3, so that it may precede HELLO.
            Self::Resp2 | Self::Resp3 => b"*1\r\n$4\r\nPING\r\n",
            Self::Memcached => memcached::PING,
        }
    }

    /// Returns whether these are the first bytes of the reply to a [`ping`](Self::ping): a good one, or an error.
    pub fn answers_ping(self, first: &[u8]) -> bool {
        match self {
            Self::Resp2 | Self::Resp3 => first.starts_with(b"+PONG") || first.starts_with(b"-"),
            Self::Memcached => [memcached::PONG, b"ERROR", b"CLIENT_ERROR", b"SERVER_ERROR"]
                .iter()
                .any(|known| first.starts_with(known)),
        }
    }

    /// Returns the commands of a greeting in order, each with one reply.
    pub fn introduce(self, who: &Introduction) -> Vec<(Step, Vec<u8>)> {
        match self {
            Self::Resp2 => resp::introduce(who, false),
            Self::Resp3 => resp::introduce(who, true),
            Self::Memcached => memcached::introduce(who),
        }
    }

    /// Returns the meaning of this error as the reply to a step.
    pub fn refusal(self, step: Step, line: &[u8]) -> Refusal {
        match self {
            Self::Resp2 | Self::Resp3 => resp::refusal(step, line),
            Self::Memcached => memcached::refusal(step, line),
        }
    }

    /// Returns whether a server that answers without authentication needs no password, and must not receive one.
    pub fn answers_only_whom_it_knows(self) -> bool {
        self == Self::Memcached
    }
}

/// Features that not every dialect has.
impl Dialect {
    /// Returns whether only a URI can select the dialect.
    pub fn needs_uri(self) -> bool {
        self == Self::Memcached
    }

    /// Returns the RESP3 variant of the dialect, if there is one.
    pub fn in_resp3(self) -> Option<Self> {
        (self != Self::Memcached).then_some(Self::Resp3)
    }

    /// Returns whether a request is a list of words with lengths, and not a line.
    pub fn counts_words(self) -> bool {
        self != Self::Memcached
    }

    /// Returns whether a password without a user name belongs to a default user.
    pub fn has_default_user(self) -> bool {
        self != Self::Memcached
    }

    /// Returns whether a server has numbered databases.
    pub fn has_databases(self) -> bool {
        self != Self::Memcached
    }

    /// Returns whether keys can hold hashes, lists and sets, and a reply several elements, each of which may be
    /// missing.
    pub fn has_collections(self) -> bool {
        self != Self::Memcached
    }

    /// Returns whether commands can be placed between MULTI and EXEC.
    pub fn has_transactions(self) -> bool {
        self != Self::Memcached
    }

    /// Returns whether a server can be set up before a load: scripts, functions, indexes.
    pub fn has_setup(self) -> bool {
        self != Self::Memcached
    }

    /// Returns whether a server sends messages that were not requested.
    #[inline]
    pub fn has_pushes(self) -> bool {
        self == Self::Resp3
    }

    /// Returns whether an item has a number with which a change fails if another client has changed the item (CAS).
    pub fn has_cas(self) -> bool {
        self == Self::Memcached
    }

    /// Returns whether a server lists its keys, so that those of a run can be found.
    pub fn lists_keys(self) -> bool {
        self != Self::Memcached
    }

    /// Returns whether a server lists its commands.
    pub fn lists_commands(self) -> bool {
        self != Self::Memcached
    }

    /// Returns whether a server has parameters that can be changed while it runs.
    pub fn has_config(self) -> bool {
        self != Self::Memcached
    }

    /// Returns whether a server keeps a log of slow commands, and of slow events.
    pub fn has_slow_log(self) -> bool {
        self != Self::Memcached
    }

    /// Returns whether a server always counts its commands and their times.
    pub fn times_commands(self) -> bool {
        self != Self::Memcached
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
