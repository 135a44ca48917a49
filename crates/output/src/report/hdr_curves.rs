//! A report's chart of latency distributions, as in HdrHistogram's plots: the latency for each percentile. On
//! the axis, 90 %, 99 % and 99.9 % are equally far apart.

use super::{
    chart::{Chart, ChartLine, Ink, Quantity},
    node_report::NodeReport,
};
use crate::{
    stats::{Latency, curve::nines_for},
    units,
};

/// The number of points of a curve from 90 % to 99 %, from 99 % to 99.9 %, and so on.
const STEPS: usize = 25;
/// The maximum number of curves; more curves would not be readable.
const MOST_CURVES: usize = 40;

/// Returns a chart with a curve for each measured segment; `None` without curves.
pub(super) fn of_segments(account: &NodeReport) -> Option<Chart> {
    let all: Vec<_> = account.measured().collect();
    let named = |n: usize| {
        let segment = all[n];
        let number = segment.start.segment;
        let latency = due(segment.total.response.as_ref(), &segment.total.service);
        (format!("segment {number}"), Some(number), latency)
    };
    let curves = (0..all.len().min(MOST_CURVES)).map(named).collect();
    let mut chart = chart("curves", curves)?;
    if all.len() > MOST_CURVES {
        chart.note = format!(
            "Shows the first {MOST_CURVES} of {} segments under load.",
            units::grouped(all.len() as u64)
        );
    }
    Some(chart)
}

/// Returns a chart with a curve for each run.
pub(super) fn of_runs<'a>(runs: impl Iterator<Item = (&'a str, &'a Latency)>) -> Option<Chart> {
    let named = |(name, latency): (&'a str, &'a Latency)| (name.to_owned(), None, latency);
    chart("runs-curves", runs.take(MOST_CURVES).map(named).collect())
}

/// Returns the response times in an open loop, and the service times in a closed loop.
pub(super) fn due<'a>(response: Option<&'a Latency>, service: &'a Latency) -> &'a Latency {
    response.unwrap_or(service)
}

fn chart(id: &str, curves: Vec<(String, Option<u32>, &Latency)>) -> Option<Chart> {
    let nines = nines_for(curves.iter().map(|(.., latency)| latency.count()).max()?);
    let steps = nines as usize * STEPS;
    let xs = (0..steps).map(|n| (n as f64 + 0.5) / STEPS as f64).collect();
    let line = |(n, (name, segment, latency)): (usize, (String, Option<u32>, &Latency))| {
        let values = latency.curve(nines, steps).into_iter().map(|ns| ns.map(|ns| ns as f64 / 1e3)).collect();
        ChartLine { segment, ..ChartLine::new(name, Ink::of_series(n), values) }
    };
    let lines = curves.into_iter().enumerate().filter(|(_, (.., latency))| !latency.is_empty());
    let chart =
        Chart::of(id, "Latency over the percentile", Quantity::Latency, xs, lines.map(line).collect());
    let chart = Chart { x: Quantity::Nines, x_name: "share of the requests".to_owned(), ..chart };
    chart.has_values().then_some(chart)
}
