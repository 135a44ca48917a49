//! The keys that a load may have written: the sets of keys, with their formats and numbers. redyno removes
//! exactly these keys.

use std::{cmp::Ordering, ops::Range};

use super::{KeyForm, KeyNames, KeyNaming, Keyset, Workload};

/// The names of all keys that a load may have written, grouped by sets of keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeySpan(Vec<NameSet>);

/// The names of one set of keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameSet {
    /// The prefix before the number.
    pub prefix: String,
    /// The format of the number.
    pub form: KeyForm,
    /// The numbers of the keys.
    pub numbers: Range<u64>,
    /// Whether the set also includes all higher numbers. A set is open while a load inserts keys, because the last
    /// number is not known yet.
    pub is_open: bool,
}

impl From<(String, Range<u64>)> for NameSet {
    /// Creates a set with numbers of twelve digits.
    fn from((prefix, numbers): (String, Range<u64>)) -> Self {
        Self { prefix, form: KeyForm::default(), numbers, is_open: false }
    }
}

impl NameSet {
    fn order(&self, other: &Self) -> Ordering {
        (&self.prefix, self.form).cmp(&(&other.prefix, other.form))
    }

    /// Returns the number in `name` if the name has the set's prefix and format.
    fn number(&self, name: &[u8]) -> Option<u64> {
        self.form.read(name.strip_prefix(self.prefix.as_bytes())?)
    }

    /// Returns whether the set may contain this name. A hash cannot be reversed, so every hash counts as a name of the
    /// set.
    fn has(&self, name: &[u8]) -> bool {
        let reaches = |number| number >= self.numbers.start && (self.is_open || number < self.numbers.end);
        self.number(name).is_some_and(|number| self.form.is_hashed() || reaches(number))
    }

    fn covers(&self, other: &Self) -> bool {
        let ends_behind = self.is_open || !other.is_open && other.numbers.end <= self.numbers.end;
        self.order(other).is_eq() && self.numbers.start <= other.numbers.start && ends_behind
    }

    /// Returns the name with the highest known number. If the set includes higher numbers, ` and on` follows. For the
    /// names of a trace, returns the prefix and `*`.
    pub fn last(&self) -> String {
        if self.form.naming == KeyNaming::Anything {
            return self.prefix.clone() + "*";
        }
        let name = self.prefix.clone() + &self.form.write(self.numbers.end.saturating_sub(1));
        name + if self.is_open { " and on" } else { "" }
    }
}

impl KeySpan {
    /// Returns the names that a load of `workload` with `keyspace` keys may write.
    pub fn written_by(workload: &Workload, keyspace: u64) -> Self {
        let set = |(keys, is_open): (&Keyset, bool)| NameSet {
            prefix: keys.prefix.clone(),
            form: keys.form(),
            numbers: keys.numbers(keyspace),
            is_open: is_open || keys.naming == KeyNaming::Anything,
        };
        workload.written_keys().map(set).collect()
    }

    /// Returns the sets, sorted by prefix.
    pub fn iter(&self) -> impl Iterator<Item = &NameSet> {
        self.0.iter()
    }

    /// Returns the number of names, or `None` if the last name of a set is unknown.
    pub fn total(&self) -> Option<u64> {
        let count = |set: &NameSet| (!set.is_open).then(|| set.numbers.end - set.numbers.start);
        self.0.iter().try_fold(0_u64, |total, set| Some(total.saturating_add(count(set)?)))
    }

    /// Returns whether the span has no names.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether a key with this name may have been written. The name does not include the prefix of the run.
    pub fn has(&self, name: &[u8]) -> bool {
        self.0.iter().any(|set| set.has(name))
    }

    /// Returns whether the name has the prefix and the format of any set.
    pub fn has_form(&self, name: &[u8]) -> bool {
        self.0.iter().any(|set| set.number(name).is_some())
    }

    /// Returns whether the span includes all names of `other`.
    pub fn covers(&self, other: &Self) -> bool {
        other.0.iter().all(|other| self.0.iter().any(|set| set.covers(other)))
    }

    /// Returns the names of both spans. A set in both spans gets all numbers from the lowest to the highest.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        self.0.into_iter().chain(other.0).collect()
    }

    /// Returns all names, up to the highest known number of each set.
    pub fn names(self, names: &KeyNames) -> impl Iterator<Item = Vec<u8>> + use<> {
        let run = names.prefix().to_owned();
        self.0.into_iter().flat_map(move |set| {
            let prefix = format!("{run}{}", set.prefix);
            set.numbers.map(move |number| format!("{prefix}{}", set.form.write(number)).into_bytes())
        })
    }
}

impl<S: Into<NameSet>> FromIterator<S> for KeySpan {
    /// Merges sets with the same prefix and format.
    fn from_iter<I: IntoIterator<Item = S>>(sets: I) -> Self {
        let mut all = Vec::<NameSet>::new();
        for set in sets.into_iter().map(Into::into).filter(|set| !set.numbers.is_empty() || set.is_open) {
            match all.binary_search_by(|known| known.order(&set)) {
                Ok(place) => {
                    let known = &mut all[place];
                    let (start, end) = (known.numbers.start, known.numbers.end);
                    known.numbers = start.min(set.numbers.start)..end.max(set.numbers.end);
                    known.is_open |= set.is_open;
                }
                Err(place) => all.insert(place, set),
            }
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
    fn a_span_contains_the_keys_of_writing_commands() {
        let of = |name: &str| KeySpan::written_by(&preset(name).unwrap(), 10);
        assert_eq!(of("cache"), span(&[("", 0..10)]));
        assert_eq!(of("incr"), span(&[("counter:", 0..10)]));
        assert!(of("get").is_empty() && of("ping").is_empty());
        let both = of("cache").with(of("incr"));
        assert_eq!(both, [(String::new(), 0..10), ("counter:".to_owned(), 0..10)].into_iter().collect());
        assert!(both.covers(&of("incr")) && !of("cache").covers(&both));
    }

    #[test]
    fn sets_without_a_number_of_keys_have_that_of_the_knob() {
        let keys = |prefix: &str, first, count| Keyset {
            prefix: prefix.to_owned(),
            first,
            count,
            ..Keyset::default()
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
        assert_eq!(written.total(), Some(101));
        let has = |name: &str| written.has(name.as_bytes());
        assert!(has("post:000000000149") && !has("post:000000000150") && !has("r000000000000"));
        assert!(!has("post:149") && !has("post:0000000000149"));
        let grown = written.with(span(&[("post:", 20..30), ("r", 5..5)]));
        assert_eq!(grown, span(&[("", 0..50), ("board", 0..1), ("post:", 20..150)]));
    }

    #[test]
    fn the_names_of_a_span_belong_to_the_run() {
        let run: RunId = "4g7k2m9q".parse().unwrap();
        let span = span(&[("", 0..2), ("post:", 7..8)]);
        let names: Vec<_> = span.clone().names(&KeyNames::of_run(run)).collect();
        let expected: [&[u8]; 3] = [
            b"redyno:4g7k2m9q:000000000000",
            b"redyno:4g7k2m9q:000000000001",
            b"redyno:4g7k2m9q:post:000000000007",
        ];
        assert_eq!(names, expected);
        let is_own =
            |name: &Vec<u8>| OwnKey::read(name).is_some_and(|own| own.run == run && span.has(own.name));
        assert!(names.iter().all(is_own));
    }

    #[test]
    fn a_growing_set_has_no_last_name_and_a_hashed_set_has_any_hash() {
        let mut workload = Workload::clone(&Workload::ratio(1, 1));
        workload.operations.push(Operation::command("SET {user.new} {value}", 1));
        let user =
            Keyset { prefix: "user".to_owned(), digits: 1, naming: KeyNaming::Ycsb, ..Keyset::default() };
        workload.keys.insert("user".to_owned(), user);
        let span = KeySpan::written_by(&workload, 2);
        assert_eq!((span.total(), span.covers(&span)), (None, true));
        let names: Vec<_> = span.clone().names(&KeyNames::given("k:")).collect();
        let names: Vec<_> = names.iter().map(|name| std::str::from_utf8(name).unwrap()).collect();
        let hashes = ["k:user6284781860667377211", "k:user8517097267634966620"];
        assert_eq!(names, ["k:000000000000", "k:000000000001", hashes[0], hashes[1]]);
        let has = |name: &str| span.has(name.as_bytes());
        assert!(has("user1820151046732198393"), "a new one");
        assert!(!has("user") && !has("user01") && !has("users") && !has("user9999999999999999999"));
        let last: Vec<_> = span.iter().map(NameSet::last).collect();
        assert_eq!(last, ["000000000001", "user8517097267634966620 and on"]);
        workload.keys.get_mut("user").unwrap().naming = KeyNaming::Number;
        let plain = KeySpan::written_by(&workload, 2);
        assert!(plain.has(b"user0") && plain.has(b"user18446744073709551615") && !plain.has(b"user00"));
        assert!(!span.covers(&plain), "other names");
        let closed = KeySpan::from_iter(plain.iter().cloned().map(|set| NameSet { is_open: false, ..set }));
        assert!(
            plain.covers(&closed) && !closed.covers(&plain) && closed.clone().with(plain.clone()) == plain
        );
    }
}
