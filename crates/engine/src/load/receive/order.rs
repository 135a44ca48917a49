//! What the receivers are to wait for, and how far they are.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed},
};

use arc_swap::ArcSwap;

use crate::workload::Messages;

/// What the receivers are to wait for.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// The messages; `None` if there are no receivers.
    pub(super) messages: Option<Arc<Messages>>,
    /// How many receivers there are.
    pub(super) receivers: usize,
    /// When the order was given.
    pub(super) since_ns: u64,
}

/// What the thread of the receivers shares with the engine.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) order: ArcSwap<Order>,
    /// How many receivers are not ready yet; `usize::MAX` until the order is read.
    awaited: AtomicUsize,
    /// Whether the load is over and only the last messages are awaited, and since when.
    pub(super) is_ending: AtomicBool,
    pub(super) over_ns: AtomicU64,
}

impl State {
    /// Gives another order.
    pub(super) fn give(&self, order: Order) {
        self.await_receivers(usize::MAX);
        self.order.store(Arc::new(order));
    }

    /// Notes that so many receivers are not ready yet.
    pub(super) fn await_receivers(&self, receivers: usize) {
        self.awaited.store(receivers, Relaxed);
    }

    /// Notes that one more receiver is ready, or cannot be connected.
    pub(super) fn ready(&self) {
        // Another order counts from the beginning.
        self.awaited.store(self.awaited.load(Relaxed).saturating_sub(1), Relaxed);
    }

    /// Returns whether all receivers are ready.
    pub(super) fn are_ready(&self) -> bool {
        self.awaited.load(Relaxed) == 0
    }
}
