//! Prints the results of `redyno series`, for people or as JSON.
//!
//! ```text
//! redyno 0.1.0  127.0.0.1:6379  redis 7.0.15 master
//! tair-threads: Alibaba Cloud's white paper, multi-threaded edition
//! changed: requests 3 M to 30 k, keys 100 k to 1000
//!
//! run  size  operation  ops/s   mean     p99
//! SET  64    SET        121 k  21 µs   48 µs
//! ```

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{
    experiment::series::{CellFigures, CellOutcome, ScaleFactor, Scaling, Series, SeriesCell, SeriesTable},
    untrusted,
};

/// A writer of the output of a series.
#[derive(Debug, Clone)]
pub struct SeriesLines {
    /// The line about changed amounts; `None` if no amount was changed.
    pub changed: Option<String>,
    /// The factors of the amounts.
    pub scaling: Scaling,
    /// Whether published figures are printed below the measured figures.
    pub is_published: bool,
    /// Whether to print JSON, one object per cell.
    pub is_json: bool,
}

impl SeriesLines {
    /// Returns the text before the table. `server` is the line about the server, if the server is known.
    pub fn head(&self, series: &Series, server: Option<&str>) -> String {
        let line = |text: &str| format!("{text}\n");
        let server = server.map(line).unwrap_or_default();
        let changed = self.changed.as_deref().map(line).unwrap_or_default();
        let text = format!("{server}{}: {}\n{}", series.name, series.about, changed);
        untrusted::lines(text.as_bytes())
    }

    /// Returns the table, and the source of the published figures.
    pub fn table(&self, table: &SeriesTable, series: &Series) -> String {
        let source = self.is_published.then(|| {
            format!(
                "\npublished: {}. Compare the shape of the table, not the figures.\n",
                series.published.source
            )
        });
        untrusted::lines(format!("\n{}{}", table.written(), source.unwrap_or_default()).as_bytes())
    }

    /// Returns the line of a cell as JSON.
    pub fn json(&self, series: &Series, cell: &SeriesCell, outcome: &CellOutcome) -> String {
        let measured = outcome.as_ref().ok();
        let figures = measured.map(|measured| measured.figures(cell, &series.layout));
        let published = series.published.of(cell).filter(|_| self.is_published);
        let line = CellJson {
            kind: "cell",
            series: &series.name,
            run: &cell.run,
            at: cell.at.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect(),
            workload: &cell.workload.name,
            scale: self.scaling.amounts.map(ScaleFactor::part),
            scale_clients: self.scaling.clients.map(ScaleFactor::part),
            ops: measured.map(|measured| measured.summary.ops),
            length_s: measured.map(|measured| measured.summary.length_s),
            errors: measured.map(|measured| &measured.summary.errors),
            figures: figures.as_ref(),
            published: published.as_ref(),
            failed: outcome.as_ref().err().map(String::as_str),
        };
        // Strings and numbers can always be encoded.
        serde_json::to_string(&line).unwrap_or_default() + "\n"
    }
}

/// A cell as a line of JSON.
#[derive(Serialize)]
struct CellJson<'a> {
    kind: &'static str,
    series: &'a str,
    run: &'a str,
    at: BTreeMap<&'a str, &'a str>,
    workload: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    scale: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scale_clients: Option<f64>,
    /// The number of requests answered without an error.
    #[serde(skip_serializing_if = "Option::is_none")]
    ops: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    length_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    errors: Option<&'a BTreeMap<String, u64>>,
    #[serde(flatten)]
    figures: Option<&'a CellFigures>,
    #[serde(skip_serializing_if = "Option::is_none")]
    published: Option<&'a CellFigures>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<&'a str>,
}
