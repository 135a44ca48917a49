//! The percentile text of HdrHistogram (`.hgrm`): one distribution of the whole session without its warm-up, in
//! milliseconds, for the plotter of hdrhistogram.org and similar tools.

use super::{Format, Holds, sheet::Sheet};
use crate::{
    session::{Record, Sink},
    stats::{Latency, percentile_table},
};

/// The percentile text of HdrHistogram, in milliseconds.
pub const PERCENTILES: Format = Format::new(
    "hgrm",
    "hgrm",
    "HdrHistogram's percentile text, in milliseconds",
    Holds::Summary,
    |_, tag| Box::new(Percentiles::of(tag)),
);

/// Writes the table at the end.
#[derive(Debug, Default)]
pub(super) struct Percentiles {
    sheet: Sheet,
    /// The distribution to write: `response`, or the name of an operation; otherwise all service times.
    tag: Option<String>,
}

impl Percentiles {
    pub(super) fn of(tag: Option<&str>) -> Self {
        Self { sheet: Sheet::default(), tag: tag.map(str::to_owned) }
    }
}

impl Sink for Percentiles {
    fn push(&mut self, record: &Record) -> Vec<String> {
        self.sheet.push(record, |_| ());
        Vec::new()
    }

    fn finish(&mut self) -> Vec<String> {
        let summary = self.sheet.timeline.summary();
        let latency: Latency = match self.tag.as_deref() {
            None => summary.service,
            Some("response") => summary.response.unwrap_or_default(),
            Some(name) => self.sheet.timeline.operations().remove(name).unwrap_or_default().service,
        };
        vec![percentile_table(&latency)]
    }
}
