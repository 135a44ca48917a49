use super::*;
use crate::{
    knobs::Knobs,
    session::{Client, Segment, WorkerCost},
    stats::{Latency, fixture::latency_of},
};

fn latency(n: u64) -> Latency {
    latency_of(300_000..300_000 + n)
}

fn interval(t_s: f64) -> Record {
    Record::Interval(Box::new(Interval {
        t_s,
        length_s: 1.0,
        ops_per_s: 121_300.0,
        service: latency(2000),
        ..Interval::default()
    }))
}

fn ping(t_s: f64) -> Record {
    Record::Ping(Box::new(Span::new(t_s, 1.0, Ping { rtt: latency(100), ..Ping::default() })))
}

#[test]
fn other_nodes_have_lines_with_their_address_about_events_but_not_about_figures() {
    let mut lines = Lines::default();
    let at = |address: &str| ServerIdentity { address: address.to_owned(), ..ServerIdentity::default() };
    let session = SessionStart { nodes: vec![at("b:2")].into(), ..SessionStart::now(at("a:1")) };
    lines.push(&Record::Session(session));
    let lost = EventKind::PingLost { cause: "refused".to_owned() };
    let of_other = lines.push(&Record::Event(Event::new(3.0, lost)).at_node(1));
    assert_eq!(of_other, ["   3.0 s  b:2  ping lost: refused\n"]);
    let interval = Interval { t_s: 1.0, length_s: 1.0, segment: 1, ops: 77, ..Interval::default() };
    assert!(lines.push(&Record::Interval(Box::new(interval)).at_node(1)).is_empty());
    assert_eq!(lines.timeline.summary().ops, 0);
}

#[test]
fn a_second_is_one_line_under_its_heading() {
    let mut lines = Lines::default();
    let knobs = Knobs { load: true, ..Knobs::default() };
    let segment = Record::Segment(Segment::new(0.0, 1, knobs));
    let begun = lines.lines_of(&segment);
    let all: Vec<_> = [interval(1.0), ping(1.0)].iter().flat_map(|r| lines.lines_of(r)).collect();
    let all = [&begun[..], &all].concat();
    assert_eq!(begun.len(), 1, "at the beginning of the segment");
    assert_eq!(all[0], "segment 1: 50 clients × 1, rate max, SET:GET 1:10, 32 B values, 10 k keys");
    assert_eq!(
        all[1],
        "   time      ops/s      p50      p90      p99    p99.9      max   errors | ping p50   kernel  receive      max | server ops/s  clients"
    );
    assert_eq!(
        all[2],
        "  1.0 s      121 k   301 µs   302 µs   302 µs        -   302 µs        0 |   300 µs        -        -   300 µs |"
    );
    assert_eq!(all.len(), 3);
}

#[test]
fn the_ping_and_the_interval_of_an_ended_segment_are_one_line() {
    let segment = |t_s, number| {
        let knobs = Knobs { load: true, ..Knobs::default() };
        Record::Segment(Segment::new(t_s, number, knobs))
    };
    for records in [[ping(2.5), interval(2.5)], [interval(2.5), ping(2.5)]] {
        let mut lines = Lines::default();
        let begin = [segment(0.0, 1), interval(2.0), ping(2.0), segment(2.5, 2)];
        let all = begin.into_iter().chain(records).chain([interval(3.0), ping(3.0)]);
        let all: Vec<_> = all.flat_map(|record| lines.push(&record)).collect();
        let of_time = |at: &str| all.iter().filter(|line| line.starts_with(at)).collect::<Vec<_>>();
        assert_eq!([of_time("  2.5 s").len(), of_time("  3.0 s").len()], [1, 1], "{all:?}");
        let line = of_time("  2.5 s")[0];
        assert!(line.contains("121 k") && line.matches("300 µs").count() == 2, "{all:?}");
        let place = |of: &str| all.iter().position(|line| line.starts_with(of)).unwrap();
        assert!(place("  2.5 s") < place("segment 2") && place("segment 2") < place("  3.0 s"), "{all:?}");
    }
}

#[test]
fn an_open_loop_has_columns_for_response_times_under_their_names() {
    let mut lines = Lines::default();
    let knobs = Knobs { load: true, rate: Some(1000), ..Knobs::default() };
    let segment = Record::Segment(Segment::new(0.0, 1, knobs));
    let Record::Interval(mut interval) = interval(1.0) else { panic!("an interval") };
    interval.response = Some(latency(2000));
    (interval.behind_us, interval.shed) = (1500, 3);
    let records = [segment, Record::Interval(interval), ping(1.0), ping(2.0)];
    let all: Vec<_> = records.iter().flat_map(|r| lines.lines_of(r)).collect();
    assert_eq!(all[1], heading(&Knobs { load: true, rate: Some(1000), ..Knobs::default() }));
    assert!(
        all[2].ends_with(
            "|   301 µs   302 µs   302 µs  1.50 ms        3 |   300 µs        -        -   300 µs |"
        ),
        "{}",
        all[2]
    );
    let bars = |line: &str| {
        line.char_indices()
            .filter(|(_, c)| *c == '|')
            .map(|(i, _)| line[..i].chars().count())
            .collect::<Vec<_>>()
    };
    assert_eq!(bars(&all[1]), bars(&all[2]));
    assert_eq!(bars(&all[1]), bars(&all[3]), "without load as well");
}

#[test]
fn without_load_a_line_has_only_ping_figures() {
    let mut lines = Lines::default();
    let all = lines.lines_of(&ping(1.0));
    assert!(all[1].starts_with("  1.0 s      ") && all[1].contains("|   300 µs"), "{all:?}");
}

#[test]
fn kernel_times_are_beside_the_ping_or_a_line_has_the_reason() {
    let mut lines = Lines::default();
    let of = |timing, kernel| {
        let body = Ping { rtt: latency(100), timing: Some(timing), kernel, ..Ping::default() };
        Record::Ping(Box::new(Span::new(1.0, 1.0, body)))
    };
    let printed: Vec<_> = (0..2).flat_map(|_| lines.lines_of(&of(Timing::UnixSocket, None))).collect();
    assert_eq!(printed[0], "   1.0 s  ping: no kernel time stamps: unix socket");
    assert_eq!(printed.iter().filter(|line| line.contains("no kernel time")).count(), 1, "{printed:?}");
    let stamped = lines.lines_of(&of(Timing::Kernel, Some(latency(30))));
    assert!(stamped[0].contains("|   300 µs   300 µs        -   300 µs |"), "{stamped:?}");
}

#[test]
fn an_outage_is_beside_the_figures_and_not_in_them() {
    let mut lines = Lines::default();
    let down = Interval { t_s: 1.0, length_s: 1.0, outage_s: 0.75, ..Interval::default() };
    let mut all = lines.lines_of(&Record::Interval(Box::new(down)));
    all.extend(lines.lines_of(&ping(1.0)));
    assert!(all[1].ends_with("  outage 0.75 s"), "{all:?}");
    assert_eq!(all[1].split('|').next().unwrap().matches(" -").count(), 5, "no latency is made up: {all:?}");
}

#[test]
fn the_start_and_end_of_a_client_limit_are_printed() {
    let mut lines = Lines::default();
    let knobs = Knobs { load: true, ..Knobs::default() };
    let segment = Record::Segment(Segment::new(0.0, 1, knobs));
    let second = |t_s, cpu| {
        let client = Some(Client::of(vec![WorkerCost { cpu, ..WorkerCost::default() }]));
        Record::Interval(Box::new(Interval { t_s, length_s: 1.0, segment: 1, client, ..Interval::default() }))
    };
    let seconds = [second(1.0, 0.97), second(2.0, 0.97), second(3.0, 0.2), second(4.0, 0.2)];
    let seconds = seconds.into_iter().flat_map(|second| [second, ping(0.0)]);
    let all: Vec<_> =
        [segment].into_iter().chain(seconds).flat_map(|record| lines.lines_of(&record)).collect();
    let printed: Vec<_> = all.iter().filter(|line| line.contains("client limit")).collect();
    let printed: Vec<_> = printed.iter().map(|line| line.split_at(8)).collect();
    assert_eq!(printed[0].0, "   1.0 s", "{all:?}");
    assert!(
        printed[0]
            .1
            .starts_with("  client limit: thread load-0 uses 97 % of a core; run redyno on another host"),
        "{all:?}"
    );
    assert_eq!(printed[1..], [("   3.0 s", "  client limit: no longer")]);
}

#[test]
fn a_wait_without_an_end_is_shown_while_it_grows() {
    let mut lines = Lines::default();
    let of = |rtt, waiting_us| {
        let body = Ping { rtt, waiting_us, ..Ping::default() };
        Record::Ping(Box::new(Span::new(1.0, 1.0, body)))
    };
    assert!(lines.lines_of(&of(Latency::default(), 1_980_000))[1].ends_with("  >1.98 s |"));
    assert!(
        lines.lines_of(&of(latency(100), 90))[0].ends_with("   300 µs |"),
        "shorter than those that ended"
    );
}

#[test]
fn the_parts_of_ping_are_blank_if_most_replies_have_none() {
    let columns = |left_out: u64| {
        let body = Ping {
            rtt: latency(100),
            kernel: Some(latency(100 - left_out)),
            pickup: Some(latency(100 - left_out)),
            left_out: [("shared read".to_owned(), left_out)].into(),
            ..Ping::default()
        };
        let record = Record::Ping(Box::new(Span::new(1.0, 1.0, body)));
        Lines::default().lines_of(&record).pop().unwrap()
    };
    assert!(!columns(50).contains(" - "), "{}", columns(50));
    assert!(columns(51).contains("        -        - "), "{}", columns(51));
}

#[test]
fn a_stall_is_one_line_with_its_length() {
    let mut lines = Lines::default();
    let stalled = |length_s| Record::Event(Event::new(3.0, EventKind::Stalled { longest_s: 0.3, length_s }));
    assert!(lines.lines_of(&stalled(None)).is_empty());
    assert_eq!(lines.lines_of(&stalled(Some(0.3))), ["   3.0 s  stall: no reply to PING for 300 ms"]);
}

#[test]
fn a_failing_ping_is_printed() {
    let mut lines = Lines::default();
    let errors = [("refused".to_owned(), 100)].into();
    let body = Ping { errors, ..Ping::default() };
    let all = lines.lines_of(&Record::Ping(Box::new(Span::new(1.0, 1.0, body))));
    assert!(all[1].contains("100 failed"), "{all:?}");
}
