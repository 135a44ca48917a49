//! What a rule is: records go in, and what it finds comes out.

use std::fmt;

use super::{Finding, now::Now};
use crate::session::{Interval, Record, Segment, running::Change};

/// What a record changes in what a rule says.
#[derive(Debug)]
pub(super) enum Verdict {
    /// Nothing: what stood stands.
    AsBefore,
    /// There is nothing to be found now.
    Clear,
    /// This is so now.
    Found(Finding),
}

impl From<Option<Finding>> for Verdict {
    fn from(found: Option<Finding>) -> Self {
        found.map_or(Self::Clear, Self::Found)
    }
}

/// What was measured in one stretch as a whole.
pub(super) struct Whole<'a> {
    /// The segment that it is, where it is one.
    pub(super) segment: Option<&'a Segment>,
    /// All its intervals in one.
    pub(super) total: &'a Interval,
    /// Cores of the machine that redyno runs on.
    pub(super) cores: usize,
}

/// Whether a segment is judged as a whole: warm-ups and prefills are not.
pub(super) fn is_judged(segment: &Segment) -> bool {
    segment.knobs.load && segment.aside().is_none()
}

/// One kind of finding.
pub(super) trait Rule: Copied + fmt::Debug + Send + Sync {
    /// What it is called.
    fn name(&self) -> &'static str;

    /// What is said where it has ceased to be so.
    fn over(&self) -> &'static str {
        "no longer"
    }

    /// What it finds now, after an interval of the present segment. `stands` is whether it was found last: between the
    /// threshold where it begins and the one where it ends it stays as it was, so a wavering figure is reported once.
    fn judge(&self, _: &Now, _stands: bool) -> Verdict {
        Verdict::AsBefore
    }

    /// Takes the next record of one target, which `now` has taken. A new segment begins without a finding, unless a rule says
    /// otherwise.
    fn push(&mut self, record: &Record, now: &Now, stands: bool) -> Verdict {
        match record {
            Record::Segment(_) | Record::End(_) => Verdict::Clear,
            Record::Interval(interval) if now.is_of(interval) => self.judge(now, stands),
            _ => Verdict::AsBefore,
        }
    }

    /// What it finds of a stretch under load as a whole.
    fn whole(&self, _: &Whole<'_>) -> Option<Finding> {
        None
    }

    /// What it finds of a setting that is about to begin.
    fn before(&self, _: &Change<'_>) -> Option<Finding> {
        None
    }
}

/// What can be copied behind a pointer.
pub(super) trait Copied {
    /// Another one that has seen as much.
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
