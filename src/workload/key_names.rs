//! How the keys are named that a load touches: which are a run's own, and which a user's.
//!
//! ```text
//! redyno:4g7k2m9q:000000000042            the value number 42 of the run 4g7k2m9q
//! redyno:4g7k2m9q:counter:000000000042    its counter of that number
//! NAME000000000042                        with --key-prefix NAME: a user's own
//! ```
//! Every other key is somebody's, whatever its name.

use std::{fmt, str::FromStr, sync::Arc};

use thiserror::Error;

use super::Workload;
use crate::protocol::KEY_DIGITS;

/// What the name of every key begins with that redyno writes of its own accord.
pub const NAMESPACE: &str = "redyno:";
/// What stands between prefix and number of a counter: counters and values share no key.
pub(super) const COUNTER: &str = "counter:";

/// Letters of a run's name, 5 random bits each: Crockford's base 32, which leaves out i, l, o and u.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const RUN_LETTERS: usize = 8;

/// The name of a run: 40 random bits as text. It has no letter that means something in a pattern.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunId([u8; RUN_LETTERS]);

/// A text that names no run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the name of a run is {RUN_LETTERS} of the characters 0 to 9 and a to z without i, l, o, u")]
pub struct NoRunId;

impl RunId {
    /// A name that no other run has. It does not come from the seed of the load.
    pub fn random() -> Self {
        let bits: u64 = rand::random();
        Self(std::array::from_fn(|place| ALPHABET[(bits >> (5 * place)) as usize % ALPHABET.len()]))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("the alphabet is ASCII")
    }

    fn read(name: &[u8]) -> Option<Self> {
        let letters: [u8; RUN_LETTERS] = name.try_into().ok()?;
        letters.iter().all(|letter| ALPHABET.contains(letter)).then_some(Self(letters))
    }

    /// The run that wrote `key`, if its name has exactly the form of one that a run writes.
    pub fn of_key(key: &[u8]) -> Option<Self> {
        let (run, rest) = key.strip_prefix(NAMESPACE.as_bytes())?.split_at_checked(RUN_LETTERS)?;
        let number = rest.strip_prefix(b":")?;
        let number = number.strip_prefix(COUNTER.as_bytes()).unwrap_or(number);
        let is_number = number.len() == KEY_DIGITS && number.iter().all(u8::is_ascii_digit);
        is_number.then(|| Self::read(run))?
    }

    /// A pattern of KEYS and SCAN that every key of every run matches, and few others.
    pub fn any_key_pattern() -> String {
        format!("{NAMESPACE}{}:*", "?".repeat(RUN_LETTERS))
    }
}

impl FromStr for RunId {
    type Err = NoRunId;

    fn from_str(text: &str) -> Result<Self, NoRunId> {
        Self::read(text.as_bytes()).ok_or(NoRunId)
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for RunId {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How a load's keys are named: what stands before their numbers. Copies share it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyNames {
    prefix: Arc<str>,
}

impl KeyNames {
    /// The own names of a run.
    pub fn of_run(run: RunId) -> Self {
        Self { prefix: format!("{NAMESPACE}{run}:").into() }
    }

    /// Names that a user gave.
    pub fn given(prefix: &str) -> Self {
        Self { prefix: prefix.into() }
    }

    /// What stands before the number of a value.
    pub fn values(&self) -> &str {
        &self.prefix
    }

    /// What stands before the number of a counter.
    pub fn counters(&self) -> String {
        format!("{}{COUNTER}", self.prefix)
    }
}

/// How many names of each kind a load may have written: the numbers below these.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KeySpan {
    /// Values.
    pub values: u64,
    /// Counters.
    pub counters: u64,
}

impl KeySpan {
    /// What a load of `workload` over `keyspace` keys may write.
    pub fn written_by(workload: &Workload, keyspace: u64) -> Self {
        let of = |is_counters| {
            let mut written = workload.written_keys();
            if written.any(|keys| (keys.prefix == COUNTER) == is_counters) { keyspace } else { 0 }
        };
        Self { values: of(false), counters: of(true) }
    }

    /// How many names it is in all.
    pub fn total(&self) -> u64 {
        self.values.saturating_add(self.counters)
    }

    /// Whether it is none.
    pub fn is_empty(&self) -> bool {
        self.total() == 0
    }

    /// Whether `other` names nothing that this does not.
    pub fn covers(&self, other: &Self) -> bool {
        self.values >= other.values && self.counters >= other.counters
    }

    /// Both together.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self { values: self.values.max(other.values), counters: self.counters.max(other.counters) }
    }

    /// All these names.
    pub fn names(self, names: &KeyNames) -> impl Iterator<Item = Vec<u8>> + use<> {
        let numbered = |prefix: String, upto| {
            (0..upto).map(move |number| format!("{prefix}{number:0KEY_DIGITS$}").into_bytes())
        };
        numbered(names.values().to_owned(), self.values).chain(numbered(names.counters(), self.counters))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::preset;

    #[test]
    fn a_run_has_a_name_of_its_own_that_is_read_strictly() {
        let run = RunId::random();
        assert_eq!(run.as_str().parse(), Ok(run));
        assert_ne!(run, RunId::random());
        for bad in [
            "",
            "4g7k2m9",
            "4g7k2m9qq",
            "4g7k2m9*",
            "4g7k2m9?",
            "4G7k2m9q",
            "4g7k2m9l",
            "[a-z]aaa",
            "é7k2m9q",
        ] {
            assert_eq!(bad.parse::<RunId>(), Err(NoRunId), "{bad}");
        }
    }

    #[test]
    fn only_a_name_of_exactly_the_form_is_a_runs_own() {
        let run: RunId = "4g7k2m9q".parse().unwrap();
        let span = KeySpan { values: 2, counters: 1 };
        let names: Vec<_> = span.names(&KeyNames::of_run(run)).collect();
        let expected: [&[u8]; 3] = [
            b"redyno:4g7k2m9q:000000000000",
            b"redyno:4g7k2m9q:000000000001",
            b"redyno:4g7k2m9q:counter:000000000000",
        ];
        assert_eq!(names, expected);
        assert!(names.iter().all(|name| RunId::of_key(name) == Some(run)));
        for others in [
            "redyno:foo",
            "redyno:000000000007",
            "redyno:4g7k2m9q",
            "redyno:4g7k2m9q:",
            "redyno:4g7k2m9q:00000000000",
            "redyno:4g7k2m9q:0000000000000",
            "redyno:4g7k2m9q:00000000000x",
            "redyno:4g7k2m9q:counter:",
            "redyno:4g7k2m9q:counter:counter:000000000000",
            "redyno:4g7k2m9l:000000000000",
            "redyno:counter:000000000000",
            "xredyno:4g7k2m9q:000000000000",
            "redyno:é7k2m9q:000000000000",
        ] {
            assert_eq!(RunId::of_key(others.as_bytes()), None, "{others}");
        }
    }

    #[test]
    fn a_span_is_what_the_commands_that_write_may_reach() {
        let of = |name: &str| KeySpan::written_by(&preset(name).unwrap(), 10);
        assert_eq!(of("cache"), KeySpan { values: 10, counters: 0 });
        assert_eq!(of("incr"), KeySpan { values: 0, counters: 10 });
        assert!(of("get").is_empty() && of("ping").is_empty());
        let both = of("cache").with(of("incr"));
        assert!(both.covers(&of("incr")) && !of("cache").covers(&both));
    }
}
