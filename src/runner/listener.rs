//! The one loop over what a session delivers, and who listens in it.
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

/// One that listens to a session.
pub trait Listener {
    /// Takes what it delivered; what it is to do now.
    fn take(&mut self, delivery: &Delivery) -> Vec<Order>;

    /// Says the last words: everything was delivered.
    ///
    /// # Errors
    /// When they cannot be said, or what was said before was not.
    fn finish(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// What came of it, for a script: the session has ended well.
    ///
    /// # Errors
    /// When that is not what was asked for.
    fn verdict(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

/// Everything that is measured is kept for the end.
impl Listener for Timeline {
    fn take(&mut self, delivery: &Delivery) -> Vec<Order> {
        if let Delivery::Record(record) = delivery {
            self.push(record);
        }
        Vec::new()
    }
}

/// What belongs to a person is told.
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

/// Hands over what the session behind `peer` delivers, until it is over.
pub(super) fn listen(peer: &Peer, listeners: &mut [&mut dyn Listener]) {
    for delivery in peer.rest() {
        let orders = listeners.iter_mut().flat_map(|listener| listener.take(&delivery));
        orders.for_each(|order| peer.order(order));
    }
}
