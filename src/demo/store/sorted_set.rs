//! Members in the order of their scores.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Map;

/// A set whose members have scores, which are never NaN.
#[derive(Debug, Default)]
pub struct SortedSet {
    pub(super) scores: Map<Arc<[u8]>, f64>,
    /// The scores by their rank, those of one rank by their members' bytes.
    order: BTreeMap<(i64, Arc<[u8]>), f64>,
    pub(super) bytes: usize,
}

/// A whole number that is as far up among others as `score` is, as `f64::total_cmp` has it; minus zero is zero.
fn rank(score: f64) -> i64 {
    let bits = (score + 0.0).to_bits() as i64;
    bits ^ ((bits >> 63) as u64 >> 1) as i64
}

impl SortedSet {
    /// Gives `member` this score (no NaN); whether it is new.
    pub fn set(&mut self, member: &[u8], score: f64) -> bool {
        let known = self.scores.get_key_value(member).map(|(shared, old)| (Arc::clone(shared), *old));
        let shared = known.as_ref().map_or_else(|| member.into(), |(shared, _)| Arc::clone(shared));
        let is_new = known.is_none();
        match known {
            Some((shared, old)) => drop(self.order.remove(&(rank(old), shared))),
            None => self.bytes += member.len(),
        }
        self.order.insert((rank(score), Arc::clone(&shared)), score);
        self.scores.insert(shared, score);
        is_new
    }

    /// A member's score.
    pub fn score(&self, member: &[u8]) -> Option<f64> {
        self.scores.get(member).copied()
    }

    /// Takes the member with the lowest score.
    pub fn pop_first(&mut self) -> Option<(Arc<[u8]>, f64)> {
        let ((_, member), score) = self.order.pop_first()?;
        self.bytes -= member.len();
        self.scores.swap_remove(&member);
        Some((member, score))
    }

    /// Members and scores from the lowest up.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], f64)> {
        self.order.iter().map(|((_, member), score)| (&**member, *score))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_come_out_by_score_and_then_by_name() {
        let mut set = SortedSet::default();
        let scores = [-f64::INFINITY, -1e300, -1.5, -1e-320, 0.0, 1e-320, 2.0, f64::INFINITY];
        for (n, score) in scores.into_iter().enumerate().rev() {
            assert!(set.set(&[n as u8], score));
        }
        assert!(set.iter().map(|(_, score)| score).eq(scores));
        assert!(set.set(b"b", -0.0) && set.set(b"a", 0.0) && !set.set(b"b", 0.0));
        let zeros: Vec<&[u8]> =
            set.iter().filter(|(_, score)| *score == 0.0).map(|(member, _)| member).collect();
        assert_eq!(zeros, [&[4][..], b"a", b"b"]);
    }

    #[test]
    fn what_is_taken_is_gone() {
        let mut set = SortedSet::default();
        assert!(set.set(b"c", 1.0) && set.set(b"a", 0.0) && !set.set(b"c", -5.0));
        let (member, score) = set.pop_first().unwrap();
        assert_eq!((&*member, score), (&b"c"[..], -5.0));
        assert_eq!((set.score(b"c"), set.scores.len(), set.bytes), (None, 1, 1));
    }
}
