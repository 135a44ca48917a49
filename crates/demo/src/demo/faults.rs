//! Simulated faults of the built-in server. A script of faults has one line for each fault:
//!
//! ```text
//! stall 500ms every 5s            the whole server stops, as during a fork or a slow command
//! slow GET 2ms                    the command takes that long: all clients wait, and it is in the slow log; with
//!                                 `slow load 100us`, any machine runs 10 000 commands a second
//! delay GET 2ms nth 10            only this reply, and the later ones on its connection, are delayed
//! error LOADING 1%                an error instead of running the command
//! cut every 10000                 half a reply, and then nothing more on that connection
//! reset every 20s                 the connection is reset (RST) instead of the reply
//! garbage every 30s               bytes that are no reply, instead of the reply
//! ```
//!
//! Clusters have these additional faults:
//!
//! ```text
//! slow load 5ms node 2            any fault above, on one node only
//! reshard 1000 every 10s          1000 slots move from a primary to the next one while both are used
//! failover node 1 after 10s       a replica takes over from the killed primary, which returns as a replica
//! hot 866 5k                      other clients read a key of slot 866, 5000 times a second
//! ```
//!
//! A fault has a kind, the commands to which it applies, and the times when it applies.
//!
//! `redyno demo --fault` accepts faults in this syntax:
//!
//! ```text
//! stall DURATION [WHEN]                    WHEN    every DURATION | after DURATION | once
//! slow COMMAND DURATION [WHEN] [nth N]             every N | N% | (nothing: always; a stall: once)
//! delay COMMAND DURATION [WHEN] [nth N]    COMMAND a name, `any` command, or `load`: what a load sends
//! error PREFIX [on COMMAND] [WHEN] [nth N]         (without `on`: load)
//! cut [close] [on COMMAND] [WHEN] [nth N]  DURATION 100us 2ms 5s 1m
//! reset, garbage: as cut, without close
//! reshard SLOTS [WHEN]                     (WHEN of these: as of a stall)
//! failover [WHEN]
//! hot SLOT RATE [after DURATION]           and each fault except reshard and hot: [node N]
//! ```

mod parse;
mod script;

pub use self::script::{FaultOccasion, FaultScript, RequestFaults};

use std::time::Duration;

/// A fault: one line of a script.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    /// The kind of fault.
    pub kind: FaultKind,
    /// The commands to which the fault applies. A stall applies to the whole server, and ignores this field.
    pub scope: Scope,
    /// The requests or times when the fault applies.
    pub when: When,
    /// If set, the fault applies only to the request at this position, from 1, among the requests that arrived in the
    /// same read.
    pub nth: Option<u64>,
    /// If set, the fault applies only to this node of a cluster, counted from 1.
    pub node: Option<usize>,
}

impl Fault {
    /// Returns whether only a cluster can have the fault.
    pub fn needs_cluster(&self) -> bool {
        self.node.is_some() || !(self.kind.is_of_requests() || matches!(self.kind, FaultKind::Stall(_)))
    }
}

/// The kinds of faults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FaultKind {
    /// The whole server does nothing for this time.
    Stall(Duration),
    /// The command takes longer by this time. All clients wait until the command has ended.
    Slow(Duration),
    /// The server runs the command at once, but delays the reply by this time. The server still answers requests on
    /// other connections.
    Delay(Duration),
    /// The command does not run. The reply is an error with this prefix.
    Error(String),
    /// The reply's bytes are damaged.
    Damage(Damage),
    /// This many slots move from one primary of a cluster to the next primary.
    Reshard(usize),
    /// A primary of a cluster is killed, and its replica takes over.
    Failover,
    /// Other clients read one key of a cluster again and again.
    Hot {
        /// The key.
        key: String,
        /// The reads per second.
        per_s: u64,
    },
}

impl FaultKind {
    /// Returns whether the fault applies to requests.
    pub fn is_of_requests(&self) -> bool {
        matches!(self, Self::Slow(_) | Self::Delay(_) | Self::Error(_) | Self::Damage(_))
    }

    /// Returns whether the fault happens at certain times, independently of requests.
    pub fn is_timed(&self) -> bool {
        matches!(self, Self::Stall(_)) || self.is_of_cluster()
    }

    /// Returns whether the fault happens to the whole cluster, and not to one of its nodes.
    pub fn is_of_cluster(&self) -> bool {
        matches!(self, Self::Reshard(_) | Self::Failover)
    }
}

/// The kinds of damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    /// Half of the reply is sent, and then nothing more on that connection.
    Cut {
        /// Whether the connection is then closed. Otherwise the connection stays open without further replies.
        close: bool,
    },
    /// The server resets the connection (RST) and does not send the reply.
    Reset,
    /// Instead of the reply, the server sends bytes that are not a valid reply.
    Garbage,
}

/// The commands to which a fault applies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// The commands that load generators send: PING, ECHO, and every command with keys. Commands such as HELLO, INFO
    /// and CONFIG have no faults, so that redyno can still observe the server.
    Load,
    /// The fault applies to every command.
    Any,
    /// The fault applies to the command of this name, in lower case.
    Command(String),
}

/// The requests or times when a fault applies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum When {
    /// The fault applies to every request.
    Always,
    /// The fault applies once, to the first request after this time. A stall needs no request, and begins at this time.
    Once(Duration),
    /// The fault applies to each request with this probability, 0 to 1.
    Share(f64),
    /// The fault applies to every n-th request in its scope, counted over all connections.
    EveryNth(u64),
    /// The fault applies to the first request after each period of this length. A stall needs no request, and begins
    /// when the period ends.
    Every(Duration),
}
