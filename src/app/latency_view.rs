//! Which stretch of time the distributions of the Latency screen are of.

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
