//! A load without a session around it: no ping probe, no control plane, and no commands to the server except the load's
//! own.

use std::{sync::mpsc::channel, time::Duration};

use super::{
    Record, Segment, Summary,
    target_records::{TargetInputs, TargetRecords},
};
use crate::{
    clock::Clock,
    knobs::Knobs,
    load::{Load, LoadError, Plan},
    probe::ServerPid,
};

/// A running load, whose records the caller fetches; dropping this value stops the load.
pub struct Alone {
    load: Load,
    knobs: Knobs,
    records: TargetRecords,
}

impl Alone {
    /// Starts the load.
    ///
    /// # Errors
    /// As [`Load::start`].
    pub fn start(
        plan: &Plan,
        knobs: Knobs,
        warmup: Option<Duration>,
        clock: Clock,
    ) -> Result<Self, LoadError> {
        let (load, output) = Load::start(plan, knobs.clone(), warmup, clock)?;
        let (ping, server) = (channel().1, channel().1);
        let pid = ServerPid::default();
        let inputs = TargetInputs { load: output, ping, server, pid, names_nodes: false };
        let records = TargetRecords::new(clock, inputs);
        let mut alone = Self { load, knobs, records };
        alone.begin_segment();
        Ok(alone)
    }

    fn begin_segment(&mut self) {
        let turned = self.load.turned();
        self.records.turn(Segment::begun(turned, self.knobs.clone(), None));
    }

    /// Returns the records since the last call. The call also ends a warm-up whose time has passed, or a complete
    /// prefill.
    pub fn take(&mut self) -> Vec<Record> {
        if self.load.is_warm() || self.load.is_filled() {
            self.load.set(&self.knobs);
            self.begin_segment();
        }
        self.records.take()
    }

    /// Returns whether the load is over: its time has passed, or all its requests were answered or lost.
    pub fn is_over(&self) -> bool {
        self.load.is_over()
    }

    /// Returns the summary so far, without the warm-up.
    pub fn summary(&self) -> &Summary {
        self.records.summary()
    }

    /// Ends the load, waits for the last replies, and returns the remaining records; the last of them is the end
    /// record.
    pub fn finish(mut self) -> Vec<Record> {
        self.load.end();
        let mut records = self.records.take();
        records.extend(self.records.end());
        records
    }
}
