//! `--redact` removes the private texts of servers from the records of a session. The removal comes before redyno
//! shows, writes or exports a record.
//!
//! | removed | kept |
//! |---|---|
//! | arguments of commands in the slow log; address and name of their sender | name of the command, and its duration |
//! | address and name of each client in CLIENT LIST | its library, its last command, its figures |
//! | messages of errors, since they contain keys, names of users and addresses | the error's code: `WRONGTYPE` |
//! | numbers and names of processes | CPU use of the processes |
//! | the addresses of a replica's master and of a primary's furthest replica | that the replica has another master |
//! | the query of a URL path in the workload (only in recordings and JSON lines) | the rest of the workload |
//!
//! Texts from the user are not removed, such as the target's address and notes.

use std::{collections::BTreeMap, sync::Arc};

use super::{Event, Record};
use crate::{
    events::EventKind,
    host::HostSample,
    server::{ConnectedClients, Status},
    untrusted::{REDACTED, code},
    workload::{Workload, without_query},
};

impl Record {
    /// Returns the same record without private texts of servers.
    #[must_use]
    pub fn redacted(self) -> Self {
        match self {
            Self::Server(mut moment) => {
                status(&mut moment.body);
                Self::Server(moment)
            }
            Self::Host(mut moment) => {
                nameless(&mut moment.body);
                Self::Host(moment)
            }
            Self::Event(event) => Self::Event(Event { what: event_kind(event.what), ..event }),
            Self::End(mut end) => {
                end.summary.first_errors.iter_mut().for_each(|(kind, message)| message.clone_from(kind));
                Self::End(end)
            }
            // These records contain only texts of redyno and of the user, and kinds of errors.
            own @ redyno_engine::any_of!(Self Session Segment Interval Ping Wake Intrinsic Mark) => own,
        }
    }

    /// Returns the same record without the queries of URL paths in its workload. Use this function only for recordings
    /// and JSON lines. An experiment in a running session needs the complete workload of a segment.
    #[must_use]
    pub fn without_queries(mut self) -> Self {
        if let Self::Segment(segment) = &mut self {
            let mut workload = Workload::clone(&segment.knobs.workload);
            let before = workload.setup.steps.iter_mut().chain(&mut workload.prefill.steps);
            let steps = workload.operations.iter_mut().flat_map(|operation| &mut operation.steps);
            for step in before.chain(steps) {
                *step = without_query(step).unwrap_or_else(|| std::mem::take(step));
            }
            segment.knobs.workload = Arc::new(workload);
        }
        self
    }
}

/// Removes the names and numbers of processes.
fn nameless(sample: &mut HostSample) {
    for process in sample.busy.iter_mut().chain(&mut sample.server) {
        (process.pid, process.name) = (0, REDACTED.to_owned());
    }
    // These reasons contain process numbers and ports.
    for part in ["server", "connections", "forked child", "run delay", "server's cgroup", "threads"] {
        Arc::make_mut(&mut sample.missing).get_mut(part).into_iter().for_each(|why| REDACTED.clone_into(why));
    }
}

/// Removes private texts from a status. The function names all fields. A new field must therefore be handled here
/// before the code compiles.
fn status(status: &mut Status) {
    let Status {
        address,
        process_id,
        master,
        furthest_replica,
        errors,
        clients,
        name: _,
        version: _,
        mode: _,
        role: _,
        policy: _,
        poll_s: _,
        gauges: _,
        command_stats: _,
        own: _,
        latency_events: _,
        config: _,
        slots: _,
        replicas,
        own_connections: _,
    } = status;
    replicas.clear();
    (*process_id, *address, *master, *furthest_replica) = (None, None, None, None);
    let mut coded = BTreeMap::new();
    for (error, count) in std::mem::take(errors) {
        *coded.entry(code(&error)).or_default() += count;
    }
    *errors = coded;
    *clients = clients.take().map(ConnectedClients::redacted);
}

// All kinds are listed, so a new kind must be handled here before the code compiles.
fn event_kind(mut what: EventKind) -> EventKind {
    use EventKind::*;
    match &mut what {
        Unreachable { cause }
        | InfoRefused { cause }
        | NotPermitted { cause }
        | MarkerRefused { cause }
        | LoadStopped { cause }
        | PingLost { cause }
        | PingError { message: cause }
        | AgentRefused { cause, .. }
        | BusLost { cause }
        | RecallUnmeasured { cause }
        | ExperimentStopped { cause } => *cause = code(cause),
        SlowCommand { command, client, arguments, .. } | LargeCommand { command, client, arguments, .. } => {
            let name = command.split(' ').next().unwrap_or_default().to_owned();
            (*command, *client, *arguments) = (name, None, Vec::new());
        }
        RoleChanged { master, .. } => *master = None,
        ConnectionsLost { cause, server, .. } => {
            *cause = code(cause);
            server.iter_mut().for_each(|text| REDACTED.clone_into(text));
        }
        ConnectionsBack { server, heir, .. } => {
            server.iter_mut().chain(heir).for_each(|text| REDACTED.clone_into(text));
        }
        NodeJoined { address }
        | NodeLeft { address }
        | NodeBack { address }
        | AgentJoined { host: address, .. }
        | AgentLost { host: address, .. }
        | AgentBack { host: address, .. }
        | AgentPaused { host: address, .. } => REDACTED.clone_into(address),
        LagUnmeasured { replica: from, cause: to } | Failover { from, to, .. } => {
            [from, to].into_iter().for_each(|text| REDACTED.clone_into(text));
        }
        LagMeasured { replica, .. } => REDACTED.clone_into(replica),
        Prefilled { prefilled } => prefilled.unseen = prefilled.unseen.as_deref().map(code),
        FirstError { error, message } => message.clone_from(error),
        // The reason quotes the line.
        LineSkipped { why, .. } => REDACTED.clone_into(why),
        // These kinds contain only numbers, texts of redyno, and words from a fixed set.
        redyno_engine::any_of!(EventKind Reachable MoreSlowCommands SlowBefore MoreLargeCommands ExpiryBegan ExpiryEnded
            RecallMeasured LoadingBegan LoadingEnded ConfigChanged SlowEvent Forked SnapshotBegan
            SnapshotEnded RewriteBegan RewriteEnded EvictionBegan EvictionEnded RejectionBegan
            RejectionEnded BlockingBegan BlockingEnded FailoverTurned LinkTurned ReplicasChanged Restarted
            ReportsLost ResultsLost OrdersLate BusBack MarkerRenewed MoreConnectionsLost Paused WorkerDied PingBack
            Stalled Shifted Tried Found Stepped BestStep NothingFound Compared RecordingFailed ExportFailed OutputLost RecordsLost
            MoreLinesSkipped NotRecorded RecordingCut) => {}
    }
    what
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;
    use crate::{
        events::PrefillResult as Made,
        host::Process,
        knobs::Knobs,
        probe::{Ping, Wake},
        server::{ClientGroup, ClientRow},
        session::{
            Client, Interval, Mark, Moment, OperationInterval, Segment, ServerIdentity, SessionEnd,
            SessionStart, Span, Summary, line,
        },
        workload::{Operation, Steps},
    };

    const PRIVATE: &str = "user bob 10.0.0.9:1 may not read key:7";

    /// Returns all kinds of events with texts, with a private text in every field that may contain one.
    fn events() -> Vec<EventKind> {
        let text = || PRIVATE.to_owned();
        let causes = [
            "unreachable",
            "info_refused",
            "not_permitted",
            "marker_refused",
            "load_stopped",
            "ping_lost",
            "experiment_stopped",
        ];
        let of_cause = |event: &&str| serde_json::json!({ "event": event, "cause": PRIVATE });
        let mut all: Vec<EventKind> =
            causes.iter().map(|event| serde_json::from_value(of_cause(event)).unwrap()).collect();
        all.extend([
            EventKind::SlowCommand {
                us: 1,
                command: format!("GET {PRIVATE}"),
                client: Some(text()),
                arguments: vec![text()],
            },
            EventKind::LargeCommand {
                bytes: 1,
                part: "reply".to_owned(),
                command: format!("GET {PRIVATE}"),
                client: Some(text()),
                arguments: vec![text()],
            },
            EventKind::ConfigChanged { name: "save".to_owned(), from: String::new(), to: "60 1".to_owned() },
            EventKind::RoleChanged {
                from: "master".to_owned(),
                to: "slave".to_owned(),
                master: Some(text()),
            },
            EventKind::ConnectionsLost {
                lost: 1,
                clients: 1,
                cause: text(),
                unreported: 0,
                server: Some(text()),
                of: Some(1),
            },
            EventKind::ConnectionsBack {
                connections: 1,
                after_s: 1.0,
                server: Some(text()),
                heir: Some(text()),
            },
            EventKind::Prefilled { prefilled: Made { unseen: Some(text()), ..Made::default() } },
            EventKind::FirstError { error: "ERR".to_owned(), message: text() },
            EventKind::PingError { message: text() },
            EventKind::LineSkipped { line: 7, why: text() },
        ]);
        all
    }

    fn records() -> Vec<Record> {
        let text = || Some(PRIVATE.to_owned());
        let process = || Process { pid: 7, name: PRIVATE.to_owned(), state: Some('R'), ..Process::default() };
        let missing = [("server", PRIVATE), ("swap", "none")].map(|(k, v)| (k.to_owned(), v.to_owned()));
        let sample = HostSample {
            busy: vec![process()],
            server: Some(process()),
            clock_source: "tsc".to_owned(),
            missing: Arc::new(missing.into()),
            ..HostSample::default()
        };
        let row = ClientRow { id: 7, address: text(), name: text(), ..ClientRow::default() };
        let group = ClientGroup { host: text(), name: text(), ..ClientGroup::default() };
        let clients =
            ConnectedClients { rows: vec![row], groups: vec![group], ..ConnectedClients::default() };
        let errors = [(PRIVATE.to_owned(), 1)].into();
        let status = Status {
            master: text(),
            furthest_replica: text(),
            errors,
            clients: Some(clients),
            ..Status::default()
        };
        let first_errors = [("ERR".to_owned(), PRIVATE.to_owned())].into();
        let summary = Summary { first_errors, ..Summary::default() };
        let end = SessionEnd { t_s: 1.0, summary, ..SessionEnd::default() };
        let commands = [("GET".to_owned(), OperationInterval::default())].into();
        let interval = Interval { commands, client: Some(Client::default()), ..Interval::default() };
        let mut all = vec![
            Record::Session(SessionStart::now(ServerIdentity::default())),
            Record::Segment(Segment::new(0.0, 1, Knobs::default())),
            Record::Interval(Box::new(interval)),
            Record::Ping(Box::new(Span::new(1.0, 1.0, Ping::default()))),
            Record::Wake(Span::new(1.0, 1.0, Wake::default())),
            Record::Intrinsic(Span::new(1.0, 1.0, crate::probe::Intrinsic::default())),
            Record::Server(Box::new(Moment::new(1.0, status))),
            Record::Host(Box::new(Moment::new(1.0, sample))),
            Record::Mark(Mark { t_s: 1.0, text: "mine".to_owned() }),
            Record::End(Box::new(end)),
        ];
        all.extend(events().into_iter().map(|what| Record::Event(Event::new(1.0, what))));
        all.extend(all.clone().into_iter().map(|record| record.at_node(1)));
        all
    }

    #[test]
    fn nothing_private_is_in_any_record() {
        for record in records() {
            let text = line(&record.clone().redacted()).unwrap();
            assert!(!text.contains("bob") && !text.contains("10.0.0.9") && !text.contains("key:7"), "{text}");
            assert_eq!(record.clone().redacted().redacted(), record.redacted());
        }
    }

    #[test]
    fn the_queries_of_all_steps_are_removed() {
        let steps = |step: &str| Steps { steps: vec![step.to_owned()] };
        let workload = Workload {
            operations: vec![Operation::command("GET /a?token=7", 1)],
            setup: steps("PUT /b?token=7 {}"),
            prefill: steps("PUT /c/{key}?token=7 {value}"),
            ..Workload::default()
        };
        let knobs = Knobs { workload: Arc::new(workload), ..Knobs::default() };
        let text = line(&Record::Segment(Segment::new(0.0, 1, knobs)).without_queries()).unwrap();
        assert!(text.contains("/a") && text.contains("/b {}") && text.contains("/c/{key} {value}"), "{text}");
        assert!(!text.contains("token"), "{text}");
    }

    #[test]
    fn the_kind_of_an_error_is_kept() {
        assert_eq!(code("WRONGTYPE Operation against key:7"), "WRONGTYPE");
        assert_eq!(code("no such key"), REDACTED);
        let arguments = vec!["key:*".to_owned()];
        let slow =
            EventKind::SlowCommand { us: 7, command: "KEYS key:*".to_owned(), client: None, arguments };
        assert_eq!(
            event_kind(slow),
            EventKind::SlowCommand { us: 7, command: "KEYS".to_owned(), client: None, arguments: Vec::new() }
        );
    }

    /// Adds the names of all fields that contain text to `found`, except names of figures.
    fn texts(value: &Value, name: &str, found: &mut BTreeSet<String>) {
        match value {
            Value::String(_) => drop(found.insert(name.to_owned())),
            Value::Array(values) => values.iter().for_each(|value| texts(value, name, found)),
            Value::Object(fields) => fields.iter().for_each(|(name, value)| texts(value, name, found)),
            _ => {}
        }
    }

    #[test]
    fn every_text_field_is_either_removed_or_allowed() {
        let own = [
            // Texts of redyno and of the user.
            "kind",
            "event",
            "tool",
            "started",
            "address",
            "system",
            "text",
            "arrivals",
            "backlog",
            "about",
            "distribution",
            "key",
            "steps",
            "name",
            "detail",
            "hdr",
            "flags",
            "last",
            "library",
            "part",
            "parameter",
            // From a fixed set.
            "server",
            "version",
            "mode",
            "role",
            "clock_source",
            "state",
            "swap",
            "from",
            "to",
            "error",
        ];
        let left_out = [
            "cause",
            "command",
            "client",
            "master",
            "replication_master",
            "replication_furthest",
            "message",
            "unseen",
            "why",
            "ERR",
            "host",
            "heir",
            "arguments",
        ];
        let mut found = BTreeSet::new();
        for record in records() {
            texts(&serde_json::to_value(record).unwrap(), "", &mut found);
        }
        assert!(left_out.iter().all(|name| found.contains(*name)), "{found:?}");
        let new: Vec<_> = found
            .iter()
            .filter(|name| !own.contains(&name.as_str()) && !left_out.contains(&name.as_str()))
            .collect();
        assert!(new.is_empty(), "may these leave? {new:?}");
    }
}
