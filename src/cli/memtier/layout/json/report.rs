//! What was asked for, and what came of each run.

use super::{
    configuration::configuration,
    figures::{figures, latency},
    value::{Json, truth},
};
use crate::{
    cli::memtier::{
        asked::Asked,
        layout::{Report, amount, distribution::STEPS, ms},
        results::Part,
    },
    stats::walks::{Level, percentile_steps},
    target::Target,
};

/// All reports of a program's run.
pub(in crate::cli::memtier) fn json(asked: &Asked, target: &Target, reports: &[Report]) -> Json {
    let (number, unit) = amount(asked);
    let information = vec![
        ("Threads", asked.threads.into()),
        ("Connections per thread", asked.clients.into()),
        (unit, number.into()),
        ("Format version", 2_u32.into()),
    ];
    let head = [("configuration", configuration(asked, target)), ("run information", information.into())];
    let head = head.into_iter().map(|(name, value)| (name.to_owned(), value));
    let told = reports.iter().map(|report| (report.title.to_owned(), results(report)));
    Json::Object(head.chain(told).collect())
}

fn results(report: &Report) -> Json {
    let results = report.results;
    let duration_ms = (results.length_s * 1e3).round() as u64;
    let runtime = vec![
        ("Start time", results.started_ms.into()),
        ("Finish time", (results.started_ms + duration_ms).into()),
        ("Total duration", duration_ms.into()),
        ("Time unit", "MILLISECONDS".into()),
        ("Interrupted", truth(results.is_interrupted)),
    ];
    let mut fields = vec![("Runtime".to_owned(), runtime.into())];
    let rows = report.requests.rows.iter().zip(&results.rows);
    let mut told = rows.clone().map(|(name, row)| (Report::plural(name), figures(report, row, None)));
    fields.extend(&mut told);
    fields.push(("Totals".to_owned(), figures(report, &results.totals, Some(results))));
    if !report.asked.hides_histogram {
        fields.extend(rows.map(|(name, row)| (name.clone(), distribution(&row.all))));
    }
    Json::Object(fields)
}

fn distribution(part: &Part) -> Json {
    let levels = percentile_steps(&part.latency, STEPS);
    let level = |level: &Level| {
        vec![("<=msec", latency(ms(level.value_ns))), ("percent", latency(level.percent))].into()
    };
    Json::Array(levels.iter().map(level).collect())
}
