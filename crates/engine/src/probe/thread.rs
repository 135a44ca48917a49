//! A probe's thread, which has a name. When its handle is dropped, the thread is stopped and joined.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{Builder, JoinHandle},
    time::{Duration, Instant},
};

/// How often a sleeping thread checks whether it should end: every 50 ms.
const GLANCE: Duration = Duration::from_millis(50);

/// The handle of a running thread. Dropping the handle stops the thread and waits until the thread has ended.
#[derive(Debug)]
pub(super) struct ProbeThread {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// A flag by which a thread is asked to end.
#[derive(Debug)]
pub(super) struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    /// Returns whether the thread should end.
    pub(super) fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Sleeps until `until`, or until the thread should end.
    pub(super) fn pause_until(&self, until: Instant) {
        while !self.is_asked() {
            match until.checked_duration_since(Instant::now()) {
                Some(left) if !left.is_zero() => std::thread::sleep(left.min(GLANCE)),
                _ => return,
            }
        }
    }
}

impl ProbeThread {
    /// Starts a thread. `body` must check the [`StopFlag`] at least every 100 ms, because dropping the handle waits for
    /// the end of the thread.
    pub(super) fn start(name: &str, body: impl FnOnce(StopFlag) + Send + 'static) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let seen = StopFlag(Arc::clone(&stop));
        let thread = Builder::new().name(name.to_owned()).spawn(move || body(seen))?;
        Ok(Self { stop, thread: Some(thread) })
    }

    /// Requests the end of the thread, and does not wait until the thread has ended.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl Drop for ProbeThread {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            // If the thread panicked, the panic hook has printed the reason. A drop itself must not panic.
            let _ = thread.join();
        }
    }
}
