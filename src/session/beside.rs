//! Records of a session that has several targets: which target a record tells of.
//!
//! The first target's records stand as they are, those of another are wrapped with its number. So who knows of one target
//! only reads a session of two as one of the first, and never adds up what does not belong together.

use serde::{Deserialize, Serialize};

use super::Record;

/// What another target than the first told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Beside {
    /// Which, from 1.
    pub target: u16,
    /// What it told.
    pub record: Record,
}

impl Record {
    /// This record as one of target number `target`, from 0.
    pub fn told_by(self, target: u16) -> Self {
        if target == 0 { self } else { Self::Beside(Box::new(Beside { target, record: self })) }
    }

    /// The number of the target that it tells of, or 0 of all, and what it tells.
    pub fn told(&self) -> (u16, &Self) {
        match self {
            Self::Beside(beside) => (beside.target, &beside.record),
            own => (0, own),
        }
    }

    /// What this record tells of target number `target`, from 0, or of all; `None` when it is another's.
    pub fn of(&self, target: u16) -> Option<&Self> {
        match self {
            Self::Beside(beside) => (beside.target == target).then_some(&beside.record),
            Self::Session(_) | Self::Wake(_) | Self::Intrinsic(_) | Self::Mark(_) => Some(self),
            Self::Segment(_)
            | Self::Interval(_)
            | Self::Ping(_)
            | Self::Server(_)
            | Self::Event(_)
            | Self::End(_) => (target == 0).then_some(self),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{Interval, Mark};

    #[test]
    fn each_target_has_its_own_records_and_all_have_those_of_the_session() {
        let interval = |ops| Record::Interval(Box::new(Interval { ops, ..Interval::default() }));
        let mark = Record::Mark(Mark { t_s: 1.0, text: "now".to_owned() });
        let records = [interval(1), interval(2).told_by(1), mark.clone(), interval(3).told_by(0)];
        let of = |target| records.iter().filter_map(|record| record.of(target)).cloned().collect::<Vec<_>>();
        assert_eq!(of(0), [interval(1), mark.clone(), interval(3)]);
        assert_eq!(of(1), [interval(2), mark.clone()]);
        assert_eq!(of(2), [mark]);
    }

    #[test]
    fn the_number_of_the_target_stands_in_its_line() {
        let mark = Record::Mark(Mark { t_s: 1.0, text: "now".to_owned() }).told_by(1);
        let line = serde_json::to_string(&mark).unwrap();
        assert_eq!(line, r#"{"kind":"beside","target":1,"record":{"kind":"mark","t_s":1.0,"text":"now"}}"#);
        assert_eq!(serde_json::from_str::<Record>(&line).unwrap(), mark);
    }
}
