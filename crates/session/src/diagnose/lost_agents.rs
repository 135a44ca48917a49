//! Finding: some agents do not report, so their share of the load is missing. Agents are the machines that generate the
//! load together.

use std::collections::BTreeMap;

use super::{
    Finding, Severity,
    now::RecentState,
    rule::{Rule, RuleVerdict},
};
use crate::{
    events::EventKind,
    knobs::Knobs,
    session::{Interval, Record},
    units,
};

/// The largest number of agents that the finding names.
const MOST_NAMED: usize = 5;

/// The agents that take part, and the lost agents among them.
#[derive(Debug, Clone, Default)]
pub(super) struct LostAgents {
    agents: BTreeMap<usize, Agent>,
    /// The settings of all agents together; `None` before the first segment.
    knobs: Option<Knobs>,
}

/// The part of the load that an agent carries out.
#[derive(Debug, Clone, Default)]
struct Agent {
    /// The name of the agent's machine.
    host: String,
    is_lost: bool,
    /// The agent's clients in its last report about the present segment.
    clients: Option<u32>,
    /// The replies that the agent received in the present segment. For a lost agent, the count ends with the loss.
    ops: u64,
    /// The replies that all agents together received in the period of `ops`.
    ops_of_all: u64,
}

impl Rule for LostAgents {
    fn name(&self) -> &'static str {
        "lost agents"
    }

    fn over(&self) -> Option<&'static str> {
        Some("all agents report")
    }

    fn push(&mut self, record: &Record, _: &RecentState, _stands: bool) -> RuleVerdict {
        match record {
            Record::Segment(segment) => {
                self.knobs = Some(segment.knobs.clone());
                let present = self.agents.values_mut().filter(|agent| !agent.is_lost);
                present.for_each(|agent| (agent.clients, agent.ops, agent.ops_of_all) = (None, 0, 0));
                return RuleVerdict::Unchanged;
            }
            Record::Interval(interval) => {
                self.count(interval);
                return RuleVerdict::Unchanged;
            }
            _ => {}
        }
        let Record::Event(event) = record else { return RuleVerdict::Unchanged };
        let (agent, host, is_lost) = match &event.what {
            EventKind::AgentJoined { agent, host, .. } | EventKind::AgentBack { agent, host } => {
                (agent, host, false)
            }
            EventKind::AgentLost { agent, host } => (agent, host, true),
            _ => return RuleVerdict::Unchanged,
        };
        let known = self.agents.entry(*agent).or_default();
        (known.host, known.is_lost) = (host.clone(), is_lost);
        self.finding().into()
    }
}

impl LostAgents {
    /// Adds the results of the agents.
    fn count(&mut self, interval: &Interval) {
        for (number, agent) in self.agents.iter_mut().filter(|(_, agent)| !agent.is_lost) {
            let number = *number as u16; // at most 1000 agents
            agent.ops += interval.agents.get(&number).map_or(0, |part| part.ops);
            agent.ops_of_all += interval.ops;
            agent.clients = interval.agent_states.get(&number).map(|state| state.clients).or(agent.clients);
        }
    }

    fn finding(&self) -> Option<Finding> {
        let lost: Vec<_> = self.agents.iter().filter(|(_, agent)| agent.is_lost).collect();
        let (first, _) = lost.first()?;
        let all = self.agents.len();
        let mut names: Vec<_> =
            lost.iter().map(|(number, agent)| format!("agent {number} on {}", agent.host)).collect();
        names.truncate(MOST_NAMED);
        names.extend(lost.len().checked_sub(MOST_NAMED).filter(|n| *n > 0).map(|n| format!("{n} more")));
        let short = format!("{} of {all} agents lost", lost.len());
        let share = units::percent(lost.len() as f64 / all as f64);
        let about = || format!("about {share} of its requests");
        let long = format!("{short}, so the load lacks {}", self.shortfall(&lost).unwrap_or_else(about));
        let next = format!(
            "check the agents' machines, or run `redyno agent --index {first}` with the same bus and session"
        );
        let finding = Finding::new(self.name(), short, long).with([Some(names.join(", "))], &next);
        Some(Finding { severity: Severity::Problem, is_ours: true, ..finding })
    }

    /// Returns the clients and the rate of the lost agents, and their share of the replies before they were lost.
    /// Returns `None` if a lost agent has never reported its clients.
    fn shortfall(&self, lost: &[(&usize, &Agent)]) -> Option<String> {
        let knobs = self.knobs.as_ref()?;
        let clients = lost.iter().map(|(_, agent)| agent.clients).sum::<Option<u32>>()?;
        let mut parts = vec![format!("{clients} of {} clients", knobs.clients)];
        // All agents have the same number of workers, and each worker has the same rate.
        let rate = |rate: u32| f64::from(rate) * lost.len() as f64 / self.agents.len() as f64;
        parts.extend(
            knobs.rate.map(|all| format!("{} of {}/s", units::count(rate(all)), units::count(all.into()))),
        );
        let replies: f64 = lost.iter().map(|(_, it)| it.ops as f64 / it.ops_of_all.max(1) as f64).sum();
        parts.push(format!("{} of the replies", units::percent(replies)));
        Some(parts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        diagnose::Findings,
        session::{AgentState, Event, OperationInterval, Segment},
    };

    #[test]
    fn lost_agents_are_named_with_their_share_until_they_report_again() {
        let mut findings = Findings::default();
        let host = || "load".to_owned();
        let joined = |agent| EventKind::AgentJoined { agent, host: host(), error_us: 1.0 };
        let mut push = |t_s, what| findings.push(&Record::Event(Event::new(t_s, what)));
        for agent in 0..8 {
            assert!(push(1.0, joined(agent)).is_empty());
        }
        let line = "lost agents: 1 of 8 agents lost, so the load lacks about 12 % of its requests: agent 3 on load; check the agents' machines, or run `redyno agent --index 3` with the same bus and session";
        assert_eq!(push(5.0, EventKind::AgentLost { agent: 3, host: host() }), [line]);
        assert!(push(6.0, EventKind::AgentLost { agent: 0, host: host() }).is_empty());
        assert!(push(7.0, EventKind::AgentBack { agent: 3, host: host() }).is_empty());
        let back = push(8.0, EventKind::AgentBack { agent: 0, host: host() });
        assert_eq!(back, ["lost agents: all agents report"]);
        let episode = findings.episodes.iter().next().unwrap();
        assert_eq!((episode.since_s, episode.until_s), (5.0, 7.0));
    }
    #[test]
    fn the_shortfall_is_the_part_of_the_load_that_the_lost_agents_had() {
        let mut findings = Findings::default();
        let host = || "load".to_owned();
        let joined = |agent| EventKind::AgentJoined { agent, host: host(), error_us: 1.0 };
        (0..3).for_each(|agent| drop(findings.push(&Record::Event(Event::new(1.0, joined(agent))))));
        let knobs = Knobs { load: true, clients: 50, rate: Some(3000), ..Knobs::default() };
        findings.push(&Record::Segment(Segment::new(1.0, 1, knobs)));
        for n in 2..5 {
            let part = |ops| OperationInterval { ops, ..OperationInterval::default() };
            let state = |clients| AgentState { clients, error_us: 1.0, ..AgentState::default() };
            let interval = Interval {
                t_s: f64::from(n),
                length_s: 1.0,
                segment: 1,
                ops: 3000,
                agents: [(0, part(1000)), (1, part(1020)), (2, part(980))].into(),
                agent_states: [(0, state(17)), (1, state(17)), (2, state(16))].into(),
                ..Interval::default()
            };
            findings.push(&Record::Interval(Box::new(interval)));
        }
        let mut lose = |agent| {
            findings.push(&Record::Event(Event::new(6.0, EventKind::AgentLost { agent, host: host() })));
            let now = findings.now();
            now.into_iter().find(|found| found.rule == "lost agents").unwrap().long
        };
        let lacks = |all: &str, parts: &str| {
            format!("{all} of 3 agents lost, so the load lacks {parts} of the replies")
        };
        assert_eq!(lose(1), lacks("1", "17 of 50 clients, 1.00 k of 3.00 k/s, 34 %"));
        assert_eq!(lose(2), lacks("2", "33 of 50 clients, 2.00 k of 3.00 k/s, 67 %"));
    }
}
