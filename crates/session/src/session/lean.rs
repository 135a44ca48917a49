//! Makes recordings and the reports of agents smaller. The parts of records that the reader can compute from other
//! parts are left out:
//!
//! | left out | is |
//! |---|---|
//! | mean and percentiles of a distribution; its p50 and p99 only if the distribution is inside another distribution | computed from `sum_ns` and `hdr` |
//! | `hdr` of an interval's `service`, if it equals the sum over the operations | computed from the `hdr` of each operation |
//!
//! Everything else is written. A value that repeats in each record needs almost no space in a compressed
//! recording. The [`Reader`](super::Reader) returns complete records. JSON lines on standard output are
//! complete as well.

use serde_json::Value;

use super::{Record, Sink, line};
use crate::stats::COMPUTED;

/// The percentiles that every recording contains, because people look for these percentiles in the file.
const KEPT: [&str; 2] = ["p50_us", "p99_us"];

/// The sink for recordings and reports: records as JSON lines, without the parts that a reader can compute.
#[derive(Debug, Default)]
pub struct Lean;

impl Sink for Lean {
    fn push(&mut self, record: &Record) -> Vec<String> {
        match record {
            Record::Interval(_) | Record::Ping(_) | Record::Wake(_) | Record::Intrinsic(_) => {
                lean(record).into_iter().collect()
            }
            _ => line(record).into_iter().collect(),
        }
    }
}

/// Returns the JSON line of a record without the computable parts; `None` if the record cannot be encoded.
fn lean(record: &Record) -> Option<String> {
    let Ok(Value::Object(mut fields)) = serde_json::to_value(record) else { return None };
    if let Record::Interval(interval) = record
        && let Some(Value::Object(service)) = fields.get_mut("service")
        && !interval.service.is_empty()
        && interval.of_operations() == interval.service
    {
        service.remove("hdr");
    }
    fields.values_mut().for_each(|part| slim(part, &KEPT));
    // The kind and the time come first in a line.
    let first = ["kind", "t_s"].map(|name| fields.remove(name).unwrap_or_default());
    Some(format!(
        "{{\"kind\":{},\"t_s\":{},{}\n",
        first[0],
        first[1],
        &Value::Object(fields).to_string()[1..]
    ))
}

/// Removes the computable fields of a distribution, except the fields named in `kept`. Distributions inside the value
/// lose all their computable fields.
fn slim(part: &mut Value, kept: &[&str]) {
    let Value::Object(fields) = part else { return };
    if fields.get("sum_ns").is_some_and(Value::is_u64) {
        fields.retain(|name, _| !COMPUTED.contains(&name.as_str()) || kept.contains(&name.as_str()));
    }
    fields.values_mut().for_each(|part| slim(part, &[]));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        probe::{Ping, Wake},
        session::{
            Client, Interval, OperationInterval, Reader, ServerIdentity, SessionStart, SessionWriter, Span,
            WorkerCost,
        },
        stats::fixture::latency_of,
    };

    fn interval(commands: &[(&str, u64)]) -> Interval {
        let operation = |(name, ns): &(&str, u64)| {
            let service = latency_of((1..=2000).map(|n| n * ns));
            ((*name).to_owned(), OperationInterval { ops: 2000, service, ..OperationInterval::default() })
        };
        let workers =
            [0.25, 0.75].map(|cpu| WorkerCost { cpu, run_delay: Some(cpu / 10.0), ..WorkerCost::default() });
        let mut interval = Interval {
            t_s: 1.0,
            length_s: 1.0,
            segment: 1,
            commands: commands.iter().map(operation).collect(),
            requests: commands.iter().map(|(name, _)| ((*name).to_owned(), 2000)).collect(),
            client: Some(Client { held: Some(latency_of([7])), ..Client::of(workers.into()) }),
            ..Interval::default()
        };
        interval.service = interval.of_operations();
        interval
    }

    /// Returns a record of each kind of measurement, of two nodes.
    fn records() -> Vec<Record> {
        let rtt = latency_of((1..=5000).map(|n| n * 1000));
        let ping = Ping { kernel: Some(rtt.clone()), rtt: rtt.clone(), ..Ping::default() };
        let load = Record::Interval(Box::new(interval(&[("GET", 300), ("SET", 500)])));
        let ping = Record::Ping(Box::new(Span::new(1.0, 1.0, ping)));
        let other = Interval { service: latency_of([5]), misses: 3, ..interval(&[("GET", 1)]) };
        vec![
            load.clone(),
            load.at_node(1),
            ping.clone(),
            ping.at_node(1),
            Record::Wake(Span::new(1.0, 1.0, Wake { late: rtt })),
            Record::Interval(Box::default()),
            Record::Interval(Box::new(other)),
        ]
    }

    fn lines(records: &[Record]) -> Vec<String> {
        records.iter().flat_map(|record| Lean.push(record)).collect()
    }

    #[test]
    fn parts_that_were_left_out_are_restored_on_reading() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        let mut writer = SessionWriter::create(&path).unwrap();
        writer.write(&Record::Session(SessionStart::now(ServerIdentity::default()))).unwrap();
        records().iter().for_each(|record| writer.write(record).unwrap());
        let mut reader = Reader::open(&path).unwrap();
        reader.next_record().unwrap();
        for record in records() {
            assert_eq!(reader.next_record().unwrap(), Some(record));
        }
    }

    #[test]
    fn only_computable_parts_are_left_out() {
        let lines = lines(&records());
        let value = |n: usize| serde_json::from_str::<Value>(&lines[n]).unwrap();
        let (load, ping) = (value(0), value(2));
        assert!(lines[0].starts_with(r#"{"kind":"interval","t_s":1.0,"#), "{}", lines[0]);
        assert_eq!((&value(1)["node"], load.get("node")), (&1.into(), None));
        assert!(load["service"]["p99_us"].is_f64() && load["service"].get("hdr").is_none(), "{load}");
        let names = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        let needed = ["count", "hdr", "max_us", "min_us", "sum_ns"];
        assert_eq!(names(&load["commands"]["GET"]["service"]), needed);
        let of_rtt = ["count", "hdr", "max_us", "min_us", "p50_us", "p99_us", "sum_ns"];
        assert_eq!(
            (names(&ping["rtt"]), names(&ping["kernel"])),
            (of_rtt.map(String::from).into(), of_rtt.map(String::from).into())
        );
        assert_eq!((&load["misses"], &load["requests"]["GET"]), (&0.into(), &2000.into()));
        assert_eq!(&value(6)["misses"], 3);
        assert!(value(6)["service"]["hdr"].is_string(), "it is no sum, and stays");
    }

    #[test]
    fn service_times_that_differ_from_the_operations_are_refused() {
        let line = &lines(&records())[0];
        let other = line.replacen("\"count\":4000", "\"count\":4001", 1);
        assert_ne!(&other, line);
        let error = serde_json::from_str::<Record>(&other).unwrap_err().to_string();
        assert!(error.contains("the sum of the operations' counts"), "{error}");
    }
}
