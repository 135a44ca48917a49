//! The events of a session, such as a fork or a lost connection. A table contains the fields, the name and the text of
//! each event. redyno never parses the text.
//!
//! To add a new kind of event, add a row to the table. A recording contains the fields of an event, and not its text.
//!
//! | name | when |
//! |---|---|
//! | `slowlog` | SLOWLOG has new entries; a poll reports the eight longest entries and the number of the others |
//! | `commandlog` | COMMANDLOG has new entries about large requests or large replies (Valkey 8.1) |
//! | `latency` | the server's latency monitor reported an event |
//! | `fork` | the server forked |
//! | `save` | a snapshot (RDB) begins, ends, or did both between two polls |
//! | `aof rewrite` | a rewrite of the append-only file begins, ends, or did both between two polls |
//! | `eviction` | keys are evicted; a second event when no key was evicted for 3 s |
//! | `expiry` | far more keys expire than usual; a second event when the number was usual for 3 s |
//! | `loading` | the server begins or has finished loading its data |
//! | `config` | a client other than this session has changed a parameter |
//! | `blocked` | clients wait in a blocking command; a second event when no client waited for 3 s |
//! | `maxclients` | connections are rejected; a second event when no connection was rejected for 3 s |
//! | `failover` | another server answers in place of a primary that failed or was switched over |
//! | `lag` | the lag of a replica cannot be measured (`--probe-lag`); at the end of the session, the measured lag |
//! | `recall` | the recall of searches cannot be measured; at the end of the session, the measured recall |
//! | `role` | the role, a replica's master, or the state of FAILOVER changed |
//! | `agent joined`, `agent lost`, `agent back`, `agent paused`, `agent refused`, `reports lost` | the agents of a fleet |
//! | `bus lost`, `bus back` | the server that connects the agents of a fleet does not answer, or answers again |
//! | `joined`, `left` | a server became a node of the session, or left the cluster |
//! | `replication` | a replica's link went up or down, or replicas came or went |
//! | `restart` | the server process was restarted |
//! | `marker` | the marker (a hash on the server with what this run must undo) was lost or cannot be written |
//! | `not permitted` | the server refuses a command, and redyno tries the command again once a minute |
//! | `unreachable`, `reachable`, `figures refused` | polls of the server get no reply, a reply, or an error |
//! | `load lost`, `load back` | connections of the load were lost, or are open again |
//! | `worker died`, `load stopped` | a thread of the load died, or redyno switched the load off |
//! | `prefill` | the phase that writes the keys of the workload has ended |
//! | `paused` | redyno itself was stopped (Ctrl-Z) and continued |
//! | `ping lost`, `ping back`, `ping error` | the ping probe has no connection, is connected again, or got an error |
//! | `stall` | PINGs wait much longer than usual; a second event when they are answered in time again |
//! | `shift` | a figure left its usual level for 3 s; a second event at its return, or after minutes at the new level |
//! | `error` | the first error of its kind |
//! | `trial`, `found` | `--find` tried whether one rate keeps the limit (such as `p99<1ms`), or has its result |
//! | `step`, `best` | `--sweep` measured one value of its setting, or found the value with the most throughput |
//! | `experiment` | an experiment was interrupted, or has no result |
//! | `gap` | nothing was recorded between two files that are replayed together |
//! | `recording`, `recording failed`, `export failed`, `output lost` | data cannot be read, or could not be written |
//!
//! redyno reports an event of the server up to one second late, because redyno polls the server once per second.

mod found;
mod length;
mod prefilled;
mod shift;
mod text;

use std::fmt;

pub use found::{KneeAt, SearchResult, SweepBest, SweptReceivers, SweptStep};
pub use prefilled::PrefillResult;
use serde::{Deserialize, Serialize};
pub use shift::ShiftReport;

use text::{after, ended, latency_s, micros, more_entries, quoted_empty};

use crate::units::{self, count_with_noun, grouped, lines_with_verb};

macro_rules! event_kinds {
    ($($(#[doc = $what:literal])+ $event:ident $({ $($(#[$serde:meta])? $field:ident: $of:ty),* })? $name:literal $words:expr;)*) => {
        /// An event. Texts from the server were cleaned by [`untrusted`](crate::untrusted), and are safe to show.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "event", rename_all = "snake_case")]
        #[expect(missing_docs, reason = "the name of each field says what it is, and its unit")]
        pub enum EventKind {
            $($(#[doc = $what])+ $event $({ $($(#[$serde])? $field: $of),* })?,)*
        }

        impl EventKind {
            /// Returns the event's name, one or two words. Several kinds of events may have the same name.
            pub fn name(&self) -> &str {
                match self {
                    $(Self::$event { .. } => $name,)*
                }
            }
        }

        impl fmt::Display for EventKind {
            /// Writes the event's text, without its name.
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
    /// The server refuses a command. The other commands continue.
    NotPermitted { cause: String } "not permitted" format!("{cause}; others continue");
    /// A new slow log entry, with its duration, its command and first argument, its client, and the arguments that the
    /// server stored.
    SlowCommand {
        us: u64,
        command: String,
        client: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")] arguments: Vec<String>
    } "slowlog" {
        let _ = arguments;
        format!("{} {command}{}", micros(*us), after(" from ", client))
    };
    /// The number of further slow log entries of the same poll without their own event. redyno could not read `unread`
    /// of these entries.
    MoreSlowCommands {
        entries: u64,
        #[serde(default)] unread: u64
    } "slowlog" {
        let unread = if *unread > 0 { format!(" ({} not read)", grouped(*unread)) } else { String::new() };
        format!("and {}{unread}", more_entries(*entries))
    };
    /// Many slow log entries from before the session are calls of one command. The longest call took `us` microseconds.
    SlowBefore { entries: u64, calls: u64, command: String, us: u64 } "slowlog" format!(
        "before this session: {} of the last {} entries are {command}; the slowest took {}",
        grouped(*calls), grouped(*entries), micros(*us)
    );
    /// A new entry of COMMANDLOG about a large `request` or `reply` (the value of `part`). The other fields are as in
    /// `SlowCommand`.
    LargeCommand {
        bytes: u64,
        part: String,
        command: String,
        client: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")] arguments: Vec<String>
    } "commandlog" {
        let _ = arguments;
        format!("a {part} of {}: {command}{}", units::bytes(*bytes), after(" from ", client))
    };
    /// The number of further COMMANDLOG entries of the same poll and kind (`part`) without an event of their own.
    MoreLargeCommands { entries: u64, part: String } "commandlog"
        format!("{} about a large {part}", more_entries(*entries));
    /// The server's latency monitor reported an event, with its last and its longest latency.
    SlowEvent { of: String, last_ms: u64, max_ms: u64 } "latency"
        format!("{of} {last_ms} ms, the longest so far {max_ms} ms");
    /// The server forked. The fork blocked the server for `held_us` microseconds.
    Forked { held_us: Option<u64> } "fork"
        held_us.map_or("a fork".to_owned(), |us| format!("a fork paused the server for {}", micros(us)));
    /// A child process began to write a snapshot.
    SnapshotBegan "save" "a snapshot began";
    /// A snapshot ended. The length is unknown if the whole snapshot took place between two polls.
    SnapshotEnded { length_s: Option<f64>, outcome: String } "save"
        format!("a snapshot {}", ended(*length_s, outcome));
    /// A child process began to rewrite the append-only file.
    RewriteBegan "aof rewrite" "began";
    /// A rewrite of the append-only file ended. The length is unknown if all of it took place between two polls.
    RewriteEnded { length_s: Option<f64>, outcome: String } "aof rewrite" ended(*length_s, outcome);
    /// Keys are evicted. `keys` is the number of keys that were evicted in the first second.
    EvictionBegan { keys: u64 } "eviction" format!("{} evicted in a second", count_with_noun(*keys, "key"));
    /// Evictions have ended. `keys` is the number of all evicted keys.
    EvictionEnded { keys: u64, length_s: f64 } "eviction"
        format!("ended: {} in {length_s:.0} s", count_with_noun(*keys, "key"));
    /// Far more keys expire than usual. `keys` is the number of keys that expired in the first second.
    ExpiryBegan { keys: u64 } "expiry" format!("{} expired in a second", count_with_noun(*keys, "key"));
    /// The number of expired keys is usual again. `keys` is the number of all keys that expired meanwhile.
    ExpiryEnded { keys: u64, length_s: f64 } "expiry"
        format!("ended: {} in {length_s:.0} s", count_with_noun(*keys, "key"));
    /// The server began to load its data.
    LoadingBegan "loading" "the server loads its data";
    /// The server has loaded its data.
    LoadingEnded { length_s: f64 } "loading" format!("ended after {length_s:.0} s");
    /// A client other than this session changed a parameter of the server.
    ConfigChanged { #[serde(rename = "parameter")] name: String, from: String, to: String } "config"
        format!("{name} {} → {}", quoted_empty(from), quoted_empty(to));
    /// Connections are rejected. `connections` is the number of rejected connections in the first second.
    RejectionBegan { connections: u64 } "maxclients"
        format!("{} rejected", count_with_noun(*connections, "connection"));
    /// Rejections have ended. `connections` is the number of all rejected connections.
    RejectionEnded { connections: u64, length_s: f64 } "maxclients"
        format!("ended: {} rejected in {length_s:.0} s", count_with_noun(*connections, "connection"));
    /// Clients wait in a blocking command.
    BlockingBegan { clients: u64 } "blocked"
        format!("{} {} in a blocking command", count_with_noun(*clients, "client"), if *clients == 1 { "waits" } else { "wait" });
    /// No client waits in a blocking command any more. At most `clients` clients waited at the same time.
    BlockingEnded { clients: u64, length_s: f64 } "blocked"
        format!("ended after {length_s:.0} s: at most {} waited at once", count_with_noun(*clients, "client"));
    /// The server has another role, or another master.
    RoleChanged { from: String, to: String, master: Option<String> } "role"
        format!("{from} is now {to}{}", after(" of ", master));
    /// The state of the FAILOVER command changed.
    FailoverTurned { state: String } "role" format!("FAILOVER: {state}");
    /// A server joined the session after its beginning, and got the next node number.
    NodeJoined { address: String } "joined" format!("{address} is watched from now on");
    /// The node has left the cluster. The node owns no slots any more, and does not answer as a replica.
    NodeLeft { address: String } "left" format!("{address} has left the cluster");
    /// A node that had left has slots again, or is a replica again.
    NodeBack { address: String } "joined" format!("{address} is in the cluster again");
    /// An agent of the fleet takes part in the load. Its clock is known with an error of at most `error_us` µs.
    AgentJoined { agent: usize, host: String, error_us: f64 } "agent joined"
        format!("agent {agent} on {host} takes part; its clock is known to ± {error_us:.0} µs");
    /// Agent number `agent` of the fleet does not report any more.
    AgentLost { agent: usize, host: String } "agent lost"
        format!("agent {agent} on {host} does not report; its share of the load is missing");
    /// An agent that was lost reports again.
    AgentBack { agent: usize, host: String } "agent back" format!("agent {agent} on {host} reports again");
    /// The process of an agent was stopped and continued.
    AgentPaused { agent: usize, host: String, length_s: f64 } "agent paused"
        format!("agent {agent} on {host} was stopped for {length_s:.1} s; its requests in flight then count as late");
    /// An agent does not carry out an order, or its messages cannot be used.
    AgentRefused { agent: Option<usize>, cause: String } "agent refused"
        match agent { Some(agent) => format!("agent {agent}: {cause}"), None => cause.clone() };
    /// Reports of an agent are missing, so the requests in these reports are not counted.
    ReportsLost { agent: usize, reports: u64 } "reports lost"
        format!("{} of agent {agent} did not arrive intact; the requests in {} are not counted", count_with_noun(*reports, "report"), if *reports == 1 { "it" } else { "them" });
    /// The results of an agent after `from_s` did not arrive. Its load may have gone on for `length_s`.
    ResultsLost { agent: usize, from_s: f64, length_s: f64 } "results lost"
        format!("the results of agent {agent} from {from_s:.2} s on did not arrive; its requests in up to {length_s:.2} s are not counted");
    /// The session's machine was so busy that the session sent no order for `length_s`.
    OrdersLate { length_s: f64 } "orders late" format!("this machine was too busy for {length_s:.1} s; after 4 s without an order, an agent ends its load");
    /// The bus of the fleet does not answer.
    BusLost { cause: String } "bus lost" cause.clone();
    /// The bus of the fleet answers again.
    BusBack "bus back" "the bus answers again".to_owned();
    /// Server `to` answers in place of `from`. Good replies were missing for `length_s`, or up to `error_s` longer.
    /// Both times are 0 if no request was lost.
    Failover { from: String, to: String, length_s: f64, error_s: f64, by: String, epoch: Option<u64>, cause: Option<String> } "failover" {
        let epoch = epoch.map_or_else(String::new, |epoch| format!(", epoch {epoch}"));
        let length = match *length_s {
            0.0 => "no request was lost".to_owned(),
            length_s => format!("no good reply for {} (+{})", latency_s(length_s), latency_s(*error_s)),
        };
        format!("{to} in place of {from}: {length}; by {by}{epoch}{}", after(": ", cause))
    };
    /// The lag of this replica cannot be measured now, because of `cause`.
    LagUnmeasured { replica: String, cause: String } "lag" format!("{replica}: {cause}");
    /// The lag of a replica: how many of redyno's test values arrived in time, how many did not, and the delays.
    LagMeasured { replica: String, markers: u64, unseen: u64, p50_us: f64, max_us: f64 } "lag" {
        let late = if *unseen > 0 { format!("; {} did not arrive in time", grouped(*unseen)) } else { String::new() };
        let after = |us: &f64| if *us > 0.0 { format!("within {}", latency_s(us / 1e6)) } else { "at once".to_owned() };
        let (half, all, arrived) = (after(p50_us), after(max_us), count_with_noun(*markers, "marker"));
        match markers {
            0 => format!("{replica} received none of {} in time", count_with_noun(*unseen, "marker")),
            _ => format!("{replica} received {arrived}: half of them {half}, all {all}{late}"),
        }
    };
    /// The recall of searches for nearest vectors cannot be measured now, because of `cause`.
    RecallUnmeasured { cause: String } "recall" format!("not measured: {cause}");
    /// The recall, 0 to 1, of searches for the `neighbours` nearest vectors: the mean, and that of the worst search.
    RecallMeasured { searches: u64, neighbours: u64, mean: f64, least: f64 } "recall"
        format!("{mean:.4} of the {neighbours} nearest vectors were found (mean of {}; the worst {least:.2})", count_with_noun(*searches, "sample"));
    /// A replica's link to its master went up or down.
    LinkTurned { state: String } "replication" format!("the link to the master is {state}");
    /// Replicas connected or disconnected.
    ReplicasChanged { from: u64, to: u64 } "replication" format!("{}, before {from}", count_with_noun(*to, "replica"));
    /// The server process was restarted.
    Restarted "restart" "the server was restarted";
    /// The server lost the marker of this run, a hash on the server. redyno writes the marker again.
    MarkerRenewed { run: String } "marker" format!("the server lost the marker (list of changes) of run {run}; redyno writes it again");
    /// The marker of this run, a hash on the server, cannot be written.
    MarkerRefused { cause: String } "marker"
        format!("{cause}; after a kill, `redyno clean` would not find this run");
    /// Connections of the load were lost, in a cluster the connections to one `server`, which had `of` connections if this
    /// number is known. `unreported` is the number of earlier losses without a report.
    ConnectionsLost { lost: u64, clients: u64, cause: String, unreported: u64, server: Option<String>, of: Option<u64> } "load lost" {
        let unreported = (*unreported > 0).then(|| format!("and {} more since the last report)", grouped(*unreported)));
        let all = if server.is_some() { *of } else { Some(*clients) };
        let connections = match all {
            None => count_with_noun(*lost, "connection"),
            Some(all) if *lost <= all => format!("{} of {}", grouped(*lost), count_with_noun(all, "connection")),
            Some(all) => format!("{} times among {}", grouped(*lost), count_with_noun(all, "connection")),
        };
        let to = server.iter().map(|server| format!(" to {server}")).collect::<String>();
        format!("{connections}{to}: {cause}{}", after(" (", &unreported))
    };
    /// More connections of the load were lost, so many that not every loss has an event.
    MoreConnectionsLost { times: u64 } "load lost" format!("{} more losses; the connections were soon open again", grouped(*times));
    /// All lost connections of the load are open again. In a cluster, `server` accepts connections again, or its slots
    /// belong to `heir`.
    ConnectionsBack { connections: u64, after_s: f64, server: Option<String>, heir: Option<String> } "load back" match (server, heir) {
        (Some(server), Some(heir)) => format!("{heir} serves the slots of {server} after {after_s:.2} s"),
        (Some(server), None) => format!("{server} accepts connections again after {after_s:.2} s"),
        _ => format!("{} after {after_s:.2} s", count_with_noun(*connections, "connection")),
    };
    /// redyno's own process was stopped, and continued.
    Paused { length_s: f64 } "paused"
        format!("{length_s:.1} s without a measurement: redyno was stopped; requests in flight then count as late");
    /// A thread of the load died.
    WorkerDied { cause: String } "worker died" cause;
    /// The load was switched off because of `cause`.
    LoadStopped { cause: String } "load stopped" cause;
    /// The prefill has ended.
    Prefilled { prefilled: PrefillResult } "prefill" prefilled.to_string();
    /// The first error of a kind. The error's message usually begins with the kind.
    FirstError { error: String, message: String } "error"
        if message.starts_with(error) { message.clone() } else { format!("{error}: {message}") };
    /// A PING got an error reply.
    PingError { message: String } "ping error" message;
    /// The ping probe has no connection.
    PingLost { cause: String } "ping lost" cause;
    /// The ping probe is connected again.
    PingBack "ping back" "pings are answered again";
    /// PINGs wait, or waited, much longer than usual. The time of the event is the time of the first late PING.
    Stalled { longest_s: f64, length_s: Option<f64> } "stall"
        match length_s {
            None => "PING is not answered in time".to_owned(),
            // One PING waited through nearly the whole stall: the server answered nothing.
            Some(length_s) if longest_s / length_s > 0.8 => format!("no reply to PING for {}", latency_s(*longest_s)),
            Some(length_s) => {
                format!("for {}, replies to PING took up to {}", units::length(*length_s), latency_s(*longest_s))
            }
        };
    /// A figure left its usual level, or returned to it.
    Shifted { shift: ShiftReport } "shift" shift.to_string();
    /// A search tried a rate. `level_us` is the percentile. `disturbed` is the reason why the trial does not count.
    Tried { rate: u32, length_s: f64, is_held: bool, limit: String, level_us: Option<f64>, ops_per_s: f64, disturbed: Option<String> } "trial" {
        let held = if *is_held { "holds" } else { "does not hold" };
        let level = limit.split('<').next().unwrap_or_default();
        let reached_level = level_us.map(|us| format!("{level} {}", units::latency((us * 1e3) as u64)));
        let (rate, reached) = (units::setting((*rate).into()), units::rate(*ops_per_s));
        let disturbed = after("; not counted, because it was disturbed: ", disturbed);
        format!("rate {rate}/s for {length_s:.1} s: {limit} {held}{}, {reached}{disturbed}", after(", ", &reached_level))
    };
    /// A search has a result: the highest value of the setting that keeps the limit.
    Found { found: SearchResult } "found" found.to_string();
    /// A sweep measured one value of the setting that it varies.
    Stepped { step: SweptStep } "step" step.to_string();
    /// A sweep found the value with the most throughput.
    BestStep { best: SweepBest } "best" best.to_string();
    /// A search found no value that keeps the limit.
    NothingFound { knob: String, limit: String } "found" format!("no {knob} keeps {limit}");
    /// An A/B comparison of two settings or two targets ended.
    Compared { verdict: String } "verdict" verdict;
    /// An experiment ended early, or without a result.
    ExperimentStopped { cause: String } "experiment" format!("stopped: {cause}");
    /// The recording cannot be continued.
    RecordingFailed { cause: String } "recording failed" cause;
    /// The export cannot be continued.
    ExportFailed { cause: String } "export failed" cause;
    /// Lines are missing from the output, because the reader of the output was too slow.
    OutputLost { lines: u64 } "output lost" format!("{} lost here: the reader of the output was too slow", lines_with_verb(*lines));
    /// Records are missing from an output because its disk or its reader was too slow.
    RecordsLost { records: u64 } "output lost"
        format!("{} left out here: the disk or the reader took too long", count_with_noun(*records, "record"));
    /// A line of a recording is not a valid record, and is skipped.
    LineSkipped { line: u64, why: String } "recording" format!("line {line} is no record and is skipped: {why}");
    /// The number of further invalid lines of a recording, which have no events of their own.
    MoreLinesSkipped { lines: u64 } "recording" format!("{} more lines are no records and are skipped", grouped(*lines));
    /// Between two files of a recording, nothing was recorded. The time of the event is the start of the second file.
    NotRecorded { length_s: f64 } "gap" format!("nothing was recorded for {}", crate::units::run_length(*length_s));
    /// A recording ends without an end record, perhaps within a record.
    RecordingCut { in_a_record: bool } "recording"
        if *in_a_record {
            "the recording ends in the middle of a record"
        } else {
            "the recording ends without an end record: redyno was killed, or still records"
        };
}

impl EventKind {
    /// Returns the event without the arguments of the command in a log entry. The text of the event does not change.
    #[must_use]
    pub fn without_arguments(mut self) -> Self {
        if let Self::SlowCommand { arguments, .. } | Self::LargeCommand { arguments, .. } = &mut self {
            arguments.clear();
        }
        self
    }

    /// Returns whether the event concerns all nodes of the session. The record of such an event still has the number of
    /// one node.
    pub fn is_of_all_nodes(&self) -> bool {
        match self {
            Self::ConnectionsLost { server, .. } | Self::ConnectionsBack { server, .. } => server.is_some(),
            crate::any_of!(Self NodeJoined NodeLeft NodeBack Failover LagUnmeasured LagMeasured NotRecorded) => {
                true
            }
            _ => false,
        }
    }

    /// Returns whether the event reports a recovery.
    pub fn is_recovery(&self) -> bool {
        matches!(self.name(), "reachable" | "load back" | "ping back")
    }
}

#[cfg(test)]
mod tests;
