//! The dialects: the protocols that servers speak. Only this module decides how each dialect encodes commands, finds
//! the end of a reply, pings and authenticates. The module also decides how the dialect appears in a URI.
//!
//! | | encodes | end of a reply | pings | authenticates |
//! |---|---|---|---|---|
//! | RESP2 | words, each with its length | text or list | `PING`, `+PONG` | AUTH, SELECT, CLIENT SETNAME |
//! | RESP3 | as RESP2 | as RESP2 | as RESP2 | as RESP2, with HELLO 3 after AUTH |
//! | memcached | lines, a value with its length | a line, a value, END | `mn`, `MN` | `set` user, password |
//! | HTTP/1.1 | a header, a body with its length | a header, its body | `HEAD`, any status | - |
//!
//! In every dialect, a request has one reply. The [`Skipper`] finds the end of a reply.

use super::{
    ArgumentPart, DialectWords, GreetingCommand, GreetingParameters, GreetingRefusal, HttpSite, Skipper,
    UnsupportedCommand, http, memcached, request_parts::LayoutElement, resp, resp_skipper::RespSkipper,
    words,
};

/// A dialect: a protocol that servers speak.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Dialect {
    /// The protocol of every Redis and Valkey.
    #[default]
    Resp2,
    /// The newer protocol of Redis (since version 6) and Valkey. A client must request this protocol.
    Resp3,
    /// memcached's text protocol, with the classic commands and the meta commands.
    Memcached,
    /// HTTP/1.1, with the site that receives the requests.
    Http(&'static HttpSite),
}

/// The URI schemes. Each row has the name of a scheme, whether the scheme uses TLS, and the dialect.
const SCHEMES: [(&str, bool, Dialect); 8] = [
    ("redis", false, Dialect::Resp2),
    ("rediss", true, Dialect::Resp2),
    ("valkey", false, Dialect::Resp2),
    ("valkeys", true, Dialect::Resp2),
    ("memcached", false, Dialect::Memcached),
    ("memcacheds", true, Dialect::Memcached),
    ("http", false, Dialect::Http(&http::NO_SITE)),
    ("https", true, Dialect::Http(&http::NO_SITE)),
];

impl Dialect {
    /// Returns the dialect of a URI's scheme, and whether the scheme uses TLS.
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
    pub fn words(self) -> &'static DialectWords {
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
            Some("http") => Self::Http(&http::NO_SITE),
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

    /// Returns the approximate memory in bytes that a server needs for a string key, without the bytes of the name and
    /// the value.
    pub fn key_overhead(self) -> u64 {
        match self {
            Self::Resp2 | Self::Resp3 => 64,
            Self::Memcached => 48,
            Self::Http(_) => 0,
        }
    }

    /// Encodes a command of fixed words without a value. For HTTP, this is a whole request, including its body.
    pub fn encode(self, words: &[&[u8]]) -> Vec<u8> {
        match self {
            Self::Resp2 | Self::Resp3 => resp::encode(words),
            Self::Memcached => memcached::encode(words),
            Self::Http(site) => http::encode(site, words),
        }
    }

    /// Returns one word of encoded commands: word number `word` of command number `command`, both counted from 0.
    /// Returns `None` if there is no such word. For HTTP, always returns `None`. In memcached's protocol, no earlier
    /// command may have a value.
    pub(crate) fn request_word(self, requests: &[u8], command: usize, word: usize) -> Option<&[u8]> {
        match self {
            Self::Resp2 | Self::Resp3 => resp::request_word(requests, command, word),
            Self::Memcached => memcached::request_word(requests, command, word),
            Self::Http(_) => None,
        }
    }

    /// Returns the layout of the command that consists of these words.
    ///
    /// # Errors
    /// Fails if the dialect does not have the command.
    pub(super) fn lay_out(
        self,
        words: &[Vec<ArgumentPart>],
    ) -> Result<Vec<LayoutElement>, UnsupportedCommand> {
        match self {
            Self::Resp2 | Self::Resp3 => Ok(resp::lay_out(words)),
            Self::Memcached => memcached::lay_out(words),
            Self::Http(site) => http::lay_out(site, words),
        }
    }

    /// Checks that the dialect has the command with these words.
    ///
    /// # Errors
    /// Fails if the dialect does not have the command. The error gives the reason.
    pub fn check(self, words: &[Vec<ArgumentPart>]) -> Result<(), UnsupportedCommand> {
        self.lay_out(words).map(|_| ())
    }

    /// Returns a skipper for a new connection. A skipper finds the ends of replies.
    pub fn skipper(self) -> Skipper {
        match self {
            Self::Resp2 | Self::Resp3 => Skipper::Resp(RespSkipper::default()),
            Self::Memcached => Skipper::Memcached(memcached::MemcachedSkipper::default()),
            Self::Http(_) => Skipper::Http(Box::default()),
        }
    }

    /// Returns the request of the ping. This request is PING, memcached's `mn`, or HEAD with the path of the URI. The
    /// request costs a server very little.
    pub fn ping(self) -> &'static [u8] {
        match self {
            // RESP2 and RESP3 encode PING in the same way, so it may precede HELLO.
            Self::Resp2 | Self::Resp3 => b"*1\r\n$4\r\nPING\r\n",
            Self::Memcached => memcached::PING,
            Self::Http(site) => site.ping(),
        }
    }

    /// Returns whether the reply to a [`ping`](Self::ping) may begin with these bytes. The reply may be an
    /// error.
    pub fn answers_ping(self, first: &[u8]) -> bool {
        match self {
            Self::Resp2 | Self::Resp3 => first.starts_with(b"+PONG") || first.starts_with(b"-"),
            Self::Memcached => [memcached::PONG, b"ERROR", b"CLIENT_ERROR", b"SERVER_ERROR"]
                .iter()
                .any(|known| first.starts_with(known)),
            Self::Http(_) => first.starts_with(b"HTTP/1."),
        }
    }

    /// Returns the greeting of a connection: its first commands, in the order in which they are sent. Each
    /// command has one reply.
    pub fn greeting_commands(self, who: &GreetingParameters) -> Vec<(GreetingCommand, Vec<u8>)> {
        match self {
            Self::Resp2 => resp::introduce(who, false),
            Self::Resp3 => resp::introduce(who, true),
            Self::Memcached => memcached::introduce(who),
            Self::Http(_) => Vec::new(),
        }
    }

    /// Returns the meaning of an error reply to a command of the greeting.
    pub fn refusal(self, step: GreetingCommand, line: &[u8]) -> GreetingRefusal {
        match self {
            Self::Resp2 | Self::Resp3 => resp::refusal(step, line),
            Self::Memcached => memcached::refusal(step, line),
            // A reply with any status shows that the server speaks HTTP.
            Self::Http(_) if step == GreetingCommand::Ping => GreetingRefusal::Harmless,
            Self::Http(_) => GreetingRefusal::Other,
        }
    }

    /// Returns whether a good reply before authentication shows that the server needs no password. After such a reply,
    /// the password is not sent.
    pub fn reply_proves_no_password(self) -> bool {
        self == Self::Memcached
    }
}

/// The properties that only HTTP has.
impl Dialect {
    /// Returns the site that receives the requests, or `None` if the dialect is not HTTP.
    pub fn site(self) -> Option<&'static HttpSite> {
        if let Self::Http(site) = self { Some(site) } else { None }
    }

    /// Returns the dialect with these header fields in each request. A dialect other than HTTP is returned unchanged.
    #[must_use]
    pub(crate) fn with_fields(self, fields: &[(String, String)]) -> Self {
        match self {
            Self::Http(site) if !fields.is_empty() => Self::Http(site.with_fields(fields)),
            other => other,
        }
    }

    /// Checks that the HTTP methods of a workload can be sent together. The names are in upper case.
    ///
    /// # Errors
    /// Fails if the methods cannot be sent together. The error gives the reason.
    pub fn check_together<'m>(
        self,
        methods: impl Iterator<Item = &'m str>,
    ) -> Result<(), UnsupportedCommand> {
        if self.site().is_some() { http::check_alone(methods) } else { Ok(()) }
    }

    /// Returns whether replies to this command have no body, although their header may announce one. The command is in
    /// upper case.
    pub(crate) fn is_bodiless(self, command: &str) -> bool {
        self.site().is_some() && http::is_bodiless(command)
    }
}

/// The features of a dialect.
impl Dialect {
    /// Returns whether this is the dialect of Redis and Valkey.
    fn is_resp(self) -> bool {
        matches!(self, Self::Resp2 | Self::Resp3)
    }

    /// Returns whether a server has keys. Such a server also reports statistics about its data and its clients.
    pub fn has_keys(self) -> bool {
        self.site().is_none()
    }

    /// Returns whether the dialect must be selected by a URI.
    pub fn needs_uri(self) -> bool {
        !self.is_resp()
    }

    /// Returns the RESP3 variant of the dialect, if there is one.
    pub fn in_resp3(self) -> Option<Self> {
        self.is_resp().then_some(Self::Resp3)
    }

    /// Returns whether a request is a list of words with their lengths, instead of a line of text.
    pub fn counts_words(self) -> bool {
        self.is_resp()
    }

    /// Returns whether a password without a user name is the password of a default user.
    pub fn has_default_user(self) -> bool {
        self.is_resp()
    }

    /// Returns whether a server has numbered databases.
    pub fn has_databases(self) -> bool {
        self.is_resp()
    }

    /// Returns whether values can be hashes, lists and sets, and whether replies can be arrays with null elements.
    pub fn has_collections(self) -> bool {
        self.is_resp()
    }

    /// Returns whether commands can be placed between MULTI and EXEC.
    pub fn has_transactions(self) -> bool {
        self.is_resp()
    }

    /// Returns whether a server can be set up with scripts, functions and indexes before the load starts.
    pub fn has_setup(self) -> bool {
        self != Self::Memcached
    }

    /// Returns whether a server sends messages without a request (RESP3 pushes).
    #[inline]
    pub fn has_pushes(self) -> bool {
        self == Self::Resp3
    }

    /// Returns whether a server supports compare-and-swap (CAS). The server numbers the versions of an item. A CAS
    /// write names the version that the client has read. The write fails if another client has changed the item since
    /// then.
    pub fn has_cas(self) -> bool {
        self == Self::Memcached
    }

    /// Returns whether a server can list its keys, so that redyno can find the keys of a run.
    pub fn lists_keys(self) -> bool {
        self.is_resp()
    }

    /// Returns whether a server can list its commands (COMMAND).
    pub fn lists_commands(self) -> bool {
        self.is_resp()
    }

    /// Returns whether parameters of a server can be changed while it runs (CONFIG SET).
    pub fn has_config(self) -> bool {
        self.is_resp()
    }

    /// Returns whether a server keeps a log of slow commands (SLOWLOG) and of slow events (LATENCY).
    pub fn has_slow_log(self) -> bool {
        self.is_resp()
    }

    /// Returns whether a server always counts the calls and the execution time of each command.
    pub fn times_commands(self) -> bool {
        self.is_resp()
    }

    /// Returns the name of the command that a step of the greeting sends, without its arguments.
    pub fn named(self, step: GreetingCommand) -> &'static str {
        match (self, step) {
            (_, GreetingCommand::Ping) => self.words().ping,
            (Self::Memcached, GreetingCommand::Auth) => "the password",
            (_, GreetingCommand::Auth) => "AUTH",
            (_, GreetingCommand::Hello) => "HELLO 3",
            (_, GreetingCommand::Tracking) => "CLIENT TRACKING",
            (_, GreetingCommand::Select) => "SELECT",
            (_, GreetingCommand::SetName) => "CLIENT SETNAME",
            (_, GreetingCommand::Connection) => "the connection",
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
