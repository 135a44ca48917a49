//! The door through which the benches reach a stage that is private to the engine. Nothing else uses it.

use super::{pacing::Pace, schedule::Share};
use crate::knobs::{Arrivals, Knobs};

/// The pacing of one worker in open loop, request after request.
#[derive(Debug)]
pub struct PaceStage {
    pace: Pace,
    now_ns: u64,
}

impl PaceStage {
    /// So many requests a second.
    pub fn new(per_second: u32, arrivals: Arrivals) -> Self {
        let knobs = Knobs { load: true, rate: Some(per_second), arrivals, ..Knobs::default() };
        let mut pace = Pace::new();
        pace.follow(&knobs, Some(Share { index: 0, of: 1 }), 0, 1);
        pace.begin(0);
        Self { pace, now_ns: 0 }
    }

    /// What a worker asks for each request: whether it is due, and since when. The time is the due time itself, so
    /// none is early and none is late.
    #[inline]
    pub fn next_due_ns(&mut self) -> Option<u64> {
        self.now_ns = self.pace.due_ns()?;
        if self.pace.is_due(self.now_ns) { self.pace.take() } else { None }
    }
}
