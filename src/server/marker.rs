//! The marker: one key that says what a session has to undo at its end, and left if it was killed before that.
//!
//! ```text
//! redyno:session   started  host  pid                     whose it is
//!                  keys     yes | no                      whether keys are written
//!                  config:maxmemory  {"from":"0","to":["67108864"]}, one for each parameter that was set
//! ```
//! It is a hash, so that setting and reading it does not disturb the counts of GET and SET in the server's command
//! statistics. It is there before the first write and the first CONFIG SET, and goes when nothing is left to undo.
//! What it says comes from the server's keys, which others can write: only known parameters are set back by it.

use std::fmt;

use super::{ServerError, Tuned, clean::Remover, link::Wire};

/// The key of the marker; it begins with the common prefix.
pub const MARKER_KEY: &str = "redyno:session";
/// What the fields of parameters begin with.
const CONFIG: &str = "config:";

/// Whose marker it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Owner {
    /// When that session began, RFC 3339; empty if the marker does not say.
    pub started: String,
    /// The host that it ran on; empty likewise.
    pub host: String,
    /// Its process id there.
    pub pid: Option<u32>,
}

impl fmt::Display for Owner {
    /// `a session begun 2026-11-21T07:08:00Z on host box, process 4711`.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let or_unknown = |text: &str| if text.is_empty() { "(unknown)".to_owned() } else { text.to_owned() };
        write!(f, "a session begun {} on host {}", or_unknown(&self.started), or_unknown(&self.host))?;
        self.pid.map_or(Ok(()), |pid| write!(f, ", process {pid}"))
    }
}

impl Owner {
    fn pid_text(&self) -> String {
        self.pid.map(|pid| pid.to_string()).unwrap_or_default()
    }
}

/// What a session has to undo.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Marker {
    /// Whose it is.
    pub owner: Owner,
    /// Whether there may be keys to remove.
    pub keys: bool,
    /// The parameters to set back, by name.
    pub tuned: Vec<Tuned>,
}

impl Marker {
    /// Reads what HGETALL answered: names and values in turn. `None` when there is no marker.
    fn from_fields(fields: &[String]) -> Option<Self> {
        let pairs = || fields.chunks_exact(2).map(|pair| (pair[0].as_str(), pair[1].as_str()));
        let value = |wanted: &str| pairs().find(|(name, _)| *name == wanted).map(|(_, value)| value);
        let of_config = |(name, value): (&str, &str)| Some(Tuned::read(name.strip_prefix(CONFIG)?, value));
        let mut tuned: Vec<_> = pairs().filter_map(of_config).collect();
        tuned.sort_by(|a, b| a.name.cmp(&b.name));
        (!fields.is_empty()).then(|| Self {
            owner: Owner {
                started: value("started").unwrap_or_default().to_owned(),
                host: value("host").unwrap_or_default().to_owned(),
                pid: value("pid").and_then(|pid| pid.parse().ok()),
            },
            // Markers once did not say it, and stood for keys only.
            keys: value("keys") != Some("no"),
            tuned,
        })
    }

    fn is_done(&self) -> bool {
        !self.keys && self.tuned.is_empty()
    }

    /// What is left, and how it is undone: `left its keys here; \`redyno clean\` removes them`.
    pub fn left(&self) -> String {
        let value = |value: &str| if value.is_empty() { "\"\"".to_owned() } else { value.to_owned() };
        let set = |tuned: &Tuned| {
            let to = tuned.to.last().map_or_else(|| "(unknown)".to_owned(), |to| value(to));
            format!("{} to {to} (it was {})", tuned.name, value(&tuned.from))
        };
        let set = self.tuned.iter().map(set).collect::<Vec<_>>().join(", ");
        match (self.keys, self.tuned.len()) {
            (_, 0) => "left its keys here; `redyno clean` removes them".to_owned(),
            (true, _) => {
                format!(
                    "left its keys here and set {set}; `redyno clean` removes the keys and sets that back"
                )
            }
            (false, _) => format!("set {set}; `redyno clean` sets that back"),
        }
    }
}

/// Sets the marker of a session that is about to write keys.
pub(super) async fn set(wire: &Wire, owner: &Owner) -> Result<(), ServerError> {
    put(wire, owner, true).await
}

async fn put(wire: &Wire, owner: &Owner, keys: bool) -> Result<(), ServerError> {
    let (pid, keys) = (owner.pid_text(), if keys { "yes" } else { "no" });
    let identity = ["started", &owner.started, "host", &owner.host, "pid", &pid, "keys", keys];
    let words: Vec<_> = ["HSET", MARKER_KEY].into_iter().chain(identity).collect();
    wire.count(&words).await.map(|_| ())
}

/// Reads the marker. One cheap command.
pub(super) async fn find(wire: &Wire) -> Result<Option<Marker>, ServerError> {
    Ok(Marker::from_fields(&wire.texts(&["HGETALL", MARKER_KEY]).await?))
}

/// Notes a parameter for the first time in a session. What another session noted of it stays: then this gives that
/// session's marker, and the parameter is not to be touched.
pub(super) async fn claim(wire: &Wire, owner: &Owner, tuned: &Tuned) -> Result<Option<Marker>, ServerError> {
    // A marker that is there keeps its owner, who may have keys to remove.
    if wire.count(&["HSETNX", MARKER_KEY, "started", &owner.started]).await? > 0 {
        put(wire, owner, false).await?;
    }
    let field = format!("{CONFIG}{}", tuned.name);
    match wire.count(&["HSETNX", MARKER_KEY, &field, &tuned.note()]).await? {
        0 => find(wire).await,
        _ => Ok(None),
    }
}

/// Notes a parameter again.
pub(super) async fn note(wire: &Wire, tuned: &Tuned) -> Result<(), ServerError> {
    wire.count(&["HSET", MARKER_KEY, &format!("{CONFIG}{}", tuned.name), &tuned.note()]).await.map(|_| ())
}

/// A parameter needs not be set back any more. Removes the marker if that was the last of it.
pub(super) async fn forget(wire: &Wire, name: &str) -> Result<(), ServerError> {
    wire.count(&["HDEL", MARKER_KEY, &format!("{CONFIG}{name}")]).await?;
    match find(wire).await? {
        Some(marker) => release(wire, &marker).await.map(|_| ()),
        None => Ok(()),
    }
}

/// There are no keys any more. Removes the marker unless it holds parameters; whether it did.
pub(super) async fn forget_keys(wire: &Wire) -> Result<bool, ServerError> {
    let Some(marker) = find(wire).await? else { return Ok(false) };
    if !marker.tuned.is_empty() {
        put(wire, &marker.owner, false).await?;
    }
    release(wire, &Marker { keys: false, ..marker }).await
}

/// Removes a marker that holds nothing any more.
async fn release(wire: &Wire, marker: &Marker) -> Result<bool, ServerError> {
    if !marker.is_done() {
        return Ok(false);
    }
    Ok(Remover::new(wire).remove(&[MARKER_KEY.as_bytes().to_vec()]).await? > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn a_marker_tells_when_where_who_and_what() {
        let text = r#"started 2026-11-21T07:08:00Z host box pid 4711 keys no config:save {"from":"","to":["1"]} config:hz {"from":"10","to":["20","50"]}"#;
        let marker = Marker::from_fields(&fields(text)).unwrap();
        assert_eq!((marker.owner.pid, marker.keys), (Some(4711), false));
        assert_eq!(
            marker.owner.to_string(),
            "a session begun 2026-11-21T07:08:00Z on host box, process 4711"
        );
        assert_eq!(
            marker.left(),
            "set hz to 50 (it was 10), save to 1 (it was \"\"); `redyno clean` sets that back"
        );
        let both = Marker { keys: true, ..marker };
        assert!(both.left().starts_with("left its keys here and set hz to 50"), "{}", both.left());
    }

    #[test]
    fn a_marker_of_before_stands_for_keys() {
        assert_eq!(Marker::from_fields(&[]), None);
        let marker = Marker::from_fields(&fields("pid x other y")).unwrap();
        assert_eq!(marker, Marker { keys: true, ..Marker::default() });
        assert_eq!(marker.owner.to_string(), "a session begun (unknown) on host (unknown)");
        assert_eq!(marker.left(), "left its keys here; `redyno clean` removes them");
    }
}
