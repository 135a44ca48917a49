//! What leaves a session: its figures in the forms that other tools read. One file a format, each a
//! [`Sink`] over the records, so that it works on a session that runs and on a recording alike.
//!
//! ```text
//! records ─┬─► sheet: rows of figures ─► csv, ndjson, json, markdown;  besides: probes, gauges ─► csv, ndjson, json
//!          ├─► each interval's own histograms ─► hlog;  their sum ─► hgrm
//!          ├─► sums since the beginning ─► openmetrics
//!          └─► the runs of other programs: memtier-json, redis-benchmark-csv
//! ```
//! Every figure comes from [the table](crate::session::figures) under the name that it has there; distributions are the
//! records' own, never the coarser cells of the screen.

pub mod benchmark_csv;
mod besides;
mod csv;
mod hdr_log;
mod json;
mod markdown;
pub mod memtier;
mod metrics;
mod one_segment;
mod percentiles;
mod sheet;
#[cfg(test)]
mod tests;

use std::str::FromStr;

use thiserror::Error;

pub(crate) use markdown::escaped as markdown_text;
pub(crate) use metrics::Metrics;
pub(crate) use one_segment::OneSegment;
pub use sheet::Rows;

use self::{
    benchmark_csv::BenchmarkCsv,
    csv::Csv,
    hdr_log::HdrLog,
    json::{Json, Ndjson},
    markdown::Markdown,
    memtier::MemtierJson,
    percentiles::Percentiles,
};
use crate::session::Sink;

/// A form in which figures leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Comma-separated values, a line a row.
    Csv,
    /// The same rows, one JSON object a line.
    Ndjson,
    /// One JSON object: the session, its sums, its operations and segments.
    Json,
    /// HdrHistogram's interval log, in nanoseconds.
    HdrLog,
    /// HdrHistogram's percentile text, in milliseconds.
    Percentiles,
    /// Tables for a ticket.
    Markdown,
    /// OpenMetrics text: counters, gauges and histograms as they stand at the end.
    OpenMetrics,
    /// The JSON of memtier_benchmark.
    MemtierJson,
    /// The CSV of redis-benchmark.
    BenchmarkCsv,
}

/// A name that is no format's.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("there is no format '{0}'; there are {names}", names = Format::ALL.map(Format::name).join(", "))]
pub struct NoFormat(String);

impl Format {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Csv,
        Self::Ndjson,
        Self::Json,
        Self::HdrLog,
        Self::Percentiles,
        Self::Markdown,
        Self::OpenMetrics,
        Self::MemtierJson,
        Self::BenchmarkCsv,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Ndjson => "ndjson",
            Self::Json => "json",
            Self::HdrLog => "hlog",
            Self::Percentiles => "hgrm",
            Self::Markdown => "markdown",
            Self::OpenMetrics => "openmetrics",
            Self::MemtierJson => "memtier-json",
            Self::BenchmarkCsv => "redis-benchmark-csv",
        }
    }

    /// What the names of its files end in.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Csv | Self::BenchmarkCsv => "csv",
            Self::Ndjson => "ndjson",
            Self::Json | Self::MemtierJson => "json",
            Self::HdrLog => "hlog",
            Self::Percentiles => "hgrm",
            Self::Markdown => "md",
            Self::OpenMetrics => "prom",
        }
    }

    /// Whether it has rows, of which [`Rows`] says what they are.
    pub fn has_rows(self) -> bool {
        matches!(self, Self::Csv | Self::Ndjson)
    }

    /// Whether a warm-up or a prefill has a place in it; else it holds what the summary does.
    pub fn tells_asides(self) -> bool {
        matches!(self, Self::Csv | Self::Ndjson | Self::Json | Self::HdrLog)
    }

    /// What it is, in a few words.
    pub fn about(self) -> &'static str {
        match self {
            Self::Csv => "a line a row, columns named as the figures",
            Self::Ndjson => "the same rows, one JSON object a line",
            Self::Json => "one JSON object: session, sums, operations, segments, probes, server",
            Self::HdrLog => "HdrHistogram's interval log: nanoseconds, tags 'response' and one an operation",
            Self::Percentiles => "HdrHistogram's percentile text, in milliseconds",
            Self::Markdown => "tables for a ticket",
            Self::OpenMetrics => "counters, gauges and histograms as they stand at the end",
            Self::MemtierJson => "memtier_benchmark's JSON, an operation a row; null what no record tells",
            Self::BenchmarkCsv => "redis-benchmark's --csv, an operation a test",
        }
    }

    /// What makes it; `rows` is what a row is of, where it has rows, and `tag` which distribution, where it has one.
    pub fn sink(self, rows: Rows, tag: Option<&str>) -> Box<dyn Sink + Send> {
        match self {
            Self::Csv => Box::new(Csv::of(rows)),
            Self::Ndjson => Box::new(Ndjson::of(rows)),
            Self::Json => Box::new(Json::default()),
            Self::HdrLog => Box::new(HdrLog::default()),
            Self::Percentiles => Box::new(Percentiles::of(tag)),
            Self::Markdown => Box::new(Markdown::default()),
            Self::OpenMetrics => Box::new(Metrics::default()),
            Self::MemtierJson => Box::new(MemtierJson::default()),
            Self::BenchmarkCsv => Box::new(BenchmarkCsv::default()),
        }
    }
}

impl FromStr for Format {
    type Err = NoFormat;

    fn from_str(name: &str) -> Result<Self, NoFormat> {
        Self::ALL.into_iter().find(|format| format.name() == name).ok_or_else(|| NoFormat(name.to_owned()))
    }
}
