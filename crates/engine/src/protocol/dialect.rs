//! What is spoken with a server: the one place that knows how a dialect puts commands into bytes, finds the ends of its
//! replies, asks whether somebody is there, says who we are, and is named in a URI.
//!
//! | | encodes | skips | pings | says who we are |
//! |---|---|---|---|---|
//! | RESP2 | words, each with its length | [`Skipper`] | `PING`, `+PONG` | AUTH, SELECT, CLIENT SETNAME |
//! | RESP3 | as RESP2 | as RESP2 | as RESP2 | HELLO 3 behind AUTH |
//! | memcached | lines, a value with its length | to the end of a line, a value, END | `mn`, `MN` | a `set` of user and password |
//!
//! In every dialect a request has one reply.

use super::{
    Introduction, Part, Refusal, Skipper, Step, Unspoken, Words, memcached, request_parts::Laid, resp,
    resp_skipper::RespSkipper, words,
};

/// A dialect.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Dialect {
    /// What every Redis and Valkey speaks.
    #[default]
    Resp2,
    /// What they speak since Redis 6, when they are asked to.
    Resp3,
    /// memcached's text, classic and meta commands.
    Memcached,
}

/// How a URI names a dialect, whether TLS is spoken below it, and which dialect it is.
const SCHEMES: [(&str, bool, Dialect); 6] = [
    ("redis", false, Dialect::Resp2),
    ("rediss", true, Dialect::Resp2),
    ("valkey", false, Dialect::Resp2),
    ("valkeys", true, Dialect::Resp2),
    ("memcached", false, Dialect::Memcached),
    ("memcacheds", true, Dialect::Memcached),
];

impl Dialect {
    /// The dialect that a URI's scheme stands for, and whether TLS is spoken below it.
    pub fn of_scheme(scheme: &str) -> Option<(Self, bool)> {
        SCHEMES.iter().find(|(name, ..)| *name == scheme).map(|(_, tls, dialect)| (*dialect, *tls))
    }

    /// All schemes of URIs.
    pub fn schemes() -> impl Iterator<Item = &'static str> {
        SCHEMES.iter().map(|(name, ..)| *name)
    }

    /// The scheme that is written for it, with TLS or without.
    pub fn scheme(self, with_tls: bool) -> &'static str {
        match (self, with_tls) {
            (Self::Resp2 | Self::Resp3, false) => "redis",
            (Self::Resp2 | Self::Resp3, true) => "rediss",
            (Self::Memcached, false) => "memcached",
            (Self::Memcached, true) => "memcacheds",
        }
    }

    /// What messages name by the words of a server that speaks it.
    pub fn words(self) -> &'static Words {
        match self {
            Self::Resp2 | Self::Resp3 => &words::REDIS,
            Self::Memcached => &words::MEMCACHED,
        }
    }

    /// The dialect of a server that calls itself so: `memcached 1.6.18`, `redis 7.0.15`.
    pub fn of_server(name: &str) -> Self {
        if name.starts_with(words::MEMCACHED.server) { Self::Memcached } else { Self::default() }
    }

    /// The port on which it is spoken unless another is named.
    pub fn port(self) -> u16 {
        match self {
            Self::Resp2 | Self::Resp3 => 6379,
            Self::Memcached => 11211,
        }
    }

    /// About how many bytes of memory a server needs for a key that is a string, beside what is sent to make it.
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
    /// When the dialect does not have it.
    pub(super) fn lay_out<'a>(self, words: &[Vec<Part<'a>>]) -> Result<Vec<Laid<'a>>, Unspoken> {
        match self {
            Self::Resp2 | Self::Resp3 => Ok(resp::lay_out(words)),
            Self::Memcached => memcached::lay_out(words),
        }
    }

    /// Whether it has a command of these words.
    ///
    /// # Errors
    /// Says why not.
    pub fn check(self, words: &[Vec<Part>]) -> Result<(), Unspoken> {
        self.lay_out(words).map(|_| ())
    }

    /// What follows the replies of a new connection.
    pub fn skipper(self) -> Skipper {
        match self {
            Self::Resp2 | Self::Resp3 => Skipper::Resp(RespSkipper::default()),
            Self::Memcached => Skipper::Memcached(memcached::MemcachedSkipper::default()),
        }
    }

    /// A question that every server understands alike, and that asks it for next to nothing.
    pub fn ping(self) -> &'static [u8] {
        match self {
            // What RESP2 and RESP3 have in common, so that it may come before HELLO.
            Self::Resp2 | Self::Resp3 => b"*1\r\n$4\r\nPING\r\n",
            Self::Memcached => memcached::PING,
        }
    }

    /// Whether these are the first bytes of the answer to a [`ping`](Self::ping): a good one, or a refusal.
    pub fn answers_ping(self, first: &[u8]) -> bool {
        match self {
            Self::Resp2 | Self::Resp3 => first.starts_with(b"+PONG") || first.starts_with(b"-"),
            Self::Memcached => [memcached::PONG, b"ERROR", b"CLIENT_ERROR", b"SERVER_ERROR"]
                .iter()
                .any(|known| first.starts_with(known)),
        }
    }

    /// The commands that say who we are, in their order, each with one reply.
    pub fn introduce(self, who: &Introduction) -> Vec<(Step, Vec<u8>)> {
        match self {
            Self::Resp2 => resp::introduce(who, false),
            Self::Resp3 => resp::introduce(who, true),
            Self::Memcached => memcached::introduce(who),
        }
    }

    /// What it means that a step is answered with this error.
    pub fn refusal(self, step: Step, line: &[u8]) -> Refusal {
        match self {
            Self::Resp2 | Self::Resp3 => resp::refusal(step, line),
            Self::Memcached => memcached::refusal(step, line),
        }
    }

    /// Whether a server that answers without authentication needs no password, and must not get one.
    pub fn answers_only_whom_it_knows(self) -> bool {
        self == Self::Memcached
    }
}

/// What not every dialect has.
impl Dialect {
    /// Whether a URI must say that it is spoken, for nothing else does.
    pub fn needs_uri(self) -> bool {
        self == Self::Memcached
    }

    /// The same in RESP3, where it has that.
    pub fn in_resp3(self) -> Option<Self> {
        (self != Self::Memcached).then_some(Self::Resp3)
    }

    /// Whether a request is a list of words, each with its length, and not a line.
    pub fn counts_words(self) -> bool {
        self != Self::Memcached
    }

    /// Whether a password belongs to the default user where no other is named.
    pub fn has_default_user(self) -> bool {
        self != Self::Memcached
    }

    /// Whether a server has databases with numbers.
    pub fn has_databases(self) -> bool {
        self != Self::Memcached
    }

    /// Whether keys can hold hashes, lists and sets, and a reply several elements, each of which may be missing.
    pub fn has_collections(self) -> bool {
        self != Self::Memcached
    }

    /// Whether commands can stand between MULTI and EXEC.
    pub fn has_transactions(self) -> bool {
        self != Self::Memcached
    }

    /// Whether a server can be set up before a load: scripts, functions, indexes.
    pub fn has_setup(self) -> bool {
        self != Self::Memcached
    }

    /// Whether a server says something that it was not asked for.
    #[inline]
    pub fn has_pushes(self) -> bool {
        self == Self::Resp3
    }

    /// Whether an item has a number by which it can be changed only while nobody else has changed it.
    pub fn has_cas(self) -> bool {
        self == Self::Memcached
    }

    /// Whether a server lists its keys, so that those of a run are found again.
    pub fn lists_keys(self) -> bool {
        self != Self::Memcached
    }

    /// Whether a server says which commands it has.
    pub fn lists_commands(self) -> bool {
        self != Self::Memcached
    }

    /// Whether a server has parameters that can be changed while it runs.
    pub fn has_config(self) -> bool {
        self != Self::Memcached
    }

    /// Whether a server keeps a log of slow commands, and of events that were slow.
    pub fn has_slow_log(self) -> bool {
        self != Self::Memcached
    }

    /// Whether a server counts its commands and their times at every moment.
    pub fn times_commands(self) -> bool {
        self != Self::Memcached
    }
}

impl Dialect {
    /// What a step of a greeting is called, without its arguments.
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
