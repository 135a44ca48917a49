//! Finding: connections are open, but no reply arrives. The server is stopped or runs a long command, or the network
//! fails.

use super::{
    Finding, Severity,
    down::{is_cut_off, without_connection},
    now::RecentState,
    rule::{Rule, RuleVerdict},
};
use crate::{
    events::EventKind,
    host::Process,
    knobs::Knobs,
    session::{Event, Record},
    stats::Latency,
};

/// The shortest stall in seconds. A stall is longer than the time between two requests at the lowest rate (1/s), and
/// longer than two ticks (quarter seconds).
const SILENCE_S: f64 = 1.5;
/// The advice to look at the process state: a stopped process has the state T, and a process that waits for a disk has
/// the state D.
const NEXT: &str = "on the server's host, ps -eo stat,wchan,cmd shows whether the server's process runs";
/// The advice after a signal has stopped the server's process for a while.
const STOPPED: &str = "find out what sent SIGSTOP to the process";

/// Checks how long requests have waited without any reply.
#[derive(Debug, Clone, Default)]
pub(super) struct StallRule {
    /// Whether the load had no connection in the last interval, had too few connections, or lost connections.
    is_lost: bool,
    /// The time of the last reply to the load, rounded to ticks (quarter seconds). An error is a reply too. If no
    /// request of the load waits, or if connections are lost, `reply_s` is the time of the last report. `pong_s` is the
    /// time of the last reply to a PING.
    reply_s: Option<f64>,
    pong_s: Option<f64>,
    /// The time of the last report of the load. `ping_s` is the time of the last report of the ping probe. Reports of
    /// other probes may arrive earlier.
    interval_s: f64,
    ping_s: f64,
    /// The longest wait for a reply in the last report of the load, in seconds. `ping_waited_s` is the longest wait for
    /// a PING. A report of a whole second can contain replies and the end of a long wait.
    waited_s: f64,
    ping_waited_s: f64,
    /// The process number of a server that a signal stopped, and the time of the last sample that showed the stopped
    /// state.
    stopped: Option<(f64, u32)>,
    /// The start of the stall, if a stall event is open. The next stall event ends the stall and contains its length.
    stalled_s: Option<f64>,
}

impl Rule for StallRule {
    fn name(&self) -> &'static str {
        "stall"
    }

    fn over(&self) -> Option<&'static str> {
        self.stalled_s.is_none().then_some("no longer")
    }

    fn push(&mut self, record: &Record, now: &RecentState, _: bool) -> RuleVerdict {
        match record {
            Record::Interval(interval) => {
                self.is_lost = is_cut_off(interval);
                self.interval_s = interval.t_s;
                self.waited_s = longest_s(interval.waiting_us, &interval.service);
                let is_answered = interval.ops > 0 || interval.bytes_in > 0;
                // A late report and the drain of an earlier segment say nothing about the present requests.
                let is_present = interval.length_s > 0.0 && now.is_of(interval);
                // While clients of a closed loop reconnect, no request waits, even if the server hangs.
                let reconnects = |knobs: &Knobs| knobs.rate.is_none() && knobs.reconnect.is_some();
                let is_idle = is_present && interval.waiting_us == 0 && interval.behind_us == 0;
                let is_idle = is_idle && !now.segment.as_ref().is_some_and(|of| reconnects(&of.knobs));
                let is_known = is_answered || is_idle || self.is_lost && stopped(now).is_none();
                self.reply_s = if is_known { Some(interval.t_s) } else { self.reply_s };
            }
            Record::Ping(span) => {
                self.ping_s = span.t_s;
                self.ping_waited_s = longest_s(span.body.waiting_us, &span.body.rtt);
                // The kinds of redyno's own failures, such as `timeout`, begin with a small letter.
                let is_reply = |kind: &String| kind.starts_with(|first: char| first.is_uppercase());
                let is_answered = !span.body.rtt.is_empty() || span.body.errors.keys().any(is_reply);
                self.pong_s = if is_answered { Some(span.t_s) } else { self.pong_s };
                // PINGs may have been answered before the connection was lost.
                if without_connection(&span.body.errors) > 0 {
                    (self.pong_s, self.ping_waited_s) = (None, 0.0);
                }
            }
            // From now on there are only attempts to connect. A connection that redyno closed because of a missing
            // reply still counts as silence.
            Record::Event(event) if matches!(&event.what, EventKind::PingLost { cause } if !cause.contains("not answered")) =>
            {
                (self.pong_s, self.ping_waited_s) = (None, 0.0);
            }
            Record::Event(Event { t_s, what: EventKind::Stalled { length_s, .. }, .. }) => {
                self.stalled_s = length_s.is_none().then_some(*t_s);
            }
            Record::Host(moment) => {
                let pid = stopped(now).map(|process| process.pid);
                self.stopped = pid.map(|pid| (moment.t_s, pid)).or(self.stopped);
            }
            _ => {}
        }
        self.silence(now).into()
    }
}

impl StallRule {
    fn silence(&self, now: &RecentState) -> Option<Finding> {
        let (what, replied_s, t_s, waited_s) = match now.segment.as_ref().filter(|it| it.knobs.load) {
            // A prefill also checks keys, and these checks are not in its intervals.
            Some(segment) if segment.prefill.is_some() => return None,
            Some(_) if self.is_lost && stopped(now).is_none() => return None,
            Some(segment) => {
                let waited_s = self.waited_s.min(self.ping_waited_s);
                ("the load", self.reply_s?.max(segment.t_s), self.interval_s, waited_s)
            }
            None => (now.words().ping, self.pong_s?, self.ping_s, self.ping_waited_s),
        };
        // A server that is always slow has no stall event.
        let waited_s = self.stalled_s.map_or(0.0, |_| waited_s);
        let for_s = waited_s.max(t_s - replied_s);
        // redyno closes connections whose requests were not answered within the timeout.
        let open = if self.is_lost { "" } else { ", although the connections are open" };
        let known_by = format!("no reply to {what} for {for_s:.1} s{open}");
        // The process may run again when the end of the silence is known.
        let seen = self.stopped.filter(|(stopped_s, _)| *stopped_s >= t_s - for_s);
        let is_over = stopped(now).is_none();
        let is = if is_over { "was" } else { "is" };
        // The number is 0 in redacted records. `kill` with 0 would reach the user's own process group.
        let known = seen.map(|(_, pid)| pid).filter(|pid| *pid != 0);
        let long = match (seen, known) {
            (Some(_), Some(pid)) => format!("the server does not answer: its process {pid} {is} stopped"),
            (Some(_), None) => format!("the server does not answer: its process {is} stopped"),
            (None, _) => "the server does not answer".to_owned(),
        };
        let next = match known {
            Some(pid) if !is_over => format!("kill -CONT {pid}"),
            _ if seen.is_some() && is_over => STOPPED.to_owned(),
            _ => NEXT.to_owned(),
        };
        let stall = Finding {
            severity: Severity::Problem,
            explains: 1.0,
            since_s: t_s - for_s,
            evidence: vec![known_by],
            next,
            ..Finding::new("stall", "no answer", long)
        };
        (for_s >= SILENCE_S).then_some(stall)
    }
}

/// Returns the server's process if a signal has stopped it.
fn stopped(now: &RecentState) -> Option<&Process> {
    now.host()?.server.as_ref().filter(|process| process.state == Some('T'))
}

/// Returns the longest wait in a report, in seconds. Answered requests and requests without a reply both count.
fn longest_s(waiting_us: u64, answered: &Latency) -> f64 {
    (waiting_us as f64 / 1e6).max(answered.max_ns() as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        diagnose::{Findings, fixture::Second},
        load::Prefilling,
        probe::Ping,
        session::{Interval, Segment, Span},
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
            findings.push(&Record::Ping(Box::new(Span::new(
                t_s,
                0.25,
                Ping { rtt, errors, ..Ping::default() },
            ))))
        };
        assert_eq!([ping(1.0, ""), ping(4.0, "LOADING")].concat(), Vec::<String>::new());
        assert_eq!(ping(7.0, "missed").len(), 1);
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
        assert_eq!(lost.push(&interval(4.25, 0, 0.0)), Vec::<String>::new(), "a request waits again");
        let Record::Interval(mut refused) = interval(7.0, 0, 0.0) else { unreachable!() };
        refused.connects_failed = [("refused".to_owned(), 56)].into();
        assert_eq!(
            lost.push(&Record::Interval(refused)),
            Vec::<String>::new(),
            "one of several servers is down"
        );
        assert_eq!(filling.push(&interval(4.0, 0, 0.0)), Vec::<String>::new());
    }
}
