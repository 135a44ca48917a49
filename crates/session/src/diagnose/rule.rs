//! The trait of all rules of findings: a rule reads records and returns findings.

use std::{collections::BTreeMap, fmt};

use super::{Finding, now::RecentState};
use crate::session::{Interval, Record, Segment, SessionStart};

/// The change of a rule's finding that a record causes.
pub(super) enum RuleVerdict {
    /// The finding does not change.
    Unchanged,
    /// There is no finding now.
    Clear,
    /// The rule has this finding now.
    Found(Finding),
}

impl From<Option<Finding>> for RuleVerdict {
    fn from(found: Option<Finding>) -> Self {
        found.map_or(Self::Clear, Self::Found)
    }
}

/// The measurements of a whole segment, or of another span of time.
pub(super) struct Measurements<'a> {
    /// The measured segment; `None` if the measurements are of another span of time.
    pub(super) segment: Option<&'a Segment>,
    /// The sum of the intervals.
    pub(super) total: &'a Interval,
    /// The first record of the session, if it is known.
    pub(super) session: Option<&'a SessionStart>,
    /// The total length of the server's stalls, in seconds; 0 if it is unknown.
    pub(super) stalled_s: f64,
    /// Whether the server was restarted during this time or shortly before.
    pub(super) is_restarted: bool,
    /// The median PING time of each node in this time, in nanoseconds; empty if it is unknown.
    pub(super) pings: &'a BTreeMap<u16, u64>,
}

/// Returns whether rules examine the whole segment. Warm-ups and prefills have no findings.
pub(super) fn is_judged(segment: &Segment) -> bool {
    segment.knobs.load && segment.aside().is_none()
}

/// A rule detects one kind of finding.
pub(super) trait Rule: CloneRule + fmt::Debug + Send + Sync {
    /// Returns the name of the rule.
    fn name(&self) -> &'static str;

    /// Returns the text that is reported when the finding ends; `None` if an event reports the end.
    fn over(&self) -> Option<&'static str> {
        Some("no longer")
    }

    /// Returns the finding after an interval of the current segment. `stands` is true if the rule already has a
    /// finding. A finding begins and ends at different thresholds, so a varying figure is reported only once.
    fn judge(&self, _: &RecentState, _stands: bool) -> RuleVerdict {
        RuleVerdict::Unchanged
    }

    /// Takes the next record of one target; `now` already includes this record. By default, a new segment begins
    /// without a finding. At the end of the session, a new instance of the rule takes the last record.
    fn push(&mut self, record: &Record, now: &RecentState, stands: bool) -> RuleVerdict {
        match record {
            Record::Segment(_) => RuleVerdict::Clear,
            Record::Interval(interval) if now.is_of(interval) => self.judge(now, stands),
            _ => RuleVerdict::Unchanged,
        }
    }

    /// Takes a record of another node of the session.
    fn push_other(&mut self, _: &Record) {}

    /// Returns the finding about all measurements together.
    fn whole(&self, _: &Measurements<'_>) -> Option<Finding> {
        None
    }
}

/// The shortest time in seconds between two checks that records of PINGs or of the host cause. Each record of the
/// server causes a check.
const LOOK_S: f64 = 1.0;

/// A rule about the present figures of server, host and pings.
#[derive(Debug, Clone)]
pub(super) struct ConditionRule {
    /// The name of the rule.
    pub(super) name: &'static str,
    /// Returns the current finding, if any. The second parameter is true if the rule already has a finding.
    pub(super) look: fn(&RecentState, bool) -> Option<Finding>,
    /// The time of the last check, in seconds of the session.
    looked_s: f64,
}

impl ConditionRule {
    pub(super) const fn new(name: &'static str, look: fn(&RecentState, bool) -> Option<Finding>) -> Self {
        Self { name, look, looked_s: 0.0 }
    }
}

impl Rule for ConditionRule {
    fn name(&self) -> &'static str {
        self.name
    }

    fn push(&mut self, record: &Record, now: &RecentState, stands: bool) -> RuleVerdict {
        match record {
            Record::Ping(_) | Record::Host(_) if now.t_s < self.looked_s + LOOK_S => RuleVerdict::Unchanged,
            Record::Server(_) | Record::Host(_) | Record::Ping(_) => {
                self.looked_s = now.t_s;
                (self.look)(now, stands).map(|finding| Finding { rule: self.name, ..finding }).into()
            }
            _ => RuleVerdict::Unchanged,
        }
    }
}

/// A trait that makes boxed rules cloneable.
pub(super) trait CloneRule {
    /// Returns a copy of the rule in its present state.
    fn boxed_clone(&self) -> Box<dyn Rule>;
}

impl<R: Rule + Clone + 'static> CloneRule for R {
    fn boxed_clone(&self) -> Box<dyn Rule> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Rule> {
    fn clone(&self) -> Self {
        (**self).boxed_clone()
    }
}
