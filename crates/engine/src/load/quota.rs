//! The number of operations that a load sends (`-n` of redis-benchmark). All workers together send exactly
//! this number of operations, even if the pipeline is deep or requests fail. Workers claim operations from
//! the shared quota. If each client has a quota, a worker gets the sum of the quotas of its clients.
//!
//! ```text
//!  Quota (all workers) ──claims of a few thousand──► Allowance (one worker) ──► batches
//!                                                        ▲ lost operations, to be sent again
//! ```
//! The shared counter changes once per claim and not once per request, so workers rarely wait for its cache line.
//! Each operation has a number, from 0. If every operation must get a reply, the worker sends a lost operation again
//! under the same number.

use std::{
    collections::BTreeSet,
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use parking_lot::Mutex;

use crate::workload::part_of;

/// How many requests are sent, and how they are split among clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestLimit {
    /// All clients together send this many requests. Any free client sends the next request.
    Shared(u64),
    /// All clients together send this many requests. Each client sends a nearly equal part of the requests. The
    /// distribution `partitioned` divides the keys in the same way. The number of clients is fixed at the start.
    PerClient(u64),
}

/// The largest number of requests that a worker claims at a time.
const CLAIM: u64 = 4096;
/// A worker divides the number of remaining requests by this number. The worker then claims this many requests, at
/// least 1 and at most [`CLAIM`]. The other requests remain for other workers, so all workers end at about the same
/// time.
const LEFT_FOR_OTHERS: u64 = 64;

/// The largest number of times that one operation is sent.
const MOST_ATTEMPTS: u8 = 5;

/// A request with its number. A lost request is sent again with the same number. Requests have numbers only if every
/// request must get a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NumberedRequest {
    /// The request's number, from 0.
    pub(super) number: u64,
    /// How often the request was lost.
    lost: u8,
}

/// The requests that all workers together may still send.
#[derive(Debug)]
pub(super) struct Quota {
    /// The initial number of operations.
    pub(super) total: u64,
    /// Whether the requests are divided among the clients. If the requests are divided, workers have nothing to claim.
    pub(super) is_parted: bool,
    left: AtomicU64,
    /// The workers that have sent all their requests and have received all replies.
    done: Mutex<BTreeSet<usize>>,
}

impl Quota {
    /// Creates a quota of `operations` operations.
    pub(super) fn new(operations: u64) -> Arc<Self> {
        Self::of(RequestLimit::Shared(operations))
    }

    /// Creates the quota for `requests`.
    pub(super) fn of(requests: RequestLimit) -> Arc<Self> {
        let (total, is_parted) = match requests {
            RequestLimit::Shared(operations) => (operations, false),
            RequestLimit::PerClient(operations) => (operations, true),
        };
        let left = AtomicU64::new(if is_parted { 0 } else { total });
        Arc::new(Self { total, is_parted, left, done: Mutex::default() })
    }

    /// Returns how many requests client number `client` of `clients` may send, or `None` if the requests are not
    /// divided among the clients.
    pub(super) fn part(&self, client: u64, clients: u64) -> Option<u64> {
        let parts = clients.min(self.total);
        let length = |part: Range<u64>| part.end - part.start;
        let own = || if client < parts { length(part_of(self.total, parts, client)) } else { 0 };
        self.is_parted.then(own)
    }

    /// Returns whether worker number `worker` has sent all its requests and has received all replies.
    pub(super) fn is_done_by(&self, worker: usize) -> bool {
        self.done.lock().contains(&worker)
    }

    /// Claims a part of the remaining requests. Returns the numbers of the claimed requests.
    fn claim(&self) -> Range<u64> {
        let part = |left: u64| (left / LEFT_FOR_OTHERS).clamp(1, CLAIM).min(left);
        let update =
            self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| Some(left - part(left)));
        update.map_or(0..0, |left| self.total - left..self.total - left + part(left))
    }
}

/// The requests that one worker may send.
pub(super) struct Allowance {
    /// The shared quota. `None` means no limit.
    quota: Option<Arc<Quota>>,
    claimed: Range<u64>,
    /// The requests that must be sent again. Each was lost, or a worker claimed the request and did not send it.
    again: Vec<NumberedRequest>,
    /// The worker's number.
    worker: usize,
}

impl Allowance {
    /// Creates the allowance that worker number `worker` has from `quota`.
    pub(super) fn of(worker: usize, quota: Option<Arc<Quota>>) -> Self {
        Self { quota, claimed: 0..0, again: Vec::new(), worker }
    }

    /// Allows this worker to send `operations` operations, which is the sum of its clients' parts.
    pub(super) fn grant(&mut self, operations: u64) {
        self.claimed = 0..operations;
    }

    /// Returns the quota of this allowance.
    pub(super) fn quota(&self) -> Option<&Arc<Quota>> {
        self.quota.as_ref()
    }

    /// Switches to `quota`. If the quota stays the same, claimed requests stay claimed. Returns whether the quota has
    /// changed.
    pub(super) fn follow(&mut self, quota: Option<&Arc<Quota>>) -> bool {
        let is_another = quota.map(Arc::as_ptr) != self.quota.as_ref().map(Arc::as_ptr);
        if is_another {
            *self = Self::of(self.worker, quota.cloned());
        }
        is_another
    }

    /// Takes one request. Returns whether the request may be sent.
    #[inline]
    pub(super) fn take(&mut self) -> bool {
        self.quota.is_none() || self.next().is_some()
    }

    /// Puts back the last taken request. The request must not have been sent.
    pub(super) fn put_back_one(&mut self) {
        if self.quota.is_some() {
            self.claimed.start -= 1;
        }
    }

    /// Takes the next request of the quota. Requests that were put back are taken first.
    #[inline]
    pub(super) fn next(&mut self) -> Option<NumberedRequest> {
        if let Some(again) = self.again.pop() {
            return Some(again);
        }
        if self.claimed.is_empty() {
            self.claimed = self.quota.as_ref()?.claim();
        }
        self.claimed.next().map(|number| NumberedRequest { number, lost: 0 })
    }

    /// Puts back requests that were sent and lost. After [`MOST_ATTEMPTS`] losses, redyno gives a request up.
    pub(super) fn give_back(&mut self, lost: &[NumberedRequest]) {
        let again = lost.iter().map(|request| NumberedRequest { lost: request.lost + 1, ..*request });
        self.again.extend(again.filter(|request| request.lost < MOST_ATTEMPTS));
    }

    /// Puts back a request that was taken and is not sent yet.
    pub(super) fn put_back(&mut self, request: NumberedRequest) {
        self.again.push(request);
    }

    /// Takes up to `wanted` requests that fail without being sent. These requests count against the limit as well.
    /// Returns the number of taken requests.
    pub(super) fn take_lost(&mut self, wanted: u64) -> u64 {
        if self.quota.is_none() {
            return wanted;
        }
        let mut left = wanted;
        while left > 0 && self.take() {
            let more = (left - 1).min(self.claimed.end - self.claimed.start);
            self.claimed.start += more;
            left -= 1 + more;
        }
        wanted - left
    }

    /// Takes up to `wanted` requests. Returns the number of taken requests, which may be sent.
    #[inline]
    pub(super) fn take_of(&mut self, wanted: u32) -> u32 {
        if self.quota.is_none() {
            return wanted;
        }
        (0..wanted).take_while(|_| self.take()).count() as u32
    }

    /// Returns whether this worker has taken all its requests.
    pub(super) fn is_spent(&self) -> bool {
        let has_none = self.claimed.is_empty() && self.again.is_empty();
        has_none && self.quota.as_ref().is_some_and(|quota| quota.left.load(Ordering::Relaxed) == 0)
    }

    /// Notes that this worker has used up its allowance ([`is_spent`](Self::is_spent)), and that each of its
    /// requests is answered or lost.
    pub(super) fn finish(&self) {
        if let Some(quota) = &self.quota {
            quota.done.lock().insert(self.worker);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_workers_together_send_exactly_the_limit() {
        for requests in [0, 1, 63, 10_007] {
            let quota = Quota::new(requests);
            let threads: Vec<_> = (0..3)
                .map(|worker| {
                    let mut allowance = Allowance::of(worker, Some(Arc::clone(&quota)));
                    std::thread::spawn(move || {
                        let sent = std::iter::from_fn(|| allowance.take().then_some(())).count() as u64;
                        assert!(allowance.is_spent());
                        allowance.finish();
                        sent
                    })
                })
                .collect();
            let sent: u64 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
            assert_eq!(sent, requests);
            assert!((0..3).all(|worker| quota.is_done_by(worker)));
        }
    }

    #[test]
    fn the_parts_of_all_clients_add_up_to_the_limit() {
        for (requests, clients) in [(100, 10), (107, 10), (3, 10), (0, 2)] {
            let quota = Quota::of(RequestLimit::PerClient(requests));
            let parts: Vec<_> = (0..clients).map(|client| quota.part(client, clients).unwrap()).collect();
            assert_eq!(parts.iter().sum::<u64>(), requests);
            assert!(parts.iter().max().unwrap() - parts.iter().min().unwrap() <= 1, "{parts:?}");
            let mut allowance = Allowance::of(0, Some(quota));
            assert!(allowance.is_spent(), "nothing can be claimed");
            allowance.grant(parts[0]);
            assert_eq!(std::iter::from_fn(|| allowance.take().then_some(())).count() as u64, parts[0]);
        }
        assert_eq!(Quota::new(5).part(0, 2), None);
    }

    #[test]
    fn without_a_quota_there_is_no_limit() {
        let mut allowance = Allowance::of(0, None);
        assert!((0..100_000).all(|_| allowance.take()) && !allowance.is_spent());
    }

    #[test]
    fn claimed_requests_stay_claimed_while_the_quota_is_the_same() {
        let quota = Quota::new(1000);
        let mut allowance = Allowance::of(0, Some(Arc::clone(&quota)));
        assert!(allowance.take());
        assert!(!allowance.follow(Some(&quota)));
        assert_eq!(std::iter::from_fn(|| allowance.take().then_some(())).count(), 999);
        assert!(allowance.follow(Some(&Quota::new(1))));
        assert!(allowance.take() && !allowance.take());
    }

    #[test]
    fn each_request_has_a_number_and_a_lost_request_is_sent_again_a_limited_number_of_times() {
        let mut allowance = Allowance::of(0, Some(Quota::new(5000)));
        let requests: Vec<_> = std::iter::from_fn(|| allowance.next()).collect();
        let numbers: Vec<_> = requests.iter().map(|request| request.number).collect();
        assert_eq!(numbers, (0..5000).collect::<Vec<_>>());
        let mut seventh = requests[7];
        for _ in 1..MOST_ATTEMPTS {
            assert!(allowance.is_spent());
            allowance.give_back(&[seventh]);
            assert!(!allowance.is_spent());
            seventh = allowance.next().unwrap();
            assert_eq!((seventh.number, allowance.next()), (7, None));
        }
        allowance.give_back(&[seventh]);
        assert!(allowance.is_spent() && allowance.next().is_none());
    }

    #[test]
    fn a_request_that_was_taken_and_not_sent_can_be_taken_again() {
        let mut allowance = Allowance::of(0, Some(Quota::new(2)));
        let first = allowance.next().unwrap();
        allowance.put_back(first);
        assert_eq!(allowance.next(), Some(first));
        assert!(allowance.take() && allowance.is_spent());
        allowance.put_back_one();
        assert!(!allowance.is_spent() && allowance.take() && !allowance.take());
    }

    #[test]
    fn failed_requests_count_against_the_limit() {
        let quota = Quota::new(100_000);
        let mut allowance = Allowance::of(0, Some(Arc::clone(&quota)));
        assert_eq!(allowance.take_of(10), 10);
        assert_eq!((allowance.take_lost(0), allowance.take_lost(70_000)), (0, 70_000));
        assert_eq!(std::iter::from_fn(|| allowance.take().then_some(())).take(29_000).count(), 29_000);
        assert_eq!((allowance.take_lost(5000), allowance.take_lost(1)), (990, 0));
        assert!(allowance.is_spent());
        assert_eq!(Allowance::of(0, None).take_lost(7), 7);
    }

    #[test]
    fn a_worker_that_finishes_twice_is_done_once() {
        let quota = Quota::new(0);
        let allowance = Allowance::of(1, Some(Arc::clone(&quota)));
        allowance.finish();
        allowance.finish();
        assert_eq!([0, 1].map(|worker| quota.is_done_by(worker)), [false, true]);
    }
}
