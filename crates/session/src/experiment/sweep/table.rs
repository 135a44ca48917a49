//! The results of a sweep as text: the best step, the knee, and a table with a line for each step.

use crate::{
    events::SweepBest,
    experiment::{Curve, CurvePoint},
    units,
};

/// Returns the conclusions and the table.
pub(super) fn written(curve: &Curve, best: Option<&SweepBest>) -> String {
    if curve.points.is_empty() {
        return String::new();
    }
    let mut headings: Vec<_> = curve.headings().into_iter().map(str::to_owned).collect();
    let last = headings.len();
    headings.push(format!("of the {} time", curve.latency_name()));
    let row = |point: &CurvePoint| [curve.cells(point, "-"), vec![remarks(point, best)]].concat();
    let lines: Vec<_> = [headings].into_iter().chain(curve.points.iter().map(row)).collect();
    format!("{}\n{}", words(curve, best), units::aligned(&lines, |n| n < last))
}

/// Returns the conclusions: the best step, the knee, and how often redyno was the limit.
pub(super) fn words(curve: &Curve, best: Option<&SweepBest>) -> String {
    let knee = best.and_then(|_| curve.knee());
    let lines = [best.map(ToString::to_string), knee, curve.limited()];
    lines.into_iter().flatten().map(|line| line + "\n").collect()
}

fn remarks(point: &CurvePoint, best: Option<&SweepBest>) -> String {
    let errors: u64 = point.measured.errors.values().sum();
    let is_best = best.is_some_and(|best| best.value == point.value);
    let lost: u64 = point.received().and_then(|(_, got)| got.lost).unwrap_or(0);
    let remarks = [
        is_best.then(|| "best".to_owned()),
        (errors > 0).then(|| units::count_with_noun(errors, "error")),
        (lost > 0).then(|| format!("{} lost", units::count_with_noun(lost, "message"))),
        (point.is_steady == Some(false)).then(|| "not steady".to_owned()),
        point.our_limit().map(|_| "redyno is the limit".to_owned()),
    ];
    remarks.into_iter().flatten().collect::<Vec<_>>().join(", ")
}
