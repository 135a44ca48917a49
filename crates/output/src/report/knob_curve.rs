//! A report's chart of throughput and latency for each value of one load setting. The report has this chart if only one
//! setting changed.

use super::{
    chart::{Chart, ChartLine, Ink, Quantity},
    node_report::NodeReport,
};
use crate::{
    events::EventKind,
    experiment::{Curve, CurvePoint, Dimension},
    session::{
        figures::{self, Row},
        timeline::Level,
    },
};

/// The axis is logarithmic if the highest value is at least this many times the lowest value.
const WIDE: f64 = 10.0;

/// Returns the curve over the only knob or parameter that changed between segments; `None` if no knob or parameter
/// changed, or if several changed.
pub(super) fn swept(account: &NodeReport) -> Option<Curve> {
    let segments = || account.timeline.segments.iter();
    let is_turned = |dimension: &Dimension| {
        let mut values = Curve::values_of(*dimension, segments());
        let first = values.next();
        values.any(|value| Some(value) != first)
    };
    let curves =
        Dimension::all().filter(is_turned).map(|dimension| Curve::of_segments(dimension, segments()));
    curves.into_iter().find(|curve| curve.lines().len() <= 1)
}

/// Returns the charts of throughput and latency over the knob.
pub(super) fn charts(account: &NodeReport) -> Vec<Chart> {
    let Some(curve) = swept(account) else { return Vec::new() };
    let name = curve.dimension.name();
    let rate = |point: &CurvePoint| figures::OPS_PER_S.exported(&Row::of_interval(&point.measured));
    let mut throughput = vec![dotted("replies/s", Ink("rate"), &curve, rate)];
    if let Some(law) = curve.law() {
        let model = curve.points.iter().map(|point| Some(law.at(point.value as f64))).collect();
        throughput.push(ChartLine::new("model (USL)", Ink("faint"), model));
    }
    let at = |level: Level, ink: &'static str| {
        let value = |point: &CurvePoint| level.of(point.latency()).map(|ns| ns as f64 / 1e3);
        dotted(level.name(), Ink(ink), &curve, value)
    };
    let mut latency = vec![at(Level::P50, "p50"), at(Level::P99, "p99"), at(Level::P999, "p999")];
    if let Some(received) = curve.received_name() {
        let p99 = |point: &CurvePoint| point.received_p99().map(|ns| ns as f64 / 1e3);
        let line = dotted(&format!("{received} p99"), Ink("p90"), &curve, p99);
        latency.push(line);
    }
    let throughput =
        chart("knob-throughput", &format!("Throughput over {name}"), Quantity::Rate, &curve, throughput);
    let title = format!("Percentiles of the {} time over {name}", curve.latency_name());
    let latency = chart("knob-latency", &title, Quantity::Latency, &curve, latency);
    let recall = vec![dotted("recall", Ink("rate"), &curve, CurvePoint::recall)];
    let recall = chart("knob-recall", &format!("Recall over {name}"), Quantity::Cores, &curve, recall);
    let mut charts = vec![Chart { note: words(account, &curve), ..throughput }, latency, recall];
    charts.retain(Chart::has_values);
    charts
}

fn dotted(name: &str, ink: Ink, curve: &Curve, value: impl Fn(&CurvePoint) -> Option<f64>) -> ChartLine {
    let values = curve.points.iter().map(value).collect();
    ChartLine { is_dotted: true, ..ChartLine::new(name, ink, values) }
}

fn chart(id: &str, title: &str, y: Quantity, curve: &Curve, lines: Vec<ChartLine>) -> Chart {
    let xs: Vec<_> = curve.points.iter().map(|point| point.value as f64).collect();
    let is_wide = xs.first().zip(xs.last()).is_some_and(|(low, high)| *low > 0.0 && high / low >= WIDE);
    let x = if is_wide { Quantity::KnobLog } else { Quantity::Knob };
    Chart { x, x_name: curve.dimension.name().to_owned(), ..Chart::of(id, title, y, xs, lines) }
}

/// Returns the note below the chart: the results of experiments, the best value and the knee.
fn words(account: &NodeReport, curve: &Curve) -> String {
    let is_found = |what: &&EventKind| {
        matches!(what, EventKind::Found { .. } | EventKind::BestStep { .. } | EventKind::NothingFound { .. })
    };
    let found = account.timeline.events().map(|event| &event.what).filter(is_found);
    let mut found = found.map(|what| format!("{}: {what}.", what.name())).peekable();
    // An experiment leaves out the first moments of a setting, but a point of this curve has the whole segment.
    let is_found = found.peek().is_some();
    let best = curve.best(None).filter(|_| !is_found);
    let best = best.map(|point| format!("most throughput at {}", curve.described(point)));
    let whole = is_found.then(|| "a point shows a whole segment".to_owned());
    let texts = [best, curve.knee(), curve.limited(), whole].into_iter().flatten();
    found.chain(texts.map(|text| text + ".")).collect::<Vec<_>>().join(" ")
}
