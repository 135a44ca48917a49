//! Connects a workload with its dataset. Finds the placeholders for parts of records, and opens the file.

use std::path::Path;

use super::{
    Dataset, DatasetError, Portion, Workload,
    step::{CommandStep, Fragment},
};

impl CommandStep {
    /// Returns the parts of a record that the step sends.
    pub(super) fn portions(&self) -> impl Iterator<Item = &Portion> {
        self.fragments().filter_map(|fragment| match fragment {
            Fragment::OfRecord(portion) => Some(portion),
            _ => None,
        })
    }

    /// Returns whether the step sends any part of a record.
    pub(super) fn is_of_record(&self) -> bool {
        self.portions().next().is_some()
    }
}

impl Workload {
    /// Returns the parts of a record that the operations send, without duplicates.
    pub fn portions(&self) -> Vec<Portion> {
        let mut portions: Vec<Portion> = Vec::new();
        let steps = self.compiled().operations.iter().flat_map(|operation| &operation.steps);
        for portion in steps.flat_map(CommandStep::portions) {
            if !portions.contains(portion) {
                portions.push(portion.clone());
            }
        }
        portions
    }

    /// Returns whether every operation with a weight above 0 uses a record.
    pub fn is_of_records(&self) -> bool {
        self.active_compiled().all(|operation| operation.steps.iter().any(CommandStep::is_of_record))
    }

    /// Returns the largest number of records that a request sends. A body for `_bulk` has several records.
    pub fn records_per_request(&self) -> u64 {
        let bulk =
            |portion: Portion| if let Portion::Bulk(most) = portion { most.parse().ok() } else { None };
        self.portions().into_iter().find_map(bulk).unwrap_or(1)
    }

    /// Returns the workload with a dataset of the first `most` records of a file. The function reads the file once.
    ///
    /// # Errors
    /// Fails if the workload sends no part of a record, if the file lacks a field, or if a record is invalid.
    pub fn with_dataset(&self, file: &Path, most: Option<u64>) -> Result<Self, DatasetError> {
        let portions = self.portions();
        if portions.is_empty() {
            return Err(DatasetError::Unused);
        }
        let bulk = portions.iter().find(|portion| matches!(portion, Portion::Bulk(_)));
        if let Some(bulk) = bulk.filter(|_| portions.len() > 1) {
            return Err(DatasetError::Mixed(bulk.clone()));
        }
        Ok(Self { dataset: Some(Dataset::open(file, portions, most)?), ..self.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        protocol::Dialect,
        workload::{Draws, KeyNames, OutgoingRequests, Program, Together, Values},
    };

    fn of(commands: &[&str]) -> Workload {
        Workload::of_commands(&commands.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>()).unwrap()
    }

    fn sent(workload: &Workload, times: usize) -> Vec<String> {
        let dataset = workload.dataset.as_ref().map(|dataset| dataset.first(u64::MAX));
        let workload = &Workload { dataset, ..workload.clone() };
        let program =
            Program::new(workload, Dialect::Resp2, 1, Values::new(workload, 3, 1), &KeyNames::given("k:"));
        let (mut draws, mut out) = (Draws::new(1), OutgoingRequests::default());
        (0..times).for_each(|_| _ = program.append(&mut draws, &mut out));
        let later = out.take_later().unwrap_or_default();
        let all = [&out].into_iter().chain(&later);
        all.map(|out| String::from_utf8(out.as_whole().unwrap().to_vec()).unwrap()).collect()
    }

    #[test]
    fn all_fields_of_an_operation_belong_to_one_record() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("docs.csv");
        let long = "y".repeat(200_000);
        std::fs::write(&file, format!("id,title\n1,one\n22,{long}\n")).unwrap();
        let workload = of(&["SET", "d:__field:id__", "<__field:title__>__field:id__"]);
        assert_eq!((workload.portions().len(), workload.is_of_records()), (2, true));
        let workload = workload.with_dataset(&file, None).unwrap();
        let [text] = &sent(&workload, 3)[..] else { panic!("all at once") };
        let first = "*3\r\n$3\r\nSET\r\n$3\r\nd:1\r\n$6\r\n<one>1\r\n";
        let second = format!("*3\r\n$3\r\nSET\r\n$4\r\nd:22\r\n$200004\r\n<{long}>22\r\n");
        assert_eq!(*text, [first, &second, first].concat());
        let mut steps = of(&["SET", "__field:id__", "x"]);
        steps.operations[0].steps.push("GET __field:id__".to_owned());
        steps.operations[0].together = Together::Sequence;
        let steps = steps.with_dataset(&file, None).unwrap();
        assert_eq!(
            sent(&steps, 1),
            ["*3\r\n$3\r\nSET\r\n$1\r\n1\r\n$1\r\nx\r\n", "*2\r\n$3\r\nGET\r\n$1\r\n1\r\n"]
        );
        assert_eq!(of(&["PING"]).with_dataset(&file, None), Err(DatasetError::Unused));
        assert!(!of(&["PING", ";", "GET", "__field:id__"]).is_of_records());
    }

    #[test]
    fn only_operations_can_use_records() {
        let mut workload = of(&["PING"]);
        workload.setup.steps.push("SET x __field:id__".to_owned());
        let error = workload.check().unwrap_err().to_string();
        assert_eq!(error, "the setup cannot send __field:id__ of a record; only operations can");
    }
}
