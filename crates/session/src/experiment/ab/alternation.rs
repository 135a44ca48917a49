//! Alternates between the two sides of an A/B experiment. A part is one measurement of one side, some seconds long. A
//! pair has one part of each side. More pairs follow until the result is clear or the time is over.

use std::{collections::BTreeSet, time::Duration};

use super::{
    Ab,
    pair::{Pair, Side, value},
};
use crate::{
    compare::{Difference, DifferenceTable, Sides},
    experiment::{
        WordsError,
        measurement::{ENOUGH_FOR_P99, Measurement},
    },
    session::{
        Interval, Order,
        figures::{self, Figure, FigureUnit},
    },
    stats::Verdict,
};

/// The figures that are compared for all operations together.
const OF_ALL: [Figure; 7] = [
    figures::OPS_PER_S,
    figures::SERVICE_P50,
    figures::SERVICE_P99,
    figures::SERVICE_P999,
    figures::RESPONSE_P50,
    figures::RESPONSE_P99,
    figures::RESPONSE_P999,
];
/// The figures that are compared for each operation, if a workload has several operations.
const OF_OPERATION: [Figure; 2] = [figures::OPS_PER_S, figures::SERVICE_P99];

/// The times of an A/B, which measures two settings or targets (A and B) in alternation.
#[derive(Debug, Clone, Copy)]
pub struct AbPlan {
    /// The time in seconds after each switch to the other side. This time is not measured.
    pub settle_s: f64,
    /// The length of a part (one measurement of one side), in seconds.
    pub part_s: f64,
    /// The longest part, in seconds. A part with too few samples for a p99 is extended up to this length.
    pub longest_part_s: f64,
    /// The time limit in seconds. The A/B then ends even if the result is not clear.
    pub limit_s: f64,
    /// Whether the A/B continues even if redyno itself is the limit for both A and B.
    pub anyway: bool,
}

impl Default for AbPlan {
    /// Returns a plan in which a side is under load for seven seconds at a time. The whole A/B ends within three
    /// minutes.
    fn default() -> Self {
        Self { settle_s: 1.0, part_s: 3.0, longest_part_s: 10.0, limit_s: 170.0, anyway: false }
    }
}

impl AbPlan {
    /// Returns the plan with parts of this length. `None` keeps the length.
    ///
    /// # Errors
    /// Fails if the parts are so long that the A/B ends before its first pair.
    pub fn with_parts_of(self, length: Option<Duration>) -> Result<Self, WordsError> {
        let part_s = length.map_or(self.part_s, |length| length.as_secs_f64());
        // One second is for the switch.
        let most_s = self.limit_s / 2.0 - self.settle_s - 1.0;
        if part_s > most_s {
            let limit_s = self.limit_s;
            let text = format!(
                "--part {part_s} is too long: the comparison ends after {limit_s} s, before both A and B are measured; give at most {most_s}"
            );
            return Err(WordsError::of(text));
        }
        Ok(Self { part_s, longest_part_s: self.longest_part_s.max(part_s), ..self })
    }

    /// Returns the time for each further pair, in seconds. The result includes two parts, and the time after a switch
    /// that is not measured.
    fn pair_s(&self) -> f64 {
        2.0 * self.part_s + self.settle_s
    }

    /// Returns whether a measurement is long enough for a part.
    fn is_enough(&self, filling: &Measurement) -> bool {
        let latencies = filling.measured.response.as_ref();
        filling.has(self.part_s)
            && (latencies.is_none_or(|response| response.count() >= ENOUGH_FOR_P99)
                || filling.has(self.longest_part_s))
    }
}

/// The A/B ends early if redyno was the limit for both A and B in this many first pairs. A short disturbance of this
/// machine seldom lasts for three pairs.
const LIMITED_PAIRS: usize = 3;
/// The A/B ends early if this many pairs in a row have a part without any success. A restart of a server is shorter.
const SILENT_PAIRS: usize = 2;

impl Ab {
    /// Returns the pairs that are not left out.
    pub(super) fn counted(&self) -> impl Iterator<Item = &Pair> {
        self.pairs.iter().filter(|pair| pair.left_out.is_none())
    }

    /// Returns the figures that decide which side of a pair is better: throughput, p50 and p99.
    pub fn figures(&self) -> [Figure; 3] {
        Pair::figures(self.is_open)
    }

    /// Returns the figure that decides the A/B: throughput in closed loops, and the p99 of the response time
    /// in open loops.
    pub(super) fn decides(&self) -> Figure {
        let [throughput, _, p99] = self.figures();
        if self.is_open { p99 } else { throughput }
    }

    /// Returns the difference between A and B in this figure, over all pairs so far. If `operation` is `None`, the
    /// difference is for all operations together.
    pub(super) fn difference(&self, operation: Option<&str>, figure: Figure) -> Difference {
        let values = self.sums.each_ref().map(|sum| value(sum, operation, figure));
        if figure.unit == FigureUnit::Trouble {
            return Difference::unjudged(operation, figure, values);
        }
        let differences: Vec<_> =
            self.counted().filter_map(|pair| pair.difference(operation, figure)).collect();
        Difference::of_pairs(operation, figure, values, &differences, self.is_last)
    }

    /// Returns a table of all figures. The first rows are for all operations together and for receivers of
    /// messages. If there are several operations, each has its own rows.
    pub fn table(&self) -> DifferenceTable {
        let names: BTreeSet<_> = self.sums.iter().flat_map(|sum| sum.commands.keys()).collect();
        let names = if names.len() < 2 { BTreeSet::new() } else { names };
        let of_operations = names
            .iter()
            .flat_map(|name| OF_OPERATION.map(|figure| self.difference(Some(name.as_str()), figure)));
        let all = OF_ALL.iter().chain(&figures::OF_RECEIVERS);
        let all = all.map(|figure| self.difference(None, *figure)).chain(of_operations);
        let was_measured = |row: &Difference| row.figure == figures::OPS_PER_S || row.values != [None, None];
        DifferenceTable { sides: Sides::Ab, rows: all.filter(was_measured).collect() }
    }

    /// Returns whether the time of the alternation is over at `now_s`.
    pub(super) fn is_late(&self, now_s: f64) -> bool {
        self.since_s.is_some_and(|since_s| now_s > since_s + self.plan.limit_s)
    }

    /// Returns the reason why redyno itself was the limit for both A and B in all pairs so far. More pairs would then
    /// only compare redyno with itself. Returns `None` if redyno was not the limit, if there are fewer than three
    /// pairs, or if the A/B must continue anyway.
    pub(super) fn client_limit(&self) -> Option<String> {
        let is_judged = self.pairs.len() >= LIMITED_PAIRS && !self.plan.anyway;
        let is_limited = is_judged && self.pairs.iter().all(Pair::is_limited);
        self.pairs.last().filter(|_| is_limited).and_then(Pair::client_limit)
    }

    /// Returns the reason why further pairs would decide nothing, if there is one.
    pub(super) fn obstacle(&self) -> Option<String> {
        let is_silent = |pair: &&Pair| pair.parts.iter().any(|part| part.ops == 0);
        if self.pairs.iter().rev().take_while(is_silent).count() >= SILENT_PAIRS {
            return Some(format!("no request succeeded on one side of the last {SILENT_PAIRS} pairs"));
        }
        self.client_limit().map(|why| format!("redyno itself is the limit for both A and B: {why}"))
    }

    /// Returns the maximum number of pairs within the time limit.
    pub(super) fn most_pairs(&self) -> usize {
        ((self.plan.limit_s - self.plan.part_s) / self.plan.pair_s()).max(1.0) as usize
    }

    /// Begins to measure the requested side. The setting of the side has been in effect since `since_s`, in
    /// seconds since the session began.
    pub(super) fn begin_block(&mut self, since_s: f64) {
        let parts = if self.before.is_none() { 1 } else { 2 };
        self.block = Some((Measurement::after_backlog(since_s, self.plan.settle_s), parts));
    }

    /// Adds an interval of the side in effect, and returns the resulting orders.
    pub(super) fn measure(&mut self, measured: &Interval) -> Vec<Order> {
        let Some((filling, parts)) = &mut self.block else { return Vec::new() };
        if !filling.take(measured) || !self.plan.is_enough(filling) {
            return Vec::new();
        }
        let part = filling.next();
        *parts -= 1;
        let is_whole = *parts == 0;
        if let Some(before) = self.before.take() {
            let now_s = self.now_s.unwrap_or_default();
            self.add_pair(now_s, before, part.clone());
            self.is_last = self.is_late(now_s + self.plan.pair_s());
            let is_clear = !matches!(self.verdict().verdict, Some(Verdict::NotClear(_)));
            if self.is_last || is_clear || self.obstacle().is_some() {
                return self.conclude(false);
            }
        }
        if !is_whole {
            return Vec::new();
        }
        self.before = Some(part);
        self.block = None;
        self.side = self.side.other();
        self.request_side()
    }

    fn add_pair(&mut self, t_s: f64, before: Interval, after: Interval) {
        let parts = if self.side == Side::B { [before, after] } else { [after, before] };
        let is_spoilt = |part: &Interval| part.outage_s > 0.0 || !part.connections_lost.is_empty();
        let left_out = parts.iter().any(is_spoilt).then_some("connections were lost");
        if left_out.is_none() {
            self.sums.iter_mut().zip(&parts).for_each(|(sum, part)| sum.merge(part));
        }
        self.pairs.push(Pair {
            pair: self.pairs.len() as u32 + 1,
            t_s,
            first: self.side.other(),
            is_open: self.is_open,
            parts: parts.into(),
            left_out,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        experiment::ExperimentSetting,
        knobs::Knobs,
        session::{ReceivedMessages, ReceiverResults},
        stats::fixture::repeated,
    };

    /// Returns an A/B of two open loops.
    fn ab() -> Ab {
        let knobs = Knobs { load: true, rate: Some(40), ..Knobs::default() };
        let setting = |text| ExperimentSetting::parse(text, &knobs).unwrap();
        Ab::new(setting("clients 1"), setting("clients 2"), AbPlan::default())
    }

    fn quarter(n: u32) -> Interval {
        Interval { t_s: 7.0 + f64::from(n + 1) * 0.25, length_s: 0.25, ops: 10, ..Interval::default() }
    }

    /// Returns an A/B with a side B that has been in effect since 7 s.
    fn second() -> Ab {
        let mut ab = ab();
        (ab.since_s, ab.side, ab.before) = (Some(0.0), Side::B, Some(Interval::default()));
        ab.begin_block(7.0);
        ab
    }

    /// Measures an interval that is complete at `t_s`. Returns whether the A/B switches to the other side.
    fn switches(ab: &mut Ab, measured: &Interval, t_s: f64) -> bool {
        ab.now_s = Some(t_s);
        !ab.measure(measured).is_empty()
    }

    #[test]
    fn the_first_second_is_left_out_and_the_rest_is_in_parts() {
        let mut ab = second();
        assert_eq!((0..30).position(|n| switches(&mut ab, &quarter(n), quarter(n).t_s)), Some(27));
        let [pair] = &ab.pairs[..] else { panic!("{:?}", ab.pairs) };
        assert_eq!((pair.parts[1].ops, pair.parts[1].t_s, pair.t_s), (120, 11.0, 11.0));
        let before = ab.before.unwrap();
        assert_eq!((before.ops, before.t_s, ab.side), (120, 14.0, Side::A));
    }

    #[test]
    fn in_an_open_loop_a_part_waits_for_the_old_backlog_and_for_enough_samples() {
        let open =
            |n, behind_us, count| Interval { behind_us, response: Some(repeated(5, count)), ..quarter(n) };
        let ends = |behind: fn(u32) -> u64, count| {
            let mut ab = second();
            (0..100).find(|n| {
                switches(&mut ab, &open(*n, behind(*n), count), 8.0);
                !ab.pairs.is_empty()
            })
        };
        assert_eq!(ends(|_| 0, 1000), Some(15));
        assert_eq!(ends(|n| if n < 8 { 500_000 } else { 300 }, 1000), Some(19));
        assert_eq!(ends(|_| 500_000, 1000), Some(31), "it is its own");
        assert_eq!(ends(|_| 0, 50), Some(4 + 21));
        assert_eq!(ends(|_| 0, 5), Some(4 + 39), "too slow to decide");
    }

    /// Returns the names and values of the rows of a measurement.
    fn rows(measured: &Interval) -> Vec<(String, f64)> {
        let mut ab = ab();
        ab.add_pair(9.0, measured.clone(), measured.clone());
        let rows = ab.table().rows;
        rows.iter().map(|row| (row.name(), row.values[0].unwrap().round())).collect()
    }

    #[test]
    fn received_and_lost_messages_have_rows() {
        let received =
            ReceivedMessages { times: repeated(9000, 3000), lost: Some(4), ..ReceivedMessages::default() };
        let arrivals = ReceiverResults { handover: Some(received.into()), ..ReceiverResults::default() };
        let measured = Interval { length_s: 2.0, arrivals, ..Interval::default() };
        let rows = rows(&measured);
        let expected = [("ops/s", 0.0), ("hand p50", 9000.0), ("hand p99", 9000.0), ("lost", 4.0)];
        assert!(rows.iter().map(|(name, value)| (name.as_str(), *value)).eq(expected), "{rows:?}");
    }

    #[test]
    fn a_table_has_rows_for_operations_if_there_are_several() {
        let operation = |ops, ns| crate::session::OperationInterval {
            ops,
            service: repeated(ns, ops),
            ..Default::default()
        };
        let mut measured = Interval {
            length_s: 2.0,
            ops: 3000,
            ops_per_s: 1500.0,
            service: repeated(5000, 3000),
            response: Some(repeated(7000, 3000)),
            ..Interval::default()
        };
        measured.commands.insert("GET".to_owned(), operation(2000, 5000));
        assert_eq!(rows(&measured).len(), 5);
        measured.commands.insert("SET".to_owned(), operation(100, 5000));
        let rows = rows(&measured);
        let counts: Vec<_> = rows.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        let expected = [
            ("ops/s", 1500.0),
            ("p50", 5000.0),
            ("p99", 5000.0),
            ("resp p50", 7000.0),
            ("resp p99", 7000.0),
            ("GET ops/s", 1000.0),
            ("GET p99", 5000.0),
            ("SET ops/s", 50.0),
        ];
        assert_eq!(counts, expected, "3000 are too few for a p99.9, and 100 for a p99");
    }
}
