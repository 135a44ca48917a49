//! Adds the sets of keys and the kinds of values that the commands of a workload define themselves, such as
//! `{key zipfian 1.1}` and `{value 64..1024}`. Commands can also contain placeholders of other tools.
//!
//! ```text
//!  {key zipfian 1.1}   ──► the keys "key zipfian 1.1": those of `key` with this distribution
//!  {value 64..1024}    ──► the values "value 64..1024"
//!  __rand_int__        ──► the keys "__rand_int__": numbers alone, without a prefix
//! ```
//! The text between the braces becomes the name of a set of keys or a kind of values in the workload.

use std::collections::BTreeMap;

use super::{Keyset, ValueKind, Workload};

/// Placeholders of other tools for a number below the number of keys. In redis-benchmark and valkey-benchmark, the
/// number has twelve digits. In the benchmark of TairRoaring, the number has no leading zeros.
const NUMBERS: [(&str, u8); 12] = [
    ("__rand_int__", 12),
    ("__rand_1st__", 12),
    ("__rand_2nd__", 12),
    ("__rand_3rd__", 12),
    ("__rand_4th__", 12),
    ("__rand_5th__", 12),
    ("__rand_6th__", 12),
    ("__rand_7th__", 12),
    ("__rand_8th__", 12),
    ("__rand_9th__", 12),
    ("__RAND__", 0),
    ("__RAND2__", 0),
];

/// Returns the placeholders of other tools for a number, such as `__rand_int__`, each with the set from which
/// the number is drawn.
pub fn numbers() -> impl Iterator<Item = (&'static str, Keyset)> {
    NUMBERS.into_iter().map(|(name, digits)| (name, Keyset { bare: true, digits, ..Keyset::default() }))
}

/// Returns whether all occurrences of a placeholder in an operation have the same number.
pub(super) fn is_drawn_once(name: &str) -> bool {
    name.starts_with("__rand_") && name != "__rand_int__"
}

/// Returns the placeholder of another tool at the beginning of `text`, such as `__key__`.
pub(super) fn foreign_name(text: &str) -> Option<&str> {
    let length = text.strip_prefix("__")?.find("__")? + 4;
    text.get(..length)
}

/// Splits a text that begins with an opening brace into the text within the braces and the text after the braces. The
/// function accepts no nested braces, so it checks each brace only once.
pub(super) fn braced(text: &str) -> Option<(&str, &str)> {
    let inner = text.strip_prefix('{')?;
    let end = inner.find(['{', '}'])?;
    Some((&inner[..end], inner[end..].strip_prefix('}')?))
}

impl Workload {
    /// Returns the workload with the sets of keys and kinds of values that its steps define.
    #[must_use]
    pub(super) fn with_step_definitions(mut self) -> Self {
        let operations = self.operations.iter().flat_map(|operation| &operation.steps);
        let steps: Vec<_> = operations.chain(&self.setup.steps).chain(&self.prefill.steps).cloned().collect();
        for step in steps {
            for (at, _) in step.match_indices(['{', '_']) {
                let text = &step[at..];
                if let Some((inner, _)) = braced(text) {
                    self.add_described(inner);
                } else if let Some(name) = foreign_name(text) {
                    self.add_foreign(name);
                }
            }
        }
        self
    }

    fn add_described(&mut self, name: &str) {
        let Some((base, form)) = name.split_once(' ') else { return };
        if self.keys.contains_key(name) || self.values.contains_key(name) {
            return;
        }
        if let (Some(keys), Ok(distribution)) = (self.keys.get(base), form.parse()) {
            self.keys.insert(name.to_owned(), Keyset { distribution, ..keys.clone() });
        } else if let (Some(_), Ok(kind)) = (self.value_kind(base), form.parse::<ValueKind>()) {
            self.values.insert(name.to_owned(), kind);
        }
    }

    /// Adds the set of keys or the kind of values that a placeholder of another tool needs.
    fn add_foreign(&mut self, name: &str) {
        match (name, self.keys.get("key")) {
            ("__data__", _) => drop(self.values.entry(name.to_owned()).or_default()),
            ("__key__", Some(keys)) => {
                let keys = keys.clone();
                self.keys.entry(name.to_owned()).or_insert(keys);
            }
            _ => {
                let numbers = numbers().find(|(known, _)| *known == name);
                let numbers = numbers.filter(|_| !self.keys.contains_key(name));
                self.keys.extend(numbers.map(|(name, numbers)| (name.to_owned(), numbers)));
            }
        }
    }
}

/// Returns `text`, in which N copies of the words replace each `{repeat N: WORDS}`. In each copy, `{i}` becomes the
/// number of the copy, from 0. An invalid repetition stays unchanged. `room` is the number of bytes that the copies of
/// this and of later texts may have. Returns `None` if the copies need more. After that, `room` is `None`, and no
/// repetition is written out.
pub(super) fn written_out(text: &str, room: &mut Option<usize>) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    let closing = if text.contains(REPEAT) { closing(text) } else { BTreeMap::new() };
    while let Some(begins) = text[at..].find(REPEAT).map(|begins| at + begins) {
        out.push_str(&text[at..begins]);
        let behind = begins + REPEAT.len();
        let repeated = closing.get(&begins).and_then(|end| Some((repeated(&text[behind..*end])?, end + 1)));
        at = match repeated {
            Some(((times, words), after)) => {
                // The number of a copy has at most one byte more than `{i}`.
                let each = words.len() + words.matches("{i}").count() + 1;
                *room = room.and_then(|room| room.checked_sub(times as usize * each));
                room.as_ref()?;
                let copies = (0..times).map(|i| words.replace("{i}", &i.to_string()));
                out.push_str(&copies.collect::<Vec<_>>().join(" "));
                after
            }
            None => {
                out.push_str(REPEAT);
                behind
            }
        };
    }
    Some(out + &text[at..])
}

/// Returns the position of the closing brace for each opening brace.
fn closing(text: &str) -> BTreeMap<usize, usize> {
    let (mut open, mut closing) = (Vec::new(), BTreeMap::new());
    for (at, brace) in text.match_indices(['{', '}']) {
        match brace {
            "{" => open.push(at),
            _ => closing.extend(open.pop().map(|begins| (begins, at))),
        }
    }
    closing
}

const REPEAT: &str = "{repeat ";
/// The maximum number of bytes in all copies of a workload.
pub(super) const MOST_REPEATED: usize = 1 << 20;
/// The maximum number of repetitions.
const MOST_TIMES: u32 = 10_000;

/// Parses `N: WORDS`. Returns the number of repetitions and the words.
fn repeated(inner: &str) -> Option<(u32, &str)> {
    let (times, words) = inner.split_once(':')?;
    let times = times.trim().parse().ok().filter(|times| *times <= MOST_TIMES)?;
    Some((times, words.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{Distribution, Operation, Size};

    fn with(step: &str) -> Workload {
        let keys = [("key".to_owned(), Keyset { prefix: "k:".to_owned(), ..Keyset::default() })].into();
        Workload { keys, operations: vec![Operation::command(step, 1)], ..Workload::default() }
            .with_step_definitions()
    }

    #[test]
    fn a_step_defines_keys_and_values() {
        let workload = with("SET {key zipfian 1.1} {value 64..1024} EX {number 1..9}");
        let keys = &workload.keys["key zipfian 1.1"];
        assert_eq!((keys.distribution, keys.prefix.as_str()), (Distribution::Zipfian(1.1), "k:"));
        assert_eq!(workload.values["value 64..1024"].size, Size::Range { from: 64, to: 1024 });
        assert_eq!((workload.keys.len(), workload.values.len()), (2, 1));
    }

    #[test]
    fn other_braces_and_underscores_define_nothing() {
        let workload = with("SET {key nonsense} {other zipfian} {value} {\"a\": 1} __x__ __ _ {key");
        assert_eq!((workload.keys.len(), workload.values.len()), (1, 0));
    }

    #[test]
    fn the_numbers_of_other_tools_have_no_prefix() {
        let workload = with("MSET key:__rand_int__ __rand_1st__ foo-__RAND__ __data__");
        let names: Vec<_> = workload.keys.keys().map(String::as_str).collect();
        assert_eq!(names, ["__RAND__", "__rand_1st__", "__rand_int__", "key"]);
        assert!(workload.values.contains_key("__data__"));
        let all = workload.keys.values().map(|keys| (keys.bare, keys.digits)).collect::<Vec<_>>();
        assert_eq!(all, [(true, 0), (true, 12), (true, 12), (false, 12)]);
    }

    #[test]
    fn the_copies_of_all_texts_have_a_limit() {
        let mut room = Some(19);
        let mut write = |text: &str| written_out(text, &mut room);
        assert_eq!(write("{repeat 2: a{i}b}").as_deref(), Some("a0b a1b"));
        assert_eq!(write("{repeat 3: a}"), None);
        assert_eq!((write("{repeat 1: a}"), write("a")), (None, Some("a".to_owned())), "from now on");
    }

    #[test]
    fn words_are_repeated_with_the_number_of_the_copy() {
        for (text, out) in [
            ("HSET {key} {repeat 2: field{i} {value}} x", "HSET {key} field0 {value} field1 {value} x"),
            ("MGET {repeat 3:{key}}", "MGET {key} {key} {key}"),
            ("{repeat 0: a}", ""),
            ("{repeat x: a} {repeat 2: a", "{repeat x: a} {repeat 2: a"),
            ("{repeat 99999: a}", "{repeat 99999: a}"),
        ] {
            assert_eq!(written_out(text, &mut Some(100)).as_deref(), Some(out));
        }
    }
}
