//! The only interface between the screen and a session: the screen receives records and sends orders.

use super::{FileRequest, Picture};
use crate::session::{Delivery, Order, running::Peer};

/// A session, live or replayed.
pub trait Source {
    /// Returns the records and notices since the last call, in order. Does not block.
    fn poll(&mut self) -> Vec<Delivery>;

    /// Sends an order to the session. If the session refuses an order, a later poll returns the order with the
    /// reason. Does not block.
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

/// A request from the model to the session, the terminal or the file system.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// An order to the session.
    Order(Order),
    /// Restore the terminal and stop the process, as Ctrl-Z does.
    Suspend,
    /// Save a picture of the screen.
    Save(Picture),
    /// Write a file from the records. [`Msg::Written`](super::Msg::Written) reports the result.
    Write(FileRequest),
    /// Put a text on the terminal's clipboard.
    Copy {
        /// A name for the text, which the message shows.
        what: &'static str,
        /// The text.
        text: String,
    },
    /// Read this script. [`Msg::Script`](super::Msg::Script) contains the result.
    Read(String),
    /// Read this workload file. [`Msg::Workload`](super::Msg::Workload) contains the result.
    ReadWorkload(String),
    /// Switch to the theme with this name.
    Theme(&'static str),
    /// Quit.
    Quit,
}

impl From<Order> for Effect {
    fn from(order: Order) -> Self {
        Self::Order(order)
    }
}
