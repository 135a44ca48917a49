//! Sets of keys and kinds of values that a step describes itself: `{key zipfian 1.1}`, `{value 64..1024}`, and
//! placeholders of other tools.
//!
//! ```text
//!  {key zipfian 1.1}   ──► the keys "key zipfian 1.1": those of `key` with this distribution
//!  {value 64..1024}    ──► the values "value 64..1024"
//!  __rand_int__        ──► the keys "__rand_int__": numbers alone, without a prefix
//! ```
//! They are added to the workload under the text between the braces, so that a step refers to names only.

use std::collections::BTreeMap;

use super::{Keyset, ValueKind, Workload};

/// Placeholders for a number below the keyspace: with twelve digits (redis-benchmark's, valkey-benchmark's), or without
/// padding (the TairRoaring tool's).
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

/// Returns the placeholders for a number, and what each draws if the knob sets the number of keys.
pub fn numbers() -> impl Iterator<Item = (&'static str, Keyset)> {
    NUMBERS.into_iter().map(|(name, digits)| (name, Keyset { bare: true, digits, ..Keyset::default() }))
}

/// Returns whether a placeholder has the same number everywhere in an operation.
pub(super) fn is_drawn_once(name: &str) -> bool {
    name.starts_with("__rand_") && name != "__rand_int__"
}

/// Returns the name at the beginning of `text`, if that is a placeholder of another tool: `__key__`.
pub(super) fn foreign_name(text: &str) -> Option<&str> {
    let length = text.strip_prefix("__")?.find("__")? + 4;
    text.get(..length)
}

/// Returns the text in the braces with which `text` begins, and the rest after them. Braces are not nested: each is
/// checked once, however many there are.
pub(super) fn braced(text: &str) -> Option<(&str, &str)> {
    let inner = text.strip_prefix('{')?;
    let end = inner.find(['{', '}'])?;
    Some((&inner[..end], inner[end..].strip_prefix('}')?))
}

impl Workload {
    /// Returns the workload with the sets of keys and kinds of values that its steps describe.
    #[must_use]
    pub(super) fn with_inline(mut self) -> Self {
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

    /// Adds the set of a placeholder of another tool.
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

/// Returns `text` with each `{repeat N: WORDS}` expanded: the words N times, with `{i}` in them as the number of the
/// repetition, from 0. Invalid ones are unchanged.
pub(super) fn written_out(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    let closing = if text.contains(REPEAT) { closing(text) } else { BTreeMap::new() };
    while let Some(begins) = text[at..].find(REPEAT).map(|begins| at + begins) {
        out.push_str(&text[at..begins]);
        let behind = begins + REPEAT.len();
        let repeated = closing.get(&begins).and_then(|end| Some((repeated(&text[behind..*end])?, end + 1)));
        at = match repeated {
            Some(((times, words), after)) => {
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
    out + &text[at..]
}

/// Returns where each opening brace is closed.
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
/// The most repetitions.
const MOST_TIMES: u32 = 10_000;

/// Returns the number of repetitions, and the words.
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
        Workload { keys, operations: vec![Operation::command(step, 1)], ..Workload::default() }.with_inline()
    }

    #[test]
    fn what_a_step_describes_is_drawn_so() {
        let workload = with("SET {key zipfian 1.1} {value 64..1024} EX {number 1..9}");
        let keys = &workload.keys["key zipfian 1.1"];
        assert_eq!((keys.distribution, keys.prefix.as_str()), (Distribution::Zipfian(1.1), "k:"));
        assert_eq!(workload.values["value 64..1024"].size, Size::Range { from: 64, to: 1024 });
        assert_eq!((workload.keys.len(), workload.values.len()), (2, 1));
    }

    #[test]
    fn what_describes_nothing_stays_as_it_is() {
        let workload = with("SET {key nonsense} {other zipfian} {value} {\"a\": 1} __x__ __ _ {key");
        assert_eq!((workload.keys.len(), workload.values.len()), (1, 0));
    }

    #[test]
    fn the_numbers_of_other_tools_are_numbers_alone() {
        let workload = with("MSET key:__rand_int__ __rand_1st__ foo-__RAND__ __data__");
        let names: Vec<_> = workload.keys.keys().map(String::as_str).collect();
        assert_eq!(names, ["__RAND__", "__rand_1st__", "__rand_int__", "key"]);
        assert!(workload.values.contains_key("__data__"));
        let all = workload.keys.values().map(|keys| (keys.bare, keys.digits)).collect::<Vec<_>>();
        assert_eq!(all, [(true, 0), (true, 12), (true, 12), (false, 12)]);
    }

    #[test]
    fn words_are_repeated_with_the_number_of_the_time() {
        for (text, out) in [
            ("HSET {key} {repeat 2: field{i} {value}} x", "HSET {key} field0 {value} field1 {value} x"),
            ("MGET {repeat 3:{key}}", "MGET {key} {key} {key}"),
            ("{repeat 0: a}", ""),
            ("{repeat x: a} {repeat 2: a", "{repeat x: a} {repeat 2: a"),
            ("{repeat 99999: a}", "{repeat 99999: a}"),
        ] {
            assert_eq!(written_out(text), out);
        }
    }
}
