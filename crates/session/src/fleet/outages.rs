//! Merges the outages that several agents report into one outage of a server. The merged outage begins with the first
//! request that an agent lost, and ends when all agents get good replies again.

use std::collections::BTreeMap;

use parking_lot::Mutex;

use super::messages::AgentReport;
use crate::{
    clock::SECOND_NS,
    endpoint::{NodeOutage, NodeOutages},
};

/// The outages of all agents. All times are times of the session.
#[derive(Debug, Default)]
pub(super) struct AgentOutages {
    /// The last outage that each agent reported, by the server's number in the session and the agent's number.
    reported: Mutex<BTreeMap<(usize, usize), NodeOutage>>,
    /// The last outage of each server.
    pub(super) merged: NodeOutages,
}

impl AgentOutages {
    /// Takes the outages of a report. `number` converts an agent's number of a server to the session's number.
    /// `is_away` returns whether an agent has left the session. The outage of such an agent may have no end.
    pub(super) fn take(
        &self,
        report: &AgentReport,
        number: impl Fn(usize) -> Option<usize>,
        is_away: impl Fn(usize) -> bool,
    ) {
        let mut reported = self.reported.lock();
        reported.retain(|(_, agent), _| !is_away(*agent));
        for (node, outage) in report.outages.iter().enumerate() {
            let Some((node, outage)) = number(node).zip(*outage) else { continue };
            reported.insert((node, report.index), outage);
            let of_node = reported.range((node, 0)..=(node, usize::MAX)).map(|(_, outage)| *outage);
            self.merged.set(node, merged(&of_node.collect::<Vec<_>>()));
        }
    }
}

/// Merges the newest outage with earlier outages of other agents. An outage is merged if it ended at most a second
/// before the newest outage began.
fn merged(outages: &[NodeOutage]) -> Option<NodeOutage> {
    let newest_ns = outages.iter().map(|outage| outage.since_ns).max()?;
    let is_same =
        |outage: &&NodeOutage| outage.back_ns.is_none_or(|back_ns| back_ns + SECOND_NS >= newest_ns);
    let same = outages.iter().filter(is_same).copied();
    same.reduce(|one, other| NodeOutage {
        before_ns: one.before_ns.min(other.before_ns),
        since_ns: one.since_ns.min(other.since_ns),
        back_ns: one.back_ns.zip(other.back_ns).map(|(one, other)| one.max(other)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn the_outages_of_agents_are_one_from_the_first_lost_request_to_the_last_agent_that_is_answered() {
        let outages = AgentOutages::default();
        let away = std::cell::Cell::new(9);
        let report = |index, since_ms, back_ms: Option<u64>| {
            let since_ns = since_ms * MS;
            let outage = NodeOutage { before_ns: since_ns, since_ns, back_ns: back_ms.map(|ms| ms * MS) };
            let report = AgentReport { index, outages: vec![None, Some(outage)], ..AgentReport::default() };
            outages.take(&report, |node| (node == 1).then_some(4), |agent| agent == away.get());
            let outage = outages.merged.of(4).unwrap();
            (outage.since_ns / MS, outage.back_ns.map(|back_ns| back_ns / MS))
        };
        assert_eq!(report(0, 9000, Some(9300)), (9000, Some(9300)));
        assert_eq!(report(1, 8990, None), (8990, None), "an agent is still without replies");
        assert_eq!(report(1, 8990, Some(9500)), (8990, Some(9500)));
        assert_eq!(report(2, 9100, Some(9200)), (8990, Some(9500)));
        assert_eq!(report(1, 20_000, None), (20_000, None), "a later outage");
        away.set(1);
        assert_eq!(report(2, 90_000, Some(91_000)), (90_000, Some(91_000)), "agent 1 was lost in its outage");
        assert_eq!(outages.merged.of(1), None);
    }
}
