//! Finding: a replica is behind its primary, or gets no data from its primary.

use super::{
    Finding, Severity,
    now::RecentState,
    thresholds::{Threshold, of},
};
use crate::gauge::Gauge;

/// The thresholds for a replica: 8 MiB or 1 s behind its primary, or 10 s without data from its primary.
pub(super) static REPLICAS: [Threshold; 3] = [
    Threshold {
        gauge: Gauge::ReplicaLag,
        from: 8_388_608.0,
        severity: Severity::Warning,
        cause: "a replica is behind",
        beside: Gauge::Replicas,
        next: |_| "INFO replication names the replica; check its host, its disk and the network",
    },
    Threshold {
        gauge: Gauge::MeasuredLag,
        from: 1_000_000.0,
        severity: Severity::Warning,
        cause: "reads from this replica return data that is more than a second old",
        beside: Gauge::LinkUp,
        next: |_| "compare INFO replication of the primary and of the replica; check the replica's host, its disk and the network",
    },
    Threshold {
        gauge: Gauge::HeardMaster,
        from: 10.0,
        severity: Severity::Warning,
        cause: "this replica receives nothing from its master",
        beside: Gauge::HeardMaster,
        next: |_| "check the master and the network; INFO replication shows the state of the link (master_link_status)",
    },
];

/// Returns the current finding, if any.
pub(super) fn look(now: &RecentState, stands: bool) -> Option<Finding> {
    let is_down = now.gauge(Gauge::LinkUp).is_some_and(|up| up == 0.0);
    let cause = "this replica has no link to its master";
    let next = "INFO replication shows how long the link has been down; the server's log shows the reason";
    let down = is_down.then(|| Finding::of(Severity::Warning, cause, cause).with([], next));
    let finding = down.or_else(|| of(&REPLICAS, now, stands))?;
    let replica = match finding.long == REPLICAS[0].cause {
        true => now.status()?.furthest_replica.as_deref(),
        false => now.session.as_ref().map(|session| session.target.address.as_str()),
    };
    Some(finding.naming("replica", replica.filter(|address| !address.is_empty())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        diagnose::{Findings, fixture::seconds},
        session::Record,
    };

    #[test]
    fn a_replica_is_named_by_its_address() {
        let long = |gauge, value| {
            let mut records = seconds(5, |second| {
                second.status.gauges.set(gauge, Some(value));
                second.status.furthest_replica = Some("10.0.0.2:6380".to_owned());
            });
            let Record::Session(session) = &mut records[0] else { panic!("no session") };
            "10.0.0.3:6381".clone_into(&mut session.target.address);
            let mut findings = Findings::default();
            records.iter().for_each(|record| drop(findings.push(record)));
            findings.now()[0].long.clone()
        };
        assert_eq!(long(Gauge::ReplicaLag, 9e6), "the replica 10.0.0.2:6380 is behind");
        let this = "the replica 10.0.0.3:6381";
        assert_eq!(long(Gauge::LinkUp, 0.0), format!("{this} has no link to its master"));
        assert_eq!(long(Gauge::HeardMaster, 12.0), format!("{this} receives nothing from its master"));
        assert_eq!(
            long(Gauge::MeasuredLag, 2e6),
            format!("reads from {this} return data that is more than a second old")
        );
    }
}
