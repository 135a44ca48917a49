//! Finding: the server is down. Its machine answers, but refuses each connection.

use std::collections::BTreeMap;

use super::{
    Finding, Severity,
    now::RecentState,
    rule::{Rule, RuleVerdict},
};
use crate::session::{Interval, Record};

/// Returns the number of requests that failed because a connection was refused or lost.
pub(super) fn without_connection(errors: &BTreeMap<String, u64>) -> u64 {
    ["refused", "reset"].into_iter().filter_map(|kind| errors.get(kind)).sum()
}

/// Returns whether the load had no connection for a part of the interval, or had too few connections to one of its
/// servers.
pub(super) fn is_cut_off(part: &Interval) -> bool {
    part.outage_s > 0.0
        || without_connection(&part.connects_failed) > 0
        || without_connection(&part.errors) > part.due / 100
}

/// Checks whether the connection for PING is refused.
#[derive(Debug, Clone)]
pub(super) struct ServerDown;

impl Rule for ServerDown {
    fn name(&self) -> &'static str {
        "server down"
    }

    fn push(&mut self, record: &Record, now: &RecentState, _: bool) -> RuleVerdict {
        match record {
            Record::Ping(span) if !span.body.rtt.is_empty() => RuleVerdict::Clear,
            Record::Ping(span) if span.body.errors.contains_key("refused") => {
                let address = now.session.as_ref().map_or("", |session| &session.target.address);
                RuleVerdict::Found(Finding {
                    severity: Severity::Problem,
                    explains: 1.0,
                    is_brief: true,
                    ..Finding::new(self.name(), self.name(), "the server is down").with(
                        [Some(format!("nothing listens on {address}"))],
                        "the server's log shows why the server ended",
                    )
                })
            }
            _ => RuleVerdict::Unchanged,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        diagnose::{
            Findings,
            fixture::{Second, begun},
        },
        events::EventKind,
        probe::Ping,
        session::{Event, Record},
    };

    /// Returns the rules with a finding, for each second. The server is stopped in the seconds 3 to 5, and
    /// killed in the seconds 10 to 15.
    fn rules() -> Vec<Vec<&'static str>> {
        let mut findings = Findings::default();
        begun().iter().for_each(|record| drop(findings.push(record)));
        let second = |n| {
            let mut second = Second::healthy(n);
            match n {
                3..=5 => second.ping = Ping { waiting_us: u64::from(n - 2) * 1_000_000, ..Ping::default() },
                // The probe's event has the time of the loss, and comes before the PINGs that were answered until then.
                10 => {
                    let lost = EventKind::PingLost { cause: "the server closed the connection".to_owned() };
                    findings.push(&Record::Event(Event::new(10.9, lost)));
                    second.ping.errors = [("refused".to_owned(), 3), ("reset".to_owned(), 2)].into();
                }
                11..=15 => {
                    let errors = [("refused".to_owned(), 100)].into();
                    second.ping = Ping { errors, ..Ping::default() };
                }
                _ => {}
            }
            let is_silent = matches!(n, 3..=5 | 11..=15);
            let records = second.records().into_iter();
            let records = records.filter(|record| !is_silent || !matches!(record, Record::Server(_)));
            records.for_each(|record| drop(findings.push(&record)));
            findings.now().iter().map(|finding| finding.rule).collect()
        };
        (0..20).map(second).collect()
    }

    #[test]
    fn only_the_time_in_which_a_connected_server_is_silent_is_a_stall() {
        let rules = rules();
        let seconds = |rule| (0..20).filter(|n| rules[*n].contains(&rule)).collect::<Vec<_>>();
        assert_eq!(seconds("stall"), [4, 5]);
        assert_eq!(seconds("server down"), [11, 12, 13, 14, 15]);
    }
}
