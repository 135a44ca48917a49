//! Experiments: they turn knobs by themselves. Records in, orders out.
//!
//! ```text
//!  session ──deliveries──► Experiment ──orders: knobs, CONFIG──► session
//!                              │ in force: does the setting that was asked for hold, and what came of it?
//!                              └► what was found, for lines and screens
//! ```
//! An experiment is a peer of the session like any other: whoever holds the peer hands it what is delivered, and sends the
//! orders that come back. It has no clock: time is that of the records. Pure.
//! A [series] is none: it is what sessions that follow each other are made of, and the table of what came of them.

mod ab;
mod asked;
mod curve;
mod dimension;
mod drawn;
mod find;
mod in_force;
mod limit;
mod range;
mod script;
pub mod series;
mod setting;
#[cfg(test)]
mod simulated;
mod stretch;
mod sweep;
#[cfg(test)]
mod tests;
mod trial;
mod words;

pub use ab::{Ab, Pair, Plan, Side};
pub use asked::ExperimentSpec;
pub use curve::{Curve, Point};
pub use dimension::Dimension;
pub use drawn::{AfterPair, Bounds, Drawn, Pairs, Points};
pub use find::{Find, Tried};
pub use in_force::Interruption;
pub use limit::Limit;
pub use script::Script;
pub use setting::Setting;
pub use sweep::{Sweep, SweepPlan};
pub use words::WordsError;

use std::fmt;

use crate::session::{Delivery, Order};

/// What turns knobs by itself.
pub trait Experiment: fmt::Debug + Send + Sync {
    /// How it is called: `find p99<1ms`.
    fn title(&self) -> String;

    /// Takes what the session delivered; what it is to do now. Nothing any more when the experiment is over.
    fn take(&mut self, delivery: &Delivery) -> Vec<Order>;

    /// Ends it early; what sets everything back that it turned. Nothing when it is over already.
    fn stop(&mut self) -> Vec<Order>;

    /// Ends it early because of this; what sets back what it turned, but for the knobs if somebody else has turned them.
    /// Nothing when it is over already.
    fn interrupt(&mut self, why: Interruption) -> Vec<Order>;

    /// How it ended; `None` while it goes on.
    fn ending(&self) -> Option<&Ending>;

    /// What it does now and how far it is, in a line without its title.
    fn progress(&self) -> String;

    /// What it found so far, in lines.
    fn report(&self) -> String;

    /// The same in sentences alone, where there is no room for a table.
    fn words(&self) -> String {
        self.report()
    }

    /// What it has to be drawn by.
    fn drawn(&self) -> Drawn<'_> {
        Drawn::Segments
    }

    /// Its pairs, if it compares two sides.
    fn pairs(&self) -> Option<Pairs> {
        None
    }

    /// Another one that is as far as this.
    fn copied(&self) -> Box<dyn Experiment>;

    /// What came of it, in lines; nothing while it goes on.
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

    /// Why it has no answer, though it is over.
    fn stopped(&self) -> Option<String> {
        match self.ending()? {
            Ending::Interrupted(why) => Some(why.to_string()),
            Ending::Undecided(words) => Some(words.clone()),
            Ending::Done | Ending::NotHeld(_) => None,
        }
    }

    /// Whether it is over, found something or not.
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
    /// It did what it was to do.
    Done,
    /// It did, and what was asked for is not so: in words.
    NotHeld(String),
    /// It did, and what was asked is not clear: in words.
    Undecided(String),
    /// It could not go on.
    Interrupted(Interruption),
}

/// The moment of the session that a delivery describes.
fn t_s(delivery: &Delivery) -> Option<f64> {
    match delivery {
        Delivery::Record(record) => record.t_s(),
        _ => None,
    }
}
