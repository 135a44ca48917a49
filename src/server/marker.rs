//! The marker: one key that says that a session writes, or wrote and was killed before it could clean up.
//!
//! It is a hash, so that setting and reading it does not disturb the counts of GET and SET in the server's
//! command statistics. It is set before the first write and removed after the last key.

use std::fmt;

use super::{ServerError, link::Wire};

/// The key of the marker; it begins with the common prefix.
pub const MARKER_KEY: &str = "redyno:session";

/// Whose keys are there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Marker {
    /// When that session began, RFC 3339; empty if the marker does not say.
    pub started: String,
    /// The host that it ran on; empty likewise.
    pub host: String,
    /// Its process id there.
    pub pid: Option<u32>,
}

impl Marker {
    /// Reads what HGETALL answered: names and values in turn. `None` when there is no marker.
    fn from_fields(fields: &[String]) -> Option<Self> {
        let value = |wanted: &str| {
            let pair = fields.chunks_exact(2).find(|pair| pair[0] == wanted);
            pair.map(|pair| pair[1].as_str())
        };
        (!fields.is_empty()).then(|| Self {
            started: value("started").unwrap_or_default().to_owned(),
            host: value("host").unwrap_or_default().to_owned(),
            pid: value("pid").and_then(|pid| pid.parse().ok()),
        })
    }
}

impl fmt::Display for Marker {
    /// `a session begun 2026-11-21T07:08:00Z on host box, process 4711`.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let or_unknown = |text: &str| if text.is_empty() { "(unknown)".to_owned() } else { text.to_owned() };
        write!(f, "a session begun {} on host {}", or_unknown(&self.started), or_unknown(&self.host))?;
        self.pid.map_or(Ok(()), |pid| write!(f, ", process {pid}"))
    }
}

/// Sets the marker: the only write of this room besides removing.
pub(super) async fn set(wire: &Wire, marker: &Marker) -> Result<(), ServerError> {
    let pid = marker.pid.map(|pid| pid.to_string()).unwrap_or_default();
    let fields = ["HSET", MARKER_KEY, "started", &marker.started, "host", &marker.host, "pid", &pid];
    wire.count(&fields).await.map(|_| ())
}

/// Reads the marker. One cheap command.
pub(super) async fn find(wire: &Wire) -> Result<Option<Marker>, ServerError> {
    Ok(Marker::from_fields(&wire.texts(&["HGETALL", MARKER_KEY]).await?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn a_marker_tells_when_where_and_who() {
        let marker = Marker::from_fields(&fields("started 2026-11-21T07:08:00Z host box pid 4711")).unwrap();
        assert_eq!(marker.pid, Some(4711));
        assert_eq!(marker.to_string(), "a session begun 2026-11-21T07:08:00Z on host box, process 4711");
    }

    #[test]
    fn a_marker_with_parts_missing_is_still_a_marker() {
        assert_eq!(Marker::from_fields(&[]), None);
        let marker = Marker::from_fields(&fields("pid x other y")).unwrap();
        assert_eq!(marker, Marker::default());
        assert_eq!(marker.to_string(), "a session begun (unknown) on host (unknown)");
    }
}
