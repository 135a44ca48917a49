//! A step of a workload's operation: one command, with placeholders in its words.

use super::{Portion, command_traits, command_traits::can_be_declared, commands};
use crate::{protocol::Derived, untrusted};

/// A command as a list of words. Each word is a list of fragments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CommandStep(pub(super) Vec<Vec<Fragment>>);

/// A part of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fragment {
    /// Literal bytes.
    Text(Vec<u8>),
    /// A key of the set with this number. The sets are numbered in the order of their names.
    Key(u16),
    /// In a prefill, the next key of this set in order.
    Given(u16),
    /// The next new key of this set.
    New(u16),
    /// The last drawn key of this set in the operation.
    Same(u16),
    /// The next key of this set in the same slot as the last drawn key of the operation.
    SameSlot(u16),
    /// Bytes that are derived from a key of this set. The inner fragment draws or repeats the key.
    Derived(u16, Box<Fragment>, Derived),
    /// A value of the kind with this number.
    Value(u16),
    /// A random whole number in this range, including both ends.
    Number(u64, u64),
    /// The time in milliseconds since 1970.
    Now,
    /// A part of a message's stamp. Receivers compute the delivery time from the stamp. The channel of the
    /// message is the last drawn key of this set.
    Stamp(StampPart, u16),
    /// The CAS number of the item in the reply to the previous step.
    Cas,
    /// The cursor in the reply to the client's last SCAN.
    Cursor,
    /// A part of the record that the operation uses.
    OfRecord(Portion),
}

/// A part of a message's stamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StampPart {
    /// The number of the message on its channel.
    Number,
    /// The time of sending, which follows the number.
    Time,
    /// The number of the channel.
    Channel,
}

impl Fragment {
    /// Returns the key from which the fragment is derived. For other fragments, returns the fragment itself.
    pub(super) fn key(&self) -> &Self {
        if let Self::Derived(_, key, _) = self { key } else { self }
    }

    /// Returns the set from which the fragment draws an existing key or a new key.
    pub(super) fn draws(&self) -> Option<u16> {
        if let Self::Key(set) | Self::New(set) | Self::SameSlot(set) = self.key() { Some(*set) } else { None }
    }

    /// Replaces the fragment's key by the next key of `set` in order. The fragment may be derived from its
    /// key.
    pub(super) fn give(&mut self, set: u16) {
        match self {
            Self::Derived(_, key, _) => **key = Self::Given(set),
            key => *key = Self::Given(set),
        }
    }

    /// If the fragment is exactly the name of a key, returns the set of this key.
    pub(super) fn whole_key(&self) -> Option<u16> {
        match self {
            Self::Key(set) | Self::New(set) | Self::Same(set) | Self::SameSlot(set) => Some(*set),
            _ => None,
        }
    }

    /// Returns the set into which the fragment inserts a key.
    pub(super) fn inserts(&self) -> Option<u16> {
        if let Self::New(set) = self.key() { Some(*set) } else { None }
    }

    /// If the fragment is the next key of a set in order, returns this set.
    pub(super) fn given(&self) -> Option<u16> {
        if let Self::Given(set) = self.key() { Some(*set) } else { None }
    }

    /// Returns the set whose last drawn key the fragment needs.
    pub(super) fn repeats(&self) -> Option<u16> {
        match self.key() {
            Self::Same(set) | Self::SameSlot(set) | Self::Stamp(_, set) => Some(*set),
            _ => None,
        }
    }
}

impl CommandStep {
    /// Returns the kinds of values that the step sends, in their order on the wire.
    pub(super) fn values(&self) -> impl Iterator<Item = u16> {
        self.fragments()
            .filter_map(|fragment| if let Fragment::Value(kind) = fragment { Some(*kind) } else { None })
    }

    /// Returns whether one of the words is `word`, in upper or lower case.
    pub(super) fn has_word(&self, word: &str) -> bool {
        let is_it = |fragments: &Vec<Fragment>| match fragments.as_slice() {
            [Fragment::Text(text)] => text.eq_ignore_ascii_case(word.as_bytes()),
            _ => false,
        };
        self.0.iter().any(is_it)
    }

    /// Returns the name of the command in the server's statistics: `GET` or `SCRIPT|LOAD`. Returns `None` if there is
    /// no command, or if its name contains a placeholder.
    pub(super) fn command(&self) -> Option<String> {
        let name = self.fixed_word(0)?;
        match self.fixed_word(1).filter(|_| command_traits(&name).group) {
            Some(sub) => Some(format!("{name}|{sub}")),
            None => Some(name),
        }
    }

    /// Returns a word in upper case, or `None` if there is no such word or if the word differs between requests.
    pub(super) fn fixed_word(&self, place: usize) -> Option<String> {
        match self.0.get(place)?.as_slice() {
            [Fragment::Text(text)] => Some(untrusted::bytes(text).to_ascii_uppercase()),
            _ => None,
        }
    }

    /// Returns the keys that the step writes and the channels to which it sends, if they are outside the run. Each key
    /// or channel follows its command in the text. If the keys are unknown, the text is only the command. `is_bare`
    /// returns whether a set of keys has no prefix.
    pub(super) fn literal_writes(&self, is_bare: impl Fn(u16) -> bool) -> Vec<String> {
        let Some(command) = self.command() else { return vec![self.beginning(0)] };
        if self.only_reads() && !self.sends_messages() {
            return Vec::new();
        }
        let keys = commands::written_keys(&command, self.0.len(), |place| self.fixed_word(place));
        let shown = command.replace('|', " ");
        if keys.is_empty() {
            return vec![shown];
        }
        // A key with text around it belongs to no set, so redyno would not find the key when it removes the
        // keys of the run.
        let is_own = |place: &&usize| match self.0[**place].as_slice() {
            [fragment] => fragment.whole_key().is_some_and(|set| !is_bare(set)),
            _ => false,
        };
        let others = keys.iter().filter(|place| !is_own(place));
        others.map(|place| format!("{shown} {}", self.beginning(*place))).collect()
    }

    /// Returns the fixed text at the beginning of a word, for the user. Returns `…` if the word does not begin with
    /// fixed text.
    fn beginning(&self, place: usize) -> String {
        match self.0.get(place).and_then(|word| word.first()) {
            Some(Fragment::Text(text)) => untrusted::bytes(text),
            Some(Fragment::OfRecord(portion)) => untrusted::text(&portion.to_string()),
            _ => "…".to_owned(),
        }
    }

    /// Returns whether the step sends a message to the subscribers of a channel.
    pub(super) fn sends_messages(&self) -> bool {
        self.command().is_some_and(|command| ["PUBLISH", "SPUBLISH"].contains(&command.as_str()))
    }

    /// Returns whether the step is known to change no data.
    pub(super) fn only_reads(&self) -> bool {
        // The command mg of memcached only reads, unless a flag creates missing items (N) or sets their TTL (T).
        let changes = |word: &Vec<Fragment>| match word.first() {
            Some(Fragment::Text(text)) => text.starts_with(b"N") || text.starts_with(b"T"),
            _ => true,
        };
        match self.command() {
            Some(command) if command == "MG" => !self.0.iter().skip(2).any(changes),
            command => command.is_some_and(|command| command_traits(&command).reads),
        }
    }

    /// Returns whether the step is known to change data, so that the flag `writes` of its operation cannot deny it.
    pub(super) fn is_known_to_write(&self) -> bool {
        let stores = ["STORE", "STOREDIST"].iter().any(|option| self.has_word(option));
        !self.only_reads() && (stores || self.command().is_none_or(|command| !can_be_declared(&command)))
    }

    /// Returns whether the step sends the CAS number from the reply to the previous step.
    pub(super) fn awaits_cas(&self) -> bool {
        self.fragments().any(|fragment| *fragment == Fragment::Cas)
    }

    /// Returns whether the step sends the cursor from the reply to the last SCAN.
    pub(super) fn has_cursor(&self) -> bool {
        self.fragments().any(|fragment| *fragment == Fragment::Cursor)
    }

    /// Returns all fragments of the step, in their order on the wire.
    pub(super) fn fragments(&self) -> impl Iterator<Item = &Fragment> {
        self.0.iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::testing::described;

    #[test]
    fn a_step_is_read_only_if_its_command_is_known_as_read_only() {
        for (written, reads) in [
            ("get {key}", true),
            ("mg {key} v t s", true),
            ("mg {key} v T60", false),
            ("mg {key} N30", false),
            ("mg {key} {number 1..2}", false),
            ("gat 10 {key}", false),
            ("{key} x", false),
        ] {
            assert_eq!(CommandStep::read(written, &described()).unwrap().only_reads(), reads, "{written}");
        }
    }

    #[test]
    fn a_command_has_its_name_in_the_servers_statistics() {
        for (written, name) in [
            ("get {key}", Some("GET")),
            ("\"SET\" {key} x", Some("SET")),
            ("script load 'return 1'", Some("SCRIPT|LOAD")),
            ("client {key}", Some("CLIENT")),
            ("FT.CREATE index SCHEMA", Some("FT.CREATE")),
            ("{key} x", None),
            ("", None),
            ("\"\"", None),
        ] {
            assert_eq!(
                CommandStep::read(written, &described()).unwrap().command().as_deref(),
                name,
                "{written}"
            );
        }
    }

    #[test]
    fn writes_to_other_keys_than_the_runs_own_are_found() {
        for (written, expected) in [
            ("GET foo", vec![]),
            ("SET {key} foo", vec![]),
            ("MSET {key.new} 1 {key.same} 2", vec![]),
            ("MSET {key} 1 {key.same_slot} 2", vec![]),
            ("SET foo {value}", vec!["SET foo"]),
            ("set 'my foo' x", vec!["SET my foo"]),
            ("MSET {key} 1 foo 2 {a} 3", vec!["MSET foo"]),
            ("DEL {key} foo bar", vec!["DEL foo", "DEL bar"]),
            ("RENAME {key} foo", vec!["RENAME foo"]),
            ("SET app:{key} x", vec!["SET app:"]),
            ("EVAL 'return 1' 0", vec!["EVAL"]),
            ("EVAL 'return 1' 2 {key} foo bar", vec!["EVAL foo"]),
            ("EVAL 'return 1' {number 1..2} {key} foo", vec!["EVAL"]),
            ("SORT {key} DESC store foo", vec!["SORT foo"]),
            ("SORT {key} STORE {key.same}", vec![]),
            ("GEORADIUS {key} 1 2 3 m STORE foo STOREDIST bar", vec!["GEORADIUS foo", "GEORADIUS bar"]),
            ("GEORADIUSBYMEMBER {key} m 3 m STOREDIST foo", vec!["GEORADIUSBYMEMBER foo"]),
            ("BLPOP {key} foo 1", vec!["BLPOP foo"]),
            ("BRPOP foo {key} bar 1", vec!["BRPOP foo", "BRPOP bar"]),
            ("BZPOPMIN {key} foo 1", vec!["BZPOPMIN foo"]),
            ("BZPOPMAX {key} 1", vec![]),
            ("LMPOP 2 {key} foo LEFT", vec!["LMPOP foo"]),
            ("ZMPOP {number 1..2} {key} foo MIN", vec!["ZMPOP"]),
            ("BLMPOP 1 2 {key} foo LEFT", vec!["BLMPOP foo"]),
            ("BZMPOP 1 1 {key} MIN", vec![]),
            ("MSETEX 2 {key} 1 foo 2 EX 9", vec!["MSETEX foo"]),
            ("XREADGROUP GROUP g c STREAMS {key} foo > >", vec!["XREADGROUP foo"]),
            ("XGROUP DESTROY {key} g", vec![]),
            ("TS.MADD {key} 1 2 foo 1 2", vec!["TS.MADD foo"]),
            ("TS.CREATERULE {key} foo AGGREGATION avg 9", vec!["TS.CREATERULE foo"]),
            ("publish foo {value}", vec!["PUBLISH foo"]),
            ("SPUBLISH {key} {value}", vec![]),
            ("PUBLISH {zz_bare} x", vec!["PUBLISH \u{2026}"]),
            ("FLUSHALL", vec!["FLUSHALL"]),
            ("XGROUP CREATE {key} g $", vec![]),
            ("BITOP AND foo {key}", vec!["BITOP foo"]),
            ("NEWER.COMMAND idx {key}", vec!["NEWER.COMMAND idx"]),
            ("{key} foo", vec!["\u{2026}"]),
            ("SET {zz_bare} x", vec!["SET \u{2026}"]),
            ("SET {key}:{zz_bare} x", vec!["SET \u{2026}"]),
            ("SET {key}:x x", vec!["SET \u{2026}"]),
            ("SET {key.hash} {key.same}", vec!["SET \u{2026}"]),
            ("DEL {key} {vector key.same 4}", vec!["DEL \u{2026}"]),
            ("MOVE {key} 1", vec!["MOVE"]),
            ("COPY {key} {key.same} db 1", vec!["COPY"]),
            ("COPY {key} foo REPLACE", vec!["COPY foo"]),
            ("MEMORY USAGE foo", vec![]),
            ("OBJECT REFCOUNT {key}", vec![]),
            ("XINFO STREAM foo", vec![]),
            ("PUBSUB NUMSUB foo", vec![]),
            ("CLIENT NO-EVICT on", vec!["CLIENT NO-EVICT"]),
            ("HSET doc:__field:id__ title __field:title__", vec!["HSET doc:"]),
            ("HSET __field:id__ title x", vec!["HSET __field:id__"]),
            ("HSET {key}:__field:id__ title x", vec!["HSET \u{2026}"]),
        ] {
            let workload = described();
            let step = CommandStep::read(written, &workload).unwrap();
            assert_eq!(step.literal_writes(|set| workload.keyset(set).1.bare), expected, "{written}");
        }
    }
}
