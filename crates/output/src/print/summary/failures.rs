//! The lines of a summary about errors of requests and connections, about failovers, and about the lags of replicas.
//!
//! ```text
//!   errors    OOM 112, first: OOM command not allowed when used memory > 'maxmemory'
//!   errors    OOM 194 in the warm-up
//!   errors    timeout 25 of PING
//! ```
//! The first line of each kind of error counts the errors during the measurement. Errors of the prefill, of
//! the warm-up and of PINGs have their own lines. Errors of receivers have no count.

use std::cmp::Reverse;

use super::line;
use crate::{
    events::EventKind,
    report::monitored,
    session::{Event, Summary, Timeline},
    units::grouped,
};

/// The maximum number of listed failovers, and of listed events of the fleet.
const MOST_EVENTS: usize = 8;

/// Adds a line for each of these events.
fn listed(text: &mut String, timeline: &Timeline, name: &str, events: &[&Event]) {
    for event in events.iter().take(MOST_EVENTS) {
        line(text, name, &format!("at {}: {}", timeline.time_text(event.t_s), event.what));
    }
    if let Some(more) = events.len().checked_sub(MOST_EVENTS).filter(|more| *more > 0) {
        line(text, name, &format!("and {more} more"));
    }
}

/// Adds all errors by kind, and the failovers. The first line of a kind of error has the first message of this kind.
pub(super) fn add(text: &mut String, timeline: &Timeline, sum: &Summary) {
    let log = &timeline.errors;
    let first = |kind: &str| log.first_of(kind).map(|first| format!(", first: {first}")).unwrap_or_default();
    let mut measured: Vec<_> = sum.errors.iter().filter(|(_, n)| **n > 0).collect();
    measured.sort_by_key(|(_, n)| Reverse(**n));
    for (kind, n) in &measured {
        line(text, "errors", &format!("{kind} {}{}", grouped(**n), first(kind)));
    }
    for (kind, error) in log.by_count() {
        if let Some(ping) = error.ping {
            line(text, "errors", &format!("{kind} {} of {ping}", grouped(error.count)));
        }
        let mut is_named = measured.iter().any(|(known, _)| *known == kind);
        for (aside, n) in &error.aside {
            let first = if std::mem::replace(&mut is_named, true) { String::new() } else { first(kind) };
            line(text, "errors", &format!("{kind} {} in the {aside}{first}", grouped(*n)));
        }
    }
    let counts = [&sum.redirects, &sum.connections_lost, &sum.connects_failed];
    for (kind, message) in log.uncounted().filter(|(kind, _)| !counts.iter().any(|of| of.contains_key(*kind)))
    {
        line(text, "errors", &format!("{kind}, first: {message}"));
    }
    // Without a load, the summary lists all events, including failovers.
    let has_load = monitored::has_load(timeline);
    let failovers: Vec<_> = timeline.failovers().filter(|_| has_load).collect();
    listed(text, timeline, "failover", &failovers);
    let is_of_fleet = |what: &EventKind| {
        matches!(
            what,
            redyno_engine::any_of!(EventKind AgentLost AgentBack ReportsLost ResultsLost OrdersLate BusLost BusBack)
        )
    };
    let of_fleet: Vec<_> = timeline.events().filter(|event| is_of_fleet(&event.what) && has_load).collect();
    listed(text, timeline, "fleet", &of_fleet);
    let is_lag = |what: &EventKind| matches!(what, EventKind::LagMeasured { .. });
    let lags = timeline.events().filter(|event| is_lag(&event.what) && has_load);
    for event in lags.take(MOST_EVENTS) {
        line(text, "lag", &event.what.to_string());
    }
    for (name, what, counts) in [
        ("redirects", "requests were sent again, or to another node of the cluster", &sum.redirects),
        ("lost", "connections", &sum.connections_lost),
        ("connects", "attempts to connect failed", &sum.connects_failed),
    ] {
        for (kind, n) in counts {
            line(text, name, &format!("{} {what}: {kind}{}", grouped(*n), first(kind)));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        events::EventKind,
        knobs::Knobs,
        load::Prefilling,
        print::summary,
        probe::Ping,
        session::{Event, Interval, Record, Segment, Span, Tally, Timeline},
    };

    #[test]
    fn lost_agents_and_reports_of_a_load_have_lines() {
        let mut timeline = Timeline::default();
        timeline.push(&Record::Segment(Segment::new(0.0, 1, Knobs { load: true, ..Knobs::default() })));
        let interval = Interval { t_s: 1.0, length_s: 1.0, segment: 1, ops: 9, ..Interval::default() };
        timeline.push(&Record::Interval(Box::new(interval)));
        let host = "load-b".to_owned();
        for (t_s, what) in [
            (2.0, EventKind::AgentLost { agent: 1, host: host.clone() }),
            (3.0, EventKind::ReportsLost { agent: 0, reports: 2 }),
            (4.0, EventKind::AgentBack { agent: 1, host }),
        ] {
            timeline.push(&Record::Event(Event::new(t_s, what)));
        }
        let text = summary(&timeline, &[], &[]);
        let lines: Vec<_> = text.lines().filter(|line| line.starts_with("  fleet")).collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert!(lines[0].contains("agent 1 on load-b does not report"), "{text}");
        assert!(lines[1].contains("2 reports of agent 0 did not arrive"), "{text}");
    }

    #[test]
    fn an_error_that_only_a_receiver_had_has_a_line_with_its_reason() {
        let mut timeline = Timeline::default();
        timeline.push(&Record::Segment(Segment::new(0.0, 1, Knobs { load: true, ..Knobs::default() })));
        let message = "a receiver: the server closed the connection".to_owned();
        let what = EventKind::FirstError { error: "reset".to_owned(), message };
        timeline.push(&Record::Event(Event::new(1.0, what)));
        let mut has_line = |connects_failed| {
            let interval =
                Interval { segment: 1, ops: 9, length_s: 1.0, connects_failed, ..Interval::default() };
            timeline.push(&Record::Interval(Box::new(interval)));
            let text = summary(&timeline, &[], &[]);
            text.contains("  errors    reset, first: a receiver: the server closed the connection\n")
        };
        assert!(has_line([].into()));
        assert!(!has_line([("reset".to_owned(), 1)].into()), "the line of the connections has the reason");
    }

    #[test]
    fn errors_of_prefill_warm_up_and_load_have_their_own_lines() {
        let knobs = Knobs { load: true, ..Knobs::default() };
        let segment = |n: u32| Segment::new(f64::from(n), n, knobs.clone());
        let errors = |kind: &str, n| [(kind.to_owned(), n)].into();
        let load = |segment: u32, n| {
            let t_s = f64::from(segment) + 0.5;
            let errors = errors("OOM", n);
            Record::Interval(Box::new(Interval {
                t_s,
                length_s: 0.5,
                segment,
                ops: 9,
                errors,
                ..Interval::default()
            }))
        };
        let what = EventKind::FirstError { error: "OOM".to_owned(), message: "OOM no memory".to_owned() };
        let ping = Ping { errors: errors("timeout", 25), ..Ping::default() };
        let records = [
            Record::Event(Event::new(1.2, what)),
            Record::Segment(Segment {
                prefill: Some(Prefilling { requests: 16, pipeline: 1 }),
                ..segment(1)
            }),
            load(1, 7),
            Record::Segment(Segment { warmup: true, ..segment(2) }),
            load(2, 194),
            Record::Segment(segment(3)),
            load(3, 112),
            Record::Ping(Box::new(Span::new(3.5, 0.5, ping))),
        ];
        let (mut timeline, mut tally) = (Timeline::default(), Tally::default());
        let expected = [
            "  errors    OOM 112, first: OOM no memory",
            "  errors    OOM 7 in the prefill",
            "  errors    OOM 194 in the warm-up",
            "  errors    timeout 25 of PING",
        ];
        let lines = |timeline: &Timeline| {
            let text = summary(timeline, &[], &[]);
            let lines = text.lines().filter(|line| line.starts_with("  errors "));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        for record in &records {
            timeline.push(record);
            tally.push(record);
        }
        assert_eq!(lines(&timeline), expected, "of a recording that was cut off");
        timeline.push(&Record::End(Box::new(tally.end(4.0))));
        assert_eq!(lines(&timeline), expected);
    }
}
