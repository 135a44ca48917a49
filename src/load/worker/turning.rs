//! How a worker follows the knobs.

use super::Worker;
use crate::{
    load::{Knobs, schedule::Share},
    workload::{Requests, Values},
};

impl Worker {
    #[cold]
    pub(super) fn take_setting(&mut self, now_ns: u64) {
        let new = self.outfit.settings.load_full();
        if new.stopping && self.stopping_since_ns.is_none() {
            self.stopping_since_ns = Some(now_ns);
            let owed = self.pace.give_up(now_ns);
            self.segments.count_shed(owed);
        }
        if new.generation == self.setting.generation {
            return;
        }
        let old = std::mem::replace(&mut self.setting, new);
        self.follow_knobs();
        self.count_lap();
        self.segments.cut(self.setting.generation, now_ns);
        // The largest batch so far may have been far larger than those to come.
        self.out = Vec::new();
        let content = |knobs: &Knobs| (knobs.mix, knobs.keyspace, knobs.value_size);
        if content(&old.knobs) != content(&self.setting.knobs) {
            let values = Values::new(self.setting.knobs.value_size as usize, self.outfit.seed);
            self.requests = Requests::new(&self.setting.knobs.mix, self.setting.knobs.keyspace, values);
        }
    }

    /// Brings clients and pace in line with the knobs. Connections that were opened stay open while the load is
    /// off; none is opened before it is first on. What is owed at the old pace counts for the old segment.
    pub(super) fn follow_knobs(&mut self) {
        let knobs = &self.setting.knobs;
        let (index, threads) = (self.outfit.index, self.outfit.threads);
        let all = knobs.clients as usize;
        let share = all / threads + usize::from(index < all % threads);
        if knobs.load || self.clients.any_wanted() {
            let seed = self.outfit.seed;
            self.clients.want(share, |i| client_seed(seed, index + i * threads));
        }
        let of = threads.min(all);
        let part = (index < of).then_some(Share { index, of });
        let seed = client_seed(self.outfit.seed ^ ARRIVALS, index);
        let owed = self.pace.follow(knobs, part, self.setting.since_ns, seed);
        self.segments.count_shed(owed);
    }
}

/// Keeps the random numbers of arrivals apart from those of clients.
const ARRIVALS: u64 = 0xA881_7A15;

/// The seed of the client with the number `number` over all workers. Neighbours share no stream: the generator
/// mixes the seed.
fn client_seed(seed: u64, number: usize) -> u64 {
    seed.wrapping_add((number as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
}
