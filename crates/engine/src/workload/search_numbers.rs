//! The numbers in searches for nearest vectors that a user can change while the load runs.

use std::{cmp::Reverse, ops::Range};

use super::{Workload, WorkloadError};

/// The highest value of a number in a search.
pub const MAX_SEARCH_NUMBER: u32 = 1_000_000;

/// A number in the searches of a workload. A search is `VSIM`, a command with `[KNN …]`, or a body with `"knn":`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchNumber {
    /// The number of nearest neighbours. In a search, the number of neighbours is the number after `KNN`, `COUNT` or
    /// `"k":`. In the same search, the number after `LIMIT 0` or `"size":` is also the number of neighbours.
    Neighbours,
    /// The number of candidates that the server keeps during a search. In a search, the number of candidates is the
    /// number after `EF_RUNTIME`, `EF` or `"ef_search":`.
    Ef,
}

impl SearchNumber {
    /// Returns the name of the number.
    pub fn name(self) -> &'static str {
        match self {
            Self::Neighbours => "neighbours",
            Self::Ef => "ef",
        }
    }

    /// Returns the words before the number in a step.
    fn words(self) -> &'static [&'static str] {
        match self {
            Self::Neighbours => &["KNN ", "COUNT ", "\"K\":", "LIMIT 0 ", "\"SIZE\":"],
            Self::Ef => &["EF_RUNTIME ", "EF ", "\"EF_SEARCH\":"],
        }
    }

    fn places(self, step: &str) -> Vec<Range<usize>> {
        let step = step.to_ascii_uppercase();
        if !step.starts_with("VSIM ") && !["[KNN ", "\"KNN\":"].iter().any(|word| step.contains(word)) {
            return Vec::new();
        }
        let place = |(at, word): (usize, &str)| {
            let blanks = step[at + word.len()..].bytes().take_while(|byte| *byte == b' ').count();
            let from = at + word.len() + blanks;
            let digits = step[from..].bytes().take_while(u8::is_ascii_digit).count();
            let is_word = !step[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
            (is_word && digits > 0).then_some(from..from + digits)
        };
        self.words().iter().flat_map(|word| step.match_indices(word)).filter_map(place).collect()
    }

    /// Returns the step (a command of an operation) with this value for the number.
    pub fn set(self, step: &str, value: u32) -> String {
        let (mut step, mut places) = (step.to_owned(), self.places(step));
        places.sort_unstable_by_key(|place| Reverse(place.start));
        places.into_iter().for_each(|place| step.replace_range(place, &value.to_string()));
        step
    }
}

impl Workload {
    /// Returns the value of the number in the first search that contains the number.
    pub fn search_number(&self, number: SearchNumber) -> Option<u32> {
        let mut steps = self.operations.iter().flat_map(|operation| &operation.steps);
        steps.find_map(|step| step[number.places(step).into_iter().next()?].parse().ok())
    }

    /// Returns the workload with this value for the number in all searches.
    ///
    /// # Errors
    /// Fails if no search has the number, or if the value is out of range.
    pub fn with_search_number(&self, number: SearchNumber, value: u32) -> Result<Self, WorkloadError> {
        let name = number.name();
        if self.search_number(number).is_none() {
            let words = number.words()[..2].iter().map(|word| word.trim()).collect::<Vec<_>>().join(" or ");
            return Err(invalid!(
                "this workload has no search with {words}, so there is no {name} to change; choose vector-set, vectors or opensearch-knn"
            ));
        }
        if !(1..=MAX_SEARCH_NUMBER).contains(&value) {
            return Err(invalid!("{name} must be between 1 and {MAX_SEARCH_NUMBER}, not {value}"));
        }
        let mut workload = self.clone();
        for step in workload.operations.iter_mut().flat_map(|operation| &mut operation.steps) {
            *step = number.set(step, value);
        }
        Ok(workload)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{Operation, preset};

    #[test]
    fn only_the_numbers_of_searches_are_found_and_changed() {
        let (neighbours, ef) = (SearchNumber::Neighbours, SearchNumber::Ef);
        for name in ["vectors", "vector-set", "opensearch-knn"] {
            let workload = preset(name).unwrap();
            assert_eq!(
                (workload.search_number(neighbours), workload.search_number(ef)),
                (Some(10), Some(50)),
                "{name}"
            );
        }
        let changed = preset("vectors")
            .unwrap()
            .with_search_number(neighbours, 100)
            .unwrap()
            .with_search_number(ef, 7)
            .unwrap();
        assert_eq!(
            changed.operations[0].steps[0],
            "FT.SEARCH {index} '*=>[KNN 100 @v $query EF_RUNTIME 7]' PARAMS 2 query {vector query 128} NOCONTENT \
             LIMIT 0 100 DIALECT 2"
        );
        let of =
            |step: &str| Workload { operations: vec![Operation::command(step, 1)], ..Workload::default() };
        assert_eq!(of("vsim s ELE a count 3 REEF 9").search_number(neighbours), Some(3));
        assert_eq!(of("vsim s ELE a count 3 REEF 9").search_number(ef), None);
        assert_eq!(of("XREAD COUNT 10 STREAMS s 0").search_number(neighbours), None);
        let error =
            |workload: &Workload, value| workload.with_search_number(ef, value).unwrap_err().to_string();
        assert_eq!(error(&changed, 0), "ef must be between 1 and 1000000, not 0");
        assert_eq!(
            error(&of("PING"), 5),
            "this workload has no search with EF_RUNTIME or EF, so there is no ef to change; choose vector-set, vectors or opensearch-knn"
        );
    }
}
