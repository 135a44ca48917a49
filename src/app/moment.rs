//! The moment of a session that is shown, and the length of the stretch of time around it.

/// The moment that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum View {
    /// The latest moment.
    #[default]
    Live,
    /// The view shows a moment of the past. The measurement continues.
    Frozen {
        /// The moment of figures and tables, in seconds of the session.
        cursor_s: f64,
        /// The end of the axis, in seconds of the session.
        to_s: f64,
    },
}

/// The length of the stretch that the axis shows; at most the whole session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Zoom {
    /// The last minutes, in columns of two seconds, or longer ones if the view would be too short. In these
    /// columns, the effect of a knob is soon visible. A shorter session is shown as a whole.
    #[default]
    Lately,
    /// Columns of a common length.
    Step(usize),
    /// The whole session.
    Whole,
}

/// A stretch that ends at the moment shown and lies within one segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Lookback {
    /// The last second.
    Now,
    /// The last 60 s.
    Minute,
    /// The whole segment.
    #[default]
    Segment,
}

impl Lookback {
    /// Returns the name of the stretch.
    pub fn name(self) -> &'static str {
        match self {
            Self::Now => "now, the last second",
            Self::Minute => "the last minute",
            Self::Segment => "the whole segment",
        }
    }

    /// Returns the next stretch; the first follows the last.
    pub fn turned(self) -> Self {
        match self {
            Self::Now => Self::Minute,
            Self::Minute => Self::Segment,
            Self::Segment => Self::Now,
        }
    }
}
