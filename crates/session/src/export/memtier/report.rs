//! The JSON document of memtier_benchmark: its configuration, and the results of each run.

use super::{
    figures::{figures, latency},
    results::{TitledResults, ms},
    value::{JsonValue, truth},
};
use crate::{
    session::OperationInterval,
    stats::walks::{IterationPoint, percentile_steps},
};

/// The default percentiles of memtier_benchmark's table.
pub const PERCENTILES: [f64; 3] = [50.0, 99.0, 99.9];
/// A distribution lists this number of percentiles between 0 and 50 %, the same number between 50 and 75 %, and so on.
pub const STEPS: u32 = 10;

/// Returns the JSON document: the configuration, the amount of load (`information`), and the results.
pub fn json(
    configuration: JsonValue,
    mut information: Vec<(&str, JsonValue)>,
    reports: &[TitledResults],
) -> JsonValue {
    information.push(("Format version", 2_u32.into()));
    let head = [("configuration", configuration), ("run information", information.into())];
    let head = head.into_iter().map(|(name, value)| (name.to_owned(), value));
    let runs = reports.iter().map(|report| (report.title.to_owned(), results(report)));
    JsonValue::Object(head.chain(runs).collect())
}

/// Returns the name of a table row, such as `Sets`, for a command, such as `SET`.
pub fn plural(name: &str) -> String {
    let mut letters = name.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    first + &letters.as_str().to_lowercase() + "s"
}

fn results(report: &TitledResults) -> JsonValue {
    let results = report.results;
    let duration_ms = (results.length_s * 1e3).round() as u64;
    let mut runtime = vec![
        ("Start time", results.started_ms.into()),
        ("Finish time", (results.started_ms + duration_ms).into()),
        ("Total duration", duration_ms.into()),
        ("Time unit", "MILLISECONDS".into()),
    ];
    runtime.extend(results.is_interrupted.map(|is| ("Interrupted", truth(is))));
    let mut fields = vec![("Runtime".to_owned(), runtime.into())];
    let rows = report.rows.iter().zip(&results.rows);
    let mut each_row = rows
        .clone()
        .enumerate()
        .map(|(place, (name, row))| (plural(name), figures(report, (Some(place), row), None)));
    fields.extend(&mut each_row);
    fields.push(("Totals".to_owned(), figures(report, (None, &results.totals), Some(results))));
    fields.extend(report.more.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
    if report.has_distributions {
        fields.extend(rows.map(|(name, row)| (name.clone(), distribution(&row.all))));
    }
    JsonValue::Object(fields)
}

fn distribution(part: &OperationInterval) -> JsonValue {
    let levels = percentile_steps(&part.service, STEPS);
    let level = |level: &IterationPoint| {
        vec![("<=msec", latency(ms(level.value_ns))), ("percent", latency(level.percent))].into()
    };
    JsonValue::Array(levels.iter().map(level).collect())
}
