//! One fault: what happens, to which commands, and when.

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
    /// The reply's bytes do not go as they are.
    Damage(Damage),
}

/// What happens to the bytes of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    /// Half of them are written, and nothing more on that connection.
    Cut {
        /// Whether the connection is closed then; else it stays open and silent.
        close: bool,
    },
    /// The connection is reset instead.
    Reset,
    /// Others are written instead, which are no reply.
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
