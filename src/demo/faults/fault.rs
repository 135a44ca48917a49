//! One fault: what happens, to which commands, and when.

use std::fmt::{self, Display, Formatter};
use std::time::Duration;

/// One line of a script.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    /// What happens.
    pub kind: Kind,
    /// To which commands; a stall has none.
    pub scope: Scope,
    /// When.
    pub when: When,
    /// Only to the request at this position, from 1, among those that arrived together in one read.
    pub nth: Option<u64>,
}

/// What happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// The whole server stands still for this long.
    Stall(Duration),
    /// The command takes this much longer, and the server with it.
    Slow(Duration),
    /// The reply is held back this long after the command has run; other connections are served meanwhile.
    Delay(Duration),
    /// An error with this prefix is the reply, and the command does not run.
    Error(String),
    /// Only half of the reply is written, and nothing more on that connection.
    Cut {
        /// Whether the connection is closed then; else it stays open and silent.
        close: bool,
    },
    /// The connection is reset instead of the reply.
    Reset,
    /// Bytes that are no reply are written instead of it.
    Garbage,
}

/// Which commands a fault strikes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// Those that a load sends: every command with keys, PING and ECHO. HELLO, INFO, CONFIG and their like go
    /// untouched, so that one can still look at the server.
    Load,
    /// Every command.
    Any,
    /// The command of this name, in lower case.
    Command(String),
}

/// When a fault strikes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum When {
    /// Each time.
    Always,
    /// Once, at the first occasion after this time has passed.
    Once(Duration),
    /// With this probability, 0 to 1.
    Share(f64),
    /// At every n-th request that it could strike, over all connections.
    EveryNth(u64),
    /// At the first occasion after each such period; a stall at its end.
    Every(Duration),
}

impl Display for Fault {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let scope_first = matches!(self.kind, Kind::Slow(_) | Kind::Delay(_));
        match &self.kind {
            Kind::Stall(length) => write!(f, "stall {}", Length(*length))?,
            Kind::Slow(length) => write!(f, "slow {} {}", self.scope, Length(*length))?,
            Kind::Delay(length) => write!(f, "delay {} {}", self.scope, Length(*length))?,
            Kind::Error(prefix) => write!(f, "error {prefix}")?,
            Kind::Cut { close: false } => write!(f, "cut")?,
            Kind::Cut { close: true } => write!(f, "cut close")?,
            Kind::Reset => write!(f, "reset")?,
            Kind::Garbage => write!(f, "garbage")?,
        }
        if !scope_first && self.scope != Scope::Load {
            write!(f, " on {}", self.scope)?;
        }
        match self.when {
            When::Always => {}
            When::Once(after) if after.is_zero() => write!(f, " once")?,
            When::Once(after) => write!(f, " after {}", Length(after))?,
            When::Share(share) => write!(f, " {}%", share * 100.0)?,
            When::EveryNth(n) => write!(f, " every {n}")?,
            When::Every(period) => write!(f, " every {}", Length(period))?,
        }
        self.nth.map_or(Ok(()), |n| write!(f, " nth {n}"))
    }
}

impl Display for Scope {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Load => write!(f, "load"),
            Self::Any => write!(f, "any"),
            Self::Command(name) => write!(f, "{}", name.to_ascii_uppercase()),
        }
    }
}

/// A duration in the largest unit that holds it without a fraction.
struct Length(Duration);

impl Display for Length {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let us = self.0.as_micros();
        match us {
            _ if us.is_multiple_of(1_000_000) => write!(f, "{}s", us / 1_000_000),
            _ if us.is_multiple_of(1000) => write!(f, "{}ms", us / 1000),
            _ => write!(f, "{us}us"),
        }
    }
}
