//! A part of a recording that was read again, so that charts show this part with the full detail of the records.
//!
//! ```text
//!   session  [   16 s   ][   16 s   ][   16 s   ][   8 s   ] … [¼][¼][¼] now
//!   stretch        [¼][¼][¼][¼][¼][¼][¼][¼][¼]
//! ```
//! The older history of a long session is coarse, but its recording has every detail. A [`Window`](super::Window) or a
//! [`Reading`](super::Reading) uses the part that was read again if this part has more detail. Otherwise, windows and
//! readings use the session's history. A timeline has at most one part that was read again. This part is only as long
//! and as detailed as the chart needs.

use std::sync::Arc;

use super::{Timeline, TimelineOptions};
use crate::{
    clock::{TICK_NS, seconds},
    session::Record,
};

/// The number of additional seconds to read before and after the part. The figures of a poll cover some seconds before
/// the poll. The records around the part are therefore needed too.
const BESIDE_S: f64 = 5.0;
/// The smallest number of time slots in a chart column. Short columns may have fewer time slots, because a
/// time slot is at least a tick (a quarter second) long.
const CELLS_A_COLUMN: f64 = 4.0;

/// A request to read a part of a recording again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reread {
    /// The start of the part, in seconds of the session.
    pub from_s: f64,
    /// The end of the part, in seconds of the session.
    pub to_s: f64,
    /// The largest length of a time slot, in seconds.
    pub cell_s: f64,
    /// The number of nodes.
    pub nodes: usize,
}

impl Reread {
    /// Returns the length of time slots for chart columns of `step_s` seconds. The length is a power of two in ticks
    /// (quarter seconds), at least 1. The result is the largest length at which each column has at least four time
    /// slots.
    pub fn cell_s_for(step_s: f64) -> f64 {
        let tick_s = seconds(TICK_NS);
        tick_s * 2_f64.powi((step_s / CELLS_A_COLUMN / tick_s).max(1.0).log2() as i32)
    }

    /// Returns whether the part includes the whole time from `from_s` to `to_s`.
    pub fn holds(&self, from_s: f64, to_s: f64) -> bool {
        self.from_s <= from_s && to_s <= self.to_s
    }

    /// Returns the start and the end of the time to read, in seconds, including the additional seconds before and
    /// after.
    pub(in crate::session) fn reach_s(&self) -> (f64, f64) {
        (self.from_s - BESIDE_S, self.to_s + BESIDE_S)
    }
}

/// A part of a recording that was read again.
#[derive(Debug, Clone)]
pub struct Excerpt {
    /// The request for this part.
    pub request: Reread,
    /// The timeline of each node, for this part.
    timelines: Vec<Timeline>,
}

impl Excerpt {
    /// Returns a part for this request, without records.
    pub fn new(asked: Reread) -> Self {
        let timeline = || Timeline::no_coarser(TimelineOptions::default(), asked.cell_s);
        Self { request: asked, timelines: std::iter::repeat_with(timeline).take(asked.nodes).collect() }
    }

    /// Adds the next record of the recording. The records before the part must be added too, because the first segment
    /// in the part may begin before the part.
    pub fn push(&mut self, record: &Record) {
        let (from_s, to_s) = self.request.reach_s();
        let Some(t_s) = record.t_s().filter(|t_s| *t_s <= to_s) else { return };
        if t_s < from_s && !matches!(record, Record::Segment(_)) {
            return;
        }
        let part = self.timelines[0].load_of_nodes(record);
        for (node, timeline) in (0..).zip(&mut self.timelines) {
            match (record, &part) {
                (record, _) if record.is_of(node) => timeline.push(record),
                (Record::Segment(segment), _) if segment.node == 0 => timeline.follow_segment(segment),
                (_, Some((interval, segments))) => timeline.push_part(node, interval, segments),
                _ => {}
            }
        }
    }
}

/// The timeline of one node for a part that was read again.
#[derive(Debug, Clone)]
pub(super) struct Refined {
    stretch: Arc<Excerpt>,
    node: usize,
}

impl Timeline {
    /// Sets the part of the recording that was read again. `node` is the number of this timeline's node. The previous
    /// part is dropped.
    pub fn refine(&mut self, stretch: &Arc<Excerpt>, node: usize) {
        self.refined = Some(Refined { stretch: Arc::clone(stretch), node });
    }

    /// Returns the length of the time slot at `t_s` in the session's own history, in seconds.
    pub fn cell_s(&self, t_s: f64) -> f64 {
        self.load.cell_s(t_s).max(self.ping_cells.cell_s(t_s)).max(self.server.cell_s(t_s))
    }

    /// Returns the most detailed timeline that includes the whole time between two moments.
    pub(super) fn finest(&self, from_s: f64, to_s: f64) -> &Self {
        let (from_s, to_s) = (from_s.max(0.0), to_s.min(self.now_s));
        let is_better = |asked: Reread| asked.holds(from_s, to_s) && asked.cell_s < self.cell_s(from_s);
        let refined = self.refined.as_ref().filter(|refined| is_better(refined.stretch.request));
        refined.and_then(|refined| refined.stretch.timelines.get(refined.node)).unwrap_or(self)
    }
}
