//! The record of an event in a recording: its time, its fields, and a text for people who read the file.
//!
//! ```text
//! {"kind":"event","t_s":3.2,"name":"slowlog","detail":"14.2 ms KEYS * from …",
//!  "event":"slow_command","us":14200,"command":"KEYS *","client":"…"}
//! ```
//! Programs should read `event` and the fields after it. The fields `name` and `detail` are for people.

use serde::{Deserialize, Serialize};

use crate::events::EventKind;

/// An event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "EventLine")]
pub struct Event {
    /// The time of the event, in seconds of the session.
    pub t_s: f64,
    /// The number of the event's node, from 0.
    #[serde(default)]
    pub node: u16,
    /// The kind of the event, and the fields of this kind.
    #[serde(flatten)]
    pub what: EventKind,
}

impl Event {
    /// Returns an event of node 0 at `t_s`, in seconds of the session.
    pub fn new(t_s: f64, what: EventKind) -> Self {
        Self { t_s, node: 0, what }
    }
}

/// An event as it is written to a file.
#[derive(Serialize)]
struct EventLine {
    t_s: f64,
    #[serde(skip_serializing_if = "crate::stats::is_default")]
    node: u16,
    name: String,
    detail: String,
    #[serde(flatten)]
    what: EventKind,
}

impl From<Event> for EventLine {
    fn from(Event { t_s, node, what }: Event) -> Self {
        Self { t_s, node, name: what.name().to_owned(), detail: what.to_string(), what }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{Record, line};

    fn read(text: &str) -> Event {
        let Record::Event(event) = serde_json::from_str(text).unwrap() else { panic!("an event: {text}") };
        event
    }

    #[test]
    fn an_event_is_written_as_fields_and_text_and_read_from_its_fields() {
        let what = EventKind::SlowCommand {
            us: 14_200,
            command: "KEYS *".to_owned(),
            client: None,
            arguments: Vec::new(),
        };
        let text = line(&Record::Event(Event::new(3.5, what.clone()))).unwrap();
        for part in [r#""name":"slowlog""#, r#""detail":"14.2 ms KEYS *""#, r#""us":14200"#] {
            assert!(text.contains(part), "{text}");
        }
        assert_eq!(read(&text.replace("14.2 ms", "words")), Event::new(3.5, what));
    }
}
