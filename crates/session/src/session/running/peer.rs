//! The channel between a session and a peer (such as the screen): orders go to the session, and records and notices go
//! to the peer.

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

/// A peer of a session, such as a screen, printed lines or an experiment. A peer receives records and sends orders. The
/// session continues when a peer is dropped.
pub struct Peer {
    id: usize,
    orders: Sender<(usize, Order)>,
    deliveries: Queue<Delivery>,
}

impl Peer {
    /// Sends an order to the session. A refused order comes back as [`Delivery::Refused`]. Orders after the end of the
    /// session are ignored.
    pub fn order(&self, order: Order) {
        let _ = self.orders.send((self.id, order));
    }

    /// Returns the deliveries since the last call, in order. Does not block.
    pub fn poll(&self) -> Vec<Delivery> {
        std::iter::from_fn(|| self.deliveries.next()).collect()
    }

    /// Waits at most `limit` for the next delivery, and returns this delivery.
    ///
    /// # Errors
    /// Returns [`RecvTimeoutError::Timeout`] if no delivery arrived in time. Returns [`RecvTimeoutError::Disconnected`]
    /// if the session is over and no delivery is left.
    pub fn next_within(&self, limit: Duration) -> Result<Delivery, RecvTimeoutError> {
        self.deliveries.next_within(limit)
    }

    /// Returns an iterator that waits for each delivery, and ends with the session.
    pub fn rest(&self) -> impl Iterator<Item = Delivery> {
        self.deliveries.rest()
    }
}

/// The session's side of the channels to all peers.
pub(super) struct Peers {
    orders: Receiver<(usize, Order)>,
    /// The senders to the peers, by id. The entry of a dropped peer is `None`.
    listeners: Vec<Option<Feed<Delivery>>>,
}

impl Peers {
    /// Creates `count` peers, the session's side of their channels, and a sender for orders of the session's
    /// owner. A peer gets the arguments of slow-log commands if `keep` returns true for the peer's id. The
    /// screen is peer 0.
    pub(super) fn new(
        count: usize,
        keep: impl Fn(usize) -> bool,
    ) -> (Vec<Peer>, Self, Sender<(usize, Order)>) {
        let (sender, orders) = channel();
        let (peers, listeners) = (0..count)
            .map(|id| {
                let (listener, deliveries) = queue();
                let listener = listener.keeping_arguments(keep(id));
                (Peer { id, orders: sender.clone(), deliveries }, Some(listener))
            })
            .unzip();
        (peers, Self { orders, listeners }, sender)
    }

    /// Waits at most `limit` for the next order, and returns the order with the id of the peer that sent it.
    pub(super) fn next_within(&self, limit: Duration) -> Option<(usize, Order)> {
        self.orders.recv_timeout(limit).ok()
    }

    /// Sends a record to all peers.
    pub(super) fn record(&mut self, record: &Arc<Record>) {
        for place in &mut self.listeners {
            place.take_if(|listener| !listener.record(record));
        }
    }

    /// Sends a notice about a node to all peers.
    pub(super) fn send(&mut self, node: u16, notice: Notice) {
        let delivery = Delivery::Notice(node, notice);
        for place in &mut self.listeners {
            place.take_if(|listener| !listener.send(delivery.clone()));
        }
    }

    /// Sends a refused order, with the reason, back to the peer that sent the order.
    pub(super) fn refuse(&mut self, peer: usize, order: Order, why: String) {
        if let Some(Some(listener)) = self.listeners.get(peer) {
            // A failure to send means that the peer is gone.
            listener.send(Delivery::Refused(order, why));
        }
    }
}
