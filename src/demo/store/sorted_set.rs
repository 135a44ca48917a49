//! Members in the order of their scores.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::Arc;

use hashbrown::HashMap;

/// A member with its score; ordered by score, then by the member's bytes. Scores are never NaN.
#[derive(Debug, Clone, PartialEq)]
struct Ranked {
    score: f64,
    member: Arc<[u8]>,
}

impl Eq for Ranked {}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        // `+ 0.0` makes minus zero equal to zero.
        (self.score + 0.0).total_cmp(&(other.score + 0.0)).then_with(|| self.member.cmp(&other.member))
    }
}

/// A set whose members have scores.
#[derive(Debug, Default)]
pub struct SortedSet {
    scores: HashMap<Arc<[u8]>, f64>,
    order: BTreeSet<Ranked>,
    bytes: usize,
}

impl SortedSet {
    /// Gives `member` this score (no NaN); the score that it had before.
    pub fn set(&mut self, member: &[u8], score: f64) -> Option<f64> {
        match self.scores.get_key_value(member) {
            Some((shared, &old)) => {
                let member = Arc::clone(shared);
                self.order.remove(&Ranked { score: old, member: Arc::clone(&member) });
                self.order.insert(Ranked { score, member: Arc::clone(&member) });
                self.scores.insert(member, score);
                Some(old)
            }
            None => {
                let shared: Arc<[u8]> = member.into();
                self.bytes += member.len();
                self.order.insert(Ranked { score, member: Arc::clone(&shared) });
                self.scores.insert(shared, score);
                None
            }
        }
    }

    /// A member's score.
    pub fn score(&self, member: &[u8]) -> Option<f64> {
        self.scores.get(member).copied()
    }

    /// Takes the member with the lowest score.
    pub fn pop_first(&mut self) -> Option<(Arc<[u8]>, f64)> {
        let Ranked { score, member } = self.order.pop_first()?;
        self.bytes -= member.len();
        self.scores.remove(&member);
        Some((member, score))
    }

    /// Members and scores from the lowest up; walk it backwards for the highest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&[u8], f64)> {
        self.order.iter().map(|ranked| (&*ranked.member, ranked.score))
    }

    /// How many members there are.
    pub(super) fn members(&self) -> usize {
        self.scores.len()
    }

    /// Bytes of all members.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_come_out_by_score_and_then_by_name() {
        let mut set = SortedSet::default();
        assert_eq!(set.set(b"c", 1.0), None);
        assert_eq!(set.set(b"a", 0.0), None);
        assert_eq!(set.set(b"b", -0.0), None);
        assert_eq!(set.set(b"c", -5.0), Some(1.0));
        let order: Vec<&[u8]> = set.iter().map(|(member, _)| member).collect();
        assert_eq!(order, [b"c", b"a", b"b"]);
        assert_eq!(
            set.pop_first().map(|(member, score)| (member.to_vec(), score)),
            Some((b"c".to_vec(), -5.0))
        );
        assert_eq!((set.score(b"c"), set.members(), set.bytes()), (None, 2, 2));
    }
}
