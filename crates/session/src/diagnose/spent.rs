//! Estimates where the time of a request goes, from the measurements of the last seconds.
//!
//! ```text
//!  due        sent                                     in our kernel      read
//!   ├── ours ──┤── wire ──┤── waits in the server ──┤── execution ──┤── wire ──┤── ours ──┤
//! ```
//! | part | from |
//! |---|---|
//! | ours | PING: from due to sent, and from arrived to read (kernel timestamps); load: how late a request is sent although a client is free, and the longer of two reading delays (the delay of PING, and the delay of the workers) |
//! | wire | the fastest PING between the two kernels, because it waits for nothing |
//! | execution | INFO commandstats: the mean of the command |
//! | waits in the server | the rest: the request or its reply waits in a socket of the server, or behind other commands |
//!
//! The part "waits in the server" also contains the jitter of the network. The error of this part is at most the
//! difference between the median PING and the fastest PING. The send lag and the reading delay are measured for all
//! requests together, so each command gets the same values. redyno assumes that commands of other clients wait as long
//! as PING, without a delay in redyno.
//!
//! In an open loop, a request may be due while all clients wait for replies. redyno sends this request when a client is
//! free. The wait for a free client is divided in the same proportions as the time of the replies: in redyno, on the
//! wire, and in the server.

use std::fmt;

use serde::Serialize;

use super::{
    now::{COMMANDS_S, RecentState},
    window::length_s,
};
use crate::{session::Interval, units};

/// The longest shown period of the estimates, in seconds. [`COMMANDS_S`] has room for five polls.
const PERIOD_S: f64 = 5.0;
/// The largest number of commands that have their own estimate.
const NAMED: usize = 8;
/// The smallest share of the main thread's time for an estimate of another client's command.
const SHARE: f64 = 0.001;

/// The parts of a request's mean time, in microseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TimeSpent {
    /// The kind of request: `PING`, `load` for all requests of the load, or a command such as `GET`.
    pub request: String,
    /// The delay of redyno and its machine, before sending and before reading.
    pub ours_us: f64,
    /// The time on the network, in both directions.
    pub wire_us: f64,
    /// The time that a request or reply waits in the server's sockets, or for other commands. If all clients of the
    /// load are busy, the wait for a free client is added. An unknown execution time is included in this wait.
    pub waits_us: f64,
    /// The execution time in the server. `None` if the server does not report this time.
    pub execution_us: Option<f64>,
    /// The possible error of `wire_us` and of `waits_us`. The true value of a part may differ from the estimate by at
    /// most this time.
    pub error_us: f64,
    /// The mean number of requests that are sent and unanswered, by Little's law: the rate times the mean time without
    /// the delay before sending. `None` without load.
    pub in_flight: Option<f64>,
    /// The length of the measured period, in seconds.
    pub period_s: f64,
}

/// The times that the PINGs measure, in microseconds.
struct PingPath {
    send_us: f64,
    kernel_us: f64,
    pickup_us: f64,
    /// Whether the three times above explain most of the round trip time.
    is_known: bool,
    wire_us: f64,
    error_us: f64,
    /// The length of the measured period, in seconds.
    period_s: f64,
}

impl TimeSpent {
    /// Returns the estimates. With a load, the first estimate is for all requests of the load, and the other
    /// estimates are for the commands of the load. Without a load, the first estimate is for PING, and the
    /// other estimates are for commands of other clients. Commands with the most time come first. There is no
    /// estimate without kernel timestamps of PINGs. Without load, there is also no estimate if PINGs with
    /// unknown parts took most of the time.
    pub(super) fn of(now: &RecentState) -> Vec<Self> {
        let Some(way) = PingPath::of(now) else { return Vec::new() };
        // A request of the load has its own times, also while redyno is stopped and PINGs have none.
        let load = now.is_loaded().then(|| way.of_load(now)).flatten();
        load.unwrap_or_else(|| {
            if !way.is_known {
                return Vec::new();
            }
            let execution_us = now.execution_us("ping").map(|us| us.min(way.kernel_us));
            let ours_us = way.send_us + way.pickup_us;
            let mut all = vec![way.spent(now.dialect().words().ping, ours_us, way.kernel_us, execution_us)];
            let waits_us = way.kernel_us - execution_us.unwrap_or_default();
            let others = now.commands().into_iter();
            let others =
                others.filter(|command| command.name != "PING" && command.share >= SHARE).take(NAMED);
            all.extend(others.map(|command| {
                way.spent(&command.name, 0.0, waits_us + command.mean_us, Some(command.mean_us))
            }));
            all
        })
    }

    /// Returns the title of these estimates, with the length of the measured period. All screens and lines use this
    /// title.
    pub fn title(&self) -> String {
        format!("where the time goes, {}", self.period())
    }

    /// Returns the length of the measured period as text: `5 s`, or `1.4 s` soon after the start.
    pub fn period(&self) -> String {
        let digits = usize::from(self.period_s < PERIOD_S);
        format!("{:.digits$} s", self.period_s)
    }

    /// Returns the mean time of a request, in microseconds.
    pub fn total_us(&self) -> f64 {
        self.ours_us + self.wire_us + self.waits_us + self.execution_us.unwrap_or_default()
    }

    /// Returns the parts with their names, in the order in which a request passes them. If the execution is unknown,
    /// the time in the server is one part.
    pub fn parts(&self) -> Vec<(&'static str, f64)> {
        let mut parts = vec![("ours", self.ours_us), ("wire", self.wire_us)];
        match self.execution_us {
            Some(us) => parts.extend([("waits in the server", self.waits_us), ("execution", us)]),
            None => parts.push(("in the server", self.waits_us)),
        }
        parts
    }
}

impl PingPath {
    fn of(now: &RecentState) -> Option<Self> {
        let ((send_us, kernel_us, pickup_us), is_known) = now.pings.mean_parts_us(COMMANDS_S)?;
        let wire_us = now.pings.fastest_ns(COMMANDS_S) as f64 / 1e3;
        let error_us = (now.pings.now?.p50_ns as f64 / 1e3 - wire_us).max(0.0);
        let segment = now.segment.as_ref().filter(|segment| segment.knobs.load);
        let period_s = segment.map_or(now.t_s, |_| length_s(now.last(COMMANDS_S, 0))).min(PERIOD_S);
        Some(Self { send_us, kernel_us, pickup_us, is_known, wire_us, error_us, period_s })
    }

    /// Returns the estimate of a request that takes `ours_us` in redyno and `away_us` outside of redyno.
    fn spent(&self, request: &str, ours_us: f64, away_us: f64, execution_us: Option<f64>) -> TimeSpent {
        let execution_us = execution_us.map(|us| us.min(away_us));
        let in_server_us = away_us - execution_us.unwrap_or_default();
        let wire_us = self.wire_us.min(in_server_us);
        TimeSpent {
            request: request.to_owned(),
            ours_us,
            wire_us,
            waits_us: in_server_us - wire_us,
            execution_us,
            error_us: self.error_us.min(in_server_us),
            in_flight: None,
            period_s: self.period_s,
        }
    }

    fn of_load(&self, now: &RecentState) -> Option<Vec<TimeSpent>> {
        let mut whole = Interval::default();
        now.last(COMMANDS_S, 0).iter().for_each(|part| whole.merge(part));
        let client = whole.client.as_ref().filter(|_| !whole.service.is_empty())?;
        let mean_us = whole.service.mean_ns() / 1e3;
        let lag_us =
            whole.response.as_ref().map_or(0.0, |response| response.mean_ns() / 1e3 - mean_us).max(0.0);
        let late_us = client.late.as_ref().map_or(0.0, |late| late.mean_ns() / 1e3).min(lag_us);
        // A service time ends when the worker's poll returns. A sleeping worker wakes up as late as the PING thread. A
        // busy worker polls again after it has read the replies of its last poll.
        let unread_us = self.pickup_us.max(client.readable_to_read.mean_ns() / 1e3);
        // A reply that arrives while the worker reads others waits up to the receive lag for its timestamp.
        let held_us = unread_us.max(client.receive_lag.mean_ns() / 1e3).min(mean_us);
        let blocked = (lag_us - late_us) / mean_us.max(f64::MIN_POSITIVE);
        let requests = now.requests();
        let operations = now.operations();
        let ops: f64 = operations.iter().map(|(_, n, _)| n).sum();
        // The server reports no execution time for an operation that has several requests or a custom name.
        let of_operation = |name: &str, n: f64| {
            let command = name.replace(' ', "|").to_lowercase();
            let is_one = requests.get(command.as_str()).is_some_and(|count| (*count as f64) < n * 1.2);
            now.execution_us(&command).filter(|_| is_one)
        };
        let of_operations =
            operations.iter().map(|(name, n, _)| Some(of_operation(name, *n)? * n)).sum::<Option<f64>>();
        // The requests of all operations are known only together with those that prepare the connections.
        let of_requests = || {
            requests.iter().map(|(name, n)| Some(now.execution_us(name)? * *n as f64)).sum::<Option<f64>>()
        };
        let execution_us = of_operations.or_else(of_requests);
        let spent = |name: &str, n: f64, service_us: f64, execution_us: Option<f64>| {
            // A request takes at least as long as the fastest PING between the two kernels.
            let unread_us = unread_us.min((service_us - self.wire_us).max(0.0));
            let in_flight = Some(whole.ops_per_s * n / ops.max(1.0) * service_us / 1e6);
            let ours_us = late_us + blocked * held_us + unread_us;
            let spent = self.spent(name, ours_us, service_us - unread_us, execution_us);
            let wire_us = blocked * self.wire_us.min(mean_us - held_us);
            TimeSpent {
                wire_us: spent.wire_us + wire_us,
                waits_us: spent.waits_us + blocked * (mean_us - held_us) - wire_us,
                error_us: self.error_us.min(service_us),
                in_flight,
                ..spent
            }
        };
        let mean_execution_us = execution_us.filter(|_| !requests.is_empty()).map(|us| us / ops.max(1.0));
        let mut all = vec![spent("load", ops, mean_us, mean_execution_us)];
        for (name, n, service_us) in operations.iter().take(NAMED) {
            let alone = mean_execution_us.filter(|_| operations.len() == 1);
            all.push(spent(name, *n, *service_us, of_operation(name, *n).or(alone)));
        }
        Some(all)
    }
}

impl fmt::Display for TimeSpent {
    /// Writes `PING 20.4 ms: ours 1.0 %, wire 97 %, waits in the server 2.0 %, execution 0.02 %; ± 300 µs`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |us: f64| units::latency((us * 1e3) as u64);
        let total_us = self.total_us();
        let part = |(name, us): &(&str, f64)| {
            format!("{name} {}", units::percent(us / total_us.max(f64::MIN_POSITIVE)))
        };
        let parts: Vec<_> = self.parts().iter().map(part).collect();
        let (parts, error) = (parts.join(", "), text(self.error_us));
        write!(f, "{} {}: {parts}; ± {error}", self.request, text(total_us))?;
        self.in_flight.map_or(Ok(()), |n| write!(f, "; {n:.1} in flight"))
    }
}

#[cfg(test)]
mod tests;
