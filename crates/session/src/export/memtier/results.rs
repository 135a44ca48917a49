//! The results of a run in memtier_benchmark's JSON: by row, by second, and in total.

use std::collections::BTreeMap;

use super::value::JsonValue;
use crate::session::{Interval, OperationInterval, add_counts};

/// If a run has at most this number of seconds, the output also includes the seconds without replies.
const MOST_SECONDS: u64 = 600;

/// The results of one row: in total, and in each second since the start of the load.
#[derive(Debug, Clone, Default)]
pub struct ResultRow {
    /// The sum of all results.
    pub all: OperationInterval,
    /// The results that count for rates. In a closed loop, replies after the end of the load do not count.
    pub in_rate: OperationInterval,
    /// The results of each second, by the number of the second from 0.
    pub seconds: BTreeMap<u64, OperationInterval>,
}

impl ResultRow {
    fn add(&mut self, second: Option<u64>, part: &OperationInterval) {
        self.all.merge(part);
        if let Some(second) = second {
            self.in_rate.merge(part);
            self.seconds.entry(second).or_default().merge(part);
        }
    }

    fn add_all(&mut self, more: &Self) {
        self.all.merge(&more.all);
        self.in_rate.merge(&more.in_rate);
    }
}

/// The results of one run, or of several runs together.
#[derive(Debug, Clone, Default)]
pub struct Results {
    /// The rows, one for each kind of request.
    pub rows: Vec<ResultRow>,
    /// The results of all requests together.
    pub totals: ResultRow,
    /// The time under load, in seconds.
    pub length_s: f64,
    /// The start of the load, in seconds since the session began.
    pub(super) began_s: Option<f64>,
    /// The start of the load, in milliseconds since 1970.
    pub started_ms: u64,
    /// Requests that failed, by kind.
    pub errors: BTreeMap<String, u64>,
    /// Requests that were sent again because a node of a cluster redirected them, by kind; `None` without a cluster.
    pub redirects: Option<BTreeMap<String, u64>>,
    /// Connections that were lost or could not be opened.
    pub connection_errors: u64,
    /// Whether the run was ended early; `None` if unknown.
    pub is_interrupted: Option<bool>,
}

impl Results {
    /// Returns empty results with this number of rows, for a load that began at `started_ms`, in milliseconds since
    /// 1970.
    pub fn none(rows: usize, started_ms: u64) -> Self {
        let is_interrupted = Some(false);
        Self { rows: vec![ResultRow::default(); rows], started_ms, is_interrupted, ..Self::default() }
    }

    /// Adds an interval of the load. `row_of` returns the index of an operation's row.
    pub fn add(&mut self, interval: &Interval, row_of: impl Fn(&str) -> Option<usize>) {
        let Interval { t_s, length_s, .. } = *interval;
        let began_s = *self.began_s.get_or_insert(t_s - length_s);
        // An interval belongs to the second that contains its middle, because its end may be the start of the
        // next second.
        let is_in_rate = !interval.drain || interval.response.is_some();
        let second = is_in_rate.then_some((t_s - length_s / 2.0 - began_s).max(0.0) as u64);
        for (name, operation) in &interval.commands {
            if let Some(row) = row_of(name) {
                self.rows[row].add(second, operation);
            }
            self.totals.add(second, operation);
        }
        add_counts(&mut self.errors, &interval.errors);
        if let Some(redirects) = &mut self.redirects {
            add_counts(redirects, &interval.redirects);
        }
        let lost = interval.connections_lost.values().chain(interval.connects_failed.values());
        self.connection_errors += lost.sum::<u64>();
    }

    /// Returns the numbers of redirected requests, each with its name in the output, such as `MOVED/sec`;
    /// empty without a cluster.
    pub fn redirected(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let kinds = [("MOVED/sec", "MOVED"), ("ASK/sec", "ASK")];
        let each = |redirects| {
            kinds.map(|(name, kind)| (name, BTreeMap::get(redirects, kind).copied().unwrap_or(0)))
        };
        self.redirects.as_ref().map(each).into_iter().flatten()
    }

    /// Returns the numbers of all seconds from 0 to the last second with replies. If there are very many seconds and
    /// most have no replies, the function returns only the seconds with replies. This limits the output for a malicious
    /// recording, which may contain any time.
    pub fn seconds(&self) -> Vec<u64> {
        let with_replies = &self.totals.seconds;
        let end = with_replies.last_key_value().map_or(0, |(last, _)| last + 1);
        if end <= MOST_SECONDS || end / 10 <= with_replies.len() as u64 {
            return (0..end).collect();
        }
        with_replies.keys().copied().collect()
    }

    /// Returns a count divided by the time under load.
    pub fn per_s(&self, count: u64) -> f64 {
        if self.length_s > 0.0 { count as f64 / self.length_s } else { 0.0 }
    }

    /// Returns the sum of several runs, including their lengths.
    pub fn together(runs: &[Self]) -> Self {
        let Some((first, others)) = runs.split_first() else { return Self::default() };
        let mut sum = first.clone();
        sum.rows.iter_mut().chain([&mut sum.totals]).for_each(|row| row.seconds.clear());
        for run in others {
            sum.rows.iter_mut().zip(&run.rows).for_each(|(row, more)| row.add_all(more));
            sum.totals.add_all(&run.totals);
            sum.length_s += run.length_s;
            add_counts(&mut sum.errors, &run.errors);
            if let (Some(sum), Some(redirects)) = (&mut sum.redirects, &run.redirects) {
                add_counts(sum, redirects);
            }
            sum.connection_errors += run.connection_errors;
            sum.is_interrupted = sum.is_interrupted.max(run.is_interrupted);
        }
        sum
    }
}

/// The results of a run, and how they are written.
#[derive(Debug, Clone)]
pub struct TitledResults<'a> {
    /// The title of the run.
    pub title: &'a str,
    /// The commands of the rows.
    pub rows: &'a [String],
    /// The results of the run.
    pub results: &'a Results,
    /// The percentiles to write.
    pub percentiles: &'a [f64],
    /// Whether the latency distribution of each row is written.
    pub has_distributions: bool,
    /// Whether the commands are transactions. EXEC may report that a transaction was aborted.
    pub has_transactions: bool,
    /// A further field after the totals.
    pub more: Option<(&'static str, JsonValue)>,
}

impl TitledResults<'_> {
    /// Returns the number of aborted transactions of the row with the index `place`, or of all rows. An aborted
    /// transaction is a null reply to EXEC. Returns `None` for rows of other commands, and without transactions.
    pub fn aborts(&self, place: Option<usize>) -> Option<u64> {
        let all = self.rows.iter().zip(&self.results.rows).enumerate();
        let counted = all.filter(|(row, _)| self.has_transactions && place.is_none_or(|place| place == *row));
        let executed = counted.filter(|(_, (name, _))| *name == "EXEC");
        executed.map(|(_, (_, row))| row.in_rate.misses).reduce(|all, row| all + row)
    }
}

/// Converts nanoseconds to milliseconds.
pub fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

/// Converts bytes to KiB, which memtier_benchmark calls KB.
pub fn kib(bytes: f64) -> f64 {
    bytes / 1024.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_counted_by_row_and_by_second() {
        let mut results = Results::none(3, 0);
        let row_of = |name: &str| ["SET 1", "GET 2"].iter().position(|known| *known == name);
        for n in 0..5_u32 {
            let operation =
                |ops| OperationInterval { ops, hits: ops / 2, bytes_in: 7 * ops, ..Default::default() };
            let commands = [("SET 1".to_owned(), operation(2)), ("GET 2".to_owned(), operation(20))].into();
            let t_s = 0.35 + 0.25 * f64::from(n);
            results.add(&Interval { t_s, length_s: 0.25, commands, ..Interval::default() }, row_of);
        }
        results.length_s = 1.25;
        let seconds = |row: &ResultRow| {
            row.seconds.iter().map(|(second, part)| (*second, part.ops)).collect::<Vec<_>>()
        };
        assert_eq!(seconds(&results.rows[0]), [(0, 8), (1, 2)]);
        assert_eq!(seconds(&results.rows[1]), [(0, 80), (1, 20)]);
        assert_eq!(seconds(&results.rows[2]), []);
        let OperationInterval { ops, hits, bytes_in, .. } = results.totals.all;
        assert_eq!((ops, hits, bytes_in, results.per_s(ops)), (110, 55, 770, 88.0));
        let both = Results::together(&[results.clone(), results]);
        assert_eq!((both.rows[1].all.ops, both.per_s(both.totals.all.ops)), (200, 88.0));
        assert!(both.totals.seconds.is_empty());
    }

    #[test]
    fn a_long_time_without_replies_has_no_seconds() {
        let mut results = Results::none(0, 0);
        let commands = || [("SET".to_owned(), OperationInterval { ops: 1, ..Default::default() })].into();
        for t_s in [1.0, 5.0, 3e8] {
            let interval = Interval { t_s, length_s: 1.0, commands: commands(), ..Interval::default() };
            results.add(&interval, |_| None);
            assert_eq!(results.seconds().len(), if t_s < 9.0 { t_s as usize } else { 3 });
        }
    }
}
