//! How a load worker applies a change of the knobs.

use std::sync::Arc;

use super::{Worker, WorkerSetup, stopping::WorkerStage};
use crate::{
    load::{LoadSetting, pacing::WorkerPace, phase::Phase},
    workload::{Draws, Share, client_seed},
};

impl Worker {
    /// Applies the current knobs, or waits until they take effect. A worker checks the knobs each time it reads the
    /// clock for due requests. A worker does not wait until the engine wakes it. A worker that waits would still send
    /// some requests at the old rate after a change of the knobs.
    #[inline]
    pub(super) fn take_setting(&mut self) {
        if !Arc::ptr_eq(&self.setting, &self.setup.settings.load()) {
            self.apply_setting();
        }
    }

    #[cold]
    fn apply_setting(&mut self) {
        let new = self.setup.settings.load_full();
        self.coming_ns = (new.since_ns > self.seen_ns).then_some(new.since_ns);
        if self.coming_ns.is_some() {
            if new.knobs.load && !self.setting.knobs.load {
                self.want_clients(new.knobs.clients);
                self.coming_ns = Some(self.setup.wakes_ns(&new));
            }
            return;
        }
        let (since_ns, is_turn) = (new.since_ns, new.generation != self.setting.generation);
        if is_turn {
            // Requests that were due before the change are sent and counted in the old phase.
            self.send_before(since_ns);
        }
        // At the end of the load, gathered requests are dropped, because they are not counted yet.
        if self.may_send() && !matches!(new.phase, Phase::Ended { .. }) {
            self.send_gathered(false, self.seen_ns);
        }
        let rests = |setting: &LoadSetting| (setting.knobs.load, setting.think(), setting.session_length());
        let rested = rests(&self.setting);
        let was_limited = self.allowance.quota().is_some();
        let sends_again = self.follow_phase(&new.phase);
        let old = std::mem::replace(&mut self.setting, new);
        if is_turn && sends_again {
            // No request was due while the worker had nothing to send.
            self.pace = WorkerPace::new();
        }
        self.pace.slip_to(self.setting.slip_ns);
        if !is_turn {
            return;
        }
        let connected = self.clients.connected() as u32;
        self.follow_knobs(was_limited);
        if sends_again || rests(&self.setting) != rested {
            self.restart_timers(since_ns);
        }
        self.count_lap();
        // The worker begins a new buffer, because the old buffer may be far larger than the next batches
        // need.
        self.segments.leave(old, std::mem::take(&mut self.out));
        let operations = self.setting.program.operations();
        self.segments.cut(self.setting.generation, operations, since_ns, connected);
        if sends_again {
            self.segments.begin_again(since_ns);
        }
        if self.clients.connected() > 0 || self.clients.how_many_lost() > 0 {
            self.begin(since_ns);
        }
    }

    /// Sets the number of clients of all agents together, and thus opens and closes connections.
    fn want_clients(&mut self, all: u32) {
        let share = self.setup.share();
        self.spread.iter_mut().for_each(|spread| spread.follow_clients(all, share));
        let seed = self.setup.plan.seed;
        let draws_of = |i: usize| {
            let number = share.nth(i as u64);
            Draws::of_client(client_seed(seed, number as usize), number)
        };
        self.clients.want(share.part(all.into()) as usize, draws_of);
    }

    /// Applies the number of clients and the rate of the knobs. While the load is off, open connections stay open.
    /// Due requests that were not sent at the old rate are counted in the old segment. These requests count as unsent
    /// if the load is switched off, and as shed otherwise. If `were_limited` is true, these requests also count against
    /// the limit on requests.
    pub(super) fn follow_knobs(&mut self, were_limited: bool) {
        if self.setting.knobs.load || self.clients.how_many_wanted() > 0 {
            self.want_clients(self.setting.knobs.clients);
        }
        let unsent = self.setup.follow(&mut self.pace, &self.setting);
        let load = self.setting.knobs.load;
        let unsent = if were_limited { self.lost_within_limit(unsent) } else { unsent };
        let due = self.pace.take_due();
        // After all permitted requests are sent, no request is due.
        if self.stage != WorkerStage::Sending {
            return;
        }
        self.segments.counts().due += due;
        if load {
            self.segments.counts().shed += unsent;
        } else {
            self.segments.counts().unsent += unsent;
        }
    }
}

impl WorkerSetup {
    /// Changes the pace of this worker to the pace of `setting`. Returns how many due requests are dropped.
    fn follow(&self, pace: &mut WorkerPace, setting: &LoadSetting) -> u64 {
        let (knobs, share) = (&setting.knobs, self.share());
        let of = share.of.min(knobs.clients as usize);
        let part = (share.index < of).then_some(Share { of, ..share });
        pace.follow(knobs, part, setting.since_ns, client_seed(self.plan.seed ^ ARRIVALS, share.index))
    }

    /// Returns when the worker must wake for `setting`, which switches the load on, in ns. With a rate, this is shortly
    /// before the worker's first request. If all workers woke when the setting takes effect, those with a request due
    /// at that time would have to wait for a core.
    fn wakes_ns(&self, setting: &LoadSetting) -> u64 {
        let mut pace = WorkerPace::new();
        self.follow(&mut pace, setting);
        pace.due_ns().map_or(0, |due_ns| due_ns.saturating_sub(TAKES_EFFECT_NS)).max(setting.since_ns)
    }
}

/// A worker wakes this long before the first request of a load: 0.5 ms. Applying a setting takes less time.
const TAKES_EFFECT_NS: u64 = 500_000;

/// This number changes the seed, so that arrivals and clients have different random numbers.
const ARRIVALS: u64 = 0xA881_7A15;
