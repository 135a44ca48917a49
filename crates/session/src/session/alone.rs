//! A load with its records, and nothing else: no ping, no control plane, no other commands to the server.

use std::{sync::mpsc::channel, time::Duration};

use super::{
    Record, Segment, Summary,
    target_records::{TargetInputs, TargetRecords},
};
use crate::{
    clock::Clock,
    knobs::Knobs,
    load::{Load, LoadError, Plan},
};

/// A running load, whose records are taken by calls. It stops when it is dropped.
pub struct Alone {
    load: Load,
    knobs: Knobs,
    records: TargetRecords,
}

impl Alone {
    /// Starts it.
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
        let records = TargetRecords::new(clock, TargetInputs { load: output, ping, server });
        let mut alone = Self { load, knobs, records };
        alone.begin_segment();
        Ok(alone)
    }

    fn begin_segment(&mut self) {
        let turned = self.load.turned();
        self.records.turn(Segment::begun(turned, self.knobs.clone(), None));
    }

    /// Its records since the last call. This also ends a warm-up whose time is over, and a prefill that is complete.
    pub fn take(&mut self) -> Vec<Record> {
        if self.load.is_warm() || self.load.is_filled() {
            self.load.set(&self.knobs);
            self.begin_segment();
        }
        self.records.take()
    }

    /// Whether the time is over, or all requests are answered or lost.
    pub fn is_over(&self) -> bool {
        self.load.is_over()
    }

    /// The sum so far, without the warm-up.
    pub fn summary(&self) -> &Summary {
        self.records.summary()
    }

    /// Ends it, and waits for the last replies; returns the remaining records, with the sum as the last one.
    pub fn finish(mut self) -> Vec<Record> {
        self.load.end();
        let mut records = self.records.take();
        records.extend(self.records.end());
        records
    }
}
