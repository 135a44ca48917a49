//! The command table.

use std::borrow::Cow;

use hashbrown::HashMap;

use super::{
    Arity, Call, Outcome, client, config, connection, expiry, hashes, info, keys, latency, lists, scan,
    server, sets, slowlog, sorted_sets, streams, strings, transactions,
};
use crate::demo::failure::Failure;
use crate::demo::request::Arguments;

/// The longest name of a command or subcommand.
const LONGEST_NAME: usize = 16;

/// All families. The order gives the commands their ids.
const FAMILIES: &[&[Command]] = &[
    strings::COMMANDS,
    keys::COMMANDS,
    expiry::COMMANDS,
    scan::COMMANDS,
    lists::COMMANDS,
    hashes::COMMANDS,
    sets::COMMANDS,
    sorted_sets::COMMANDS,
    streams::COMMANDS,
    transactions::COMMANDS,
    connection::COMMANDS,
    client::COMMANDS,
    config::COMMANDS,
    server::COMMANDS,
    info::COMMANDS,
    latency::COMMANDS,
    slowlog::COMMANDS,
];

/// What kind of command it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flags(u8);

impl Flags {
    /// Reads data.
    pub const READ: Self = Self(1);
    /// Changes data.
    pub const WRITE: Self = Self(2);
    /// May need more memory, so it fails when there is none.
    pub const GROWS: Self = Self(4);
    /// Takes constant or logarithmic time.
    pub const FAST: Self = Self(8);
    /// May run before AUTH.
    pub const OPEN: Self = Self(16);
    /// Looks at or changes the server itself.
    pub const ADMIN: Self = Self(32);
    /// Runs at once inside a transaction too.
    pub const UNQUEUED: Self = Self(64);
    /// None of these.
    pub const NONE: Self = Self(0);

    /// Both.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all of `other` are among these.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The names that COMMAND gives them.
    pub fn names(self) -> Vec<&'static str> {
        let all = [
            (Self::READ, "readonly"),
            (Self::WRITE, "write"),
            (Self::GROWS, "denyoom"),
            (Self::FAST, "fast"),
            (Self::OPEN, "no_auth"),
            (Self::ADMIN, "admin"),
        ];
        all.iter().filter(|(flag, _)| self.has(*flag)).map(|(_, name)| *name).collect()
    }
}

/// What a command does.
#[derive(Clone, Copy)]
pub enum Run {
    /// It runs.
    Function(fn(&mut Call<'_>) -> Outcome),
    /// Its first argument names one of these.
    Subcommands(&'static [Command]),
}

/// One command or subcommand.
#[derive(Clone, Copy)]
pub struct Command {
    /// Its name in lower case.
    pub name: &'static str,
    /// How many arguments it takes.
    pub arity: Arity,
    /// What kind it is.
    pub flags: Flags,
    /// First and last argument that is a key, and the step between keys; 0 0 0 for none. A negative last counts
    /// from the end.
    pub keys: [i8; 3],
    /// What it does.
    pub run: Run,
}

impl Command {
    /// A command without keys. `arity` counts the name; a negative one is a minimum.
    pub const fn new(name: &'static str, arity: i8, flags: Flags, run: fn(&mut Call<'_>) -> Outcome) -> Self {
        Self { name, arity: Arity(arity), flags, keys: [0; 3], run: Run::Function(run) }
    }

    /// A command that is a group of subcommands.
    pub const fn group(name: &'static str, flags: Flags, subcommands: &'static [Self]) -> Self {
        Self { name, arity: Arity(-2), flags, keys: [0; 3], run: Run::Subcommands(subcommands) }
    }

    /// With keys from argument `first` to `last`, `step` apart.
    pub const fn keyed(self, first: i8, last: i8, step: i8) -> Self {
        Self { keys: [first, last, step], ..self }
    }

    /// Whether a load sends such commands: those with keys, PING, ECHO, MULTI and EXEC.
    pub fn is_load(&self) -> bool {
        self.keys[0] > 0 || matches!(self.name, "ping" | "echo" | "multi" | "exec")
    }
}

/// The place of a command in the table; subcommands have places of their own.
pub type CommandId = usize;

/// A row: a command, and the group it belongs to.
struct Row {
    command: &'static Command,
    /// `config|get` for a subcommand.
    full_name: Cow<'static, str>,
    /// Ids of the subcommands, by name.
    subcommands: HashMap<&'static [u8], CommandId>,
}

/// All commands, to be found by name.
pub struct Table {
    rows: Vec<Row>,
    by_name: HashMap<&'static [u8], CommandId>,
}

/// What a request's first words name.
pub enum Found {
    /// A command.
    Command(CommandId),
    /// Nothing that we know; the group is the one whose subcommand was asked for.
    Unknown(Option<CommandId>),
}

impl Table {
    /// The table of the built-in server.
    pub fn new() -> Self {
        let mut table = Self { rows: Vec::new(), by_name: HashMap::new() };
        for command in FAMILIES.iter().copied().flatten() {
            let id = table.add(command, Cow::Borrowed(command.name));
            table.by_name.insert(command.name.as_bytes(), id);
            if let Run::Subcommands(subcommands) = command.run {
                for subcommand in subcommands {
                    let full_name = format!("{}|{}", command.name, subcommand.name);
                    let sub_id = table.add(subcommand, Cow::Owned(full_name));
                    table.rows[id].subcommands.insert(subcommand.name.as_bytes(), sub_id);
                }
            }
        }
        table
    }

    fn add(&mut self, command: &'static Command, full_name: Cow<'static, str>) -> CommandId {
        self.rows.push(Row { command, full_name, subcommands: HashMap::new() });
        self.rows.len() - 1
    }

    /// What these arguments ask for. A group without a subcommand is the group itself, which fails by its arity.
    pub fn find(&self, arguments: Arguments<'_>) -> Found {
        let Some(id) = arguments.get(0).and_then(|name| self.named(name)) else {
            return Found::Unknown(None);
        };
        let subcommands = &self.rows[id].subcommands;
        match arguments.get(1) {
            Some(name) if !subcommands.is_empty() => match find_in(subcommands, name) {
                Some(sub_id) => Found::Command(sub_id),
                None => Found::Unknown(Some(id)),
            },
            _ => Found::Command(id),
        }
    }

    /// A command or group by its name alone.
    pub fn named(&self, name: &[u8]) -> Option<CommandId> {
        find_in(&self.by_name, name)
    }

    /// The command at `id`.
    pub fn command(&self, id: CommandId) -> &'static Command {
        self.rows[id].command
    }

    /// Its name, `config|get` for a subcommand.
    pub fn full_name(&self, id: CommandId) -> &str {
        &self.rows[id].full_name
    }

    /// The error for a wrong number of arguments.
    pub fn arity_failure(&self, id: CommandId) -> Failure {
        Failure::Arity(self.rows[id].full_name.clone())
    }

    /// How many rows there are, subcommands included.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// The commands and groups, without subcommands.
    pub fn commands() -> impl Iterator<Item = &'static Command> {
        FAMILIES.iter().copied().flatten()
    }
}

fn find_in(names: &HashMap<&'static [u8], CommandId>, name: &[u8]) -> Option<CommandId> {
    let mut lower = [0; LONGEST_NAME];
    let lower = lower.get_mut(..name.len())?;
    lower.copy_from_slice(name);
    lower.make_ascii_lowercase();
    names.get(&*lower).copied()
}

/// Whether the built-in server has a command of this name (in lower case).
pub fn is_known(name: &str) -> bool {
    Table::commands().any(|command| command.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_lower_case_and_short_enough_to_be_found() {
        let table = Table::new();
        for id in 0..table.len() {
            let command = table.command(id);
            assert!(command.name.len() <= LONGEST_NAME, "{}", command.name);
            assert_eq!(command.name, command.name.to_ascii_lowercase());
            assert!(command.arity.0 != 0);
            let same = (0..table.len()).filter(|other| table.full_name(*other) == table.full_name(id));
            assert_eq!(same.count(), 1, "{}", table.full_name(id));
        }
        assert!(is_known("get") && is_known("config") && !is_known("config|get") && !is_known("GET"));
    }

    #[test]
    fn a_load_is_what_has_keys_and_what_goes_with_it() {
        let table = Table::new();
        let is_load = |name: &str| table.named(name.as_bytes()).map(|id| table.command(id).is_load());
        for name in ["GET", "set", "mset", "lpush", "xadd", "ping", "echo", "exec"] {
            assert_eq!(is_load(name), Some(true), "{name}");
        }
        for name in ["info", "hello", "scan", "config", "dbsize"] {
            assert_eq!(is_load(name), Some(false), "{name}");
        }
        assert_eq!(is_load("nosuch"), None);
    }
}
