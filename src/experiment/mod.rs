//! Experiments: they turn knobs by themselves. Records in, orders out.
//!
//! ```text
//!  session ──deliveries──► Experiment ──orders: knobs, CONFIG──► session
//!                              │ stand: does the setting that was asked for hold, and what came of it?
//!                              └► what was found, for lines and screens
//! ```
//! An experiment is a peer of the session like any other: whoever holds the peer hands it what is delivered, and sends the
//! orders that come back. It has no clock: time is that of the records. Pure.

mod ab;
mod setting;
mod stand;
#[cfg(test)]
mod tests;

pub use ab::{Ab, Pair, Part, Plan, Quantity, Side, Verdict};
pub use setting::{Setting, SettingError};
pub use stand::Interruption;

use crate::session::{Delivery, Order};

/// What turns knobs by itself.
pub trait Experiment {
    /// Takes what the session delivered; what it is to do now. Nothing any more when the experiment is over.
    fn take(&mut self, delivery: &Delivery) -> Vec<Order>;

    /// Ends it early; what sets everything back that it turned. Nothing when it is over already.
    fn stop(&mut self) -> Vec<Order>;

    /// Whether it is over, found something or not.
    fn is_over(&self) -> bool;
}
