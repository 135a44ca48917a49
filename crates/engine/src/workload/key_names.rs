//! The names of a load's keys. A name begins with the prefix of the run, or with a prefix that the user
//! chose.
//!
//! ```text
//! redyno:4g7k2m9q:000000000042            the key number 42 of the run 4g7k2m9q, in a set without a prefix
//! redyno:4g7k2m9q:counter:000000000042    the same number in the set with the prefix counter:
//! redyno:4g7k2m9q:user8517097267634966620 a key of a set with hashed numbers, or with other digits
//! NAME000000000042                        with --key-prefix NAME: a user's own
//! ```
//! A key with any other name belongs to another program. A [`KeySpan`](super::KeySpan) lists the sets of keys of a run,
//! with the formats and the numbers of the keys.

use std::{fmt, str::FromStr, sync::Arc};

use thiserror::Error;

use crate::protocol::KEY_DIGITS;

/// The prefix of all keys that redyno writes, unless the user chooses another prefix.
pub const NAMESPACE: &str = "redyno:";

/// The prefix of all resources, such as indexes, that redyno creates on HTTP servers.
const BY_HTTP: &str = "redyno-";

/// The characters of a run's name: Crockford's base 32, which has no i, l, o and u. Each character encodes 5 random
/// bits.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const RUN_LETTERS: usize = 8;

/// The name of a run, which encodes 40 random bits. No character of a run's name has a special meaning in a glob
/// pattern.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunId([u8; RUN_LETTERS]);

impl Default for RunId {
    fn default() -> Self {
        Self([b'0'; RUN_LETTERS])
    }
}

/// The error for a text that is not the name of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the name of a run has {RUN_LETTERS} characters, each 0 to 9 or a to z, but not i, l, o or u")]
pub struct NoRunId;

impl RunId {
    /// Creates a random name. The name does not depend on the load's seed.
    pub fn random() -> Self {
        let bits: u64 = rand::random();
        Self(std::array::from_fn(|place| ALPHABET[(bits >> (5 * place)) as usize % ALPHABET.len()]))
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("the alphabet is ASCII")
    }

    /// Returns the run that created the resource with this name on an HTTP server. Returns `None` if no run can have
    /// created the resource, for example if the text lists several names.
    pub fn of_http_resource(name: &str) -> Option<Self> {
        let is_plain =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_.".contains(&byte);
        let rest = name.strip_prefix(BY_HTTP).filter(|_| name.bytes().all(is_plain))?;
        rest.split_once('-').filter(|(_, name)| !name.is_empty())?.0.parse().ok()
    }

    fn read(name: &[u8]) -> Option<Self> {
        let letters: [u8; RUN_LETTERS] = name.try_into().ok()?;
        letters.iter().all(|letter| ALPHABET.contains(letter)).then_some(Self(letters))
    }

    /// Returns a pattern for KEYS and SCAN that matches all keys of all runs, and few other keys.
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

/// The common prefix of a load's keys. Copies share the text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyNames {
    prefix: Arc<str>,
}

impl KeyNames {
    /// Creates the prefix for the keys of a run.
    pub fn of_run(run: RunId) -> Self {
        Self { prefix: format!("{NAMESPACE}{run}:").into() }
    }

    /// Creates the prefix of names on an HTTP server: `redyno-4g7k2m9q-`. The prefix has no colons, because some
    /// servers do not accept colons.
    pub fn of_run_by_http(run: RunId) -> Self {
        Self { prefix: format!("{BY_HTTP}{run}-").into() }
    }

    /// Creates a prefix for a run that has no name yet. Each character of the name is `?`.
    pub fn of_some_run() -> Self {
        Self { prefix: format!("{NAMESPACE}{}:", "?".repeat(RUN_LETTERS)).into() }
    }

    /// Creates the key names for a prefix chosen by the user.
    pub fn given(prefix: &str) -> Self {
        Self { prefix: prefix.into() }
    }

    /// Returns the common prefix of the keys, before the prefix of each set.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }
}

/// A key of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnKey<'a> {
    /// The run.
    pub run: RunId,
    /// The rest of the key after the run's name: the prefix of a set, and a number.
    pub name: &'a [u8],
}

impl<'a> OwnKey<'a> {
    /// Parses the name of a key. Returns `None` if the key does not belong to a run.
    pub fn read(key: &'a [u8]) -> Option<Self> {
        let (run, rest) = key.strip_prefix(NAMESPACE.as_bytes())?.split_at_checked(RUN_LETTERS)?;
        Some(Self { run: RunId::read(run)?, name: rest.strip_prefix(b":")? })
    }

    /// Returns whether the name ends in twelve digits, the usual form.
    pub fn is_usual(&self) -> bool {
        let digits = self.name.last_chunk::<KEY_DIGITS>();
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_digit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_run_is_unique_and_parsed_strictly() {
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
    fn only_a_name_with_the_prefix_of_a_run_belongs_to_a_run() {
        let run: RunId = "4g7k2m9q".parse().unwrap();
        let own = |name: &'static str, is_usual| Some((OwnKey { run, name: name.as_bytes() }, is_usual));
        for (key, expected) in [
            ("redyno:4g7k2m9q:000000000000", own("000000000000", true)),
            ("redyno:4g7k2m9q:counter:000000000017", own("counter:000000000017", true)),
            ("redyno:4g7k2m9q:7999999999999", own("7999999999999", true)),
            ("redyno:foo", None),
            ("redyno:000000000007", None),
            ("redyno:4g7k2m9q", None),
            ("redyno:4g7k2m9q:", own("", false)),
            ("redyno:4g7k2m9q:00000000000", own("00000000000", false)),
            ("redyno:4g7k2m9q:00000000000x", own("00000000000x", false)),
            ("redyno:4g7k2m9q:counter:", own("counter:", false)),
            ("redyno:4g7k2m9l:000000000000", None),
            ("redyno:counter:000000000000", None),
            ("xredyno:4g7k2m9q:000000000000", None),
            ("redyno:\u{e9}7k2m9q:000000000000", None),
        ] {
            let read = OwnKey::read(key.as_bytes()).map(|own| (own, own.is_usual()));
            assert_eq!(read, expected, "{key}");
        }
    }
}
