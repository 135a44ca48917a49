//! Experiments change the load's settings (knobs) automatically. Experiments read the session's records and return
//! orders.
//!
//! ```text
//!  session ──deliveries──► Experiment ──orders: knobs, CONFIG──► session
//!                              │ in force: is the requested setting in force, and what are the results?
//!                              └► the result, for lines and screens
//! ```
//! An experiment gets records from the session and sends orders to the session, like the screen. Other code passes
//! these records and orders on. An experiment has no clock, and uses the times in the records. Experiments do no I/O. A
//! [series] is not an experiment, but a list of sessions with one table of results.

mod ab;
mod chart_data;
mod conclusions;
mod curve;
mod dimension;
mod find;
mod limit;
mod measurement;
mod script;
pub mod series;
mod setting;
mod setting_tracker;
#[cfg(test)]
mod simulated;
mod spec;
mod sweep;
#[cfg(test)]
mod tests;
mod trial;

pub use ab::{Ab, AbPlan, Pair, Side};
pub use chart_data::{AfterPair, ChartData, Pairs, Points, SearchBounds};
pub use curve::{Curve, CurveLine, CurvePoint};
pub use dimension::Dimension;
pub use find::{Find, TrialResult};
pub use limit::Limit;
pub use script::Script;
pub use setting::{ExperimentSetting, WordsError};
pub use setting_tracker::Interruption;
pub use spec::ExperimentSpec;
pub use sweep::{Sweep, SweepPlan};

use std::fmt;

use crate::session::{Delivery, Order};

/// An experiment changes knobs (load settings) automatically.
pub trait Experiment: fmt::Debug + Send + Sync {
    /// Returns the title of the experiment: `find p99<1ms`.
    fn title(&self) -> String;

    /// Takes a delivery of the session and returns orders. After its end, the experiment returns no orders.
    fn take(&mut self, delivery: &Delivery) -> Vec<Order> {
        if self.is_over() { Vec::new() } else { self.go_on(delivery) }
    }

    /// Takes a delivery of the session while the experiment runs, and returns orders.
    fn go_on(&mut self, delivery: &Delivery) -> Vec<Order>;

    /// Ends the experiment early. Returns the orders that restore all settings, or no orders if the experiment is
    /// already over.
    fn stop(&mut self) -> Vec<Order>;

    /// Ends the experiment early for this reason. Returns the orders that restore all settings, except knobs that the
    /// user or another client of the session has changed. Returns no orders if the experiment is already over.
    fn interrupt(&mut self, why: Interruption) -> Vec<Order>;

    /// Returns how the experiment ended; `None` while it runs.
    fn ending(&self) -> Option<&Ending>;

    /// Returns the present step of the experiment in one line, without the title.
    fn progress(&self) -> String;

    /// Returns the results so far, in lines.
    fn report(&self) -> String;

    /// Returns the results in sentences only, for places without room for a table.
    fn words(&self) -> String {
        self.report()
    }

    /// Returns the data for a chart.
    fn drawn(&self) -> ChartData<'_> {
        ChartData::Segments
    }

    /// Returns the pairs, if the experiment compares two sides.
    fn pairs(&self) -> Option<Pairs> {
        None
    }

    /// Returns a copy of the experiment in its present state.
    fn copied(&self) -> Box<dyn Experiment>;

    /// Returns the final result, in lines; empty while the experiment runs.
    fn answer(&self) -> String {
        match self.ending() {
            None => String::new(),
            Some(Ending::Interrupted(why)) => format!("ended early: {why}\n{}", self.words()),
            Some(Ending::NotHeld(words) | Ending::Undecided(words)) if !self.words().contains(&**words) => {
                format!("{words}\n{}", self.words())
            }
            Some(_) => self.words(),
        }
    }

    /// Returns why the experiment ended without a result. Returns `None` while the experiment runs, and if it has a
    /// result.
    fn stopped(&self) -> Option<String> {
        match self.ending()? {
            Ending::Interrupted(why) => Some(why.to_string()),
            Ending::Undecided(words) => Some(words.clone()),
            Ending::Done | Ending::NotHeld(_) => None,
        }
    }

    /// Returns whether the experiment is over, with or without a result.
    fn is_over(&self) -> bool {
        self.ending().is_some()
    }
}

impl Clone for Box<dyn Experiment> {
    fn clone(&self) -> Self {
        (**self).copied()
    }
}

/// How an experiment ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// The experiment finished with a result.
    Done,
    /// The experiment finished without the required result. The text is the reason.
    NotHeld(String),
    /// The experiment finished without a clear result. The text is the reason.
    Undecided(String),
    /// The experiment could not continue.
    Interrupted(Interruption),
}

/// Returns the time of a delivery, in seconds since the session began.
fn t_s(delivery: &Delivery) -> Option<f64> {
    match delivery {
        Delivery::Record(record) => record.t_s(),
        _ => None,
    }
}
