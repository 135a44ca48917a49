//! Tests of reports: the figures equal the figures of the records, no text becomes markup, and a report stays small.

use std::{collections::BTreeMap, path::Path, sync::Mutex};

use serde_json::{Value, json};

use super::*;
use crate::{
    diagnose::Findings,
    events::EventKind,
    export::{JSON, NDJSON, Rows},
    knobs::Knobs,
    session::{
        Event, Interval, Mark, Moment, OperationInterval, ReceivedMessages, ReceiverResults, Segment,
        ServerIdentity, SessionStart, Span, Timeline,
    },
    stats::{Latency, fixture::latency_of},
};

/// Texts that would become markup if they were not escaped.
const HOSTILE: [&str; 3] =
    ["</script><script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "<!--<script>'`|"];

/// Returns one of eight distributions, chosen by the seed.
fn times(seed: u64, n: u64) -> Latency {
    static MADE: Mutex<BTreeMap<(u64, u64), Latency>> = Mutex::new(BTreeMap::new());
    let seed = seed % 8;
    let times = (0..n).map(|k| 150_000 + (k * 7919 + seed * 104_729) % 900_000 + (k % 97) * (k % 89) * 700);
    MADE.lock().unwrap().entry((seed, n)).or_insert_with(|| latency_of(times)).clone()
}

fn interval(segment: u32, t_s: f64, ops: u64) -> Record {
    let of = |share: u64| OperationInterval {
        ops: ops / share,
        service: times(segment.into(), ops / share),
        ..OperationInterval::default()
    };
    let received = ReceivedMessages { times: times(3, 4000), lost: Some(3), ..ReceivedMessages::default() };
    Record::Interval(Box::new(Interval {
        t_s,
        length_s: 1.0,
        segment,
        ops,
        ops_per_s: ops as f64,
        service: times(t_s as u64, ops),
        response: segment.is_multiple_of(2).then(|| times(t_s as u64 + 7, ops)),
        commands: [("GET".to_owned(), of(2)), (HOSTILE[1].to_owned(), of(2))].into(),
        errors: [(HOSTILE[0].to_owned(), 1)].into(),
        arrivals: ReceiverResults { delivery: Some(received.into()), ..ReceiverResults::default() },
        ..Interval::default()
    }))
}

fn ping(t_s: f64) -> Record {
    let ping = crate::probe::Ping { rtt: times(t_s as u64, 100), ..crate::probe::Ping::default() };
    Record::Ping(Box::new(Span::new(t_s, 1.0, ping)))
}

fn clients(load: bool, clients: u32, rate: Option<u32>) -> Knobs {
    Knobs { load, clients, rate, ..Knobs::default() }
}

/// Returns a session of this many seconds with ten segments of equal length. The first segment is a warm-up.
fn session(seconds: u32, ops: u64) -> Vec<Record> {
    let text = HOSTILE.join(" ");
    let server = ServerIdentity { address: text.clone(), server: text.clone(), ..ServerIdentity::default() };
    let mut records = vec![Record::Session(SessionStart::now(server))];
    let each = (seconds / 10).max(1);
    for n in 0..seconds {
        let (segment, t_s) = (1 + n / each, f64::from(n));
        if n.is_multiple_of(each) {
            let knobs = clients(true, 10 * segment, segment.is_multiple_of(2).then_some(1000));
            records
                .push(Record::Segment(Segment { warmup: segment == 1, ..Segment::new(t_s, segment, knobs) }));
        }
        records.extend([interval(segment, t_s + 1.0, ops), ping(t_s + 1.0)]);
        let status = crate::server::Status {
            config: std::sync::Arc::new(
                [(text.clone(), text.clone()), ("appendonly".to_owned(), "yes".to_owned())].into(),
            ),
            gauges: [(crate::gauge::Gauge::Cpu, 0.5)].into(),
            poll_s: Some(1.0),
            ..crate::server::Status::default()
        };
        records.push(Record::Server(Box::new(Moment::new(t_s + 1.0, status))));
    }
    records.push(Record::Mark(Mark { t_s: 2.0, text: text.clone() }));
    let what = EventKind::ExperimentStopped { cause: text.clone() };
    records.push(Record::Event(Event::new(3.0, what)));
    records.push(Record::Event(Event::new(
        3.5,
        EventKind::FirstError { error: HOSTILE[0].to_owned(), message: text },
    )));
    records
}

fn made<'a>(form: ReportForm, names: &[&str], records: impl IntoIterator<Item = &'a Record>) -> String {
    let sources =
        names.iter().map(|name| ReportSource { name: (*name).to_owned(), segments: Vec::new() }).collect();
    let mut report = Report::of(form, sources);
    records.into_iter().for_each(|record| drop(report.push(record)));
    report.finish().concat()
}

/// Returns the data for the page's script.
fn data(page: &str) -> Value {
    let (_, after) = page.split_once(r#"<script type="application/json" id="data">"#).unwrap();
    serde_json::from_str(after.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn the_figures_of_a_page_are_those_of_the_json_export() {
    let records = session(30, 2000);
    let mut json = JSON.sink(Rows::default(), None);
    records.iter().for_each(|record| drop(json.push(record)));
    let exported: Value = serde_json::from_str(&json.finish().concat()).unwrap();
    let page = made(ReportForm::Html, &["s.jsonl"], &records);
    let session = &data(&page)["sessions"][0];
    assert_eq!(session["figures"], exported);
    assert_eq!(exported["summary"]["ops"], 27 * 2000, "without the warm-up");
    let (summary, row) =
        (&exported["summary"], page.split_once("all, without warm-up and prefill").unwrap().1);
    let us = |name: &str| crate::units::latency((summary[name].as_f64().unwrap() * 1e3).round() as u64);
    for name in ["service_p50_us", "service_p99_us", "service_max_us", "response_p50_us"] {
        assert!(row.contains(&us(name)), "{name}: {} in {row}", us(name));
    }
    for part in ["\"id\":\"r0-receipts\"", ">received</th>", ">dlv p99</th>", ">lost</th>"] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn a_later_file_of_a_recording_is_drawn_from_its_start() {
    let start = SessionStart { from_s: 60.0, ..SessionStart::now(ServerIdentity::default()) };
    let segment = Segment::new(60.0, 7, clients(true, 10, None));
    let records =
        [Record::Session(start), Record::Segment(segment), interval(7, 61.0, 2000), interval(7, 62.0, 2000)];
    let page = made(ReportForm::Html, &["s-2.jsonl"], &records);
    let session = &data(&page)["sessions"][0];
    assert_eq!((&session["ends_s"], &session["segments"]), (&json!([60.0, 62.0]), &json!([[7, 60.0, 62.0]])));
    assert!(
        page.contains("2.00 s long") && page.contains(">01:00</text>") && !page.contains(">00:50</text>")
    );
}

#[test]
fn a_point_of_a_chart_is_the_interval_of_the_csv_export() {
    let records = session(30, 2000);
    let mut ndjson = NDJSON.sink(Rows::Intervals, None);
    let rows: Vec<String> = records.iter().flat_map(|record| ndjson.push(record)).collect();
    let rows: Vec<Value> = rows.iter().map(|row| serde_json::from_str(row).unwrap()).collect();
    let session = &data(&made(ReportForm::Html, &[], &records))["sessions"][0];
    let chart = |id: &str| {
        let mut all = session["charts"].as_array().unwrap().iter();
        all.find(|chart| chart["id"] == id).unwrap_or_else(|| panic!("no {id}")).clone()
    };
    let of = |row: &Value, level: &str| match &row[format!("response_{level}_us")] {
        Value::Null => row[format!("service_{level}_us")].clone(),
        value => value.clone(),
    };
    let expected = |value: &dyn Fn(&Value) -> Value| rows.iter().map(value).collect::<Vec<_>>();
    let number = |value: &Value| value.as_f64();
    let values_of = |chart: &Value, line: usize| -> Vec<_> {
        chart["lines"][line]["values"].as_array().unwrap().iter().map(number).collect()
    };
    let numbers = |values: Vec<Value>| values.iter().map(number).collect::<Vec<_>>();
    assert_eq!(values_of(&chart("r0-throughput"), 0), numbers(expected(&|row| row["ops_per_s"].clone())));
    let latency = chart("r0-latency");
    for (line, level) in ["p50", "p90", "p99", "max"].into_iter().enumerate() {
        assert_eq!(values_of(&latency, line), numbers(expected(&|row| of(row, level))), "{level}");
    }
    assert_eq!(latency["xs"][0], 0.5);
    let heat = &chart("r0-heat")["heat"]["columns"];
    let counts = heat.as_array().unwrap().iter().flat_map(|column| column["counts"].as_array().unwrap());
    assert_eq!(counts.filter_map(Value::as_u64).sum::<u64>(), 30 * 2000, "no request is in no cell");
}

#[test]
fn no_recorded_text_becomes_markup() {
    let records = session(12, 100);
    for names in [&[HOSTILE[0]][..], &[HOSTILE[1], HOSTILE[2]]] {
        let twice: Vec<_> = std::iter::repeat_n(&records, names.len()).flatten().collect();
        let page = made(ReportForm::Html, names, twice.iter().copied());
        for hostile in ["<script>alert", "</script><script>alert", "<img", "<!--<", "\"><img"] {
            assert!(!page.contains(hostile), "{hostile}");
        }
        assert_eq!(page.matches("<script").count(), 2, "the data and the script");
        assert!(page.contains("&lt;script&gt;alert(1)"), "it is shown");
        assert_eq!(data(&page)["sessions"][0]["moments"][0][2], HOSTILE.join(" "), "as it is");
        let ticket = made(ReportForm::Markdown, names, twice);
        assert!(!ticket.contains('<') && !ticket.contains("\n|---|\n"), "{ticket}");
        assert!(ticket.contains("&lt;script&gt;alert"));
    }
}

#[test]
fn the_policy_lets_only_its_own_script_and_style_in() {
    use base64::Engine as _;
    let knobs = Record::Segment(Segment::new(0.0, 1, clients(true, 10, None)));
    let page = made(ReportForm::Html, &[], &[knobs, ping(1.0)]);
    let between = |from: &str, to: &str| page.split_once(from).unwrap().1.split_once(to).unwrap().0;
    let policy = between("http-equiv=\"Content-Security-Policy\" content=\"", "\"").replace("&#39;", "'");
    let hash = |text: &str| {
        let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
        format!("'sha256-{}'", base64::engine::general_purpose::STANDARD.encode(digest))
    };
    let [script, style] = [between("<script>", "</script>"), between("<style>", "</style>")].map(hash);
    assert_eq!(
        policy,
        format!(
            "default-src 'none'; script-src {script}; style-src {style}; base-uri 'none'; form-action 'none'"
        )
    );
    for remote in ["http://", "https://", "src=", " style=", "onclick", "@import", "url("] {
        let markup = page.replace(between("<script>", "</script>"), "").replace("http-equiv", "");
        assert!(!markup.contains(remote), "{remote}");
    }
}

#[test]
fn a_page_of_a_day_takes_less_than_one_and_a_half_megabytes() {
    let page = made(ReportForm::Html, &["ten.jsonl"], &session(600, 5000));
    assert!(page.len() < 1_500_000, "{} bytes", page.len());
    let day = made(ReportForm::Html, &["day.jsonl"], &session(4000, 300));
    assert!(day.len() < 1_500_000, "{} bytes", day.len());
}

#[test]
fn there_is_a_curve_if_exactly_one_knob_changed() {
    let turned = |knobs: fn(u32) -> Knobs| {
        let mut records = vec![Record::Session(SessionStart::now(ServerIdentity::default()))];
        for n in 1..=4 {
            records.push(Record::Segment(Segment::new(f64::from(n), n, knobs(n))));
            records.push(interval(1 + 2 * n, f64::from(n) + 1.0, 2000));
            let Some(Record::Interval(interval)) = records.last_mut() else { unreachable!() };
            interval.segment = n;
        }
        let page = made(ReportForm::Html, &[], &records);
        let charts = data(&page)["sessions"][0]["charts"].clone();
        charts.as_array().unwrap().iter().find(|chart| chart["id"] == "r0-knob-throughput").cloned()
    };
    let swept = turned(|n| clients(true, n * 10, None)).unwrap();
    assert_eq!(
        (&swept["xs"], &swept["x_name"]),
        (&serde_json::json!([10.0, 20.0, 30.0, 40.0]), &"clients".into())
    );
    assert_eq!(swept["lines"][0]["values"][0], 2000.0);
    assert!(turned(|n| Knobs { pipeline: n, ..clients(true, n * 10, None) }).is_none());
    assert!(turned(|_| clients(true, 10, None)).is_none());
}

#[test]
fn several_recordings_are_compared_with_the_first() {
    let of = |clients_: u32, ops| {
        let knobs = clients(true, clients_, None);
        [
            Record::Session(SessionStart::now(ServerIdentity::default())),
            Record::Segment(Segment::new(0.0, 1, knobs)),
            interval(1, 1.0, ops),
        ]
    };
    let records =
        [of(10, 1000).to_vec(), of(10, 2000).to_vec(), of(20, 2000).to_vec(), session(30, 100)].concat();
    let names = ["a", "b", "c", "d"];
    let page = made(ReportForm::Html, &names, &records);
    for text in [
        "b against a",
        "c against a",
        "clients: 10 and 20",
        "+100 %",
        "Not compared: d has 9 segments under load",
    ] {
        assert!(page.contains(text), "{text}");
    }
    let curves = &data(&page)["comparison"]["lines"];
    assert_eq!([0, 1, 2].map(|n| curves[n]["name"].as_str().unwrap().to_owned()), ["a", "b", "c"]);
    assert!(made(ReportForm::Markdown, &names, &records).starts_with("## Comparison\n\n### b against a\n"));
}

#[test]
fn a_session_without_load_or_without_anything_has_a_report_too() {
    let idle = Record::Segment(Segment::new(0.0, 1, clients(false, 10, None)));
    let start = Record::Session(SessionStart::now(ServerIdentity::default()));
    let page = made(ReportForm::Html, &[], &[start, idle, ping(1.0), ping(2.0)]);
    let charts = &data(&page)["sessions"][0]["charts"];
    assert_eq!(charts.as_array().unwrap().iter().map(|chart| &chart["id"]).collect::<Vec<_>>(), ["r0-ping"]);
    assert!(data(&made(ReportForm::Html, &[], &[]))["sessions"].as_array().unwrap().is_empty());
    assert_eq!(made(ReportForm::Markdown, &[], &[]), "");
}

#[test]
fn a_report_of_a_running_session_can_be_made_again() {
    let records = session(20, 500);
    let (some, rest) = records.split_at(records.len() / 2);
    let mut report = Report::of(ReportForm::Html, Vec::new());
    some.iter().for_each(|record| drop(report.push(record)));
    assert_eq!(report.finish(), report.finish());
    rest.iter().for_each(|record| drop(report.push(record)));
    assert_eq!(report.finish().concat(), made(ReportForm::Html, &[], &records));
}

#[test]
fn a_form_is_known_by_the_extension_of_a_file() {
    let of = |name: &str| ReportForm::of(Path::new(name));
    assert_eq!(
        [of("a.html"), of("b/c.HTM"), of("x.md"), of("x.pdf"), of("html")],
        [Some(ReportForm::Html), Some(ReportForm::Html), Some(ReportForm::Markdown), None, None]
    );
}

#[test]
fn each_target_of_a_session_has_its_own_account() {
    let other = ServerIdentity { address: "b:2".to_owned(), ..ServerIdentity::default() };
    let own = ServerIdentity { address: "a:1".to_owned(), ..ServerIdentity::default() };
    let start = SessionStart { nodes: vec![other].into(), ..SessionStart::now(own) };
    let mut records = vec![Record::Session(start)];
    for (target, ops) in [(0, 1000), (1, 3000)] {
        let segment = Record::Segment(Segment::new(0.0, 1, clients(true, 10, None)));
        records.extend([segment, interval(1, 1.0, ops)].map(|record| record.at_node(target)));
    }
    let page = made(ReportForm::Html, &["v.jsonl"], &records);
    let sessions = data(&page)["sessions"].clone();
    let sums =
        [0, 1].map(|n| (sessions[n]["name"].clone(), sessions[n]["figures"]["summary"]["ops"].clone()));
    assert_eq!(sums, [("v.jsonl, a:1".into(), 1000.into()), ("v.jsonl, b:2".into(), 3000.into())]);
    assert!(page.contains("v.jsonl, b:2 against v.jsonl, a:1"));
    let one_loaded = records.iter().filter(|it| it.node() != Some(1));
    assert!(
        !made(ReportForm::Markdown, &["v.jsonl"], one_loaded).contains("## Comparison"),
        "b is only watched"
    );
}

#[test]
fn a_report_without_load_has_findings_pings_commands_and_charts() {
    let mut records = vec![
        Record::Session(SessionStart::now(ServerIdentity::default())),
        Record::Segment(Segment::new(0.0, 1, Knobs::default())),
    ];
    for t_s in (1..=30).map(f64::from) {
        let stat = crate::server::CommandStat { calls: 1, usec: 500_000, ..Default::default() };
        let status = crate::server::Status {
            command_stats: [("keys".to_owned(), stat)].into(),
            gauges: [(crate::gauge::Gauge::Clients, 7.0)].into(),
            poll_s: Some(1.0),
            ..Default::default()
        };
        records.extend([ping(t_s), Record::Server(Box::new(Moment::new(t_s, status)))]);
    }
    let ticket = made(ReportForm::Markdown, &["night.jsonl"], &records);
    assert!(ticket.contains("--:|---|\n") && !ticket.contains("### Segments"), "{ticket}");
    for part in ["| none |", "### PING", "### Worst seconds of PING", "| keys | 50 % | 1 | 500 ms | 0 |"] {
        assert!(ticket.contains(part), "{part}: {ticket}");
    }
    let page = made(ReportForm::Html, &["night.jsonl"], &records);
    let charts = &data(&page)["sessions"][0]["charts"];
    let ids: Vec<_> = charts.as_array().unwrap().iter().map(|chart| chart["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["r0-ping", "r0-clients"]);
    let text = made(ReportForm::Text, &["night.jsonl"], &records);
    assert!(text.contains("\nkeys            50 %"), "{text}");
}

#[test]
fn times_are_wall_clock_times_and_equal_events_share_a_line() {
    let start = SessionStart {
        started: "2026-01-01T13:00:00Z".to_owned(),
        utc_offset_s: Some(3600),
        ..SessionStart::now(ServerIdentity::default())
    };
    let segment = Segment::new(0.0, 1, Knobs { load: false, ..Knobs::default() });
    let mut records = vec![Record::Session(start), Record::Segment(segment), ping(60.0)];
    let client = Some("a:1".to_owned());
    let keys = EventKind::SlowCommand { us: 14_000, command: "KEYS *".to_owned(), client, arguments: vec![] };
    records.extend((61..64).map(|n| Record::Event(Event::new(f64::from(n), keys.clone()))));
    let lost = |n: u32| EventKind::PingError { message: format!("ERR {n}") };
    let unanswered = |t_s| Record::Ping(Box::new(Span::new(t_s, 1.0, crate::probe::Ping::default())));
    records.extend(
        (70..80).flat_map(|n| [Record::Event(Event::new(f64::from(n), lost(n))), unanswered(f64::from(n))]),
    );
    let (mut timeline, mut findings) = (Timeline::default(), Findings::default());
    for record in &records {
        timeline.push(record);
        findings.push(record);
    }
    let lines: Vec<_> = monitored::lines(&timeline, &findings.episodes)
        .into_iter()
        .map(|(name, text)| format!("{name} {text}"))
        .collect();
    let found = lines.iter().any(|line| line.starts_with("problem 14:01:00 for 00:00:19: stall"));
    assert!(found && lines.iter().any(|line| line.starts_with("worst 14:00:59  p50")), "{lines:#?}");
    let events = &lines[lines.len() - 11..];
    assert_eq!([&events[0], &events[1]], ["events 1 more before these", "event 14:01:10 ping error: ERR 70"]);
    let ticket = made(ReportForm::Markdown, &["night.jsonl"], &records);
    for part in
        ["| 14:00:59 |", "| problem | 14:01:00 |", "| 14:01:03 | slowlog | 3 × KEYS \\*, 14.0 ms from a:1 |"]
    {
        assert!(ticket.contains(part), "{part}: {ticket}");
    }
}
