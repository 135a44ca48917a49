//! `--metrics ADDRESS`: serves the metrics of a running session over HTTP.
//!
//! ```text
//! session ─► peer ─► thread "metrics": counts ─┐
//!                                              ├─ sums, under a lock
//!            scraper ─► thread "scrape": HTTP ─┘
//! ```
//! The thread writes a response from a copy of the sums. A slow scraper therefore delays neither the session nor other
//! scrapers.

use std::sync::Arc;

use anyhow::Context as _;
use parking_lot::Mutex;

use super::{Failure, Listener};
use crate::{
    export::Metrics,
    print::page_server::{MetricsAddress, Page, PageServer},
    session::{Coalesce, Delivery, Order},
};

/// The content type of OpenMetrics.
const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The metrics, shared by two threads: one thread updates the metrics, and the other thread reads them.
#[derive(Debug, Clone, Default)]
pub(super) struct SharedMetrics {
    sums: Arc<Mutex<Metrics>>,
    /// The findings, PINGs and gauges are of whole seconds, as in recordings. Counters are always current.
    seconds: Coalesce,
}

impl SharedMetrics {
    fn with<T>(&self, act: impl FnOnce(&mut Metrics) -> T) -> T {
        // After a panic of the other thread, the metrics are still valid, but may lack one record.
        act(&mut self.sums.lock())
    }

    /// Returns all metrics as OpenMetrics text. The text is written from a copy. The session therefore does not wait.
    pub(super) fn text(&self) -> String {
        self.with(|sums| sums.clone()).text()
    }
}

impl Listener for SharedMetrics {
    fn take(&mut self, delivery: &Delivery) -> Vec<Order> {
        let Delivery::Record(record) = delivery else { return Vec::new() };
        let seconds = self.seconds.push(record);
        self.with(|sums| {
            seconds.iter().for_each(|record| sums.watch(record));
            if record.is_of(0) {
                sums.add(record);
            }
        });
        Vec::new()
    }
}

/// Serves the metrics of a session. Listens on `address` before the measurement begins. An address that is in use is
/// therefore reported early.
///
/// # Errors
/// Fails if listening is impossible, or the system cannot start a thread.
pub(super) fn serve_metrics(address: &MetricsAddress, sums: &SharedMetrics) -> Result<PageServer, Failure> {
    let shared = sums.clone();
    let text = Box::new(move || shared.text());
    let server = PageServer::start(address, Page { content_type: OPENMETRICS, text });
    Ok(server.with_context(|| format!("cannot serve metrics at {address}"))?)
}
