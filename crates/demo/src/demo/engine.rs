//! Answers a request to the built-in server: finds the command, checks whether it may run, and runs or queues
//! it.
//!
//! This module uses no sockets. The engine reads the clock once for each command. The run time of a command therefore
//! begins at the end of the previous command, or when the event loop wakes up.

mod in_cluster;

use std::{sync::Arc, time::Duration};

use self::in_cluster::{answer_in_cluster, is_placed};
use super::{
    commands::{
        AT_ONCE, COMMANDS, Call, CommandId, GROWS, LOAD, OPEN, WAITS, find, leave_lost_slots, note_expired,
        waits,
    },
    faults::{FaultKind, FaultOccasion, FaultScript, RequestFaults},
    reply::{ReplyError, ReplyWriter, RespProtocol},
    request::RequestArguments,
    state::{ClientSession, ServerParameters, ServerState, StopSignal},
};
use crate::protocol::key_slot;

/// The number of the simulated client that reads hot keys. This client has no connection.
const HOT_CLIENT: usize = usize::MAX;

/// The server's state and its script of faults.
pub struct Engine {
    /// The state that commands read and change.
    pub state: ServerState,
    script: FaultScript,
}

impl Engine {
    /// Creates a server without data or clients; the same `seed` gives the same random values.
    pub fn new(config: ServerParameters, script: FaultScript, stop: Arc<StopSignal>, seed: u64) -> Self {
        let mut state = ServerState::new(config, COMMANDS.len(), stop, seed);
        state.read_clock();
        Self { state, script }
    }

    /// Returns the time when the script's next stall is due.
    pub fn next_stall_ns(&self) -> Option<u64> {
        self.script.next_due_ns()
    }

    /// Returns the length of a stall that is due now, and schedules the next stall.
    pub fn take_stall(&mut self) -> Option<Duration> {
        let due = self.script.take_due(self.state.now_ns)?;
        if let FaultKind::Stall(length) = due.kind { Some(length) } else { None }
    }

    /// Runs one round of housekeeping, and the requests of simulated clients that read hot keys. There are `hz` rounds
    /// per second.
    pub fn tick(&mut self) {
        self.state.with_data(|state| {
            state.tick();
            note_expired(state);
        });
        leave_lost_slots(&mut self.state);
        for (key, reads) in self.script.hot_reads(self.state.now_ns, self.state.config.number("hz")) {
            if self.state.member.as_ref().is_some_and(|member| member.owns(key_slot(key.as_bytes()))) {
                self.read_often(&key, reads);
            }
        }
    }

    fn read_often(&mut self, key: &str, times: u64) {
        let request = format!("GET {key}");
        let arguments = RequestArguments { bytes: request.as_bytes(), spans: &[0..3, 4..request.len()] };
        let session =
            ClientSession { address: "hot".to_owned(), authenticated: true, ..ClientSession::default() };
        self.state.sessions.insert(HOT_CLIENT, session);
        let mut out = Vec::new();
        for _ in 0..times {
            out.clear();
            self.answer((HOT_CLIENT, 1), arguments, &mut out);
        }
        self.state.sessions.swap_remove(&HOT_CLIENT);
    }

    /// Adds a new client, with a unique number.
    pub fn connect(&mut self, client: usize, address: String) {
        self.state.stats.net.connections += 1;
        let authenticated = self.state.config.value("requirepass").is_empty();
        self.state
            .sessions
            .insert(client, ClientSession { address, authenticated, ..ClientSession::default() });
    }

    /// Executes a client's request, appends its reply to `out`, and returns the faults that apply to the reply.
    /// `position` is the position of the request, from 1, among the requests that arrived in the same read.
    pub fn answer(
        &mut self,
        (client, position): (usize, u64),
        arguments: RequestArguments<'_>,
        out: &mut Vec<u8>,
    ) -> RequestFaults {
        let id = match find(arguments) {
            Ok(id) => id,
            Err(failure) => {
                self.refuse(client, &failure, out);
                return RequestFaults::default();
            }
        };
        if COMMANDS[id].has(WAITS) && COMMANDS[id].takes(arguments.len()) {
            let is_placed = is_placed(&mut self.state, (client, id), arguments);
            let waits_until_ns = if is_placed { waits(&mut self.state, client, arguments) } else { None };
            self.state.sessions[&client].waits_until_ns = waits_until_ns;
            if waits_until_ns.is_some() {
                return RequestFaults { waits_until_ns, ..RequestFaults::default() };
            }
        }
        let mut treatment = self.treatment(id, position);
        let is_open = self.state.sessions[&client].authenticated;
        match self.objection(id, arguments.len(), is_open).or(treatment.error.take().map(ReplyError::other)) {
            Some(failure) => {
                self.state.stats.commands[id].rejected += 1;
                self.refuse(client, &failure, out);
            }
            None if self.state.member.is_some() => {
                answer_in_cluster(&mut self.state, (client, id), arguments, treatment.slow, out);
            }
            None => run_or_queue(&mut self.state, (client, id), arguments, treatment.slow, out),
        }
        treatment
    }

    /// Returns an error if a command may not run because of its number of arguments, a missing AUTH, or the memory
    /// limit.
    fn objection(&self, id: CommandId, words: usize, is_authenticated: bool) -> Option<ReplyError> {
        let command = &COMMANDS[id];
        if !command.takes(words) {
            Some(ReplyError::arity(command.name))
        } else if !is_authenticated && !command.has(OPEN) {
            Some(ReplyError::other("NOAUTH Authentication required."))
        } else if command.has(GROWS) && !self.state.has_room() {
            Some(ReplyError::other("OOM command not allowed when used memory > 'maxmemory'."))
        } else {
            None
        }
    }

    fn treatment(&mut self, id: CommandId, position: u64) -> RequestFaults {
        if self.script.is_quiet() {
            return RequestFaults::default();
        }
        let occasion = FaultOccasion {
            command: COMMANDS[id].group(),
            is_load: COMMANDS[id].has(LOAD),
            position,
            now_ns: self.state.now_ns,
        };
        self.script.faults_of(occasion)
    }

    /// Replies to a request with an error, and runs no command.
    pub fn refuse(&mut self, client: usize, failure: &ReplyError, out: &mut Vec<u8>) {
        refuse(&mut self.state, client, failure, out);
    }
}

/// Runs a command, or queues it if the client is in a transaction. `slow` is the time by which a fault makes the
/// command longer.
pub fn run_or_queue(
    state: &mut ServerState,
    (client, id): (usize, CommandId),
    arguments: RequestArguments<'_>,
    slow: Duration,
    out: &mut Vec<u8>,
) {
    let session = &mut state.sessions[&client];
    let mut reply = ReplyWriter::new(out, session.protocol);
    match &mut session.transaction {
        Some(transaction) if !COMMANDS[id].has(AT_ONCE) => {
            transaction.queue(id, arguments, slow);
            reply.status("QUEUED");
        }
        _ => {
            state.delay_command(slow);
            Call { arguments, client, id, state, reply }.run();
        }
    }
}

/// Replies with an error and runs no command. If the client is in a transaction, EXEC will discard the transaction.
pub fn refuse(state: &mut ServerState, client: usize, failure: &ReplyError, out: &mut Vec<u8>) {
    if let Some(transaction) = &mut state.sessions[&client].transaction {
        transaction.broken = true;
    }
    state.fail(failure, &mut ReplyWriter::new(out, RespProtocol::Resp2));
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::demo::{
        commands::testing::TestServer,
        faults::{Damage, FaultScript},
    };

    fn with_faults(faults: &[&str]) -> TestServer {
        TestServer::with("", FaultScript::new(faults.iter().map(|fault| fault.parse().unwrap()).collect(), 1))
    }

    #[test]
    fn an_injected_error_is_counted_as_a_rejection_and_nothing_runs() {
        let mut server = with_faults(&["error OOM on SET every 2"]);
        server.expect(&[
            ("SET a 1", "+OK"),
            ("SET a 2", "-OOM command not allowed when used memory > 'maxmemory'."),
            ("GET a", "$1\n1"),
        ]);
        let info = server.ask("INFO commandstats errorstats");
        assert!(
            info.contains("rejected_calls=1,failed_calls=0") && info.contains("errorstat_OOM:count=1"),
            "{info}"
        );
    }

    #[test]
    fn a_slow_command_shows_in_the_slow_log_and_a_delayed_reply_does_not() {
        let mut server = with_faults(&["slow GET 20ms", "delay SET 1s", "garbage on INCR"]);
        server.expect(&[("GET a", "$-1"), ("SET a 1", "+OK"), ("SLOWLOG LEN", ":1")]);
        assert_eq!(server.fault("SET a 1").delay, Duration::from_secs(1));
        assert_eq!(server.fault("INCR a").damage, Some(Damage::Garbage));
        assert_eq!(server.fault("CONFIG GET hz").damage, None);
        server.expect(&[("MULTI", "+OK"), ("GET a", "+QUEUED"), ("SLOWLOG LEN", "+QUEUED")]);
        server.expect(&[("EXEC", "*2\n$1\n2\n:2")]);
    }
}
