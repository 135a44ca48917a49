//! Finding: clients open a new connection for each request, or for every few requests. Accepting a connection costs the
//! server as much as several requests.

use super::{Finding, Severity, callers, cpu_bound::in_commands, now::RecentState};
use crate::{gauge::Gauge, units};

/// From this number of new connections per second on, the finding is a note.
const SOME: f64 = 200.0;
/// From this number of new connections per second on, the finding is a warning. A connection takes about 50
/// µs of the main thread's time.
const MANY: f64 = 1000.0;
/// The largest number of commands per connection for this finding. redyno then attributes the main thread's time
/// outside of commands to connecting.
const FEW: f64 = 3.0;
/// The finding is a problem when connecting takes at least this share of the main thread's time.
const MOST: f64 = 0.5;

/// Returns the current finding, if any.
pub(super) fn look(now: &RecentState, stands: bool) -> Option<Finding> {
    // While redyno's own load reconnects on purpose, there is no finding.
    let reconnects = now.load().is_some_and(|knobs| knobs.renewal().is_some());
    let per_s = now.steady(Gauge::NewConnections, stands).filter(|per_s| *per_s >= SOME && !reconnects)?;
    let each = now.gauge(Gauge::OpsPerS).map(|ops| ops / per_s);
    let other = now.gauge(Gauge::Cpu).map_or(0.0, |cpu| cpu - in_commands(now).unwrap_or_default());
    let explains = if each.is_some_and(|each| each <= FEW) { other.max(0.0) } else { 0.0 };
    let severity = match per_s >= MANY {
        true if explains >= MOST => Severity::Problem,
        true => Severity::Warning,
        false => Severity::Note,
    };
    let before = now.usual(Gauge::NewConnections).filter(|usual| *usual * 3.0 <= per_s);
    let before = before.map_or_else(String::new, |usual| format!(", {} before", units::count(usual)));
    let from =
        callers::of_new_connections(now, per_s).map_or_else(String::new, |from| format!(", from {from}"));
    let short = format!("{} new connections", units::rate(per_s));
    let long = format!("{} new connections a second{before}{from}", units::count(per_s));
    let ops = each.map(|each| format!("{each:.1} commands on each connection"));
    let time = (explains >= 0.1).then(|| {
        format!("the main thread spends {} of its time on work other than commands", units::percent(explains))
    });
    let open = now.gauge(Gauge::Clients).map(|open| format!("open connections: {}", units::count(open)));
    let next =
        format!("use a connection pool; {} shows the open connections", now.dialect().words().connections);
    let finding = Finding::of(severity, short, long).with([ops, time, open, now.pings.slowed()], &next);
    Some(Finding { explains, ..finding })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        diagnose::fixture::{first, found, seconds},
        knobs::Knobs,
        session::{Record, Segment},
    };

    #[test]
    fn a_rush_of_connections_is_compared_with_the_time_before() {
        let rush_of = |from, n| {
            first(n, move |second| {
                let new = if second.n >= from { 4800.0 } else { 3.0 };
                second.status.gauges.set(Gauge::NewConnections, Some(new));
                second.status.gauges.set(Gauge::OpsPerS, Some(9600.0));
            })
        };
        let (rush, rushed) = (|from| rush_of(from, 50), |from, n| rush_of(from, n).long);
        assert_eq!(rush(40).long, "4.80 k new connections a second, 3 before");
        // The usual value stays the same while the rush lasts, and is known soon after the start.
        assert_eq!(rushed(40, 150), "4.80 k new connections a second, 3 before");
        assert_eq!(rushed(12, 18), "4.80 k new connections a second, 3 before");
        assert_eq!((rush(0).long.as_str(), rush(0).rule), ("4.80 k new connections a second", "connections"));
        assert_eq!(rush(0).evidence[0], "2.0 commands on each connection");
    }

    #[test]
    fn a_load_that_reconnects_is_known_at_the_other_nodes_too() {
        let rush = |second: &mut crate::diagnose::fixture::Second| {
            second.status.gauges.set(Gauge::NewConnections, Some(4800.0));
        };
        let found_with = |reconnect| {
            let knobs = Knobs { load: true, reconnect, ..Knobs::default() };
            let mut findings = crate::diagnose::Findings::default();
            findings.push_other(&Record::Segment(Segment::new(0.0, 1, knobs)));
            seconds(50, rush).iter().for_each(|record| drop(findings.push(record)));
            findings.now().len()
        };
        assert_eq!((found_with(None), found_with(Some(1))), (1, 0));
    }

    #[test]
    fn the_finding_that_takes_more_server_time_comes_first() {
        let rules = |cpu, delay| {
            let found = found(50, move |second| {
                second.status.gauges.set(Gauge::NewConnections, Some(9000.0));
                second.status.gauges.set(Gauge::OpsPerS, Some(9000.0));
                second.status.gauges.set(Gauge::Cpu, Some(cpu));
                second.host.gauges.set(Gauge::ServerRunDelay, Some(delay));
            });
            found.iter().map(|found| (found.rule, found.severity)).collect::<Vec<_>>()
        };
        let (core, connections) = ("core taken", "connections");
        assert_eq!(rules(0.7, 0.2), [(connections, Severity::Problem), (core, Severity::Warning)]);
        assert_eq!(rules(0.3, 0.6), [(core, Severity::Problem), (connections, Severity::Warning)]);
    }

    #[test]
    fn clients_that_all_connect_at_once_are_no_finding() {
        let once = found(5, |second| {
            second.status.gauges.set(Gauge::NewConnections, (second.n == 3).then_some(5000.0));
        });
        assert_eq!(once, []);
    }
}
