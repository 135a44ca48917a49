use super::*;
use crate::{
    events::SearchResult,
    knobs::Knobs,
    probe::Ping,
    session::{
        Client, Event, Interval, OneReceiver, Opening, ReceivedMessages, ReceiverResults, Record, Segment,
        Span, WorkerCost,
    },
    stats::{Latency, fixture::repeated},
    workload::Workload,
};

fn begin(timeline: &mut Timeline, segment: u32, knobs: Knobs) {
    timeline.push(&Record::Segment(Segment::new(0.0, segment, knobs)));
}

#[test]
fn the_summary_has_the_load_and_all_errors() {
    let mut timeline = Timeline::default();
    begin(&mut timeline, 1, Knobs { load: true, ..Knobs::default() });
    timeline.push(&Record::Interval(Box::new(Interval {
        t_s: 2.0,
        length_s: 2.0,
        segment: 1,
        ops: 200,
        hits: 150,
        misses: 50,
        conflicts: 7,
        errors: [("OOM".to_owned(), 3)].into(),
        service: repeated(250_000, 200),
        ..Interval::default()
    })));
    let expected = "\
00:00:02 measured
  load      200 ops in 2.0 s under load, 100/s
  knobs     50 clients × 1, rate max, SET:GET 1:10, 32 B values, 10 k keys
  service   p50 250 µs  p90 250 µs  max 250 µs
  hits      75 % of 200 lookups
  conflicts 7 times another client had stored the key between the read and the cas
  errors    OOM 3
";
    assert_eq!(summary(&timeline, &[], &[]), expected);
}

#[test]
fn a_load_without_replies_has_no_lines_of_latencies() {
    let mut timeline = Timeline::default();
    begin(&mut timeline, 1, Knobs { load: true, rate: Some(100), ..Knobs::default() });
    let (errors, response) = ([("OOM".to_owned(), 300)].into(), Some(Latency::default()));
    let failed = Interval { t_s: 3.0, length_s: 3.0, segment: 1, errors, response, ..Interval::default() };
    timeline.push(&Record::Interval(Box::new(failed)));
    let text = summary(&timeline, &[], &[]);
    assert!(text.contains("  errors    OOM 300\n"), "{text}");
    assert!(!text.contains("service") && !text.contains("response"), "{text}");
}

#[test]
fn the_summary_has_the_result_of_each_experiment() {
    let mut timeline = Timeline::default();
    begin(&mut timeline, 1, Knobs { load: true, ..Knobs::default() });
    let found =
        SearchResult { knob: "rate".into(), value: 9410, lower: 9410, upper: None, limit: "p99<1ms".into() };
    let verdict = "B is better: ops/s +12 %".to_owned();
    for what in
        [EventKind::Found { found }, EventKind::RecordsLost { records: 1 }, EventKind::Compared { verdict }]
    {
        timeline.push(&Record::Event(Event::new(2.0, what)));
    }
    let text = summary(&timeline, &[], &[]);
    let results: Vec<_> = text.lines().filter(|line| line.starts_with("  result")).collect();
    assert_eq!(
        results,
        ["  result    p99<1ms is met up to rate 9 410", "  result    B is better: ops/s +12 %"]
    );
}

#[test]
fn requests_connections_and_attempts_to_connect_are_counted_separately() {
    let mut timeline = Timeline::default();
    begin(&mut timeline, 1, Knobs { load: true, rate: Some(100), ..Knobs::default() });
    let of = |kind: &str, n| [(kind.to_owned(), n)].into();
    timeline.push(&Record::Interval(Box::new(Interval {
        length_s: 2.0,
        segment: 1,
        due: 200,
        ops: 150,
        shed: 7,
        unsent: 3,
        errors: of("reset", 40),
        connections_lost: of("reset", 5),
        connects_failed: of("refused", 12),
        response: Some(repeated(250_000, 150)),
        ..Interval::default()
    })));
    let text = summary(&timeline, &[], &[]);
    for line in [
        "send lag  at most 0 ns, 7 of 200 requests that were due were given up (shed), 3 of 200 were due and not sent when the load ended (unsent)",
        "errors    reset 40\n",
        "lost      5 connections: reset\n",
        "connects  12 attempts to connect failed: refused\n",
    ] {
        assert!(text.contains(line), "{line}:\n{text}");
    }
}

#[test]
fn reconnections_are_reported_by_stage() {
    let mut timeline = Timeline::default();
    let of = |reconnect| Knobs { load: true, reconnect, ..Knobs::default() };
    let opening =
        Opening { connect: repeated(45_000, 2000), greeting: repeated(90_000, 2000), ..Opening::default() };
    let interval = |segment| Interval {
        length_s: 10.0,
        segment,
        ops: 2000,
        opening: opening.clone(),
        ..Interval::default()
    };
    begin(&mut timeline, 1, of(Some(1)));
    timeline.push(&Record::Interval(Box::new(interval(1))));
    let text = summary(&timeline, &[], &[]);
    for line in [
        "10 k keys, reconnect 1\n",
        "opened    2 000 connections, 200/s\n  connect   p50 45.0 µs  p90 45.0 µs  p99 45.0 µs  max 45.0 µs\n",
        "  greeting  p50 90.0 µs",
    ] {
        assert!(text.contains(line), "{line}:\n{text}");
    }
    let mut kept = Timeline::default();
    begin(&mut kept, 1, of(None));
    kept.push(&Record::Interval(Box::new(interval(1))));
    assert!(!summary(&kept, &[], &[]).contains("opened"));
}

/// Adds ten seconds of a segment with these knobs.
fn ten_seconds(timeline: &mut Timeline, segment: u32, knobs: Knobs, ops: u64) {
    let response = knobs.rate.map(|_| repeated(800_000, 2000));
    begin(timeline, segment, knobs);
    timeline.push(&Record::Interval(Box::new(Interval {
        t_s: f64::from(segment) * 10.0,
        length_s: 10.0,
        segment,
        ops,
        ops_per_s: ops as f64 / 10.0,
        service: repeated(312_000, 2000),
        response,
        ..Interval::default()
    })));
}

#[test]
fn there_are_sums_for_one_setting_and_a_table_for_several_segments() {
    let mut timeline = Timeline::default();
    let knobs = Knobs { load: true, ..Knobs::default() };
    ten_seconds(&mut timeline, 1, knobs.clone(), 1000);
    ten_seconds(&mut timeline, 2, Knobs { load: false, ..knobs.clone() }, 0);
    ten_seconds(&mut timeline, 3, knobs.clone(), 1000);
    let text = summary(&timeline, &[], &[]);
    assert!(text.contains("2 000 ops in 20.0 s under load, 100/s") && text.contains("  service "), "{text}");
    assert!(text.contains("    3   as before"), "{text}");
    ten_seconds(&mut timeline, 4, Knobs { clients: 200, ..knobs }, 4000);
    let text = summary(&timeline, &[], &[]);
    assert!(!text.contains("  service ") && !text.contains("under load,"), "{text}");
    assert!(text.contains("10 k keys; later settings: see the table"), "{text}");
}

#[test]
fn the_file_of_the_recording_is_named() {
    let text = summary(&Timeline::default(), &[], &["run.jsonl".to_owned()]);
    assert_eq!(text, "00:00:00 measured\n  file      run.jsonl\n");
}

#[test]
fn a_client_that_was_the_limit_is_reported_with_its_segments() {
    let mut timeline = Timeline::default();
    for (segment, cpu) in [(1, 0.5), (2, 0.96), (3, 0.93)] {
        let knobs = Knobs { load: true, ..Knobs::default() };
        begin(&mut timeline, segment, knobs);
        let client = Some(Client::of(vec![WorkerCost { cpu, ..WorkerCost::default() }]));
        let interval = Interval { length_s: 1.0, segment, ops: 1, client, ..Interval::default() };
        timeline.push(&Record::Interval(Box::new(interval)));
    }
    let expected = |segment, share| {
        format!(
            "finding   seg {segment}: client limit: thread load-0 uses {share} of a core; run redyno on another host"
        )
    };
    let text = summary(&timeline, &[], &[]);
    assert!(text.contains(&expected(2, "96 %")) && text.contains(&expected(3, "93 %")), "{text}");
}

#[test]
fn records_are_reported_as_in_benchmarks_of_search_engines() {
    let dataset_line = |commands: &[&str]| {
        let words: Vec<_> = commands.iter().map(|word| (*word).to_owned()).collect();
        let workload = Workload::of_commands(&words).unwrap().into();
        let mut timeline = Timeline::default();
        let knobs = Knobs { load: true, workload, ..Knobs::default() };
        ten_seconds(&mut timeline, 1, knobs, 5000);
        let text = summary(&timeline, &[], &[]);
        text.lines().find_map(|line| line.strip_prefix("  dataset   ").map(str::to_owned))
    };
    assert_eq!(
        dataset_line(&["SET", "doc:__field:id__", "x"]).as_deref(),
        Some("5 000 records written in 10.00 s, 500 records/s, mean 0.312 ms")
    );
    let sent = dataset_line(&["GET", "doc:__field:id__"]);
    assert!(sent.is_some_and(|records| records.starts_with("5 000 records sent in ")));
    assert_eq!(dataset_line(&["GET", "doc:__field:id__", ";", "PING"]), None, "not each is of a record");
    let bulk = dataset_line(&["POST", "/i/_bulk", "__bulk:20__"]);
    let expected =
        "5 000 requests, each with at most 20 records written in 10.00 s, 500 requests/s, mean 0.312 ms";
    assert_eq!(bulk.as_deref(), Some(expected));
}

#[test]
fn the_pings_of_several_segments_without_load_have_the_number_and_start_of_the_segment() {
    let mut timeline = Timeline::default();
    for (number, t_s) in [(1, 0.0), (2, 5.0)] {
        timeline.push(&Record::Segment(Segment::new(t_s, number, Knobs::default())));
        let ping = Ping { rtt: repeated(250_000, 200), ..Ping::default() };
        timeline.push(&Record::Ping(Box::new(Span::new(t_s + 1.0, 1.0, ping))));
    }
    let text = summary(&timeline, &[], &[]);
    for line in
        ["ping      seg 1 from 00:00: 200 answered  p50 250 µs", "ping      seg 2 from 00:05: 200 answered"]
    {
        assert!(text.contains(line), "{text}");
    }
}

#[test]
fn a_session_without_load_is_one_line() {
    assert_eq!(summary(&Timeline::default(), &[], &[]), "00:00:00 measured\n");
}

#[test]
fn a_warm_up_is_no_other_setting_and_messages_are_counted_over_all_settings() {
    let mut timeline = Timeline::default();
    let knobs = Knobs { load: true, ..Knobs::default() };
    let warmup = Segment { warmup: true, ..Segment::new(0.0, 1, knobs.clone()) };
    timeline.push(&Record::Segment(warmup));
    let mut measure = |segment, clients| {
        timeline.push(&Record::Segment(Segment::new(0.0, segment, Knobs { clients, ..knobs.clone() })));
        let times = repeated(400_000, 1000);
        let slow = OneReceiver {
            receiver: 2,
            received: 500,
            times: Some(repeated(9_000_000, 100)),
            ..OneReceiver::default()
        };
        let slower = OneReceiver { receiver: 3, times: Some(repeated(9_000_000, 200)), ..slow.clone() };
        let (lost, by_receiver) = (Some(2), vec![slow, slower]);
        let got = ReceivedMessages { times, receivers: 3, lost, by_receiver, ..ReceivedMessages::default() };
        let arrivals = ReceiverResults { delivery: Some(got.into()), ..ReceiverResults::default() };
        let service = repeated(250_000, 200);
        let part =
            Interval { t_s: 1.0, length_s: 1.0, segment, ops: 200, service, arrivals, ..Interval::default() };
        timeline.push(&Record::Interval(Box::new(part)));
        summary(&timeline, &[], &[])
    };
    let one = measure(2, 50);
    for line in [
        "  service   p50 250 µs",
        "  delivery  p50 400 µs",
        "            1 000 received by 3 receivers, 2 lost",
        "            receiver 3 of 3: p50 9.00 ms of 40 % of its messages, all receivers 400 µs",
    ] {
        assert!(one.contains(line), "no '{line}' in:\n{one}");
    }
    assert!(!one.contains("receiver 2 of 3: p50") && !one.contains("later settings"), "{one}");
    let two = measure(3, 60);
    assert!(
        !two.contains("  service ") && two.contains("  delivery  2 000 received by 3 receivers, 4 lost"),
        "{two}"
    );
}

#[test]
fn the_receivers_that_have_no_line_are_counted() {
    let one = |receiver| OneReceiver { receiver, lost: 4, ..OneReceiver::default() };
    let lines = |n: u32| {
        let got = ReceivedMessages { by_receiver: (1..=n).map(one).collect(), ..ReceivedMessages::default() };
        got.lines(5)
    };
    assert_eq!((lines(5).len(), lines(6).len()), (6, 7));
    assert_eq!((&*lines(6)[6], &*lines(8)[6]), ("and 1 more receiver", "and 3 more receivers"));
}

#[test]
fn one_reply_after_the_end_of_the_load_was_answered() {
    let mut timeline = Timeline::default();
    begin(&mut timeline, 1, Knobs { load: true, ..Knobs::default() });
    let part = Interval { length_s: 1.0, segment: 1, ops: 9, drained: 1, ..Interval::default() };
    timeline.push(&Record::Interval(Box::new(part)));
    let text = summary(&timeline, &[], &[]);
    assert!(text.contains("; 1 of them was answered after the end of the load\n"), "{text}");
}
