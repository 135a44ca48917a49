//! A server parameter that a session set, and the values that redyno needs to restore this parameter. This module does
//! no I/O.
//!
//! ```text
//!             from            to[0]                 to[1]
//! before ─────┤ 0   CONFIG SET ├ 67108864  CONFIG SET ├ 128mb, perhaps: the reply has not arrived yet
//! ```
//! A parameter is restored only if its present value is in `to`, the list of values that the session has set.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::parameter::{NOTIFICATIONS, Parameter, value_words};

/// The length of the longest accepted note, in bytes.
const LONGEST_NOTE: usize = 2000;
/// The letters of `notify-keyspace-events` that the letter A includes.
const ALL: &str = "g$lshzxetd";

/// A parameter that a session has set or was about to set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TunedParameter {
    /// The name of the parameter.
    pub name: String,
    /// The value before the session's first change.
    pub from: String,
    /// The values that the session has set. The parameter may have one of these values now. The latest value comes
    /// last.
    pub to: Vec<String>,
}

/// The content of a marker's field: everything except the parameter's name.
#[derive(Serialize, Deserialize)]
struct Note {
    from: String,
    to: Vec<String>,
}

impl TunedParameter {
    /// Returns the entry for setting `name` from the value `from` to `to`. `knows` is the session's earlier entry for
    /// the parameter, if there is one. In that case, redyno restores the old value in `knows`. But if another client
    /// has changed the parameter since that entry, redyno restores `from`.
    pub fn with_change(knows: Option<&Self>, name: &str, from: &str, to: &str) -> Self {
        let fresh = || Self { name: name.to_owned(), from: from.to_owned(), to: Vec::new() };
        let mut tuned = knows.filter(|tuned| tuned.is_ours(from)).cloned().unwrap_or_else(fresh);
        tuned.to.retain(|value| same(name, value, from));
        tuned.to.push(to.to_owned());
        tuned
    }

    /// Returns the entry with `to` as the only possible value, because the server has reported this
    /// value.
    #[must_use]
    pub fn settled(self, to: &str) -> Self {
        Self { to: vec![to.to_owned()], ..self }
    }

    /// Returns whether `value` is a value that the session set.
    pub(super) fn is_ours(&self, value: &str) -> bool {
        self.to.iter().any(|own| same(&self.name, own, value))
    }

    /// Returns the text for the marker: everything except the parameter's name.
    pub(super) fn note(&self) -> String {
        let note = Note { from: self.from.clone(), to: self.to.clone() };
        serde_json::to_string(&note).expect("texts can be written as JSON")
    }

    /// Parses a [`note`](Self::note). The result is `None` for a note that no session writes, for example one
    /// with an old value that is not [plausible](Parameter::is_plausible) for the parameter.
    pub(super) fn read(parameter: &Parameter, note: &str) -> Option<Self> {
        if note.len() > LONGEST_NOTE {
            return None;
        }
        let Note { from, to } = serde_json::from_str(note).ok()?;
        // Only the value to restore must be plausible; the values that the session set are only compared and shown.
        let is_shown = |value: &String| !value.chars().any(char::is_control);
        let is_believed = parameter.is_plausible(&from) && !to.is_empty() && to.iter().all(is_shown);
        is_believed.then(|| Self { name: parameter.name.to_owned(), from, to })
    }

    /// Checks that a [`note`](Self::note) is enough to restore the parameter after the session is killed.
    /// [`read`](Self::read) must accept the note and recognise its values.
    ///
    /// # Errors
    /// Fails with a message that contains the unacceptable value and the accepted range.
    pub(super) fn check(&self, parameter: &Parameter) -> Result<(), String> {
        let known = parameter.plausible_words();
        if !parameter.is_plausible(&self.from) {
            let from = value_words(&self.from);
            return Err(format!(
                "the present value is {from}, which `redyno clean` could not restore after a kill (it restores {known}); \
                 set the parameter by hand"
            ));
        }
        // A typed value may have another form than the server's value.
        let in_servers_words = |value: &String| value.split(' ').map(plain).collect::<Vec<_>>().join(" ");
        match self.to.iter().find(|value| !parameter.takes(&in_servers_words(value))) {
            Some(value) => Err(format!("the allowed values are {known}, not {}", value_words(value))),
            None => Ok(()),
        }
    }
}

/// Returns the letters of a value of `notify-keyspace-events`. The letter A stands for all letters that it includes.
pub(super) fn letters(value: &str) -> BTreeSet<char> {
    value.replace('A', ALL).chars().collect()
}

/// Returns whether both values of the parameter `name` mean the same to the server: CONFIG GET returns `104857600` after
/// CONFIG SET of `100mb`, and `yes` after `YES`.
pub(super) fn same(name: &str, a: &str, b: &str) -> bool {
    if name == NOTIFICATIONS.name {
        return letters(a) == letters(b);
    }
    a == b || a.split_whitespace().map(plain).eq(b.split_whitespace().map(plain))
}

/// Returns a word in the form of CONFIG GET: `104857600` for `100mb`, `7` for `007`.
pub fn plain(word: &str) -> String {
    let word = word.to_ascii_lowercase();
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &word[digits.len()..] {
        "" | "b" => 1,
        "k" => 1000,
        "kb" => 1 << 10,
        "m" => 1_000_000,
        "mb" => 1 << 20,
        "g" => 1_000_000_000,
        "gb" => 1_u64 << 30,
        _ => return word,
    };
    let bytes = digits.parse().ok().and_then(|number: u64| number.checked_mul(unit));
    bytes.map_or(word, |bytes| bytes.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tuned(name: &str, from: &str, to: &[&str]) -> TunedParameter {
        let to = to.iter().map(|value| (*value).to_owned()).collect();
        TunedParameter { name: name.to_owned(), from: from.to_owned(), to }
    }

    #[test]
    fn the_value_before_the_first_change_is_restored() {
        let first = TunedParameter::with_change(None, "hz", "10", "20");
        assert_eq!(first, tuned("hz", "10", &["20"]));
        let second = TunedParameter::with_change(Some(&first), "hz", "20", "50");
        assert_eq!(
            second,
            tuned("hz", "10", &["20", "50"]),
            "both are possible until the server has replied"
        );
        assert_eq!(second.settled("50"), tuned("hz", "10", &["50"]));
    }

    #[test]
    fn a_value_that_another_client_set_in_between_is_restored() {
        let first = TunedParameter::with_change(None, "hz", "10", "20");
        assert_eq!(TunedParameter::with_change(Some(&first), "hz", "77", "50"), tuned("hz", "77", &["50"]));
    }

    #[test]
    fn a_value_is_recognised_in_the_servers_form() {
        for (typed, reported) in [
            ("100mb", "104857600"),
            ("1GB", "1073741824"),
            ("2k", "2000"),
            ("YES", "yes"),
            ("007", "7"),
            ("3600  1", "3600 1"),
            ("", ""),
        ] {
            assert!(tuned("x", "", &[typed]).is_ours(reported), "{typed} {reported}");
        }
        for (typed, other) in [("100mb", "100000000"), ("", "3600 1"), ("1 3600", "3600 1"), ("lots", "lot")]
        {
            assert!(!tuned("x", "", &[typed]).is_ours(other), "{typed} {other}");
        }
        assert!(!tuned("x", "0", &["99999999999999999999gb"]).is_ours("0"));
        let letters = |letters| tuned("notify-keyspace-events", "", &[letters]);
        assert!(letters("ExK$").is_ours("$xKE") && letters("g$lshzxetdK").is_ours("AK"));
        assert!(!letters("ExK$").is_ours("$xK"));
    }

    #[test]
    fn a_note_is_read_as_it_was_written_and_only_with_plausible_values() {
        let read = |name, note: &str| TunedParameter::read(Parameter::named(name).unwrap(), note);
        let save = tuned("save", "3600 1", &["", "60 1"]);
        assert_eq!(read("save", &save.note()), Some(save));
        let typed = tuned("maxmemory", "0", &["100MB"]);
        assert_eq!(read("maxmemory", &typed.note()), Some(typed));
        let low = tuned("maxmemory", "1073741824", &["512kb", "1"]);
        assert_eq!(read("maxmemory", &low.note()), Some(low));
        for bad in [
            tuned("hz", "many", &["10"]).note(),
            tuned("hz", "10", &["\x1b[2J"]).note(),
            tuned("hz", "10", &[]).note(),
            tuned("hz", "10", &vec!["20"; 500]).note(),
            "nonsense".to_owned(),
        ] {
            assert_eq!(read("hz", &bad), None, "{bad}");
        }
    }
}
