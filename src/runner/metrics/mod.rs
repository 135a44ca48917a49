//! `--metrics ADDRESS`: serves the figures of a running session over HTTP.
//!
//! ```text
//! session ─► peer ─► thread "metrics": counts ─┐
//!                                              ├─ sums, under a lock
//!            scraper ─► thread "scrape": HTTP ─┘
//! ```
//! Responses are written from a copy of the sums, so a slow scraper delays neither the session nor other scrapers.

mod address;
mod serve;

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::Context as _;
use tokio::sync::oneshot;

pub use address::Address;

use super::{
    Failure, Listener,
    listener::{listen, record},
};
use crate::{
    export::Metrics,
    session::{Delivery, Order, Sink, running::Peer},
};

/// The sums of the metrics. One thread writes them, and the other reads them.
#[derive(Debug, Clone, Default)]
struct Shared(Arc<Mutex<Metrics>>);

impl Shared {
    fn with<T>(&self, act: impl FnOnce(&mut Metrics) -> T) -> T {
        // After a panic of the other thread, the sums are valid, and lack at most one record.
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Listener for Shared {
    fn take(&mut self, delivery: &Delivery) -> Vec<Order> {
        if let Some(record) = record(delivery) {
            self.with(|sums| drop(sums.push(record)));
        }
        Vec::new()
    }
}

/// A server of figures; dropping this stops it.
pub struct Serving {
    /// Dropping this sender stops the server.
    until: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
    sums: Shared,
}

impl Serving {
    /// Listens on `address` before the measurement begins, so that a taken address is reported early.
    ///
    /// # Errors
    /// When listening is impossible, or the system cannot start a thread.
    pub fn start(address: &Address) -> Result<Self, Failure> {
        let sums = Shared::default();
        let (until, stop) = oneshot::channel();
        let begin = || -> io::Result<_> {
            let listener = address.listen()?;
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let sums = sums.clone();
            let serve = move || runtime.block_on(serve::serve(listener, sums, stop));
            std::thread::Builder::new().name("scrape".to_owned()).spawn(serve)
        };
        let thread = begin().with_context(|| format!("cannot serve metrics at {address}"))?;
        Ok(Self { until: Some(until), thread: Some(thread), sums })
    }

    /// Adds the records that `peer` receives to the sums, until its session is over.
    ///
    /// # Errors
    /// When the system cannot start a thread.
    pub fn count(&self, peer: Peer) -> Result<(), Failure> {
        let mut sums = self.sums.clone();
        let count = move || listen(&peer, &mut [&mut sums]);
        let thread = std::thread::Builder::new().name("metrics".to_owned()).spawn(count);
        thread.context("cannot count metrics")?;
        Ok(())
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        drop(self.until.take());
        // A thread that panicked has reported the reason.
        let _ = self.thread.take().map(std::thread::JoinHandle::join);
    }
}
