//! The results of a sweep as text: the best step, the knee, and a table with a line for each step.

use super::driver;
use crate::{
    events::SweepBest,
    experiment::{Curve, CurvePoint},
    units,
};

/// The percentiles of the columns.
const LEVELS: [(&str, f64); 3] = [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999)];

/// Returns the conclusions and the table.
pub(super) fn written(curve: &Curve, best: Option<&SweepBest>) -> String {
    let points = &curve.points;
    if points.is_empty() {
        return String::new();
    }
    let is_open = points.iter().any(CurvePoint::is_open);
    let of = if is_open { "response" } else { "service" };
    let name = curve.dimension.name();
    let first = points.iter().map(|point| curve.dimension.written(point.value).chars().count());
    let width = first.chain([name.len()]).max().unwrap_or_default();
    let has_recall = points.iter().any(|point| point.recall().is_some());
    let recall = |text: &str| if has_recall { format!(" {text:>9}") } else { String::new() };
    // The times of receivers stand before the times of the replies, and their column has their name.
    let heading = curve.received_name().map(|name| format!("{name} p99")).unwrap_or_default();
    let room = heading.len().max(9);
    let received = |text: &str| if heading.is_empty() { String::new() } else { format!(" {text:>room$}") };
    let first = format!("{name:>width$} {:>10}{}{}", "ops/s", recall("recall"), received(&heading));
    let levels: String = LEVELS.iter().map(|(level, _)| format!(" {level:>9}")).collect();
    let mut text = format!("{first}{levels}  of the {of} time\n");
    for point in points {
        let value = curve.dimension.written(point.value);
        let level =
            |quantile| point.latency().percentile(quantile).map_or_else(|| "-".to_owned(), units::latency);
        let levels: String = LEVELS.iter().map(|(_, quantile)| format!(" {:>9}", level(*quantile))).collect();
        let ops = units::rate(point.ops_per_s());
        let recall = recall(&point.recall().map_or_else(|| "-".to_owned(), units::percent));
        let received = received(&point.received_p99().map_or_else(|| "-".to_owned(), units::latency));
        let remarks = remarks(point, best).join(", ");
        let line = format!("{value:>width$} {ops:>10}{recall}{received}{levels}  {remarks}");
        text += line.trim_end();
        text.push('\n');
    }
    format!("{}\n{text}", words(curve, best))
}

/// Returns the conclusions: the best step, the knee, and how often redyno was the limit.
pub(super) fn words(curve: &Curve, best: Option<&SweepBest>) -> String {
    let (points, mut text) = (&curve.points, String::new());
    if let Some(best) = best {
        text += &format!("{best}\n");
    }
    if let Some(knee) = best.and_then(|best| best.knee) {
        let (at, peak) =
            (driver::words(curve.dimension, knee.value.round() as u64), units::rate(knee.ops_per_s));
        text += &format!("the knee is near {at}, {peak} (a model: the universal scalability law)\n");
    }
    let limits: Vec<_> = points.iter().filter_map(CurvePoint::our_limit).collect();
    if let Some(why) = limits.last() {
        let (count, all) = (limits.len(), points.len());
        text += &format!("in {count} of {all} steps redyno itself was the limit: {why}\n");
    }
    text
}

fn remarks(point: &CurvePoint, best: Option<&SweepBest>) -> Vec<String> {
    let errors: u64 = point.measured.errors.values().sum();
    let is_best = best.is_some_and(|best| best.value == point.value);
    let lost: u64 = point.received().map_or(0, |(_, got)| got.lost);
    let remarks = [
        is_best.then(|| "best".to_owned()),
        (errors > 0).then(|| units::count_with_noun(errors, "error")),
        (lost > 0).then(|| format!("{} lost", units::count_with_noun(lost, "message"))),
        (point.is_steady == Some(false)).then(|| "not steady".to_owned()),
        point.our_limit().map(|_| "redyno is the limit".to_owned()),
    ];
    remarks.into_iter().flatten().collect()
}
