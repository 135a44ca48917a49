//! The one loop over what sessions deliver, and who listens in it.
//!
//! ```text
//! session A ─┐            ┌─► printed lines ─┐
//!            ├─► listen ──┼─► experiment ────┼─► orders ─► the sessions
//! session B ─┘            └─► thresholds ────┘
//! ```

use std::{sync::mpsc::RecvTimeoutError, time::Duration};

use super::Failure;
use crate::{
    print::Said,
    session::{Delivery, Order, Record, Timeline, running::Peer},
};

/// How long one session is waited for while another may have delivered something.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// How long the only one is: nothing is missed meanwhile.
const LOOK_AGAIN: Duration = Duration::from_secs(3600);

/// One that listens to the sessions of a plan.
pub trait Listener {
    /// Takes what session `from` delivered; what is to be done now, and by which session.
    fn take(&mut self, from: usize, delivery: &Delivery) -> Vec<(usize, Order)>;

    /// Says the last words: everything was delivered.
    ///
    /// # Errors
    /// When they cannot be said, or what was said before was not.
    fn finish(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// What came of it, for a script: all sessions have ended well.
    ///
    /// # Errors
    /// When that is not what was asked for.
    fn verdict(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

/// Everything that is measured is kept for the end.
impl Listener for Timeline {
    fn take(&mut self, _: usize, delivery: &Delivery) -> Vec<(usize, Order)> {
        if let Delivery::Record(record) = delivery {
            self.push(record);
        }
        Vec::new()
    }
}

/// What belongs to a person is told.
impl Listener for Said {
    fn take(&mut self, from: usize, delivery: &Delivery) -> Vec<(usize, Order)> {
        if let Delivery::Notice(notice) = delivery {
            self.tell(from, notice);
        }
        Vec::new()
    }
}

/// The record of a delivery, if it is one.
pub(super) fn record(delivery: &Delivery) -> Option<&Record> {
    match delivery {
        Delivery::Record(record) => Some(record),
        Delivery::Notice(_) | Delivery::Refused(..) | Delivery::Stretch(_) => None,
    }
}

/// Hands over what the sessions behind `peers` deliver, until all are over.
pub(super) fn listen(peers: &[&Peer], listeners: &mut [&mut dyn Listener]) {
    let limit = if peers.len() == 1 { LOOK_AGAIN } else { LOOK_EVERY };
    let mut going: Vec<usize> = (0..peers.len()).collect();
    while !going.is_empty() {
        going.retain(|&from| {
            let first = match peers[from].next_within(limit) {
                Ok(first) => first,
                Err(RecvTimeoutError::Timeout) => return true,
                Err(RecvTimeoutError::Disconnected) => return false,
            };
            for delivery in std::iter::once(first).chain(peers[from].poll()) {
                let orders = listeners.iter_mut().flat_map(|listener| listener.take(from, &delivery));
                orders.for_each(|(to, order)| peers[to].order(order));
            }
            true
        });
    }
}
