//! The command table: every command's name, how many words it takes, what kind it is, and what runs it.

use super::{
    Call, Outcome, collections, config, connection, hashes, info, keys, lists, logs, sets, sorted_sets,
    streams, strings, transactions,
};
use crate::demo::failure::Failure;
use crate::demo::request::Arguments;
use crate::demo::store::{End, Hash, List, Map, Set, SortedSet, Stream};

/// A load sends it; faults without a command's name strike these.
pub const LOAD: u8 = 1;
/// It takes constant or logarithmic time.
pub const FAST: u8 = 2;
/// It may need more memory, so it fails when there is none.
pub const GROWS: u8 = 4;
/// It may run before AUTH.
pub const OPEN: u8 = 8;
/// It is not queued in a transaction.
pub const AT_ONCE: u8 = 16;

const READ: u8 = LOAD | FAST;
const WRITE: u8 = READ | GROWS;
const SET: u8 = LOAD | GROWS;
/// No upper limit to the number of words.
const ANY: usize = usize::MAX;
/// The longest name, both words of a subcommand's and the bar between them.
const LONGEST_NAME: usize = 24;

/// One command. A subcommand is `group|name`.
struct Command {
    name: &'static str,
    /// How many words it takes, its name (and its group's) included.
    words: (usize, usize),
    flags: u8,
    run: fn(&mut Call<'_>) -> Outcome,
}

const fn row(
    name: &'static str,
    words: (usize, usize),
    flags: u8,
    run: fn(&mut Call<'_>) -> Outcome,
) -> Command {
    Command { name, words, flags, run }
}

/// All commands. The order gives them their ids.
static COMMANDS: &[Command] = &[
    row("get", (2, 2), READ, strings::get),
    row("set", (3, ANY), SET, strings::set),
    row("setex", (4, 4), SET, strings::setex),
    row("setnx", (3, 3), WRITE, strings::setnx),
    row("mset", (3, ANY), SET, strings::mset),
    row("mget", (2, ANY), READ, strings::mget),
    row("strlen", (2, 2), READ, collections::len::<Vec<u8>>),
    row("append", (3, 3), WRITE, strings::append),
    row("incr", (2, 2), WRITE, |call| strings::add(call, Some(1))),
    row("decr", (2, 2), WRITE, |call| strings::add(call, Some(-1))),
    row("incrby", (3, 3), WRITE, |call| strings::add(call, Some(call.integer(2)?))),
    row("decrby", (3, 3), WRITE, |call| strings::add(call, call.integer(2)?.checked_neg())),
    row("del", (2, ANY), LOAD, keys::remove),
    row("unlink", (2, ANY), READ, keys::remove),
    row("exists", (2, ANY), READ, keys::exists),
    row("expire", (3, 3), READ, |call| keys::expire(call, "expire", 1000)),
    row("pexpire", (3, 3), READ, |call| keys::expire(call, "pexpire", 1)),
    row("ttl", (2, 2), READ, |call| keys::ttl(call, 1000)),
    row("pttl", (2, 2), READ, |call| keys::ttl(call, 1)),
    row("persist", (2, 2), READ, keys::persist),
    row("scan", (2, ANY), 0, keys::scan),
    row("dbsize", (1, 1), FAST, keys::dbsize),
    row("flushdb", (1, 2), 0, keys::flushdb),
    row("flushall", (1, 2), 0, keys::flushall),
    row("lpush", (3, ANY), WRITE, |call| lists::push(call, End::Head)),
    row("rpush", (3, ANY), WRITE, |call| lists::push(call, End::Tail)),
    row("lpop", (2, 3), READ, |call| lists::pop(call, End::Head)),
    row("rpop", (2, 3), READ, |call| lists::pop(call, End::Tail)),
    row("llen", (2, 2), READ, collections::len::<List>),
    row("lrange", (4, 4), LOAD, lists::range),
    row("hset", (4, ANY), WRITE, hashes::set),
    row("hget", (3, 3), READ, hashes::get),
    row("hmget", (3, ANY), READ, hashes::mget),
    row("hdel", (3, ANY), READ, |call| collections::remove(call, Hash::remove)),
    row("hlen", (2, 2), READ, collections::len::<Hash>),
    row("hgetall", (2, 2), LOAD, hashes::getall),
    row("sadd", (3, ANY), WRITE, sets::add),
    row("srem", (3, ANY), READ, |call| collections::remove(call, Set::remove)),
    row("spop", (2, 3), READ, sets::pop),
    row("scard", (2, 2), READ, collections::len::<Set>),
    row("sismember", (3, 3), READ, sets::is_member),
    row("smembers", (2, 2), LOAD, sets::members),
    row("zadd", (4, ANY), WRITE, sorted_sets::add),
    row("zincrby", (4, 4), WRITE, sorted_sets::increase),
    row("zpopmin", (2, 3), READ, sorted_sets::pop_min),
    row("zcard", (2, 2), READ, collections::len::<SortedSet>),
    row("zscore", (3, 3), READ, sorted_sets::score),
    row("zrange", (4, ANY), LOAD, sorted_sets::range),
    row("xadd", (5, ANY), WRITE, streams::add),
    row("xlen", (2, 2), READ, collections::len::<Stream>),
    row("multi", (1, 1), READ | AT_ONCE, transactions::multi),
    row("exec", (1, 1), LOAD | AT_ONCE, transactions::exec),
    row("discard", (1, 1), READ | AT_ONCE, transactions::discard),
    row("ping", (1, 2), READ, connection::ping),
    row("echo", (2, 2), READ, connection::echo),
    row("select", (2, 2), FAST, connection::select),
    row("auth", (2, 3), FAST | OPEN, connection::auth),
    row("hello", (1, ANY), FAST | OPEN, connection::hello),
    row("quit", (1, ANY), FAST | OPEN | AT_ONCE, connection::quit),
    row("client|id", (2, 2), 0, connection::client_id),
    row("client|list", (2, 2), 0, connection::client_list),
    row("client|setname", (3, 3), 0, connection::client_setname),
    row("client|setinfo", (4, 4), 0, connection::client_setinfo),
    row("config|get", (3, ANY), 0, config::get),
    row("config|set", (4, ANY), 0, config::set),
    row("config|resetstat", (2, 2), 0, config::reset_statistics),
    row("info", (1, ANY), 0, info::info),
    row("debug|sleep", (3, 3), 0, logs::sleep),
    row("slowlog|get", (2, 3), 0, logs::slowlog_get),
    row("slowlog|len", (2, 2), 0, logs::slowlog_len),
    row("slowlog|reset", (2, 2), 0, logs::slowlog_reset),
    row("latency|latest", (2, 2), 0, logs::latency_latest),
    row("latency|reset", (2, ANY), 0, logs::latency_reset),
    row("latency|histogram", (2, ANY), 0, logs::latency_histogram),
];

/// The place of a command in the table.
pub type CommandId = usize;

/// All commands, to be found by name.
pub struct Table {
    /// `None` is a group, which has subcommands only.
    by_name: Map<&'static [u8], Option<CommandId>>,
}

impl Table {
    /// The table of the built-in server.
    pub fn new() -> Self {
        let mut by_name = Map::default();
        for (id, command) in COMMANDS.iter().enumerate() {
            by_name.insert(command.name.as_bytes(), Some(id));
            if let Some((group, _)) = command.name.split_once('|') {
                by_name.insert(group.as_bytes(), None);
            }
        }
        Self { by_name }
    }

    /// The command that these arguments ask for.
    ///
    /// # Errors
    /// When there is none, in the words of Redis.
    pub fn find(&self, arguments: Arguments<'_>) -> Result<CommandId, Failure> {
        let name = arguments.get(0).unwrap_or_default();
        let Some((group, found)) = self.named(&[name]) else { return Err(unknown(arguments)) };
        match (found, arguments.get(1)) {
            (Some(id), _) => Ok(id),
            (None, None) => Err(Failure::Arity(group)),
            (None, Some(sub)) => {
                let found = self.named(&[name, b"|", sub]).and_then(|(_, id)| id);
                found.ok_or_else(|| {
                    let (sub, group) = (repeated(sub), group.to_ascii_uppercase());
                    Failure::other(format!("ERR unknown subcommand '{sub}'. Try {group} HELP."))
                })
            }
        }
    }

    /// The name that these parts are together, as it stands in the table, in any case.
    fn named(&self, parts: &[&[u8]]) -> Option<(&'static str, Option<CommandId>)> {
        let (mut lower, mut length) = ([0; LONGEST_NAME], 0);
        for part in parts {
            lower.get_mut(length..length + part.len())?.copy_from_slice(part);
            length += part.len();
        }
        lower[..length].make_ascii_lowercase();
        let (name, id) = self.by_name.get_key_value(&lower[..length])?;
        Some((std::str::from_utf8(name).expect("the names are text"), *id))
    }

    /// The commands of a group, or the one of this name.
    pub fn all_named(&self, name: &[u8]) -> impl Iterator<Item = CommandId> + use<> {
        let name = self.named(&[name]).map(|(name, _)| name);
        (0..COMMANDS.len()).filter(move |id| {
            let full = COMMANDS[*id].name;
            Some(full) == name || full.split_once('|').map(|(group, _)| group) == name && name.is_some()
        })
    }

    /// A command's name, `config|get` for a subcommand.
    pub fn name(&self, id: CommandId) -> &'static str {
        COMMANDS[id].name
    }

    /// Whether a command has all of these flags.
    pub fn has(&self, id: CommandId, flags: u8) -> bool {
        COMMANDS[id].flags & flags == flags
    }

    /// Whether a command takes so many words.
    pub fn takes(&self, id: CommandId, words: usize) -> bool {
        let (least, most) = COMMANDS[id].words;
        (least..=most).contains(&words)
    }

    /// What runs a command.
    pub fn runs(&self, id: CommandId) -> fn(&mut Call<'_>) -> Outcome {
        COMMANDS[id].run
    }

    /// How many commands there are.
    pub fn len(&self) -> usize {
        COMMANDS.len()
    }
}

/// Whether the built-in server has a command or group of this name (in lower case).
pub fn is_known(name: &str) -> bool {
    !name.contains('|') && COMMANDS.iter().any(|command| command.name.split('|').next() == Some(name))
}

/// Bytes of names and arguments that an error repeats.
const REPEATED: usize = 128;

fn repeated(argument: &[u8]) -> String {
    String::from_utf8_lossy(&argument[..argument.len().min(REPEATED)]).into_owned()
}

/// The error for a command that there is not, with the start of what was asked.
fn unknown(arguments: Arguments<'_>) -> Failure {
    let mut rest = String::new();
    for argument in arguments.from(1) {
        if rest.len() >= REPEATED {
            break;
        }
        rest.push_str(&format!("'{}' ", repeated(argument)));
    }
    let name = repeated(arguments.get(0).unwrap_or_default());
    Failure::other(format!("ERR unknown command '{name}', with args beginning with: {rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::commands::testing::TestServer;

    #[test]
    fn names_are_unique_lower_case_and_short_enough_to_be_found() {
        let table = Table::new();
        for (id, command) in COMMANDS.iter().enumerate() {
            assert_eq!(
                table.named(&[command.name.as_bytes()]),
                Some((command.name, Some(id))),
                "{}",
                command.name
            );
            assert_eq!(command.name, command.name.to_ascii_lowercase());
        }
        assert!(is_known("get") && is_known("config") && !is_known("config|get") && !is_known("GET"));
        assert_eq!(table.all_named(b"CONFIG").count(), 3);
        assert_eq!((table.all_named(b"GET").count(), table.all_named(b"nosuch").count()), (1, 0));
    }

    #[test]
    fn what_is_unknown_is_refused_in_the_words_of_redis() {
        let mut server = TestServer::new();
        for (request, error) in [
            ("foo bar baz", "-ERR unknown command 'foo', with args beginning with: 'bar' 'baz' \n"),
            ("foo", "-ERR unknown command 'foo', with args beginning with: \n"),
            ("get", "-ERR wrong number of arguments for 'get' command\n"),
            ("CLIENT", "-ERR wrong number of arguments for 'client' command\n"),
            ("CLIENT foo", "-ERR unknown subcommand 'foo'. Try CLIENT HELP.\n"),
            ("CLIENT SETNAME", "-ERR wrong number of arguments for 'client|setname' command\n"),
        ] {
            assert_eq!(server.ask(request), error, "{request}");
        }
    }
}
