//! The lines that stay in the scrollback after the screen is gone.

use crate::{
    diagnose::ClientLimit,
    session::{
        Summary, Timeline,
        figures::{self, Figure, Row},
        timeline::SegmentTotal,
    },
    units,
};

/// What the session did, in a few lines that end with a newline; for the normal screen after the end.
pub fn summary(timeline: &Timeline) -> String {
    let sum = timeline.summary();
    let mut text = String::new();
    if let Some(session) = timeline.session() {
        let server = &session.target;
        let name = [server.address.as_str(), server.server.as_str()];
        text += &name.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("  ");
        text += "  ";
    }
    text += &format!("{} measured", units::elapsed((timeline.now_s() * 1e9) as u64));
    text.push('\n');
    if sum.ops > 0 || sum.due > 0 || !sum.errors.is_empty() {
        let load = format!("{} ops in {:.1} s under load", sum.ops, sum.length_s);
        line(&mut text, "load", &format!("{load}, {}", units::rate(sum.ops_per_s)));
        if sum.outage_s > 0.0 {
            let outage = format!("{:.2} s of these without a connection, in no latency", sum.outage_s);
            line(&mut text, "outage", &outage);
        }
        let row = Row::of_summary(&sum);
        line(&mut text, "service", &levels(&row, &figures::SERVICE));
        if sum.response.is_some() {
            line(&mut text, "response", &levels(&row, &figures::RESPONSE));
            line(&mut text, "send lag", &send_lag(&sum));
        }
    }
    if sum.hits + sum.misses > 0 {
        let share = sum.hits as f64 / (sum.hits + sum.misses) as f64;
        line(&mut text, "hits", &format!("{} of {} GETs", units::percent(share), sum.hits + sum.misses));
    }
    client(&mut text, timeline);
    let loaded: Vec<_> = timeline.segments().iter().filter(|segment| segment.start.knobs.load).collect();
    if loaded.len() > 1 {
        segments(&mut text, &loaded, timeline.segments().forgotten());
    }
    for (kind, error) in timeline.errors().by_count() {
        let first = error.first.as_deref().map(|first| format!(", first: {first}")).unwrap_or_default();
        line(&mut text, "errors", &format!("{kind} {}{first}", error.count));
    }
    for (name, what, counts) in [
        ("lost", "connections", &sum.connections_lost),
        ("connects", "attempts to connect failed", &sum.connects_failed),
    ] {
        for (kind, n) in counts {
            let first = timeline.errors().first_of(kind);
            let first = first.map(|first| format!(", first: {first}")).unwrap_or_default();
            line(&mut text, name, &format!("{n} {what}: {kind}{first}"));
        }
    }
    text
}

/// How far the load was behind its schedule at most, what it gave up, and what it owed.
fn send_lag(sum: &Summary) -> String {
    let mut told = format!("at most {}", units::latency(sum.behind_us * 1000));
    if sum.shed > 0 {
        told += &format!(", {} of {} requests that were due were given up (shed)", sum.shed, sum.due);
    }
    if sum.owed > 0 {
        told += &format!(", {} of {} were due and unsent at the end of the load (owed)", sum.owed, sum.due);
    }
    told
}

/// That redyno itself was the limit, in which segments, and why in the first of them.
fn client(text: &mut String, timeline: &Timeline) {
    let segments = timeline.segments().iter();
    let counted: Vec<_> = segments.filter(|s| s.start.knobs.load && !s.start.warmup).collect();
    let judged = counted.iter().filter_map(|s| Some((s.start.segment, ClientLimit::of(&s.total)?)));
    let limited: Vec<_> = judged.collect();
    let Some((_, limit)) = limited.first() else { return };
    let advice = limit.advice(timeline.session().map_or(0, |session| session.host.cores));
    let place = if counted.len() > 1 {
        let numbers: Vec<_> = limited.iter().map(|(segment, _)| segment.to_string()).collect();
        format!(" in seg {}", numbers.join(", "))
    } else {
        String::new()
    };
    line(text, "client", &format!("was the limit{place}: {limit}; {advice}"));
}

/// A row for each segment under load.
fn segments(text: &mut String, loaded: &[&SegmentTotal], forgotten: u64) {
    if forgotten > 0 {
        line(text, "segments", &format!("{forgotten} earlier ones are only in the sums above"));
    }
    for segment in loaded {
        let row = Row::of_interval(&segment.total);
        let failed = if row.errors > 0 { format!("  errors {}", row.errors) } else { String::new() };
        let warmup = if segment.start.warmup { "warm-up, " } else { "" };
        let name = format!("seg {}", segment.start.segment);
        line(text, &name, &format!("{warmup}{}", segment.start.knobs));
        line(
            text,
            "",
            &format!("{}  {}{failed}", units::rate(segment.total.ops_per_s), levels(&row, &figures::SERVICE)),
        );
    }
}

fn line(text: &mut String, name: &str, what: &str) {
    *text += &format!("  {name:<9} {what}\n");
}

/// `p50 312 µs  p90 …  max 7.70 ms`, without the levels that have too few samples.
fn levels(row: &Row, of: &[Figure]) -> String {
    let name = |figure: &Figure| figure.heading.trim_start_matches("resp ");
    let told = of.iter().filter_map(|figure| Some(format!("{} {}", name(figure), figure.written(row)?)));
    told.collect::<Vec<_>>().join("  ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        load::Knobs,
        session::{Client, Interval, Record, Segment, WorkerCost},
        stats::fixture::repeated,
    };

    fn begin(timeline: &mut Timeline, segment: u32, knobs: Knobs) {
        timeline.push(&Record::Segment(Segment { t_s: 0.0, segment, knobs, warmup: false, config: None }));
    }

    #[test]
    fn the_summary_says_what_was_done_and_every_error() {
        let mut timeline = Timeline::default();
        begin(&mut timeline, 1, Knobs { load: true, ..Knobs::default() });
        timeline.push(&Record::Interval(Box::new(Interval {
            t_s: 2.0,
            length_s: 2.0,
            segment: 1,
            ops: 200,
            hits: 150,
            misses: 50,
            errors: [("OOM".to_owned(), 3)].into(),
            service: repeated(250_000, 200),
            ..Interval::default()
        })));
        let expected = "\
00:00:02 measured
  load      200 ops in 2.0 s under load, 100/s
  service   p50 250 µs  p90 250 µs  max 250 µs
  hits      75 % of 200 GETs
  errors    OOM 3
";
        assert_eq!(summary(&timeline), expected);
    }

    #[test]
    fn requests_connections_and_attempts_to_connect_are_told_apart() {
        let mut timeline = Timeline::default();
        begin(&mut timeline, 1, Knobs { load: true, rate: Some(100), ..Knobs::default() });
        let of = |kind: &str, n| [(kind.to_owned(), n)].into();
        timeline.push(&Record::Interval(Box::new(Interval {
            length_s: 2.0,
            segment: 1,
            due: 200,
            ops: 150,
            shed: 7,
            owed: 3,
            errors: of("reset", 40),
            connections_lost: of("reset", 5),
            connects_failed: of("refused", 12),
            response: Some(repeated(250_000, 150)),
            ..Interval::default()
        })));
        let text = summary(&timeline);
        for told in [
            "send lag  at most 0 ns, 7 of 200 requests that were due were given up (shed), 3 of 200 were due and unsent",
            "errors    reset 40\n",
            "lost      5 connections: reset\n",
            "connects  12 attempts to connect failed: refused\n",
        ] {
            assert!(text.contains(told), "{told}:\n{text}");
        }
    }

    #[test]
    fn each_segment_under_load_has_its_own_figures() {
        let mut timeline = Timeline::default();
        for (segment, clients, ops) in [(1, 50, 100), (2, 200, 400)] {
            let knobs = Knobs { load: true, clients, ..Knobs::default() };
            begin(&mut timeline, segment, knobs);
            let interval = Interval { t_s: 1.0, length_s: 1.0, segment, ops, ..Interval::default() };
            timeline.push(&Record::Interval(Box::new(interval)));
        }
        let text = summary(&timeline);
        let first =
            "seg 1     50 clients × 1, rate max, GET:SET 10:1, 32 B values, 10 k keys\n            100/s";
        assert!(text.contains(first), "{text}");
        assert!(text.contains("seg 2     200 clients × 1") && text.contains("  400/s"), "{text}");
    }

    #[test]
    fn a_client_that_was_the_limit_is_told_with_its_segments() {
        let mut timeline = Timeline::default();
        for (segment, cpu) in [(1, 0.5), (2, 0.96), (3, 0.93)] {
            let knobs = Knobs { load: true, ..Knobs::default() };
            begin(&mut timeline, segment, knobs);
            let client = Some(Client::of(vec![WorkerCost { cpu, run_delay: None }]));
            let interval = Interval { length_s: 1.0, segment, ops: 1, client, ..Interval::default() };
            timeline.push(&Record::Interval(Box::new(interval)));
        }
        let told =
            "  client    was the limit in seg 2, 3: load-0 uses 96 % of a core; run it on another machine";
        let text = summary(&timeline);
        assert!(text.contains(told), "{text}");
    }

    #[test]
    fn a_session_without_load_is_one_line() {
        assert_eq!(summary(&Timeline::default()), "00:00:00 measured\n");
    }
}
