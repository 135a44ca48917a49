//! The settings that the load engine passes to the receivers of messages, and the progress that the receivers
//! report.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed},
};

use arc_swap::ArcSwap;

use crate::workload::Messages;

/// The number of receivers, and the messages that they wait for.
#[derive(Debug, Default)]
pub(super) struct ReceiverOrder {
    /// The messages, or `None` if there are no receivers.
    pub(super) messages: Option<Arc<Messages>>,
    /// The number of receivers.
    pub(super) receivers: usize,
    /// The time when the order was given, in ns.
    pub(super) since_ns: u64,
}

/// The state that the thread of the receivers shares with the engine.
#[derive(Debug, Default)]
pub(super) struct ReceiverState {
    pub(super) order: ArcSwap<ReceiverOrder>,
    /// The number of receivers that are not ready yet, or `usize::MAX` until the thread has read the order.
    awaited: AtomicUsize,
    /// Whether the load is over, so that the receivers wait only for the last messages.
    pub(super) is_ending: AtomicBool,
    /// The time when the load ended, in ns.
    pub(super) over_ns: AtomicU64,
}

impl ReceiverState {
    /// Replaces the order.
    pub(super) fn set_order(&self, order: ReceiverOrder) {
        self.await_receivers(usize::MAX);
        self.order.store(Arc::new(order));
    }

    /// Notes that this many receivers are not ready yet.
    pub(super) fn await_receivers(&self, receivers: usize) {
        self.awaited.store(receivers, Relaxed);
    }

    /// Notes that one more receiver is ready, or cannot be connected.
    pub(super) fn ready(&self) {
        // A new order sets this count again.
        self.awaited.store(self.awaited.load(Relaxed).saturating_sub(1), Relaxed);
    }

    /// Returns whether all receivers are ready.
    pub(super) fn are_ready(&self) -> bool {
        self.awaited.load(Relaxed) == 0
    }
}
