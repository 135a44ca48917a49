//! The events of a session: a table with the fields, the name and the text of each. The text is never parsed.
//!
//! A new kind of event is a row; a file contains its fields separately.
//!
//! | name | when |
//! |---|---|
//! | `slowlog` | SLOWLOG has a new entry; of a poll's entries the eight longest, the others counted |
//! | `latency` | the server's latency monitor reported an event |
//! | `fork` | the server forked |
//! | `save` | a snapshot (RDB) begins, ends, or did both between two polls |
//! | `aof rewrite` | the same for a rewrite of the append-only file |
//! | `eviction` | keys are evicted; again when none was for 3 s |
//! | `blocked` | clients wait in a blocking command; again when none did for 3 s |
//! | `maxclients` | connections are rejected; again when none was for 3 s |
//! | `failover` | the role, a replica's master, or the state of FAILOVER changed |
//! | `replication` | a replica's link went up or down, or replicas came or went |
//! | `restart` | the server process was started anew |
//! | `marker` | the note of what this run has to undo was lost and is set again, or cannot be set |
//! | `not permitted` | the server refuses a command; it is sent again once a minute |
//! | `unreachable`, `reachable`, `figures refused` | the control plane gets no reply, and gets one again |
//! | `load lost`, `load back`, `worker died`, `load stopped` | the load's connections, threads and end |
//! | `prefill` | the keys that a workload reads are made |
//! | `paused` | redyno itself was stopped (Ctrl-Z) and continued |
//! | `ping lost`, `ping back`, `ping error` | the ping probe's connection and replies |
//! | `error` | the first error of its kind |
//! | `trial`, `found` | an experiment tried a rate for its limit, and what it found in the end |
//! | `step`, `best` | a sweep measured a value of its knob, and which did most |
//! | `experiment` | one was interrupted, or has no result |
//! | `recording`, `recording failed`, `output lost` | data that cannot be read, or could not be written |
//!
//! Reports about the server are up to a second late, the time between two polls.

mod found;
mod prefilled;

use std::fmt;

pub use found::{Best, Found, KneeAt, SweptStep};
pub use prefilled::Prefilled;
use serde::{Deserialize, Serialize};

use crate::units::{self, counted, were};

macro_rules! event_kinds {
    ($(#[doc = $what:literal] $event:ident $({ $($field:ident: $of:ty),* })? $name:literal $words:expr;)*) => {
        /// An event. The server's texts in it have passed the gate, so they can be shown as they are.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "event", rename_all = "snake_case")]
        #[expect(missing_docs, reason = "the fields are named as what they are, with their unit")]
        pub enum EventKind {
            $(#[doc = $what] $event $({ $($field: $of),* })?,)*
        }

        impl EventKind {
            /// Returns the event's name, a word or two; some events share one.
            pub fn name(&self) -> &str {
                match self {
                    $(Self::$event { .. } => $name,)*
                }
            }
        }

        impl fmt::Display for EventKind {
            /// Writes the details, without the name.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$event $({ $($field),* })? => f.write_str($words.as_ref()),)*
                }
            }
        }
    };
}

event_kinds! {
    /// The server cannot be reached.
    Unreachable { cause: String } "unreachable" cause;
    /// The server can be reached again, or reports its figures again.
    Reachable "reachable" "it answers again";
    /// The server answers, but refuses to report its figures.
    InfoRefused { cause: String } "figures refused" cause;
    /// The server refuses another command.
    NotPermitted { cause: String } "not permitted" format!("{cause}; others continue");
    /// A new entry of the slow log: its duration, its command and first argument, and its client.
    SlowCommand { us: u64, command: String, client: Option<String> } "slowlog"
        format!("{} {command}{}", micros(*us), after(" from ", client));
    /// Entries of the same poll that are not reported singly.
    MoreSlowCommands { entries: u64 } "slowlog"
        format!("and {} more {}", units::grouped(*entries), if *entries == 1 { "entry" } else { "entries" });
    /// The latency monitor reported one of its events again.
    SlowEvent { of: String, last_ms: u64, max_ms: u64 } "latency"
        format!("{of} {last_ms} ms, the longest so far {max_ms} ms");
    /// The server forked, which blocked it for this long.
    Forked { held_us: Option<u64> } "fork"
        held_us.map_or("a fork".to_owned(), |us| format!("a fork held the server for {}", micros(us)));
    /// A child process began to write a snapshot.
    SnapshotBegan "save" "a snapshot began";
    /// It ended; without a length it began and ended between two polls.
    SnapshotEnded { length_s: Option<f64>, outcome: String } "save"
        format!("a snapshot {}", ended(*length_s, outcome));
    /// A child process began to rewrite the append-only file.
    RewriteBegan "aof rewrite" "began";
    /// It ended; without a length it began and ended between two polls.
    RewriteEnded { length_s: Option<f64>, outcome: String } "aof rewrite" ended(*length_s, outcome);
    /// Keys are evicted; this many in the first second.
    EvictionBegan { keys: u64 } "eviction" format!("{} evicted in a second", counted(*keys, "key"));
    /// Evictions have ended; this many in all.
    EvictionEnded { keys: u64, length_s: f64 } "eviction"
        format!("over: {} in {length_s:.0} s", counted(*keys, "key"));
    /// Connections are rejected; this many in the first second.
    RejectionBegan { connections: u64 } "maxclients"
        format!("{} rejected", counted(*connections, "connection"));
    /// Rejections have ended; this many in all.
    RejectionEnded { connections: u64, length_s: f64 } "maxclients"
        format!("over: {} rejected in {length_s:.0} s", counted(*connections, "connection"));
    /// Clients wait in a blocking command.
    BlockingBegan { clients: u64 } "blocked"
        format!("{} {} in a blocking command", counted(*clients, "client"), if *clients == 1 { "waits" } else { "wait" });
    /// No client waits any more; this many waited at most.
    BlockingEnded { clients: u64, length_s: f64 } "blocked"
        format!("over: {} at the most, for {length_s:.0} s", counted(*clients, "client"));
    /// The server has another role, or another master.
    RoleChanged { from: String, to: String, master: Option<String> } "failover"
        format!("{from} is now {to}{}", after(" of ", master));
    /// FAILOVER is in another state.
    FailoverTurned { state: String } "failover" state;
    /// A replica's link to its master went up or down.
    LinkTurned { state: String } "replication" format!("the link to the master is {state}");
    /// Replicas connected or disconnected.
    ReplicasChanged { from: u64, to: u64 } "replication" format!("{}, before {from}", counted(*to, "replica"));
    /// The server process was started anew.
    Restarted "restart" "the server was restarted";
    /// The marker of this run was lost, and has been set again.
    MarkerRenewed { run: String } "marker" format!("the server lost the marker of run {run}; it is written again");
    /// The marker of this run cannot be set.
    MarkerRefused { cause: String } "marker"
        format!("{cause}; after a kill, redyno clean would not find this run");
    /// Connections of the load were lost; `untold` counts the losses since the last report that had none.
    ConnectionsLost { lost: u64, clients: u64, cause: String, untold: u64 } "load lost" {
        let of = if lost <= clients { "of" } else { "times among" };
        let untold = (*untold > 0).then(|| format!("{untold} times more since the last report)"));
        format!("{lost} {of} {clients} connections: {cause}{}", after(" (", &untold))
    };
    /// Losses that were not reported singly, because there were too many.
    MoreConnectionsLost { times: u64 } "load lost" format!("{times} more times, each soon back");
    /// All lost connections of the load are open again.
    ConnectionsBack { connections: u64, after_s: f64 } "load back"
        format!("{connections} connection{} after {after_s:.2} s", if *connections == 1 { "" } else { "s" });
    /// The whole process was stopped.
    Paused { length_s: f64 } "paused"
        format!("{length_s:.1} s without a measurement: redyno was stopped; requests in flight then count as late");
    /// A thread of the load died.
    WorkerDied { cause: String } "worker died" cause;
    /// The load was switched off for this reason.
    LoadStopped { cause: String } "load stopped" cause;
    /// The prefill has ended.
    Prefilled { prefilled: Prefilled } "prefill" prefilled.to_string();
    /// The first error of its kind, with its message, which usually begins with the kind.
    FirstError { error: String, message: String } "error"
        if message.starts_with(error) { message.clone() } else { format!("{error}: {message}") };
    /// A PING got an error reply.
    PingError { message: String } "ping error" message;
    /// The ping probe has no connection.
    PingLost { cause: String } "ping lost" cause;
    /// The ping probe is connected again.
    PingBack "ping back" "pings are answered again";
    /// An experiment tried this rate; `level_us` is the limit's percentile, if known; `disturbed` is why the trial is not counted.
    Tried { rate: u32, length_s: f64, is_held: bool, limit: String, level_us: Option<f64>, ops_per_s: f64, disturbed: Option<String> } "trial" {
        let held = if *is_held { "holds" } else { "does not hold" };
        let level = limit.split('<').next().unwrap_or_default();
        let reached_level = level_us.map(|us| format!("{level} {}", units::latency((us * 1e3) as u64)));
        let (rate, reached) = (units::setting((*rate).into()), units::rate(*ops_per_s));
        let disturbed = after("; disturbed, it does not count: ", disturbed);
        format!("rate {rate}/s for {length_s:.1} s: {limit} {held}{}, {reached}{disturbed}", after(", ", &reached_level))
    };
    /// A search has a result.
    Found { found: Found } "found" found.to_string();
    /// A sweep measured this value of its knob.
    Stepped { step: SweptStep } "step" step.to_string();
    /// A sweep found its best step.
    BestStep { best: Best } "best" best.to_string();
    /// No value keeps the limit.
    NothingFound { knob: String, limit: String } "found" format!("no {knob} keeps {limit}");
    /// An experiment ended early, or without a result.
    ExperimentStopped { cause: String } "experiment" format!("stopped: {cause}");
    /// The recording cannot be continued.
    RecordingFailed { cause: String } "recording failed" cause;
    /// Lines without a reader were left out of the output.
    OutputLost { lines: u64 } "output lost" format!("{} lost here, since nobody read them", were(*lines));
    /// Measurements that a listener did not take in time were left out of its output.
    RecordsLost { records: u64 } "output lost"
        format!("{} left out here: the disk or the reader took too long", counted(*records, "record"));
    /// A line of a recording is not a record.
    LineSkipped { line: u64, why: String } "recording" format!("line {line} is no record and is skipped: {why}");
    /// More such lines, which are not reported singly.
    MoreLinesSkipped { lines: u64 } "recording" format!("{lines} more lines are no records and are skipped");
    /// A recording ends without an end record, perhaps within a record.
    RecordingCut { in_a_record: bool } "recording"
        if *in_a_record {
            "the recording ends in the middle of a record"
        } else {
            "the recording ends without an end record: redyno was killed, or still records"
        };
}

impl EventKind {
    /// Returns whether the event reports a recovery.
    pub fn is_recovery(&self) -> bool {
        matches!(self.name(), "reachable" | "load back" | "ping back")
    }
}

fn micros(us: u64) -> String {
    units::latency(us.saturating_mul(1000))
}

/// Returns the text after a word, or nothing.
fn after(word: &str, known: &Option<String>) -> String {
    known.as_ref().map_or_else(String::new, |known| format!("{word}{known}"))
}

fn ended(length_s: Option<f64>, outcome: &str) -> String {
    match length_s {
        Some(length_s) => format!("ended after {length_s:.0} s: {outcome}"),
        None => format!("began and ended between two polls: {outcome}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_of_an_error_is_said_once() {
        let text = |error: &str, message: &str| {
            EventKind::FirstError { error: error.to_owned(), message: message.to_owned() }.to_string()
        };
        assert_eq!(text("OOM", "OOM command not allowed"), "OOM command not allowed");
        assert_eq!(text("refused", "Connection refused"), "refused: Connection refused");
    }

    #[test]
    fn connections_that_are_lost_again_and_again_are_so_many_times() {
        let text = |lost, more| {
            let cause = "reset".to_owned();
            EventKind::ConnectionsLost { lost, clients: 50, cause, untold: more }.to_string()
        };
        assert_eq!(text(50, 0), "50 of 50 connections: reset");
        assert_eq!(text(51, 7), "51 times among 50 connections: reset (7 times more since the last report)");
    }
}
