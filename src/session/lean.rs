//! What a recording leaves out of its records because its reader computes it: half of an hour's megabytes.
//!
//! | left out | is |
//! |---|---|
//! | mean and percentiles, but p50 and p99 of `service`, `response` and `rtt` | told by `sum_ns` and `hdr` |
//! | `hdr` of an interval's `service` | the cells of its operations together, where it is exactly that |
//! | `requests` of an interval, `cpu` and `run_delay` of its `client` | the operations, where it is exactly these; the busiest worker's |
//! | counts, times, distributions and tables that there are not | 0; `null`; empty |
//! | what a `server` record says of the server's name, place, settings and seldom figures | as in the record before it |
//! | calls of a command that `failed` or were `rejected`, and other fields of a `server` record | 0; `null` |
//!
//! Nothing behind the [`Reader`](super::Reader) knows of it; what standard output gets is whole.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::{Map, Value};

use super::{Interval, Record, Sink, line};
use crate::stats::Latency;

/// The first schema whose recordings leave something out.
pub(super) const LEAN_SINCE: u32 = 2;
/// What the sum and the cells of a distribution tell.
const COMPUTED: [&str; 7] = ["mean_us", "p50_us", "p90_us", "p95_us", "p99_us", "p999_us", "p9999_us"];
/// Distributions that keep some of it, and what: who reads a recording line by line looks for these.
const TOLD: [&str; 3] = ["service", "response", "rtt"];
const KEPT: [&str; 2] = ["p50_us", "p99_us"];
/// Fields that are left out where they are 0, `null` or an empty table, anywhere in what is measured.
const EMPTY: [&str; 12] = [
    "behind_us",
    "due",
    "errors",
    "held",
    "hits",
    "late",
    "left_out",
    "misses",
    "owed",
    "response",
    "shed",
    "waiting_us",
];
/// What the costs of its workers tell of a client.
const BUSIEST: [&str; 2] = ["cpu", "run_delay"];

/// Fields of a `server` record that seldom change.
const LASTING: [&str; 23] = [
    "name",
    "version",
    "mode",
    "role",
    "memory_policy",
    "replication_master",
    "config",
    "latency_events",
    "blocked_clients",
    "clients",
    "connections_max",
    "connections_output_buffer",
    "connections_rejected",
    "evicted_keys",
    "expired_keys",
    "maxmemory",
    "persistence_aof",
    "persistence_aof_ok",
    "persistence_aof_rewriting",
    "persistence_last_fork_us",
    "persistence_last_save_ok",
    "persistence_saving",
    "replication_replicas",
];
/// Calls of a command that are counted where there were some.
const SELDOM: [&str; 2] = ["failed", "rejected"];

/// The records as a recording holds them, one JSON object a line.
#[derive(Debug, Default)]
pub(super) struct Lean {
    /// What was written last of what lasts, by target.
    lasting: BTreeMap<u16, Map<String, Value>>,
}

impl Sink for Lean {
    fn push(&mut self, record: &Record) -> Vec<String> {
        let (target, told) = record.told();
        let Some(fields) = self.lean(target, told) else { return line(record).into_iter().collect() };
        let told = written(fields);
        vec![match target {
            0 => told + "\n",
            _ => format!("{{\"kind\":\"beside\",\"target\":{target},\"record\":{told}}}\n"),
        }]
    }
}

impl Lean {
    /// The fields that are written of a record; `None` where it is written whole.
    fn lean(&mut self, target: u16, record: &Record) -> Option<Map<String, Value>> {
        let is_measured =
            matches!(record, Record::Interval(_) | Record::Ping(_) | Record::Wake(_) | Record::Intrinsic(_));
        if !is_measured && !matches!(record, Record::Server(_)) {
            return None;
        }
        let Ok(Value::Object(mut fields)) = serde_json::to_value(record) else { return None };
        match record {
            Record::Interval(interval) => shorten(interval, &mut fields),
            Record::Server(_) => leave_out(&mut fields, self.lasting.entry(target).or_default()),
            _ => {}
        }
        if is_measured {
            for (name, value) in &mut fields {
                let kept = if TOLD.contains(&name.as_str()) { &KEPT[..] } else { &[] };
                if let Value::Object(value) = value {
                    slim(value, kept);
                }
            }
            forget_empty(&mut fields);
        }
        Some(fields)
    }
}

/// Leaves out what the operations and the workers tell.
fn shorten(interval: &Interval, fields: &mut Map<String, Value>) {
    let is_sum = is_sum(interval);
    if let Some(Value::Object(service)) = fields.get_mut("service").filter(|_| is_sum) {
        service.remove("hdr");
    }
    let has_busiest = interval.client.as_ref().is_some_and(|client| !client.workers.is_empty());
    if let Some(Value::Object(client)) = fields.get_mut("client").filter(|_| has_busiest) {
        BUSIEST.iter().for_each(|name| drop(client.remove(*name)));
    }
    // Whether the requests are left out or there are none can be told of those alone that leave something out.
    if !is_sum && !has_busiest {
        return;
    }
    if interval.requests == answered(interval) {
        fields.remove("requests");
    } else {
        fields.entry("requests").or_insert_with(|| Map::default().into());
    }
}

/// Leaves out what stands in `lasting` already, and what a reader takes it for without it.
fn leave_out(status: &mut Map<String, Value>, lasting: &mut Map<String, Value>) {
    for name in LASTING {
        let value = status.remove(name).unwrap_or(Value::Null);
        if lasting.get(name).unwrap_or(&Value::Null) != &value {
            lasting.insert(name.to_owned(), value.clone());
            status.insert(name.to_owned(), value);
        }
    }
    status.retain(|name, value| !value.is_null() || LASTING.contains(&name.as_str()));
    commands(status).for_each(|stat| stat.retain(|name, n| !SELDOM.contains(&name.as_str()) || *n != 0));
}

/// The counts by command in a `server` record.
fn commands(status: &mut Map<String, Value>) -> impl Iterator<Item = &mut Map<String, Value>> {
    let stats = status.get_mut("command_stats").and_then(Value::as_object_mut);
    stats.into_iter().flat_map(Map::values_mut).filter_map(Value::as_object_mut)
}

/// Whether the service times are those of the operations together, to the last cell.
fn is_sum(interval: &Interval) -> bool {
    !interval.service.is_empty() && sum(interval) == interval.service
}

fn sum(interval: &Interval) -> Latency {
    Latency::merged(interval.commands.values().map(|operation| &operation.service))
}

/// How often each operation was answered that was.
fn answered(interval: &Interval) -> BTreeMap<String, u64> {
    let operations = interval.commands.iter().filter(|(_, operation)| operation.ops > 0);
    operations.map(|(name, operation)| (name.clone(), operation.ops)).collect()
}

/// Leaves out what is computed of a distribution, but what of it is `kept`, and likewise in what these fields hold; and what
/// there is not.
fn slim(fields: &mut Map<String, Value>, kept: &[&str]) {
    if fields.get("sum_ns").is_some_and(Value::is_u64) {
        let computed = COMPUTED.iter().filter(|name| !kept.contains(name));
        computed.for_each(|name| drop(fields.remove(*name)));
    }
    forget_empty(fields);
    fields.values_mut().for_each(|value| {
        if let Value::Object(fields) = value {
            slim(fields, &[]);
        }
    });
}

/// Leaves out what there is not.
fn forget_empty(fields: &mut Map<String, Value>) {
    fields.retain(|name, value| !(EMPTY.contains(&name.as_str()) && is_empty(value)));
}

fn is_empty(value: &Value) -> bool {
    value.is_null() || value == &Value::from(0) || value.as_object().is_some_and(Map::is_empty)
}

/// An object, its kind and its moment first.
fn written(mut fields: Map<String, Value>) -> String {
    let mut first = String::new();
    for name in ["kind", "t_s"] {
        if let Some(value) = fields.remove(name) {
            first += &format!("\"{name}\":{value},");
        }
    }
    format!("{{{first}{}", &Value::Object(fields).to_string()[1..])
}

/// An interval with what a recording leaves out of it.
///
/// # Errors
/// When it is none, or its operations are not what its service times tell.
pub(super) fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Box<Interval>, D::Error> {
    let mut fields = Map::<String, Value>::deserialize(deserializer)?;
    let lacks =
        |of: &str, name| fields.get(of).and_then(Value::as_object).is_some_and(|of| !of.contains_key(name));
    let (is_sum, lacks_busiest) = (lacks("service", "hdr"), lacks("client", "cpu"));
    if is_sum || lacks_busiest {
        fill_interval(&mut fields);
    }
    if !is_sum {
        return Box::deserialize(Value::Object(fields)).map_err(D::Error::custom);
    }
    let nothing = serde_json::to_value(Latency::default()).map_err(D::Error::custom)?;
    let service = fields.insert("service".to_owned(), nothing).unwrap_or_default();
    let mut interval: Box<Interval> = Box::deserialize(Value::Object(fields)).map_err(D::Error::custom)?;
    interval.service = sum(&interval);
    if service.get("count").and_then(Value::as_u64) != Some(interval.service.count()) {
        return Err(D::Error::custom("'service' has no cells, and is not what its operations are together"));
    }
    Ok(interval)
}

/// Gives an interval the requests and the busiest worker that it leaves out.
fn fill_interval(interval: &mut Map<String, Value>) {
    if !interval.contains_key("requests")
        && let Some(Value::Object(operations)) = interval.get("commands")
    {
        let ops =
            |(name, of): (&String, &Value)| Some((name.clone(), of.get("ops").filter(|n| **n != 0)?.clone()));
        let requests: Map<_, _> = operations.iter().filter_map(ops).collect();
        interval.insert("requests".to_owned(), requests.into());
    }
    let Some(Value::Object(client)) = interval.get_mut("client") else { return };
    for name in BUSIEST {
        if !client.contains_key(name) {
            let workers = client.get("workers").and_then(Value::as_array).into_iter().flatten();
            let most = workers.filter_map(|worker| worker.get(name)?.as_f64()).reduce(f64::max);
            client.insert(name.to_owned(), most.into());
        }
    }
}

/// What `server` records leave out at a place of a recording, by target.
#[derive(Debug, Clone, Default)]
pub(super) struct Lasting(Arc<BTreeMap<u64, Map<String, Value>>>);

/// It is remembered of so many targets, as many as are shown beside each other.
const MOST_TARGETS: u64 = 16;

impl Lasting {
    /// Gives a record what it leaves out, and remembers what it has.
    pub(super) fn fill(&mut self, record: &mut Map<String, Value>) {
        let target = record.get("target").and_then(Value::as_u64);
        let fields = match (target, record.get_mut("record")) {
            (Some(1..MOST_TARGETS), Some(Value::Object(told))) => told,
            _ => record,
        };
        if fields.get("kind").is_none_or(|kind| kind != "server") {
            return;
        }
        let target = target.unwrap_or_default();
        for name in LASTING {
            let known = self.0.get(&target).and_then(|known| known.get(name));
            match (fields.get(name), known) {
                (None, None) => {}
                (None, Some(known)) => drop(fields.insert(name.to_owned(), known.clone())),
                (Some(told), Some(known)) if told == known => {}
                (Some(told), _) => {
                    let lasting = Arc::make_mut(&mut self.0).entry(target).or_default();
                    lasting.insert(name.to_owned(), told.clone());
                }
            }
        }
        for stat in commands(fields) {
            for name in SELDOM {
                stat.entry(name).or_insert_with(|| 0.into());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        gauge::{Gauge, Gauges},
        probe::{Ping, Wake},
        server::{CommandStat, Status},
        session::{
            Client, Moment, OperationInterval, Reader, ServerIdentity, SessionStart, Span, WorkerCost, Writer,
        },
        stats::fixture::latency_of,
    };

    fn interval(commands: &[(&str, u64)]) -> Interval {
        let operation = |(name, ns): &(&str, u64)| {
            let service = latency_of((1..=2000).map(|n| n * ns));
            ((*name).to_owned(), OperationInterval { ops: 2000, service, ..OperationInterval::default() })
        };
        let mut interval = Interval {
            t_s: 1.0,
            length_s: 1.0,
            segment: 1,
            commands: commands.iter().map(operation).collect(),
            requests: commands.iter().map(|(name, _)| ((*name).to_owned(), 2000)).collect(),
            client: Some(Client { held: Some(latency_of([7])), ..Client::of(vec![cost(0.25), cost(0.75)]) }),
            ..Interval::default()
        };
        interval.service = sum(&interval);
        interval
    }

    fn cost(cpu: f64) -> WorkerCost {
        WorkerCost { cpu, run_delay: Some(cpu / 10.0) }
    }

    fn status(hz: &str) -> Record {
        let config = [("hz".to_owned(), hz.to_owned())].into();
        let mut gauges = Gauges::from([(Gauge::Clients, 3.0)]);
        gauges.set(Gauge::MaxMemory, (hz == "10").then_some(7.0));
        let calls = |failed| CommandStat { calls: 7, failed, ..CommandStat::default() };
        let command_stats = [("get".to_owned(), calls(Some(0))), ("set".to_owned(), calls(None))].into();
        let status = Status { config, gauges, command_stats, name: "redis".to_owned(), ..Status::default() };
        Record::Server(Box::new(Moment::new(1.5, status)))
    }

    /// A line of each that is measured, of two targets.
    fn records() -> Vec<Record> {
        let rtt = latency_of((1..=50).map(|n| n * 1000));
        let ping = Ping { kernel: Some(rtt.clone()), rtt: rtt.clone(), ..Ping::default() };
        let load = Record::Interval(Box::new(interval(&[("GET", 300), ("SET", 500)])));
        let told = [
            load.clone(),
            load.told_by(1),
            Record::Ping(Box::new(Span::new(1.0, 1.0, ping.clone()))),
            Record::Ping(Box::new(Span::new(1.0, 1.0, ping))).told_by(1),
            Record::Wake(Span::new(1.0, 1.0, Wake { late: rtt })),
            Record::Interval(Box::default()),
            Record::Interval(Box::new(Interval {
                service: latency_of([5]),
                misses: 3,
                ..interval(&[("GET", 1)])
            })),
            Record::Interval(Box::new(Interval {
                requests: [("GET".to_owned(), 4000)].into(),
                ..interval(&[("GET", 1)])
            })),
            Record::Interval(Box::new(Interval { requests: BTreeMap::new(), ..interval(&[("GET", 1)]) })),
            Record::Interval(Box::new(Interval {
                client: Some(Client::default()),
                ..interval(&[("GET", 1)])
            })),
        ];
        let statuses = [("10", 0), ("10", 0), ("20", 0), ("10", 1), ("10", 1), ("20", 0)];
        let statuses = statuses.map(|(hz, target)| status(hz).told_by(target));
        // Which leave nothing out, and have requests or not.
        let other = Interval { client: None, service: latency_of([5]), ..interval(&[("GET", 1)]) };
        let late = Interval { length_s: 0.0, client: None, ..interval(&[("GET", 1)]) };
        let worker = WorkerCost { cpu: 0.5, run_delay: None };
        let elsewhere = Interval { client: Some(Client::of(vec![worker])), ..other.clone() };
        let others = [Interval { requests: BTreeMap::new(), ..other.clone() }, other, late, elsewhere];
        let others = others.map(|interval| Record::Interval(Box::new(interval)));
        told.into_iter().chain(statuses).chain(others).collect()
    }

    fn lines(records: &[Record]) -> Vec<String> {
        let mut lean = Lean::default();
        records.iter().flat_map(|record| lean.push(record)).collect()
    }

    #[test]
    fn what_is_left_out_is_there_again_when_it_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        let mut writer = Writer::create(&path).unwrap();
        writer.write(&Record::Session(SessionStart::now(ServerIdentity::default()))).unwrap();
        records().iter().for_each(|record| writer.write(record).unwrap());
        let mut reader = Reader::open(&path).unwrap();
        reader.next_record().unwrap();
        for record in records() {
            assert_eq!(reader.next_record().unwrap(), Some(record));
        }
    }

    #[test]
    fn only_what_can_be_computed_is_left_out() {
        let lines = lines(&records());
        let value = |n: usize| serde_json::from_str::<Value>(&lines[n]).unwrap();
        let (load, ping) = (value(0), value(2));
        assert!(lines[0].starts_with(r#"{"kind":"interval","t_s":1.0,"#), "{}", lines[0]);
        assert!(load["service"]["p99_us"].is_f64() && load["service"].get("hdr").is_none(), "{load}");
        let get = load["commands"]["GET"]["service"].as_object().unwrap();
        assert_eq!(get.keys().collect::<Vec<_>>(), ["count", "hdr", "max_us", "min_us", "sum_ns"]);
        assert!(ping["rtt"]["p50_us"].is_f64() && ping["kernel"].get("p50_us").is_none(), "{ping}");
        let of_rtt = ping["rtt"].as_object().unwrap().keys().collect::<Vec<_>>();
        assert_eq!(of_rtt, ["count", "hdr", "max_us", "min_us", "p50_us", "sum_ns"]);
        assert_eq!(
            load["client"].as_object().unwrap().keys().collect::<Vec<_>>(),
            ["held", "readable_to_read", "workers"]
        );
        let nothing = ["requests", "response", "errors", "misses", "due", "behind_us"];
        assert!(nothing.iter().all(|name| load.get(name).is_none()), "{load}");
        assert_eq!((&value(6)["misses"], &value(7)["requests"]["GET"]), (&3.into(), &4000.into()));
        assert_eq!(value(8)["requests"].as_object().map(Map::len), Some(0), "they are not the operations");
        assert!(value(6)["service"]["hdr"].is_string(), "it is no sum, and stays");
        let settings: Vec<_> = (10..16).map(|n| value(n).get("config").is_some()).collect();
        assert_eq!(settings, [true, false, true, false, false, false]);
        let limits: Vec<_> = (10..13).map(|n| value(n).get("maxmemory").cloned()).collect();
        assert_eq!(limits, [Some(7.into()), None, Some(Value::Null)], "what is told no more is said once");
        let beside: Vec<_> = [13, 14].map(|n| value(n)["record"].get("name").is_some()).into();
        assert_eq!(beside, [true, false]);
    }

    #[test]
    fn service_times_that_are_not_those_of_the_operations_are_told() {
        let line = &lines(&records())[0];
        let other = line.replacen("\"count\":4000", "\"count\":4001", 1);
        assert_ne!(&other, line);
        let error = serde_json::from_str::<Record>(&other).unwrap_err().to_string();
        assert!(error.contains("its operations are together"), "{error}");
    }
}
