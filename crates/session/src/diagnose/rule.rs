//! The trait of rules: records in, findings out.

use std::fmt;

use super::{Finding, now::Now};
use crate::session::{Interval, Record, Segment, running::Change};

/// The change of a rule's finding by a record.
#[derive(Debug)]
pub(super) enum Verdict {
    /// The finding does not change.
    AsBefore,
    /// There is no finding now.
    Clear,
    /// This is the finding now.
    Found(Finding),
}

impl From<Option<Finding>> for Verdict {
    fn from(found: Option<Finding>) -> Self {
        found.map_or(Self::Clear, Self::Found)
    }
}

/// The measurements of a segment, or of another time, as a whole.
pub(super) struct Whole<'a> {
    /// The segment, if the measurements are of one.
    pub(super) segment: Option<&'a Segment>,
    /// The sum of the intervals.
    pub(super) total: &'a Interval,
    /// The number of cores of the machine that redyno runs on.
    pub(super) cores: usize,
}

/// Returns whether a segment is judged as a whole: warm-ups and prefills are not.
pub(super) fn is_judged(segment: &Segment) -> bool {
    segment.knobs.load && segment.aside().is_none()
}

/// A rule, which detects one kind of finding.
pub(super) trait Rule: Copied + fmt::Debug + Send + Sync {
    /// Returns the name of the rule.
    fn name(&self) -> &'static str;

    /// Returns the text for the end of a finding.
    fn over(&self) -> &'static str {
        "no longer"
    }

    /// Returns the finding after an interval of the current segment. `stands` is whether there was a finding before: it
    /// continues between the threshold for its beginning and the one for its end, so that a varying figure is reported
    /// once.
    fn judge(&self, _: &Now, _stands: bool) -> Verdict {
        Verdict::AsBefore
    }

    /// Takes the next record of one target, which `now` has already taken. A new segment begins without a finding,
    /// unless a rule overrides this.
    fn push(&mut self, record: &Record, now: &Now, stands: bool) -> Verdict {
        match record {
            Record::Segment(_) | Record::End(_) => Verdict::Clear,
            Record::Interval(interval) if now.is_of(interval) => self.judge(now, stands),
            _ => Verdict::AsBefore,
        }
    }

    /// Returns the finding about the whole time under load.
    fn whole(&self, _: &Whole<'_>) -> Option<Finding> {
        None
    }

    /// Returns the finding about a setting before it begins.
    fn before(&self, _: &Change<'_>) -> Option<Finding> {
        None
    }
}

/// A trait that makes boxed rules cloneable.
pub(super) trait Copied {
    /// Returns a copy in the same state.
    fn copied(&self) -> Box<dyn Rule>;
}

impl<R: Rule + Clone + 'static> Copied for R {
    fn copied(&self) -> Box<dyn Rule> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Rule> {
    fn clone(&self) -> Self {
        (**self).copied()
    }
}
