//! The marker of a run: the changes that its session has to undo, stored on the server. A killed session leaves its
//! marker on the server.
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
//! Other clients can also write to these keys, so redyno ignores contents that no session writes. This module sends no
//! commands; [`registry`](super::registry) reads and writes the marker.

use std::{collections::BTreeMap, fmt};

use super::{
    Made, Parameter, Tuned,
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
    /// The key names that the run may write; `None` if unknown, so that any name of the run is possible.
    pub span: Option<KeySpan>,
    /// Whether the keys were left on purpose (`--keep`). Other clients may have written more keys of the run since.
    pub kept: bool,
    /// The parameters to restore, by name.
    pub tuned: Vec<Tuned>,
    /// The objects that setups made, in order.
    pub made: Vec<Made>,
    /// The invalid fields, which no session writes. Redyno does not remove invalid fields.
    pub strange: Vec<Strange>,
}

/// A field of a marker with an invalid content, which no session writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Strange {
    /// The subject of the field: the name of a parameter, or `made`.
    pub of: &'static str,
    /// The name of the marker's field.
    pub field: String,
    /// The beginning of the field's content.
    pub note: String,
}

impl Strange {
    fn new(of: &'static str, field: String, note: &str) -> Self {
        Self { of, field, note: untrusted::at_most(note.as_bytes(), LONGEST_SHOWN) }
    }
}

impl Marker {
    /// Returns the marker of a session that has nothing to undo yet.
    pub fn new(run: RunId, owner: Owner) -> Self {
        let span = Some(KeySpan::default());
        let (tuned, made, strange) = (Vec::new(), Vec::new(), Vec::new());
        Self { run, db: 0, owner, span, kept: false, tuned, made, strange }
    }

    /// Adds the changes in another marker of the same run. In a cluster, each node has a marker.
    #[must_use]
    pub fn with(mut self, other: Self) -> Self {
        self.span = self.span.zip(other.span).map(|(one, other)| one.with(other));
        self.kept |= other.kept;
        self.tuned
            .extend(other.tuned.into_iter().filter(|tuned| !self.tuned.contains(tuned)).collect::<Vec<_>>());
        self.made.extend(other.made.into_iter().filter(|made| !self.made.contains(made)).collect::<Vec<_>>());
        self.strange.extend(other.strange);
        self
    }

    /// Returns whether there may be keys to remove.
    pub fn has_keys(&self) -> bool {
        self.span.as_ref().is_none_or(|span| !span.is_empty())
    }

    /// Returns whether the run may have written `key`. If the run's keys were kept or their names are unknown, every
    /// key of the run with twelve digits counts as written, and so does every key of the run in a form that the marker
    /// lists.
    pub(super) fn owns(&self, key: &OwnKey) -> bool {
        let is_of_form = || key.is_usual() || self.span.as_ref().is_some_and(|span| span.has_form(key.name));
        let is_own = match &self.span {
            Some(span) if !self.kept => span.has(key.name),
            _ => is_of_form(),
        };
        self.run == key.run && is_own
    }

    /// Returns whether there is anything to undo.
    pub fn owes(&self) -> bool {
        self.has_keys() || self.has_changed_server() || !self.strange.is_empty()
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
                None => marker.strange.push(Strange::new(MADE, MADE.to_owned(), note)),
            }
        }
        for (parameter, note) in Parameter::all().zip((6..).map(value)) {
            let Some(note) = note else { continue };
            match Tuned::read(parameter, note) {
                Some(tuned) => marker.tuned.push(tuned),
                None => marker.strange.push(Strange::new(parameter.name, field_of(parameter.name), note)),
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

    /// Returns the text about the changes that a session left on `target`, and the command that undoes them: `left its
    /// keys here; \`redyno clean -h 127.0.0.1 -p 6379\` removes them`.
    pub fn left(&self, target: &Target) -> String {
        let value = |value: &str| if value.is_empty() { "\"\"".to_owned() } else { value.to_owned() };
        let set = |tuned: &Tuned| {
            let to = tuned.to.last().map_or_else(|| "(unknown)".to_owned(), |to| value(to));
            format!("{} to {to} (it was {})", tuned.name, value(&tuned.from))
        };
        let set = self.tuned.iter().map(set).collect::<Vec<_>>().join(", ");
        let made = self.made.iter().map(Made::to_string).collect::<Vec<_>>().join(", ");
        let place = if self.db == target.db { "here".to_owned() } else { format!("in db {}", self.db) };
        let keys = format!("{} its keys {place}", if self.kept { "kept" } else { "left" });
        let is_all = !self.has_changed_server();
        let strange = self.strange.iter().map(|strange| strange.of).collect::<Vec<_>>().join(", ");
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
pub fn united(markers: impl IntoIterator<Item = Marker>) -> Vec<Marker> {
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

/// Parses the field `made`; returns `None` for a text that no session writes.
fn read_made(text: &str) -> Option<Vec<Made>> {
    let made: Vec<Made> = serde_json::from_str(text).ok()?;
    made.iter().all(Made::is_valid).then_some(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run() -> RunId {
        "4g7k2m9q".parse().unwrap()
    }

    /// Parses the reply to HMGET from a server whose marker has these fields.
    fn read(fields: &[(&str, &str)]) -> Marker {
        let value = |name: &String| {
            fields.iter().find(|(field, _)| field == name).map(|(_, value)| (*value).to_owned())
        };
        Marker::read((run(), 0), &Marker::field_names().iter().map(value).collect::<Vec<_>>())
    }

    #[test]
    fn a_marker_is_read_as_it_was_written() {
        let owner =
            Owner { started: "2026-11-21T07:08:00.5Z".into(), host: "box-1.example".into(), pid: Some(4711) };
        let tuned = |name: &str, from: &str, to: &[&str]| Tuned {
            name: name.to_owned(),
            from: from.to_owned(),
            to: to.iter().map(|to| (*to).to_owned()).collect(),
        };
        let marker = Marker {
            span: Some(
                [(String::new(), 0..10_000), ("post \"7\":".to_owned(), 90..97)].into_iter().collect(),
            ),
            kept: true,
            tuned: vec![tuned("hz", "10", &["20", "50"]), tuned("save", "", &["60 1"])],
            made: vec![Made::Library("mylib".to_owned()), Made::Index("posts \"7\"".to_owned())],
            ..Marker::new(run(), owner)
        };
        let fields = marker.fields();
        let pairs: Vec<_> = fields.chunks_exact(2).map(|pair| (pair[0].as_str(), pair[1].as_str())).collect();
        assert_eq!(read(&pairs), marker);
        assert_eq!(
            marker.left(&Target::default()),
            "kept its keys here and set hz to 50 (it was 10), save to 60 1 (it was \"\") and made the function library \
             mylib, the search index posts \"7\"; `redyno clean -h 127.0.0.1 -p 6379` removes the keys and sets that back and deletes what it made"
        );
        let set = Marker { span: Some(KeySpan::default()), made: Vec::new(), ..marker };
        let left = set.left(&Target::default());
        assert!(left.starts_with("set hz to 50") && left.ends_with(" -p 6379` sets that back"), "{left}");
        let elsewhere = Marker { db: 5, ..Marker { span: None, ..set } }.left(&Target::default());
        assert!(elsewhere.starts_with("kept its keys in db 5 and set hz"), "{elsewhere}");
        assert!(
            elsewhere.contains("`redyno clean -h 127.0.0.1 -p 6379 --db 5` removes the keys"),
            "{elsewhere}"
        );
    }

    #[test]
    fn a_run_without_a_marker_may_have_any_keys() {
        let marker = read(&[]);
        assert_eq!((&marker.span, marker.has_keys(), marker.owes()), (&None, true, true));
        assert_eq!(marker.owner.to_string(), "a session begun (unknown) on host (unknown)");
        let left = "left its keys here; `redyno clean -h 127.0.0.1 -p 6379` removes them";
        assert_eq!(marker.left(&Target::default()), left);
        assert!(!Marker::new(run(), Owner::default()).owes());
    }

    #[test]
    fn a_run_owns_the_keys_that_it_may_have_written() {
        let named = read(&[("keys", r#"[{"prefix":"post:","first":10,"count":5}]"#)]);
        let kept = Marker { kept: true, ..named.clone() };
        let unknown = Marker { span: None, ..named.clone() };
        for (key, owners) in [
            ("redyno:4g7k2m9q:post:000000000010", [true, true, true]),
            ("redyno:4g7k2m9q:post:000000000015", [false, true, true]),
            ("redyno:4g7k2m9q:000000000010", [false, true, true]),
            ("redyno:zzzzzzzz:post:000000000010", [false, false, false]),
        ] {
            let key = OwnKey::read(key.as_bytes()).unwrap();
            assert_eq!([&named, &kept, &unknown].map(|marker| marker.owns(&key)), owners, "{key:?}");
        }
    }

    #[test]
    fn key_sets_of_any_form_are_read_as_they_were_written() {
        let text = r#"[{"prefix":"user","first":0,"count":10,"digits":0,"naming":"ycsb","open":true},
            {"prefix":"","first":5,"count":5,"digits":3,"open":false}]"#;
        let marker = read(&[("keys", text)]);
        let span = marker.span.clone().unwrap();
        assert_eq!(read_keys(&write_keys(Some(&span))), Some(span));
        let kept = Marker { kept: true, ..marker.clone() };
        for (name, owners) in [
            ("user6284781860667377211", [true, true]),
            ("user01", [false, false]),
            ("009", [true, true]),
            ("010", [false, true]),
            ("10", [false, false]),
            ("000000000009", [false, true]),
        ] {
            let key = OwnKey { run: run(), name: name.as_bytes() };
            assert_eq!([&marker, &kept].map(|marker| marker.owns(&key)), owners, "{name}");
        }
        let bad = text.replace("\"digits\":0", "\"digits\":21");
        assert_eq!([&bad[..], "[1]"].map(|keys| read(&[("keys", keys)]).span), [None, None]);
        assert_eq!(read(&[("keys", "[]")]).span, Some(KeySpan::default()));
    }

    #[test]
    fn contents_that_no_session_writes_are_ignored() {
        let marker = read(&[
            ("started", "\x1b[2J"),
            ("host", "box\x1b]0;gotcha\x07"),
            ("pid", "-1"),
            ("keys", r#"[{"prefix":"","first":0,"count":99999999999999999999}]"#),
            ("config:hz", r#"{"from":"\u001b[2J","to":["10"]}"#),
            ("config:maxmemory", r#"{"from":"1","to":["0"]}"#),
            ("config:dir", r#"{"from":"/","to":["/tmp"]}"#),
            ("made", r#"[{"library":"x"},{"index":"\u001b[2J"}]"#),
        ]);
        let expected =
            Marker { span: None, strange: marker.strange.clone(), ..Marker::new(run(), Owner::default()) };
        assert_eq!((marker.owes(), &marker), (true, &expected));
        let fields: Vec<_> =
            marker.strange.iter().map(|strange| (strange.of, strange.field.as_str())).collect();
        assert_eq!(fields, [("made", "made"), ("maxmemory", "config:maxmemory"), ("hz", "config:hz")]);
        assert_eq!(marker.strange[1].note, r#"{"from":"1","to":["0"]}"#);
    }
}
