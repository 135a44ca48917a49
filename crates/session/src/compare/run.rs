//! A run, which is one side of a comparison. A run has the measurements of one setting in a recording, or of a session
//! without load.

use crate::session::{SessionStart, Timeline, figures::Row, timeline::SegmentTotal};

/// The measurements of one setting under load, or without load, from one recording.
#[derive(Debug, Clone)]
pub struct Run {
    /// The name of the run: the file name, and the segment number if it was given.
    pub name: String,
    /// The first record of the session. This record names the server and the tool.
    pub session: SessionStart,
    /// The measurements.
    pub segment: SegmentTotal,
    /// The end of the measurements, in seconds of the session.
    pub until_s: f64,
}

/// The largest number of segments in an error message.
const LISTED: usize = 4;

impl Run {
    /// Returns the run of a recording that was read completely; `segment` chooses one of several segments under load.
    ///
    /// # Errors
    /// The error is a message. Fails if the recording has no run, if it has several runs and `segment` is `None`, or if
    /// `segment` does not exist.
    pub fn of(name: &str, timeline: &Timeline, segment: Option<u32>) -> Result<Self, String> {
        let mut measured: Vec<_> = timeline.segments.iter().filter(|of| of.is_measured()).collect();
        let kind = if measured.is_empty() { "without load" } else { "under load" };
        if measured.is_empty() {
            let is_watched = |of: &&SegmentTotal| !of.start.knobs.load && of.pings.count() > 0;
            measured.extend(timeline.segments.iter().filter(is_watched));
        }
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
            (_, []) => return Err(format!("{name} has no segment under load")),
            (None, [only]) => *only,
            (None, [first, ..]) => {
                let (count, listed, first) = (measured.len(), listed(), first.start.segment);
                return Err(format!(
                    "{name} has {count} segments {kind} ({listed}); name one: {name}#{first}"
                ));
            }
            (Some(number), all) => {
                let found = all.iter().find(|of| of.start.segment == number);
                found.ok_or_else(|| format!("{name} has no segment {number} {kind}; it has {}", listed()))?
            }
        };
        let session = timeline.session().cloned();
        let session = session
            .ok_or_else(|| format!("{name} is no recording of redyno: its first record is not 'session'"))?;
        let name = segment.map_or_else(|| name.to_owned(), |segment| format!("{name}#{segment}"));
        Ok(Self { name, session, segment: found.clone(), until_s: timeline.now_s })
    }

    /// Returns the figures of the run.
    pub fn row(&self) -> Row<'_> {
        Row::of_segment(&self.segment, self.until_s)
    }

    /// Returns whether the run comes from a session without load.
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
