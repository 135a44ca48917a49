//! Orders from outside to the server's thread: new faults, pause, stop; and the sleeps that orders can end.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::faults::Fault;

/// What the two threads share.
#[derive(Debug, Default)]
pub struct Orders {
    board: Mutex<Board>,
    /// Rings at every change of the board, on either side.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Board {
    stop: bool,
    pause: bool,
    faults: Option<Vec<Fault>>,
    /// The thread stands still because of `pause`.
    paused: bool,
    /// The thread has ended.
    ended: bool,
}

impl Orders {
    /// Tells the server to stop.
    pub fn stop(&self) {
        self.lock().stop = true;
        self.changed.notify_all();
    }

    /// Whether the server was told to stop.
    pub fn is_stopped(&self) -> bool {
        self.lock().stop
    }

    /// Puts up new faults and waits until the server has taken them; `wake` ends its poll. A paused server takes
    /// them when it goes on, before it serves anyone.
    pub fn set_faults(&self, faults: Vec<Fault>, wake: impl Fn()) {
        self.lock().faults = Some(faults);
        self.changed.notify_all();
        wake();
        self.wait_until(|board| board.faults.is_none() || board.paused || board.ended);
    }

    /// Lets the server stand still, and waits until it does.
    pub fn pause(&self, wake: impl Fn()) {
        self.lock().pause = true;
        wake();
        self.wait_until(|board| board.paused || board.ended);
    }

    /// Lets it go on.
    pub fn resume(&self) {
        self.lock().pause = false;
        self.changed.notify_all();
    }

    /// For the server: new faults, if there are any.
    pub fn take_faults(&self) -> Option<Vec<Fault>> {
        let faults = self.lock().faults.take();
        if faults.is_some() {
            self.changed.notify_all();
        }
        faults
    }

    /// For the server: stands still for as long as it is paused.
    pub fn wait_while_paused(&self) {
        let mut board = self.lock();
        while board.pause && !board.stop {
            board.paused = true;
            self.changed.notify_all();
            board = self.changed.wait(board).unwrap_or_else(PoisonError::into_inner);
        }
        board.paused = false;
    }

    /// For the server: sleeps, or less if it is told to stop or is given new faults, which end a stall.
    pub fn sleep(&self, length: Duration) {
        // Without an end where the clock cannot tell it: until an order comes.
        let end = Instant::now().checked_add(length);
        let mut board = self.lock();
        while !board.stop && board.faults.is_none() {
            let left = end.map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return;
            }
            board = self.changed.wait_timeout(board, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// For the server: says that its thread has ended, so that nobody waits for it.
    pub fn end(&self) {
        self.lock().ended = true;
        self.changed.notify_all();
    }

    fn wait_until(&self, condition: impl Fn(&Board) -> bool) {
        let mut board = self.lock();
        while !condition(&board) {
            board = self.changed.wait(board).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The board is plain data, whole at every moment: a panic elsewhere does not spoil it.
    fn lock(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_sleep_ends_when_the_server_is_told_to_stop() {
        let orders = Arc::new(Orders::default());
        let sleeper = std::thread::spawn({
            let orders = Arc::clone(&orders);
            move || orders.sleep(Duration::from_secs(3600))
        });
        orders.stop();
        sleeper.join().unwrap();
    }

    #[test]
    fn nobody_waits_for_a_thread_that_has_ended() {
        let orders = Orders::default();
        orders.end();
        orders.pause(|| {});
        orders.set_faults(vec![], || {});
    }
}
