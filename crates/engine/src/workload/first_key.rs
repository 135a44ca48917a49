//! Where the first key of an operation is in its bytes, which decides the node of a cluster that gets the operation.

use super::{
    Operation, Together,
    step::{Fragment, Step},
};
use crate::{
    protocol::{key_slot, request_word},
    untrusted,
};

/// The position of an operation's first key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FirstKey {
    /// The number of the command, from 0.
    command: usize,
    /// The number of the word in the command; the command's name is word 0.
    word: usize,
}

impl FirstKey {
    /// Returns the position of the first key in the bytes that are written at once for `operation`; `None` if there
    /// is no key, or its position is unknown. Any node of a cluster can get such an operation.
    pub(super) fn of(operation: &Operation, steps: &[Step]) -> Option<Self> {
        let at_once = match operation.together {
            _ if operation.is_raw => return None,
            Together::Pipeline | Together::Multi => steps,
            Together::Sequence => &steps[..1],
        };
        // A transaction begins with MULTI.
        let before = usize::from(operation.together == Together::Multi);
        at_once
            .iter()
            .enumerate()
            .find_map(|(place, step)| first_key(step).map(|word| Self { command: before + place, word }))
    }

    /// Returns the slot of the key in an encoded operation; `None` if the key is not found there.
    pub(super) fn slot(self, operation: &[u8]) -> Option<u16> {
        request_word(operation, self.command, self.word).map(key_slot)
    }
}

/// Commands without keys, with `*` for any end of the name.
const KEYLESS: &str = "\
    ACL|* ASKING AUTH BGREWRITEAOF BGSAVE CLIENT|* CLUSTER|* COMMAND COMMAND|* CONFIG|* DBSIZE DEBUG DISCARD ECHO \
    EXEC FLUSHALL FLUSHDB FT.* FUNCTION|* HELLO INFO KEYS LASTSAVE LATENCY|* LOLWUT MEMORY|DOCTOR MEMORY|PURGE \
    MEMORY|STATS MODULE|* MULTI PING PUBLISH PUBSUB|* RANDOMKEY ROLE SAVE SCAN SCRIPT|* SLOWLOG|* SWAPDB TIME \
    UNWATCH WAIT WAITAOF";
/// Commands whose first key is word 2.
const SECOND: &str = "BITOP MEMORY|USAGE OBJECT|* TR.BITOP XGROUP|* XINFO|*";
/// Commands with the number of their keys as word 1.
const COUNTED_FIRST: &str = "LMPOP SINTERCARD ZDIFF ZINTER ZINTERCARD ZMPOP ZUNION";
/// Commands with the number of their keys as word 2.
const COUNTED_SECOND: &str = "BLMPOP BZMPOP EVAL EVALSHA EVALSHA_RO EVAL_RO FCALL FCALL_RO";
/// Commands whose keys follow the word STREAMS.
const OF_STREAMS: &str = "XREAD XREADGROUP";

/// Returns the position of a step's first key. The first key of an unknown command is its first argument.
fn first_key(step: &Step) -> Option<usize> {
    let command = step.command().unwrap_or_default();
    let is_in = |list: &str| {
        list.split(' ').any(|name| match name.strip_suffix('*') {
            Some(beginning) => command.starts_with(beginning),
            None => command == name,
        })
    };
    let text = |place: usize| match step.0.get(place)?.as_slice() {
        [Fragment::Text(text)] => Some(untrusted::bytes(text).to_ascii_uppercase()),
        _ => None,
    };
    let has_none = |count: usize| text(count).is_some_and(|keys| keys == "0");
    let word = if is_in(KEYLESS) {
        return None;
    } else if is_in(SECOND) || is_in(COUNTED_FIRST) {
        2
    } else if is_in(COUNTED_SECOND) {
        if has_none(2) {
            return None;
        }
        3
    } else if is_in(OF_STREAMS) {
        1 + (1..step.0.len()).find(|place| text(*place).is_some_and(|word| word == "STREAMS"))?
    } else {
        1
    };
    (word < step.0.len()).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        protocol::Dialect,
        workload::{
            Draws, Outgoing,
            testing::{described, of, program},
        },
    };

    #[test]
    fn the_first_key_is_where_the_command_has_it() {
        for (step, word) in [
            ("GET {key}", Some(1)),
            ("SET app:{key}:x {value}", Some(1)),
            ("ping", None),
            ("CLIENT ID", None),
            ("SCRIPT LOAD 'return 1'", None),
            ("BITOP AND {key} {a}", Some(2)),
            ("OBJECT ENCODING {key}", Some(2)),
            ("MEMORY USAGE {key}", Some(2)),
            ("MEMORY DOCTOR", None),
            ("XGROUP CREATE {key} g $", Some(2)),
            ("SINTERCARD 2 {key} {a}", Some(2)),
            ("EVAL 'return 1' 0", None),
            ("EVAL 'return 1' 1 {key} x", Some(3)),
            ("XREADGROUP GROUP g c COUNT 1 streams {key} >", Some(7)),
            ("XREAD COUNT 1", None),
            ("NEWER.COMMAND {key} x", Some(1)),
            ("FT.SEARCH idx x", None),
        ] {
            assert_eq!(first_key(&Step::read(step, &described()).unwrap()), word, "{step}");
        }
    }

    fn slot(together: Together, steps: &[&str]) -> Option<u16> {
        let steps = steps.iter().map(|step| (*step).to_owned()).collect();
        let operation = Operation { together, steps, ..Operation::command("x", 1) };
        let program = program(&of(vec![operation]), 1);
        let (mut draws, mut out) = (Draws::new(1), Outgoing::default());
        let op = program.append(&mut draws, &mut out);
        program.slot(op, &out.bytes)
    }

    #[test]
    fn an_operation_has_the_slot_of_its_first_key() {
        let drawn = Some(key_slot(b"k:key:000000000000"));
        use Together::{Multi, Pipeline, Sequence};
        assert_eq!(slot(Pipeline, &["SET {key} {value}"]), drawn);
        assert_eq!(slot(Multi, &["PING", "INCR {key}"]), drawn);
        assert_eq!(slot(Pipeline, &["PING", "GET {key}"]), drawn);
        assert_eq!(slot(Pipeline, &["SET 'a {value}' {key}"]), slot(Pipeline, &["SET 'a {value}' x"]));
        assert_eq!(slot(Sequence, &["GET foo", "SET {key} x"]), Some(12_182));
        assert_eq!(slot(Sequence, &["PING", "SET {key} x"]), None);
        assert_eq!(slot(Pipeline, &["PING"]), None);
    }

    #[test]
    fn bytes_that_are_written_as_they_are_have_no_slot() {
        let raw = Operation { is_raw: true, ..Operation::command("GET foo\r\n", 1) };
        assert_eq!(FirstKey::of(&raw, &[Step::read("GET foo", &described()).unwrap()]), None);
        assert_eq!(request_word(&Dialect::Resp2.encode(&[b"GET"]), 0, 1), None);
    }
}
