use super::*;
use crate::{
    diagnose::{Findings, fixture::Second},
    gauge::Gauges,
    load::Prefilling,
    probe::Ping,
    server::CommandStat,
    session::{Interval, Moment, Segment, Span},
    stats::fixture::latency_of,
};

fn interval(t_s: f64, ops: u64, outage_s: f64) -> Record {
    Record::Interval(Box::new(Interval {
        t_s,
        length_s: 0.25,
        segment: 1,
        ops,
        outage_s,
        waiting_us: if ops == 0 { 9 } else { 0 },
        ..Interval::default()
    }))
}

fn begin(segment: Segment) -> Findings {
    let mut findings = Findings::default();
    findings.push(&Record::Segment(segment));
    findings
}

fn loaded() -> Segment {
    Segment::new(0.0, 1, Knobs { load: true, ..Knobs::default() })
}

#[test]
fn a_silence_is_reported_with_its_length_and_ends_with_the_next_reply() {
    let mut findings = begin(loaded());
    let records =
        [interval(1.0, 9, 0.0), interval(2.25, 0, 0.0), interval(2.5, 0, 0.0), interval(2.75, 4, 0.0)];
    let reported: Vec<_> = records.iter().map(|record| findings.push(record)).collect();
    let begun = format!(
        "stall: the server does not answer: no reply to the load for 1.5 s, although the connections are open; {NEXT}"
    );
    assert_eq!(reported, [vec![], vec![], vec![begun], vec!["stall: no longer".to_owned()]]);
}

#[test]
fn a_stopped_process_is_named_by_its_number_if_the_number_is_known() {
    let found = |pid| {
        let records = |n| {
            let mut second = Second::healthy(n);
            second.host.server = Some(Process { pid, state: Some('T'), ..Process::default() });
            second.records()
        };
        let mut findings = begin(loaded());
        records(1).iter().for_each(|record| drop(findings.push(record)));
        findings.push(&interval(1.0, 9, 0.0));
        findings.push(&interval(3.0, 0, 0.0));
        // The timeout has closed the connections.
        let hosts = records(8).into_iter().filter(|record| matches!(record, Record::Host(_)));
        hosts.for_each(|record| drop(findings.push(&record)));
        findings.push(&interval(9.0, 0, 0.25));
        let stall = findings.now().remove(0);
        assert_eq!(stall.evidence, ["no reply to the load for 8.0 s"]);
        (stall.long, stall.next)
    };
    let (long, next) = found(70);
    assert!(long.ends_with("its process 70 is stopped") && next == "kill -CONT 70", "{long}: {next}");
    let (long, next) = found(0);
    assert!(long.ends_with("its process is stopped") && next == NEXT, "{long}: {next}");
}

#[test]
fn a_pause_of_clients_is_named_if_a_report_since_the_last_reply_shows_it() {
    let found = |reported_s: f64, calls, is_paused| {
        let mut findings = begin(loaded());
        findings.push(&interval(1.0, 9, 0.0));
        let stat = CommandStat { calls, ..CommandStat::default() };
        let gauges = Gauges::from([(Gauge::PausedClients, f64::from(u8::from(is_paused)))]);
        let command_stats = [("client|pause".to_owned(), stat)].into();
        let status = Status { gauges, command_stats, ..Status::default() };
        findings.push(&Record::Server(Box::new(Moment::new(reported_s, status))));
        findings.push(&interval(3.0, 0, 0.0));
        let stall = findings.now().remove(0);
        (stall.long, stall.evidence[0].clone(), stall.next)
    };
    for (calls, is_paused, evidence) in [
        (1, true, "INFO commandstats counts 1 new call of CLIENT PAUSE"),
        (0, true, "INFO clients shows paused_reason:client_pause"),
    ] {
        let (long, by, next) = found(2.0, calls, is_paused);
        assert_eq!(long, "the server does not answer: CLIENT PAUSE delays commands");
        assert_eq!((by.as_str(), next.as_str()), (evidence, PAUSED));
    }
    for (reported_s, calls) in [(2.0, 0), (0.5, 1)] {
        assert_eq!(found(reported_s, calls, false).0, "the server does not answer");
    }
}

#[test]
fn a_process_that_runs_again_is_still_named_and_the_next_silence_has_its_own_reason() {
    let mut findings = begin(loaded());
    let mut found = |n: u32, state, ops| {
        let mut second = Second::healthy(n);
        second.host.server = Some(Process { pid: 70, state: Some(state), ..Process::default() });
        let hosts = second.records().into_iter().filter(|record| matches!(record, Record::Host(_)));
        hosts.for_each(|record| drop(findings.push(&record)));
        findings.push(&interval(f64::from(n) + 1.0, ops, 0.0));
        findings.now().first().map(|found| (found.long.clone(), found.next.clone()))
    };
    assert_eq!([found(0, 'S', 9), found(1, 'T', 0)], [None, None]);
    assert!(found(2, 'T', 0).is_some_and(|(long, _)| long.ends_with("its process 70 is stopped")));
    let was = found(3, 'S', 0);
    assert!(was.is_some_and(|(long, next)| long.ends_with("70 was stopped") && next == STOPPED));
    assert_eq!([found(4, 'S', 9), found(5, 'S', 0)], [None, None]);
    assert!(found(6, 'S', 0).is_some_and(|(long, _)| long == "the server does not answer"));
}

#[test]
fn without_load_the_pings_show_a_stall_while_they_are_connected() {
    let mut findings = begin(Segment::new(0.0, 1, Knobs::default()));
    let ping = |t_s, rtt| Record::Ping(Box::new(Span::new(t_s, 0.25, Ping { rtt, ..Ping::default() })));
    findings.push(&ping(1.0, latency_of([80_000])));
    assert_eq!(findings.push(&interval(4.0, 0, 0.0)), Vec::<String>::new(), "the report of PING is late");
    assert!(findings.push(&ping(4.0, Latency::default()))[0].contains("no reply to PING for 3.0 s"));
    let given_up = EventKind::PingLost { cause: "a ping was not answered within 5.00 s".to_owned() };
    assert_eq!(findings.push(&Record::Event(Event::new(4.2, given_up))), Vec::<String>::new());
    let lost = EventKind::PingLost { cause: "reset".to_owned() };
    assert_eq!(findings.push(&Record::Event(Event::new(4.5, lost))), ["stall: no longer"]);
}

#[test]
fn neither_errors_nor_a_pause_without_requests_are_a_stall() {
    type Change = fn(&mut Interval);
    let lines = |change: Change| {
        let mut findings = begin(loaded());
        let mut lines = Vec::new();
        for n in 0..12 {
            let Record::Interval(mut tick) = interval(1.0 + f64::from(n) * 0.25, 0, 0.0) else {
                continue;
            };
            (tick.ops, tick.waiting_us) = (u64::from(n == 0), 0);
            change(&mut tick);
            lines.extend(findings.push(&Record::Interval(tick)));
        }
        lines
    };
    let error: Change = |tick| (tick.waiting_us, tick.bytes_in) = (300, 4000);
    let (idle, stalled): (Change, Change) = (|_| {}, |tick| tick.waiting_us = 300_000);
    let late: Change = |tick| tick.behind_us = 300_000;
    assert_eq!([error, idle, stalled, late].map(|change| lines(change).len()), [0, 0, 1, 1]);
    let of_earlier: Change = |tick| tick.segment -= u32::from(tick.ops == 0);
    let reported_late: Change = |tick| tick.length_s = 0.0;
    assert_eq!([of_earlier, reported_late].map(|change| lines(change).len()), [1, 1]);
}

/// A server is stopped from 10.6 s to 12.9 s. Each report covers one second, and only one report contains no
/// replies.
#[test]
fn reports_of_whole_seconds_show_a_stall_that_is_shorter_than_two_of_them() {
    let stalls = |is_stalled: bool, ms: u64| {
        let mut findings = begin(Segment::new(0.0, 1, Knobs::default()));
        let second = |(t_s, replied_ms, waiting_ms): (f64, u64, u64)| {
            let rtt = match replied_ms {
                0 => Latency::default(),
                ms => latency_of([80_000, ms * 1_000_000]),
            };
            let body = Ping { rtt, waiting_us: waiting_ms * 1000, ..Ping::default() };
            findings.push(&Record::Ping(Box::new(Span::new(t_s, 1.0, body))));
            if is_stalled && t_s == 11.0 {
                let stalled = EventKind::Stalled { longest_s: 0.6, length_s: None };
                findings.push(&Record::Event(Event::new(10.6, stalled)));
            }
            findings.now().first().map(|found| (found.since_s, found.evidence[0].clone()))
        };
        [(11.0, 1, 400), (12.0, 0, 1400), (13.0, ms, 0), (14.0, 1, 0)].map(second)
    };
    let [before, during, after, over] = stalls(true, 2300);
    assert_eq!([before, during, over], [None, None, None]);
    let (since_s, evidence) = after.unwrap();
    assert!(since_s > 10.5 && evidence.starts_with("no reply to PING for 2.3 s"), "{since_s} {evidence}");
    assert_eq!(stalls(true, 1400), [None, None, None, None]);
    assert_eq!(stalls(false, 2300), [None, None, None, None], "the server is always slow");
}

#[test]
fn an_error_is_a_reply_to_ping() {
    let mut findings = begin(Segment::new(0.0, 1, Knobs::default()));
    let mut ping = |t_s, kind: &str| {
        let (rtt, errors) = match kind {
            "" => (latency_of([80_000]), [].into()),
            kind => (Latency::default(), [(kind.to_owned(), 9)].into()),
        };
        findings.push(&Record::Ping(Box::new(Span::new(t_s, 0.25, Ping { rtt, errors, ..Ping::default() }))))
    };
    assert_eq!([ping(1.0, ""), ping(4.0, "LOADING")].concat(), Vec::<String>::new());
    assert_eq!(ping(7.0, "missed").len(), 1);
}

#[test]
fn the_end_is_reported_by_the_event_with_the_length_if_there_is_one() {
    let mut findings = begin(loaded());
    let stalled = |length_s| Record::Event(Event::new(1.1, EventKind::Stalled { longest_s: 1.7, length_s }));
    findings.push(&interval(1.0, 9, 0.0));
    findings.push(&stalled(None));
    assert_eq!(findings.push(&interval(2.5, 0, 0.0)).len(), 1);
    assert_eq!(findings.push(&interval(2.75, 4, 0.0)), Vec::<String>::new());
    findings.push(&stalled(Some(1.7)));
    findings.push(&interval(4.5, 0, 0.0));
    assert_eq!(findings.push(&interval(4.75, 4, 0.0)), ["stall: no longer"]);
}

#[test]
fn neither_a_lost_connection_nor_a_prefill_is_a_stall() {
    let mut lost = begin(loaded());
    let prefill = Some(Prefilling { requests: 9, pipeline: 1 });
    let mut filling = begin(Segment { prefill, ..loaded() });
    for findings in [&mut lost, &mut filling] {
        findings.push(&interval(1.0, 9, 0.0));
    }
    assert_eq!(lost.push(&interval(4.0, 0, 0.25)), Vec::<String>::new());
    assert_eq!(lost.push(&interval(4.25, 0, 0.0)), Vec::<String>::new(), "a request waits again");
    let Record::Interval(mut refused) = interval(7.0, 0, 0.0) else { unreachable!() };
    refused.connects_failed = [("refused".to_owned(), 56)].into();
    assert_eq!(lost.push(&Record::Interval(refused)), Vec::<String>::new(), "one of several servers is down");
    assert_eq!(filling.push(&interval(4.0, 0, 0.0)), Vec::<String>::new());
}
