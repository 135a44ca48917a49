//! How many operations a run may send: exactly so many over all workers, whatever the pipeline.
//!
//! ```text
//!  Quota (all workers) ──claims of a few thousand──► Allowance (one worker) ──► batches
//! ```
//! The shared counter is touched once a claim, so that workers share no cache line per request.

use std::sync::{
    Arc,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};

/// The most that a worker claims at a time.
const CLAIM: u64 = 4096;
/// A claim leaves the others at least this many times as much, so that all end together.
const LEFT_FOR_OTHERS: u64 = 64;

/// What all workers may still send.
#[derive(Debug)]
pub(super) struct Quota {
    left: AtomicU64,
    /// Workers that have nothing left to send, and wait for no reply.
    done: AtomicUsize,
}

impl Quota {
    /// So many operations.
    pub(super) fn new(operations: u64) -> Arc<Self> {
        Arc::new(Self { left: AtomicU64::new(operations), done: AtomicUsize::new(0) })
    }

    /// How many workers are done with it.
    pub(super) fn done(&self) -> usize {
        self.done.load(Ordering::Relaxed)
    }

    fn claim(&self) -> u64 {
        let part = |left: u64| (left / LEFT_FOR_OTHERS).clamp(1, CLAIM).min(left);
        let update =
            self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| Some(left - part(left)));
        update.map_or(0, part)
    }
}

/// What one worker may send.
#[derive(Debug)]
pub(super) struct Allowance {
    /// `None` is no limit.
    quota: Option<Arc<Quota>>,
    claimed: u64,
}

impl Allowance {
    /// A worker's part of `quota`.
    pub(super) fn of(quota: Option<Arc<Quota>>) -> Self {
        Self { quota, claimed: 0 }
    }

    /// Goes by `quota` from now on. What is claimed of the same one stays claimed.
    pub(super) fn follow(&mut self, quota: Option<&Arc<Quota>>) {
        if quota.map(Arc::as_ptr) != self.quota.as_ref().map(Arc::as_ptr) {
            *self = Self::of(quota.cloned());
        }
    }

    /// Takes one request; whether it may be sent.
    #[inline]
    pub(super) fn take(&mut self) -> bool {
        let Some(quota) = &self.quota else {
            return true;
        };
        if self.claimed == 0 {
            self.claimed = quota.claim();
        }
        let may = self.claimed > 0;
        self.claimed -= u64::from(may);
        may
    }

    /// Takes as many requests as may be sent of `wanted`.
    #[inline]
    pub(super) fn take_of(&mut self, wanted: u32) -> u32 {
        if self.quota.is_none() {
            return wanted;
        }
        (0..wanted).take_while(|_| self.take()).count() as u32
    }

    /// Whether this worker has nothing left to send.
    pub(super) fn is_spent(&self) -> bool {
        self.claimed == 0 && self.quota.as_ref().is_some_and(|quota| quota.left.load(Ordering::Relaxed) == 0)
    }

    /// All that this worker sent is answered or lost, and it [is spent](Self::is_spent).
    pub(super) fn finish(&self) {
        if let Some(quota) = &self.quota {
            quota.done.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_so_many_are_sent_over_all_workers() {
        for requests in [0, 1, 63, 10_007] {
            let quota = Quota::new(requests);
            let threads: Vec<_> = (0..3)
                .map(|_| {
                    let mut allowance = Allowance::of(Some(Arc::clone(&quota)));
                    std::thread::spawn(move || {
                        let sent = std::iter::from_fn(|| allowance.take().then_some(())).count() as u64;
                        assert!(allowance.is_spent());
                        allowance.finish();
                        sent
                    })
                })
                .collect();
            let sent: u64 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
            assert_eq!((sent, quota.done()), (requests, 3));
        }
    }

    #[test]
    fn without_a_quota_there_is_no_limit() {
        let mut allowance = Allowance::of(None);
        assert!((0..100_000).all(|_| allowance.take()) && !allowance.is_spent());
    }

    #[test]
    fn what_is_claimed_stays_claimed_while_the_quota_is_the_same() {
        let quota = Quota::new(1000);
        let mut allowance = Allowance::of(Some(Arc::clone(&quota)));
        assert!(allowance.take());
        allowance.follow(Some(&quota));
        assert_eq!(std::iter::from_fn(|| allowance.take().then_some(())).count(), 999);
        allowance.follow(Some(&Quota::new(1)));
        assert!(allowance.take() && !allowance.take());
    }
}
