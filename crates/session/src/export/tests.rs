//! Tests of the output of every format for the same session.

use std::collections::BTreeSet;

use super::*;
use crate::{
    gauge::Gauge,
    knobs::Knobs,
    probe::Ping,
    server::Status,
    session::{
        Event, Interval, Moment, OperationInterval, ReceivedMessages, ReceiverResults, Record, Segment,
        ServerIdentity, SessionStart, Span, figures::FIGURES,
    },
    stats::{Latency, fixture::latency_of},
};

fn times(from_us: u64) -> Latency {
    latency_of((0..2000).map(|n| from_us * 1000 + n * 100))
}

fn segment(segment: u32, t_s: f64, warmup: bool) -> Record {
    let knobs = Knobs { load: true, rate: Some(1000), ..Knobs::default() };
    Record::Segment(Segment { warmup, ..Segment::new(t_s, segment, knobs) })
}

fn interval(segment: u32, t_s: f64) -> Record {
    let of =
        |ops, from_us| OperationInterval { ops, service: times(from_us), ..OperationInterval::default() };
    let received =
        ReceivedMessages { times: times(200), receivers: 5, lost: Some(3), ..ReceivedMessages::default() };
    Record::Interval(Box::new(Interval {
        t_s,
        length_s: 1.0,
        segment,
        ops: 3000,
        ops_per_s: 3000.0,
        hits: 7,
        errors: [("OOM".to_owned(), 2)].into(),
        service: times(300),
        response: Some(times(500)),
        arrivals: ReceiverResults { delivery: Some(received.into()), ..ReceiverResults::default() },
        commands: [("GET".to_owned(), of(2000, 300)), ("a, b|<i>".to_owned(), of(1000, 400))].into(),
        ..Interval::default()
    }))
}

/// Returns a session with a second of warm-up and two seconds of load.
fn session() -> Vec<Record> {
    let server = ServerIdentity { address: "127.0.0.1:6379".to_owned(), ..ServerIdentity::default() };
    let mut start = SessionStart::now(server);
    start.started = "2026-11-22T10:00:00Z".to_owned();
    vec![
        Record::Session(start),
        segment(1, 0.0, true),
        interval(1, 1.0),
        segment(2, 1.0, false),
        interval(2, 2.0),
        interval(2, 3.0),
        Record::Event(Event::new(3.0, crate::events::EventKind::OutputLost { lines: 1 })),
    ]
}

fn made(format: Format, rows: Rows, tag: Option<&str>) -> String {
    let mut sink = format.sink(rows, tag);
    let mut text: String = session().iter().flat_map(|record| sink.push(record)).collect();
    text.extend(sink.finish());
    text
}

fn table(rows: Rows) -> Vec<Vec<String>> {
    let text = made(csv::CSV, rows, None);
    let mut reader = ::csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
    reader.records().map(|row| row.unwrap().iter().map(str::to_owned).collect()).collect()
}

fn column<'a>(table: &'a [Vec<String>], name: &str) -> Vec<&'a str> {
    let at = table[0].iter().position(|column| column == name).unwrap();
    table[1..].iter().map(|row| row[at].as_str()).collect()
}

#[test]
fn every_figure_has_a_column_and_a_field() {
    let names: BTreeSet<_> = FIGURES.iter().map(|figure| figure.name.to_owned()).collect();
    let columns: BTreeSet<_> = table(Rows::Intervals)[0].iter().cloned().collect();
    assert!(names.is_subset(&columns), "{:?}", names.difference(&columns));
    let whole: serde_json::Value = serde_json::from_str(&made(json::JSON, Rows::default(), None)).unwrap();
    for part in [&whole["summary"], &whole["segments"][0], &whole["operations"][0]] {
        let fields: BTreeSet<_> = part.as_object().unwrap().keys().cloned().collect();
        assert!(names.is_subset(&fields), "{:?}", names.difference(&fields));
    }
}

#[test]
fn probes_and_gauges_have_their_own_rows_and_their_sums_in_the_json() {
    let ping = Ping {
        rtt: times(100),
        kernel: Some(times(50)),
        errors: [("timeout".to_owned(), 2)].into(),
        ..Ping::default()
    };
    let gauges = [(Gauge::UsedMemory, 1024.0)].into();
    let records = [
        Record::Ping(Box::new(Span::new(1.0, 1.0, ping.clone()))),
        Record::Ping(Box::new(Span::new(2.0, 1.0, ping))),
        Record::Server(Box::new(Moment::new(2.0, Status { gauges, ..Status::default() }))),
    ];
    let made = |format: Format, rows| {
        let mut sink = format.sink(rows, None);
        let pieces: Vec<_> = records.iter().flat_map(|record| sink.push(record)).collect();
        pieces.concat() + &sink.finish().concat()
    };
    let probes = made(csv::CSV, Rows::Probes);
    let lines: Vec<_> = probes.lines().collect();
    assert!(lines[0].starts_with("kind,t_s,length_s,samples,lost,min_us,mean_us,p50_us,"), "{probes}");
    let kinds: Vec<_> = lines[1..].iter().map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!(kinds, ["ping", "ping_kernel", "ping", "ping_kernel"]);
    assert!(lines[1].starts_with("ping,1,1,2000,2,100,"), "{probes}");
    let server = made(csv::CSV, Rows::Server);
    let memory =
        server.lines().next().unwrap().split(',').position(|name| name == Gauge::UsedMemory.about().name);
    assert_eq!(server.lines().nth(1).unwrap().split(',').nth(memory.unwrap()), Some("1024"));
    let line: serde_json::Value =
        serde_json::from_str(made(json::NDJSON, Rows::Probes).lines().nth(1).unwrap()).unwrap();
    assert_eq!(
        (&line["kind"], &line["max_us"]),
        (&"ping_kernel".into(), &(times(50).max_ns() as f64 / 1e3).into())
    );
    let whole: serde_json::Value = serde_json::from_str(&made(json::JSON, Rows::default())).unwrap();
    assert_eq!((&whole["probes"][0]["samples"], &whole["probes"][0]["lost"]), (&4000.into(), &4.into()));
    assert_eq!(whole["probes"][0]["p99_us"], times(100).percentile(0.99).unwrap() as f64 / 1e3);
    assert_eq!(whole["server"][Gauge::UsedMemory.about().name], 1024);
}

#[test]
fn rows_are_intervals_operations_or_segments() {
    let intervals = table(Rows::Intervals);
    assert_eq!(column(&intervals, "phase"), ["warm-up", "load", "load"]);
    assert_eq!(column(&intervals, "t_s"), ["1", "2", "3"]);
    assert_eq!(column(&intervals, "rate"), ["1000"; 3]);
    let operations = table(Rows::Operations);
    assert_eq!(column(&operations, "operation"), ["GET", "a, b|<i>"].repeat(3));
    assert_eq!(column(&operations, "due"), [""; 6], "no operation has a schedule of its own");
    let segments = table(Rows::Segments);
    assert_eq!(column(&segments, "ops"), ["3000", "6000"]);
    assert_eq!(column(&segments, "length_s"), ["1", "2"]);
}

#[test]
fn a_row_has_the_same_values_in_every_format() {
    let csv = table(Rows::Intervals);
    let ndjson = made(json::NDJSON, Rows::Intervals, None);
    for (n, line) in ndjson.lines().enumerate() {
        let object: serde_json::Value = serde_json::from_str(line).unwrap();
        for name in &csv[0] {
            let cell = column(&csv, name)[n];
            let value = match &object[name] {
                serde_json::Value::Null => String::new(),
                serde_json::Value::String(text) => text.clone(),
                value => value.to_string(),
            };
            assert_eq!(value, cell, "{name}");
        }
    }
}

#[test]
fn the_summary_leaves_the_warm_up_out() {
    let whole: serde_json::Value = serde_json::from_str(&made(json::JSON, Rows::default(), None)).unwrap();
    assert_eq!((&whole["summary"]["ops"], &whole["summary"]["errors"]), (&6000.into(), &4.into()));
    assert_eq!(whole["operations"][0]["ops"], 4000);
    assert_eq!(whole["segments"][0]["phase"], "warm-up");
}

#[test]
fn the_untagged_lines_of_an_interval_log_add_up_to_the_summary() {
    let text = made(hdr_log::HDR_LOG, Rows::default(), None);
    let lines: Vec<_> = text.lines().filter(|line| !line.starts_with(['#', '"'])).collect();
    let tags: Vec<_> = lines
        .iter()
        .map(|line| line.strip_prefix("Tag=").map_or("", |rest| rest.split(',').next().unwrap()))
        .collect();
    assert_eq!(tags[..6], ["warm-up", "", "response", "GET", "a__b|<i>", "delivery"]);
    let mut sum = hdrhistogram::Histogram::<u64>::new_with_bounds(1, 60_000_000_000, 3).unwrap();
    let log = text.as_bytes();
    for entry in hdrhistogram::serialization::interval_log::IntervalLogIterator::new(log) {
        use hdrhistogram::serialization::interval_log::LogEntry;
        let LogEntry::Interval(entry) = entry.unwrap() else { continue };
        if entry.tag().is_none() {
            use base64::Engine as _;
            let packed = base64::engine::general_purpose::STANDARD.decode(entry.encoded_histogram()).unwrap();
            let part: hdrhistogram::Histogram<u64> =
                hdrhistogram::serialization::Deserializer::new().deserialize(&mut packed.as_slice()).unwrap();
            sum.add(part).unwrap();
        }
    }
    assert_eq!(sum.len(), 4000);
    assert_eq!(Some(sum.value_at_quantile(0.99)), times(300).percentile(0.99));
}

#[test]
fn the_tag_selects_the_histogram() {
    let total = |tag| {
        let text = made(PERCENTILES, Rows::default(), tag);
        let (_, count) = text.split_once("Total count    =").unwrap();
        (
            text.lines().nth(2).unwrap().split_whitespace().next().unwrap().to_owned(),
            count.split(']').next().unwrap().trim().to_owned(),
        )
    };
    assert_eq!(total(None), ("0.300031".to_owned(), "4000".to_owned()));
    assert_eq!(total(Some("response")).0, "0.500223");
    assert_eq!(total(Some("GET")).1, "4000");
    assert_eq!(total(Some("delivery")).0, "0.200063");
}

#[test]
fn no_text_of_the_session_becomes_markup() {
    let mut sink = markdown::MARKDOWN.sink(Rows::default(), None);
    for mut record in session() {
        if let Record::Session(start) = &mut record {
            start.tool = "<img> [x](y)".to_owned();
        }
        sink.push(&record);
    }
    let text = sink.finish().concat();
    assert!(text.contains("a, b\\|&lt;i&gt;"), "{text}");
    assert!(text.contains("&lt;img&gt; \\[x\\](y)"), "{text}");
    assert!(text.contains(" | received | dlv p50 | dlv p99 | lost |\n"), "{text}");
    let rows: Vec<_> = text.lines().filter(|line| line.starts_with('|')).collect();
    let bars = |line: &str| line.replace("\\|", "").matches('|').count();
    assert_eq!(rows.len(), 2 + 2 + 2 + 1, "{text}");
    assert!(rows.iter().all(|row| bars(row) == bars(rows[0])), "{text}");
}

#[test]
fn metrics_count_the_same_load_as_the_summary() {
    let text = made(metrics::OPEN_METRICS, Rows::default(), None);
    for line in [
        "redyno_ops_total{operation=\"GET\"} 4000",
        "redyno_errors_total{kind=\"OOM\"} 4",
        "redyno_response_seconds_bucket{le=\"+Inf\"} 4000",
        "redyno_service_seconds_bucket{le=\"0.0005\",operation=\"GET\"} 4000",
        "redyno_delivery_seconds_bucket{le=\"+Inf\"} 4000",
        "redyno_messages_lost_total{kind=\"delivery\"} 6",
        "redyno_receivers 5.0",
        "redyno_target_rate 1000.0",
        "redyno_events_total{name=\"output lost\"} 1",
        "# EOF",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
    }
}

#[test]
fn memtier_json_has_null_for_values_that_are_not_recorded() {
    let text = made(memtier::MEMTIER_JSON, Rows::default(), None);
    let whole: serde_json::Value = serde_json::from_str(&text).unwrap();
    let stats = &whole["ALL STATS"];
    assert_eq!((&stats["Totals"]["Count"], &stats["Gets"]["Count"]), (&6000.into(), &4000.into()));
    assert_eq!(stats["Totals"]["Ops/sec"], 3000.0);
    assert_eq!(stats["Runtime"]["Total duration"], 2000);
    assert_eq!(stats["Runtime"]["Start time"], 1_795_341_601_000_u64, "the warm-up was a second");
    assert_eq!(stats["Runtime"]["Interrupted"], serde_json::Value::Null);
    let p99 = times(300).percentile(0.99).unwrap() as f64 / 1e6;
    assert_eq!(stats["Gets"]["Percentile Latencies"]["p99.00"], (p99 * 1e3).round() / 1e3);
    assert_eq!(stats["Gets"]["Time-Serie"]["1"]["Count"], 2000);
    assert_eq!(whole["configuration"]["threads"], serde_json::Value::Null);
    assert_eq!(
        (&whole["configuration"]["server"], &whole["configuration"]["port"]),
        (&"127.0.0.1".into(), &6379.into())
    );
    assert_eq!(
        (&whole["configuration"]["connections"], &whole["configuration"]["pipeline"]),
        (&50.into(), &1.into())
    );
}

#[test]
fn every_format_contains_only_the_requested_target() {
    let server = |port: u16| ServerIdentity { address: format!("127.0.0.1:{port}"), ..Default::default() };
    let ping = Ping { rtt: times(100), ..Ping::default() };
    let pinged = ping.rtt.count();
    let mut own = session();
    own.insert(3, Record::Ping(Box::new(Span::new(1.0, 1.0, ping))));
    let other = [segment(1, 0.0, false), segment(2, 0.0, true), own[3].clone(), interval(1, 1.0)];
    for format in Format::ALL {
        let made = |target: u16, nodes: Vec<ServerIdentity>, others: &[Record]| {
            let target_of_others = 1 - target;
            let Record::Session(start) = &own[0] else { panic!("{own:?}") };
            let start = SessionStart { nodes: nodes.into(), ..start.clone() };
            let mut sink = format.sink_of(target, Rows::default(), None);
            let mut text = sink.push(&Record::Session(start)).concat();
            let others = others.iter().map(|record| record.clone().at_node(target_of_others));
            let (first, rest) = (own[1..4].iter(), own[4..].iter());
            let at = |record: &Record| record.clone().at_node(target);
            for record in first.map(at).chain(others).chain(rest.map(at)) {
                text += &sink.push(&record).concat();
            }
            text + &sink.finish().concat()
        };
        let nodes = || vec![server(7000)];
        let alone = made(0, nodes(), &[]);
        // In JSON, the last field has all nodes. In OpenMetrics, the metrics whose names begin with `node` have all nodes.
        let [first, second] = [0, 1].map(|target| {
            let text = made(target, nodes(), &other);
            if format.name == "openmetrics" {
                let (by_node, own): (Vec<_>, Vec<_>) =
                    text.split_inclusive('\n').partition(|line| line.contains("redyno_node_"));
                for port in [6379, 7000] {
                    let pings =
                        format!("redyno_node_ping_seconds_count{{node=\"127.0.0.1:{port}\"}} {pinged}\n");
                    assert!(by_node.contains(&pings.as_str()), "{by_node:?}");
                }
                return own.concat();
            }
            let Some((own, by_node)) = text.split_once(",\"by_node\":") else { return text };
            let by_node: serde_json::Value = serde_json::from_str(by_node.trim_end_matches("}\n")).unwrap();
            let names: Vec<_> = (0..2).filter_map(|n| by_node[n]["node"].as_str()).collect();
            let ports = if target == 0 { [6379, 7000] } else { [7000, 6379] };
            assert_eq!(names, ports.map(|port| format!("127.0.0.1:{port}")), "the target comes first");
            format!("{own}}}\n")
        });
        assert_eq!(first, alone, "{}", format.name);
        assert_eq!(second.replace("7000", "6379"), alone.replace("7000", "6379"), "{}", format.name);
    }
}

#[test]
fn the_field_names_of_memtier_json_are_unique() {
    let mut sink = memtier::MEMTIER_JSON.sink(Rows::default(), None);
    let commands =
        ["GET", "get", "Gets", "total"].map(|name| (name.to_owned(), OperationInterval::default()));
    sink.push(&segment(1, 0.0, false));
    sink.push(&Record::Interval(Box::new(Interval {
        segment: 1,
        commands: commands.into(),
        ..Interval::default()
    })));
    let text = sink.finish().concat();
    for field in ["Gets", "Totals", "GET", "get (2)", "Gets (2)", "total (2)"] {
        assert_eq!(text.matches(&format!("    \"{field}\": ")).count(), 1, "{field} in {text}");
    }
}

#[test]
fn the_csv_of_redis_benchmark_has_a_row_of_eight_quoted_cells_per_operation() {
    let text = made(benchmark_csv::BENCHMARK_CSV, Rows::default(), None);
    let mut rows = ::csv::Reader::from_reader(text.as_bytes());
    let cells: Vec<_> = rows.records().map(Result::unwrap).collect();
    let latency = &times(300);
    let p99 = format!("{:.3}", latency.value_at_quantile(0.99) as f64 / 1e6);
    assert_eq!(cells.iter().map(|row| &row[0]).collect::<Vec<_>>(), ["GET", "a, b|<i>"]);
    assert_eq!((&cells[0][1], &cells[0][6], cells[0].len()), ("2000.00", p99.as_str(), 8));
    assert!(text.lines().all(|line| line.starts_with('"') && line.matches('"').count() == 16), "{text}");
}

#[test]
fn an_unknown_format_is_refused_with_a_list_of_all_formats() {
    for format in Format::ALL {
        assert_eq!(format.name.parse(), Ok(format));
    }
    let error = "xml".parse::<Format>().unwrap_err().to_string();
    assert_eq!(
        error,
        "there is no format 'xml'; there are csv, ndjson, json, hlog, hgrm, markdown, openmetrics, memtier-json, \
         redis-benchmark-csv"
    );
}
