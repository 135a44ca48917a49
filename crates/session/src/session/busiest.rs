//! Sorts the operations in an interval of a session by their number of replies, and adds up the results of
//! operations.

use super::{
    Interval, OperationInterval,
    part::{add_counts, add_up, merge_some},
};

impl Interval {
    /// Returns the operations and their labels, by descending number of replies. Errors count as replies.
    pub fn busiest(&self) -> Vec<(&str, &OperationInterval)> {
        let answers = |part: &OperationInterval| part.ops + part.errors.values().sum::<u64>();
        let mut all: Vec<_> = self.commands.iter().map(|(label, part)| (label.as_str(), part)).collect();
        // Operations with equal numbers keep the order of their names.
        all.sort_by_key(|(_, part)| std::cmp::Reverse(answers(part)));
        all
    }
}

impl OperationInterval {
    /// Returns the number of good replies that count in the rate of the load. In closed loop, drained replies (after
    /// the end of a segment) do not count.
    pub fn in_rate(&self) -> u64 {
        self.ops.saturating_sub(self.out_of_rate)
    }

    /// Adds the results of an interval to the sum. `is_open` is true if the load was an open loop in this interval.
    pub(super) fn add(&mut self, later: &Self, is_open: bool) {
        self.merge(later);
        if !is_open {
            self.out_of_rate += later.drained - later.out_of_rate;
        }
    }

    /// Adds the counts and latencies of `later`.
    pub fn merge(&mut self, later: &Self) {
        add_up!(self += later, ops drained out_of_rate hits misses conflicts not_found bytes_in bytes_out);
        add_counts(&mut self.errors, &later.errors);
        add_counts(&mut self.requests, &later.requests);
        self.service.merge(&later.service);
        merge_some(&mut self.response, later.response.as_ref());
        if let Some(later) = &later.steps {
            self.steps.get_or_insert_default().merge(later);
        }
    }

    /// Returns the sum of the results of several operations.
    pub fn sum<'a>(parts: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut sum = Self::default();
        parts.into_iter().for_each(|part| sum.merge(part));
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_with_the_most_replies_come_first_and_errors_count_as_replies() {
        let part = |ops: u64, errors: u64| OperationInterval {
            ops,
            errors: [("ERR".to_owned(), errors)].into(),
            ..OperationInterval::default()
        };
        let parts = [("a", part(5, 0)), ("b", part(9, 0)), ("c", part(0, 7)), ("d", part(5, 0))];
        let commands = parts.map(|(label, part)| (label.to_owned(), part)).into();
        let interval = Interval { commands, ..Interval::default() };
        let all = interval.busiest();
        assert_eq!(all.iter().map(|(label, _)| *label).collect::<String>(), "bcad");
        assert_eq!(OperationInterval::sum(all[1..].iter().map(|(_, part)| *part)), part(10, 7));
    }
}
