//! The thread of a probe, and its timers. When the thread's handle is dropped, the thread is stopped and joined.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{Builder, JoinHandle},
    time::Instant,
};

use parking_lot::{Condvar, Mutex};

/// Turns off the kernel's rounding of this thread's timers. By default, Linux wakes a thread up to 50 µs late on
/// purpose, to save wake-ups. A probe would show this lateness as a delay of the machine or of the server.
pub(super) fn sharpen_timers() {
    #[cfg(target_os = "linux")]
    // If the call fails, the kernel's default slack remains: sleeps are less exact, nothing else changes.
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
}

/// The handle of a running thread. Dropping the handle stops the thread and waits until the thread has ended.
pub(super) struct ProbeThread {
    stop: Arc<StopState>,
    thread: Option<JoinHandle<()>>,
}

/// A flag by which a thread is asked to end.
#[derive(Default)]
pub(super) struct StopFlag(Arc<StopState>);

#[derive(Debug, Default)]
struct StopState {
    is_asked: AtomicBool,
    /// The lock that is held while the flag is set, so that no thread falls asleep between its check and the signal.
    sleep: Mutex<()>,
    wakes: Condvar,
}

impl StopFlag {
    /// Returns whether the thread should end.
    pub(super) fn is_asked(&self) -> bool {
        self.0.is_asked.load(Ordering::Relaxed)
    }

    /// Sleeps until `until`, or until the thread should end.
    pub(super) fn pause_until(&self, until: Instant) {
        let mut sleep = self.0.sleep.lock();
        while !self.is_asked() && !self.0.wakes.wait_until(&mut sleep, until).timed_out() {}
    }
}

impl ProbeThread {
    /// Starts a thread. `body` must check the [`StopFlag`] at least every 100 ms, because dropping the handle waits for
    /// the end of the thread.
    pub(super) fn start(name: &str, body: impl FnOnce(StopFlag) + Send + 'static) -> io::Result<Self> {
        let stop = Arc::<StopState>::default();
        let seen = StopFlag(Arc::clone(&stop));
        let thread = Builder::new().name(name.to_owned()).spawn(move || body(seen))?;
        Ok(Self { stop, thread: Some(thread) })
    }

    /// Requests the end of the thread, and does not wait until the thread has ended.
    pub(super) fn stop(&self) {
        let _sleep = self.stop.sleep.lock();
        self.stop.is_asked.store(true, Ordering::Relaxed);
        self.stop.wakes.notify_all();
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_stop_wakes_the_thread_and_all_threads_that_share_the_flag() {
        let hour = Duration::from_secs(3600);
        let probe = ProbeThread::start("test", move |stop| {
            std::thread::scope(|scope| {
                scope.spawn(|| stop.pause_until(Instant::now() + hour));
                stop.pause_until(Instant::now() + hour);
            });
        });
        drop(probe.unwrap());
    }
}
