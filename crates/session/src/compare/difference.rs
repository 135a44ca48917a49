//! The difference of two values of a figure.

use crate::{
    session::{
        figures::{self, Figure, Row, Unit},
        timeline::{PerSecond, Seconds, SegmentTotal},
    },
    stats::{Better, Comparison, Reason, TimeSeries, Verdict, paired, seconds},
    units,
};

/// A figure of two sides, and their difference.
#[derive(Debug, Clone)]
pub struct Difference {
    /// The operation; empty for all together.
    pub operation: Option<String>,
    /// The figure.
    pub figure: Figure,
    /// Its value on both sides; for several runs the mean, for latencies and rates the geometric mean.
    pub values: [Option<f64>; 2],
    /// The change from the first to the second side, as a share of the first.
    pub change: Option<f64>,
    /// The interval of the change.
    pub interval: Option<(f64, f64)>,
    /// The verdict; `None` if the figure's noise is unknown.
    pub verdict: Option<Verdict>,
}

/// The value of a figure in single seconds.
type Measure = fn(&Seconds) -> &PerSecond;

/// The figures that are known by the second in a segment.
const BY_SECONDS: [(Figure, Measure); 4] = [
    (figures::OPS_PER_S, Seconds::ops_per_s),
    (figures::SERVICE_P50, Seconds::service_p50_ns),
    (figures::SERVICE_P99, Seconds::service_p99_ns),
    (figures::RESPONSE_P99, Seconds::response_p99_ns),
];

/// Whether higher or lower values are better.
pub(super) fn better(figure: Figure) -> Better {
    if figure == figures::OPS_PER_S { Better::Higher } else { Better::Lower }
}

impl Difference {
    /// A difference without a verdict.
    pub(super) fn unjudged(operation: Option<&str>, figure: Figure, values: [Option<f64>; 2]) -> Self {
        let [first, second] = values;
        let change = first.zip(second).filter(|(first, _)| *first > 0.0 && figure.unit != Unit::Trouble);
        Self {
            operation: operation.map(str::to_owned),
            figure,
            values,
            change: change.map(|(first, second)| second / first - 1.0),
            interval: None,
            verdict: None,
        }
    }

    /// The same, with the verdict of a model.
    pub(super) fn judged(self, comparison: &Comparison) -> Self {
        Self { interval: comparison.interval, verdict: Some(comparison.verdict), ..self }
    }

    /// The difference of pairs: `differences` are those of the logarithms in each pair, the values those of all pairs; `is_last` is
    /// whether no more pairs come.
    pub fn of_pairs(
        operation: Option<&str>,
        figure: Figure,
        values: [Option<f64>; 2],
        differences: &[f64],
        is_last: bool,
    ) -> Self {
        let comparison = paired::compare(differences, better(figure), is_last);
        Self { change: comparison.change, ..Self::unjudged(operation, figure, values).judged(&comparison) }
    }

    /// The difference of two segments of a session at `now_s`, by their seconds if this figure is known by the second.
    pub fn of_segments(baseline: &SegmentTotal, other: &SegmentTotal, figure: Figure, now_s: f64) -> Self {
        let values = [baseline, other].map(|segment| figure.value(&Row::of_segment(segment, now_s)));
        let unjudged = Self::unjudged(None, figure, values);
        match stretches(baseline, other, figure) {
            Some([base, other]) => unjudged.judged(&seconds::compare(base, other, better(figure))),
            None => unjudged,
        }
    }

    /// Its name: `ops/s`, `p99`, `GET p99`.
    pub fn name(&self) -> String {
        let heading = self.figure.heading;
        self.operation
            .as_ref()
            .map_or_else(|| heading.to_owned(), |operation| format!("{operation} {heading}"))
    }

    /// A value as text, of the first or the second side.
    pub fn written(&self, side: usize) -> String {
        let write = |value: f64| match self.figure.unit {
            Unit::Latency => units::latency(value as u64),
            _ => units::count(value),
        };
        self.values[side].map_or_else(|| "-".to_owned(), write)
    }

    /// The change with its interval: `+12 % (+9.0 % to +15 %)`.
    pub fn difference(&self) -> String {
        match (self.change, self.range()) {
            (Some(change), Some(range)) => format!("{} ({range})", units::change(change)),
            (Some(change), None) => units::change(change),
            (None, _) => "-".to_owned(),
        }
    }

    /// Only the interval: `+9.0 % to +15 %`.
    pub fn range(&self) -> Option<String> {
        let (low, high) = self.interval?;
        Some(format!("{} to {}", units::change(low), units::change(high)))
    }

    /// The verdict with its reason: `better: more than noise`; empty if there is none.
    pub fn words(&self) -> String {
        self.verdict.map_or_else(String::new, |verdict| match verdict {
            Verdict::Same { .. } => format!("{} {}", verdict.word(), verdict.reason()),
            _ => format!("{}: {}", verdict.word(), verdict.reason()),
        })
    }

    /// Whether more pairs, runs or seconds may show that there is no difference.
    pub(super) fn may_be_noise(&self) -> bool {
        matches!(self.verdict, Some(Verdict::NotClear(reason)) if reason != Reason::Drift)
    }
}

/// The seconds of two segments in this figure, if it is known by the second.
pub(super) fn stretches<'a>(
    baseline: &'a SegmentTotal,
    other: &'a SegmentTotal,
    figure: Figure,
) -> Option<[TimeSeries<'a>; 2]> {
    let (_, measure) = BY_SECONDS.iter().find(|(known, _)| *known == figure)?;
    Some([baseline, other].map(|segment| measure(&segment.seconds).stretch(segment.start.t_s)))
}
