//! Derives a new workload from a given workload: with only some of the operations, or with the commands in batches.

use super::{Operation, Together, Workload, WorkloadError};

impl Workload {
    /// Returns the workload with only these operations. An operation with weight 0 gets weight 1. The prefill leaves
    /// out the keys that only other operations use.
    ///
    /// # Errors
    /// Fails if an operation does not exist. The error names the first missing operation.
    pub fn of_operations(&self, names: &[String]) -> Result<Self, WorkloadError> {
        let find = |name: &String| {
            let found = self.operations.iter().find(|operation| operation.name == *name);
            let none = || {
                let known: Vec<_> = self.operations.iter().map(|operation| operation.name.as_str()).collect();
                let (workload, known) = (&self.name, known.join(", "));
                invalid!("the workload '{workload}' has no operation '{name}'; give one of {known}")
            };
            found.cloned().ok_or_else(none)
        };
        let mut operations = names.iter().map(find).collect::<Result<Vec<_>, _>>()?;
        operations.iter_mut().for_each(|operation| operation.weight = operation.weight.max(1));
        Ok(self.prefilled_for(&Self { operations, ..self.clone() }))
    }

    /// Returns the workload with each operation repeated `times` times between MULTI and EXEC. Each repetition has its
    /// own keys and values.
    #[must_use]
    pub fn in_batches_of(&self, times: u32) -> Self {
        let batch = |operation: &Operation| Operation {
            steps: operation
                .steps
                .iter()
                .cycle()
                .take(operation.steps.len() * times as usize)
                .cloned()
                .collect(),
            together: Together::Multi,
            ..operation.clone()
        };
        Self { operations: self.operations.iter().map(batch).collect(), ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::preset;

    #[test]
    fn an_operation_without_weight_gets_weight_1() {
        let get = preset("alibaba-threads").unwrap().of_operations(&["GET".to_owned()]).unwrap();
        assert_eq!((get.to_string(), get.check()), ("GET".to_owned(), Ok(())));
        let error = get.of_operations(&["SET".to_owned()]).unwrap_err().to_string();
        assert_eq!(error, "the workload 'alibaba-threads' has no operation 'SET'; give one of GET");
    }

    #[test]
    fn a_batch_is_sent_between_multi_and_exec() {
        let batch = preset("mixed").unwrap().in_batches_of(3);
        let set = &batch.operations[1];
        assert_eq!(
            (set.together, set.steps.as_slice()),
            (Together::Multi, &["SET {key} {value}"; 3].map(str::to_owned)[..])
        );
        assert_eq!(batch.check(), Ok(()));
        assert!(batch.in_batches_of(1000).check().is_err(), "a batch has no more than 1000 steps");
    }
}
