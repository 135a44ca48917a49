//! How far apart two values of a figure are.

use crate::{
    session::{
        figures::{self, Figure, Row, Unit},
        timeline::{PerSecond, Seconds, SegmentTotal},
    },
    stats::{Better, Comparison, Reason, TimeSeries, Verdict, paired, seconds},
    units,
};

/// A figure of two sides.
#[derive(Debug, Clone)]
pub struct Difference {
    /// The operation; nothing of all together.
    pub operation: Option<String>,
    /// What is compared.
    pub figure: Figure,
    /// Its value on the first side and on the second: of several runs the mean, for latencies and rates the geometric one.
    pub values: [Option<f64>; 2],
    /// How much more the second side is, as a share of the first.
    pub change: Option<f64>,
    /// Between which shares that lies.
    pub interval: Option<(f64, f64)>,
    /// What it comes to; `None` where it is unknown how much the figure varies by itself.
    pub verdict: Option<Verdict>,
}

/// A figure of single seconds.
type Measure = fn(&Seconds) -> &PerSecond;

/// What single seconds of a segment are known by.
const BY_SECONDS: [(Figure, Measure); 4] = [
    (figures::OPS_PER_S, Seconds::ops_per_s),
    (figures::SERVICE_P50, Seconds::service_p50_ns),
    (figures::SERVICE_P99, Seconds::service_p99_ns),
    (figures::RESPONSE_P99, Seconds::response_p99_ns),
];

/// Which way a figure is better.
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

    /// The same, judged by a model.
    pub(super) fn judged(self, comparison: &Comparison) -> Self {
        Self { interval: comparison.interval, verdict: Some(comparison.verdict), ..self }
    }

    /// One of pairs: `differences` are those of the logarithms in each, the values those of all pairs; `is_last` is whether no
    /// more pairs come.
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

    /// One of two segments of a session at the moment `now_s`, second by second where their seconds are known by this figure.
    pub fn of_segments(baseline: &SegmentTotal, other: &SegmentTotal, figure: Figure, now_s: f64) -> Self {
        let values = [baseline, other].map(|segment| figure.value(&Row::of_segment(segment, now_s)));
        let unjudged = Self::unjudged(None, figure, values);
        match stretches(baseline, other, figure) {
            Some([base, other]) => unjudged.judged(&seconds::compare(base, other, better(figure))),
            None => unjudged,
        }
    }

    /// What it is called: `ops/s`, `p99`, `GET p99`.
    pub fn name(&self) -> String {
        let heading = self.figure.heading;
        self.operation
            .as_ref()
            .map_or_else(|| heading.to_owned(), |operation| format!("{operation} {heading}"))
    }

    /// A value as a person reads it, that of the first side or that of the second.
    pub fn written(&self, side: usize) -> String {
        let write = |value: f64| match self.figure.unit {
            Unit::Latency => units::latency(value as u64),
            _ => units::count(value),
        };
        self.values[side].map_or_else(|| "-".to_owned(), write)
    }

    /// How much more the second side is, with its interval: `+12 % (+9.0 % to +15 %)`.
    pub fn difference(&self) -> String {
        match (self.change, self.range()) {
            (Some(change), Some(range)) => format!("{} ({range})", units::change(change)),
            (Some(change), None) => units::change(change),
            (None, _) => "-".to_owned(),
        }
    }

    /// The interval alone: `+9.0 % to +15 %`.
    pub fn range(&self) -> Option<String> {
        let (low, high) = self.interval?;
        Some(format!("{} to {}", units::change(low), units::change(high)))
    }

    /// What it comes to, with the reason: `better: more than noise`; nothing where it is not judged.
    pub fn words(&self) -> String {
        self.verdict.map_or_else(String::new, |verdict| match verdict {
            Verdict::Same { .. } => format!("{} {}", verdict.word(), verdict.reason()),
            _ => format!("{}: {}", verdict.word(), verdict.reason()),
        })
    }

    /// Whether more pairs, runs or seconds may show that there is none.
    pub(super) fn may_be_noise(&self) -> bool {
        matches!(self.verdict, Some(Verdict::NotClear(reason)) if reason != Reason::Drift)
    }
}

/// The seconds of two segments by this figure, where they are known by it.
pub(super) fn stretches<'a>(
    baseline: &'a SegmentTotal,
    other: &'a SegmentTotal,
    figure: Figure,
) -> Option<[TimeSeries<'a>; 2]> {
    let (_, measure) = BY_SECONDS.iter().find(|(known, _)| *known == figure)?;
    Some([baseline, other].map(|segment| measure(&segment.seconds).stretch(segment.start.t_s)))
}
