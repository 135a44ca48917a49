//! A workload as recordings have it: whole, or, in those of before workloads were data, as the weights of four commands.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Keyset, Operation, Prefill, Setup, ValueKind, Workload, presets::COUNTER};

/// Either form.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Recorded {
    /// A workload.
    Whole {
        name: String,
        #[serde(default)]
        about: String,
        #[serde(default)]
        keys: BTreeMap<String, Keyset>,
        #[serde(default)]
        values: BTreeMap<String, ValueKind>,
        operations: Vec<Operation>,
        #[serde(default)]
        setup: Setup,
        #[serde(default)]
        prefill: Prefill,
    },
    /// `{"GET":10,"SET":1,"INCR":0,"PING":0}`.
    Weights {
        #[serde(rename = "GET")]
        get: u32,
        #[serde(rename = "SET")]
        set: u32,
        #[serde(rename = "INCR")]
        incr: u32,
        #[serde(rename = "PING")]
        ping: u32,
    },
}

impl From<Recorded> for Workload {
    fn from(recorded: Recorded) -> Self {
        match recorded {
            Recorded::Whole { name, about, keys, values, operations, setup, prefill } => {
                Self { name, about, keys, values, operations, setup, prefill, ..Self::default() }
            }
            Recorded::Weights { get, set, incr, ping } => {
                let mut workload = (*Self::ratio(set, get)).clone();
                let counters = Keyset { prefix: COUNTER.to_owned(), ..Keyset::default() };
                workload.keys.insert("counter".to_owned(), counters);
                let others = [("INCR {counter}", incr), ("PING", ping)].into_iter();
                let others = others.filter(|(_, weight)| *weight > 0);
                workload.operations.extend(others.map(|(step, weight)| Operation::command(step, weight)));
                workload
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::presets;

    #[test]
    fn a_workload_is_read_as_it_was_written() {
        let mut with_setup = Workload::clone(&Workload::ratio(1, 10));
        with_setup.setup.steps.push("SCRIPT LOAD 'return 1'".to_owned());
        let mut with_values = with_setup.clone();
        let kinds = ["64..1024 text", "64:9,4k:1", "compressible 0.5", "json"].into_iter();
        with_values.values.extend(kinds.map(|kind| (kind.to_owned(), kind.parse().unwrap())));
        let users = Keyset { digits: 0, hashed: true, ..Keyset::default() };
        let mut with_users =
            Workload::clone(&Workload::ratio(1, 10).drawn_by("zipfian 1.1".parse().unwrap()));
        with_users.keys.insert("user".to_owned(), users);
        let others = [&with_setup, &with_values, &with_users];
        for workload in presets().map(|preset| &**preset).chain(others) {
            let written = serde_json::to_string(workload).unwrap();
            assert_eq!(serde_json::from_str::<Workload>(&written).unwrap(), *workload, "{written}");
        }
        let written = serde_json::to_string(&*Workload::ratio(1, 10)).unwrap();
        let expected = r#"{"name":"ratio","keys":{"key":{"distribution":"uniform"}},"operations":[
            {"name":"GET","weight":10,"steps":["GET {key}"]},
            {"name":"SET","weight":1,"steps":["SET {key} {value}"]}]}"#;
        assert_eq!(written, expected.replace("\n            ", ""));
    }

    #[test]
    fn the_weights_of_an_older_recording_are_a_workload() {
        let read = |old: &str| serde_json::from_str::<Workload>(old).unwrap();
        let mixed = read(r#"{"GET":10,"SET":1,"INCR":0,"PING":2}"#);
        assert_eq!(mixed.to_string(), "GET:SET:PING 10:1:2");
        let reads = read(r#"{"GET":1,"SET":0,"INCR":0,"PING":0}"#);
        assert_eq!((reads.to_string(), reads.read_share()), ("GET".to_owned(), Some(1.0)));
        assert!(serde_json::from_str::<Workload>("{\"GET\":1}").is_err());
    }
}
