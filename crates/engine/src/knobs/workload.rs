//! The part of a workload that a user can change while the load runs: weights of operations, the share of reads, and
//! the distribution of keys.

use std::sync::Arc;

use crate::workload::{Distribution, Operation, SearchNumber, Workload};

impl Workload {
    /// Returns whether GET and SET are the only operations. For such a workload, a user sets the share of reads instead
    /// of the weights.
    pub fn has_get_and_set_alone(&self) -> bool {
        let mut names: Vec<_> = self.operations.iter().map(|operation| operation.name.as_str()).collect();
        names.sort_unstable();
        names == ["GET", "SET"]
    }

    /// Returns whether the operation with index `place` is the only operation with a weight.
    pub fn is_only_weighted(&self, place: usize) -> bool {
        self.operations.iter().enumerate().all(|(n, operation)| (n == place) == (operation.weight > 0))
    }

    /// Returns the workload with this weight for the operation with index `place`. If there is no such
    /// operation, the workload is unchanged.
    #[must_use]
    pub fn with_weight(&self, place: usize, weight: u32) -> Arc<Self> {
        let mut turned = self.clone();
        turned.operations.iter_mut().skip(place).take(1).for_each(|operation| operation.weight = weight);
        Arc::new(turned)
    }

    /// Returns whether both workloads have the same operations with the same weights, and the same keys, values and
    /// setup.
    pub fn is_like(&self, other: &Self) -> bool {
        (&self.operations, &self.keys, &self.values, &self.setup)
            == (&other.operations, &other.keys, &other.values, &other.setup)
    }

    /// Returns whether both workloads have the same operations. Parts that a user can change, such as
    /// weights, may differ.
    pub fn has_operations_of(&self, other: &Self) -> bool {
        let bare = |operation: &Operation| {
            let step = |step: &String| SearchNumber::Ef.set(&SearchNumber::Neighbours.set(step, 0), 0);
            let steps = operation.steps.iter().map(step).collect();
            Operation { weight: 0, steps, ..operation.clone() }
        };
        self.operations.iter().map(bare).eq(other.operations.iter().map(bare))
    }

    /// Returns the indexes of GET and SET, or `None` if the workload lacks one of them.
    fn read_and_write(&self) -> Option<(usize, usize)> {
        self.place("GET").zip(self.place("SET"))
    }

    /// Returns the share of GETs among all GETs and SETs, 0 to 1. Returns `None` if the workload lacks GET or SET, or
    /// if both have the weight 0.
    pub fn read_share(&self) -> Option<f64> {
        let weight = |place: usize| f64::from(self.operations[place].weight);
        let (get, set) = self.read_and_write().map(|(get, set)| (weight(get), weight(set)))?;
        (get + set > 0.0).then(|| get / (get + set))
    }

    /// Returns the workload in which `percent` (0 to 100) of all GETs and SETs are GETs. Other operations keep their
    /// share. A workload that lacks GET or SET stays the same.
    #[must_use]
    pub fn with_read_percent(&self, percent: u32) -> Arc<Self> {
        let mut turned = self.clone();
        if let Some((get, set)) = self.read_and_write() {
            let both = self.operations[get].weight + self.operations[set].weight;
            let percent = percent.min(100);
            turned.operations.iter_mut().for_each(|operation| operation.weight *= 100);
            turned.operations[get].weight = both * percent;
            turned.operations[set].weight = both * (100 - percent);
            turned.reduce();
        }
        Arc::new(turned)
    }

    /// Divides all weights by their greatest common divisor. If a user changes the share of reads and then changes it
    /// back, the weights are the same as before.
    fn reduce(&mut self) {
        let divisor = self.operations.iter().fold(0, |divisor, o| gcd(divisor, o.weight)).max(1);
        self.operations.iter_mut().for_each(|operation| operation.weight /= divisor);
    }

    /// Returns the distribution of the workload's keys, or `None` if there are no keys, or if sets of keys have
    /// different distributions.
    pub fn distribution(&self) -> Option<Distribution> {
        let mut all = self.keys.values().map(|keys| keys.distribution);
        let first = all.next()?;
        all.all(|other| other == first).then_some(first)
    }

    /// Returns the exponent of the keys' distributions, or `None` if no distribution has one, or if the exponents
    /// differ.
    pub fn exponent(&self) -> Option<f64> {
        let mut all = self.keys.values().filter_map(|keys| keys.distribution.exponent());
        let first = all.next()?;
        all.all(|other| other.to_bits() == first.to_bits()).then_some(first)
    }

    /// Returns the workload with this exponent in all distributions that have one.
    #[must_use]
    pub fn with_exponent(&self, exponent: f64) -> Arc<Self> {
        let mut workload = self.clone();
        for keys in workload.keys.values_mut() {
            keys.distribution = keys.distribution.with_exponent(exponent);
        }
        Arc::new(workload)
    }

    /// Returns whether the workload itself sets the number of keys in each of its sets of keys. No knob changes the
    /// numbers of keys of such a workload. Returns false if the workload has no keys.
    pub fn has_own_keys(&self) -> bool {
        !self.keys.is_empty() && self.keys.values().all(|keys| keys.count.is_some())
    }
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl Distribution {
    /// Returns the distribution's name, without its parameters.
    pub fn name(self) -> String {
        self.to_string().split(' ').take(1).collect()
    }

    /// Returns the distribution's exponent, if it has one.
    pub fn exponent(self) -> Option<f64> {
        match self {
            Self::Zipfian(exponent) | Self::ZipfianInOrder(exponent) | Self::Latest(exponent) => {
                Some(exponent)
            }
            _ => None,
        }
    }

    /// Returns the distribution with this exponent. A distribution without an exponent is unchanged.
    #[must_use]
    pub fn with_exponent(self, exponent: f64) -> Self {
        match self {
            Self::Zipfian(_) => Self::Zipfian(exponent),
            Self::ZipfianInOrder(_) => Self::ZipfianInOrder(exponent),
            Self::Latest(_) => Self::Latest(exponent),
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{Keyset, preset};

    #[test]
    fn a_change_of_a_weight_leaves_the_operations_the_same() {
        let cache = preset("cache").unwrap();
        let turned = cache.with_weight(1, 7);
        assert_eq!(turned.to_string(), "SET:GET 7:10");
        let vectors = preset("vectors").unwrap();
        assert!(vectors.has_operations_of(&vectors.with_search_number(SearchNumber::Ef, 7).unwrap()));
        assert!(turned.has_operations_of(&cache) && !turned.has_operations_of(&preset("ping").unwrap()));
        assert_eq!(cache.with_weight(9, 7), cache);
        assert!(!turned.is_only_weighted(0) && turned.with_weight(1, 0).is_only_weighted(0));
        assert!(!turned.with_weight(1, 0).is_only_weighted(1), "it has none itself");
    }

    #[test]
    fn only_a_workload_of_get_and_set_alone_has_a_share_of_reads() {
        let mut workload = Workload::clone(&preset("cache").unwrap());
        assert!(workload.has_get_and_set_alone() && preset("get").unwrap().has_get_and_set_alone());
        workload.operations.push(Operation::command("PING", 0));
        assert!(!workload.has_get_and_set_alone() && !preset("incr").unwrap().has_get_and_set_alone());
    }

    #[test]
    fn the_read_share_can_be_changed_and_changed_back_and_other_operations_keep_their_share() {
        let usual = preset("cache").unwrap();
        assert_eq!(usual.read_share().map(|share| (share * 100.0).round()), Some(91.0));
        assert_eq!(usual.with_read_percent(50).to_string(), "SET:GET 1:1");
        assert_eq!(usual.with_read_percent(0).with_read_percent(50), usual.with_read_percent(50));
        let mut with_ping = (*Workload::ratio(1, 1)).clone();
        with_ping.operations.push(Operation::command("PING", 2));
        assert_eq!(with_ping.with_read_percent(0).to_string(), "SET:PING 1:1");
        let incr = preset("incr").unwrap();
        assert_eq!((incr.with_read_percent(20), incr.read_share()), (Arc::clone(&incr), None));
    }

    #[test]
    fn sets_of_keys_with_the_same_distribution_have_a_common_distribution() {
        let zipfian = preset("cache").unwrap().with_distribution(Distribution::Zipfian(1.1));
        assert_eq!(
            (zipfian.distribution(), zipfian.exponent()),
            (Some(Distribution::Zipfian(1.1)), Some(1.1))
        );
        let mut both = Workload::clone(&zipfian);
        both.keys.insert("other".to_owned(), Keyset { count: Some(5), ..Keyset::default() });
        assert_eq!((both.distribution(), both.exponent()), (None, Some(1.1)));
        let turned = both.with_exponent(0.5);
        assert_eq!(turned.exponent(), Some(0.5));
        assert_eq!(turned.keys["other"].distribution, Distribution::Uniform);
        assert!(!both.has_own_keys());
        both.keys.remove("key");
        assert!(both.has_own_keys() && !preset("ping").unwrap().has_own_keys());
        assert_eq!(preset("ping").unwrap().distribution(), None);
    }
}
