//! What older versions wrote, brought into today's form before it is read. Nothing behind the reader knows of it.

use serde_json::{Map, Value};

/// Groups of figures that a `server` record had: `{"memory":{"peak":…}}` is `memory_peak` now.
const GROUPS: [&str; 5] = ["memory", "connections", "persistence", "replication", "traffic"];

/// Brings the fields of one record into today's form.
pub(super) fn renew(record: &mut Map<String, Value>) {
    match record.get("kind").and_then(Value::as_str) {
        Some("server") => server(record),
        Some("event") if !record.contains_key("event") => event(record),
        _ => {}
    }
}

/// Figures stand beside each other, and flags are 0 or 1.
fn server(record: &mut Map<String, Value>) {
    for group in GROUPS {
        let Some(Value::Object(fields)) = record.get(group).cloned() else { continue };
        record.remove(group);
        for (name, value) in fields {
            let value = value.as_bool().map_or(value, |flag| u8::from(flag).into());
            record.insert(format!("{group}_{name}"), value);
        }
    }
}

/// Events had words only. Three of them mean something beside themselves.
fn event(record: &mut Map<String, Value>) {
    let text = |name: &str| record.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (name, detail) = (text("name"), text("detail"));
    let (event, fields) = match (name.as_str(), detail.split_once(": ")) {
        ("unreachable", _) => ("unreachable", vec![("cause", detail.as_str())]),
        ("reachable", _) => ("reachable", vec![]),
        ("error", Some((error, message))) => ("first_error", vec![("error", error), ("message", message)]),
        _ => return,
    };
    let fields = fields.into_iter().chain([("event", event)]);
    record.extend(fields.map(|(name, value)| (name.to_owned(), value.into())));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        gauge::Gauge,
        happening::Happening,
        session::{Event, Record},
    };

    fn read(text: &str) -> Record {
        let mut value: Value = serde_json::from_str(text).unwrap();
        renew(value.as_object_mut().unwrap());
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn groups_of_figures_and_flags_are_gauges() {
        let record = read(
            r#"{"kind":"server","t_s":1.0,"name":"redis","clients":3,"hits":9,"misses":1,"keys":null,
                "memory":{"peak":7,"policy":"allkeys-lru"},"persistence":{"last_save_ok":true,"aof":false},
                "replication":{"master":"a:1","link_up":null}}"#,
        );
        let Record::Server(moment) = record else { panic!("{record:?}") };
        let status = moment.body;
        let told = [
            (Gauge::Clients, Some(3.0)),
            (Gauge::HitRate, Some(0.9)),
            (Gauge::Keys, None),
            (Gauge::PeakMemory, Some(7.0)),
            (Gauge::SavedOk, Some(1.0)),
            (Gauge::Aof, Some(0.0)),
            (Gauge::LinkUp, None),
        ];
        for (gauge, value) in told {
            assert_eq!(status.gauges[gauge], value, "{gauge:?}");
        }
        assert_eq!((status.policy.as_deref(), status.master.as_deref()), (Some("allkeys-lru"), Some("a:1")));
    }

    #[test]
    fn words_that_mean_something_are_events_and_others_keep_theirs() {
        let old = |name: &str, detail: &str| {
            let text = format!(r#"{{"kind":"event","t_s":1.0,"name":"{name}","detail":"{detail}"}}"#);
            let Record::Event(Event { what, .. }) = read(&text) else { panic!("{text}") };
            what
        };
        let foreign = Happening::Foreign { name: "fork".to_owned(), detail: "a fork".to_owned() };
        assert_eq!(old("fork", "a fork"), foreign);
        assert_eq!(old("unreachable", "refused"), Happening::Unreachable { cause: "refused".to_owned() });
        assert_eq!(old("reachable", "after 2 s"), Happening::Reachable);
        let first = Happening::FirstError { error: "OOM".to_owned(), message: "OOM full: 1".to_owned() };
        assert_eq!(old("error", "OOM: OOM full: 1"), first);
    }
}
