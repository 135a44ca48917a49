//! Where the time of a request goes: an estimate from the measurements of the last seconds.
//!
//! ```text
//!  due        sent                                     in our kernel      read
//!   ├── ours ──┤── wire ──┤── waits in the server ──┤── execution ──┤── wire ──┤── ours ──┤
//! ```
//! | part | from |
//! |---|---|
//! | ours | PING: due to sent, and arrived to read (kernel timestamps); load: send lag, and readable to read |
//! | wire | the fastest PING between two kernels: no request is faster, with nothing to wait for |
//! | execution | INFO commandstats: the mean of the command |
//! | waits in the server | the rest: the request is in a socket of the server or behind other commands, or its reply is |
//!
//! The wire's own jitter is in the rest, so the error is at most the difference between the median and the fastest PING.

use std::fmt;

use serde::Serialize;

use super::now::Now;
use crate::{session::Interval, units};

/// The judged time, in seconds.
const WINDOW_S: f64 = 10.0;

/// The parts of a request's mean time, in microseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Spent {
    /// The request: `PING`, or `load` for the requests of the load.
    pub request: &'static str,
    /// The delay of redyno and its machine, before sending and before reading.
    pub ours_us: f64,
    /// The network, both ways.
    pub wire_us: f64,
    /// The wait in the server's sockets and behind other commands.
    pub waits_us: f64,
    /// The execution in the server.
    pub execution_us: f64,
    /// How far wire and wait may be wrong, each at the other's expense.
    pub error_us: f64,
    /// The mean number of requests on their way, by Little's law (rate × time); `None` without load.
    pub in_flight: Option<f64>,
}

impl Spent {
    /// Returns the estimate for the requests of the load if there is one, else for PING; `None` without PINGs with
    /// kernel timestamps.
    pub(super) fn of(now: &Now) -> Option<Self> {
        let (send_us, kernel_us, pickup_us) = now.pings.mean_parts_us(WINDOW_S)?;
        let times = now.pings.now()?;
        let wire_us = now.pings.all(WINDOW_S).min_ns() as f64 / 1e3;
        let error_us = (times.p50_ns as f64 / 1e3 - wire_us).max(0.0);
        let ping = Self {
            request: "PING",
            ours_us: send_us + pickup_us,
            wire_us,
            waits_us: (kernel_us - wire_us).max(0.0),
            // A PING takes the server about as long as the resolution of its statistics.
            execution_us: 1.0_f64.min(kernel_us),
            error_us,
            in_flight: None,
        };
        let load = now.is_loaded().then(|| Self::of_load(now, wire_us, error_us)).flatten();
        Some(load.unwrap_or(ping))
    }

    fn of_load(now: &Now, wire_us: f64, error_us: f64) -> Option<Self> {
        let mut whole = Interval::default();
        now.last(WINDOW_S, 0).iter().for_each(|part| whole.merge(part));
        let client = whole.client.as_ref().filter(|_| !whole.service.is_empty())?;
        let service_us = whole.service.mean_ns() / 1e3;
        let lag_us = whole.response.as_ref().map_or(0.0, |response| response.mean_ns() / 1e3 - service_us);
        let unread_us = client.readable_to_read.mean_ns() / 1e3;
        let execution_us = now.own_execution_us().unwrap_or_default().min(service_us);
        let wire_us = wire_us.min(service_us - execution_us);
        let waits_us = (service_us - unread_us - wire_us - execution_us).max(0.0);
        Some(Self {
            request: "load",
            ours_us: lag_us.max(0.0) + unread_us,
            wire_us,
            waits_us,
            execution_us,
            error_us: error_us.min(waits_us + wire_us),
            in_flight: Some(whole.ops_per_s * service_us / 1e6),
        })
    }

    /// Returns the mean time of a request, in microseconds.
    pub fn total_us(&self) -> f64 {
        self.ours_us + self.wire_us + self.waits_us + self.execution_us
    }

    /// Returns the parts with their names, in the order in which a request passes them.
    pub fn parts(&self) -> [(&'static str, f64); 4] {
        [
            ("ours", self.ours_us),
            ("wire", self.wire_us),
            ("waits in the server", self.waits_us),
            ("execution", self.execution_us),
        ]
    }
}

impl fmt::Display for Spent {
    /// Writes `PING 20.4 ms: ours 1.0 %, wire 97 %, waits in the server 2.0 %, execution 0.02 %; ± 300 µs`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |us: f64| units::latency((us * 1e3) as u64);
        let total_us = self.total_us();
        let part = |(name, us): (&str, f64)| {
            format!("{name} {}", units::percent(us / total_us.max(f64::MIN_POSITIVE)))
        };
        let parts = self.parts().map(part).join(", ");
        write!(f, "{} {}: {parts}; ± {}", self.request, text(total_us), text(self.error_us))?;
        self.in_flight.map_or(Ok(()), |n| write!(f, "; {n:.1} in flight (rate × time)"))
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
        session::{Client, Record, Segment, WorkerCost},
        stats::fixture::repeated,
    };

    fn spent(records: impl IntoIterator<Item = Record>) -> Spent {
        let mut findings = Findings::default();
        records.into_iter().for_each(|record| drop(findings.push(&record)));
        findings.spent().unwrap()
    }

    /// Returns the share of a part.
    fn share(spent: &Spent, name: &str) -> f64 {
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
        let of = |ping: Ping| spent(seconds(4, move |second| second.ping = ping.clone()));
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

    #[test]
    fn a_load_of_slow_commands_spends_its_time_in_their_execution() {
        let knobs = Knobs { load: true, ..Knobs::default() };
        let mut records = begun();
        records.push(Record::Segment(Segment::new(0.0, 2, knobs)));
        for n in 0..5 {
            let mut second = Second::healthy(n);
            second.ping = stamped(30_000, &[(90_000, 50), (140_000, 50)], 20_000);
            let eval = CommandStat { calls: 190, usec: 950_000, ..CommandStat::default() };
            second.status.command_stats.insert("eval".to_owned(), eval);
            let client = Client {
                readable_to_read: repeated(9_000, 190),
                ..Client::of(vec![WorkerCost { cpu: 0.1, run_delay: None }])
            };
            records.push(Record::Interval(Box::new(Interval {
                t_s: f64::from(n) + 1.0,
                length_s: 1.0,
                segment: 2,
                ops: 190,
                ops_per_s: 190.0,
                service: repeated(5_250_000, 190),
                requests: [("eval".to_owned(), 190)].into(),
                client: Some(client),
                ..Interval::default()
            })));
            records.extend(second.records());
        }
        let load = spent(records);
        assert_eq!(load.request, "load");
        assert!(share(&load, "execution") > 0.9, "{load}");
        assert!(load.to_string().ends_with("; 1.0 in flight (rate × time)"), "{load}");
    }
}
