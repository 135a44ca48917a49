//! What can happen in a session: a variant with its fields, its name, and its words. Nothing reads the words back.
//!
//! A new kind of event is a variant, a name in [`Happening::name`] and a line in its `Display`; the file holds its
//! fields by themselves.
//!
//! | name | when |
//! |---|---|
//! | `slowlog` | SLOWLOG has a new entry; of a poll's entries the eight longest, the others counted |
//! | `latency` | the server's latency monitor saw something |
//! | `fork` | the server forked |
//! | `save` | a snapshot (RDB) begins, ends, or did both between two polls |
//! | `aof rewrite` | a rewrite of the append-only file likewise |
//! | `eviction` | keys are evicted; again when none was for 3 s |
//! | `blocked` | clients wait in a blocking command; again when none did for 3 s |
//! | `maxclients` | connections are rejected; again when none was for 3 s |
//! | `failover` | the role, a replica's master, or the state of FAILOVER changed |
//! | `replication` | a replica's link went up or down, or replicas came or went |
//! | `restart` | the server process is another one |
//! | `marker` | the note of what this run has to undo was lost and is set again, or cannot be set |
//! | `not permitted` | the server refuses a question; it is asked again once a minute |
//! | `unreachable`, `reachable`, `INFO refused` | the control plane has no answer, and has one again |
//! | `load lost`, `load back`, `worker died`, `load stopped` | the load's connections, threads and end |
//! | `ping lost`, `ping back`, `ping error` | the ping probe's connection and answers |
//! | `error` | the first error of its kind |
//! | `recording`, `recording failed`, `output lost` | what cannot be read, or could not be written |
//!
//! What the server tells is as late as a poll, a second at the most.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::units::{self, counted, were};

/// Something that happened. Texts of the server in it are shown as they are, so they have passed the gate before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields are named as what they are, with their unit")]
pub enum Happening {
    /// The server cannot be reached.
    Unreachable { cause: String },
    /// It is reached again, or answers INFO again.
    Reachable,
    /// It is there and refuses INFO.
    InfoRefused { cause: String },
    /// It refuses another question.
    NotPermitted { cause: String },
    /// A new entry of the slow log: how long it took, its name and first argument, and who sent it.
    SlowCommand { us: u64, command: String, client: Option<String> },
    /// Entries of the same poll that are not told one by one.
    MoreSlowCommands { entries: u64 },
    /// The latency monitor saw one of its events again.
    SlowEvent { of: String, last_ms: u64, max_ms: u64 },
    /// The server forked, and was held so long by it.
    Forked { held_us: Option<u64> },
    /// A child began to write a snapshot.
    SnapshotBegan,
    /// It ended; without a length it began and ended between two polls.
    SnapshotEnded { length_s: Option<f64>, outcome: String },
    /// A child began to rewrite the append-only file.
    RewriteBegan,
    /// It ended; without a length it began and ended between two polls.
    RewriteEnded { length_s: Option<f64>, outcome: String },
    /// Keys are being evicted: so many in the first second.
    EvictionBegan { keys: u64 },
    /// No more are: so many in all.
    EvictionEnded { keys: u64, length_s: f64 },
    /// Connections are being rejected: so many in the first second.
    RejectionBegan { connections: u64 },
    /// No more are: so many in all.
    RejectionEnded { connections: u64, length_s: f64 },
    /// Clients wait in a blocking command.
    BlockingBegan { clients: u64 },
    /// None does any more; there were so many at the most.
    BlockingEnded { clients: u64, length_s: f64 },
    /// The server has another role, or another master.
    RoleChanged { from: String, to: String, master: Option<String> },
    /// FAILOVER is in another state.
    FailoverTurned { state: String },
    /// A replica's link to its master went up or down.
    LinkTurned { state: String },
    /// Replicas came or went.
    ReplicasChanged { from: u64, to: u64 },
    /// The server process is another one.
    Restarted,
    /// The note of what a run has to undo was lost, and stands again.
    MarkerRenewed { run: String },
    /// It cannot be set.
    MarkerRefused { cause: String },
    /// Connections of the load were lost; `untold` more losses were not told since the last one that was.
    ConnectionsLost { lost: u64, clients: u64, cause: String, untold: u64 },
    /// Losses that were not told one by one, because they came too fast.
    MoreConnectionsLost { times: u64 },
    /// All of them are back.
    ConnectionsBack { connections: u64, after_s: f64 },
    /// A thread of the load has ended.
    WorkerDied { cause: String },
    /// The load was turned off because of this.
    LoadStopped { cause: String },
    /// The first error of its kind, with its message.
    FirstError { error: String, message: String },
    /// A PING was answered with an error.
    PingError { message: String },
    /// The ping probe has no connection.
    PingLost { cause: String },
    /// It has one again.
    PingBack,
    /// The recording cannot be written any further.
    RecordingFailed { cause: String },
    /// Lines that nobody read were left out of the output.
    OutputLost { lines: u64 },
    /// A line of a recording is no record.
    LineSkipped { line: u64, why: String },
    /// More lines are none, and are not told one by one.
    MoreLinesSkipped { lines: u64 },
    /// A recording ends without an end record, perhaps in the middle of a record.
    RecordingCut { in_a_record: bool },
    /// What another version wrote, in its words.
    #[serde(skip)]
    Foreign { name: String, detail: String },
}

impl Happening {
    /// What kind of thing it is, in a word or two; some share one.
    pub fn name(&self) -> &str {
        match self {
            Self::Unreachable { .. } => "unreachable",
            Self::Reachable => "reachable",
            Self::InfoRefused { .. } => "INFO refused",
            Self::NotPermitted { .. } => "not permitted",
            Self::SlowCommand { .. } | Self::MoreSlowCommands { .. } => "slowlog",
            Self::SlowEvent { .. } => "latency",
            Self::Forked { .. } => "fork",
            Self::SnapshotBegan | Self::SnapshotEnded { .. } => "save",
            Self::RewriteBegan | Self::RewriteEnded { .. } => "aof rewrite",
            Self::EvictionBegan { .. } | Self::EvictionEnded { .. } => "eviction",
            Self::RejectionBegan { .. } | Self::RejectionEnded { .. } => "maxclients",
            Self::BlockingBegan { .. } | Self::BlockingEnded { .. } => "blocked",
            Self::RoleChanged { .. } | Self::FailoverTurned { .. } => "failover",
            Self::LinkTurned { .. } | Self::ReplicasChanged { .. } => "replication",
            Self::Restarted => "restart",
            Self::MarkerRenewed { .. } | Self::MarkerRefused { .. } => "marker",
            Self::ConnectionsLost { .. } | Self::MoreConnectionsLost { .. } => "load lost",
            Self::ConnectionsBack { .. } => "load back",
            Self::WorkerDied { .. } => "worker died",
            Self::LoadStopped { .. } => "load stopped",
            Self::FirstError { .. } => "error",
            Self::PingError { .. } => "ping error",
            Self::PingLost { .. } => "ping lost",
            Self::PingBack => "ping back",
            Self::RecordingFailed { .. } => "recording failed",
            Self::OutputLost { .. } => "output lost",
            Self::LineSkipped { .. } | Self::MoreLinesSkipped { .. } | Self::RecordingCut { .. } => {
                "recording"
            }
            Self::Foreign { name, .. } => name,
        }
    }

    /// Whether something that was lost is back.
    pub fn is_recovery(&self) -> bool {
        matches!(self.name(), "reachable" | "load back" | "ping back")
    }
}

impl fmt::Display for Happening {
    /// What exactly, without the name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable { cause }
            | Self::InfoRefused { cause }
            | Self::WorkerDied { cause }
            | Self::LoadStopped { cause }
            | Self::PingLost { cause }
            | Self::RecordingFailed { cause } => f.write_str(cause),
            Self::Reachable => f.write_str("INFO is answered again"),
            Self::NotPermitted { cause } => write!(f, "{cause}; the others are asked on"),
            Self::RoleChanged { from, to, master } => {
                write!(f, "{from} is now {to}")?;
                master.as_ref().map_or(Ok(()), |master| write!(f, " of {master}"))
            }
            Self::FailoverTurned { state } => f.write_str(state),
            Self::LinkTurned { state } => write!(f, "the link to the master is {state}"),
            Self::ReplicasChanged { from, to } => write!(f, "{}, before {from}", counted(*to, "replica")),
            Self::Restarted => f.write_str("the server was restarted"),
            Self::MarkerRenewed { run } => {
                write!(f, "run {run} stands on the server again, which had lost it")
            }
            Self::MarkerRefused { cause } => {
                write!(f, "{cause}; after a kill nobody will know what this run has to undo")
            }
            // Most messages begin with their kind.
            Self::FirstError { error, message } if message.starts_with(error) => f.write_str(message),
            Self::FirstError { error, message } => write!(f, "{error}: {message}"),
            Self::PingError { message } => f.write_str(message),
            Self::PingBack => f.write_str("PING is answered again"),
            Self::Foreign { detail, .. } => f.write_str(detail),
            _ => self.counts(f),
        }
    }
}

impl Happening {
    /// The words of those that tell how many, or how long.
    fn counts(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SlowCommand { us, command, client } => {
                write!(f, "{} {command}", units::latency(us.saturating_mul(1000)))?;
                client.as_ref().map_or(Ok(()), |client| write!(f, " from {client}"))
            }
            Self::MoreSlowCommands { entries } => {
                let noun = if *entries == 1 { "entry" } else { "entries" };
                write!(f, "and {} more {noun}", units::grouped(*entries))
            }
            Self::SlowEvent { of, last_ms, max_ms } => {
                write!(f, "{of} {last_ms} ms, the longest so far {max_ms} ms")
            }
            Self::Forked { held_us: None } => f.write_str("a fork"),
            Self::Forked { held_us: Some(us) } => {
                write!(f, "a fork held the server for {}", units::latency(us.saturating_mul(1000)))
            }
            Self::SnapshotBegan => f.write_str("a snapshot began"),
            Self::SnapshotEnded { length_s, outcome } => {
                f.write_str("a snapshot ")?;
                ended(f, *length_s, outcome)
            }
            Self::RewriteBegan => f.write_str("began"),
            Self::RewriteEnded { length_s, outcome } => ended(f, *length_s, outcome),
            Self::EvictionBegan { keys } => write!(f, "{} evicted in a second", counted(*keys, "key")),
            Self::EvictionEnded { keys, length_s } => {
                write!(f, "over: {} in {length_s:.0} s", counted(*keys, "key"))
            }
            Self::RejectionBegan { connections } => {
                write!(f, "{} turned away", counted(*connections, "connection"))
            }
            Self::RejectionEnded { connections, length_s } => {
                write!(f, "over: {} turned away in {length_s:.0} s", counted(*connections, "connection"))
            }
            Self::BlockingBegan { clients } => {
                let verb = if *clients == 1 { "waits" } else { "wait" };
                write!(f, "{} {verb} in a blocking command", counted(*clients, "client"))
            }
            Self::BlockingEnded { clients, length_s } => {
                write!(f, "over: {} at the most, for {length_s:.0} s", counted(*clients, "client"))
            }
            _ => self.of_ours(f),
        }
    }

    /// The words of those that tell of our own connections, lines and files.
    fn of_ours(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ConnectionsLost { lost, clients, cause, untold } => {
                let of = if lost <= clients { "of" } else { "times among" };
                write!(f, "{lost} {of} {clients} connections: {cause}")?;
                if *untold > 0 { write!(f, " ({untold} times more since the last was told)") } else { Ok(()) }
            }
            Self::MoreConnectionsLost { times } => write!(f, "{times} more times, each soon back"),
            Self::ConnectionsBack { connections, after_s } => {
                let plural = if *connections == 1 { "" } else { "s" };
                write!(f, "{connections} connection{plural} after {after_s:.2} s")
            }
            Self::OutputLost { lines } => write!(f, "{} lost here: nobody read them", were(*lines)),
            Self::LineSkipped { line, why } => write!(f, "line {line} is no record and is skipped: {why}"),
            Self::MoreLinesSkipped { lines } => {
                write!(f, "{lines} more lines are no records and are skipped")
            }
            Self::RecordingCut { in_a_record: true } => {
                f.write_str("the recording ends in the middle of a record")
            }
            Self::RecordingCut { in_a_record: false } => {
                f.write_str("the recording ends without an end record: redyno was killed, or still records")
            }
            _ => Ok(()),
        }
    }
}

fn ended(f: &mut fmt::Formatter<'_>, length_s: Option<f64>, outcome: &str) -> fmt::Result {
    match length_s {
        Some(length_s) => write!(f, "ended after {length_s:.0} s: {outcome}"),
        None => write!(f, "began and ended between two polls: {outcome}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_of_an_error_is_said_once() {
        let told = |error: &str, message: &str| {
            Happening::FirstError { error: error.to_owned(), message: message.to_owned() }.to_string()
        };
        assert_eq!(told("OOM", "OOM command not allowed"), "OOM command not allowed");
        assert_eq!(told("refused", "Connection refused"), "refused: Connection refused");
    }

    #[test]
    fn connections_that_are_lost_again_and_again_are_so_many_times() {
        let told = |lost, untold| {
            let cause = "reset".to_owned();
            Happening::ConnectionsLost { lost, clients: 50, cause, untold }.to_string()
        };
        assert_eq!(told(50, 0), "50 of 50 connections: reset");
        assert_eq!(
            told(51, 7),
            "51 times among 50 connections: reset (7 times more since the last was told)"
        );
    }
}
