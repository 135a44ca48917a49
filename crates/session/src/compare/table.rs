//! The table of a comparison, as text, in Markdown or as records.
//!
//! ```text
//!          A       B  B against A
//! ops/s    121 k   135 k  +12 % (+9.0 % to +15 %)      better: more than noise
//! p50     312 µs  310 µs  -0.6 % (-1.2 % to +0.4 %)    no difference above 1.2 %
//! ```

use serde::{Serialize, Serializer, ser::SerializeStruct};

use super::Difference;
use crate::{export::markdown_text, session::figures::FigureUnit, stats::Verdict, untrusted};

/// The names of both sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sides {
    /// A and B: two alternating settings or targets.
    Ab,
    /// The base and the new side.
    BaseNew,
}

impl Sides {
    fn names(self) -> [&'static str; 2] {
        match self {
            Self::Ab => ["A", "B"],
            Self::BaseNew => ["base", "new"],
        }
    }

    /// Returns the field names of the sides in a record.
    fn keys(self) -> [&'static str; 2] {
        match self {
            Self::Ab => ["a", "b"],
            Self::BaseNew => self.names(),
        }
    }
}

/// The differences of two sides.
#[derive(Debug, Clone)]
pub struct DifferenceTable {
    /// The names of the sides.
    pub sides: Sides,
    /// The rows: first the rows of all operations together, then the rows of each operation.
    pub rows: Vec<Difference>,
}

impl Difference {
    /// Returns a row: name, both values, change, verdict.
    pub fn cells(&self) -> [String; 5] {
        [untrusted::text(&self.name()), self.written(0), self.written(1), self.difference(), self.words()]
    }
}

impl DifferenceTable {
    fn heading(&self) -> [String; 5] {
        let [first, second] = self.sides.names();
        let against = format!("{second} against {first}");
        [String::new(), first.to_owned(), second.to_owned(), against, String::new()]
    }

    /// Returns lines with aligned columns.
    pub fn text(&self) -> String {
        let cells: Vec<_> =
            [self.heading()].into_iter().chain(self.rows.iter().map(Difference::cells)).collect();
        let width = |n: usize| cells.iter().map(|row| row[n].chars().count()).max().unwrap_or_default();
        let [name, first, second, difference] = [width(0), width(1), width(2), width(3)];
        let line = |row: &[String; 5]| {
            let line = format!(
                "{:<name$}  {:>first$}  {:>second$}  {:<difference$}  {}",
                row[0], row[1], row[2], row[3], row[4]
            );
            line.trim_end().to_owned() + "\n"
        };
        cells.iter().map(line).collect()
    }

    /// Returns a table in Markdown.
    pub fn markdown(&self) -> String {
        let line =
            |cells: [String; 5]| format!("| {} |\n", cells.map(|cell| markdown_text(&cell)).join(" | "));
        let rows: String = self.rows.iter().map(|row| line(row.cells())).collect();
        // An empty cell has one space between its bars.
        format!("{}|---|--:|--:|---|---|\n{rows}", line(self.heading()).replace("|  |", "| |"))
    }
}

impl Serialize for DifferenceTable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.rows.iter().map(|row| RowRecord { row, keys: self.sides.keys() }))
    }
}

/// A row of the table, written as part of a record.
struct RowRecord<'a> {
    row: &'a Difference,
    keys: [&'static str; 2],
}

impl Serialize for RowRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Difference { operation, figure, values, change, interval, verdict } = self.row;
        // Latencies are in microseconds, as in exports.
        let (scale, unit) =
            if figure.unit == FigureUnit::Latency { (1e-3, "us") } else { (1.0, figure.heading) };
        let (low, high) = interval.unzip();
        let mut record = serializer.serialize_struct("row", 10)?;
        record.serialize_field("figure", figure.name)?;
        record.serialize_field("operation", operation)?;
        record.serialize_field("unit", unit)?;
        for (key, value) in self.keys.into_iter().zip(values) {
            record.serialize_field(key, &value.map(|value| value * scale))?;
        }
        record.serialize_field("change", change)?;
        record.serialize_field("low", &low)?;
        record.serialize_field("high", &high)?;
        record.serialize_field("verdict", &verdict.map(Verdict::word))?;
        record.serialize_field("reason", &verdict.map(Verdict::reason))?;
        record.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::figures;

    fn pairs(figure: figures::Figure, values: [Option<f64>; 2], change: f64, spread: f64) -> Difference {
        let differences: Vec<_> =
            (0..12).map(|n| change.ln_1p() + spread * [1.0, -0.5, -1.0, 0.5][n % 4]).collect();
        Difference::of_pairs(None, figure, values, &differences, true)
    }

    fn table() -> DifferenceTable {
        let few =
            Difference::of_pairs(Some("GET"), figures::SERVICE_P99, [Some(9e3), Some(2e4)], &[0.8], true);
        let rows = vec![
            pairs(figures::OPS_PER_S, [Some(121_000.0), Some(135_000.0)], 0.12, 0.03),
            pairs(figures::SERVICE_P50, [Some(312e3), Some(310e3)], 0.0, 0.02),
            pairs(figures::SERVICE_P90, [Some(1e6), Some(12e6)], 11.0, 0.01),
            pairs(figures::SERVICE_P99, [Some(2e6), Some(2e6)], 0.0, 0.2),
            Difference::of_pairs(None, figures::SERVICE_P999, [Some(1_120e3), None], &[], true),
            few,
        ];
        DifferenceTable { sides: Sides::Ab, rows }
    }

    #[test]
    fn a_table_has_a_row_for_each_figure_and_aligned_columns() {
        assert_eq!(
            table().text(),
            "               A        B  B against A\n\
             ops/s      121 k    135 k  +12 % (+9.5 % to +15 %)  better: more than noise\n\
             p50       312 µs   310 µs  ±0 % (-1.5 % to +1.5 %)  no difference above 1.5 %\n\
             p90      1.00 ms  12.0 ms  ×12 (×12 to ×12)         worse: more than noise\n\
             p99      2.00 ms  2.00 ms  ±0 % (-14 % to +16 %)    not clear: within the noise\n\
             p99.9    1.12 ms        -  -                        not clear: too little was measured\n\
             GET p99  9.00 µs  20.0 µs  +123 %                   not clear: too few pairs or runs\n"
        );
    }

    #[test]
    fn names_are_escaped_in_markdown() {
        let mut table = table();
        table.rows.truncate(1);
        table.rows[0].operation = Some("a|<b>[x](y)".to_owned());
        assert_eq!(
            table.markdown(),
            "| | A | B | B against A | |\n|---|--:|--:|---|---|\n\
             | a\\|&lt;b&gt;\\[x\\](y) ops/s | 121 k | 135 k | +12 % (+9.5 % to +15 %) | better: more than noise |\n"
        );
    }

    #[test]
    fn a_record_has_the_names_of_exports_and_the_same_verdicts() {
        let json = serde_json::to_value(table()).unwrap();
        let row = |n: usize| &json[n];
        assert_eq!((&row(1)["figure"], &row(1)["unit"]), (&"service_p50_us".into(), &"us".into()));
        assert_eq!((&row(1)["a"], &row(0)["unit"]), (&312.0.into(), &"ops/s".into()));
        assert_eq!((&row(0)["verdict"], &row(0)["reason"]), (&"better".into(), &"more than noise".into()));
        let verdicts: Vec<_> = (0..6).map(|n| row(n)["verdict"].as_str().unwrap()).collect();
        let expected = ["better", "no difference", "worse", "not clear", "not clear", "not clear"];
        assert_eq!(verdicts, expected);
        assert!(row(2)["low"].as_f64().unwrap() > 10.0 && row(4)["change"].is_null(), "{json}");
        assert_eq!(row(5)["operation"], "GET");
    }
}
