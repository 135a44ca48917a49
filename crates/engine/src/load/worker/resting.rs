//! Decides what a client of the load does after the replies to its batch. The client sends the next batch, at once or
//! after a pause, or opens a new connection.
//!
//! ```text
//!  replies ──► think time ──► next batch      a session ends after the replies, or while its client is idle
//! ```

use std::ops::RangeInclusive;

use super::{RandomTimers, Worker, WorkerSetup, is_opening, stopping::WorkerStage};
use crate::load::{alarm::window, clients::is_extra};

/// A number that changes the seed, so that pauses and requests have different random numbers.
pub(super) const THINKING: u64 = 0x7417_4B1D;
/// A number that changes the seed, so that sessions and requests have different random numbers.
pub(super) const SESSIONS: u64 = 0x5E55_1045;

impl WorkerSetup {
    /// Creates timers for this worker's clients. Each `purpose` has its own random numbers.
    pub(super) fn timers(&self, purpose: u64) -> RandomTimers {
        RandomTimers::new(self.plan.seed ^ purpose, self.share())
    }
}

impl Worker {
    /// Continues with client `i` after the replies to its batch of `batch` requests. Queues the client for writing,
    /// or renews or closes its connection. `is_spent` says that the connection can no longer be used.
    #[inline]
    pub(super) fn on_free(&mut self, i: usize, (batch, is_spent): (u32, bool), now_ns: u64) {
        if batch > 0 {
            self.clients.answered(i, batch);
        }
        if self.clients.is_surplus(i) {
            self.clients.close(i);
        } else if self.is_used_up(i, is_spent) {
            self.clients.renew(i);
        } else if let Some(think) = self.setting.think()
            && self.stage == WorkerStage::Sending
        {
            self.thinking.begin(i, think, now_ns);
        } else {
            self.queue(i, now_ns);
        }
    }

    #[inline]
    fn queue(&mut self, i: usize, now_ns: u64) {
        if !self.clients.any_ready() {
            self.free_since_ns = now_ns;
        }
        self.clients.queue(i);
    }

    /// Returns whether client `i` must replace its connection. The client must do so if the connection can no longer be
    /// used or has had enough replies, or if the client's session is over. The client must still have requests to send.
    #[inline]
    fn is_used_up(&self, i: usize, is_spent: bool) -> bool {
        let most = self.setting.reconnect();
        let is_over = is_spent
            || most.is_some_and(|most| self.clients.served(i) >= most)
            || self.setting.session_length().is_some() && self.clients.has_ended(i);
        is_over && self.stage == WorkerStage::Sending && self.clients.left(i) > 0
    }

    /// Begins a session of client `i` after it has connected. If the client's previous session still runs, the
    /// function does nothing.
    pub(super) fn begin_session(&mut self, i: usize, now_ns: u64) {
        if let Some(length) = self.setting.session_length()
            && !is_extra(i)
        {
            self.sessions.begin(i, length, now_ns);
        }
    }

    /// Queues the clients whose pause has ended, and renews the connections of clients whose session has ended.
    #[inline]
    pub(super) fn end_timers(&mut self, now_ns: u64) {
        while let Some(i) = self.thinking.next(now_ns) {
            if !self.clients.is_surplus(i) {
                self.queue(i, now_ns);
            }
        }
        while let Some(i) = self.sessions.next(now_ns) {
            if self.clients.end_session(i) && self.is_used_up(i, false) {
                self.clients.renew(i);
            }
        }
    }

    /// Returns the time window for the worker's wake-up at the end of the next client's pause.
    pub(super) fn think_window(&self, now_ns: u64) -> Option<RangeInclusive<u64>> {
        let next_ns = self.thinking.next_ns()?;
        let think = self.setting.think()?;
        let gap_ns = think.mean_ns() / self.clients.how_many_wanted().max(1) as f64;
        Some(window(next_ns, gap_ns, now_ns, self.alarm.slack_ns()))
    }

    /// Restarts the pauses of all idle clients, and all sessions, because the setting has changed.
    pub(super) fn restart_timers(&mut self, now_ns: u64) {
        self.thinking = self.setup.timers(THINKING);
        self.clients.queue_idle();
        if let Some(think) = self.setting.think() {
            while let Some(i) = self.clients.next_ready() {
                self.thinking.begin(i, think, now_ns);
            }
        }
        self.sessions = self.setup.timers(SESSIONS);
        let open = self.clients.connections().filter(|(_, connection)| !is_opening(connection));
        let open: Vec<_> = open.map(|(i, _)| i).collect();
        open.into_iter().for_each(|i| self.begin_session(i, now_ns));
    }
}
