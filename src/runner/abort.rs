//! `--abort-if CONDITION`: ends a session without a screen when a condition is met for five seconds in a row.

use super::{
    Failure, Listener, UsageError,
    listener::record,
    ping_seconds::{PING_QUANTILE, PingSeconds, SECOND_S, WINDOW},
};
use crate::{
    compare::{Condition, MetCondition},
    events::EventKind,
    gauge::Gauge,
    probe::Ping,
    session::{Delivery, Interval, Mark, Order, Record, Segment, Span, WallClock, figures::Row},
    units,
};

/// A condition must be met in this number of seconds in a row. A single slow second does not end a run.
const SECONDS: usize = 5;

/// The conditions that end a session.
#[derive(Default)]
pub struct Abort {
    /// The conditions on the load.
    load: Streaks,
    /// The conditions on figures that a poll of the server measures. A second without a poll has no effect on them.
    polls: Streaks,
    /// The conditions on PING, which need no load.
    pings: Streaks,
    /// The measurements of the present second.
    second: Interval,
    windows: PingSeconds,
    /// The share of a core that the server used, if the server was polled in the present second.
    server_cpu: Option<f64>,
    /// The present segment.
    segment: Option<Segment>,
    /// The condition that ended the session.
    ended_by: Option<String>,
    /// The wall clock of this machine.
    clock: Option<WallClock>,
}

/// Conditions. The number says how many seconds in a row met the condition.
#[derive(Default)]
struct Streaks(Vec<(Condition, usize)>);

impl Streaks {
    /// Judges a whole second. Returns the condition that ends the session, with the measured value. `is_silent` means
    /// that requests or PINGs wait and no reply arrived: latencies then count as longer than any limit.
    fn judge(
        &mut self,
        is_silent: bool,
        measure: impl Fn(&Condition) -> Option<MetCondition>,
    ) -> Option<MetCondition> {
        let mut ended_by = None;
        for (condition, met) in &mut self.0 {
            let crossed = measure(condition);
            match crossed.filter(|crossed| crossed.is_sure || is_silent && condition.is_above) {
                Some(_) if *met + 1 < SECONDS => *met += 1,
                Some(crossed) => {
                    let measured = if crossed.is_sure { crossed.measured } else { "no reply".to_owned() };
                    ended_by = Some(MetCondition { measured, ..crossed });
                }
                None => *met = 0,
            }
        }
        ended_by
    }

    fn restart(&mut self) {
        self.0.iter_mut().for_each(|(_, met)| *met = 0);
    }
}

impl Abort {
    /// Returns the listener for these conditions; `None` without conditions.
    ///
    /// # Errors
    /// Fails if a condition is about a relative change, because a running session has no base to compare
    /// with. Also fails if a condition is about a percentile of PING for which there are never enough
    /// samples.
    pub fn of(conditions: &[Condition]) -> Result<Option<Self>, UsageError> {
        for condition in conditions {
            if condition.is_relative() {
                return Err(UsageError::Line(format!(
                    "--abort-if '{condition}' is a condition on the change from another run; give a limit such as 'p99 > 50ms'"
                )));
            }
            let quantile = condition.quantile().filter(|_| condition.is_of_pings());
            if quantile.is_some_and(|quantile| quantile > PING_QUANTILE && quantile < 1.0) {
                return Err(UsageError::Line(format!(
                    "--abort-if '{condition}': {WINDOW} s contain too few PINGs for this percentile; give ping_p99 or \
                     ping_max"
                )));
            }
        }
        let streaks = conditions.iter().map(|condition| (condition.clone(), 0));
        let (pings, others): (_, Vec<_>) = streaks.partition(|(condition, _)| condition.is_of_pings());
        let (polls, load) = others.into_iter().partition(|(condition, _)| condition.is_of_polls());
        let (load, polls, pings) = (Streaks(load), Streaks(polls), Streaks(pings));
        Ok((!conditions.is_empty()).then(|| Self { load, polls, pings, ..Self::default() }))
    }

    /// Returns whether the present segment is left out for conditions on the load, because it is a warm-up, a prefill,
    /// or a segment without load.
    fn is_aside(&self) -> bool {
        self.segment.as_ref().is_some_and(|segment| segment.aside().is_some() || !segment.knobs.load)
    }

    /// Returns whether the present segment is left out for conditions on PING, because it is a warm-up or a
    /// prefill.
    fn is_prepared(&self) -> bool {
        self.segment.as_ref().is_some_and(|segment| segment.aside().is_some())
    }

    /// Begins a segment. Seconds in a row may belong to several segments, for example during a ramp of a script.
    fn begin(&mut self, segment: &Segment) {
        let (was_aside, was_prepared) = (self.is_aside(), self.is_prepared());
        self.segment = Some(segment.clone());
        if was_aside || self.is_aside() {
            (self.second, self.server_cpu) = (Interval::default(), None);
            self.load.restart();
            self.polls.restart();
        }
        if was_prepared || self.is_prepared() {
            self.windows = PingSeconds::default();
            self.pings.restart();
        }
    }

    /// Judges a whole second of the load.
    fn judge(&mut self, second: &Interval) -> Vec<Order> {
        let is_open = second.response.is_some();
        let server_cpu = self.server_cpu.take();
        let knobs = self.segment.as_ref().map(|segment| &segment.knobs);
        let row = Row { server_cpu, knobs, ..Row::of_interval(second) };
        // If all clients think, no request waits.
        let longest_us = second.waiting_us.max(second.behind_us);
        let waits = longest_us.max(second.due) > 0 || !second.errors.is_empty() || second.outage_s > 0.0;
        let is_silent = second.ops == 0 && waits;
        let measure = |condition: &Condition| condition.of_row(&row, is_open);
        let polled = server_cpu.and_then(|_| self.polls.judge(false, measure));
        let met = self.load.judge(is_silent, measure).or(polled);
        self.end(met, second.t_s)
    }

    /// Ends the session if a condition is met.
    fn end(&mut self, met: Option<MetCondition>, t_s: f64) -> Vec<Order> {
        let Some(MetCondition { condition, measured, .. }) = met else { return Vec::new() };
        let at = self.clock.map_or_else(|| units::clock(t_s), |clock| clock.time(t_s));
        let cause = format!(
            "--abort-if '{condition}' was met for {SECONDS} s: {measured} at {at}; the run was ended"
        );
        self.ended_by = Some(cause.clone());
        let has_load = self.segment.as_ref().is_none_or(|segment| segment.knobs.load);
        let reason = if has_load {
            Order::Event(EventKind::LoadStopped { cause })
        } else {
            Order::Mark(Mark { t_s, text: cause })
        };
        vec![reason, Order::End]
    }

    fn push_interval(&mut self, interval: &Interval) -> Vec<Order> {
        if self.second.response.is_some() != interval.response.is_some() {
            self.second = Interval::default();
        }
        self.second.add(interval);
        self.second.t_s = interval.t_s;
        if self.second.length_s < SECOND_S {
            return Vec::new();
        }
        let second = std::mem::take(&mut self.second);
        self.judge(&second)
    }

    fn push_ping(&mut self, span: &Span<Ping>) -> Vec<Order> {
        let Some(is_silent) = self.windows.push(span) else { return Vec::new() };
        let met = self.pings.judge(is_silent, |condition| self.windows.check(condition, is_silent));
        self.end(met, span.t_s)
    }
}

impl Listener for Abort {
    fn take(&mut self, delivery: &Delivery) -> Vec<Order> {
        match record(delivery).filter(|record| record.is_of(0) && self.ended_by.is_none()) {
            Some(Record::Session(session)) => self.clock = session.wall_clock(),
            Some(Record::Segment(segment)) => self.begin(segment),
            Some(Record::Server(moment)) => self.server_cpu = moment.body.gauges[Gauge::Cpu],
            Some(Record::Interval(interval)) if !interval.drain && !self.is_aside() => {
                return self.push_interval(interval);
            }
            Some(Record::Ping(span)) if !self.is_prepared() => return self.push_ping(span),
            _ => {}
        }
        Vec::new()
    }

    fn verdict(&mut self) -> Result<(), Failure> {
        self.ended_by.take().map_or(Ok(()), |cause| Err(Failure::Crossed(cause)))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        knobs::Knobs,
        server::Status,
        session::{Moment, ServerIdentity, SessionStart},
        stats::fixture::repeated,
    };

    /// Returns the reason for the end of a session, if it ends. `seconds` has the latency in each second in
    /// milliseconds; 0 means a second in which requests wait, without any reply.
    fn ended(condition: &str, seconds: &[u64]) -> Option<String> {
        ended_after(condition, seconds, |tick| tick.waiting_us = 250_000)
    }

    /// Returns the same as [`ended`]; `silent` changes the intervals without any reply.
    fn ended_after(condition: &str, seconds: &[u64], silent: fn(&mut Interval)) -> Option<String> {
        let mut abort = Abort::of(&[condition.parse().unwrap()]).unwrap().unwrap();
        let mut take = |record: Record| abort.take(&Delivery::Record(Arc::new(record)));
        let knobs = Knobs { load: true, ..Knobs::default() };
        let (started, utc_offset_s) = ("2026-01-01T13:00:00Z".to_owned(), Some(3600));
        let start = SessionStart { started, utc_offset_s, ..SessionStart::now(ServerIdentity::default()) };
        take(Record::Session(start));
        take(Record::Segment(Segment::new(0.0, 1, knobs)));
        for (n, ms) in seconds.iter().flat_map(|ms| [ms; 4]).enumerate() {
            let (t_s, ops) = ((n + 1) as f64 / 4.0, if *ms > 0 { 2000 } else { 0 });
            let service = repeated(ms * 1_000_000, ops);
            let mut tick = Interval { t_s, length_s: 0.25, segment: 1, ops, service, ..Interval::default() };
            if ops == 0 {
                silent(&mut tick);
            }
            let orders = take(Record::Interval(Box::new(tick)));
            if let [Order::Event(EventKind::LoadStopped { cause }), Order::End] = &orders[..] {
                return Some(cause.clone());
            }
            assert_eq!(orders, []);
        }
        assert!(abort.verdict().is_ok());
        None
    }

    #[test]
    fn a_condition_must_be_met_for_five_seconds_in_a_row() {
        assert_eq!(ended("p99 > 5ms", &[9, 9, 9, 9, 1, 9, 9, 9, 9, 1]), None);
        let text = ended("p99 > 5ms", &[1, 9, 9, 9, 9, 9, 9]).unwrap();
        assert!(text.starts_with("--abort-if 'p99 > 5ms' was met for 5 s: p99 9.0"), "{text}");
        assert!(text.ends_with(" at 14:00:06; the run was ended"), "{text}");
    }

    #[test]
    fn seconds_without_a_reply_meet_an_upper_limit_of_a_latency() {
        let silent = ended("p99 > 5ms", &[1, 0, 0, 0, 0, 0]).unwrap();
        assert!(silent.contains("met for 5 s: no reply at 14:00:06"), "{silent}");
        assert!(ended("ops < 100", &[1, 0, 0, 0, 0, 0]).unwrap().contains("ops/s 0"));
        assert_eq!(ended("errors > 0", &[1; 9]), None);
    }

    #[test]
    fn seconds_in_which_no_request_waits_meet_no_condition() {
        let of = |silent| ended_after("p99 > 5ms", &[1, 0, 0, 0, 0, 0], silent).is_some();
        assert!(!of(|_| ()), "the clients think");
        assert!(!of(|tick| tick.pushes = 9));
        assert!(of(|tick| tick.waiting_us = 9));
        assert!(of(|tick| tick.behind_us = 9));
        assert!(of(|tick| tick.due = 9));
        assert!(of(|tick| tick.errors = [("timeout".to_owned(), 9)].into()));
        assert!(of(|tick| tick.outage_s = 0.25));
    }

    #[test]
    fn seconds_in_a_row_may_belong_to_several_segments() {
        let ended = |aside: fn(u32) -> bool| {
            let mut abort = Abort::of(&["p99 > 5ms".parse().unwrap()]).unwrap().unwrap();
            (1..=40_u32).find_map(|n| {
                let knobs = Knobs { load: !aside(n), ..Knobs::default() };
                let service = repeated(9_000_000, 2000);
                let (t_s, length_s, ops) = (f64::from(n) / 4.0, 0.25, 2000);
                let tick = Interval { t_s, length_s, segment: n, ops, service, ..Interval::default() };
                let records =
                    [Record::Segment(Segment::new(t_s - 0.25, n, knobs)), Record::Interval(Box::new(tick))];
                let mut orders = records
                    .into_iter()
                    .flat_map(|record| abort.take(&Delivery::Record(Arc::new(record))))
                    .collect::<Vec<_>>();
                orders.pop().map(|_| n)
            })
        };
        assert_eq!(ended(|_| false), Some(20));
        assert_eq!(ended(|n| n % 8 == 0), None, "a pause begins a new count");
    }

    #[test]
    fn a_condition_on_the_cpu_of_the_server_ends_a_run_too() {
        // `is_polled` returns whether the server was polled in a second.
        let ended_if = |condition: &str, is_polled: fn(u32) -> bool| {
            let mut abort = Abort::of(&[condition.parse().unwrap()]).unwrap().unwrap();
            let mut take = |record: Record| abort.take(&Delivery::Record(Arc::new(record)));
            let poll = |t_s| {
                let status = Status { gauges: [(Gauge::Cpu, 0.9)].into(), ..Status::default() };
                Record::Server(Box::new(Moment::new(t_s, status)))
            };
            take(Record::Segment(Segment::new(0.0, 1, Knobs::default())));
            take(poll(0.5));
            take(Record::Segment(Segment::new(0.6, 1, Knobs { load: true, ..Knobs::default() })));
            (1..=11_u32).find(|n| {
                let t_s = f64::from(*n);
                if is_polled(*n) {
                    take(poll(t_s - 0.1));
                }
                let second = Interval { t_s, length_s: 1.0, segment: 1, ops: 2000, ..Interval::default() };
                !take(Record::Interval(Box::new(second))).is_empty()
            })
        };
        let ended = |condition| ended_if(condition, |_| true);
        assert_eq!((ended("server_cpu > 0.5"), ended("server_cpu > 0.95")), (Some(5), None));
        assert_eq!(ended_if("server_cpu > 0.5", |n| n % 2 == 0), Some(10), "each poll counts once");
        assert_eq!(ended_if("server_cpu > 0.5", |_| false), None, "a poll before the load does not count");
    }

    /// Returns the reason for the end of a session without load. `seconds` has the round trip of PING in each second in
    /// milliseconds; 0 means a second in which a PING waits.
    fn ended_by_pings(condition: &str, seconds: &[u64]) -> Option<String> {
        let mut abort = Abort::of(&[condition.parse().unwrap()]).unwrap().unwrap();
        let mut take = |record: Record| abort.take(&Delivery::Record(Arc::new(record)));
        take(Record::Segment(Segment::new(0.0, 1, Knobs::default())));
        seconds.iter().flat_map(|ms| [ms; 4]).enumerate().find_map(|(n, ms)| {
            let rtt = repeated(ms * 1_000_000, if *ms > 0 { 25 } else { 0 });
            let waiting_us = if *ms > 0 { 0 } else { 250_000 };
            let ping = Ping { rtt, waiting_us, ..Ping::default() };
            let orders = take(Record::Ping(Box::new(Span::new((n + 1) as f64 / 4.0, 0.25, ping))));
            match &orders[..] {
                [] => None,
                [Order::Mark(mark), Order::End] => Some(mark.text.clone()),
                _ => panic!("{orders:?}"),
            }
        })
    }

    #[test]
    fn a_condition_on_ping_ends_a_session_without_load() {
        let text = ended_by_pings("ping_p90 > 5ms", &[1, 9, 9, 9, 9, 1, 9, 9, 9, 9, 9, 9]).unwrap();
        assert_eq!(
            text,
            "--abort-if 'ping_p90 > 5ms' was met for 5 s: ping p90 9.00 ms at 00:11; the run was ended"
        );
        assert_eq!(ended_by_pings("ping_max > 5ms", &[1, 9, 9, 9, 9, 1, 1]), None);
        let silent = ended_by_pings("ping_p50_us > 5ms", &[1, 0, 0, 0, 0, 0]).unwrap();
        assert!(silent.contains("no reply at 00:06"), "{silent}");
        assert_eq!(ended_by_pings("ping_p50 < 5ms", &[0; 9]), None);
    }

    #[test]
    fn the_p99_of_ping_is_that_of_the_last_15_seconds() {
        let fast = [1; 30];
        assert_eq!(ended_by_pings("ping_p99 > 5ms", &fast), None);
        let slow = [&fast[..], &[9; 5]].concat();
        assert!(ended_by_pings("ping_p99 > 5ms", &slow).unwrap().contains("ping p99 9.00 ms at 00:35"));
        assert_eq!(ended_by_pings("ping_p99 > 5ms", &[9; 8]), None, "too few samples");
        let refused = Abort::of(&["ping_p99.9 > 5ms".parse().unwrap()]).err().unwrap().to_string();
        assert!(
            refused.contains("15 s contain too few PINGs for this percentile; give ping_p99 or"),
            "{refused}"
        );
    }

    #[test]
    fn a_condition_on_a_change_is_refused() {
        let refused = Abort::of(&["p99 > +10%".parse().unwrap()]).err().unwrap().to_string();
        assert!(
            refused.contains("is a condition on the change from another run; give a limit such as"),
            "{refused}"
        );
    }
}
