//! Finding: clients open connections and do not close them, so the server will soon refuse new connections.
//!
//! ```text
//!  open   100 ── 190 ── 280 ── 370 ──►  10 000     the limit maxclients
//!         each poll of INFO has more           the time that is left
//! ```

use super::{Finding, Severity, callers, now::RecentState};
use crate::{gauge::Gauge, units};

/// The shortest examined period, in seconds. When an application starts, its pools of connections are soon full.
const LEAST_S: f64 = 9.0;
/// The finding begins if the server reaches its limit within this time, in seconds.
const SOON_S: f64 = 600.0;

/// Returns the current finding, if any.
pub(super) fn look(now: &RecentState, stands: bool) -> Option<Finding> {
    let limit = now.gauge(Gauge::MaxClients).filter(|_| !now.is_loaded())?;
    let length_s = now.rates.last_s(|_| true)? - now.rates.begun_s(|_| true)?;
    // The newest number is the first one.
    let open: Vec<f64> = now.rates.since(f64::MIN).filter_map(|sample| sample.get(Gauge::Clients)).collect();
    let (newest, middle, oldest) = (*open.first()?, open[open.len() / 2], *open.last()?);
    let is_rising = newest > middle && middle > oldest && open.windows(2).all(|pair| pair[0] >= pair[1]);
    let per_s = (newest - oldest) / length_s;
    let left_s = (limit - newest) / per_s;
    let soon_s = if stands { SOON_S * 2.0 } else { SOON_S };
    if !is_rising || length_s < LEAST_S || left_s > soon_s {
        return None;
    }
    let from =
        callers::of_new_connections(now, per_s).map_or_else(String::new, |from| format!(", from {from}"));
    let short = format!("connections grow by {}", units::rate(per_s));
    let [newest, limit] = [newest, limit].map(|n| units::grouped(n as u64));
    let long = format!("open {short}{from}");
    let evidence = format!("{newest} of at most {limit} connections are open");
    let left = format!("the limit is reached in {}", units::length(left_s.max(0.0)));
    let words = now.dialect().words();
    let next =
        format!("find the client that does not close its connections: {} shows their age", words.connections);
    Some(Finding::of(Severity::Warning, short, long).with([Some(evidence), Some(left)], &next))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        diagnose::fixture::{found, seconds},
        knobs::Knobs,
        session::{Record, Segment},
    };

    /// Returns the findings after 20 seconds with this number of open connections in each second.
    fn of(open: impl Fn(u32) -> f64) -> Vec<String> {
        let found = found(20, |second| {
            second.status.gauges.set(Gauge::MaxClients, Some(10_000.0));
            second.status.gauges.set(Gauge::Clients, Some(open(second.n)));
        });
        found.into_iter().filter(|it| it.rule == "connection limit").map(|it| it.line()).collect()
    }

    #[test]
    fn connections_that_are_not_closed_are_found_before_the_server_is_full() {
        assert_eq!(
            of(|n| 100.0 + 90.0 * f64::from(n)),
            [
                "connection limit: open connections grow by 90/s: 1 810 of at most 10 000 connections are open, the \
                 limit is reached in 91 s; find the client that does not close its connections: CLIENT LIST shows their \
                 age"
            ]
        );
    }

    #[test]
    fn full_pools_slow_growth_and_closed_connections_are_no_leak() {
        assert_eq!(of(|n| 100.0 + 900.0 * f64::from(n.min(8))), [""; 0], "a pool is full");
        assert_eq!(of(|n| 100.0 + f64::from(n)), [""; 0], "the limit is hours away");
        assert_eq!(
            of(|n| 100.0 + 90.0 * f64::from(n) - 200.0 * f64::from(n % 2)),
            [""; 0],
            "some are closed"
        );
    }

    #[test]
    fn connections_of_the_own_load_are_no_leak() {
        let mut findings = crate::diagnose::Findings::default();
        let rising = seconds(20, |second| {
            second.status.gauges.set(Gauge::MaxClients, Some(10_000.0));
            second.status.gauges.set(Gauge::Clients, Some(90.0 * f64::from(second.n)));
        });
        rising[..2].iter().for_each(|record| drop(findings.push(record)));
        let load = Segment::new(0.0, 2, Knobs { load: true, ..Knobs::default() });
        findings.push(&Record::Segment(load));
        rising[2..].iter().for_each(|record| drop(findings.push(record)));
        assert!(findings.now().iter().all(|found| found.rule != "connection limit"));
    }
}
