//! Where records come from and where orders go: the one seam between the screen and a session.

use super::{Outgoing, Picture};
use crate::session::{Delivery, Order, running::Peer};

/// A session, live or replayed.
pub trait Source {
    /// What has happened since the last call, in order. Never waits.
    fn poll(&mut self) -> Vec<Delivery>;

    /// Takes an order, or hands it back with the next poll and says why it is not carried out. Never waits.
    fn order(&mut self, order: Order);
}

impl Source for Peer {
    fn poll(&mut self) -> Vec<Delivery> {
        Peer::poll(self)
    }

    fn order(&mut self, order: Order) {
        Peer::order(self, order);
    }
}

/// What the screen wants done.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// By the session.
    Order(Order),
    /// Give the terminal back and stop the process, as Ctrl-Z does.
    Suspend,
    /// Save a picture of the screen.
    Save(Picture),
    /// Make a file of the records, for [`Msg::Written`](super::Msg::Written).
    Write(Outgoing),
    /// Put a text on the terminal's clipboard.
    Copy {
        /// What it is, in words.
        what: &'static str,
        /// The text.
        text: String,
    },
    /// Read this file, for [`Msg::Script`](super::Msg::Script).
    Read(String),
    /// Read the workload of this file, for [`Msg::Workload`](super::Msg::Workload).
    ReadWorkload(String),
    /// Draw in the theme of this name.
    Theme(&'static str),
    /// Leave.
    Quit,
}

impl From<Order> for Effect {
    fn from(order: Order) -> Self {
        Self::Order(order)
    }
}
