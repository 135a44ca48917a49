//! JSON: the rows as JSON lines, or the whole session as one object.

use serde::Serialize;

use super::{
    Format, Holds,
    besides::{Besides, Sums},
    sheet::{Rows, Sheet, SheetRow},
};
use crate::session::{Record, SessionStart, Sink};

/// The rows as JSON lines.
pub const NDJSON: Format =
    Format::new("ndjson", "ndjson", "the same rows as JSON lines", Holds::Rows, |rows, _| {
        Box::new(Ndjson::of(rows))
    });

/// Writes the rows.
#[derive(Debug)]
pub(super) struct Ndjson(Sheet);

impl Ndjson {
    pub(super) fn of(rows: Rows) -> Self {
        Self(Sheet::of(rows))
    }
}

impl Sink for Ndjson {
    fn push(&mut self, record: &Record) -> Vec<String> {
        let mut lines = Vec::new();
        self.0.push(record, |line| lines.extend(written(line)));
        lines.extend(Besides::of(self.0.rows, record).iter().filter_map(written));
        lines
    }

    fn finish(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        self.0.finish(|line| lines.extend(written(line)));
        lines
    }
}

/// One JSON object: the session, its sums, its operations and segments.
pub const JSON: Format = Format::new(
    "json",
    "json",
    "one JSON object: session, sums, operations, segments, probes, server",
    Holds::Asides,
    |_, _| Box::new(Json::default()),
);

/// Writes the object.
#[derive(Debug, Default)]
pub(super) struct Json {
    sheet: Sheet,
    besides: Sums,
}

#[derive(Serialize)]
struct Whole<'a> {
    session: Option<&'a SessionStart>,
    summary: SheetRow<'a>,
    errors: &'a std::collections::BTreeMap<String, u64>,
    first_errors: &'a std::collections::BTreeMap<String, String>,
    operations: Vec<SheetRow<'a>>,
    segments: Vec<SheetRow<'a>>,
    /// The figures of each probe over the whole session.
    probes: Vec<Besides>,
    /// The last figures of the server.
    server: Option<&'a Besides>,
}

impl Sink for Json {
    fn push(&mut self, record: &Record) -> Vec<String> {
        self.sheet.push(record, |_| ());
        self.besides.push(record);
        Vec::new()
    }

    fn finish(&mut self) -> Vec<String> {
        let summary = self.sheet.timeline.summary();
        let operations = self.sheet.operations();
        let whole = Whole {
            session: self.sheet.timeline.session(),
            summary: SheetRow::of_summary(&summary),
            errors: &summary.errors,
            first_errors: &summary.first_errors,
            operations: SheetRow::of_operations(&summary, &operations).collect(),
            segments: self.sheet.segments(),
            probes: self.besides.probes(),
            server: self.besides.server(),
        };
        written(&whole).into_iter().collect()
    }
}

/// Returns a value as a line. The value contains only numbers and text.
fn written(value: &impl Serialize) -> Option<String> {
    serde_json::to_string(value).ok().map(|line| line + "\n")
}
