//! `--metrics ADDRESS`: the figures of a session that runs, for whoever scrapes them over HTTP.
//!
//! ```text
//! session ─► peer ─► thread "metrics": counts ─┐
//!                                              ├─ sums, under a lock
//!            scraper ─► thread "scrape": HTTP ─┘
//! ```
//! What is asked for is written from a copy of the sums: a slow scraper holds up nobody.

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

/// The sums, which one thread adds to and the other reads.
#[derive(Debug, Clone, Default)]
struct Shared(Arc<Mutex<Metrics>>);

impl Shared {
    fn with<T>(&self, act: impl FnOnce(&mut Metrics) -> T) -> T {
        // What another thread leaves when it panics is whole but for one record.
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

/// Figures that are served until this is dropped.
pub struct Serving {
    /// Its end ends the server.
    until: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
    sums: Shared,
}

impl Serving {
    /// Listens at `address`, before anything is measured: one that is taken fails early.
    ///
    /// # Errors
    /// When nobody can listen there, or the system gives no thread.
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

    /// Counts what `peer` is told, until its session is over.
    ///
    /// # Errors
    /// When the system gives no thread.
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
        // One that panicked has told why.
        let _ = self.thread.take().map(std::thread::JoinHandle::join);
    }
}
