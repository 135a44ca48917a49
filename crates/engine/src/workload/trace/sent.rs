//! Decides which commands of a trace are sent, and finds their keys and values. A command is sent only if the positions
//! of its keys are known, because every key gets the prefix of the run.
//!
//! redyno never sends some commands of a trace: commands of the ACL categories @admin and @dangerous, and commands of
//! transactions, scripts, Pub/Sub and the connection. redyno also never sends commands that block or name another
//! database. MONITOR also shows the individual commands inside a transaction or a script. redyno sends these individual
//! commands.

use crate::{
    untrusted,
    workload::{command_keys::keys_of, command_traits},
};

/// Commands, each with one option. With this option, the command would block or write to another database. Such a
/// command is not sent.
const OPTIONS: &[(&str, &str)] = &[("XREAD", "BLOCK"), ("XREADGROUP", "BLOCK"), ("COPY", "DB")];

/// The names of options. Option names are never values, so a capture without values keeps them.
const OPTION_WORDS: &str = "\
    + - +INF -INF INF $ > * ~ = ABSTTL AFTER AGGREGATE ANY ASC BEFORE BIT BY BYBOX BYLEX BYRADIUS BYSCORE BYTE CH COUNT \
    DESC EX EXAT FIELDS FROMLONLAT FROMMEMBER FT GET GROUP GT HASHES IDLE INCR INCRBY KEEPTTL KM LEFT LEN LIMIT LT M \
    MATCH MAX MAXLEN MI MIN MINID NOACK NOMKSTREAM NX OVERFLOW PERSIST PX PXAT REPLACE REV RIGHT SET STORE STOREDIST \
    STREAMS SUM TYPE WEIGHTS WITHCOORD WITHDIST WITHHASH WITHSCORE WITHSCORES WITHVALUES XX";

/// Returns the names of the commands that are sent, in alphabetic order.
#[cfg(test)]
pub(in crate::workload) fn names() -> impl Iterator<Item = &'static str> {
    command_traits::names().filter(|name| command_traits(name).sent)
}

/// Returns the name of the command in the server's statistics: `GET`, `OBJECT|ENCODING`.
pub fn command_of(words: &[Vec<u8>]) -> String {
    let upper = |word: &Vec<u8>| untrusted::bytes(word).to_ascii_uppercase();
    let name = words.first().map(upper).unwrap_or_default();
    match words.get(1).filter(|_| command_traits(&name).group) {
        Some(sub) => format!("{name}|{}", upper(sub)),
        None => name,
    }
}

/// Returns whether a trace would send the command with this name and these words. A trace sends no command that
/// administers the server, runs a script or blocks.
pub(in crate::workload) fn is_harmless(command: &str, has_word: impl Fn(&str) -> bool) -> bool {
    command_traits(command).sent && !OPTIONS.iter().any(|(name, option)| *name == command && has_word(option))
}

/// Returns the positions of the keys of a command, or `None` if redyno does not send the command.
pub fn moved_keys(words: &[Vec<u8>]) -> Option<Vec<usize>> {
    let command = command_of(words);
    let text = |place: usize| Some(untrusted::bytes(words.get(place)?).to_ascii_uppercase());
    let has = |option: &str| (1..words.len()).any(|place| text(place).is_some_and(|word| word == option));
    is_harmless(&command, has).then(|| keys_of(&command, words.len(), text))
}

/// Returns the positions of the words that a capture replaces by their lengths, such as values and members. A capture
/// replaces all words except keys, names of fields, numbers and options. `keys` are the positions of the keys.
pub fn left_out_words(words: &[Vec<u8>], keys: &[usize]) -> Vec<usize> {
    let command = command_of(words);
    let traits = command_traits(&command);
    let is_name = |word: &[u8]| {
        let text = untrusted::bytes(word).to_ascii_uppercase();
        OPTION_WORDS.split(' ').any(|option| option == text)
            || text.trim_start_matches('(').parse::<f64>().is_ok()
    };
    let mut is_key = vec![false; words.len()];
    keys.iter().for_each(|place| is_key[*place] = true);
    let is_value = |place: usize| match command.as_str() {
        _ if is_key[place] || traits.no_values => false,
        "SET" if place == 2 => true,
        "MSET" | "MSETNX" => true,
        "MSETEX" => is_key[place - 1],
        "HSET" | "HMSET" => place % 2 == 1 && place > 1,
        json if json.starts_with("JSON.") && place == 2 => false,
        _ if traits.values_2 => place >= 2,
        _ if traits.values_3 => place >= 3,
        _ => !is_name(&words[place]),
    };
    let first = 1 + usize::from(command.contains('|'));
    (first..words.len()).filter(|place| is_value(*place)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<Vec<u8>> {
        text.split(' ').map(|word| word.as_bytes().to_vec()).collect()
    }

    #[test]
    fn commands_that_touch_more_than_their_keys_are_not_sent() {
        for text in [
            "CONFIG GET x",
            "FLUSHALL",
            "KEYS *",
            "SORT k STORE d",
            "AUTH secret",
            "HELLO 3",
            "SELECT 1",
            "MULTI",
            "EXEC",
            "WATCH k",
            "SCRIPT LOAD x",
            "FUNCTION LOAD x",
            "EVAL x 0",
            "EVALSHA x 1 k",
            "FCALL f 1 k",
            "PUBLISH c m",
            "SUBSCRIBE c",
            "BLPOP k 0",
            "BLMOVE a b LEFT LEFT 0",
            "XREAD BLOCK 0 STREAMS s $",
            "MOVE k 1",
            "COPY a b DB 1",
            "CLIENT KILL x",
            "RESTORE k 0 x",
            "MIGRATE h 1 k 0 1",
            "WAIT 1 0",
            "NEWER.COMMAND k",
            "FT.SEARCH i q",
            "",
        ] {
            assert_eq!(moved_keys(&words(text)), None, "{text}");
        }
    }

    #[test]
    fn the_keys_of_sent_commands_are_found() {
        let cases: [(&str, &[usize]); 18] = [
            ("get k", &[1]),
            ("SET k v EX 5", &[1]),
            ("PING", &[]),
            ("SCAN 0 MATCH x", &[]),
            ("MSET a 1 b 2", &[1, 3]),
            ("DEL a b", &[1, 2]),
            ("RENAME a b", &[1, 2]),
            ("COPY a b REPLACE", &[1, 2]),
            ("ZUNIONSTORE d 2 a b WEIGHTS 1 2", &[1, 3, 4]),
            ("XREAD COUNT 1 STREAMS a b 0 0", &[4, 5]),
            ("OBJECT ENCODING k", &[2]),
            ("BITOP AND d a b", &[2, 3, 4]),
            ("GEORADIUS g 1 2 3 km STORE d", &[1, 7]),
            ("JSON.MGET a b $", &[1, 2]),
            ("VSIM v ELE e COUNT 5", &[1]),
            ("XACKDEL s g IDS 1 1-1", &[1]),
            ("MSETEX 2 a 1 b 2 EX 5", &[2, 4]),
            ("TS.MADD a 1 2 b 1 2", &[1, 4]),
        ];
        for (text, keys) in cases {
            assert_eq!(moved_keys(&words(text)).as_deref(), Some(keys), "{text}");
        }
    }

    #[test]
    fn a_capture_leaves_out_only_values() {
        for (text, kept) in [
            ("SET k 5 EX 60 NX", "SET k . EX 60 NX"),
            ("SETEX k 60 secret", "SETEX k 60 ."),
            ("MSET a 1 b secret", "MSET a . b ."),
            ("MSETEX 2 a 1 b secret EX 5", "MSETEX 2 a . b . EX 5"),
            ("HSET k name ann age 7", "HSET k name . age ."),
            ("HGET k name", "HGET k name"),
            ("HINCRBY k age 1", "HINCRBY k age 1"),
            ("LPUSH k 1 secret", "LPUSH k . ."),
            ("LINSERT k BEFORE pivot secret", "LINSERT k BEFORE . ."),
            ("LREM k 1 secret", "LREM k 1 ."),
            ("ZADD k NX 1.5 ann", "ZADD k NX 1.5 ."),
            ("ZRANGEBYSCORE k (1 +inf LIMIT 0 5", "ZRANGEBYSCORE k (1 +inf LIMIT 0 5"),
            ("ZRANGEBYLEX k [ann +", "ZRANGEBYLEX k . +"),
            ("EXPIRE k 60", "EXPIRE k 60"),
            ("XADD s * field secret", "XADD s * . ."),
            ("SCAN 0 MATCH secret*", "SCAN 0 MATCH ."),
            ("OBJECT ENCODING k", "OBJECT ENCODING k"),
            ("ECHO secret", "ECHO ."),
        ] {
            let words = words(text);
            let left_out = left_out_words(&words, &moved_keys(&words).unwrap());
            let shown = text.split(' ').enumerate();
            let shown: Vec<_> =
                shown.map(|(n, word)| if left_out.contains(&n) { "." } else { word }).collect();
            assert_eq!(shown.join(" "), kept, "{text}");
        }
    }
}
