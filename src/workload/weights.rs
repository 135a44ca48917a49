//! The weights of operations, as knobs.

use std::sync::Arc;

use super::{Operation, Workload};

impl Workload {
    /// Whether GET and SET are all that it has, so that one share says what two weights would.
    pub fn has_get_and_set_alone(&self) -> bool {
        let mut names: Vec<_> = self.operations.iter().map(|operation| operation.name.as_str()).collect();
        names.sort_unstable();
        names == ["GET", "SET"]
    }

    /// Whether the operation at `place` is the only one that has a weight.
    pub fn asks_alone(&self, place: usize) -> bool {
        self.operations.iter().enumerate().all(|(n, operation)| (n == place) == (operation.weight > 0))
    }

    /// The same workload with the operation at `place` having this weight; where there is none it stays as it is.
    #[must_use]
    pub fn with_weight(&self, place: usize, weight: u32) -> Arc<Self> {
        let mut turned = self.clone();
        turned.operations.iter_mut().skip(place).take(1).for_each(|operation| operation.weight = weight);
        Arc::new(turned)
    }

    /// Whether `other` has the same operations, however often each is asked for.
    pub fn has_operations_of(&self, other: &Self) -> bool {
        let bare = |operation: &Operation| Operation { weight: 0, ..operation.clone() };
        self.operations.iter().map(bare).eq(other.operations.iter().map(bare))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::preset;

    #[test]
    fn a_weight_is_turned_alone_and_the_operations_stay_the_same() {
        let cache = preset("cache").unwrap();
        let turned = cache.with_weight(1, 7);
        assert_eq!(turned.to_string(), "GET:SET 10:7");
        assert!(turned.has_operations_of(&cache) && !turned.has_operations_of(&preset("ping").unwrap()));
        assert_eq!(cache.with_weight(9, 7), cache);
        assert!(!turned.asks_alone(0) && turned.with_weight(1, 0).asks_alone(0));
        assert!(!turned.with_weight(1, 0).asks_alone(1), "it has none itself");
    }

    #[test]
    fn a_share_of_reads_is_enough_for_get_and_set_and_nothing_else() {
        let mut workload = Workload::clone(&preset("cache").unwrap());
        assert!(workload.has_get_and_set_alone() && preset("get").unwrap().has_get_and_set_alone());
        workload.operations.push(Operation::command("PING", 0));
        assert!(!workload.has_get_and_set_alone() && !preset("incr").unwrap().has_get_and_set_alone());
    }
}
