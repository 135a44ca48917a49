//! Writes and parses the field `keys` of a run's marker on the server: the names of keys that the run may
//! have written.

use serde::{Deserialize, Serialize};

use crate::{
    protocol::KEY_DIGITS,
    workload::{KeyForm, KeyNaming, KeySpan, LONGEST_PREFIX, MAX_DIGITS, NameSet},
};

/// The number of different key names with the usual number of digits.
const NUMBERS: u64 = 10_u64.pow(KEY_DIGITS as u32);

/// A set of key names in the field `keys`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MarkedKeySet {
    prefix: String,
    first: u64,
    count: u64,
    #[serde(default = "usual_digits", skip_serializing_if = "is_usual")]
    digits: u8,
    #[serde(default, skip_serializing_if = "KeyNaming::is_number")]
    naming: KeyNaming,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    open: bool,
}

fn usual_digits() -> u8 {
    KeyForm::default().digits
}

fn is_usual(digits: &u8) -> bool {
    *digits == usual_digits()
}

impl MarkedKeySet {
    fn of(set: &NameSet) -> Self {
        let NameSet { prefix, form: KeyForm { digits, naming }, numbers, is_open } = set.clone();
        let (first, count) = (numbers.start, numbers.end - numbers.start);
        Self { prefix, first, count, digits, naming, open: is_open }
    }

    /// Returns the key names. Returns `None` if no session writes such a set, for example because its numbers have too
    /// many digits.
    fn names(self) -> Option<NameSet> {
        let form = KeyForm { digits: self.digits, naming: self.naming };
        let is_valid = self.prefix.len() <= LONGEST_PREFIX && self.digits <= MAX_DIGITS;
        let is_numbered = form == KeyForm::default() && !self.open;
        let end = self.first.checked_add(self.count)?;
        (is_valid && (!is_numbered || end <= NUMBERS)).then_some(NameSet {
            prefix: self.prefix,
            form,
            numbers: self.first..end,
            is_open: self.open,
        })
    }
}

/// Returns the text of the field `keys`.
pub(super) fn write_keys(span: Option<&KeySpan>) -> String {
    let sets: Vec<_> = span.into_iter().flat_map(KeySpan::iter).map(MarkedKeySet::of).collect();
    serde_json::to_string(&sets).expect("texts and numbers can be written as JSON")
}

/// Parses the text of the field `keys`. Returns `None` for a text that no session writes.
pub(super) fn read_keys(text: &str) -> Option<KeySpan> {
    let sets: Vec<MarkedKeySet> = serde_json::from_str(text).ok()?;
    sets.into_iter().map(MarkedKeySet::names).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_no_session_writes_are_ignored() {
        let set = |prefix: &str, first: &str, count: u64| {
            format!(r#"[{{"prefix":"{prefix}","first":{first},"count":{count}}}]"#)
        };
        assert!(read_keys(&set("a", "0", NUMBERS)).is_some());
        let long = "p".repeat(LONGEST_PREFIX + 1);
        for keys in ["", "[1]", "{}", &set("a", "0", NUMBERS + 1), &set("a", "-1", 1), &set(&long, "0", 1)] {
            assert_eq!(read_keys(keys), None, "{keys}");
        }
    }
}
