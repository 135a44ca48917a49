//! The end of a server, told from outside to its thread, and the sleeps that it cuts short.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What the two threads share.
#[derive(Debug, Default)]
pub struct Stop {
    is_told: Mutex<bool>,
    told: Condvar,
}

impl Stop {
    /// Tells the server to stop.
    pub fn tell(&self) {
        *self.lock() = true;
        self.told.notify_all();
    }

    /// Whether the server was told to stop.
    pub fn is_told(&self) -> bool {
        *self.lock()
    }

    /// For the server: sleeps, or less if it is told to stop.
    pub fn sleep(&self, length: Duration) {
        // Woken early, it sleeps for what is left.
        drop(self.told.wait_timeout_while(self.lock(), length, |is_told| !*is_told));
    }

    /// A flag is whole at every moment: a panic elsewhere does not spoil it.
    fn lock(&self) -> MutexGuard<'_, bool> {
        self.is_told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_sleep_ends_when_the_server_is_told_to_stop() {
        let stop = Arc::new(Stop::default());
        let sleeper = std::thread::spawn({
            let stop = Arc::clone(&stop);
            move || stop.sleep(Duration::MAX)
        });
        stop.tell();
        sleeper.join().unwrap();
    }
}
