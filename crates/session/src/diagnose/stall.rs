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
    gauge::Gauge,
    host::Process,
    knobs::Knobs,
    server::Status,
    session::{Event, Record},
    stats::Latency,
    units::count_with_noun,
};

/// The shortest stall in seconds. A stall is longer than the time between two requests at the lowest rate (1/s), and
/// longer than two ticks (quarter seconds).
const SILENCE_S: f64 = 1.5;
/// The advice to look at the process state: a stopped process has the state T, and a process that waits for a disk has
/// the state D.
const NEXT: &str = "on the server's host, ps -eo stat,wchan,cmd shows whether the server's process runs";
/// The advice if a client has sent CLIENT PAUSE. A pause of all commands delays CLIENT UNPAUSE, too.
const PAUSED: &str =
    "CLIENT UNPAUSE ends a pause of writes (CLIENT PAUSE … WRITE); find out which client pauses the others";
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
    /// The time of the last report of the server that shows a CLIENT PAUSE, and the evidence.
    paused: Option<(f64, String)>,
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
            Record::Server(moment) => {
                self.paused = paused(&moment.body).map(|by| (moment.t_s, by)).or(self.paused.take());
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
            None => (now.dialect().words().ping, self.pong_s?, self.ping_s, self.ping_waited_s),
        };
        // A server that is always slow has no stall event.
        let waited_s = self.stalled_s.map_or(0.0, |_| waited_s);
        let for_s = waited_s.max(t_s - replied_s);
        if for_s < SILENCE_S {
            return None;
        }
        // redyno closes connections whose requests were not answered within the timeout.
        let open = if self.is_lost { "" } else { ", although the connections are open" };
        let known_by = format!("no reply to {what} for {for_s:.1} s{open}");
        // The process may run again when the end of the silence is known.
        let seen = self.stopped.filter(|(stopped_s, _)| *stopped_s >= t_s - for_s);
        let is_over = stopped(now).is_none();
        let is = if is_over { "was" } else { "is" };
        // The number is 0 in redacted records. `kill` with 0 would reach the user's own process group.
        let known = seen.map(|(_, pid)| pid).filter(|pid| *pid != 0);
        let pause = self.paused.as_ref().filter(|(paused_s, _)| seen.is_none() && *paused_s >= t_s - for_s);
        let why = match (seen, known) {
            (Some(_), Some(pid)) => format!(": its process {pid} {is} stopped"),
            (Some(_), None) => format!(": its process {is} stopped"),
            (None, _) if pause.is_some() => ": CLIENT PAUSE delays commands".to_owned(),
            (None, _) => String::new(),
        };
        let next = match known {
            Some(pid) if !is_over => format!("kill -CONT {pid}"),
            _ if seen.is_some() && is_over => STOPPED.to_owned(),
            _ if pause.is_some() => PAUSED.to_owned(),
            _ => NEXT.to_owned(),
        };
        let known_by = pause.map(|(_, by)| by.clone()).into_iter().chain([known_by]);
        Some(Finding {
            severity: Severity::Problem,
            explains: 1.0,
            since_s: t_s - for_s,
            evidence: known_by.collect(),
            next,
            ..Finding::new("stall", "no answer", format!("the server does not answer{why}"))
        })
    }
}

/// Returns the evidence of a CLIENT PAUSE in a report of the server. During a pause of all commands, the server sends no
/// report, and the next report counts the call.
fn paused(status: &Status) -> Option<String> {
    let calls = status.command_stats.get("client|pause").map_or(0, |stat| stat.calls);
    let called =
        || format!("INFO commandstats counts {} of CLIENT PAUSE", count_with_noun(calls, "new call"));
    let is_paused = status.gauges.flag(Gauge::PausedClients) == Some(true);
    let reason = || "INFO clients shows paused_reason:client_pause".to_owned();
    (calls > 0).then(called).or_else(|| is_paused.then(reason))
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
mod tests;
