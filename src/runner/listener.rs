//! The one loop over a session's deliveries, and its listeners.
//!
//! ```text
//!                      ┌─► printed lines ─┐
//! session ──► listen ──┼─► experiment ────┼─► orders ─► the session
//!                      └─► thresholds ────┘
//! ```

use super::Failure;
use crate::{
    print::Said,
    session::{Delivery, Order, Record, Timeline, running::Peer},
};

/// A listener to a session.
pub trait Listener {
    /// Handles a delivery; returns the orders for the session.
    fn take(&mut self, delivery: &Delivery) -> Vec<Order>;

    /// Finishes the output, after everything was delivered.
    ///
    /// # Errors
    /// When output fails, or failed before.
    fn finish(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// The result for a script, after the session has ended well.
    ///
    /// # Errors
    /// When it is not as required.
    fn verdict(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

/// A listener that keeps everything measured until the end.
impl Listener for Timeline {
    fn take(&mut self, delivery: &Delivery) -> Vec<Order> {
        if let Delivery::Record(record) = delivery {
            self.push(record);
        }
        Vec::new()
    }
}

/// Notices for a person are printed.
impl Listener for Said {
    fn take(&mut self, delivery: &Delivery) -> Vec<Order> {
        if let Delivery::Notice(node, notice) = delivery {
            self.print(*node, notice);
        }
        Vec::new()
    }
}

/// The record of a delivery, if it is one.
pub(super) fn record(delivery: &Delivery) -> Option<&Record> {
    match delivery {
        Delivery::Record(record) => Some(record),
        Delivery::Notice(..) | Delivery::Refused(..) | Delivery::Stretch(_) => None,
    }
}

/// Passes on what the session behind `peer` delivers, until it is over.
pub(super) fn listen(peer: &Peer, listeners: &mut [&mut dyn Listener]) {
    for delivery in peer.rest() {
        let orders = listeners.iter_mut().flat_map(|listener| listener.take(&delivery));
        orders.for_each(|order| peer.order(order));
    }
}
