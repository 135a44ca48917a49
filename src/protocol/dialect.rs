//! What is spoken with a server: the one place that knows how a dialect puts commands into bytes, finds the ends of its
//! replies, asks whether somebody is there, says who we are, and is named in a URI.
//!
//! | | encodes | skips | pings | says who we are |
//! |---|---|---|---|---|
//! | RESP2 | words, each with its length | [`Skipper`] | `PING`, `+PONG` | AUTH, SELECT, CLIENT SETNAME |
//! | RESP3 | as RESP2 | as RESP2 | as RESP2 | HELLO 3 behind AUTH |
//!
//! In every dialect a request has one reply.

use std::fmt;

use super::{Skipper, resp};

/// A dialect.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Dialect {
    /// What every Redis and Valkey speaks.
    #[default]
    Resp2,
    /// What they speak since Redis 6, when they are asked to.
    Resp3,
}

/// Who we are on a server, and what we want there.
#[derive(Debug, Clone, Copy)]
pub struct Introduction<'a> {
    /// `None` is the default user.
    pub user: Option<&'a str>,
    /// `None` where nobody asks.
    pub password: Option<&'a str>,
    /// The database.
    pub db: u32,
    /// What the connection is to be called.
    pub name: Option<&'a str>,
}

/// One command of a greeting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Is it a server that we know? Without a word of who we are.
    Ping,
    /// Who we are.
    Auth,
    /// Which protocol is spoken.
    Hello,
    /// Which database is meant.
    Select,
    /// What we are called in `CLIENT LIST`.
    SetName,
    /// None of them: what the server says of the connection as such.
    Connection,
}

impl Dialect {
    /// The dialect that a URI's scheme stands for, and whether TLS is spoken below it.
    pub fn of_scheme(scheme: &str) -> Option<(Self, bool)> {
        match scheme {
            "redis" | "valkey" => Some((Self::Resp2, false)),
            "rediss" | "valkeys" => Some((Self::Resp2, true)),
            _ => None,
        }
    }

    /// The port on which it is spoken unless another is named.
    pub fn port(self) -> u16 {
        match self {
            Self::Resp2 | Self::Resp3 => 6379,
        }
    }

    /// Encodes a command of fixed words.
    pub fn encode(self, words: &[&[u8]]) -> Vec<u8> {
        match self {
            Self::Resp2 | Self::Resp3 => resp::encode(words),
        }
    }

    /// Appends what a command of so many arguments begins with.
    pub(super) fn append_command_head(self, arguments: usize, out: &mut Vec<u8>) {
        match self {
            Self::Resp2 | Self::Resp3 => resp::append_header(b'*', arguments, out),
        }
    }

    /// Appends what stands before an argument of so many bytes.
    #[inline]
    pub(super) fn append_argument_head(self, length: usize, out: &mut Vec<u8>) {
        match self {
            Self::Resp2 | Self::Resp3 => resp::append_header(b'$', length, out),
        }
    }

    /// What stands behind an argument.
    pub(super) fn argument_end(self) -> &'static [u8] {
        match self {
            Self::Resp2 | Self::Resp3 => resp::END,
        }
    }

    /// What follows the replies of a new connection.
    pub fn skipper(self) -> Skipper {
        match self {
            Self::Resp2 | Self::Resp3 => Skipper::new(),
        }
    }

    /// A question that every server understands alike, and that asks it for next to nothing.
    pub fn ping(self) -> &'static [u8] {
        match self {
            // What RESP2 and RESP3 have in common, so that it may come before HELLO.
            Self::Resp2 | Self::Resp3 => b"*1\r\n$4\r\nPING\r\n",
        }
    }

    /// Whether these are the first bytes of the answer to a [`ping`](Self::ping): a good one, or a refusal.
    pub fn answers_ping(self, first: &[u8]) -> bool {
        match self {
            Self::Resp2 | Self::Resp3 => first.starts_with(b"+PONG") || first.starts_with(b"-"),
        }
    }

    /// The commands that say who we are, in their order, each with one reply.
    pub fn introduce(self, who: &Introduction) -> Vec<(Step, Vec<u8>)> {
        match self {
            Self::Resp2 | Self::Resp3 => resp::introduce(self, who),
        }
    }
}

impl Step {
    /// The command as the server's statistics call it but for its case, if it was asked for one.
    pub fn command(self) -> Option<&'static str> {
        match self {
            Self::Ping => Some("PING"),
            Self::Auth => Some("AUTH"),
            Self::Hello => Some("HELLO"),
            Self::Select => Some("SELECT"),
            Self::SetName => Some("CLIENT|SETNAME"),
            Self::Connection => None,
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Self::Ping => "PING",
            Self::Auth => "AUTH",
            Self::Hello => "HELLO 3",
            Self::Select => "SELECT",
            Self::SetName => "CLIENT SETNAME",
            Self::Connection => "the connection",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ping_is_a_command_with_one_reply_of_its_dialect() {
        for dialect in [Dialect::Resp2, Dialect::Resp3] {
            assert_eq!(dialect.encode(&[b"PING"]), dialect.ping());
            for (answer, is_one) in [("+PONG\r\n", true), ("-LOADING x\r\n", true), ("+OK\r\n", false)] {
                assert_eq!(dialect.answers_ping(answer.as_bytes()), is_one, "{answer}");
                let mut rest = answer.as_bytes();
                assert!(dialect.skipper().next(&mut rest).unwrap().is_some() && rest.is_empty());
            }
        }
    }
}
