//! The two ends of the way between a session and one that listens to it.

use std::{
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    time::Duration,
};

use super::{Delivery, Notice, Order};
use crate::session::{
    Record,
    queue::{Feed, Queue, queue},
};

/// One that listens to a session and sends it orders: a screen, printed lines, an experiment. A peer that goes ends
/// nothing.
#[derive(Debug)]
pub struct Peer {
    id: usize,
    orders: Sender<(usize, Order)>,
    deliveries: Queue<Delivery>,
}

impl Peer {
    /// Wants something done. What cannot be comes back as [`Delivery::Refused`]; after the end of the session nothing is
    /// done any more.
    pub fn order(&self, order: Order) {
        let _ = self.orders.send((self.id, order));
    }

    /// What has come since the last call, in order. Never waits.
    pub fn poll(&self) -> Vec<Delivery> {
        std::iter::from_fn(|| self.deliveries.next()).collect()
    }

    /// The next that comes within `limit`; the error says whether more may come.
    ///
    /// # Errors
    /// [`RecvTimeoutError::Disconnected`] when the session is over and everything was taken.
    pub fn next_within(&self, limit: Duration) -> Result<Delivery, RecvTimeoutError> {
        self.deliveries.next_within(limit)
    }

    /// All that is still to come, until the session is over. Each waits for the next.
    pub fn rest(&self) -> impl Iterator<Item = Delivery> {
        self.deliveries.rest()
    }
}

/// The session's end: who listens, and what they want done.
pub(super) struct Peers {
    orders: Receiver<(usize, Order)>,
    /// By their ids. One that is gone leaves its place empty.
    listeners: Vec<Option<Feed<Delivery>>>,
}

impl Peers {
    /// So many peers, the session's end, and the way of the orders of whoever started it.
    pub(super) fn new(count: usize) -> (Vec<Peer>, Self, Sender<(usize, Order)>) {
        let (sender, orders) = channel();
        let (peers, listeners) = (0..count)
            .map(|id| {
                let (listener, deliveries) = queue();
                (Peer { id, orders: sender.clone(), deliveries }, Some(listener))
            })
            .unzip();
        (peers, Self { orders, listeners }, sender)
    }

    /// The next order within `limit`, and whose it is.
    pub(super) fn next_within(&self, limit: Duration) -> Option<(usize, Order)> {
        self.orders.recv_timeout(limit).ok()
    }

    /// Hands a record to everybody.
    pub(super) fn record(&mut self, record: &Arc<Record>) {
        for place in &mut self.listeners {
            place.take_if(|listener| !listener.record(record));
        }
    }

    /// Tells everybody something of a node.
    pub(super) fn tell(&mut self, node: u16, notice: Notice) {
        let delivery = Delivery::Notice(node, notice);
        for place in &mut self.listeners {
            place.take_if(|listener| !listener.send(delivery.clone()));
        }
    }

    /// Tells one peer that its order is not carried out.
    pub(super) fn refuse(&mut self, peer: usize, order: Order, why: String) {
        if let Some(Some(listener)) = self.listeners.get(peer) {
            // It is gone: nobody is left who would want to know.
            listener.send(Delivery::Refused(order, why));
        }
    }
}
