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

/// The number of seconds in a row in which a condition must be met. A single slow second does not end a run.
const SECONDS: usize = 5;

/// The conditions that end a session.
#[derive(Default)]
pub struct Abort {
    /// The conditions on the load.
    load: Streaks,
    /// The conditions on figures that a poll of the server measures. A second without a poll has no effect on them.
    polls: Streaks,
    /// The conditions on PING. They need no load.
    pings: Streaks,
    /// The measurements of the present second.
    second: Interval,
    windows: PingSeconds,
    /// The share of a core that the server used. `None` if the server was not polled in the present second.
    server_cpu: Option<f64>,
    /// The present segment.
    segment: Option<Segment>,
    /// The condition that ended the session.
    ended_by: Option<String>,
    /// The wall clock of this machine.
    clock: Option<WallClock>,
}

/// A condition, and the results of its seconds so far.
struct Streak {
    condition: Condition,
    /// The number of seconds in a row that met the condition.
    met: usize,
    /// Whether at least one second had enough samples for the condition.
    is_judged: bool,
    /// The reason why the latest such second could not be judged.
    unjudged: Option<MetCondition>,
}

#[derive(Default)]
struct Streaks(Vec<Streak>);

impl Streaks {
    /// Judges a whole second. Returns the condition that ends the session, with the measured value. `is_silent` means
    /// that requests or PINGs wait and no reply arrived. Latencies then count as longer than any limit.
    fn judge(
        &mut self,
        is_silent: bool,
        measure: impl Fn(&Condition) -> Option<MetCondition>,
    ) -> Option<MetCondition> {
        let mut ended_by = None;
        for Streak { condition, met, is_judged, unjudged } in &mut self.0 {
            let is_known = |crossed: &MetCondition| crossed.is_sure || is_silent && condition.is_above;
            match measure(condition) {
                Some(crossed) if !is_known(&crossed) => {
                    *unjudged = Some(crossed);
                    *met = 0;
                    continue;
                }
                Some(_) if *met + 1 < SECONDS => *met += 1,
                Some(crossed) => {
                    let measured = if crossed.is_sure { crossed.measured } else { "no reply".to_owned() };
                    ended_by = Some(MetCondition { measured, ..crossed });
                }
                None => *met = 0,
            }
            *is_judged = true;
        }
        ended_by
    }

    fn restart(&mut self) {
        self.0.iter_mut().for_each(|streak| streak.met = 0);
    }

    /// Returns a text about each condition for which no second had enough samples.
    fn unjudged(&self) -> impl Iterator<Item = String> {
        let never = self.0.iter().filter(|streak| !streak.is_judged);
        never.filter_map(|streak| streak.unjudged.as_ref()).map(
            |MetCondition { condition, measured, .. }| {
                format!("--abort-if '{condition}' was never checked: {measured}")
            },
        )
    }
}

impl Abort {
    /// Returns the listener for these conditions. Returns `None` without conditions.
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
        let streak = |condition: &Condition| Streak {
            condition: condition.clone(),
            met: 0,
            is_judged: false,
            unjudged: None,
        };
        let streaks = conditions.iter().map(streak);
        let (pings, others): (_, Vec<_>) = streaks.partition(|streak| streak.condition.is_of_pings());
        let (polls, load) = others.into_iter().partition(|streak| streak.condition.is_of_polls());
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
            Some(Record::Server(moment)) => self.server_cpu = moment.body.gauges.get(Gauge::Cpu),
            Some(Record::Interval(interval)) if !interval.drain && !self.is_aside() => {
                return self.push_interval(interval);
            }
            Some(Record::Ping(span)) if !self.is_prepared() => return self.push_ping(span),
            _ => {}
        }
        Vec::new()
    }

    fn verdict(&mut self) -> Result<(), Failure> {
        if let Some(cause) = self.ended_by.take() {
            return Err(Failure::Crossed(cause));
        }
        let unjudged: Vec<_> =
            [&self.load, &self.polls, &self.pings].into_iter().flat_map(Streaks::unjudged).collect();
        if unjudged.is_empty() { Ok(()) } else { Err(Failure::Undecided(unjudged.join("; "))) }
    }
}

#[cfg(test)]
mod tests;
