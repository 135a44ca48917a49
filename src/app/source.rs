//! The source of records and the destination of orders: the only interface between the screen and a session.

use super::{Outgoing, Picture};
use crate::session::{Delivery, Order, running::Peer};

/// A session, live or replayed.
pub trait Source {
    /// Returns the events since the last call, in order. Does not block.
    fn poll(&mut self) -> Vec<Delivery>;

    /// Takes an order. If it is refused, the next poll returns it with the reason. Does not block.
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

/// A request from the screen to its surroundings.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// An order to the session.
    Order(Order),
    /// Give the terminal back and stop the process, as Ctrl-Z does.
    Suspend,
    /// Save a picture of the screen.
    Save(Picture),
    /// Write a file from the records; [`Msg::Written`](super::Msg::Written) reports the result.
    Write(Outgoing),
    /// Put a text on the terminal's clipboard.
    Copy {
        /// The name of the text, for messages.
        what: &'static str,
        /// The text.
        text: String,
    },
    /// Read this script; [`Msg::Script`](super::Msg::Script) contains the result.
    Read(String),
    /// Read this workload file; [`Msg::Workload`](super::Msg::Workload) contains the result.
    ReadWorkload(String),
    /// Draw in the theme with this name.
    Theme(&'static str),
    /// Quit.
    Quit,
}

impl From<Order> for Effect {
    fn from(order: Order) -> Self {
        Self::Order(order)
    }
}
