//! How many requests a run may send: exactly so many over all workers, whatever the pipeline.
//!
//! ```text
//!  Budget (all workers) ──claims of a few thousand──► Allowance (one worker) ──► batches
//! ```
//! The shared counter is touched once a claim, so that workers share no cache line per request.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// The most that a worker claims at a time.
const CLAIM: u64 = 4096;
/// A claim leaves the others at least this many times as much, so that all end together.
const LEFT_FOR_OTHERS: u64 = 64;

/// What all workers may still send.
#[derive(Debug)]
pub(super) struct Budget(AtomicU64);

impl Budget {
    /// A budget of so many requests.
    pub(super) fn new(requests: u64) -> Arc<Self> {
        Arc::new(Self(AtomicU64::new(requests)))
    }

    fn claim(&self) -> u64 {
        let part = |left: u64| (left / LEFT_FOR_OTHERS).clamp(1, CLAIM).min(left);
        let update =
            self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| Some(left - part(left)));
        update.map_or(0, part)
    }
}

/// What one worker may send.
#[derive(Debug)]
pub(super) struct Allowance {
    /// `None` is no limit.
    budget: Option<Arc<Budget>>,
    claimed: u64,
}

impl Allowance {
    /// A worker's part of `budget`.
    pub(super) fn of(budget: Option<Arc<Budget>>) -> Self {
        Self { budget, claimed: 0 }
    }

    /// Takes one request; whether it may be sent.
    #[inline]
    pub(super) fn take(&mut self) -> bool {
        let Some(budget) = &self.budget else {
            return true;
        };
        if self.claimed == 0 {
            self.claimed = budget.claim();
        }
        let may = self.claimed > 0;
        self.claimed -= u64::from(may);
        may
    }

    /// Takes as many requests as may be sent of `wanted`.
    #[inline]
    pub(super) fn take_of(&mut self, wanted: u32) -> u32 {
        if self.budget.is_none() {
            return wanted;
        }
        (0..wanted).take_while(|_| self.take()).count() as u32
    }

    /// Whether this worker has nothing left to send.
    pub(super) fn is_spent(&self) -> bool {
        self.claimed == 0 && self.budget.as_ref().is_some_and(|budget| budget.0.load(Ordering::Relaxed) == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_so_many_are_sent_over_all_workers() {
        for requests in [0, 1, 63, 10_007] {
            let budget = Budget::new(requests);
            let threads: Vec<_> = (0..3)
                .map(|_| {
                    let mut allowance = Allowance::of(Some(Arc::clone(&budget)));
                    std::thread::spawn(move || {
                        let sent = std::iter::from_fn(|| allowance.take().then_some(())).count() as u64;
                        assert!(allowance.is_spent());
                        sent
                    })
                })
                .collect();
            let sent: u64 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
            assert_eq!(sent, requests);
        }
    }

    #[test]
    fn without_a_budget_there_is_no_limit() {
        let mut allowance = Allowance::of(None);
        assert!((0..100_000).all(|_| allowance.take()) && !allowance.is_spent());
    }
}
