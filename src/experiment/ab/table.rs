//! The table of two targets: each figure with both values, the difference, and whether that is more than noise.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer, ser::SerializeStruct};

use super::{
    figure::Figure,
    verdict::{judgement_name, percent, signed},
};
use crate::{
    session::Interval,
    stats::paired::{Judgement, LAST, LOOK, Shift},
    units,
};

/// What was measured of both, pair by pair.
#[derive(Debug, Clone, Default)]
pub(super) struct Table {
    /// All parts of A, and of B.
    sums: [Interval; 2],
    /// How much more B was in each pair, in logarithms.
    differences: BTreeMap<Figure, Vec<f64>>,
}

/// A row of the table.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// What it is about.
    pub figure: Figure,
    /// The value over all parts of each target, in operations per second or µs.
    pub values: [Option<f64>; 2],
    /// How much more B is; `None` where no pair tells.
    pub shift: Option<Shift>,
    /// Whether that is more than noise, and who is better.
    pub judgement: Judgement,
}

impl Table {
    /// Takes the parts of a pair.
    pub fn add(&mut self, parts: &[Interval; 2]) {
        let [a, b] = parts.each_ref().map(|part| Figure::of(part).into_iter().collect::<BTreeMap<_, _>>());
        for (figure, a) in a {
            let b = b.get(&figure).copied().unwrap_or_default();
            if a > 0.0 && b > 0.0 {
                self.differences.entry(figure).or_default().push(b.ln() - a.ln());
            }
        }
        self.sums.iter_mut().zip(parts).for_each(|(sum, part)| sum.merge(part));
    }

    /// All figures that one of both has; `is_last` is whether no more pairs come.
    pub fn rows(&self, is_last: bool) -> Vec<Row> {
        let mut values: BTreeMap<Figure, [Option<f64>; 2]> = BTreeMap::new();
        for (n, sum) in self.sums.iter().enumerate() {
            for (figure, value) in Figure::of(sum) {
                values.entry(figure).or_default()[n] = Some(value);
            }
        }
        let row = |(figure, values): (Figure, _)| {
            let differences = self.differences.get(&figure).map_or(&[][..], Vec::as_slice);
            let shift = Shift::of(differences, if is_last { LAST } else { LOOK });
            let judge = |shift: Shift| shift.judge(figure.better(), is_last);
            let judgement = shift.map_or(Judgement::Undecided, judge);
            Row { figure, values, shift, judgement }
        };
        values.into_iter().map(row).collect()
    }
}

impl Row {
    /// How much more B is, with its interval: `+12 % (+9.0 to +15)`, `2.40 times (2.35 to 2.45)`.
    pub fn difference(&self) -> String {
        let Some(shift) = self.shift else { return "-".to_owned() };
        let share = shift.share();
        let times = |share: f64| units::count(1.0 + share);
        let (estimate, write): (_, &dyn Fn(f64) -> String) = match share >= 1.0 {
            true => (format!("{} times", times(share)), &times),
            false => (format!("{} %", signed(share)), &signed),
        };
        match shift.shares() {
            Some((low, high)) => format!("{estimate} ({} to {})", write(low), write(high)),
            None => estimate,
        }
    }

    /// Whether that is more than noise, in words.
    pub fn words(&self) -> String {
        let Some(shift) = self.shift else { return "not measured".to_owned() };
        match self.judgement {
            Judgement::Better => "more than noise: B is better".to_owned(),
            Judgement::Worse => "more than noise: A is better".to_owned(),
            Judgement::Same => {
                format!("no difference above {} %", percent(shift.above().unwrap_or_default()))
            }
            Judgement::Undecided if shift.interval.is_none() => "not clear: too few pairs".to_owned(),
            Judgement::Undecided => "no clear difference".to_owned(),
        }
    }

    /// A value as a person reads it, A's or B's.
    pub fn written(&self, n: usize) -> String {
        self.values[n].map_or_else(|| "-".to_owned(), |value| self.figure.written(value))
    }
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (low, high) = self.shift.and_then(Shift::shares).unzip();
        let mut record = serializer.serialize_struct("row", 8)?;
        record.serialize_field("figure", &self.figure.name())?;
        record.serialize_field("unit", self.figure.unit())?;
        record.serialize_field("a", &self.values[0])?;
        record.serialize_field("b", &self.values[1])?;
        record.serialize_field("change", &self.shift.map(Shift::share))?;
        record.serialize_field("low", &low)?;
        record.serialize_field("high", &high)?;
        record.serialize_field("verdict", judgement_name(self.judgement))?;
        record.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::fixture::repeated;

    fn part(ops: u64, ns: u64) -> Interval {
        Interval {
            length_s: 1.0,
            ops,
            ops_per_s: ops as f64,
            service: repeated(ns, ops),
            ..Interval::default()
        }
    }

    /// Twelve pairs whose parts of B vary so little.
    fn table(b_ops: u64, b_ns: u64) -> Table {
        let mut table = Table::default();
        (0..12).for_each(|n| table.add(&[part(2000, 10_000), part(b_ops + n % 3, b_ns)]));
        table
    }

    fn told(table: &Table) -> Vec<[String; 5]> {
        let row =
            |row: &Row| [row.figure.name(), row.written(0), row.written(1), row.difference(), row.words()];
        table.rows(true).iter().map(row).collect()
    }

    #[test]
    fn a_difference_is_told_with_its_interval_and_who_is_better() {
        let rows = told(&table(2400, 30_000));
        let row = |n: usize| rows[n].each_ref().map(String::as_str);
        assert_eq!(
            row(0),
            ["throughput", "2.00 k", "2.40 k", "+20 % (+20 to +20)", "more than noise: B is better"]
        );
        assert_eq!(row(1)[3..], ["3.00 times (3.00 to 3.00)", "more than noise: A is better"]);
        assert_eq!((rows.len(), row(3)[0], row(3)[3]), (4, "service p99.9", "-"));
        assert_eq!(row(3)[4], "not measured", "all parts of a target tell it, no pair does");
    }

    #[test]
    fn what_is_equal_is_no_difference_and_two_pairs_tell_nothing() {
        assert_eq!(told(&table(2000, 10_000))[0][4], "no difference above 0.1 %");
        let mut few = Table::default();
        (0..2).for_each(|_| few.add(&[part(2000, 10_000), part(4000, 10_000)]));
        assert_eq!(told(&few)[0][3..], ["2 times", "not clear: too few pairs"]);
        assert_eq!(Table::default().rows(true)[0].written(0), "0");
    }

    #[test]
    fn a_row_of_a_record_has_figures_and_no_words() {
        let row = serde_json::to_value(&table(2400, 30_000).rows(true)[1]).unwrap();
        assert_eq!((&row["figure"], &row["unit"]), (&"service p50".into(), &"us".into()));
        assert_eq!((row["a"].as_f64().unwrap().round(), &row["verdict"]), (10.0, &"worse".into()));
        assert!(row["low"].as_f64().unwrap() > 1.9, "{row}");
    }
}
