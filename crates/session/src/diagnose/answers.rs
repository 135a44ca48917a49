//! Counts the answered requests of the load by command and by operation. The rules of findings use these counts.

use std::collections::BTreeMap;

use crate::session::{Interval, OperationInterval};

/// The requests of the load that were answered in an interval.
#[derive(Debug, Clone, Default)]
pub(super) struct AnsweredRequests {
    /// The segment of the interval.
    pub(super) segment: u32,
    /// The number of requests by command; the command names are in lower case, as in the server's statistics.
    pub(super) requests: BTreeMap<String, u64>,
    /// The number of requests that the first node answered, by command.
    pub(super) to_first: BTreeMap<String, u64>,
    /// For each operation, by its name: the number of requests, and the sum of their times in microseconds.
    pub(super) operations: BTreeMap<String, (f64, f64)>,
}

impl AnsweredRequests {
    /// Counts the replies in an interval.
    pub(super) fn of(interval: &Interval) -> Self {
        let operation = |(name, part): (&String, &OperationInterval)| {
            (name.clone(), (part.ops as f64, part.ops as f64 * part.service.mean_ns() / 1e3))
        };
        let counted = |counts: &BTreeMap<String, u64>| {
            counts.iter().map(|(name, n)| (name.to_lowercase(), *n)).collect()
        };
        let first = interval.nodes.get(&0).map(|part| counted(&part.requests)).unwrap_or_default();
        Self {
            segment: interval.segment,
            requests: counted(&interval.requests),
            to_first: if interval.nodes.is_empty() { counted(&interval.requests) } else { first },
            operations: interval.commands.iter().map(operation).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_requests_to_the_first_node_are_its_own() {
        let requests = |n| [("GET".to_owned(), n)].into();
        let of = |n| OperationInterval { requests: requests(n), ..OperationInterval::default() };
        let alone = Interval { segment: 3, requests: requests(9), ..Interval::default() };
        let counted = |answers: AnsweredRequests| (answers.segment, answers.requests, answers.to_first);
        let lower = |n| [("get".to_owned(), n)].into();
        assert_eq!(counted(AnsweredRequests::of(&alone)), (3, lower(9), lower(9)));
        let divided = Interval { nodes: [(0, of(2)), (1, of(7))].into(), ..alone.clone() };
        assert_eq!(counted(AnsweredRequests::of(&divided)), (3, lower(9), lower(2)));
        let elsewhere = Interval { nodes: [(1, of(9))].into(), ..alone };
        assert_eq!(counted(AnsweredRequests::of(&elsewhere)), (3, lower(9), [].into()));
    }
}
