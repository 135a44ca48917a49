//! Estimates where the time of a request goes, from the measurements of the last seconds.
//!
//! ```text
//!  due        sent                                     in our kernel      read
//!   ├── ours ──┤── wire ──┤── waits in the server ──┤── execution ──┤── wire ──┤── ours ──┤
//! ```
//! | part | from |
//! |---|---|
//! | ours | PING: from due to sent, and from arrived to read (kernel timestamps); load: the send lag, and the longer of two reading delays (the delay of PING, and the delay of the workers) |
//! | wire | the fastest PING between the two kernels, because it waits for nothing |
//! | execution | INFO commandstats: the mean of the command |
//! | waits in the server | the rest: the request or its reply waits in a socket of the server, or behind other commands |
//!
//! The part "waits in the server" also contains the jitter of the network. Its error is at most the
//! difference between the median and the fastest PING. The send lag and the reading delay are measured for
//! all requests together, so each command gets the same values. redyno assumes that commands of other clients
//! wait as long as PING, without a delay in redyno.

use std::fmt;

use serde::Serialize;

use super::now::{COMMANDS_S, RecentState};
use crate::{session::Interval, units};

/// The title of the estimates, with the period that they cover, as on all screens and in all lines: [`COMMANDS_S`] has
/// room for five polls.
pub const SPENT_TITLE: &str = "where the time goes, 5 s";
/// The largest number of commands that have their own estimate.
const NAMED: usize = 8;
/// A command of other clients has an estimate only if it takes at least this share of the main thread's time.
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
    /// The wait in the server's sockets and behind other commands; includes the execution if the execution time is
    /// unknown.
    pub waits_us: f64,
    /// The execution in the server; `None` if the server does not report it.
    pub execution_us: Option<f64>,
    /// The possible error of `wire_us` and of `waits_us`: time of this length may belong to the other of the
    /// two.
    pub error_us: f64,
    /// The mean number of requests that are sent and unanswered, by Little's law: the rate times the mean time without
    /// the delay before sending. `None` without load.
    pub in_flight: Option<f64>,
}

/// The times that the PINGs measure, in microseconds.
struct PingPath {
    send_us: f64,
    kernel_us: f64,
    pickup_us: f64,
    /// Whether the three times above explain most of the round trips.
    is_known: bool,
    wire_us: f64,
    error_us: f64,
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
            let execution_us = now.execution_us("ping").unwrap_or(1.0).min(way.kernel_us);
            let mut all = vec![way.spent(
                now.words().ping,
                way.send_us + way.pickup_us,
                way.kernel_us,
                Some(execution_us),
            )];
            let waits_us = way.kernel_us - execution_us;
            let others = now.commands().into_iter();
            let others =
                others.filter(|command| command.name != "PING" && command.share >= SHARE).take(NAMED);
            all.extend(others.map(|command| {
                way.spent(&command.name, 0.0, waits_us + command.mean_us, Some(command.mean_us))
            }));
            all
        })
    }

    /// Returns the mean time of a request, in microseconds.
    pub fn total_us(&self) -> f64 {
        self.ours_us + self.wire_us + self.waits_us + self.execution_us.unwrap_or_default()
    }

    /// Returns the parts with their names, in the order in which a request passes them. If the execution is unknown, the
    /// time in the server is one part.
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
        Some(Self { send_us, kernel_us, pickup_us, is_known, wire_us, error_us })
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
        }
    }

    fn of_load(&self, now: &RecentState) -> Option<Vec<TimeSpent>> {
        let mut whole = Interval::default();
        now.last(COMMANDS_S, 0).iter().for_each(|part| whole.merge(part));
        let client = whole.client.as_ref().filter(|_| !whole.service.is_empty())?;
        let mean_us = whole.service.mean_ns() / 1e3;
        let lag_us =
            whole.response.as_ref().map_or(0.0, |response| response.mean_ns() / 1e3 - mean_us).max(0.0);
        // A service time ends when the worker's poll returns. A sleeping worker wakes up as late as the PING thread. A
        // busy worker polls again after it has read the replies of its last poll.
        let unread_us = self.pickup_us.max(client.readable_to_read.mean_ns() / 1e3);
        let requests = now.requests();
        let operations = now.operations();
        let ops: f64 = operations.iter().map(|(_, n, _)| n).sum();
        let all_us = |name: &str, n: u64| now.execution_us(name).map(|us| us * n as f64);
        let execution_us = requests.iter().map(|(name, n)| all_us(name, *n)).sum::<Option<f64>>();
        let spent = |name: &str, n: f64, service_us: f64, execution_us: Option<f64>| {
            let unread_us = unread_us.min(service_us);
            let in_flight = Some(whole.ops_per_s * n / ops.max(1.0) * service_us / 1e6);
            let spent = self.spent(name, lag_us + unread_us, service_us - unread_us, execution_us);
            TimeSpent { in_flight, ..spent }
        };
        let mean_execution_us = execution_us.filter(|_| !requests.is_empty()).map(|us| us / ops.max(1.0));
        let mut all = vec![spent("load", ops, mean_us, mean_execution_us)];
        for (name, n, service_us) in operations.iter().take(NAMED) {
            // The server reports no execution time for an operation that has several requests or a custom
            // name.
            let command = name.replace(' ', "|").to_lowercase();
            let is_one = requests.get(command.as_str()).is_some_and(|count| (*count as f64) < n * 1.2);
            let execution_us = now.execution_us(&command).filter(|_| is_one);
            let alone = mean_execution_us.filter(|_| operations.len() == 1);
            all.push(spent(name, *n, *service_us, execution_us.or(alone)));
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
mod tests {
    use super::*;
    use crate::{
        diagnose::{
            Findings,
            fixture::{Second, begun, seconds},
        },
        knobs::Knobs,
        probe::Ping,
        server::CommandStat,
        session::{Client, OperationInterval, Record, Segment, WorkerCost},
        stats::fixture::repeated,
    };

    fn spent(records: impl IntoIterator<Item = Record>) -> Vec<TimeSpent> {
        let mut findings = Findings::default();
        records.into_iter().for_each(|record| drop(findings.push(&record)));
        findings.spent()
    }

    /// Returns the share of a part.
    fn share(spent: &TimeSpent, name: &str) -> f64 {
        let parts = spent.parts();
        parts.iter().find(|(part, _)| *part == name).unwrap().1 / spent.total_us()
    }

    fn stamped(send_ns: u64, kernel: &[(u64, u64)], pickup_ns: u64) -> Ping {
        let mut second = Second::healthy(0);
        second.ping(kernel);
        let n = kernel.iter().map(|(_, n)| n).sum();
        Ping { send: Some(repeated(send_ns, n)), pickup: Some(repeated(pickup_ns, n)), ..second.ping }
    }

    #[test]
    fn five_milliseconds_are_found_where_they_were_spent() {
        let of = |ping: Ping| spent(seconds(4, move |second| second.ping = ping.clone())).remove(0);
        let wire = of(stamped(30_000, &[(5_090_000, 60), (5_140_000, 40)], 20_000));
        assert!(share(&wire, "wire") > 0.9, "{wire}");
        let ours = of(stamped(5_000_000, &[(90_000, 60), (140_000, 40)], 20_000));
        assert!(share(&ours, "ours") > 0.9, "{ours}");
        let waits = of(stamped(30_000, &[(90_000, 1), (5_100_000, 99)], 20_000));
        assert!(share(&waits, "waits in the server") > 0.9, "{waits}");
        assert_eq!(
            wire.to_string(),
            "PING 5.16 ms: ours 1.0 %, wire 99 %, waits in the server 0.4 %, execution 0.02 %; ± 1.33 µs"
        );
    }

    /// Returns PINGs whose replies wait `pickup_ns` before they are read.
    fn pings(pickup_ns: u64) -> Ping {
        stamped(30_000, &[(90_000, 50), (140_000, 50)], pickup_ns)
    }

    /// Returns the estimates for a load of `operations`, each with its name, its rate per second, its time in
    /// nanoseconds and its execution time in microseconds. `ping` has the PINGs of each second.
    fn of_load(operations: &'static [(&str, u64, u64, u64)], ping: &Ping) -> Vec<TimeSpent> {
        let mut records = begun();
        records.push(Record::Segment(Segment::new(0.0, 2, Knobs { load: true, ..Knobs::default() })));
        for n in 0..5 {
            let mut second = Second::healthy(n);
            second.ping = ping.clone();
            let ops: u64 = operations.iter().map(|(_, n, _, _)| n).sum();
            let client = Client {
                readable_to_read: repeated(9_000, ops),
                ..Client::of(vec![WorkerCost { cpu: 0.1, ..WorkerCost::default() }])
            };
            let mut interval = Interval {
                t_s: f64::from(n) + 1.0,
                length_s: 1.0,
                segment: 2,
                ops,
                ops_per_s: ops as f64,
                client: Some(client),
                ..Interval::default()
            };
            for &(name, calls, ns, us) in operations {
                let service = repeated(ns, calls);
                interval.service.merge(&service);
                let part = OperationInterval { ops: calls, service, ..OperationInterval::default() };
                interval.commands.insert(name.to_owned(), part);
                interval.requests.insert(name.to_uppercase(), calls);
                let stat = CommandStat { calls, usec: us * calls, ..CommandStat::default() };
                second.status.command_stats.insert(name.to_lowercase(), stat);
            }
            records.push(Record::Interval(Box::new(interval)));
            records.extend(second.records());
        }
        spent(records)
    }

    #[test]
    fn each_command_of_a_load_has_parts_of_its_own() {
        let all = of_load(&[("EVAL", 190, 5_250_000, 5000), ("GET", 400, 240_000, 3)], &pings(20_000));
        let names: Vec<_> = all.iter().map(|spent| spent.request.as_str()).collect();
        assert_eq!(names, ["load", "EVAL", "GET"]);
        assert!(share(&all[1], "execution") > 0.9, "{}", all[1]);
        assert!((share(&all[2], "execution") - 3.0 / 240.0).abs() < 0.001, "{}", all[2]);
        assert!(share(&all[0], "execution") > 0.85, "{}", all[0]);
        assert!(all[1].to_string().ends_with("; 1.0 in flight"), "{}", all[1]);
    }

    /// The prefill writes SETs of 1 ms, and the load sends GETs and a few SETs that take 0.2 ms.
    #[test]
    fn the_times_of_a_segment_contain_no_earlier_segment() {
        let mut records = begun();
        for (segment, us, sets) in [(1, 1000, 9000), (2, 200, 100)] {
            records.push(Record::Segment(Segment::new(
                f64::from(segment) - 1.0,
                segment,
                Knobs { load: true, ..Knobs::default() },
            )));
            let service = repeated(us * 1000, sets);
            let part =
                OperationInterval { ops: sets, service: service.clone(), ..OperationInterval::default() };
            records.push(Record::Interval(Box::new(Interval {
                t_s: f64::from(segment),
                length_s: 1.0,
                segment,
                ops: sets,
                ops_per_s: sets as f64,
                client: Some(Client::of(vec![WorkerCost { cpu: 0.1, ..WorkerCost::default() }])),
                commands: [("SET".to_owned(), part)].into(),
                service,
                ..Interval::default()
            })));
            let mut second = Second::healthy(segment - 1);
            second.ping = pings(20_000);
            records.extend(second.records());
        }
        let all = spent(records);
        assert!(all.iter().all(|spent| (199.0..201.0).contains(&spent.total_us())), "{all:?}");
        assert_eq!(all.iter().map(|spent| spent.request.as_str()).collect::<Vec<_>>(), ["load", "SET"]);
    }

    #[test]
    fn a_reply_that_waits_for_redyno_is_ours_and_an_unknown_execution_is_no_zero() {
        let late = &of_load(&[("GET", 100, 5_240_000, 3)], &pings(5_000_000))[1];
        assert!(share(late, "ours") > 0.9, "{late}");
        let unknown = &of_load(&[("get", 100, 240_000, 0)], &pings(20_000))[1];
        assert!(unknown.to_string().contains(", in the server "), "{unknown}");
    }

    #[test]
    fn a_load_has_an_estimate_although_the_parts_of_most_pings_are_unknown() {
        let unknown = Ping { rtt: repeated(20_000_000, 100), ..pings(20_000) };
        assert_eq!(of_load(&[("GET", 100, 5_240_000, 3)], &unknown).len(), 2);
        assert!(spent(seconds(4, move |second| second.ping = unknown.clone())).is_empty());
    }

    #[test]
    fn a_way_that_became_longer_is_wire_as_soon_as_all_recent_pings_take_it() {
        let ping = |n| stamped(30_000, &[(if n < 20 { 90_000 } else { 20_100_000 }, 100)], 20_000);
        let share_after = |seconds_of_it: u32| {
            let all = spent(seconds(20 + seconds_of_it, move |second| second.ping = ping(second.n)));
            share(&all[0], "wire")
        };
        assert!(share_after(3) < 0.1 && share_after(7) > 0.9, "{} {}", share_after(3), share_after(7));
    }

    #[test]
    fn the_commands_of_other_clients_wait_as_long_as_ping() {
        let all =
            spent(seconds(4, |second| second.ping = stamped(30_000, &[(90_000, 99), (140_000, 1)], 20_000)));
        assert_eq!(
            all[1].to_string(),
            "GET 92.5 µs: ours 0 %, wire 97 %, waits in the server 0 %, execution 3.2 %; ± 46 ns"
        );
    }
}
