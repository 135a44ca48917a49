//! A stretch of a recording that was read again, as fine as its records are.
//!
//! ```text
//!   session  [   16 s   ][   16 s   ][   16 s   ][   8 s   ] … [¼][¼][¼] now
//!   stretch        [¼][¼][¼][¼][¼][¼][¼][¼][¼]
//! ```
//! The history of a long session is coarse where it is old; its file is not. What a [`Window`](super::Window) or a
//! [`Reading`](super::Reading) needs is read from the stretch where that is finer, and the rest from the session. A
//! timeline has one of them at the most, and its length and its cells are bounded by the columns that it was asked for.

use std::sync::Arc;

use super::{Timeline, TimelineOptions};
use crate::{
    clock::{TICK_NS, seconds},
    session::Record,
};

/// What a stretch also takes in before and after itself: the figures of a poll stand for some seconds before it.
const BESIDE_S: f64 = 5.0;
/// So many cells a column has at the least, unless ticks are longer.
const CELLS_A_COLUMN: f64 = 4.0;

/// What is to be read again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reread {
    /// From when, in seconds of the session.
    pub from_s: f64,
    /// To when.
    pub to_s: f64,
    /// How long its cells may become, in seconds.
    pub cell_s: f64,
    /// Of how many nodes.
    pub nodes: usize,
}

impl Reread {
    /// The length of cells for columns of `step_s` seconds: of ticks, or of so many that a column has at least four.
    pub fn cell_s_for(step_s: f64) -> f64 {
        let tick_s = seconds(TICK_NS);
        tick_s * 2_f64.powi((step_s / CELLS_A_COLUMN / tick_s).max(1.0).log2() as i32)
    }

    /// Whether it has all from `from_s` to `to_s`.
    pub fn holds(&self, from_s: f64, to_s: f64) -> bool {
        self.from_s <= from_s && to_s <= self.to_s
    }

    /// What lies in its reach, with what stands beside it.
    pub(in crate::session) fn reach_s(&self) -> (f64, f64) {
        (self.from_s - BESIDE_S, self.to_s + BESIDE_S)
    }
}

/// What was read again.
#[derive(Debug, Clone)]
pub struct Excerpt {
    asked: Reread,
    /// By node.
    timelines: Vec<Timeline>,
}

impl Excerpt {
    /// One into which nothing has been read yet.
    pub fn new(asked: Reread) -> Self {
        let timeline = || Timeline::no_coarser(TimelineOptions::default(), asked.cell_s);
        Self { asked, timelines: std::iter::repeat_with(timeline).take(asked.nodes).collect() }
    }

    /// What was asked for.
    pub fn asked(&self) -> Reread {
        self.asked
    }

    /// Takes the next record of the recording, wherever it lies. Of what came before, the segments are needed.
    pub fn push(&mut self, record: &Record) {
        let (from_s, to_s) = self.asked.reach_s();
        let Some(t_s) = record.t_s().filter(|t_s| *t_s <= to_s) else { return };
        if t_s < from_s && !matches!(record, Record::Segment(_)) {
            return;
        }
        for (node, timeline) in (0..).zip(&mut self.timelines) {
            if record.is_of(node) {
                timeline.push(record);
            }
        }
    }
}

/// The part of a stretch that is of one node.
#[derive(Debug, Clone)]
pub(super) struct Refined {
    stretch: Arc<Excerpt>,
    node: usize,
}

impl Timeline {
    /// Has `stretch` for what it holds of this node, instead of the one before.
    pub fn refine(&mut self, stretch: &Arc<Excerpt>, node: usize) {
        self.refined = Some(Refined { stretch: Arc::clone(stretch), node });
    }

    /// How long the cells are that hold `t_s`, in seconds, without what was read again.
    pub fn cell_s(&self, t_s: f64) -> f64 {
        self.load.cell_s(t_s).max(self.ping_cells.cell_s(t_s)).max(self.server.cell_s(t_s))
    }

    /// Where the time between two moments is known best.
    pub(super) fn finest(&self, from_s: f64, to_s: f64) -> &Self {
        let (from_s, to_s) = (from_s.max(0.0), to_s.min(self.now_s));
        let is_better = |asked: Reread| asked.holds(from_s, to_s) && asked.cell_s < self.cell_s(from_s);
        let refined = self.refined.as_ref().filter(|refined| is_better(refined.stretch.asked));
        refined.and_then(|refined| refined.stretch.timelines.get(refined.node)).unwrap_or(self)
    }
}
