//! The results of a curve as text: the table of its points, and the conclusions. Printed sweeps, the screen and reports
//! use this text.

use super::{Curve, CurvePoint};
use crate::{
    session::{figures, timeline::Level},
    units,
};

impl Curve {
    /// The percentiles of the table.
    pub const LEVELS: [Level; 3] = [Level::P50, Level::P99, Level::P999];

    /// Returns the headings of the table: the value, the throughput, and percentiles of the latencies that count. If
    /// measured, the recall and the p99 of receivers are also included.
    pub fn headings(&self) -> Vec<&'static str> {
        let optional = [self.has_recall().then_some("recall"), self.received_heading()];
        let first = [self.dimension.name(), "ops/s"].into_iter().chain(optional.into_iter().flatten());
        first.chain(Self::LEVELS.map(Level::name)).collect()
    }

    /// Returns the row of a point in the table. The text of an unknown figure is `none`.
    pub fn cells(&self, point: &CurvePoint, none: &str) -> Vec<String> {
        let latency = |ns: Option<u64>| ns.map_or_else(|| none.to_owned(), units::latency);
        let recall = || point.recall().map_or_else(|| none.to_owned(), units::percent);
        let mut cells = vec![self.dimension.written(point.value), units::count(point.ops_per_s())];
        cells.extend(self.has_recall().then(recall));
        cells.extend(self.received_name().map(|_| latency(point.received_p99())));
        cells.extend(Self::LEVELS.map(|level| latency(level.of(point.latency()))));
        cells
    }

    /// Returns whether the recall of a point was measured.
    pub fn has_recall(&self) -> bool {
        self.points.iter().any(|point| point.recall().is_some())
    }

    /// Returns `dlv p99` or a similar heading, for the column with the p99 of the receivers' times. Returns `None`
    /// without receivers.
    pub fn received_heading(&self) -> Option<&'static str> {
        let name = format!("{}_p99_us", self.received_name()?);
        figures::OF_RECEIVERS.into_iter().find(|figure| figure.name == name).map(|figure| figure.heading)
    }

    /// Returns the kind of the latencies: `response` if a point has a requested rate, or `service`.
    pub fn latency_name(&self) -> &'static str {
        if self.points.iter().any(CurvePoint::is_open) { "response" } else { "service" }
    }

    /// Returns a point as text: `clients 50: 88.3 k/s, p99 1.18 ms`.
    pub fn described(&self, point: &CurvePoint) -> String {
        let received = point.received().zip(point.received_p99());
        let figures = [
            Some(units::rate(point.ops_per_s())),
            Level::P99.of(point.latency()).map(|ns| format!("p99 {}", units::latency(ns))),
            received.map(|((name, _), ns)| format!("{name} p99 {}", units::latency(ns))),
            point.recall().map(|recall| format!("recall {}", units::percent(recall))),
        ];
        let figures: Vec<_> = figures.into_iter().flatten().collect();
        format!("{}: {}", self.dimension.named(point.value), figures.join(", "))
    }

    /// Returns the knee as a sentence; `None` if the points do not show a knee.
    pub fn knee(&self) -> Option<String> {
        let knee = self.law()?.knee?;
        let (at, peak) = (self.dimension.named(knee.at.round() as u64), units::rate(knee.peak));
        Some(format!("the knee is near {at}, {peak} (a model: the universal scalability law)"))
    }

    /// Returns the number of values at which redyno itself was the limit, as a sentence; `None` without such values.
    pub fn limited(&self) -> Option<String> {
        limited(self.points.iter().map(CurvePoint::our_limit), "values")
    }
}

/// Returns the number of measurements in which redyno itself was the limit, with the last reason: `redyno itself was
/// the limit for 2 of 9 trials: …`. A measurement in which redyno was not the limit is `None` in `reasons`.
pub(super) fn limited(reasons: impl Iterator<Item = Option<String>>, noun: &str) -> Option<String> {
    let all: Vec<_> = reasons.collect();
    let count = all.iter().flatten().count();
    let why = all.iter().flatten().next_back()?;
    Some(format!("redyno itself was the limit for {count} of {} {noun}: {why}", all.len()))
}
