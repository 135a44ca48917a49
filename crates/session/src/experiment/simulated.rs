//! A simulated session for tests of experiments. The simulation carries out orders at once, and its measurements depend
//! on the knobs.

use std::sync::Arc;

use super::Experiment;
use crate::{
    clock::{TICK_NS, seconds},
    knobs::Knobs,
    session::{Delivery, Interval, Order, Record, Segment},
};

/// The length of an interval, in seconds.
pub(super) const TICK_S: f64 = TICK_NS as f64 / 1e9;

/// A session without a server.
pub(super) struct SimulatedSession {
    /// The knobs in effect.
    pub(super) knobs: Knobs,
    segment: u32,
    tick: u64,
    /// Orders from the experiment that the simulation does not carry out.
    pub(super) sent: Vec<Order>,
}

impl SimulatedSession {
    /// Returns a session that begins with these knobs.
    pub(super) fn new(knobs: Knobs) -> Self {
        Self { knobs, segment: 0, tick: 0, sent: Vec::new() }
    }

    /// Returns the present time, in seconds of the session.
    pub(super) fn now_s(&self) -> f64 {
        seconds(self.tick * TICK_NS)
    }

    /// Runs until the experiment is over. `measured` returns the measurement of each quarter of a second.
    pub(super) fn drive(
        &mut self,
        experiment: &mut dyn Experiment,
        measured: impl FnMut(&Knobs, f64) -> Interval,
    ) {
        self.drive_until(experiment, measured, f64::INFINITY);
    }

    /// Runs until the experiment is over, or until `end_s`. `measured` returns the measurement of each quarter of a
    /// second.
    pub(super) fn drive_until(
        &mut self,
        experiment: &mut dyn Experiment,
        mut measured: impl FnMut(&Knobs, f64) -> Interval,
        end_s: f64,
    ) {
        let mut waiting = vec![self.begin_segment()];
        while !experiment.is_over() && self.now_s() < end_s {
            let orders: Vec<_> = waiting.drain(..).flat_map(|delivery| experiment.take(&delivery)).collect();
            for order in orders {
                match order {
                    Order::SetKnobs(knobs) if knobs == self.knobs => {}
                    Order::SetKnobs(knobs) => {
                        self.knobs = knobs;
                        waiting.push(self.begin_segment());
                    }
                    order => self.sent.push(order),
                }
            }
            let interval = measured(&self.knobs, self.now_s());
            self.tick += 1;
            let interval =
                Interval { t_s: self.now_s(), length_s: TICK_S, segment: self.segment, ..interval };
            waiting.push(Delivery::Record(Arc::new(Record::Interval(Box::new(interval)))));
        }
    }

    fn begin_segment(&mut self) -> Delivery {
        self.segment += 1;
        let (knobs, t_s) = (self.knobs.clone(), self.now_s());
        let record = Segment::new(t_s, self.segment, knobs);
        Delivery::Record(Arc::new(Record::Segment(record)))
    }
}
