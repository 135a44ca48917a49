//! Which moment of a session is shown, and how long a stretch of time around or before it.

/// Which moment is shown.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum View {
    /// The latest.
    #[default]
    Live,
    /// A moment of the past. The measurement goes on.
    Frozen {
        /// The moment that figures and tables show, in seconds of the session.
        cursor_s: f64,
        /// Where the axis ends.
        to_s: f64,
    },
}

/// How long a stretch the axis shows; never more than the session is long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Zoom {
    /// The last minutes, so that what a knob does is seen soon: columns of two seconds, or so many that it is more than
    /// a minute. A younger session is shown as a whole.
    #[default]
    Lately,
    /// Columns of one of the usual lengths.
    Step(usize),
    /// The whole session.
    Whole,
}

/// A stretch before the moment that is shown, never over a segment border.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Lookback {
    /// The last second.
    Now,
    /// The last 60 s.
    Minute,
    /// All of the segment.
    #[default]
    Segment,
}

impl Lookback {
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
