//! Exports: the figures of a session in the formats of other tools. Each format has one file in this module. Each
//! format is a [`Sink`] for the records of a session. redyno therefore exports running sessions and recordings in the
//! same way.
//!
//! ```text
//! records ─┬─► sheet: rows of figures ─► csv, ndjson, json, markdown;  besides: probes, gauges ─► csv, ndjson, json
//!          ├─► each interval's own histograms ─► hlog;  their sum ─► hgrm
//!          ├─► sums since the beginning ─► openmetrics
//!          └─► the formats of other programs: memtier-json, redis-benchmark-csv
//! ```
//! All figures and their names come from [the table of figures](crate::session::figures). The exported histograms are
//! those of the records. These histograms have finer buckets than the charts on the screen.

pub mod benchmark_csv;
mod csv;
mod hdr_log;
mod json;
mod markdown;
pub mod memtier;
mod metrics;
mod one_segment;
mod one_target;
mod sample_rows;
mod sheet;
#[cfg(test)]
mod tests;

use std::str::FromStr;

use thiserror::Error;

pub use benchmark_csv::BENCHMARK_CSV;
pub use csv::CSV;
pub use hdr_log::PERCENTILES;
pub use json::{FindingRow, JSON, NDJSON};
pub use markdown::escaped as markdown_text;
pub use metrics::{Metrics, buckets};
pub use one_segment::OneSegment;
pub use sheet::Rows;

use crate::{session::Sink, units};

/// An export format. Each format has a file in this module, and an entry in [`ALL`](Self::ALL).
#[derive(Debug, Clone, Copy)]
pub struct Format {
    /// The name of the format on the command line.
    pub name: &'static str,
    /// The extension of the format's files.
    pub extension: &'static str,
    /// A short description.
    pub about: &'static str,
    holds: FormatContents,
    sink: MakeSink,
}

/// A function that creates the sink of a format. A sink converts records to text. The arguments of the
/// function are the kind of rows (for formats with rows) and the tag of a histogram (for formats with one
/// histogram).
type MakeSink = fn(Rows, Option<&str>) -> Box<dyn Sink + Send>;

/// The parts of a session that a format contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FormatContents {
    /// Rows of one kind, including rows of a warm-up or a prefill.
    Rows,
    /// Everything, including a warm-up and a prefill.
    Asides,
    /// Only the load of the summary, without a warm-up or a prefill.
    Summary,
}

impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Format {}

/// The error for an unknown name of a format.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("there is no format '{0}'; there are {names}", names = Format::ALL.map(|format| format.name).join(", "))]
pub struct NoFormat(String);

impl Format {
    /// All formats.
    pub const ALL: [Self; 9] = [
        csv::CSV,
        json::NDJSON,
        json::JSON,
        hdr_log::HDR_LOG,
        hdr_log::PERCENTILES,
        markdown::MARKDOWN,
        metrics::OPEN_METRICS,
        memtier::MEMTIER_JSON,
        benchmark_csv::BENCHMARK_CSV,
    ];

    const fn new(
        name: &'static str,
        extension: &'static str,
        about: &'static str,
        holds: FormatContents,
        sink: MakeSink,
    ) -> Self {
        Self { name, extension, about, holds, sink }
    }

    /// Returns the names of all formats with rows, as text: `csv and ndjson`.
    pub fn with_rows() -> String {
        Self::ALL
            .into_iter()
            .filter(|format| format.has_rows())
            .map(|format| format.name)
            .collect::<Vec<_>>()
            .join(" and ")
    }

    /// Returns a line about each format for help texts, with the descriptions in one column.
    pub fn listed() -> String {
        let line = |format: Self| vec![format!("  {}", format.name), format.about.to_owned()];
        units::aligned(&Self::ALL.map(line), |_| false)
    }

    /// Returns whether the format has rows. [`Rows`] has the kinds of rows.
    pub fn has_rows(self) -> bool {
        self.holds == FormatContents::Rows
    }

    /// Returns whether the format contains warm-ups and prefills, in addition to the load of the summary.
    pub fn has_asides(self) -> bool {
        self.holds != FormatContents::Summary
    }

    /// Returns the sink of the format for the first target of a session. `rows` is the kind of rows, for formats with
    /// rows. `tag` names the histogram, for formats with one histogram.
    pub fn sink(self, rows: Rows, tag: Option<&str>) -> Box<dyn Sink + Send> {
        self.sink_of(0, rows, tag)
    }

    /// Returns the sink of the format for the target with this number, counted from 0.
    pub fn sink_of(self, target: u16, rows: Rows, tag: Option<&str>) -> Box<dyn Sink + Send> {
        Box::new(one_target::OneTarget { target, sink: (self.sink)(rows, tag) })
    }
}

impl FromStr for Format {
    type Err = NoFormat;

    fn from_str(name: &str) -> Result<Self, NoFormat> {
        Self::ALL.into_iter().find(|format| format.name == name).ok_or_else(|| NoFormat(name.to_owned()))
    }
}
