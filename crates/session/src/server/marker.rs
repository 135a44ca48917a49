//! The marker of a run is a hash on the server with the changes that its session must undo. If a session is killed, its
//! marker stays on the server.
//!
//! ```text
//! redyno:runs        a set of the runs that have something to undo: 4g7k2m9q …
//! redyno:4g7k2m9q    started  host  pid          the owner: the session of the run
//!                    keys                        [{"prefix":"","first":0,"count":10000}]: each set of keys that may be
//!                                                written: the text before the number, the lowest number, the count;
//!                                                "digits", "hashed", "any", "open" for a length other than 12, hashed
//!                                                names, names without a number, or an unknown end
//!                    kept                        yes: the keys were left on purpose
//!                    made                        [{"library":"mylib"}]: objects that setups made, in order
//!                    config:maxmemory            {"from":"0","to":["67108864"]}, one for each parameter that was set
//! ```
//! Other clients can also write to the list of runs and to the markers, so redyno ignores contents that no session
//! writes. This module sends no commands; [`registry`](super::registry) reads and writes the marker.

use std::{collections::BTreeMap, fmt};

use super::{
    Parameter, SetupObject, TunedParameter,
    marked_keys::{read_keys, write_keys},
};
use crate::{
    endpoint::Target,
    untrusted,
    workload::{KeySpan, OwnKey, RunId},
};

/// The name of the field for objects that setups made.
pub(super) const MADE: &str = "made";
/// The prefix of the names of fields for parameters.
const CONFIG: &str = "config:";
/// The length of the longest possible host name.
const LONGEST_HOST: usize = 253;
/// The length of the longest RFC 3339 time.
const LONGEST_MOMENT: usize = 40;
/// The largest number of characters of an invalid field that are shown.
const LONGEST_SHOWN: usize = 200;

/// The session that owns a marker.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Owner {
    /// The start of the session as an RFC 3339 time; empty if unknown.
    pub started: String,
    /// The host of the session; empty if unknown.
    pub host: String,
    /// The process id of the session on its host.
    pub pid: Option<u32>,
}

impl fmt::Display for Owner {
    /// Writes `a session begun 2026-11-21T07:08:00Z on host box, process 4711`.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let or_unknown = |text: &str| if text.is_empty() { "(unknown)".to_owned() } else { text.to_owned() };
        write!(f, "a session begun {} on host {}", or_unknown(&self.started), or_unknown(&self.host))?;
        self.pid.map_or(Ok(()), |pid| write!(f, ", process {pid}"))
    }
}

/// The changes that a session has to undo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marker {
    /// The run of the session.
    pub run: RunId,
    /// The database of the marker.
    pub db: u32,
    /// The owner of the marker.
    pub owner: Owner,
    /// The key names that the run may write. If the names are unknown (`None`), any name of the run is possible.
    pub span: Option<KeySpan>,
    /// Whether the keys were left on purpose (`--keep`). Since then, other clients may have written more keys
    /// with names of the run.
    pub kept: bool,
    /// The parameters to restore, by name.
    pub tuned: Vec<TunedParameter>,
    /// The objects that setups made, in order.
    pub made: Vec<SetupObject>,
    /// The invalid fields. No session writes such fields, and redyno does not remove them.
    pub invalid: Vec<InvalidField>,
}

/// A field of a marker with an invalid content. No session writes such a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidField {
    /// The subject of the field: the name of a parameter, or `made` for objects that setups made.
    pub of: &'static str,
    /// The name of the marker's field.
    pub field: String,
    /// The beginning of the field's content.
    pub note: String,
}

impl InvalidField {
    fn new(of: &'static str, field: String, note: &str) -> Self {
        Self { of, field, note: untrusted::at_most(note.as_bytes(), LONGEST_SHOWN) }
    }
}

impl Marker {
    /// Returns the marker of a session that has nothing to undo yet.
    pub fn new(run: RunId, owner: Owner) -> Self {
        let span = Some(KeySpan::default());
        let (tuned, made, strange) = (Vec::new(), Vec::new(), Vec::new());
        Self { run, db: 0, owner, span, kept: false, tuned, made, invalid: strange }
    }

    /// Adds the changes in another marker of the same run. In a cluster, each primary has a marker.
    #[must_use]
    pub fn with(mut self, other: Self) -> Self {
        self.span = self.span.zip(other.span).map(|(one, other)| one.with(other));
        self.kept |= other.kept;
        self.tuned
            .extend(other.tuned.into_iter().filter(|tuned| !self.tuned.contains(tuned)).collect::<Vec<_>>());
        self.made.extend(other.made.into_iter().filter(|made| !self.made.contains(made)).collect::<Vec<_>>());
        self.invalid.extend(other.invalid);
        self
    }

    /// Returns whether there may be keys to remove.
    pub fn has_keys(&self) -> bool {
        self.span.as_ref().is_none_or(|span| !span.is_empty())
    }

    /// Returns whether the run may have written `key`. If the marker lists the names and the keys were not kept, only
    /// the listed names count. Otherwise, all keys of the run with twelve digits count, and also all keys in a form
    /// that the marker lists.
    pub(super) fn owns(&self, key: &OwnKey) -> bool {
        let is_of_form = || key.is_usual() || self.span.as_ref().is_some_and(|span| span.has_form(key.name));
        let is_own = match &self.span {
            Some(span) if !self.kept => span.has(key.name),
            _ => is_of_form(),
        };
        self.run == key.run && is_own
    }

    /// Returns whether there is anything to undo.
    pub fn needs_undo(&self) -> bool {
        self.has_keys() || self.has_changed_server() || !self.invalid.is_empty()
    }

    /// Returns whether changes other than keys have to be undone.
    pub fn has_changed_server(&self) -> bool {
        !self.tuned.is_empty() || !self.made.is_empty()
    }

    /// Returns the names of all possible fields of a marker, in the order of the values for [`read`](Self::read).
    pub(super) fn field_names() -> Vec<String> {
        let fixed = ["started", "host", "pid", "kept", "keys", MADE].map(str::to_owned);
        let parameters = Parameter::all().map(|parameter| field_of(parameter.name));
        fixed.into_iter().chain(parameters).collect()
    }

    /// Parses the values of all fields, in the order of [`field_names`](Self::field_names). A missing field is `None`.
    pub(super) fn read((run, db): (RunId, u32), values: &[Option<String>]) -> Self {
        let value = |place: usize| values.get(place).and_then(Option::as_deref);
        let (started, host) =
            (value(0).filter(|text| is_moment(text)), value(1).filter(|text| is_host(text)));
        let mut marker = Self {
            span: value(4).and_then(read_keys),
            kept: value(3) == Some("yes"),
            db,
            ..Self::new(
                run,
                Owner {
                    started: started.unwrap_or_default().to_owned(),
                    host: host.unwrap_or_default().to_owned(),
                    pid: value(2).and_then(|pid| pid.parse().ok()),
                },
            )
        };
        if let Some(note) = value(5) {
            match read_made(note) {
                Some(made) => marker.made = made,
                None => marker.invalid.push(InvalidField::new(MADE, MADE.to_owned(), note)),
            }
        }
        for (parameter, note) in Parameter::all().zip((6..).map(value)) {
            let Some(note) = note else { continue };
            match TunedParameter::read(parameter, note) {
                Some(tuned) => marker.tuned.push(tuned),
                None => {
                    marker.invalid.push(InvalidField::new(parameter.name, field_of(parameter.name), note));
                }
            }
        }
        marker.tuned.sort_by(|a, b| a.name.cmp(&b.name));
        marker
    }

    /// Returns names and values of the fields, alternately.
    pub(super) fn fields(&self) -> Vec<String> {
        let pid = self.owner.pid.map(|pid| pid.to_string()).unwrap_or_default();
        let fixed = [
            ("started", self.owner.started.clone()),
            ("host", self.owner.host.clone()),
            ("pid", pid),
            ("kept", if self.kept { "yes" } else { "no" }.to_owned()),
            ("keys", write_keys(self.span.as_ref())),
        ];
        let fixed = fixed.into_iter().map(|(name, value)| (name.to_owned(), value));
        let tuned = self.tuned.iter().map(|tuned| (field_of(&tuned.name), tuned.note()));
        let made = || serde_json::to_string(&self.made).expect("names are JSON");
        let made = (!self.made.is_empty()).then(|| (MADE.to_owned(), made()));
        fixed.chain(made).chain(tuned).flat_map(|(name, value)| [name, value]).collect()
    }

    /// Returns a text about the changes that a session left on `target`, with the command that undoes the changes:
    /// `left its keys here; \`redyno clean -h 127.0.0.1 -p 6379\` removes them`.
    pub fn left(&self, target: &Target) -> String {
        let value = |value: &str| if value.is_empty() { "\"\"".to_owned() } else { value.to_owned() };
        let set = |tuned: &TunedParameter| {
            let to = tuned.to.last().map_or_else(|| "(unknown)".to_owned(), |to| value(to));
            format!("{} to {to} (it was {})", tuned.name, value(&tuned.from))
        };
        let set = self.tuned.iter().map(set).collect::<Vec<_>>().join(", ");
        let made = self.made.iter().map(SetupObject::to_string).collect::<Vec<_>>().join(", ");
        let place = if self.db == target.db { "here".to_owned() } else { format!("in db {}", self.db) };
        let keys = format!("{} its keys {place}", if self.kept { "kept" } else { "left" });
        let is_all = !self.has_changed_server();
        let strange = self.invalid.iter().map(|strange| strange.of).collect::<Vec<_>>().join(", ");
        let parts = [
            (self.has_keys(), keys, if is_all { "removes them" } else { "removes the keys" }),
            (!set.is_empty(), format!("set {set}"), "sets that back"),
            (!made.is_empty(), format!("made {made}"), "deletes what it made"),
            (!strange.is_empty(), format!("left an invalid note about {strange}"), "shows it"),
        ];
        let parts = || parts.iter().filter(|(is_left, ..)| *is_left);
        let left: Vec<_> = parts().map(|(_, left, _)| left.as_str()).collect();
        let undone: Vec<_> = parts().map(|(.., undone)| *undone).collect();
        format!("{}; {} {}", left.join(" and "), clean_command(target, self.db), undone.join(" and "))
    }
}

/// Merges the markers of each run. In a cluster, each primary has a marker of the run.
pub fn merged_by_run(markers: impl IntoIterator<Item = Marker>) -> Vec<Marker> {
    let mut runs: BTreeMap<RunId, Marker> = BTreeMap::new();
    for marker in markers {
        let run = marker.run;
        let marker = match runs.remove(&run) {
            Some(known) => known.with(marker),
            None => marker,
        };
        runs.insert(run, marker);
    }
    runs.into_values().collect()
}

/// Returns the command that undoes changes in a database of `target`: `\`redyno clean -h 10.0.0.5 -p 6379 --db 5\``.
pub fn clean_command(target: &Target, db: u32) -> String {
    let tls = if target.tls.is_some() { " --tls" } else { "" };
    format!("`redyno clean {}{tls}`", target.address.options_in(db))
}

/// Returns the name of a parameter's field.
pub(super) fn field_of(parameter: &str) -> String {
    format!("{CONFIG}{parameter}")
}

fn is_moment(text: &str) -> bool {
    text.len() <= LONGEST_MOMENT
        && text.bytes().all(|byte| byte.is_ascii_digit() || b"TZ:.+-".contains(&byte))
}

fn is_host(text: &str) -> bool {
    text.len() <= LONGEST_HOST
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

/// Parses the field `made`. Returns `None` for a text that no session writes.
fn read_made(text: &str) -> Option<Vec<SetupObject>> {
    let made: Vec<SetupObject> = serde_json::from_str(text).ok()?;
    made.iter().all(SetupObject::is_valid).then_some(made)
}

#[cfg(test)]
mod tests;
