//! A run, as one side of a comparison: the measurements of one setting in a recording, or of a session
//! without load.

use thiserror::Error;

use crate::session::{SessionStart, Timeline, figures::Row, timeline::SegmentTotal};

/// The measurements of one setting under load, or without load, from one recording.
#[derive(Debug, Clone)]
pub struct Run {
    /// The name of the run: the file name, and the segment number if it was given.
    pub name: String,
    /// The first record of the session; it names the server and the tool.
    pub session: SessionStart,
    /// The measurements.
    pub segment: SegmentTotal,
    /// The end of the measurements, in seconds of the session.
    pub until_s: f64,
}

/// The reasons why a recording cannot be compared as a run.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum RunError {
    /// The recording has no load.
    #[error("{0} has no segment under load")]
    NoLoad(String),
    /// The recording has several settings, and no segment was named.
    #[error("{name} has {count} segments {kind} ({listed}); name one: {name}#{first}")]
    Several {
        /// The name of the recording.
        name: String,
        /// The number of segments.
        count: usize,
        /// Whether the segments are `under load` or `without load`.
        kind: &'static str,
        /// The numbers and settings of the first few of these segments, as text.
        listed: String,
        /// The number of the first segment.
        first: u32,
    },
    /// The named segment does not exist.
    #[error("{name} has no segment {segment} {kind}; it has {listed}")]
    NoSegment {
        /// The name of the recording.
        name: String,
        /// The requested segment.
        segment: u32,
        /// Whether the segments are `under load` or `without load`.
        kind: &'static str,
        /// The existing segments, as text.
        listed: String,
    },
    /// The recording has no first record.
    #[error("{0} is no recording of redyno: its first record is not 'session'")]
    NoSession(String),
}

/// The largest number of segments in an error message.
const LISTED: usize = 4;

impl Run {
    /// Returns the run of a recording that was read completely; `segment` chooses one of several segments under load.
    ///
    /// # Errors
    /// Fails if the recording has no run, if it has several runs and `segment` is `None`, or if `segment` does not
    /// exist.
    pub fn of(name: &str, timeline: &Timeline, segment: Option<u32>) -> Result<Self, RunError> {
        let mut measured: Vec<_> = timeline.segments.iter().filter(|of| of.is_measured()).collect();
        let kind = if measured.is_empty() { "without load" } else { "under load" };
        if measured.is_empty() {
            let is_watched = |of: &&SegmentTotal| !of.start.knobs.load && of.pings.count() > 0;
            measured.extend(timeline.segments.iter().filter(is_watched));
        }
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
                return Err(RunError::Several { name: named, count, kind, listed: listed(), first });
            }
            (Some(number), all) => {
                let found = all.iter().find(|of| of.start.segment == number);
                found.ok_or_else(|| RunError::NoSegment {
                    name: named,
                    segment: number,
                    kind,
                    listed: listed(),
                })?
            }
        };
        let session = timeline.session().cloned().ok_or_else(|| RunError::NoSession(name.to_owned()))?;
        let name = segment.map_or_else(|| name.to_owned(), |segment| format!("{name}#{segment}"));
        Ok(Self { name, session, segment: found.clone(), until_s: timeline.now_s })
    }

    /// Returns the figures of the run.
    pub fn row(&self) -> Row<'_> {
        Row::of_segment(&self.segment, self.until_s)
    }

    /// Returns whether the run is of a session without load.
    pub fn is_monitor(&self) -> bool {
        !self.segment.start.knobs.load
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
