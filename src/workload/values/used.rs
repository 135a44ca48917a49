//! Which kinds of values a workload has, and how many bytes of them its operations send.

use crate::workload::{ValueKind, Workload, WorkloadError, step::Step};

impl Workload {
    /// The most bytes of values that one of its operations, or of the steps of its prefill, sends, where the knob says `value_size`; 0 when no value is
    /// written.
    pub fn most_value_bytes(&self, value_size: u32) -> u64 {
        let kinds: Vec<_> = self.value_kinds().collect();
        let largest = |kind: u16| u64::from(*kinds[usize::from(kind)].size.bounds(value_size).end());
        let asked = self.read_asked().map(|operation| operation.steps.as_slice());
        let of = |steps: &[Step]| steps.iter().flat_map(Step::values).map(largest).sum();
        asked.chain(self.compiled().prefill.chunks(1)).map(of).max().unwrap_or(0)
    }

    /// Whether it sends values, and all of them have sizes of their own, so that no knob changes these.
    pub fn has_own_sizes(&self) -> bool {
        let kinds: Vec<_> = self.value_kinds().collect();
        let used = &self.compiled().values;
        !used.is_empty() && used.iter().all(|kind| !kinds[usize::from(*kind)].size.is_knobs())
    }

    /// Whether there are such values, where the knob says `value_size`.
    ///
    /// # Errors
    /// Says of which kind there are none, and why.
    pub fn check_values(&self, value_size: u32) -> Result<(), WorkloadError> {
        self.values.iter().try_for_each(|(name, kind)| kind.check_named(name, value_size))
    }
}

impl ValueKind {
    /// Whether there are such values, called `name`, where the knob says `value_size`.
    pub(in crate::workload) fn check_named(&self, name: &str, value_size: u32) -> Result<(), WorkloadError> {
        self.check(value_size)
            .map_err(|cause| WorkloadError::of(format!("the values '{name}' cannot be: {cause}")))
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
