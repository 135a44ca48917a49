//! Counts the new keys that a load inserts into a set, and lists the new keys that can already be drawn.
//!
//! ```text
//!  inserted   0  1  2  3  4  5  6           numbers, in the order of their requests
//!  answered   0  2  1  5                    the same, in the order of the replies: 3, 4 and 6 are in flight
//!                       ▲ the newest
//! ```
//! Requests can use a new key as soon as the reply to its insert has arrived. If the insert failed or was
//! lost, no request uses the key. The last [`KEPT`] new keys are stored in the order of their replies,
//! without a lock. Older keys are ordered by their numbers.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicU64, Ordering},
};

/// The number of new keys that are stored in the order of their replies. The number of requests in flight is always
/// lower than this.
const KEPT: u64 = 1 << 16;

/// The new keys of a set, shared by all clients.
#[derive(Debug, Default)]
pub(super) struct NewKeys {
    inserted: AtomicU64,
    answered: AtomicU64,
    /// Each element is the number of a key plus 1. A 0 means that the key was counted, but the key's number is not
    /// stored yet.
    newest: OnceLock<Box<[AtomicU64]>>,
}

impl NewKeys {
    /// Counts a new key. Returns the number of the key.
    pub(super) fn insert(&self) -> u64 {
        self.inserted.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns the number of answered inserts.
    #[inline]
    pub(super) fn answered(&self) -> u64 {
        self.answered.load(Ordering::Acquire)
    }

    /// Returns the number of the key whose insert got reply number `nth`. The `answered` replies are numbered from 0.
    /// Returns `None` if the number of the key is no longer stored.
    #[inline]
    pub(super) fn nth(&self, nth: u64, answered: u64) -> Option<u64> {
        let kept = self.newest.get().filter(|_| answered - nth <= KEPT);
        let known = kept.map_or(0, |kept| kept[(nth % KEPT) as usize].load(Ordering::Acquire));
        known.checked_sub(1)
    }

    fn take_answer(&self, number: u64) {
        let kept = self.newest.get_or_init(|| (0..KEPT).map(|_| AtomicU64::new(0)).collect());
        let nth = self.answered.fetch_add(1, Ordering::AcqRel);
        kept[(nth % KEPT) as usize].store(number + 1, Ordering::Release);
    }
}

/// A new key in a request that has no reply yet.
#[derive(Debug, Clone)]
pub struct InsertedKey {
    pub(super) growth: Arc<NewKeys>,
    pub(super) number: u64,
    /// The index of the key's operation in its batch.
    pub(super) operation: u32,
}

/// The new keys in a batch that have no reply yet.
#[derive(Debug, Clone, Default)]
pub struct Insertions(Vec<InsertedKey>);

impl Insertions {
    /// Returns whether there are no new keys.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes all new keys.
    #[inline]
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Moves all new keys of another batch into this batch.
    #[inline]
    pub fn take(&mut self, other: &mut Self) {
        self.0.append(&mut other.0);
    }

    pub(super) fn push(&mut self, inserted: InsertedKey) {
        self.0.push(inserted);
    }

    /// Counts the first `operations` operations of the batch as answered. The new keys of answered operations can be
    /// drawn from now on.
    pub fn answer(&mut self, operations: u32) {
        let answered = self.0.iter().take_while(|inserted| inserted.operation < operations).count();
        self.0.drain(..answered).for_each(|inserted| inserted.growth.take_answer(inserted.number));
    }

    /// Moves the new keys of operation `from` to the batch `other`. In the batch `other`, the operation has the index
    /// `to`.
    pub fn hand_over(&mut self, from: u32, other: &mut Self, to: u32) {
        let moved = self.0.extract_if(.., |inserted| inserted.operation == from);
        other.0.extend(moved.map(|inserted| InsertedKey { operation: to, ..inserted }));
    }

    /// Removes the new keys of an operation that failed. `None` removes the new keys of all operations.
    pub fn fail(&mut self, operation: Option<u32>) {
        self.0.retain(|inserted| operation.is_some_and(|failed| failed != inserted.operation));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_keys_are_listed_in_the_order_of_their_replies_without_failed_inserts() {
        let growth = Arc::new(NewKeys::default());
        let batch = |numbers: &[(u64, u32)]| {
            let of = |(number, operation): &(u64, u32)| InsertedKey {
                growth: Arc::clone(&growth),
                number: *number,
                operation: *operation,
            };
            Insertions(numbers.iter().map(of).collect())
        };
        let (mut one, mut two) = (batch(&[(0, 0), (1, 2), (3, 3)]), batch(&[(2, 0)]));
        one.answer(1);
        two.answer(1);
        one.fail(Some(2));
        one.answer(4);
        assert!(one.is_empty() && two.is_empty());
        let all = growth.answered();
        assert_eq!((0..all).map(|nth| growth.nth(nth, all)).collect::<Vec<_>>(), [0, 2, 3].map(Some));
    }

    #[test]
    fn only_the_last_replies_are_stored() {
        let growth = NewKeys::default();
        (0..2 * KEPT).for_each(|n| growth.take_answer(n ^ 1));
        let all = growth.answered();
        assert_eq!((growth.nth(0, all), growth.nth(KEPT - 1, all)), (None, None));
        assert_eq!((growth.nth(KEPT, all), growth.nth(all - 1, all)), (Some(KEPT + 1), Some(all - 2)));
    }

    #[test]
    fn threads_publish_each_key_once() {
        let growth = NewKeys::default();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..1000).for_each(|_| growth.take_answer(growth.insert())));
            }
        });
        let mut numbers: Vec<_> = (0..4000).filter_map(|nth| growth.nth(nth, 4000)).collect();
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..4000));
    }
}
