//! Which keys a load may have written, so that exactly these can be removed.

use std::{collections::BTreeMap, ops::Range};

use super::{KeyNames, Keyspace, Workload, presets::COUNTER};
use crate::protocol::KEY_DIGITS;

/// Names that a load may have written: of each set of keys what stands before the number, and the numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeySpan(BTreeMap<String, Range<u64>>);

impl Keyspace {
    /// The numbers of its keys, where the knob says `keyspace`.
    pub fn numbers(&self, keyspace: u64) -> Range<u64> {
        self.first..self.first.saturating_add(self.count.unwrap_or(keyspace))
    }
}

impl KeySpan {
    /// What a load of `workload` over `keyspace` keys may write.
    pub fn written_by(workload: &Workload, keyspace: u64) -> Self {
        workload.written_keys().map(|keys| (keys.prefix.clone(), keys.numbers(keyspace))).collect()
    }

    /// What a run of before sets of keys had prefixes of their own may have written.
    pub fn of_values_and_counters(values: u64, counters: u64) -> Self {
        [(String::new(), 0..values), (COUNTER.to_owned(), 0..counters)].into_iter().collect()
    }

    /// Prefix and numbers of each set.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Range<u64>)> {
        self.0.iter().map(|(prefix, numbers)| (prefix.as_str(), numbers.clone()))
    }

    /// How many names it is in all.
    pub fn total(&self) -> u64 {
        self.0.values().fold(0, |total, numbers| total.saturating_add(numbers.end - numbers.start))
    }

    /// Whether it is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether it has the name of this prefix and number.
    pub fn has(&self, prefix: &[u8], number: u64) -> bool {
        self.0.iter().any(|(own, numbers)| own.as_bytes() == prefix && numbers.contains(&number))
    }

    /// Whether `other` names nothing that this does not.
    pub fn covers(&self, other: &Self) -> bool {
        let has = |(prefix, numbers): (&String, &Range<u64>)| {
            self.0.get(prefix).is_some_and(|own| own.start <= numbers.start && numbers.end <= own.end)
        };
        other.0.iter().all(has)
    }

    /// Both together, and what lies between their numbers.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        self.0.into_iter().chain(other.0).collect()
    }

    /// All these names.
    pub fn names(self, names: &KeyNames) -> impl Iterator<Item = Vec<u8>> + use<> {
        let run = names.prefix().to_owned();
        self.0.into_iter().flat_map(move |(prefix, numbers)| {
            let prefix = format!("{run}{prefix}");
            numbers.map(move |number| format!("{prefix}{number:0KEY_DIGITS$}").into_bytes())
        })
    }
}

impl FromIterator<(String, Range<u64>)> for KeySpan {
    /// Sets of one prefix are one.
    fn from_iter<I: IntoIterator<Item = (String, Range<u64>)>>(sets: I) -> Self {
        let mut all = BTreeMap::<String, Range<u64>>::new();
        for (prefix, numbers) in sets.into_iter().filter(|(_, numbers)| !numbers.is_empty()) {
            let known = all.entry(prefix).or_insert_with(|| numbers.clone());
            *known = known.start.min(numbers.start)..known.end.max(numbers.end);
        }
        Self(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{Operation, OwnKey, RunId, preset};

    fn span(sets: &[(&str, Range<u64>)]) -> KeySpan {
        sets.iter().map(|(prefix, numbers)| ((*prefix).to_owned(), numbers.clone())).collect()
    }

    #[test]
    fn a_span_is_what_the_commands_that_write_may_reach() {
        let of = |name: &str| KeySpan::written_by(&preset(name).unwrap(), 10);
        assert_eq!(of("cache"), span(&[("", 0..10)]));
        assert_eq!(of("incr"), span(&[("counter:", 0..10)]));
        assert!(of("get").is_empty() && of("ping").is_empty());
        let both = of("cache").with(of("incr"));
        assert_eq!(both, KeySpan::of_values_and_counters(10, 10));
        assert!(both.covers(&of("incr")) && !of("cache").covers(&both));
    }

    #[test]
    fn sets_of_keys_have_numbers_of_their_own_or_those_of_the_knob() {
        let keys = |prefix: &str, first, count| Keyspace {
            prefix: prefix.to_owned(),
            first,
            count,
            ..Keyspace::default()
        };
        let mut workload = Workload::clone(&Workload::ratio(1, 0));
        workload.operations.push(Operation::command("ZADD {board} 1 {post}", 1));
        workload.operations.push(Operation::command("GET {read}", 1));
        workload.keys.extend(
            [
                ("post", keys("post:", 100, None)),
                ("board", keys("board", 0, Some(1))),
                ("read", keys("r", 0, None)),
            ]
            .map(|(name, keys)| (name.to_owned(), keys)),
        );
        let written = KeySpan::written_by(&workload, 50);
        assert_eq!(written, span(&[("", 0..50), ("board", 0..1), ("post:", 100..150)]));
        assert_eq!(written.total(), 101);
        assert!(written.has(b"post:", 149) && !written.has(b"post:", 150) && !written.has(b"r", 0));
        let grown = written.with(span(&[("post:", 20..30), ("r", 5..5)]));
        assert_eq!(grown, span(&[("", 0..50), ("board", 0..1), ("post:", 20..150)]));
    }

    #[test]
    fn its_names_are_a_runs_own() {
        let run: RunId = "4g7k2m9q".parse().unwrap();
        let span = span(&[("", 0..2), ("post:", 7..8)]);
        let names: Vec<_> = span.clone().names(&KeyNames::of_run(run)).collect();
        let expected: [&[u8]; 3] = [
            b"redyno:4g7k2m9q:000000000000",
            b"redyno:4g7k2m9q:000000000001",
            b"redyno:4g7k2m9q:post:000000000007",
        ];
        assert_eq!(names, expected);
        let is_own = |name: &Vec<u8>| {
            OwnKey::read(name).is_some_and(|own| own.run == run && span.has(own.prefix, own.number))
        };
        assert!(names.iter().all(is_own));
    }
}
