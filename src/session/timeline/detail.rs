//! A stretch of a recording at the file's own resolution: its history is as fine as it was recorded, and all else is the
//! session's.
//!
//! ```text
//!   session  [    8 s    ][    8 s    ][ 4 s ][ 4 s ][2 s][2 s][1][1][½][½][¼¼¼¼]
//!   detail               [¼¼¼¼¼¼¼¼¼¼¼¼¼¼¼¼]       read again, 500 s at the most as fine as that
//! ```

use super::{History, Lane, Measure, Timeline, TimelineOptions};
use crate::{
    clock::{TICK_NS, seconds},
    session::Record,
};

/// So many ticks of a detail are kept as fine as they came, 500 s: those of a wide screen with a minute before it.
const KEPT: usize = 2000;

/// A stretch of a session that was read again.
#[derive(Debug, Clone)]
pub struct Detail {
    /// Since when it holds what was recorded, in seconds of the session.
    pub from_s: f64,
    /// Until when.
    pub to_s: f64,
    timeline: Timeline,
}

impl PartialEq for Detail {
    fn eq(&self, other: &Self) -> bool {
        (self.from_s, self.to_s) == (other.from_s, other.to_s)
    }
}

impl Detail {
    /// A stretch of which nothing has been read yet.
    pub fn new(from_s: f64, to_s: f64) -> Self {
        let mut timeline = Timeline::new(TimelineOptions::default());
        timeline.load = History::new(seconds(TICK_NS), KEPT);
        timeline.lanes = Measure::ALL.map(|_| Lane::new(KEPT));
        timeline.server = History::new(seconds(TICK_NS), KEPT);
        timeline.ping_cells = History::new(seconds(TICK_NS), KEPT);
        timeline.error_cells = History::new(seconds(TICK_NS), KEPT);
        Self { from_s, to_s, timeline }
    }

    /// Takes the next record of the stretch, or a segment that began before it.
    pub fn push(&mut self, record: &Record) {
        self.timeline.push(record);
    }

    /// Whether it holds all from `from_s` to `to_s`.
    pub fn covers(&self, from_s: f64, to_s: f64) -> bool {
        self.from_s <= from_s && to_s <= self.to_s
    }

    /// `session` with the history of this stretch.
    pub fn of(&self, session: &Timeline) -> Timeline {
        let fine = self.timeline.clone();
        Timeline {
            session: session.session.clone(),
            now_s: session.now_s,
            outages: session.outages.clone(),
            ping_timing: session.ping_timing,
            ping_tcp: session.ping_tcp,
            intrinsic_run: session.intrinsic_run.clone(),
            status: session.status.clone(),
            segments: session.segments.clone(),
            pings: session.pings.clone(),
            errors: session.errors.clone(),
            last_reply_s: session.last_reply_s,
            last_pong_s: session.last_pong_s,
            events: session.events.clone(),
            marks: session.marks.clone(),
            forgotten: session.forgotten,
            end: session.end.clone(),
            ..fine
        }
    }
}

impl Timeline {
    /// How long the cells of its history are about `t_s`, in seconds.
    pub fn resolution_s(&self, t_s: f64) -> f64 {
        self.load.resolution_s(t_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Interval;

    /// Ticks from `first` on, each with its own number of replies.
    fn ticks(first: u32, n: u32) -> impl Iterator<Item = Record> {
        (first..first + n).map(|tick| {
            let (t_s, ops) = (f64::from(tick) * 0.25, u64::from(tick));
            Record::Interval(Box::new(Interval {
                t_s,
                length_s: 0.25,
                segment: 1,
                ops,
                ..Interval::default()
            }))
        })
    }

    #[test]
    fn a_detail_has_the_ticks_of_its_stretch_and_the_rest_of_the_session() {
        let mut session = Timeline::default();
        ticks(1, 14_400).for_each(|record| session.push(&record));
        assert!(session.resolution_s(1000.0) > 1.0 && session.resolution_s(3599.0) == 0.25);
        let mut detail = Detail::new(900.0, 1100.0);
        ticks(3601, 800).for_each(|record| detail.push(&record));
        let fine = detail.of(&session);
        let replies = |timeline: &Timeline| -> Vec<u64> {
            let cells = timeline.window(1000.0, 1002.0, 8).load();
            cells.iter().map(|cell| cell.as_ref().map_or(0, |cell| cell.ops)).collect()
        };
        assert_eq!(replies(&fine), (4001..=4008).collect::<Vec<_>>());
        assert_ne!(replies(&session), replies(&fine));
        assert_eq!((fine.now_s(), fine.resolution_s(1000.0)), (3600.0, 0.25));
        assert!(detail.covers(950.0, 1100.0) && !detail.covers(950.0, 1101.0));
    }
}
