//! The command table of the built-in server: the name, the number of arguments, the flags and the function of
//! each command.

use std::sync::LazyLock;

use super::{
    Call, CommandResult, cluster, collections, connection, groups, info, keys, logs, pubsub, streams,
    tracking, vectors,
};
use crate::demo::{
    channels::ChannelKind,
    reply::ReplyError,
    request::RequestArguments,
    store::{Hash, List, Map, Set},
};

/// Flag: load generators send this command. A fault that names no command applies to all commands with this
/// flag.
pub const LOAD: u16 = 1;
/// Flag: the command may need more memory, so the server refuses it when the data exceeds `maxmemory`.
pub const GROWS: u16 = 2;
/// Flag: the command may run before AUTH.
pub const OPEN: u16 = 4;
/// Flag: after MULTI the command still runs at once and is not queued.
pub const AT_ONCE: u16 = 8;
/// Flag: the arguments may contain a password, so the slow log leaves the command out.
pub const SECRET: u16 = 16;

/// Flag: the command does not change its keys, so a replica can run it.
pub const READS: u16 = 32;
/// Flag: the first argument is a key.
const KEY: u16 = 64;
/// Flag: all arguments are keys. For a command with [`GROWS`], keys and values alternate.
const KEYS: u16 = 128;
/// Flag: the client may wait for an entry of a stream or an element of a list. With [`KEYS`], the last argument is a
/// timeout and no key.
pub const WAITS: u16 = 256;
/// Flag: the keys follow the word STREAMS, and as many IDs follow the keys.
const STREAMS: u16 = 512;
/// Flag: the first two arguments are keys.
const TWO_KEYS: u16 = 1024;

const READ: u16 = LOAD | KEY | READS;
const WRITE: u16 = LOAD | KEY;
const GROW: u16 = WRITE | GROWS;
/// The number of arguments has no upper limit.
const ANY: usize = usize::MAX;
/// The longest command name in bytes, including the bar and the name of a subcommand.
const LONGEST_NAME: usize = 24;

/// One command, which is a row of the command table. The name of a subcommand has the form `group|name`.
pub struct CommandSpec {
    /// The name of the command in lower case.
    pub name: &'static str,
    /// The smallest and the largest number of words in a request with this command, including the command's name.
    words: (usize, usize),
    flags: u16,
    /// The function that runs the command.
    pub run: fn(&mut Call<'_>) -> CommandResult,
}

impl CommandSpec {
    /// Returns the name of the command without the subcommand: `config` for `config|get`.
    pub fn group(&self) -> &'static str {
        self.name.split('|').next().unwrap_or(self.name)
    }

    /// Returns whether the command has these flags.
    pub fn has(&self, flags: u16) -> bool {
        self.flags & flags == flags
    }

    /// Returns the keys of a request with this command.
    pub fn keys<'a>(
        &self,
        arguments: RequestArguments<'a>,
    ) -> impl Iterator<Item = &'a [u8]> + Clone + use<'a> {
        let is_before = |word: &&[u8]| !word.eq_ignore_ascii_case(b"streams");
        let streams = || arguments.from(1).take_while(is_before).count() + 2;
        let (first, most, step) = match () {
            () if self.has(STREAMS) => (streams(), arguments.len().saturating_sub(streams()) / 2, 1),
            () if self.has(KEYS | WAITS) => (1, arguments.len().saturating_sub(2), 1),
            () if self.has(KEYS) => (1, ANY, if self.has(GROWS) { 2 } else { 1 }),
            () if self.has(TWO_KEYS) => (1, 2, 1),
            // The key of a subcommand follows its name.
            () => (1 + usize::from(self.name.contains('|')), usize::from(self.has(KEY)), 1),
        };
        arguments.from(first).step_by(step).take(most)
    }

    /// Returns whether the command accepts a request of this many words, including the name.
    pub fn takes(&self, words: usize) -> bool {
        (self.words.0..=self.words.1).contains(&words)
    }
}

const fn row(
    name: &'static str,
    words: (usize, usize),
    flags: u16,
    run: fn(&mut Call<'_>) -> CommandResult,
) -> CommandSpec {
    CommandSpec { name, words, flags, run }
}

/// All commands; the id of a command is its index in this table.
pub static COMMANDS: &[CommandSpec] = &[
    row("get", (2, 2), READ, keys::get),
    row("set", (3, ANY), GROW, keys::set),
    row("setex", (4, 4), GROW, keys::setex),
    row("mset", (3, ANY), GROW | KEYS, keys::mset),
    row("mget", (2, ANY), READ | KEYS, keys::mget),
    row("incr", (2, 2), GROW, keys::increment),
    row("del", (2, ANY), WRITE | KEYS, keys::remove),
    row("unlink", (2, ANY), WRITE | KEYS, keys::remove),
    row("exists", (2, ANY), READ | KEYS, keys::exists),
    row("expire", (3, 3), WRITE, keys::expire),
    row("ttl", (2, 2), READ, keys::ttl),
    row("scan", (2, ANY), 0, keys::scan),
    row("dbsize", (1, 1), 0, keys::dbsize),
    row("flushall", (1, 2), 0, |call| keys::flush(call, true)),
    row("flushdb", (1, 2), 0, |call| keys::flush(call, false)),
    row("lpush", (3, ANY), GROW, |call| collections::push(call, List::push_front)),
    row("rpush", (3, ANY), GROW, |call| collections::push(call, List::push_back)),
    row("lpop", (2, 3), WRITE, |call| collections::pop(call, List::pop_front)),
    row("rpop", (2, 3), WRITE, |call| collections::pop(call, List::pop_back)),
    row("lrange", (4, 4), READ, collections::list_range),
    row("blpop", (3, ANY), LOAD | KEYS | WAITS, collections::blocking_pop),
    row("blmove", (6, 6), LOAD | GROWS | TWO_KEYS | WAITS, collections::blocking_move),
    row("hset", (4, ANY), GROW, collections::set_fields),
    row("hmget", (3, ANY), READ, collections::some_fields),
    row("hdel", (3, ANY), WRITE, |call| {
        collections::remove_from(call, |hash: &mut Hash, field| hash.swap_remove(field).is_some())
    }),
    row("hgetall", (2, 2), READ, collections::fields),
    row("sadd", (3, ANY), GROW, collections::add_members),
    row("srem", (3, ANY), WRITE, |call| {
        collections::remove_from(call, |set: &mut Set, member| set.swap_remove(member))
    }),
    row("spop", (2, 3), WRITE, collections::pop_members),
    row("sismember", (3, 3), READ, collections::is_member),
    row("smembers", (2, 2), READ, collections::members),
    row("zadd", (4, ANY), GROW, collections::add_scores),
    row("zpopmin", (2, 3), WRITE, collections::pop_lowest),
    row("zrange", (4, ANY), READ, collections::score_range),
    row("vadd", (5, ANY), GROW, vectors::add),
    row("vsim", (4, ANY), READ, vectors::search),
    row("xadd", (5, ANY), GROW, streams::add_entry),
    row("xread", (4, ANY), LOAD | READS | STREAMS | WAITS, streams::read),
    row("xrevrange", (4, 6), READ, streams::reversed_range),
    row("xgroup|create", (5, 6), GROW, groups::create),
    row("xreadgroup", (7, ANY), LOAD | STREAMS | WAITS, streams::read),
    row("xack", (4, ANY), WRITE, groups::acknowledge),
    row("xautoclaim", (6, 8), WRITE, groups::claim),
    row("multi", (1, 1), LOAD | AT_ONCE, connection::multi),
    row("exec", (1, 1), LOAD | AT_ONCE, connection::exec),
    row("publish", (3, 3), LOAD, |call| pubsub::publish(call, ChannelKind::Normal)),
    row("spublish", (3, 3), READ, |call| pubsub::publish(call, ChannelKind::Sharded)),
    row("subscribe", (2, ANY), 0, |call| pubsub::subscribe(call, ChannelKind::Normal)),
    row("psubscribe", (2, ANY), 0, |call| pubsub::subscribe(call, ChannelKind::Pattern)),
    row("ssubscribe", (2, ANY), READS | KEYS, |call| pubsub::subscribe(call, ChannelKind::Sharded)),
    row("ping", (1, 2), LOAD, connection::ping),
    row("echo", (2, 2), LOAD, connection::echo),
    row("select", (2, 2), 0, connection::select),
    row("auth", (2, 3), OPEN | SECRET, connection::auth),
    row("hello", (1, ANY), OPEN | SECRET, connection::hello),
    row("quit", (1, ANY), OPEN | AT_ONCE, connection::quit),
    row("client|id", (2, 2), 0, connection::client_id),
    row("client|list", (2, 2), 0, connection::client_list),
    row("client|setname", (3, 3), 0, connection::client_setname),
    row("client|setinfo", (4, 4), 0, connection::client_setinfo),
    row("client|tracking", (3, 6), 0, tracking::track),
    row("config|get", (3, ANY), 0, logs::config_get),
    row("config|set", (4, ANY), SECRET, logs::config_set),
    row("config|resetstat", (2, 2), 0, logs::reset_statistics),
    row("info", (1, ANY), 0, info::info),
    row("debug|sleep", (3, 3), 0, logs::sleep),
    row("slowlog|get", (2, 3), 0, logs::slowlog_get),
    row("slowlog|len", (2, 2), 0, logs::slowlog_len),
    row("slowlog|reset", (2, 2), 0, logs::slowlog_reset),
    row("asking", (1, 1), 0, cluster::asking),
    row("readonly", (1, 1), 0, |call| cluster::read_replicas(call, true)),
    row("readwrite", (1, 1), 0, |call| cluster::read_replicas(call, false)),
    row("role", (1, 1), 0, cluster::role),
    row("time", (1, 1), 0, connection::time),
    row("cluster|slots", (2, 2), 0, cluster::slots),
    row("cluster|shards", (2, 2), 0, cluster::shards),
    row("cluster|nodes", (2, 2), 0, cluster::nodes),
    row("cluster|info", (2, 2), 0, cluster::info),
    row("cluster|myid", (2, 2), 0, cluster::my_id),
    row("cluster|keyslot", (3, 3), 0, cluster::slot_of_key),
    row("cluster|countkeysinslot", (3, 3), 0, cluster::count_keys),
    row("cluster|getkeysinslot", (4, 4), 0, cluster::keys_in_slot),
    row("cluster|slot-stats", (4, ANY), 0, cluster::slot_statistics),
    row("cluster|failover", (2, 3), 0, cluster::fail_over),
    row("latency|latest", (2, 2), 0, logs::latency_latest),
    row("latency|reset", (2, 2), 0, logs::latency_reset),
    row("latency|histogram", (2, ANY), 0, logs::latency_histogram),
];

/// The index of a command in the command table.
pub type CommandId = usize;

static IDS: LazyLock<Map<&'static [u8], CommandId>> = LazyLock::new(|| {
    COMMANDS.iter().enumerate().map(|(id, command)| (command.name.as_bytes(), id)).collect()
});

/// Returns the command that a request with these arguments names.
///
/// # Errors
/// Fails if there is no such command. The error has the text of Redis.
pub fn find(arguments: RequestArguments<'_>) -> Result<CommandId, ReplyError> {
    let name = arguments.get(0).unwrap_or_default();
    let subcommand = || named(&[name, b"|", arguments.get(1)?]);
    named(&[name]).or_else(subcommand).ok_or_else(|| unknown(arguments))
}

/// Returns the command whose name consists of these parts; the case of letters does not matter.
fn named(parts: &[&[u8]]) -> Option<CommandId> {
    let (mut lower, mut length) = ([0; LONGEST_NAME], 0);
    for part in parts {
        lower.get_mut(length..length + part.len())?.copy_from_slice(part);
        length += part.len();
    }
    lower[..length].make_ascii_lowercase();
    IDS.get(&lower[..length]).copied()
}

/// Returns the command with this name, or all subcommands of a command such as `config`; the case of letters does not
/// matter.
pub fn all_named(name: &[u8]) -> impl Iterator<Item = CommandId> {
    let is_meant = |command: &CommandSpec| {
        [command.name, command.group()].iter().any(|known| name.eq_ignore_ascii_case(known.as_bytes()))
    };
    (0..COMMANDS.len()).filter(move |id| is_meant(&COMMANDS[*id]))
}

/// Returns whether the built-in server has a command, or subcommands of a command, with this name in lower case.
pub fn is_known(name: &str) -> bool {
    COMMANDS.iter().any(|command| command.group() == name)
}

/// The largest number of bytes that an error message quotes from a request.
const REPEATED: usize = 128;

fn repeated(argument: &[u8]) -> String {
    String::from_utf8_lossy(&argument[..argument.len().min(REPEATED)]).into_owned()
}

/// Returns the error for an unknown command, with the beginning of its arguments.
fn unknown(arguments: RequestArguments<'_>) -> ReplyError {
    let name = repeated(arguments.get(0).unwrap_or_default());
    let group = COMMANDS.iter().map(CommandSpec::group).find(|group| group.eq_ignore_ascii_case(&name));
    match (group, arguments.get(1)) {
        (Some(group), None) => ReplyError::arity(group),
        (Some(group), Some(sub)) => ReplyError::other(format!(
            "ERR unknown subcommand '{}'. Try {} HELP.",
            repeated(sub),
            group.to_ascii_uppercase()
        )),
        (None, _) => {
            let mut rest = String::new();
            for argument in arguments.from(1) {
                if rest.len() < REPEATED {
                    rest.push_str(&format!("'{}' ", repeated(argument)));
                }
            }
            ReplyError::other(format!("ERR unknown command '{name}', with args beginning with: {rest}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::commands::testing::TestServer;

    #[test]
    fn names_are_unique_lower_case_and_short_enough_to_be_found() {
        for (id, command) in COMMANDS.iter().enumerate() {
            assert_eq!(named(&[command.name.as_bytes()]), Some(id), "{}", command.name);
            assert_eq!(command.name, command.name.to_ascii_lowercase());
        }
        assert!(is_known("get") && is_known("config") && !is_known("config|get") && !is_known("GET"));
        assert_eq!(all_named(b"CONFIG").count(), 3);
        assert_eq!((all_named(b"GET").count(), all_named(b"nosuch").count()), (1, 0));
    }

    #[test]
    fn unknown_commands_are_refused_with_the_messages_of_redis() {
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
