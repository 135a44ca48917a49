//! What is known of commands by their names.

/// Which replies of a command say that there was nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Misses {
    /// It neither hits nor misses.
    #[default]
    Never,
    /// A null; every other good reply is a hit.
    Null,
}

/// The commands that change nothing, and what of theirs is a miss. What is not here is taken to write.
const READING: [(&str, Misses); 7] = [
    ("ECHO", Misses::Never),
    ("EXISTS", Misses::Never),
    ("GET", Misses::Null),
    ("HGET", Misses::Null),
    ("LRANGE", Misses::Never),
    ("MGET", Misses::Never),
    ("PING", Misses::Never),
];

/// The commands whose second word says what is asked, and which the server counts by both.
const GROUPS: [&str; 15] = [
    "ACL", "CLIENT", "CLUSTER", "COMMAND", "CONFIG", "FUNCTION", "LATENCY", "MEMORY", "MODULE", "OBJECT",
    "PUBSUB", "SCRIPT", "SLOWLOG", "XGROUP", "XINFO",
];

/// The commands that change the connection that they are sent on: which database it means, who it is, what it is called, and
/// how many replies follow a request. Keys would be written where nobody removes them, and replies be taken for others.
const OF_CONNECTIONS: [&str; 16] = [
    "AUTH",
    "CLIENT|REPLY",
    "CLIENT|SETNAME",
    "HELLO",
    "MONITOR",
    "PSUBSCRIBE",
    "PSYNC",
    "PUNSUBSCRIBE",
    "QUIT",
    "RESET",
    "SELECT",
    "SSUBSCRIBE",
    "SUBSCRIBE",
    "SUNSUBSCRIBE",
    "SYNC",
    "UNSUBSCRIBE",
];

/// Whether `command`, as the server counts it, changes the connection that it is sent on.
pub(super) fn changes_connection(command: &str) -> bool {
    OF_CONNECTIONS.contains(&command)
}

/// Whether `command` changes what is asked beside it on the same connection, where other questions come in between.
pub(super) fn begins_transaction(command: &str) -> bool {
    ["MULTI", "WATCH"].contains(&command)
}

/// Whether the server counts `command`, in upper case, by its second word too.
pub(super) fn has_subcommands(command: &str) -> bool {
    GROUPS.contains(&command)
}

fn found(command: &str) -> Option<Misses> {
    READING.iter().find(|(name, _)| name.eq_ignore_ascii_case(command)).map(|(_, misses)| *misses)
}

/// Whether `command` is known to change nothing.
pub(super) fn only_reads(command: &str) -> bool {
    found(command).is_some()
}

/// Which replies of `command` are misses.
pub(super) fn misses(command: &str) -> Misses {
    found(command).unwrap_or_default()
}
