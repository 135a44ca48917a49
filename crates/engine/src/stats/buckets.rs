//! A coarse distribution of latencies: the number of values in each bucket. Servers count latencies in this form
//! (`LATENCY HISTOGRAM`).
//!
//! The borders of buckets are about powers of two in microseconds. A percentile is reported as the upper border of its
//! bucket. The true value is between half of this border and the whole border.

use serde::{Deserialize, Serialize};

use super::latency::ENOUGH_ABOVE;

/// The counts of the buckets, in ascending order. By default, there are no buckets.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<(u64, u64)>")]
pub struct Buckets(Vec<(u64, u64)>);

impl From<Vec<(u64, u64)>> for Buckets {
    /// Builds buckets from pairs of (border in µs, count) in any order. The pairs come from a server and may
    /// be wrong. If a sum of counts exceeds 64 bits, the result is the largest 64-bit number.
    fn from(mut counts: Vec<(u64, u64)>) -> Self {
        counts.retain(|(_, n)| *n > 0);
        counts.sort_unstable();
        counts.dedup_by(|later, kept| {
            let is_same = later.0 == kept.0;
            if is_same {
                kept.1 = kept.1.saturating_add(later.1);
            }
            is_same
        });
        Self(counts)
    }
}

impl Buckets {
    /// Returns the difference between two cumulative lists from a server. Each entry contains a border in µs and the
    /// number of values at or below this border. A missing border has the count of the next lower border. Returns
    /// `None` if a count decreased, because the server has reset its counts.
    pub fn between(before: &[(u64, u64)], now: &[(u64, u64)]) -> Option<Self> {
        let mut borders: Vec<u64> = before.iter().chain(now).map(|(up_to_us, _)| *up_to_us).collect();
        borders.sort_unstable();
        borders.dedup();
        let mut counts = Vec::new();
        let mut below = 0;
        for up_to_us in borders {
            let added = at_or_below(now, up_to_us).checked_sub(at_or_below(before, up_to_us))?;
            counts.push((up_to_us, added.checked_sub(below)?));
            below = added;
        }
        Some(counts.into())
    }

    /// Returns the non-empty buckets as pairs of (border in µs, count), ascending.
    pub fn counts(&self) -> &[(u64, u64)] {
        &self.0
    }

    /// Returns how many values were counted.
    pub fn count(&self) -> u64 {
        self.0.iter().fold(0, |sum, (_, n)| sum.saturating_add(*n))
    }

    /// Returns the border in µs of the bucket that contains the percentile `quantile` (0 to 1). Returns `None` with
    /// fewer than ten samples above the percentile.
    pub fn percentile(&self, quantile: f64) -> Option<u64> {
        let count = self.count() as f64;
        if count * (1.0 - quantile) < ENOUGH_ABOVE - 1e-9 {
            return None;
        }
        let rank = (quantile * count).ceil();
        let mut seen = 0_u64;
        let reaches = |(_, n): &&(u64, u64)| {
            seen = seen.saturating_add(*n);
            seen as f64 >= rank
        };
        self.0.iter().find(reaches).map(|(up_to_us, _)| *up_to_us)
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        let all = [&self.0[..], &other.0].concat();
        *self = all.into();
    }
}

/// Returns the number of values at or below a border, from a list of cumulative counts in any order.
fn at_or_below(cumulative: &[(u64, u64)], up_to_us: u64) -> u64 {
    let known = cumulative.iter().filter(|(border, _)| *border <= up_to_us);
    known.max_by_key(|(border, _)| *border).map_or(0, |(_, count)| *count)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn new_values_are_counted_by_bucket_even_if_borders_are_missing() {
        let before = [(1, 90), (33, 100)];
        let now = [(1, 190), (8, 195), (33, 206), (264, 207)];
        let added = Buckets::between(&before, &now).unwrap();
        assert_eq!(added.counts(), [(1, 100), (8, 5), (33, 1), (264, 1)]);
        assert_eq!(Buckets::between(&now, &now), Some(Buckets::default()));
        assert_eq!(Buckets::between(&now, &before), None, "CONFIG RESETSTAT");
        assert_eq!(Buckets::between(&[(1, 5), (2, 9)], &[(1, 8), (2, 10)]), None, "a reset");
    }

    #[test]
    fn a_percentile_is_the_border_of_its_bucket_and_needs_ten_samples_above() {
        let times: Buckets = vec![(1, 970), (16, 25), (66, 5)].into();
        assert_eq!([0.5, 0.97, 0.971, 0.99].map(|q| times.percentile(q)), [1, 1, 16, 16].map(Some));
        assert_eq!(times.percentile(0.999), None);
        assert_eq!(Buckets::default().percentile(0.5), None);
    }

    #[test]
    fn buckets_can_be_merged_and_serialized() {
        let mut all: Buckets = vec![(1, 3), (4, 1)].into();
        all.merge(&vec![(4, 2), (2, 7)].into());
        assert_eq!(all.counts(), [(1, 3), (2, 7), (4, 3)]);
        let text = serde_json::to_string(&all).unwrap();
        assert_eq!(text, "[[1,3],[2,7],[4,3]]");
        assert_eq!(serde_json::from_str::<Buckets>(&text).unwrap(), all);
        assert_eq!(serde_json::from_str::<Buckets>("[[4,1],[1,0],[4,2]]").unwrap().counts(), [(4, 3)]);
    }

    proptest! {
        #[test]
        fn no_value_is_counted_twice_for_any_input(
            before in proptest::collection::vec(any::<(u64, u64)>(), 0..8),
            now in proptest::collection::vec(any::<(u64, u64)>(), 0..8),
        ) {
            if let Some(added) = Buckets::between(&before, &now) {
                let last = |list: &[(u64, u64)]| at_or_below(list, u64::MAX);
                prop_assert_eq!(added.count(), last(&now) - last(&before));
                prop_assert!(added.counts().is_sorted_by(|a, b| a.0 < b.0));
            }
            let mut all: Buckets = before.into();
            all.merge(&now.into());
            let _ = [0.0, 0.5, 0.999, 1.0].map(|quantile| all.percentile(quantile));
        }
    }
}
