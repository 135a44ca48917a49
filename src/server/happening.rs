//! What happens on a server, as events on the session's time axis.
//!
//! | event | when | detail |
//! |---|---|---|
//! | `slowlog` | SLOWLOG has a new entry; of a poll's entries the eight longest, the others counted | `14.2 ms GET redyno:4g7k2m9q:000000000001 from 127.0.0.1:5000` |
//! | `latency` | the latency monitor saw something | `command 14 ms, the longest so far 20 ms` |
//! | `fork` | the server forked | `a fork held the server for 1.20 ms` |
//! | `save` | a snapshot (RDB) begins, ends, or did both between two polls | `a snapshot ended after 3 s: ok` |
//! | `aof rewrite` | a rewrite of the append-only file begins or ends | `began`, `ended after 3 s: ok` |
//! | `eviction` | keys are evicted; again when none was for 3 s | `212 keys evicted in a second`, `over: 5 120 keys in 12 s` |
//! | `blocked` | clients wait in a blocking command; again when none did for 3 s | `3 clients wait in a blocking command` |
//! | `maxclients` | connections are turned away; again when none was for 3 s | `12 connections turned away` |
//! | `failover` | the role, a replica's master, or the state of FAILOVER changed | `master is now slave of 10.0.0.9:6379` |
//! | `replication` | a replica's link went up or down, or replicas came or went | `the link to the master is down` |
//! | `restart` | the server process is another one | `the server was restarted` |
//! | `marker` | the note of what this run has to undo was lost and is set again, or cannot be set | `run 4g7k2m9q stands on the server again, which had lost it` |
//! | `not permitted` | the server refuses a question; it is asked again once a minute | `SLOWLOG: NOPERM …` |
//!
//! They are as late as a poll, a second at the most.

/// Something that happened on the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Happening {
    pub(super) name: &'static str,
    pub(super) detail: String,
}

impl Happening {
    pub(super) fn new(name: &'static str, detail: impl Into<String>) -> Self {
        Self { name, detail: detail.into() }
    }
}

pub(super) const SLOWLOG: &str = "slowlog";
pub(super) const LATENCY: &str = "latency";
pub(super) const FORK: &str = "fork";
pub(super) const SAVE: &str = "save";
pub(super) const AOF_REWRITE: &str = "aof rewrite";
pub(super) const EVICTION: &str = "eviction";
pub(super) const BLOCKED: &str = "blocked";
pub(super) const MAXCLIENTS: &str = "maxclients";
pub(super) const FAILOVER: &str = "failover";
pub(super) const REPLICATION: &str = "replication";
pub(super) const RESTART: &str = "restart";
pub(super) const MARKER: &str = "marker";
pub(super) const NOT_PERMITTED: &str = "not permitted";
