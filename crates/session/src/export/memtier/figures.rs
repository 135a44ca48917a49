//! The figures of a row in memtier_benchmark's JSON: rates, latencies in milliseconds, values of each second, and
//! percentiles.

use std::collections::BTreeMap;

use super::{
    results::{ResultRow, Results, TitledResults, kib, ms},
    value::JsonValue,
};
use crate::session::OperationInterval;

/// The maximum length of a percentile's name, as in `p99.90`. memtier_benchmark cuts off longer names.
const LONGEST_NAME: usize = 6;

/// Returns a latency in milliseconds with three decimals.
pub(super) fn latency(ms: f64) -> JsonValue {
    JsonValue::Decimal((ms * 1e3).round() / 1e3)
}

/// Returns a rate with two decimals.
fn rate(per_s: f64) -> JsonValue {
    JsonValue::Decimal((per_s * 1e2).round() / 1e2)
}

/// Returns the figures of a row, which has the index `place`. Only the row of all operations together has `totals`.
pub(super) fn figures(
    report: &TitledResults,
    (place, row): (Option<usize>, &ResultRow),
    totals: Option<&Results>,
) -> JsonValue {
    let (part, in_rate, per_s) = (&row.all, &row.in_rate, |n: u64| report.results.per_s(n));
    let kib_per_s = |bytes: u64| rate(kib(per_s(bytes)));
    let lost = totals.map_or(0, |totals| totals.connection_errors);
    let mean_ms = part.service.mean_ns() / 1e6;
    let redirected = |(name, n)| (name, if totals.is_some() { rate(per_s(n)) } else { JsonValue::Null });
    let mut fields = vec![
        ("Count", part.ops.into()),
        ("Ops/sec", rate(per_s(in_rate.ops))),
        ("Hits/sec", rate(per_s(in_rate.hits))),
        ("Misses/sec", rate(per_s(in_rate.misses))),
    ];
    fields.extend(report.aborts(place).map(|n| ("Aborts/sec", rate(per_s(n)))));
    // redyno counts redirects in total, not by row.
    fields.extend(report.results.redirected().map(redirected));
    fields.extend([
        ("Connection Errors/sec", rate(per_s(lost))),
        ("Connection Errors", lost.into()),
        ("Latency", latency(mean_ms)),
        ("Average Latency", latency(mean_ms)),
        ("Accumulated Latency", accumulated(part)),
        ("Min Latency", latency(ms(part.service.min_ns()))),
        ("Max Latency", latency(ms(part.service.max_ns()))),
        ("KB/sec", kib_per_s(in_rate.bytes_in + in_rate.bytes_out)),
        ("KB/sec RX/TX", kib_per_s(in_rate.bytes_in + in_rate.bytes_out)),
        ("KB/sec RX", kib_per_s(in_rate.bytes_in)),
        ("KB/sec TX", kib_per_s(in_rate.bytes_out)),
        ("Time-Serie", time_serie(report, &row.seconds)),
        ("Percentile Latencies", percentiles(report, part)),
    ]);
    // memtier_benchmark has no field for errors: it counts them as operations.
    if let Some(totals) = totals {
        let errors = totals.errors.iter().map(|(kind, n)| (kind.clone(), (*n).into()));
        fields.push(("Errors", JsonValue::Object(errors.collect())));
    }
    fields.into()
}

fn accumulated(part: &OperationInterval) -> JsonValue {
    JsonValue::from((part.service.sum_ns() / 1_000_000) as u64)
}

/// Returns the values of each second from the first to the last, including seconds without requests.
fn time_serie(report: &TitledResults, seconds: &BTreeMap<u64, OperationInterval>) -> JsonValue {
    let none = OperationInterval::default();
    let second = |second| (second, seconds.get(&second).unwrap_or(&none));
    let each_second = report.results.seconds().into_iter().map(second).map(|(second, part)| {
        let mut fields = vec![
            ("Bytes RX".to_owned(), part.bytes_in.into()),
            ("Bytes TX".to_owned(), part.bytes_out.into()),
            ("Count".to_owned(), part.ops.into()),
        ];
        if part.ops > 0 {
            fields.push(("Average Latency".to_owned(), latency(part.service.mean_ns() / 1e6)));
            fields.push(("Accumulated Latency".to_owned(), accumulated(part)));
            fields.push(("Min Latency".to_owned(), latency(ms(part.service.min_ns()))));
            fields.push(("Max Latency".to_owned(), latency(ms(part.service.max_ns()))));
            fields.extend(quantiles(report, part, 2));
        }
        (second.to_string(), JsonValue::Object(fields))
    });
    JsonValue::Object(each_second.collect())
}

fn percentiles(report: &TitledResults, part: &OperationInterval) -> JsonValue {
    let mut fields = quantiles(report, part, 3);
    // The compressed histogram is in microseconds, as in memtier_benchmark.
    let text = part.service.hdr_text_us();
    fields.push(("Histogram log format".to_owned(), vec![("Compressed Histogram", text.into())].into()));
    JsonValue::Object(fields)
}

/// Returns the percentiles of the table. The names of percentiles have `decimals` decimals, but at most six characters.
fn quantiles(report: &TitledResults, part: &OperationInterval, decimals: usize) -> Vec<(String, JsonValue)> {
    let one = |percentile: &f64| {
        let at = latency(ms(part.service.value_at_percent(*percentile)));
        let mut name = format!("p{percentile:.decimals$}");
        name.truncate(LONGEST_NAME);
        (name, at)
    };
    report.percentiles.iter().map(one).collect()
}
