//! Something that happened, as a record: its moment, its fields, and its words for who reads the file.
//!
//! ```text
//! {"kind":"event","t_s":3.2,"name":"slowlog","detail":"14.2 ms KEYS * from …",
//!  "event":"slow_command","us":14200,"command":"KEYS *","client":"…"}
//! ```
//! `event` and the fields beside it are what is read; `name` and `detail` are all that versions before had.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::happening::Happening;

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub struct Event {
    /// When.
    pub t_s: f64,
    /// What.
    pub what: Happening,
}

impl Event {
    /// `what` happened at `t_s`.
    pub fn new(t_s: f64, what: Happening) -> Self {
        Self { t_s, what }
    }
}

/// An event as a file holds it.
#[derive(Serialize, Deserialize)]
struct Written {
    t_s: f64,
    name: String,
    detail: String,
    #[serde(flatten)]
    fields: Map<String, Value>,
}

impl From<Event> for Written {
    fn from(Event { t_s, what }: Event) -> Self {
        // One of another version has words only.
        let fields = match serde_json::to_value(&what) {
            Ok(Value::Object(fields)) => fields,
            _ => Map::new(),
        };
        Self { t_s, name: what.name().to_owned(), detail: what.to_string(), fields }
    }
}

impl From<Written> for Event {
    fn from(Written { t_s, name, detail, fields }: Written) -> Self {
        let foreign = || Happening::Foreign { name, detail };
        let what = serde_json::from_value(Value::Object(fields)).unwrap_or_else(|_| foreign());
        Self { t_s, what }
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
    fn an_event_is_written_with_its_fields_and_in_words_and_read_back_by_its_fields() {
        let what = Happening::SlowCommand { us: 14_200, command: "KEYS *".to_owned(), client: None };
        let text = line(&Record::Event(Event::new(3.5, what.clone()))).unwrap();
        for part in [r#""name":"slowlog""#, r#""detail":"14.2 ms KEYS *""#, r#""us":14200"#] {
            assert!(text.contains(part), "{text}");
        }
        assert_eq!(read(&text.replace("14.2 ms", "words")), Event::new(3.5, what));
    }

    #[test]
    fn events_of_other_versions_keep_their_words() {
        let later = r#"{"kind":"event","t_s":1.0,"name":"flood","detail":"3 m","event":"flood","m":3}"#;
        let foreign = Happening::Foreign { name: "flood".to_owned(), detail: "3 m".to_owned() };
        assert_eq!(read(later).what, foreign);
        assert_eq!((foreign.name(), foreign.to_string().as_str()), ("flood", "3 m"));
        let again = line(&Record::Event(read(later))).unwrap();
        assert_eq!(read(&again).what, foreign);
    }
}
