//! How all of a workload's keys are drawn: the distribution of its sets, and the exponent of those that have one.

use std::sync::Arc;

use super::{Distribution, Workload};

impl Distribution {
    /// Its name, without its parameters.
    pub fn name(self) -> String {
        self.to_string().split(' ').take(1).collect()
    }

    /// Its exponent, if it has one.
    pub fn exponent(self) -> Option<f64> {
        match self {
            Self::Zipfian(exponent) | Self::ZipfianInOrder(exponent) | Self::Latest(exponent) => {
                Some(exponent)
            }
            _ => None,
        }
    }

    /// The same with this exponent, if it has one.
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

impl Workload {
    /// How its keys are drawn, if all sets of them are drawn in one way.
    pub fn distribution(&self) -> Option<Distribution> {
        let mut all = self.keys.values().map(|keys| keys.distribution);
        let first = all.next()?;
        all.all(|other| other == first).then_some(first)
    }

    /// The exponent of those sets of keys whose distribution has one, if they have the same.
    pub fn exponent(&self) -> Option<f64> {
        let mut all = self.keys.values().filter_map(|keys| keys.distribution.exponent());
        let first = all.next()?;
        all.all(|other| other.to_bits() == first.to_bits()).then_some(first)
    }

    /// The same with this exponent wherever a distribution has one.
    #[must_use]
    pub fn with_exponent(&self, exponent: f64) -> Arc<Self> {
        let mut workload = self.clone();
        for keys in workload.keys.values_mut() {
            keys.distribution = keys.distribution.with_exponent(exponent);
        }
        Arc::new(workload)
    }

    /// Whether it has keys, and all sets of them have numbers of their own, so that no knob changes these.
    pub fn has_own_keys(&self) -> bool {
        !self.keys.is_empty() && self.keys.values().all(|keys| keys.count.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{Keyset, preset};

    #[test]
    fn sets_that_are_drawn_in_one_way_have_a_distribution_together() {
        let zipfian = preset("cache").unwrap().drawn_by(Distribution::Zipfian(1.1));
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
