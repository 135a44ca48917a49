//! Finding: clients open a new connection for each request, or for every few requests. Accepting a connection costs the
//! server as much as several requests.

use super::{Finding, Severity, callers, cpu_bound::in_commands, now::RecentState};
use crate::{gauge::Gauge, units};

/// From this number of new connections per second on, the finding is a note.
const SOME: f64 = 200.0;
/// From this number of new connections per second on, the finding is a warning. A connection takes about 100 µs of the
/// main thread's time, and with TLS more than 1 ms.
const MANY: f64 = 1000.0;
/// The largest number of commands per connection for this finding. redyno then attributes the main thread's time
/// outside of commands to connecting.
const FEW: f64 = 3.0;
/// The finding is a warning when connecting takes at least this share of the main thread's time.
const MUCH: f64 = 0.25;
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
    let severity = match explains {
        MOST.. => Severity::Problem,
        MUCH.. => Severity::Warning,
        _ if per_s >= MANY => Severity::Warning,
        _ => Severity::Note,
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

    /// The figures of a Redis server with TLS: 300 new connections a second take 44 % of its main thread's time.
    #[test]
    fn a_few_hundred_connections_are_more_than_a_note_if_they_take_much_of_the_servers_time() {
        let severity = |cpu| {
            let found = first(9, move |second| {
                second.status.command_stats.clear();
                second.status.gauges.set(Gauge::NewConnections, Some(300.0));
                second.status.gauges.set(Gauge::OpsPerS, Some(600.0));
                second.status.gauges.set(Gauge::Cpu, Some(cpu));
            });
            found.severity
        };
        assert_eq!([0.05, 0.44, 0.69].map(severity), [Severity::Note, Severity::Warning, Severity::Problem]);
    }

    #[test]
    fn a_short_poll_at_the_end_of_a_session_is_no_sample() {
        let rush = |last_s| {
            found(3, move |second| {
                second.status.gauges.set(Gauge::NewConnections, Some(4800.0));
                second.status.poll_s = Some(if second.n == 2 { last_s } else { 1.0 });
            })
        };
        assert_eq!((rush(1.0).len(), rush(0.2).len()), (1, 0));
    }

    #[test]
    fn clients_that_all_connect_at_once_are_no_finding() {
        let once = found(5, |second| {
            second.status.gauges.set(Gauge::NewConnections, (second.n == 3).then_some(5000.0));
        });
        assert_eq!(once, []);
    }
}
