//! Finding: no request is answered although connections are open, because of a stopped server, a long command or a lost
//! network.

use super::{
    Finding, Severity,
    now::RecentState,
    rule::{Rule, RuleVerdict},
};
use crate::{
    events::EventKind,
    session::{Event, Record},
};

/// The shortest stall in seconds: longer than the time between two requests at the lowest rate (1/s), and
/// longer than two ticks (quarter seconds).
const SILENCE_S: f64 = 1.5;
/// The advice: a stopped process has the state T, and a process that waits for a disk has the state D.
const NEXT: &str = "on its host, ps -o stat,wchan,cmd -C redis-server shows whether its process runs";

/// Checks how long no request has been answered.
#[derive(Debug, Clone, Default)]
pub(super) struct StallRule {
    /// Whether the load had no connection in the last interval.
    is_lost: bool,
    /// The times of the last good reply to the load and of the last reply to PING, to the precision of a tick
    /// (quarter second).
    reply_s: Option<f64>,
    pong_s: Option<f64>,
    /// The times of the last reports of the load and of the ping probe. Reports of other probes may arrive earlier.
    interval_s: f64,
    ping_s: f64,
    /// Whether a stall event is open. The next stall event ends the stall, and contains the length of the stall.
    is_event_open: bool,
}

impl Rule for StallRule {
    fn name(&self) -> &'static str {
        "stall"
    }

    fn over(&self) -> Option<&'static str> {
        (!self.is_event_open).then_some("no longer")
    }

    fn push(&mut self, record: &Record, now: &RecentState, _: bool) -> RuleVerdict {
        match record {
            Record::Interval(interval) => {
                self.is_lost = interval.outage_s > 0.0;
                self.interval_s = interval.t_s;
                self.reply_s = if interval.ops > 0 { Some(interval.t_s) } else { self.reply_s };
            }
            Record::Ping(span) => {
                self.ping_s = span.t_s;
                self.pong_s = if span.body.rtt.is_empty() { self.pong_s } else { Some(span.t_s) };
            }
            // From now on there are only attempts to connect. A connection that redyno closed because of a missing
            // reply still counts as silence.
            Record::Event(event) if matches!(&event.what, EventKind::PingLost { cause } if !cause.contains("not answered")) =>
            {
                self.pong_s = None;
            }
            Record::Event(Event { what: EventKind::Stalled { length_s, .. }, .. }) => {
                self.is_event_open = length_s.is_none();
            }
            Record::End(_) => *self = Self::default(),
            _ => {}
        }
        self.silence(now).into()
    }
}

impl StallRule {
    fn silence(&self, now: &RecentState) -> Option<Finding> {
        let (what, since_s, t_s) = match now.segment.as_ref().filter(|segment| segment.knobs.load) {
            // A prefill also checks keys, and these checks do not count as good replies.
            Some(segment) if segment.prefill.is_some() || self.is_lost => return None,
            Some(segment) => ("the load", self.reply_s?.max(segment.t_s), self.interval_s),
            None => (now.words().ping, self.pong_s?, self.ping_s),
        };
        let for_s = t_s - since_s;
        let known_by = format!("no good reply to {what} for {for_s:.1} s, although the connections are open");
        let process = now.host().and_then(|host| host.server.as_ref());
        let stopped = process.filter(|process| process.state == Some('T'));
        let long = match stopped {
            Some(process) => format!("the server does not answer: its process {} is stopped", process.pid),
            None => "the server does not answer".to_owned(),
        };
        let stall = Finding {
            severity: Severity::Problem,
            explains: 1.0,
            since_s,
            evidence: vec![known_by],
            next: stopped.map_or_else(|| NEXT.to_owned(), |process| format!("kill -CONT {}", process.pid)),
            ..Finding::new("stall", "no answer", long)
        };
        (for_s >= SILENCE_S).then_some(stall)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        diagnose::Findings,
        knobs::Knobs,
        load::Prefilling,
        probe::Ping,
        session::{Interval, Segment, Span},
        stats::{Latency, fixture::latency_of},
    };

    fn interval(t_s: f64, ops: u64, outage_s: f64) -> Record {
        Record::Interval(Box::new(Interval {
            t_s,
            length_s: 0.25,
            segment: 1,
            ops,
            outage_s,
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
            "stall: the server does not answer: no good reply to the load for 1.5 s, although the connections are open; {NEXT}"
        );
        assert_eq!(reported, [vec![], vec![], vec![begun], vec!["stall: no longer".to_owned()]]);
    }

    #[test]
    fn without_load_the_pings_show_a_stall_while_they_are_connected() {
        let mut findings = begin(Segment::new(0.0, 1, Knobs::default()));
        let ping = |t_s, rtt| Record::Ping(Box::new(Span::new(t_s, 0.25, Ping { rtt, ..Ping::default() })));
        findings.push(&ping(1.0, latency_of([80_000])));
        assert_eq!(findings.push(&interval(4.0, 0, 0.0)), Vec::<String>::new(), "the report of PING is late");
        assert!(findings.push(&ping(4.0, Latency::default()))[0].contains("no good reply to PING for 3.0 s"));
        let given_up = EventKind::PingLost { cause: "a ping was not answered within 5.00 s".to_owned() };
        assert_eq!(findings.push(&Record::Event(Event::new(4.2, given_up))), Vec::<String>::new());
        let lost = EventKind::PingLost { cause: "reset".to_owned() };
        assert_eq!(findings.push(&Record::Event(Event::new(4.5, lost))), ["stall: no longer"]);
    }

    #[test]
    fn the_end_is_reported_by_the_event_with_the_length_if_there_is_one() {
        let mut findings = begin(loaded());
        let stalled =
            |length_s| Record::Event(Event::new(1.1, EventKind::Stalled { longest_s: 1.7, length_s }));
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
        assert_eq!(filling.push(&interval(4.0, 0, 0.0)), Vec::<String>::new());
    }
}
