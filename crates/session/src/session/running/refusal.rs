//! Decides whether a session must stop its load. There are three causes. The server refuses the load
//! permanently, because a password or a permission is missing. A worker thread died. An agent of a fleet
//! refuses its share.
//!
//! Other errors are counted, and the run continues. Without this module, a run without a single accepted request would
//! look like a measurement.

use std::collections::BTreeMap;

use crate::{
    events::EventKind,
    knobs::Knobs,
    session::{Event, Record},
};

/// The kinds of errors that end a load, with the advice for each.
const FATAL: [(&str, &str); 3] = [
    ("NOAUTH", "give the password with -a, or in the environment variable REDISCLI_AUTH"),
    ("WRONGPASS", "check -a or REDISCLI_AUTH, and --user"),
    ("NOPERM", "extend this user's ACL rules, or choose a workload with permitted commands"),
];

/// Finds the first refusal of each load in the records of a session.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    /// Whether the load continues after refusals (`--keep-going`).
    keeps_going: bool,
    /// The number of the current segment; `None` if the load of this segment was refused.
    segment: Option<u32>,
    /// Whether an agent refused this segment.
    is_refused_by_agent: bool,
    first: BTreeMap<String, String>,
    /// The events of the agents that are lost at present, by number.
    lost: BTreeMap<usize, String>,
}

impl Refusals {
    /// Returns a state without refusals.
    pub fn new(keeps_going: bool) -> Self {
        Self { keeps_going, ..Self::default() }
    }

    /// Adds the next record. Returns the reason if the load must stop. The reason is returned once for each segment.
    pub fn push(&mut self, record: &Record) -> Option<String> {
        match record {
            Record::Event(Event { what: what @ EventKind::AgentLost { agent, .. }, .. }) => {
                self.lost.insert(*agent, what.to_string());
            }
            Record::Event(Event { what: EventKind::AgentBack { agent, .. }, .. }) => {
                self.lost.remove(agent);
            }
            Record::Event(Event { what: EventKind::WorkerDied { cause }, .. }) => {
                return self.segment.take().map(|_| cause.clone());
            }
            Record::Event(Event { what: what @ EventKind::AgentRefused { agent: Some(_), .. }, .. }) => {
                // An agent also refuses a load that still waits for the agents, and is off until then.
                self.segment = None;
                return (!std::mem::replace(&mut self.is_refused_by_agent, true)).then(|| what.to_string());
            }
            Record::Segment(segment) => {
                let Knobs { load, .. } = segment.knobs;
                self.segment = load.then_some(segment.segment);
                self.is_refused_by_agent = false;
            }
            Record::Event(Event { what: EventKind::FirstError { error, message }, .. })
                if FATAL.iter().any(|(fatal, _)| fatal == error) =>
            {
                self.first.insert(error.clone(), message.clone());
            }
            Record::Interval(interval) if !self.keeps_going && self.segment == Some(interval.segment) => {
                let counts = [&interval.errors, &interval.connections_lost, &interval.connects_failed];
                let was_met = |kind: &str| counts.iter().any(|counts| counts.contains_key(kind));
                let (kind, advice) = FATAL.iter().find(|(kind, _)| was_met(kind))?;
                self.segment = None;
                let message = self.first.get(*kind).map_or(*kind, String::as_str);
                return Some(format!(
                    "the server refuses the load ('{message}'); {advice}; --keep-going counts such errors and continues"
                ));
            }
            _ => {}
        }
        None
    }

    /// Returns the reason why the results of a fleet are incomplete at the end; `None` if no agent is lost.
    pub fn incomplete(&self) -> Option<String> {
        let first = self.lost.values().next()?;
        let all =
            if self.lost.len() > 1 { format!("; lost agents: {}", self.lost.len()) } else { String::new() };
        Some(format!("{first}{all}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{Interval, Segment};

    fn segment(segment: u32, load: bool) -> Record {
        let knobs = Knobs { load, ..Knobs::default() };
        Record::Segment(Segment::new(0.0, segment, knobs))
    }

    fn interval(segment: u32, kind: &str) -> Record {
        let errors = [(kind.to_owned(), 3)].into();
        Record::Interval(Box::new(Interval { segment, errors, ..Interval::default() }))
    }

    #[test]
    fn a_refused_load_stops_once_with_the_servers_message_and_advice() {
        let mut refusals = Refusals::new(false);
        assert_eq!(refusals.push(&segment(1, true)), None);
        assert_eq!(refusals.push(&interval(1, "OOM")), None);
        let (error, message) = ("NOPERM".to_owned(), "NOPERM no SET for you".to_owned());
        let what = EventKind::FirstError { error, message };
        refusals.push(&Record::Event(Event::new(0.0, what)));
        assert_eq!(
            refusals.push(&interval(1, "NOPERM")).unwrap(),
            "the server refuses the load ('NOPERM no SET for you'); extend this user's ACL rules, or choose a workload with permitted commands; --keep-going counts such errors and continues"
        );
        assert_eq!(refusals.push(&interval(1, "NOPERM")), None, "said once");
        refusals.push(&segment(2, true));
        assert_eq!(refusals.push(&interval(1, "NOPERM")), None, "a late reply of the load before");
        assert!(refusals.push(&interval(2, "NOPERM")).is_some());
    }

    #[test]
    fn a_load_stops_with_the_first_of_its_workers_that_dies() {
        let died =
            |cause: &str| Record::Event(Event::new(0.0, EventKind::WorkerDied { cause: cause.to_owned() }));
        let mut refusals = Refusals::new(true);
        refusals.push(&segment(1, true));
        assert_eq!(refusals.push(&died("docs.csv: it has changed")).unwrap(), "docs.csv: it has changed");
        assert_eq!(refusals.push(&died("docs.csv: it has changed")), None, "said once");
    }

    /// Tests the exit code after a refusal. An earlier version ended with exit code 0.
    #[test]
    fn the_results_are_incomplete_while_an_agent_is_lost() {
        let mut refusals = Refusals::new(false);
        let mut incomplete = |what| {
            assert_eq!(refusals.push(&Record::Event(Event::new(0.0, what))), None);
            refusals.incomplete()
        };
        let host = || "load-b".to_owned();
        let first = "agent 1 on load-b does not report; its share of the load is missing";
        assert_eq!(incomplete(EventKind::AgentLost { agent: 1, host: host() }).as_deref(), Some(first));
        let both = format!("{first}; lost agents: 2");
        assert_eq!(incomplete(EventKind::AgentLost { agent: 2, host: host() }), Some(both));
        assert_eq!(incomplete(EventKind::AgentBack { agent: 2, host: host() }).as_deref(), Some(first));
        assert_eq!(incomplete(EventKind::AgentBack { agent: 1, host: host() }), None);
    }

    #[test]
    fn keep_going_continues_after_refusals() {
        let mut refusals = Refusals::new(true);
        refusals.push(&segment(1, true));
        assert_eq!(refusals.push(&interval(1, "NOAUTH")), None);
    }
}
