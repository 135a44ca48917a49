//! Runs a load without the other parts of a session. There is no ping probe and no control plane, so the
//! server gets only the commands of the load.

use std::{collections::VecDeque, time::Duration};

use super::{Interval, Record, Segment, Summary, target_records::TargetRecords};
use crate::{
    clock::Clock,
    knobs::Knobs,
    load::{Load, LoadError, LoadPlan},
};

/// A running load without a session. The caller fetches the records of the load. Dropping this value stops the load.
pub struct StandaloneLoad {
    clock: Clock,
    load: Load,
    knobs: Knobs,
    /// Later load settings, each with the time when the settings take effect, in nanoseconds.
    later: VecDeque<(u64, Knobs)>,
    records: TargetRecords,
}

impl StandaloneLoad {
    /// Starts the load.
    ///
    /// # Errors
    /// Returns the errors of [`Load::start`].
    pub fn start(
        plan: &LoadPlan,
        knobs: Knobs,
        warmup: Option<Duration>,
        clock: Clock,
    ) -> Result<Self, LoadError> {
        let (load, output) = Load::start(plan, knobs.clone(), warmup, clock)?;
        let records = TargetRecords::of_load(clock, output, None);
        let mut alone = Self { clock, load, knobs, later: VecDeque::new(), records };
        alone.begin_segment();
        Ok(alone)
    }

    /// Schedules changes of the load settings. Each change takes effect at the given time after the start of the load.
    pub fn turn_later(&mut self, later: impl IntoIterator<Item = (Duration, Knobs)>) {
        let since_ns = self.load.last_change().since_ns;
        let at = |(after, knobs): (Duration, Knobs)| {
            (since_ns.saturating_add(u64::try_from(after.as_nanos()).unwrap_or(u64::MAX)), knobs)
        };
        self.later.extend(later.into_iter().map(at));
    }

    /// Also collects the results of each worker separately. Call this function before any results are taken.
    pub fn divide_by_worker(&mut self) {
        self.records.divide_by_worker();
    }

    /// Returns the new results of each worker with the worker's number, after a call of
    /// [`divide_by_worker`](Self::divide_by_worker).
    pub fn take_of_workers(&mut self) -> impl Iterator<Item = (usize, Interval)> {
        self.records.take_of_workers()
    }

    fn begin_segment(&mut self) {
        let turned = self.load.last_change();
        self.records.begin_segment(Segment::begun(turned, self.knobs.clone(), None));
    }

    /// Returns the records since the last call. The call also ends a warm-up when its time is over, ends a
    /// complete prefill, and applies load settings that are due.
    pub fn take(&mut self) -> Vec<Record> {
        let now_ns = self.clock.now_ns();
        let due = self.later.pop_front_if(|(at_ns, _)| *at_ns <= now_ns && !self.load.is_over());
        let is_due = due.is_some();
        due.into_iter().for_each(|(_, knobs)| self.knobs = knobs);
        if is_due || self.load.is_warm() || self.load.is_prefill_done() {
            self.load.set(&self.knobs);
            self.begin_segment();
        }
        self.records.take()
    }

    /// Returns whether the load is over. The load is over when its time has passed, or when all its requests were
    /// answered or lost.
    pub fn is_over(&self) -> bool {
        self.load.is_over()
    }

    /// Returns the summary so far, without the warm-up.
    pub fn summary(&self) -> &Summary {
        self.records.summary()
    }

    /// Ends the load, and waits for the last replies.
    pub fn end_load(&mut self) {
        self.load.end();
    }

    /// [Ends](Self::end_load) the load, and returns the remaining records. The last record is the end record.
    pub fn finish(mut self) -> Vec<Record> {
        self.end_load();
        let mut records = self.records.take();
        records.extend(self.records.end());
        records
    }
}
