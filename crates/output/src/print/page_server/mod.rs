//! Serves one page of text over HTTP: the metrics that a scraper reads.

mod address;
mod serve;

use std::{io, net::SocketAddr, sync::Arc};

use tokio::sync::oneshot;

pub use address::MetricsAddress;

/// A page that scrapers get.
pub struct Page {
    /// The content type of the text.
    pub content_type: &'static str,
    /// Returns the present text of the page.
    pub text: Box<dyn Fn() -> String + Send + Sync>,
}

/// An HTTP server of one page. Dropping this value stops the server.
pub struct PageServer {
    /// Dropping this sender stops the server.
    until: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
    address: Option<SocketAddr>,
}

impl PageServer {
    /// Serves a page at `/metrics`.
    ///
    /// # Errors
    /// Fails if listening is impossible, or the system cannot start a thread.
    pub fn start(address: &MetricsAddress, page: Page) -> io::Result<Self> {
        let (until, stop) = oneshot::channel();
        let listener = address.listen()?;
        let address = listener.address();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let serve = move || runtime.block_on(serve::serve(listener, Arc::new(page), stop));
        let thread = std::thread::Builder::new().name("scrape".to_owned()).spawn(serve)?;
        Ok(Self { until: Some(until), thread: Some(thread), address })
    }

    /// Returns the address, with the port that the system has chosen. Returns `None` for a unix socket.
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }
}

impl Drop for PageServer {
    fn drop(&mut self) {
        drop(self.until.take());
        // A thread that panicked has reported the reason.
        let _ = self.thread.take().map(std::thread::JoinHandle::join);
    }
}
