//! What is spoken with a server: the one place that knows how a dialect puts commands into bytes, finds the ends of its
//! replies, and asks whether somebody is there.
//!
//! | | encodes | skips | pings | greets |
//! |---|---|---|---|---|
//! | RESP2 | [`request`](super::request) | [`Skipper`] | `PING`, `+PONG` | AUTH, SELECT, CLIENT SETNAME |
//! | RESP3 | as RESP2 | as RESP2 | as RESP2 | HELLO 3 behind AUTH |
//!
//! Who we are is the target's to know, so the commands of a greeting stand in
//! [`target::Greeting`](crate::target::Greeting). In every dialect a request has one reply.

use super::{Skipper, request::encode_command};

/// A dialect.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Dialect {
    /// What every Redis and Valkey speaks.
    #[default]
    Resp2,
    /// What they speak since Redis 6, when they are asked to.
    Resp3,
}

impl Dialect {
    /// Encodes a command of fixed words.
    pub fn encode(self, words: &[&[u8]]) -> Vec<u8> {
        match self {
            Self::Resp2 | Self::Resp3 => encode_command(words),
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
