//! From a request to its reply: find the command, see whether it may run, run it, count it.
//!
//! It knows no sockets. The time that a command took is from the end of the one before it (or the wake-up of the
//! event loop) to its own end, so one reading of the clock a command is enough.

use std::sync::Arc;
use std::time::Duration;

use super::commands::{Asked, Command, CommandId, Flags, Found, Table, fail, run};
use super::failure::Failure;
use super::faults::{Damage, Occasion, Script, Treatment};
use super::orders::Orders;
use super::reply::{Protocol, Reply};
use super::request::{Arguments, ProtocolError};
use super::state::{Config, Session, State};

/// One request.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The slot of the client that asks.
    pub slot: usize,
    /// Its position, from 1, among the requests that arrived in the same read.
    pub position: u64,
    /// What is asked.
    pub arguments: Arguments<'a>,
}

/// What is still to happen to a reply that has been written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Aftermath {
    /// How long it is held back.
    pub delay: Duration,
    /// What happens to its bytes.
    pub damage: Option<Damage>,
}

/// The state, the commands on it, and the script of faults.
pub struct Engine {
    /// Everything that commands see.
    pub state: State,
    table: Table,
    script: Script,
}

impl Engine {
    /// A server without data or clients. `seed` makes its random draws reproducible.
    pub fn new(config: Config, script: Script, orders: Arc<Orders>, seed: u64) -> Self {
        let table = Table::new();
        let mut state = State::new(config, table.len(), orders, seed);
        state.read_clock();
        Self { state, table, script }
    }

    /// When the script's next stall is due.
    pub fn next_stall_ns(&self) -> Option<u64> {
        self.script.next_stall_ns()
    }

    /// Takes a stall that is due; how long it lasts.
    pub fn take_stall(&mut self) -> Option<Duration> {
        self.script.take_stall(self.state.now_ns)
    }

    /// Puts other faults in force; the new script's time begins now.
    pub fn set_script(&mut self, script: Script) {
        self.script = script;
    }

    /// Notes a new client at `slot`, which must be free.
    pub fn connect(&mut self, slot: usize, address: String, local_address: String) {
        self.state.stats.net.connections += 1;
        self.state.last_client_id += 1;
        let session = Session {
            id: self.state.last_client_id,
            address,
            local_address,
            authenticated: self.state.config.value("requirepass").is_empty(),
            connected_ns: self.state.now_ns,
            active_ns: self.state.now_ns,
            ..Session::default()
        };
        if self.state.sessions.len() <= slot {
            self.state.sessions.resize_with(slot + 1, || None);
        }
        self.state.sessions[slot] = Some(session);
    }

    /// Forgets the client at `slot`.
    pub fn disconnect(&mut self, slot: usize) {
        self.state.sessions[slot] = None;
    }

    /// Answers a request by appending its reply to `out`.
    pub fn answer(&mut self, request: Request<'_>, out: &mut Vec<u8>) -> Aftermath {
        let (authenticated, protocol) = match &self.state.sessions[request.slot] {
            Some(session) => (session.authenticated, session.protocol),
            None => return Aftermath::default(),
        };
        let id = match self.table.find(request.arguments) {
            Found::Command(id) => id,
            Found::Unknown(group) => {
                let failure = unknown(request.arguments, group.map(|id| self.table.command(id)));
                self.refuse(request.slot, None, &failure, out);
                return Aftermath::default();
            }
        };
        let command = self.table.command(id);
        let treatment = self.treatment(request, id);
        let aftermath = Aftermath { delay: treatment.delay, damage: treatment.damage };
        let objection = if !command.arity.fits(request.arguments.len()) {
            Some(self.table.arity_failure(id))
        } else if !authenticated && !command.flags.has(Flags::OPEN) {
            Some(Failure::other("NOAUTH Authentication required."))
        } else if command.flags.has(Flags::GROWS) && !self.state.make_room() {
            Some(Failure::other("OOM command not allowed when used memory > 'maxmemory'."))
        } else {
            treatment.error.map(Failure::other)
        };
        match objection {
            Some(failure) => self.refuse(request.slot, Some(id), &failure, out),
            None => {
                let Engine { state, table, .. } = self;
                let session = state.sessions[request.slot].as_mut();
                let transaction = session.and_then(|session| session.transaction.as_mut());
                match transaction.filter(|_| !command.flags.has(Flags::UNQUEUED)) {
                    Some(transaction) => {
                        transaction.queue(id, request.arguments, treatment.slow);
                        Reply::new(out, protocol).status("QUEUED");
                    }
                    None => {
                        state.sleep(treatment.slow);
                        run(
                            table,
                            state,
                            Asked { slot: request.slot, id, arguments: request.arguments },
                            Reply::new(out, protocol),
                        );
                    }
                }
            }
        }
        aftermath
    }

    /// An error reply to bytes that are no request.
    pub fn refuse_bytes(&mut self, slot: usize, error: &ProtocolError, out: &mut Vec<u8>) {
        self.refuse(slot, None, &Failure::other(error.to_string()), out);
    }

    fn treatment(&mut self, request: Request<'_>, id: CommandId) -> Treatment {
        if self.script.is_quiet() {
            return Treatment::default();
        }
        // A subcommand goes by the name of its group.
        let name = self.table.full_name(id);
        let occasion = Occasion {
            command: name.split('|').next().unwrap_or(name),
            is_load: self.table.command(id).is_load(),
            position: request.position,
            now_ns: self.state.now_ns,
        };
        self.script.judge(occasion)
    }

    /// A transaction that a request was refused in cannot run any more.
    fn refuse(&mut self, slot: usize, id: Option<CommandId>, failure: &Failure, out: &mut Vec<u8>) {
        if let Some(id) = id {
            self.state.stats.commands[id].rejected += 1;
        }
        let session = self.state.sessions[slot].as_mut();
        if let Some(transaction) = session.and_then(|session| session.transaction.as_mut()) {
            transaction.broken = true;
        }
        fail(&mut self.state, failure, &mut Reply::new(out, Protocol::Resp2));
    }
}

/// The error for a command or subcommand that there is not, with the start of what was asked, as Redis words it.
fn unknown(arguments: Arguments<'_>, group: Option<&Command>) -> Failure {
    /// Bytes of names and arguments that are repeated.
    const REPEATED: usize = 128;
    let text = |argument: Option<&[u8]>| {
        let argument = argument.unwrap_or_default();
        String::from_utf8_lossy(&argument[..argument.len().min(REPEATED)]).into_owned()
    };
    if let Some(group) = group {
        let group = group.name.to_ascii_uppercase();
        return Failure::other(format!(
            "ERR unknown subcommand '{}'. Try {group} HELP.",
            text(arguments.get(1))
        ));
    }
    let mut repeated = String::new();
    for argument in arguments.from(1) {
        if repeated.len() >= REPEATED {
            break;
        }
        repeated.push_str(&format!("'{}' ", text(Some(argument))));
    }
    let name = text(arguments.get(0));
    Failure::other(format!("ERR unknown command '{name}', with args beginning with: {repeated}"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::demo::commands::desk::Desk;
    use crate::demo::faults::{Damage, Script};

    fn with_faults(faults: &[&str]) -> Desk {
        let mut desk = Desk::new();
        let faults = faults.iter().map(|fault| fault.parse().unwrap()).collect();
        desk.engine.set_script(Script::new(faults, 0, 1));
        desk
    }

    #[test]
    fn an_injected_error_is_counted_as_a_rejection_and_nothing_runs() {
        let mut desk = with_faults(&["error OOM on SET every 2"]);
        desk.ok("SET a 1");
        assert_eq!(desk.ask("SET a 2"), "-OOM command not allowed when used memory > 'maxmemory'.\n");
        assert_eq!(desk.ask("GET a"), "$1\n1\n");
        let info = desk.ask("INFO commandstats errorstats");
        assert!(
            info.contains("rejected_calls=1,failed_calls=0") && info.contains("errorstat_OOM:count=1"),
            "{info}"
        );
    }

    #[test]
    fn a_slow_command_shows_in_the_slow_log_and_a_delayed_reply_does_not() {
        let mut desk = with_faults(&["slow GET 11ms", "delay SET 1s", "garbage on INCR"]);
        desk.ask("GET a");
        desk.ok("SET a 1");
        assert_eq!(desk.ask("SLOWLOG LEN"), ":1\n");
        assert_eq!(desk.aftermath("SET a 1").delay, Duration::from_secs(1));
        assert_eq!(desk.aftermath("INCR a").damage, Some(Damage::Garbage));
        assert_eq!(desk.aftermath("CONFIG GET hz").damage, None);
    }
}
