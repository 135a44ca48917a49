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

/// The options before the scores or coordinates of the members of a sorted set.
const MEMBER_OPTIONS: &str = "NX XX GT LT CH INCR";
/// The options without an argument before the ID of a stream's entry.
const ENTRY_OPTIONS: &str = "NOMKSTREAM KEEPREF DELREF ACKED";
/// The options that a value follows. The command is executed only if the key has, or does not have, this value.
const CONDITIONS: &str = "IFEQ IFNE IFDEQ IFDNE";

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

/// Returns the positions of the words that a capture replaces by their lengths, such as values and members. Returns
/// `None` if the command has no valid form without its values. Keys, names of fields and streams, numbers and options
/// are no values.
pub fn left_out_words(words: &[Vec<u8>]) -> Option<Vec<usize>> {
    let command = command_of(words);
    let count = words.len();
    let text = |place: usize| words.get(place).map(|word| untrusted::bytes(word).to_ascii_uppercase());
    let is = |place: usize, options: &str| {
        text(place).is_some_and(|word| options.split(' ').any(|option| option == word))
    };
    let after = |options: &str| (2..count).find(|place| is(*place, options)).map_or(count, |place| place + 1);
    let skip = |mut place: usize, options: &str| {
        while is(place, options) {
            place += 1;
        }
        place
    };
    let number = |place: usize| text(place).and_then(|word| word.parse::<usize>().ok()).unwrap_or(count);
    let values: Vec<usize> = match command_traits(&command).values {
        "needed" => return None,
        "ranged" if (4..count).any(|place| is(place, "BYLEX")) => return None,
        "none" | "ranged" => Vec::new(),
        "1" => vec![1],
        "2" => vec![2],
        "3" => vec![3],
        "2,3" => vec![2, 3],
        "from-2" => (2..count).collect(),
        "from-3" => (3..count).collect(),
        "each-2nd-2" => (2..count).step_by(2).collect(),
        "each-2nd-3" => (3..count).step_by(2).collect(),
        "after-items" => (after("ITEMS")..count).collect(),
        "after-match" => vec![after("MATCH")],
        "after-member" => vec![after("FROMMEMBER")],
        "after-condition" => vec![after(CONDITIONS)],
        "2,after-condition" => vec![2, after(CONDITIONS)],
        "counted" => {
            let counter = if command == "MSETEX" { 1 } else { after("FIELDS") };
            (counter + 2..count).step_by(2).take(number(counter)).collect()
        }
        // Counted from the end, a value stays a value behind an option that is not known.
        "scored-2" => (skip(2, MEMBER_OPTIONS) + 1..count).rev().step_by(2).collect(),
        "scored-3" => (skip(2, MEMBER_OPTIONS) + 2..count).rev().step_by(3).collect(),
        "entry" => {
            let mut id = skip(2, ENTRY_OPTIONS);
            while is(id, "MAXLEN MINID LIMIT") {
                id = skip(skip(id + 1, "= ~") + 1, ENTRY_OPTIONS);
            }
            (id + 2..count).rev().step_by(2).collect()
        }
        unknown => unreachable!("the table of commands has values in '{unknown}'"),
    };
    Some(values.into_iter().filter(|place| *place < count).collect())
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
            ("ZADD k NX 1.5 ann 2 4111", "ZADD k NX 1.5 . 2 ."),
            ("ZREM k 4111 ann", "ZREM k . ."),
            ("ZINCRBY k 1 4111", "ZINCRBY k 1 ."),
            ("GEOADD k CH 1 2 4111 3 4 x", "GEOADD k CH 1 2 . 3 4 ."),
            ("GEOSEARCH k FROMMEMBER x BYRADIUS 5 km", "GEOSEARCH k FROMMEMBER . BYRADIUS 5 km"),
            ("LPOS k 4111 RANK 2", "LPOS k . RANK 2"),
            ("ECHO 4111", "ECHO ."),
            ("BITOP AND d a b", "BITOP AND d a b"),
            ("BITFIELD k SET u8 #1 255 OVERFLOW SAT", "BITFIELD k SET u8 #1 255 OVERFLOW SAT"),
            ("XCLAIM s g c 0 1-1 JUSTID", "XCLAIM s g c 0 1-1 JUSTID"),
            ("SET k v IFEQ old", "SET k . IFEQ ."),
            ("HSETEX k EX 5 FIELDS 2 f 1 g 2", "HSETEX k EX 5 FIELDS 2 f . g ."),
            ("BF.INSERT k CAPACITY 5 ITEMS a 1", "BF.INSERT k CAPACITY 5 ITEMS . ."),
            ("ZRANGE k 0 -1 REV", "ZRANGE k 0 -1 REV"),
            ("ZRANGEBYSCORE k (1 +inf LIMIT 0 5", "ZRANGEBYSCORE k (1 +inf LIMIT 0 5"),
            ("EXPIRE k 60", "EXPIRE k 60"),
            (
                "XADD s NOMKSTREAM MAXLEN ~ 5 LIMIT 9 1-1 f 4111 g x",
                "XADD s NOMKSTREAM MAXLEN ~ 5 LIMIT 9 1-1 f . g .",
            ),
            ("XADD s KEEPREF MINID 5 * f x", "XADD s KEEPREF MINID 5 * f ."),
            ("XADD s NEW p * f x", "XADD s NEW p . f ."),
            ("ZADD k NEW 1 x", "ZADD k NEW 1 ."),
            ("SCAN 0 MATCH secret*", "SCAN 0 MATCH ."),
            ("OBJECT ENCODING k", "OBJECT ENCODING k"),
            ("ECHO secret", "ECHO ."),
        ] {
            let words = words(text);
            let left_out = left_out_words(&words).unwrap();
            let shown = text.split(' ').enumerate();
            let shown: Vec<_> =
                shown.map(|(n, word)| if left_out.contains(&n) { "." } else { word }).collect();
            assert_eq!(shown.join(" "), kept, "{text}");
        }
    }

    #[test]
    fn a_command_that_is_invalid_without_its_values_has_no_form_without_them() {
        for text in ["JSON.SET k $ 5", "VADD k VALUES 1 5 x", "ZRANGEBYLEX k [a +", "ZRANGE k - [a BYLEX"] {
            assert_eq!(left_out_words(&words(text)), None, "{text}");
        }
    }

    #[test]
    fn the_values_of_each_sent_command_are_known() {
        let rows = include_str!("../commands.txt").lines().filter(|row| !row.starts_with('#'));
        for row in rows.filter(|row| row.split(' ').any(|word| word == "sent")) {
            assert!(row.contains(" values:"), "{row}");
            let name = row.split(' ').next().unwrap();
            left_out_words(&words(&format!("{} a b c d e f", name.replace('|', " "))));
        }
    }
}
