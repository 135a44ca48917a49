//! Which stretch of time the distributions of the Latency screen are of, and from which place on its operations are listed.

use super::{Model, list::moved};

/// A stretch before the moment that is shown, never over a segment border.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stretch {
    /// The last second.
    Now,
    /// The last 60 s.
    Minute,
    /// All of the segment.
    #[default]
    Segment,
}

impl Stretch {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Now => "now, the last second",
            Self::Minute => "the last minute",
            Self::Segment => "the whole segment",
        }
    }

    /// The next one.
    pub fn turned(self) -> Self {
        match self {
            Self::Now => Self::Minute,
            Self::Minute => Self::Segment,
            Self::Segment => Self::Now,
        }
    }
}

impl Model {
    /// From which place on the operations are listed, as far as there are so many.
    pub fn first_operation(&self) -> usize {
        self.first_operation
    }

    /// Lists them from so many places further on, no further than to the last.
    pub(super) fn scroll_operations(&mut self, rows: i16) {
        let all = self.shown().segment().map_or(0, |segment| segment.total.commands.len());
        self.first_operation = moved(self.first_operation, rows, all);
    }
}
