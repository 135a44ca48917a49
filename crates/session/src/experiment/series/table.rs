//! The table of a series. The table has a row for each cell and for each operation of the cell. Published figures are
//! in the row below.
//!
//! ```text
//! run   size  operation   ops/s    mean     p99
//! Load   128  INSERT      121 k  410 µs  640 µs
//!             published   134 k  473 µs  687 µs
//! A      128  all         110 k  450 µs  700 µs  3 errors
//!             READ       55.0 k  440 µs  680 µs
//! ```

use serde::{Deserialize, Deserializer, de::Error as _};

use super::{CellFigures, Figures, MeasuredCell, Series, SeriesCell};
use crate::{
    gauge::{GAUGES, Gauge, GaugeKind},
    units,
};

/// The layout of the table of a series.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct TableLayout {
    /// The unit that the table counts instead of operations.
    pub counted: Option<String>,
    /// Times in milliseconds. The column for a time shows the share of requests that took at most this time.
    pub within_ms: Vec<f64>,
    /// Gauges of the server and of its machine. The column for a gauge shows its mean during the load. For a counter,
    /// the column shows the mean per second.
    #[serde(deserialize_with = "gauges")]
    pub gauges: Vec<Gauge>,
}

/// Parses the names of gauges.
fn gauges<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Gauge>, D::Error> {
    let names = Vec::<String>::deserialize(deserializer)?;
    let gauge = |name: &String| {
        GAUGES
            .into_iter()
            .find(|gauge| gauge.about().name == name)
            .ok_or_else(|| D::Error::custom(format!("there is no gauge '{name}'")))
    };
    names.iter().map(gauge).collect()
}

/// The result of a cell, or the reason why the cell failed.
pub type CellOutcome = Result<MeasuredCell, String>;

/// The results of a series so far.
pub struct SeriesTable<'a> {
    series: &'a Series,
    /// The results by cell, in order.
    rows: Vec<(&'a SeriesCell, Option<CellOutcome>)>,
    /// Whether the table includes published figures.
    has_published: bool,
}

/// The remark on a row of published figures, if the row has no other remark.
const PUBLISHED: &str = "published";

impl<'a> SeriesTable<'a> {
    /// Returns the table for these cells of `series`, without results yet.
    pub fn new(series: &'a Series, cells: &[&'a SeriesCell], has_published: bool) -> Self {
        Self { series, rows: cells.iter().map(|cell| (*cell, None)).collect(), has_published }
    }

    /// Adds the result of the next cell.
    pub fn put(&mut self, outcome: &CellOutcome) {
        let next = self.rows.iter_mut().find(|(_, outcome)| outcome.is_none());
        next.into_iter().for_each(|row| row.1 = Some(outcome.clone()));
    }

    /// Returns the number of failed cells.
    pub fn failed(&self) -> usize {
        self.rows.iter().filter(|(_, outcome)| matches!(outcome, Some(Err(_)))).count()
    }

    /// Returns the table, with aligned columns.
    pub fn written(&self) -> String {
        let names = self.names();
        let counted = self.series.layout.counted.as_deref().unwrap_or("ops");
        let limits = self.series.layout.within_ms.iter().map(|ms| format!("≤{ms} ms"));
        let gauges = self.series.layout.gauges.iter().map(|gauge| gauge.about().name.to_owned());
        let figures = [format!("{counted}/s"), "mean".to_owned(), "p99".to_owned()];
        let figures = figures.into_iter().chain(limits).chain(gauges);
        let heading: Vec<_> = names.iter().map(|name| (*name).to_owned()).chain(figures).collect();
        let columns = heading.len();
        let mut lines = vec![[heading, vec![String::new()]].concat()];
        for (cell, outcome) in &self.rows {
            lines.extend(self.of_cell(&names, columns, cell, outcome.as_ref()));
        }
        units::aligned(&lines, |n| (names.len()..columns).contains(&n))
    }

    /// Returns the names of the columns before the figures: the run, the lists and the operation. A list whose value
    /// only repeats the name of the operation is left out.
    fn names(&self) -> Vec<&str> {
        let mut names = vec!["run"];
        for (name, _) in self.rows.iter().flat_map(|(cell, _)| &cell.at) {
            let says_more = |(cell, _): &(&SeriesCell, _)| {
                let value = cell.at.iter().find(|(list, _)| list == name).map(|(_, value)| value);
                value.is_some_and(|value| !matches!(&names_of(cell)[..], [only] if only.contains(value)))
            };
            if !names.contains(&name.as_str()) && self.rows.iter().any(says_more) {
                names.push(name);
            }
        }
        names.push("operation");
        names
    }

    /// Returns the lines of a cell, each with a remark at its end.
    fn of_cell(
        &self,
        names: &[&str],
        columns: usize,
        cell: &SeriesCell,
        outcome: Option<&CellOutcome>,
    ) -> Vec<Vec<String>> {
        let at = |name: &&str| match *name {
            "run" => cell.run.clone(),
            list => {
                cell.at.iter().find(|(of, _)| of == list).map(|(_, value)| value.clone()).unwrap_or_default()
            }
        };
        let places: Vec<_> = names[..names.len() - 1].iter().map(at).collect();
        let blank = vec![String::new(); places.len()];
        let line = |before: &[String], operation: String, figures: Option<&Figures>, remark: String| {
            let cells = before.iter().cloned().chain([operation]);
            let mut cells: Vec<_> =
                cells.chain(figures.map(|of| written(of, &self.series.layout)).unwrap_or_default()).collect();
            let missing = if figures.is_some() { "-" } else { "" };
            cells.resize(columns, missing.to_owned());
            cells.push(remark);
            cells
        };
        let operations = names_of(cell);
        let measured = match outcome {
            Some(Ok(measured)) => Some(measured.figures(cell, &self.series.layout)),
            _ => None,
        };
        let published = self.series.published.of(cell).filter(|_| self.has_published);
        let mut lines = Vec::new();
        for (n, name) in operations.iter().enumerate() {
            let figures = measured.as_ref().and_then(|of| of_operation(of, name, operations.len()));
            let before = if n == 0 { &places } else { &blank };
            let remarks = if n == 0 { remark(outcome) } else { String::new() };
            lines.push(line(before, name.clone(), figures, remarks));
            if let Some(figures) = published.as_ref().and_then(|of| of_operation(of, name, operations.len()))
            {
                lines.push(line(&blank, PUBLISHED.to_owned(), Some(figures), String::new()));
            }
        }
        lines
    }
}

/// Returns the names of a cell's rows: the name of its only operation, or `all` and then the names of its operations.
fn names_of(cell: &SeriesCell) -> Vec<String> {
    let names: Vec<_> = cell.workload.active_operations().map(|operation| operation.name.clone()).collect();
    if names.len() == 1 { names } else { [ALL.to_owned()].into_iter().chain(names).collect() }
}

const ALL: &str = "all";

/// Returns the figures of the row called `name`. If the cell has only one row, these are the figures of the
/// whole cell.
fn of_operation<'a>(of: &'a CellFigures, name: &str, rows: usize) -> Option<&'a Figures> {
    if rows == 1 || name == ALL { Some(&of.all) } else { of.operations.get(name) }
}

fn written(figures: &Figures, layout: &TableLayout) -> Vec<String> {
    let latency = |us: Option<f64>| us.map(|us| units::latency((us * 1e3) as u64));
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let first = [figures.ops_per_s.map(units::count), latency(figures.mean_us), latency(figures.p99_us)];
    // Like in published tables, shares have two decimals, so that a share near 100 % is not rounded up to
    // 100 %.
    let share = |percent: &f64| format!("{percent:.2} %");
    let shares = (0..layout.within_ms.len()).map(|n| or_none(figures.within.get(n).map(share)));
    let mean =
        |gauge: &Gauge| or_none(figures.gauges.get(gauge.about().name).map(|mean| mean_text(*gauge, *mean)));
    first.into_iter().map(or_none).chain(shares).chain(layout.gauges.iter().map(mean)).collect()
}

/// Returns the mean of a gauge as text; the mean of a counter is per second.
fn mean_text(gauge: Gauge, mean: f64) -> String {
    let per_s = if gauge.about().kind == GaugeKind::Added { "/s" } else { "" };
    gauge.written(mean) + per_s
}

/// Returns the remark on a cell: the reason for missing figures, the errors, or that redyno was the limit.
fn remark(outcome: Option<&CellOutcome>) -> String {
    match outcome {
        None => "not run".to_owned(),
        Some(Err(why)) => format!("failed: {why}"),
        Some(Ok(measured)) => {
            let errors = Some(measured.errors()).filter(|errors| *errors > 0);
            let parts = [
                errors.map(|errors| units::count_with_noun(errors, "error")),
                measured.our_limit().map(|_| "redyno is the limit".to_owned()),
            ];
            parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        experiment::series::CellSums,
        session::{Interval, OperationInterval, Record, Segment, SessionEnd, Summary},
        stats::fixture::repeated,
        workload::Settings,
    };

    const FILE: &str = r#"
about = "reads and writes"
[parameters]
size = [64, 1024]
[load]
requests = 10
data-size = "$size"
[[run]]
name = "GET"
workload = "get"
[[run]]
name = "half"
workload = "mixed"
[table]
within-ms = [0.3]
[published]
source = "us"
cells = [
    { run = "GET", at = { size = 64 }, ops-per-s = 444000, within = [31.02] },
    { run = "half", at = { size = 1024 }, ops-per-s = 100, operations = { SET = { mean-us = 450, p99-us = 618 } } },
]
"#;

    fn series() -> Series {
        let file = ("mine.toml", "mine");
        Series::parse(FILE, file, std::path::Path::new(""), &Settings::default()).unwrap()
    }

    /// Returns a cell with 3000 operations in two seconds, including 1000 SETs. A prefill before the operations does
    /// not count.
    fn measured(errors: u64) -> MeasuredCell {
        let mut gathered = CellSums::default();
        let segment = |segment, warmup| {
            let knobs = crate::knobs::Knobs::default();
            Record::Segment(Segment { warmup, ..Segment::new(0.0, segment, knobs) })
        };
        let part = |ops, ns| OperationInterval { ops, service: repeated(ns, ops), ..Default::default() };
        let interval = |segment| {
            let commands = [("GET", part(2000, 200_000)), ("SET", part(1000, 400_000))];
            let commands = commands.map(|(name, part)| (name.to_owned(), part)).into();
            Record::Interval(Box::new(Interval {
                segment,
                length_s: 2.0,
                ops: 3000,
                commands,
                ..Interval::default()
            }))
        };
        for record in [segment(1, true), interval(1), segment(2, false), interval(2)] {
            gathered.push(&record);
        }
        let mut service = repeated(200_000, 2000);
        service.merge(&repeated(400_000, 1000));
        let errors = [("OOM".to_owned(), errors)].into();
        let summary = Summary { length_s: 2.0, ops: 3000, service, errors, ..Summary::default() };
        gathered.push(&Record::End(Box::new(SessionEnd { t_s: 2.0, summary, ..SessionEnd::default() })));
        gathered.measured().unwrap()
    }

    #[test]
    fn a_cell_and_each_of_its_operations_have_a_row() {
        let series = series();
        let cells: Vec<_> = series.cells.iter().collect();
        let mut table = SeriesTable::new(&series, &cells, false);
        table.put(&Ok(measured(0)));
        table.put(&Err("connection refused".to_owned()));
        table.put(&Ok(measured(7)));
        assert_eq!(table.failed(), 1);
        assert_eq!(
            table.written(),
            "run   size  operation   ops/s    mean     p99   ≤0.3 ms\n\
             GET   64    GET        1.50 k  267 µs  400 µs   66.67 %\n\
             GET   1024  GET                                          failed: connection refused\n\
             half  64    all        1.50 k  267 µs  400 µs   66.67 %  7 errors\n\
             \x20           GET        1.00 k  200 µs  200 µs  100.00 %\n\
             \x20           SET           500  400 µs  400 µs    0.00 %\n\
             half  1024  all                                          not run\n\
             \x20           GET\n\
             \x20           SET\n"
        );
    }

    #[test]
    fn published_figures_are_below_the_measured_figures() {
        let series = series();
        let cells: Vec<_> = series.cells.iter().collect();
        let mut table = SeriesTable::new(&series, &cells[..1], true);
        table.put(&Ok(measured(0)));
        assert!(
            table.written().ends_with("           published   444 k       -       -  31.02 %\n"),
            "{}",
            table.written()
        );
        let written = SeriesTable::new(&series, &cells[3..], true).written();
        let rows: Vec<_> =
            written.lines().map(str::trim).filter(|line| line.starts_with(PUBLISHED)).collect();
        assert_eq!(rows.len(), 2, "of all, and of SET: {written}");
        assert!(rows[1].contains("450 µs  618 µs"), "{written}");
    }

    #[test]
    fn a_list_of_operations_has_no_column_of_its_own() {
        let text = FILE.replace("size = [64, 1024]", "size = [64]\ntest = [\"GET\", \"SET\"]");
        let text = text.replace("workload = \"mixed\"", "workload = \"mixed\"\noperations = [\"$test\"]");
        let text = text.split("[published]").next().unwrap();
        let series =
            Series::parse(text, ("mine.toml", "mine"), std::path::Path::new(""), &Settings::default());
        let series = series.unwrap();
        let table = SeriesTable::new(&series, &series.cells.iter().collect::<Vec<_>>(), false);
        assert!(table.written().starts_with("run   size  operation  ops/s"), "{}", table.written());
    }

    #[test]
    fn each_command_of_a_batch_counts() {
        let series = series();
        let cell = SeriesCell { each: 100, ..series.cells[0].clone() };
        let figures = measured(0).figures(&cell, &series.layout);
        assert_eq!(
            (figures.all.ops_per_s, figures.operations["GET"].ops_per_s),
            (Some(150_000.0), Some(100_000.0))
        );
    }
}
