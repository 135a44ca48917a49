//! Properties of commands by their names: whether a command writes, and which of its replies are misses.

use super::command_keys::{is_in, keys_of};

/// The replies to a command that count as misses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Misses {
    /// Replies are not counted as hits or misses.
    #[default]
    Never,
    /// A null reply or an empty list is a miss, and every other successful reply is a hit.
    Null,
    /// A null reply is a miss, a CAS conflict is neither a hit nor a miss, and every other successful reply is a hit.
    NullOrConflict,
}

/// Commands that change no data, and whose replies are not counted as hits or misses. A command that is missing here
/// and in [`FINDING`] is assumed to write.
const READING: &str = "\
    BITCOUNT BITFIELD_RO BITPOS COMMAND COMMAND|* DBSIZE DISCARD DUMP ECHO EVALSHA_RO EVAL_RO EXEC EXISTS EXPIRETIME FCALL_RO \
    FT.AGGREGATE FT.INFO FT.SEARCH GEODIST GEOHASH GEOPOS GEORADIUSBYMEMBER_RO GEORADIUS_RO GEOSEARCH GETBIT \
    GETRANGE GETS HEAD HEXISTS HGETALL HKEYS HLEN HMGET HPTTL HRANDFIELD HSCAN HSTRLEN HTTL HVALS INFO JSON.MGET \
    KEYS LCS LLEN LPOS LRANGE MEMORY|* MG MGET MN MULTI OBJECT|* OPTIONS PEXPIRETIME \
    PFCOUNT PING PTTL PUBLISH PUBSUB|* RANDOMKEY SCAN SCARD SDIFF SINTER SINTERCARD SISMEMBER SMEMBERS SMISMEMBER \
    SORT_RO SPUBLISH SRANDMEMBER SSCAN STRLEN SUBSTR SUNION TFT.SEARCH TIME TR.BITCOUNT TR.BITOPCARD \
    TR.BITPOS TR.GETBITS TR.RANGE TR.RANK TR.SCAN TTL TYPE UNWATCH VCARD VDIM VEMB VERSION VGETATTR VINFO \
    VISMEMBER VLINKS VRANDMEMBER VRANGE VSIM WAIT WATCH XINFO|* XLEN XPENDING XRANGE XREAD XREVRANGE ZCARD \
    ZCOUNT ZDIFF ZINTER ZINTERCARD ZLEXCOUNT ZMSCORE ZRANDMEMBER ZRANGE ZRANGEBYLEX \
    ZRANGEBYSCORE ZREVRANGE ZUNION";

/// Commands that change no data, and that reply with null if the key or the element does not exist.
const FINDING: &str = "GET HGET JSON.GET LINDEX TR.GETBIT ZRANK ZREVRANK ZSCORE";

/// Commands that read the whole value of a key, and whose reply is an empty list only if the key does not exist.
const WHOLE: &str = "HGETALL HKEYS HVALS SMEMBERS";

/// Commands that read a range of a value, and that reply with an empty list if the key does not exist.
const RANGES: &str = "LRANGE ZRANGE ZREVRANGE";

/// Commands on vector sets, which are a module of Redis 8. Unlike the names of other module commands, these
/// names have no dot.
const OF_VECTOR_SETS: &str =
    "VADD VCARD VDIM VEMB VGETATTR VINFO VISMEMBER VLINKS VRANDMEMBER VRANGE VREM VSETATTR VSIM";

/// Returns whether `command` belongs to a module.
pub(super) fn is_of_module(command: &str) -> bool {
    command.contains('.') || is_in(OF_VECTOR_SETS, command)
}

/// Commands with a subcommand as their second word. The server counts each subcommand separately.
const GROUPS: &str = "\
    ACL CLIENT CLUSTER COMMAND CONFIG FUNCTION LATENCY MEMORY MODULE OBJECT PUBSUB SCRIPT SLOWLOG XGROUP \
    XINFO";

/// Commands that change the connection itself, such as its database, its user, its name, or the number of replies to a
/// request. After such a command, redyno would leave keys behind, or assign replies to the wrong requests.
const OF_CONNECTIONS: &str = "\
    AUTH CLIENT|REPLY CLIENT|SETNAME HELLO MONITOR PSUBSCRIBE PSYNC PUNSUBSCRIBE QUIT RESET SELECT \
    SSUBSCRIBE SUBSCRIBE SUNSUBSCRIBE SYNC UNSUBSCRIBE";

/// Returns whether `command` changes its connection. The name has the form of the server's statistics (`CLIENT|REPLY`).
pub(super) fn changes_connection(command: &str) -> bool {
    is_in(OF_CONNECTIONS, command)
}

/// Returns whether `command` begins a transaction. A transaction affects later commands of the same connection.
pub(super) fn begins_transaction(command: &str) -> bool {
    ["MULTI", "WATCH"].contains(&command)
}

/// Returns whether the second word of `command` is a subcommand. The name is in upper case.
pub(super) fn has_subcommands(command: &str) -> bool {
    is_in(GROUPS, command)
}

/// Returns whether `command` is known to change no data.
pub(super) fn only_reads(command: &str) -> bool {
    is_in(FINDING, command) || is_in(READING, command)
}

/// Commands that can read keys which SET has created.
const OF_STRINGS: &str = "\
    BITCOUNT BITPOS DELETE DUMP EXISTS EXPIRETIME GAT GATS GET GETBIT GETRANGE GETS MG MGET PTTL STRLEN \
    SUBSTR TOUCH TTL TYPE";

/// Commands that change or remove existing keys, but never create a key.
const KEEPING: &str = "\
    BLPOP BRPOP BZPOPMAX BZPOPMIN CAS DEL DELETE EXPIRE EXPIREAT GAT GATS GETDEL GETEX HDEL LINSERT LPOP \
    LPUSHX LREM LSET LTRIM MD MOVE PERSIST PEXPIRE PEXPIREAT REPLACE RPOP RPUSHX SPOP SREM TOUCH UNLINK XDEL \
    XTRIM ZPOPMAX ZPOPMIN ZREM ZREMRANGEBYRANK ZREMRANGEBYSCORE";

/// Returns whether `command` can read keys which SET has created.
pub(super) fn reads_strings(command: &str) -> bool {
    is_in(OF_STRINGS, command)
}

/// Returns whether `command` is known to write, but never to create a key.
pub(super) fn keeps_keys(command: &str) -> bool {
    is_in(KEEPING, command)
}

/// Commands whose replies from memcached show whether the key was found. The replies EN, NF, NOT_FOUND, and END without
/// a value mean that the key is missing.
const FINDING_ON_MEMCACHED: &str = "\
    DECR DECRBY DEL DELETE EXPIRE GAT GATS GET GETEX GETS INCR INCRBY MA MD MG MGET TOUCH UNLINK";

/// Returns whether memcached's reply to `command` shows whether the key was found.
pub(super) fn finds_on_memcached(command: &str) -> bool {
    is_in(FINDING_ON_MEMCACHED, command)
}

/// Returns which replies to `command` are misses. An argument is `None` if it differs between requests.
pub(super) fn misses(command: &str, arguments: &[Option<String>]) -> Misses {
    let finds = is_in(FINDING, command) || is_in(WHOLE, command);
    if finds || is_in(RANGES, command) && is_from_the_first(arguments) { Misses::Null } else { Misses::Never }
}

/// Returns whether the arguments are a range of indexes that contains the first element of every list: from 0
/// to -1, or from 0 to an index of at least 0.
fn is_from_the_first(arguments: &[Option<String>]) -> bool {
    let is_last = |stop: &str| stop == "-1" || stop.parse::<u64>().is_ok();
    let keeps_places = |option: &Option<String>| {
        option.as_ref().is_some_and(|option| ["REV", "WITHSCORES"].contains(&option.to_uppercase().as_str()))
    };
    match arguments {
        [_, Some(start), Some(stop), options @ ..] => {
            start == "0" && is_last(stop) && options.iter().all(keeps_places)
        }
        _ => false,
    }
}

/// Returns the number of elements in the reply to MGET, HMGET or ZMSCORE with `words` words. An element is
/// null if its key or field is missing. The result is 0 for other commands.
pub(super) fn elements(command: &str, words: usize) -> usize {
    match command {
        "MGET" => words - 1,
        "HMGET" | "ZMSCORE" => words.saturating_sub(2),
        _ => 0,
    }
}

/// Commands that may write all the keys that [`keys_of`] finds.
const ALL_WRITTEN: &str = "\
    BLMPOP BLPOP BRPOP BZMPOP BZPOPMAX BZPOPMIN EVAL EVALSHA FCALL GEORADIUS GEORADIUSBYMEMBER JSON.MSET LMPOP MSET \
    MSETEX MSETNX SORT TS.MADD XREADGROUP ZMPOP";

/// Returns the positions of the keys that `command` may write, or of the channel to which it sends a message, in a
/// request of `words` words. The name of the command is word 0. `text` returns a word in upper case, or `None` if the
/// word differs between requests. The result is empty if there are no such keys, or if they are unknown.
pub(super) fn written_keys(
    command: &str,
    words: usize,
    text: impl Fn(usize) -> Option<String>,
) -> Vec<usize> {
    let is_number = |place| text(place).is_some_and(|number| number.parse::<usize>().is_ok());
    let keys = match command {
        // The key is in another database, where the run does not remove it.
        "MOVE" => Vec::new(),
        "COPY" if (3..words).any(|place| text(place).is_some_and(|word| word == "DB")) => Vec::new(),
        "DEL" | "UNLINK" | "PFMERGE" => (1..words).collect(),
        "GAT" | "GATS" => (2..words).collect(),
        "RENAME" | "RENAMENX" | "COPY" | "SMOVE" | "LMOVE" | "BLMOVE" | "RPOPLPUSH" | "BRPOPLPUSH"
        | "TS.CREATERULE" | "TS.DELETERULE" => vec![1, 2],
        "BITOP" | "TR.BITOP" => vec![2],
        "LMPOP" | "ZMPOP" | "MSETEX" if !is_number(1) => Vec::new(),
        "BLMPOP" | "BZMPOP" | "EVAL" | "EVALSHA" | "FCALL" if !is_number(2) => Vec::new(),
        _ if is_in(ALL_WRITTEN, command) || command.contains('|') => keys_of(command, words, text),
        _ => vec![1],
    };
    keys.into_iter().filter(|place| *place < words).collect()
}
