//! Estimates how much data is on the server after a workload has written all its keys.

use std::collections::BTreeMap;

use super::{
    Workload,
    step::{CommandStep, Fragment},
};

/// A number of keys and the size of their values.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Footprint {
    /// The number of keys with values.
    pub keys: u64,
    /// The expected total size in bytes of the values of all keys.
    pub bytes: f64,
    /// The expected size in bytes of the values in the largest operation or prefill request. The prefill writes keys
    /// before the load.
    pub each: f64,
}

impl Workload {
    /// Returns the largest amount of data on the server: the prefill and the operations with a weight above 0 have
    /// written every possible key. The load has `keyspace` keys and values of `value_size` bytes. The values of a step
    /// are counted for the first set of keys in the step. If several steps write to the same set, only the largest
    /// values are counted.
    pub fn footprint(&self, keyspace: u64, value_size: u32) -> Footprint {
        if let Some(trace) = &self.trace {
            let (bytes, each) = (trace.written as f64, trace.largest as f64);
            return Footprint { keys: if bytes > 0.0 { trace.count() } else { 0 }, bytes, each };
        }
        let kinds: Vec<_> = self.value_kinds().map(|kind| kind.size.mean(value_size)).collect();
        let mut largest = BTreeMap::<_, f64>::new();
        let prefill = &self.compiled().prefill;
        let written =
            |step: &CommandStep| -> f64 { step.values().map(|kind| kinds[usize::from(kind)]).sum() };
        let writing = self.active_compiled().filter(|operation| operation.writes);
        let of_operations = writing.map(|operation| operation.steps.iter().map(written).sum());
        let each = of_operations.chain(prefill.iter().map(written)).fold(0.0, f64::max);
        for step in self.writing_steps().chain(prefill) {
            let bytes = written(step);
            let known = largest.entry(step.fragments().find_map(Fragment::draws)).or_default();
            *known = known.max(bytes);
        }
        let mut all = Footprint { each, ..Footprint::default() };
        for (set, bytes) in largest.into_iter().filter(|(_, bytes)| *bytes > 0.0) {
            let numbers = set.map(|set: u16| self.keyset(set).1.numbers(keyspace));
            let keys = numbers.map_or(1, |numbers| numbers.end - numbers.start);
            all.keys = all.keys.saturating_add(keys);
            all.bytes += bytes * keys as f64;
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{Keyset, Operation};

    #[test]
    fn values_are_counted_for_the_first_set_of_keys_in_a_step() {
        let keys = [("a", None), ("b", Some(10)), ("index", Some(1))]
            .map(|(name, count)| (name.to_owned(), Keyset { count, ..Keyset::default() }));
        let values = [("big".to_owned(), "100..300".parse().unwrap())];
        let footprint = |steps: &[(&str, u32)]| {
            let operations = steps.iter().map(|(step, weight)| Operation::command(step, *weight)).collect();
            let workload = Workload {
                keys: keys.clone().into(),
                values: values.clone().into(),
                operations,
                ..Workload::default()
            };
            let Footprint { keys, bytes, .. } = workload.footprint(1000, 8);
            (keys, bytes)
        };
        assert_eq!(footprint(&[("SET {a} {value}", 1)]), (1000, 8000.0));
        assert_eq!(
            footprint(&[("SET {a} {value}", 1), ("HSET {a} x {big} y {value}", 1)]),
            (1000, 208_000.0)
        );
        assert_eq!(footprint(&[("SET {a} {value}", 1), ("SET {b} {big}", 1)]), (1010, 10_000.0));
        assert_eq!(footprint(&[("SET {b.new} {big}", 1), ("SET {b} {big}", 0)]), (10, 2000.0));
        assert_eq!(footprint(&[("GET {b} {value}", 1)]), (0, 0.0));
        assert_eq!(footprint(&[("LPUSH mine {value}", 1)]), (1, 8.0));
        assert_eq!(footprint(&[("ZADD {index} 1 {a}", 1), ("GET {a}", 1), ("PING {value}", 1)]), (0, 0.0));
    }
}
