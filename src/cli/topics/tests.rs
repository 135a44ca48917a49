use std::{collections::BTreeSet, path::Path};

use serde_json::Value;

use super::*;
use crate::{
    events::EventKind,
    export::Rows,
    gauge::Gauges,
    host::{HostSample, Process},
    server::{ClientGroup, ClientRow, CommandStat, ConnectedClients},
    session::{Event, OneReceiver, OperationInterval, Reader, ReceivedMessages, Record, StepTimes},
    stats::Latency,
};

/// Collects the names of all fields, except names that are data, such as kinds of errors, commands and parameters.
fn fields(value: &Value, names: &mut BTreeSet<String>) {
    const MAPS: [&str; 16] = [
        "commands",
        "requests",
        "errors",
        "redirects",
        "connections_lost",
        "connects_failed",
        "first_errors",
        "left_out",
        "command_stats",
        "own",
        "client_list",
        "config",
        "workload",
        "latency_events",
        "arrivals",
        "missing",
    ];
    match value {
        Value::Object(map) => {
            for (name, value) in map {
                names.insert(name.clone());
                match value {
                    Value::Object(of) if name == "commands" => {
                        of.values().for_each(|value| fields(value, names));
                    }
                    _ if MAPS.contains(&name.as_str()) => {}
                    value => fields(value, names),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| fields(value, names)),
        _ => {}
    }
}

/// Returns a record of a session with receivers, steps and clients.
fn received_and_clients() -> (ReceivedMessages, OperationInterval, ConnectedClients, CommandStat) {
    let receiver =
        OneReceiver { late: 1, reconnects: 1, times: Some(Latency::default()), ..OneReceiver::default() };
    let received = ReceivedMessages {
        lost: Some(1),
        left: 1,
        foreign: 1,
        late: 1,
        doubled: 1,
        unclear: 1,
        claimed: 1,
        reconnects: 1,
        by_receiver: vec![receiver],
        ..ReceivedMessages::default()
    };
    let steps = StepTimes { missed: 1, ..StepTimes::default() };
    let operation =
        OperationInterval { not_found: 1, steps: Some(Box::new(steps)), ..OperationInterval::default() };
    let (groups, rows) = (vec![ClientGroup::default()], vec![ClientRow::default()]);
    (
        received,
        operation,
        ConnectedClients { groups, rows, ..ConnectedClients::default() },
        CommandStat::default(),
    )
}

#[test]
fn every_field_of_a_recording_is_described() {
    let text = records();
    let words: BTreeSet<_> = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
    let recording = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/session.jsonl");
    let mut reader = Reader::open(Path::new(recording)).unwrap();
    let mut names = BTreeSet::new();
    while let Some(record) = reader.next_record().unwrap() {
        // The fields of an event differ from those of other records.
        if !matches!(record, Record::Event(_)) {
            fields(&serde_json::to_value(record).unwrap(), &mut names);
        }
    }
    let process = Process { core: Some(1), state: Some('R'), ..Process::default() };
    let mut gauges = Gauges::default();
    GAUGES.iter().for_each(|gauge| gauges.set(*gauge, Some(1.0)));
    let sample = HostSample {
        sample_s: Some(1.0),
        gauges,
        cores: vec![1.0],
        busy: vec![process.clone()],
        server: Some(process),
        clock_source: "tsc".to_owned(),
        missing: std::sync::Arc::new([("swap".to_owned(), "unknown".to_owned())].into()),
    };
    fields(&serde_json::to_value(sample).unwrap(), &mut names);
    fields(&serde_json::to_value(received_and_clients()).unwrap(), &mut names);
    assert!(names.len() > 80, "{names:?}");
    let missing: Vec<_> = names.iter().filter(|name| !words.contains(name.as_str())).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// Returns the object of the format json for a recording with findings. The recording also has another node and an
/// agent.
fn json_of_several_nodes() -> Value {
    let recording = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/session.jsonl");
    let mut reader = Reader::open(Path::new(recording)).unwrap();
    let mut sink = crate::export::JSON.sink(Rows::default(), None);
    while let Some(mut record) = reader.next_record().unwrap() {
        match &mut record {
            Record::Session(session) => {
                std::sync::Arc::make_mut(&mut session.nodes).push(session.target.clone());
            }
            Record::Interval(interval) => {
                let all = || {
                    (0..2).map(|node| (node, OperationInterval { ops: 1, ..Default::default() })).collect()
                };
                (interval.nodes, interval.agents) = (all(), all());
            }
            Record::Ping(_) => drop(sink.push(&record.clone().at_node(1))),
            _ => {}
        }
        sink.push(&record);
    }
    let (from, to, by) = ("a:1".to_owned(), "b:2".to_owned(), "a replica".to_owned());
    let what = EventKind::Failover { from, to, length_s: 1.0, error_s: 0.1, by, epoch: None, cause: None };
    sink.push(&Record::Event(Event::new(1.0, what)));
    serde_json::from_str(&sink.finish().concat()).unwrap()
}

#[test]
fn every_field_of_a_json_export_is_described() {
    let text = formats();
    let words: BTreeSet<_> = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
    let Value::Object(whole) = json_of_several_nodes() else { panic!("an object") };
    let mut names: BTreeSet<_> = whole.keys().cloned().collect();
    for (name, value) in &whole {
        // The values of the first fields have names that are data; `redyno help records` describes the others.
        if !["errors", "first_errors", "unread", "session", "server", "failovers"].contains(&name.as_str()) {
            fields_of_rows(value, &mut names);
        }
    }
    let several = ["nodes", "agents", "failovers", "findings", "commands", "by_node"];
    assert!(several.iter().all(|name| whole[*name].as_array().is_some_and(|rows| !rows.is_empty())));
    let missing: Vec<_> = names.iter().filter(|name| !words.contains(name.as_str())).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// Collects the names of all fields except the gauges of a row of `server`.
fn fields_of_rows(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            names.extend(map.keys().cloned());
            map.iter()
                .filter(|(name, _)| *name != "server")
                .for_each(|(_, value)| fields_of_rows(value, names));
        }
        Value::Array(rows) => rows.iter().for_each(|row| fields_of_rows(row, names)),
        _ => {}
    }
}

#[test]
fn every_format_and_every_figure_is_described_in_one_line_each() {
    let text = formats();
    for name in
        Format::ALL.map(|format| format.name).into_iter().chain(FIGURES.iter().map(|figure| figure.name))
    {
        assert!(text.lines().any(|line| line.split_whitespace().next() == Some(name)), "{name}");
    }
    assert!(text.contains("service_p99_us       The p99 of the service times, in µs\n"), "{text}");
}

#[test]
fn a_topic_is_found_in_any_case() {
    assert_eq!(topic("FORMATS"), Ok(Topic::Formats));
    assert!(topic("x").unwrap_err().contains("formats and records"));
}
