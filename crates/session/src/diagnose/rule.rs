//! The trait of rules: records in, findings out.

use std::fmt;

use super::{Finding, now::Now};
use crate::session::{Interval, Record, Segment, running::Change};

/// How a record changes the finding of a rule.
#[derive(Debug)]
pub(super) enum Verdict {
    /// No change.
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

/// The measurements of a whole stretch.
pub(super) struct Whole<'a> {
    /// The segment, if it is one.
    pub(super) segment: Option<&'a Segment>,
    /// The sum of its intervals.
    pub(super) total: &'a Interval,
    /// Cores of the machine that redyno runs on.
    pub(super) cores: usize,
}

/// Whether a segment is judged as a whole: warm-ups and prefills are not.
pub(super) fn is_judged(segment: &Segment) -> bool {
    segment.knobs.load && segment.aside().is_none()
}

/// A rule, which finds one kind of finding.
pub(super) trait Rule: Copied + fmt::Debug + Send + Sync {
    /// Its name.
    fn name(&self) -> &'static str;

    /// The text when the finding has ended.
    fn over(&self) -> &'static str {
        "no longer"
    }

    /// The present finding, after an interval of the current segment. `stands` is whether there was a finding before: between the
    /// threshold where it begins and the one where it ends it stays, so that a varying figure is reported once.
    fn judge(&self, _: &Now, _stands: bool) -> Verdict {
        Verdict::AsBefore
    }

    /// Takes the next record of one target, which `now` has already taken. A new segment begins without a finding, unless a rule
    /// overrides this.
    fn push(&mut self, record: &Record, now: &Now, stands: bool) -> Verdict {
        match record {
            Record::Segment(_) | Record::End(_) => Verdict::Clear,
            Record::Interval(interval) if now.is_of(interval) => self.judge(now, stands),
            _ => Verdict::AsBefore,
        }
    }

    /// The finding about a whole stretch under load.
    fn whole(&self, _: &Whole<'_>) -> Option<Finding> {
        None
    }

    /// The finding about a setting before it begins.
    fn before(&self, _: &Change<'_>) -> Option<Finding> {
        None
    }
}

/// Lets boxed rules be cloned.
pub(super) trait Copied {
    /// A copy in the same state.
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
