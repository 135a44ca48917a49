//! Finding: agents of the fleet do not report, so their share of the load is missing.

use std::collections::BTreeMap;

use super::{
    Finding, Severity,
    now::RecentState,
    rule::{Rule, RuleVerdict},
};
use crate::{events::EventKind, session::Record, units};

/// The largest number of agents that the finding names.
const MOST_NAMED: usize = 5;

/// The agents that take part, and the lost agents among them.
#[derive(Debug, Clone, Default)]
pub(super) struct LostAgents {
    /// The machine of each agent, and whether the agent is lost.
    agents: BTreeMap<usize, (String, bool)>,
}

impl Rule for LostAgents {
    fn name(&self) -> &'static str {
        "lost agents"
    }

    fn over(&self) -> Option<&'static str> {
        Some("all agents report")
    }

    fn push(&mut self, record: &Record, _: &RecentState, _stands: bool) -> RuleVerdict {
        let Record::Event(event) = record else {
            if matches!(record, Record::End(_)) {
                *self = Self::default();
                return RuleVerdict::Clear;
            }
            return RuleVerdict::Unchanged;
        };
        let (agent, host, is_lost) = match &event.what {
            EventKind::AgentJoined { agent, host, .. } | EventKind::AgentBack { agent, host } => {
                (agent, host, false)
            }
            EventKind::AgentLost { agent, host } => (agent, host, true),
            _ => return RuleVerdict::Unchanged,
        };
        self.agents.insert(*agent, (host.clone(), is_lost));
        self.finding().into()
    }
}

impl LostAgents {
    fn finding(&self) -> Option<Finding> {
        let lost: Vec<_> = self.agents.iter().filter(|(_, (_, is_lost))| *is_lost).collect();
        let (first, _) = lost.first()?;
        let all = self.agents.len();
        let mut names: Vec<_> = lost.iter().map(|(agent, (host, _))| format!("{agent} on {host}")).collect();
        names.truncate(MOST_NAMED);
        names.extend(lost.len().checked_sub(MOST_NAMED).filter(|n| *n > 0).map(|n| format!("{n} more")));
        let share = units::percent(lost.len() as f64 / all as f64);
        let short = format!("{} of {all} agents lost", lost.len());
        let long = format!("{short}, so about {share} of the load is missing");
        let next = format!(
            "look at their machines; redyno agent --index {first} with the same bus and session takes the share again"
        );
        let finding = Finding::new(self.name(), short, long).with([Some(names.join(", "))], &next);
        Some(Finding { severity: Severity::Problem, is_ours: true, ..finding })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{diagnose::Findings, session::Event};

    #[test]
    fn lost_agents_are_named_with_their_share_until_they_report_again() {
        let mut findings = Findings::default();
        let host = || "load".to_owned();
        let joined = |agent| EventKind::AgentJoined { agent, host: host(), error_us: 1.0 };
        let mut push = |t_s, what| findings.push(&Record::Event(Event::new(t_s, what)));
        for agent in 0..8 {
            assert!(push(1.0, joined(agent)).is_empty());
        }
        let line = "lost agents: 1 of 8 agents lost, so about 12 % of the load is missing: 3 on load; look at their machines; \
                    redyno agent --index 3 with the same bus and session takes the share again";
        assert_eq!(push(5.0, EventKind::AgentLost { agent: 3, host: host() }), [line]);
        assert!(push(6.0, EventKind::AgentLost { agent: 0, host: host() }).is_empty());
        assert!(push(7.0, EventKind::AgentBack { agent: 3, host: host() }).is_empty());
        let back = push(8.0, EventKind::AgentBack { agent: 0, host: host() });
        assert_eq!(back, ["lost agents: all agents report"]);
        let episode = findings.episodes.iter().next().unwrap();
        assert_eq!((episode.since_s, episode.until_s), (5.0, 7.0));
    }
}
