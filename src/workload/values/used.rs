//! Which kinds of values a workload has, and how many bytes of them its operations send.

use std::collections::BTreeSet;

use super::ValueKind;
use crate::workload::{
    Workload, WorkloadError,
    step::{Fragment, Step},
};

/// The kinds of values that steps send, in the order of the wire.
fn kinds_of(steps: impl Iterator<Item = Step>) -> impl Iterator<Item = u16> {
    let kind = |fragment| if let Fragment::Value(kind) = fragment { Some(kind) } else { None };
    steps.flat_map(|step| step.0).flatten().filter_map(kind)
}

impl Workload {
    /// Its kinds of values by their numbers: those with names, in their order, and the plain kind.
    pub fn value_kinds(&self) -> impl Iterator<Item = ValueKind> {
        self.values.values().cloned().chain([ValueKind::default()])
    }

    /// The number of the kind that `{name}` draws.
    pub(in crate::workload) fn value_kind(&self, name: &str) -> Option<u16> {
        let named = self.values.keys().position(|known| known == name);
        named.or_else(|| (name == "value").then_some(self.values.len())).map(|place| place as u16)
    }

    /// The kinds that any of its steps sends.
    pub(super) fn used_values(&self) -> BTreeSet<u16> {
        let steps = self.operations.iter().flat_map(|operation| self.steps(operation));
        let prefill = self.prefill.steps.iter().flat_map(|step| self.step(step));
        kinds_of(steps.chain(self.setup_steps()).chain(prefill)).collect()
    }

    /// The most bytes of values that one of its operations, or of the steps of its prefill, sends, where the knob says `value_size`; 0 when no value is
    /// written.
    pub fn most_value_bytes(&self, value_size: u32) -> u64 {
        let kinds: Vec<_> = self.value_kinds().collect();
        let largest = |kind: u16| u64::from(*kinds[usize::from(kind)].size.bounds(value_size).end());
        let before = self.prefill.operations();
        let of = |operation| kinds_of(self.steps(operation)).map(largest).sum();
        self.asked().chain(&before).map(of).max().unwrap_or(0)
    }

    /// Whether it sends values, and all of them have sizes of their own, so that no knob changes these.
    pub fn has_own_sizes(&self) -> bool {
        let kinds: Vec<_> = self.value_kinds().collect();
        let used = self.used_values();
        !used.is_empty() && used.iter().all(|kind| !kinds[usize::from(*kind)].size.is_knobs())
    }

    /// Whether there are such values, where the knob says `value_size`.
    ///
    /// # Errors
    /// Says of which kind there are none, and why.
    pub fn check_values(&self, value_size: u32) -> Result<(), WorkloadError> {
        for (name, kind) in &self.values {
            let wrong = |cause| WorkloadError::Values { values: name.clone(), cause };
            kind.check(value_size).map_err(wrong)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Operation;

    fn of(values: &[(&str, &str)], steps: &[&str]) -> Workload {
        let values = values.iter().map(|(name, kind)| ((*name).to_owned(), kind.parse().unwrap()));
        let operations = steps.iter().map(|step| Operation::command(step, 1)).collect();
        Workload { values: values.collect(), operations, ..Workload::default() }
    }

    #[test]
    fn the_most_bytes_of_values_are_those_of_the_kinds_that_operations_send() {
        let workload =
            of(&[("a", "64..1024"), ("b", "text")], &["SET k {a}", "HSET k f {b} g {value}", "PING"]);
        assert_eq!(workload.most_value_bytes(100), 1024);
        assert_eq!(workload.most_value_bytes(1000), 2000);
    }

    #[test]
    fn sizes_are_the_workloads_own_where_no_value_follows_the_knob() {
        let own = |kinds: &[(&str, &str)], steps: &[&str]| of(kinds, steps).has_own_sizes();
        assert!(own(&[("a", "64"), ("b", "text")], &["SET k {a}"]));
        assert!(own(&[("value", "64")], &["SET k {value}"]));
        assert!(!own(&[("a", "64"), ("b", "text")], &["SET k {a}", "SET k {b}"]));
        assert!(!own(&[("a", "64")], &["SET k {value}"]) && !own(&[("a", "64")], &["PING"]));
    }
}
