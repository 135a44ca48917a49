//! Finds the keys among the words of a Redis command. Word 0 is the name of the command.

/// Commands without keys. A `*` stands for any ending of a name.
const KEYLESS: &str = "\
    ACL|* ASKING AUTH BGREWRITEAOF BGSAVE CLIENT|* CLUSTER|* COMMAND COMMAND|* CONFIG|* DBSIZE DEBUG DISCARD ECHO \
    EXEC FLUSHALL FLUSHDB FT.* FUNCTION|* HELLO INFO KEYS LASTSAVE LATENCY|* LOLWUT MEMORY|DOCTOR MEMORY|PURGE \
    MEMORY|STATS MODULE|* MULTI PING PUBLISH PUBSUB|* RANDOMKEY ROLE SAVE SCAN SCRIPT|* SLOWLOG|* SWAPDB TIME \
    UNWATCH WAIT WAITAOF";
/// Commands whose only key is word 2, after the subcommand.
const SECOND: &str = "MEMORY|USAGE OBJECT|* XGROUP|* XINFO|*";
/// Commands whose first argument (word 1) is the number of keys.
pub(super) const COUNTED_FIRST: &str = "LMPOP SINTERCARD ZDIFF ZINTER ZINTERCARD ZMPOP ZUNION";
/// Commands whose second argument (word 2) is the number of keys.
const COUNTED_SECOND: &str = "BLMPOP BZMPOP EVAL EVALSHA EVALSHA_RO EVAL_RO FCALL FCALL_RO";
/// Commands whose keys follow the word STREAMS.
pub(super) const OF_STREAMS: &str = "XREAD XREADGROUP";

/// Commands in which every argument is a key.
pub(super) const ALL: &str = "\
    DEL EXISTS MGET PFCOUNT PFMERGE SDIFF SDIFFSTORE SINTER SINTERSTORE SUNION SUNIONSTORE TOUCH UNLINK WATCH";
/// Commands in which every argument except the last one is a key.
const ALL_BUT_LAST: &str = "BLPOP BRPOP BZPOPMAX BZPOPMIN JSON.MGET";
/// Commands whose first two arguments are keys.
pub(super) const TWO: &str = "\
    BLMOVE BRPOPLPUSH COPY GEOSEARCHSTORE LCS LMOVE RENAME RENAMENX RPOPLPUSH SMOVE ZRANGESTORE";
/// Commands that write to the key in word 1. Word 2 is the number of the other keys.
pub(super) const STORING: &str = "ZDIFFSTORE ZINTERSTORE ZUNIONSTORE";

/// Returns whether the list contains `command`. A `*` in the list stands for any ending of a name.
pub(super) fn is_in(list: &str, command: &str) -> bool {
    list.split(' ').any(|name| match name.strip_suffix('*') {
        Some(beginning) => command.starts_with(beginning),
        None => command == name,
    })
}

/// Returns the positions of the keys in a request of `words` words with this command. `text` returns a word in upper
/// case, or `None` if the word differs between requests.
pub(super) fn keys_of(command: &str, words: usize, text: impl Fn(usize) -> Option<String>) -> Vec<usize> {
    let is_in = |list: &str| is_in(list, command);
    // If the number of keys differs between requests, only the first key is known.
    let number = |place: usize| text(place).and_then(|count| count.parse().ok()).unwrap_or(1);
    let counted = |place: usize| (place + 1..words).take(number(place));
    let is_store = |word: String| word == "STORE" || word == "STOREDIST";
    let keys: Vec<usize> = match command {
        _ if is_in(KEYLESS) => Vec::new(),
        _ if is_in(ALL) => (1..words).collect(),
        _ if is_in(ALL_BUT_LAST) => (1..words.saturating_sub(1)).collect(),
        _ if is_in(TWO) => vec![1, 2],
        _ if is_in(STORING) => [1].into_iter().chain(counted(2)).collect(),
        _ if is_in(COUNTED_FIRST) => counted(1).collect(),
        _ if is_in(COUNTED_SECOND) => counted(2).collect(),
        _ if is_in(OF_STREAMS) => {
            let streams = (1..words).find(|place| text(*place).is_some_and(|word| word == "STREAMS"));
            streams.map_or_else(Vec::new, |word| {
                (word + 1..words).take((words - word - 1).div_ceil(2)).collect()
            })
        }
        "GEORADIUS" | "GEORADIUSBYMEMBER" | "SORT" => {
            let stores = (2..words).filter(|place| text(*place).is_some_and(is_store));
            [1].into_iter().chain(stores.map(|place| place + 1)).collect()
        }
        "MSET" | "MSETNX" => (1..words).step_by(2).collect(),
        "MSETEX" => (2..words).step_by(2).take(number(1)).collect(),
        "JSON.MSET" | "TS.MADD" => (1..words).step_by(3).collect(),
        "BITOP" | "TR.BITOP" => (2..words).collect(),
        _ if is_in(SECOND) => vec![2],
        _ => vec![1],
    };
    keys.into_iter().filter(|word| *word < words).collect()
}
