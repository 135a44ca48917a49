//! The moment of the session that the screen shows, and the length of the period around this moment.

/// The moment that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum View {
    /// The latest moment.
    #[default]
    Live,
    /// The view shows a moment of the past. The measurement continues.
    Frozen {
        /// The moment that figures and tables show, in seconds of the session.
        cursor_s: f64,
        /// The end of the axis, in seconds of the session.
        to_s: f64,
    },
}

/// The length of the period on the time axis. The length is at most that of the whole session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Zoom {
    /// The last minutes, in columns of two seconds. Such short columns soon show the effect of a knob. On a narrow
    /// screen, the columns are longer. The view therefore covers at least 75 s. A shorter session is shown as a whole.
    #[default]
    Lately,
    /// Columns of a common length, such as 1 s or 10 s. The number is the position of this length
    /// in the list.
    Step(usize),
    /// The whole session.
    Whole,
}

/// A period that ends at the moment shown. The period lies within one segment.
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
    /// Returns the name of the period.
    pub fn name(self) -> &'static str {
        match self {
            Self::Now => "now, the last second",
            Self::Minute => "the last minute",
            Self::Segment => "the whole segment",
        }
    }

    /// Returns the next period. After the last period, the first period follows.
    pub fn turned(self) -> Self {
        match self {
            Self::Now => Self::Minute,
            Self::Minute => Self::Segment,
            Self::Segment => Self::Now,
        }
    }
}
