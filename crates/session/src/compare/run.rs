//! A run: the measurements of one setting in a recording.

use thiserror::Error;

use crate::session::{SessionStart, Timeline, figures::Row, timeline::SegmentTotal};

/// The measurements of one setting under load, from one recording.
#[derive(Debug, Clone)]
pub struct Run {
    /// The name of the run: the file, and the segment if one was named.
    pub name: String,
    /// The first record of the session; it names the server and the tool.
    pub session: SessionStart,
    /// The measurements.
    pub segment: SegmentTotal,
}

/// The reasons why a recording cannot be compared as a run.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum RunError {
    /// The recording has no load.
    #[error("{0} has no segment under load")]
    NoLoad(String),
    /// The recording has several settings, and no segment was named.
    #[error("{name} has {count} segments under load ({listed}); name one: {name}#{first}")]
    Several {
        /// The name of the recording.
        name: String,
        /// The number of settings.
        count: usize,
        /// The numbers and settings of the first of these segments, as text.
        listed: String,
        /// The number of the first segment.
        first: u32,
    },
    /// The named segment does not exist.
    #[error("{name} has no segment {segment} under load; it has {listed}")]
    NoSegment {
        /// The name of the recording.
        name: String,
        /// The requested segment.
        segment: u32,
        /// The existing segments, as text.
        listed: String,
    },
    /// The recording has no first record.
    #[error("{0} does not begin with a session")]
    NoSession(String),
}

/// The number of segments that an error lists.
const LISTED: usize = 4;

impl Run {
    /// Returns the run of a recording that was read completely; `segment` chooses one of several segments under load.
    ///
    /// # Errors
    /// When there is no run, or more than one and none is named.
    pub fn of(name: &str, timeline: &Timeline, segment: Option<u32>) -> Result<Self, RunError> {
        let is_measured =
            |of: &&SegmentTotal| of.start.knobs.load && of.start.aside().is_none() && of.total.ops > 0;
        let measured: Vec<_> = timeline.segments().iter().filter(is_measured).collect();
        let named = name.to_owned();
        let listed = || {
            let some =
                measured.iter().take(LISTED).map(|of| format!("{}: {}", of.start.segment, of.start.knobs));
            let more = measured
                .len()
                .checked_sub(LISTED)
                .filter(|more| *more > 0)
                .map(|more| format!("{more} more"));
            some.chain(more).collect::<Vec<_>>().join("; ")
        };
        let found = match (segment, &measured[..]) {
            (_, []) => return Err(RunError::NoLoad(named)),
            (None, [only]) => *only,
            (None, [first, ..]) => {
                let (count, first) = (measured.len(), first.start.segment);
                return Err(RunError::Several { name: named, count, listed: listed(), first });
            }
            (Some(number), all) => {
                let found = all.iter().find(|of| of.start.segment == number);
                found.ok_or_else(|| RunError::NoSegment { name: named, segment: number, listed: listed() })?
            }
        };
        let session = timeline.session().cloned().ok_or_else(|| RunError::NoSession(name.to_owned()))?;
        let name = segment.map_or_else(|| name.to_owned(), |segment| format!("{name}#{segment}"));
        Ok(Self { name, session, segment: found.clone() })
    }

    /// Returns the figures of the run.
    pub fn row(&self) -> Row<'_> {
        Row::of_segment(&self.segment, self.segment.start.t_s)
    }

    /// Returns whether the loop was open.
    pub fn is_open(&self) -> bool {
        self.segment.start.knobs.rate.is_some()
    }

    /// Returns the start of the run in a sortable form: RFC 3339 in UTC, then seconds of the session.
    pub(super) fn began(&self) -> (&str, f64) {
        (&self.session.started, self.segment.start.t_s)
    }
}
