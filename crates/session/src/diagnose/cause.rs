//! The probable cause of a long request: the nearest event that lasted long enough.
//!
//! ```text
//!  602 ms ← DEBUG sleep 600 ms from 127.0.0.1:5000
//!  602 ms, near: a fork paused the server for 412 µs      much too short for a cause
//! ```
//! An event on the server is known only after the next poll. A server that hangs answers no poll.

use std::fmt;

use crate::{
    events::EventKind,
    session::{
        Event, Timeline,
        timeline::{Level, Segments, Worst},
    },
    units,
};

/// A long request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Delay {
    /// The time when the reply was counted, in seconds of the session.
    pub t_s: f64,
    /// The duration of the request, in nanoseconds.
    pub ns: u64,
    /// The median duration of requests with the same settings of the load, in nanoseconds; `None` if unknown.
    pub usual_ns: Option<u64>,
}

/// The most probable cause of a delay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// Whether the event lasted long enough to be the cause. If false, the event only happened near the delay.
    pub explains: bool,
    /// The description of the event.
    pub what: String,
    /// The client that caused the event, if known.
    pub client: Option<String>,
}

/// A cause is reported only for a request that lasts at least this many times the median.
const TIMES_THE_MEDIAN: u64 = 5;
/// The largest distance between a delay and an event that may be its cause, in seconds. The limit is the time between
/// two polls, plus the time of a reply.
const NEAR_S: f64 = 2.0;
/// An outage can be the cause only of requests that took at least this many nanoseconds. A shorter request
/// must have ended before the outage.
const OUTAGE_NS: u64 = 100_000_000;
/// An event explains a delay only if the event lasted for at least this share of the delay. The rest of the
/// delay may be the wait for earlier requests.
const LEAST_SHARE: f64 = 0.5;

/// The rank of a stall of the server. A stall is reported as the cause only if no other event explains the delay. Most
/// other events say why the server did not answer.
const STALL_RANK: u8 = 50;

/// An interval may end up to this many seconds after the poll that reports a slow command.
const RECORD_S: f64 = 1.0;

/// An event as a possible cause.
struct PossibleCause {
    what: String,
    client: Option<String>,
    /// How long the event blocked the server, in nanoseconds; `None` if unknown.
    held_ns: Option<f64>,
    /// Whether the event is an entry of the slow log. Its moment is then known only to a second or two.
    is_logged: bool,
    /// Whether the event blocks all clients while it lasts.
    is_outage: bool,
    /// The rank among equally near events: events with more information have lower ranks.
    rank: u8,
}

impl Cause {
    /// Returns the most probable cause of `delay` among `events`. Returns `None` if the delay is usual, or if no event
    /// is near the delay.
    pub fn of<'a>(delay: Delay, events: impl IntoIterator<Item = &'a Event>) -> Option<Self> {
        Self::beside(delay, events, &[])
    }

    /// Returns the cause like [`of`](Self::of). `longer_s` has the times of nearby intervals that contain longer
    /// delays. The slow log does not contain the exact moment of a command. A slow command therefore explains only the
    /// longest delay in the time in which the command may have run. Two slow commands explain the two longest delays.
    pub fn beside<'a>(
        delay: Delay,
        events: impl IntoIterator<Item = &'a Event>,
        longer_s: &[f64],
    ) -> Option<Self> {
        if delay.usual_ns.is_some_and(|usual_ns| delay.ns < usual_ns.saturating_mul(TIMES_THE_MEDIAN)) {
            return None;
        }
        let near = |event: &'a Event| {
            let away_s = delay.away_s(event.t_s);
            let suspect = PossibleCause::of(&event.what).filter(|_| away_s <= NEAR_S)?;
            if suspect.is_outage && delay.ns < OUTAGE_NS {
                return None;
            }
            Some((suspect, away_s, event.t_s))
        };
        let suspects: Vec<_> = events.into_iter().filter_map(near).collect();
        let logged =
            suspects.iter().filter(|(it, away_s, _)| it.is_logged && delay.is_explained(it, *away_s));
        let logged = logged.count();
        let best =
            suspects.into_iter().min_by(|a, b| delay.order(&a.0, a.1).total_cmp(&delay.order(&b.0, b.1)));
        best.map(|(suspect, away_s, t_s)| {
            let span_s = t_s - NEAR_S..t_s + RECORD_S;
            let longer = longer_s.iter().filter(|t_s| span_s.contains(t_s)).count();
            let is_longest = !suspect.is_logged || longer < logged;
            let explains = is_longest && delay.is_explained(&suspect, away_s);
            Self { explains, what: suspect.what, client: suspect.client }
        })
    }

    /// Returns the most probable cause of the longest request of the load. The cause is unknown if another node than
    /// the first answered this request: `timeline` has only the events of the first node.
    pub fn of_load(worst: Worst, timeline: &Timeline) -> Option<Self> {
        let parts = timeline.segments.iter().flat_map(|segment| &segment.total.nodes);
        let slowest = parts.max_by_key(|(_, part)| part.service.max_ns());
        slowest
            .is_none_or(|(node, _)| *node == 0)
            .then(|| Delay::of(worst, &timeline.segments))
            .and_then(|delay| Self::of(delay, timeline.events()))
    }

    /// Returns this cause without the client.
    #[must_use]
    pub fn in_short(&self) -> Self {
        Self { client: None, ..self.clone() }
    }
}

impl fmt::Display for Cause {
    /// Writes the text that is shown after the delay, such as ` ← DEBUG sleep 600 ms from 127.0.0.1:5000`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", if self.explains { " ←" } else { ", near:" }, self.what)?;
        self.client.as_ref().map_or(Ok(()), |client| write!(f, " from {client}"))
    }
}

impl Delay {
    /// Returns the longest latency as a delay. Its `usual_ns` is the median service time of the segment (the
    /// time with the same settings).
    pub fn of(worst: Worst, segments: &Segments) -> Self {
        let segment = segments.holding_at(worst.t_s);
        let usual_ns = segment.and_then(|segment| Level::P50.of(&segment.total.service));
        Self { t_s: worst.t_s, ns: worst.ns, usual_ns }
    }

    /// Returns the time between an event at `t_s` and the request, in seconds; 0 if the event happened during the
    /// request.
    fn away_s(&self, t_s: f64) -> f64 {
        let began_s = self.t_s - self.ns as f64 / 1e9;
        (began_s - t_s).max(t_s - self.t_s).max(0.0)
    }

    fn is_explained(&self, suspect: &PossibleCause, away_s: f64) -> bool {
        match suspect.held_ns {
            Some(held_ns) => held_ns >= self.ns as f64 * LEAST_SHARE,
            None => suspect.is_outage && away_s <= NEAR_S / 2.0,
        }
    }

    /// Returns a sort key. A more probable cause has a lower key. The first criterion is whether the event explains the
    /// delay. The next criteria are its distance in whole seconds, its rank, and how similar its length is.
    fn order(&self, suspect: &PossibleCause, away_s: f64) -> f64 {
        let unlike =
            suspect.held_ns.map_or(1.0, |held_ns| (held_ns.max(1.0) / self.ns.max(1) as f64).ln().abs());
        let explained = f64::from(u8::from(!self.is_explained(suspect, away_s)));
        explained * 1e4 + away_s.floor() * 1e3 + f64::from(suspect.rank) * 1e2 + unlike.min(50.0) + away_s
    }
}

impl PossibleCause {
    fn of(what: &EventKind) -> Option<Self> {
        let sentence = || format!("{}: {what}", what.name());
        let of = |what: String, held_ns: Option<f64>, is_outage, rank| {
            Some(Self { what, client: None, held_ns, is_logged: false, is_outage, rank })
        };
        match what {
            EventKind::SlowCommand { us, command, client, .. } => {
                let took = units::latency(us.saturating_mul(1000));
                let suspect = of(format!("{command} {took}"), Some(*us as f64 * 1e3), false, 0)?;
                Some(Self { client: client.clone(), is_logged: true, ..suspect })
            }
            EventKind::Forked { held_us } => {
                of(what.to_string(), held_us.map(|us| us as f64 * 1e3), false, 1)
            }
            // The latency monitor reports the durations of writes to the AOF, of evictions and of forks.
            EventKind::SlowEvent { of: name, last_ms, .. } => {
                of(format!("{name} {last_ms} ms"), Some(*last_ms as f64 * 1e6), false, 2)
            }
            EventKind::Failover { length_s, .. } => of(sentence(), Some(length_s * 1e9), true, 3),
            EventKind::ConnectionsBack { after_s, .. } => of(sentence(), Some(after_s * 1e9), true, 3),
            // One PING waited through nearly the whole stall: the server answered nothing.
            EventKind::Stalled { longest_s, length_s: Some(length_s) } if longest_s / length_s > 0.8 => {
                of(sentence(), Some(longest_s * 1e9), true, STALL_RANK)
            }
            EventKind::Unreachable { cause }
            | EventKind::ConnectionsLost { cause, .. }
            | EventKind::PingLost { cause }
                if is_silence(cause) =>
            {
                of(sentence(), Some(0.0), true, STALL_RANK)
            }
            redyno_engine::any_of!(EventKind Unreachable Restarted ConnectionsLost PingLost RoleChanged FailoverTurned) => {
                of(sentence(), None, true, 3)
            }
            redyno_engine::any_of!(EventKind SnapshotBegan SnapshotEnded RewriteBegan RewriteEnded EvictionBegan) => {
                of(sentence(), None, false, 4)
            }
            _ => None,
        }
    }
}

/// Returns whether `cause` says that redyno gave up because the server did not answer. Giving up is a consequence of
/// the delay, not its cause.
fn is_silence(cause: &str) -> bool {
    ["no answer to ", "no reply for ", "not answered"].iter().any(|silent| cause.contains(silent))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        knobs::Knobs,
        session::{Interval, OperationInterval, Record, Segment, timeline::Measure},
        stats::fixture::latency_of,
    };

    const MS: u64 = 1_000_000;

    fn delay(ms: u64) -> Delay {
        Delay { t_s: 23.0, ns: ms * MS, usual_ns: Some(MS) }
    }

    fn slow(t_s: f64, ms: u64, command: &str) -> Event {
        let client = Some("127.0.0.1:5000".to_owned());
        Event::new(
            t_s,
            EventKind::SlowCommand {
                us: ms * 1000,
                command: command.to_owned(),
                client,
                arguments: Vec::new(),
            },
        )
    }

    fn words(delay: Delay, events: &[Event]) -> String {
        Cause::of(delay, events).map_or_else(String::new, |cause| cause.to_string())
    }

    #[test]
    fn only_events_of_the_node_with_the_longest_request_are_its_cause() {
        let worst = |node| {
            let part = |ns| OperationInterval { ops: 1, service: latency_of([ns]), ..Default::default() };
            let other = 1 - node;
            let mut timeline = Timeline::default();
            let knobs = Knobs { load: true, ..Knobs::default() };
            timeline.push(&Record::Segment(Segment::new(0.0, 1, knobs)));
            let cause = "nothing listens".to_owned();
            timeline.push(&Record::Event(Event::new(6.9, EventKind::Unreachable { cause })));
            timeline.push(&Record::Interval(Box::new(Interval {
                t_s: 7.0,
                length_s: 1.0,
                segment: 1,
                ops: 2,
                service: latency_of([155 * MS, MS]),
                nodes: [(node, part(155 * MS)), (other, part(MS))].into(),
                ..Interval::default()
            })));
            let worst = timeline.worst(Measure::Service).unwrap();
            Cause::of_load(worst, &timeline).map(|cause| cause.what)
        };
        assert_eq!([0, 1].map(worst), [Some("unreachable: nothing listens".to_owned()), None]);
    }

    #[test]
    fn an_entry_of_the_slow_log_that_lasted_as_long_is_the_cause() {
        let events = [slow(20.0, 600, "KEYS *"), slow(23.9, 600, "DEBUG sleep"), slow(26.0, 700, "EVAL")];
        assert_eq!(words(delay(602), &events), " ← DEBUG sleep 600 ms from 127.0.0.1:5000");
        assert_eq!(words(delay(602), &events[2..]), "");
    }

    #[test]
    fn an_entry_of_the_slow_log_explains_only_the_longest_delay_near_it() {
        let words = |events: &[Event], longer_s: &[f64]| {
            Cause::beside(delay(602), events, longer_s).map_or_else(String::new, |cause| cause.to_string())
        };
        let [one, other] = [slow(23.9, 600, "KEYS *"), slow(24.0, 590, "KEYS *")];
        let entry = std::slice::from_ref(&one);
        assert_eq!(words(entry, &[]), " ← KEYS * 600 ms from 127.0.0.1:5000");
        assert_eq!(words(entry, &[20.0, 26.0]), " ← KEYS * 600 ms from 127.0.0.1:5000", "too far away");
        assert_eq!(words(entry, &[24.0]), ", near: KEYS * 600 ms from 127.0.0.1:5000");
        assert!(
            words(&[one, other], &[24.0]).starts_with(" ← KEYS *"),
            "each delay has its own slow log entry"
        );
    }

    #[test]
    fn a_short_event_is_only_near_and_a_long_one_replaces_it() {
        let fork = Event::new(23.0, EventKind::Forked { held_us: Some(412) });
        assert_eq!(
            words(delay(602), std::slice::from_ref(&fork)),
            ", near: a fork paused the server for 412 µs"
        );
        let slow = slow(24.8, 590, "DEBUG sleep");
        assert_eq!(words(delay(602), &[fork.clone(), slow]), " ← DEBUG sleep 590 ms from 127.0.0.1:5000");
        let long = Event::new(23.5, EventKind::Forked { held_us: Some(580_000) });
        assert_eq!(words(delay(602), &[fork, long]), " ← a fork paused the server for 580 ms");
    }

    #[test]
    fn of_events_of_one_poll_the_most_similar_length_is_the_cause() {
        let events = [slow(23.5, 1200, "KEYS *"), slow(23.5, 610, "DEBUG sleep"), slow(23.5, 301, "EVAL")];
        assert!(words(delay(602), &events).contains("DEBUG sleep 610 ms"));
        // The nearer event is chosen if both events are long enough.
        let events = [slow(21.0, 602, "KEYS *"), slow(23.2, 900, "EVAL")];
        assert!(words(delay(602), &events).contains("EVAL 900 ms"));
    }

    #[test]
    fn an_outage_explains_a_request_that_waited_through_it_and_a_rewrite_is_only_near() {
        let lost = EventKind::Unreachable { cause: "timed out".to_owned() };
        let lost = Event::new(15.0, lost);
        assert_eq!(words(delay(9_000), std::slice::from_ref(&lost)), " ← unreachable: timed out");
        assert_eq!(words(delay(600), &[lost]), "", "8 s before");
        let lost = EventKind::PingLost { cause: "reset".to_owned() };
        assert_eq!(words(delay(20), &[Event::new(23.0, lost)]), "", "the event ended before the delay began");
        let rewrite = Event::new(22.0, EventKind::RewriteBegan);
        assert_eq!(words(delay(600), &[rewrite]), ", near: aof rewrite: began");
        let write = EventKind::SlowEvent { of: "aof-fsync-always".to_owned(), last_ms: 590, max_ms: 700 };
        assert_eq!(words(delay(600), &[Event::new(23.6, write)]), " ← aof-fsync-always 590 ms");
    }

    #[test]
    fn a_silent_server_has_a_stall_as_its_cause_and_no_event_that_follows_from_it() {
        let after = "no reply for 1.00 s".to_owned();
        let lost = EventKind::ConnectionsLost {
            lost: 2,
            clients: 5,
            cause: after,
            unreported: 0,
            server: None,
            of: None,
        };
        let cause = "no answer to INFO for 2 s; the server hangs or is busy".to_owned();
        let mut events = [EventKind::Unreachable { cause }, lost].map(|what| Event::new(22.5, what)).to_vec();
        assert!(words(delay(3_000), &events).starts_with(", near: unreachable: no answer to INFO"));
        events.push(Event::new(20.0, EventKind::Stalled { longest_s: 2.99, length_s: Some(3.0) }));
        assert_eq!(words(delay(3_000), &events), " ← stall: no reply to PING for 2.99 s");
        events.push(slow(24.5, 2900, "DEBUG sleep"));
        assert!(words(delay(3_000), &events).starts_with(" ← DEBUG sleep"));
    }

    #[test]
    fn a_usual_delay_has_no_cause() {
        let events = [slow(23.0, 600, "DEBUG sleep")];
        assert_eq!(words(Delay { usual_ns: Some(300 * MS), ..delay(602) }, &events), "");
        assert!(!words(Delay { usual_ns: None, ..delay(602) }, &events).is_empty());
    }
}
