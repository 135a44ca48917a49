//! Properties of commands, by their names.

/// Which replies of a command are misses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Misses {
    /// No reply: the command neither hits nor misses.
    #[default]
    Never,
    /// A null, or an empty list; every other good reply is a hit.
    Null,
    /// A null; a conflict is neither a miss nor a hit, and every other good reply is a hit.
    NullOrConflict,
}

/// The commands that change nothing, and are never a hit or a miss. Commands neither here nor in [`FINDING`] are
/// assumed to write.
const READING: &str = "\
    BITCOUNT BITFIELD_RO BITPOS DBSIZE DISCARD DUMP ECHO EVALSHA_RO EVAL_RO EXEC EXISTS EXPIRETIME FCALL_RO \
    FT.AGGREGATE FT.INFO FT.SEARCH GEODIST GEOHASH GEOPOS GEORADIUSBYMEMBER_RO GEORADIUS_RO GEOSEARCH GETBIT \
    GETRANGE GETS HEXISTS HGETALL HKEYS HLEN HMGET HPTTL HRANDFIELD HSCAN HSTRLEN HTTL HVALS INFO JSON.MGET \
    KEYS LCS LLEN LPOS LRANGE MG MGET MN MULTI OBJECT|ENCODING OBJECT|FREQ OBJECT|IDLETIME PEXPIRETIME \
    PFCOUNT PING PTTL PUBLISH RANDOMKEY SCAN SCARD SDIFF SINTER SINTERCARD SISMEMBER SMEMBERS SMISMEMBER \
    SORT_RO SPUBLISH SRANDMEMBER SSCAN STRLEN SUBSTR SUNION TFT.SEARCH TIME TR.BITCOUNT TR.BITOPCARD \
    TR.BITPOS TR.GETBITS TR.RANGE TR.RANK TR.SCAN TTL TYPE UNWATCH VERSION WAIT WATCH XLEN XPENDING XRANGE \
    XREAD XREVRANGE ZCARD ZCOUNT ZDIFF ZINTER ZINTERCARD ZLEXCOUNT ZMSCORE ZRANDMEMBER ZRANGE ZRANGEBYLEX \
    ZRANGEBYSCORE ZREVRANGE ZUNION";

/// The commands that change nothing, and return a null if there is nothing.
const FINDING: &str = "GET HGET JSON.GET LINDEX TR.GETBIT ZRANK ZREVRANK ZSCORE";

/// The commands that read a whole key, and return an empty list if it does not exist: keys are never empty.
const WHOLE: &str = "HGETALL HKEYS HVALS SMEMBERS";

/// The commands that read from the first element on, and return an empty list in the same case.
const RANGES: &str = "LRANGE ZRANGE ZREVRANGE";

/// The commands with a subcommand as second word, which the server counts separately.
const GROUPS: &str = "\
    ACL CLIENT CLUSTER COMMAND CONFIG FUNCTION LATENCY MEMORY MODULE OBJECT PUBSUB SCRIPT SLOWLOG XGROUP \
    XINFO";

/// The commands that change the connection itself: its database, user or name, or how many replies follow a request.
/// Keys would be written where they are not removed, and replies would be assigned wrongly.
const OF_CONNECTIONS: &str = "\
    AUTH CLIENT|REPLY CLIENT|SETNAME HELLO MONITOR PSUBSCRIBE PSYNC PUNSUBSCRIBE QUIT RESET SELECT \
    SSUBSCRIBE SUBSCRIBE SUNSUBSCRIBE SYNC UNSUBSCRIBE";

/// Returns whether `command`, as the server counts it, changes its connection.
pub(super) fn changes_connection(command: &str) -> bool {
    is_in(OF_CONNECTIONS, command)
}

/// Returns whether `command` affects other commands between its own ones on the same connection.
pub(super) fn begins_transaction(command: &str) -> bool {
    ["MULTI", "WATCH"].contains(&command)
}

/// Returns whether the server counts `command`, in upper case, with its second word.
pub(super) fn has_subcommands(command: &str) -> bool {
    is_in(GROUPS, command)
}

/// Returns whether a list contains `command`, in upper case.
fn is_in(list: &str, command: &str) -> bool {
    list.split(' ').any(|name| name == command)
}

/// Returns whether `command` is known to change nothing.
pub(super) fn only_reads(command: &str) -> bool {
    is_in(FINDING, command) || is_in(READING, command)
}

/// Commands that read keys made by SET.
const OF_STRINGS: &str = "\
    BITCOUNT BITPOS DELETE DUMP EXISTS EXPIRETIME GAT GATS GET GETBIT GETRANGE GETS MG MGET PTTL STRLEN \
    SUBSTR TOUCH TTL TYPE";

/// Commands that write without making a key: they change or remove one.
const KEEPING: &str = "\
    BLPOP BRPOP BZPOPMAX BZPOPMIN CAS DEL DELETE EXPIRE EXPIREAT GAT GATS GETDEL GETEX HDEL LINSERT LPOP \
    LPUSHX LREM LSET LTRIM MD MOVE PERSIST PEXPIRE PEXPIREAT REPLACE RPOP RPUSHX SPOP SREM TOUCH UNLINK XDEL \
    XTRIM ZPOPMAX ZPOPMIN ZREM ZREMRANGEBYRANK ZREMRANGEBYSCORE";

/// Returns whether `command` reads keys made by SET.
pub(super) fn reads_strings(command: &str) -> bool {
    is_in(OF_STRINGS, command)
}

/// Returns whether `command` is known to write without making a key.
pub(super) fn keeps_keys(command: &str) -> bool {
    is_in(KEEPING, command)
}

/// The commands with replies on memcached that show whether the key was found: END alone, EN, NF, NOT_FOUND.
const FINDING_ON_MEMCACHED: &str = "\
    DECR DECRBY DEL DELETE EXPIRE GAT GATS GET GETEX GETS INCR INCRBY MA MD MG MGET TOUCH UNLINK";

/// Returns whether the reply to `command` on memcached shows whether its key was found.
pub(super) fn finds_on_memcached(command: &str) -> bool {
    is_in(FINDING_ON_MEMCACHED, command)
}

/// Returns which replies are misses of `command` with these arguments, as far as they are fixed.
pub(super) fn misses(command: &str, arguments: &[Option<String>]) -> Misses {
    let finds = is_in(FINDING, command) || is_in(WHOLE, command);
    if finds || is_in(RANGES, command) && is_from_the_first(arguments) { Misses::Null } else { Misses::Never }
}

/// Returns whether the arguments are a range of indices that includes the first element of every list.
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

/// Returns how many elements the reply of `command` with this many words has, each null if there is nothing.
pub(super) fn elements(command: &str, words: usize) -> usize {
    match command {
        "MGET" => words - 1,
        "HMGET" | "ZMSCORE" => words.saturating_sub(2),
        _ => 0,
    }
}

/// Returns which of the `words` of `command`, the first of which is the command itself, are keys that it may write;
/// empty if that is unknown, or there is none.
pub(super) fn written_keys(
    command: &str,
    words: usize,
    number_at: impl Fn(usize) -> Option<usize>,
) -> Vec<usize> {
    let keys = match command {
        "DEL" | "UNLINK" | "PFMERGE" => (1..words).collect(),
        "GAT" | "GATS" => (2..words).collect(),
        "MSET" | "MSETNX" => (1..words).step_by(2).collect(),
        "JSON.MSET" => (1..words).step_by(3).collect(),
        "RENAME" | "RENAMENX" | "COPY" | "SMOVE" | "LMOVE" | "BLMOVE" | "RPOPLPUSH" | "BRPOPLPUSH" => {
            vec![1, 2]
        }
        "BITOP" | "XGROUP|CREATE" | "TR.BITOP" => vec![2],
        "EVAL" | "EVALSHA" | "FCALL" => {
            let keys = number_at(2).unwrap_or_default();
            (3..words).take(keys).collect()
        }
        _ => vec![1],
    };
    keys.into_iter().filter(|place| *place < words).collect()
}
