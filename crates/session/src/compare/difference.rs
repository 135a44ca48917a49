//! The difference between two values of a figure (such as `p99`) in a comparison, and its text.

use crate::{
    session::{
        figures::{self, Figure, FigureUnit, Row},
        timeline::{PerSecond, Seconds, SegmentTotal},
    },
    stats::{Better, Comparison, Reason, TimeSeries, Verdict, paired, seconds},
    units,
};

/// One figure of the two compared measurements (sides), and the difference between its two values.
#[derive(Debug, Clone)]
pub struct Difference {
    /// The name of the operation; `None` for all operations together.
    pub operation: Option<String>,
    /// The figure.
    pub figure: Figure,
    /// The values of both sides. The value of several runs is the geometric mean. There are three exceptions:
    /// the largest value for maxima, the sum for errors and lost messages, and the mean for gauges.
    pub values: [Option<f64>; 2],
    /// The change from the first to the second value, as a share of the first: 0.1 is +10 %.
    pub change: Option<f64>,
    /// The confidence interval of the change.
    pub interval: Option<(f64, f64)>,
    /// The verdict; `None` if the noise of the figure is unknown.
    pub verdict: Option<Verdict>,
}

/// A function that returns the values of a figure for each second.
type PerSecondFigure = fn(&Seconds) -> &PerSecond;

/// The figures that have a value for each second of a segment.
const BY_SECONDS: [(Figure, PerSecondFigure); 4] = [
    (figures::OPS_PER_S, |seconds| &seconds.ops_per_s),
    (figures::SERVICE_P50, |seconds| &seconds.service_p50_ns),
    (figures::SERVICE_P99, |seconds| &seconds.service_p99_ns),
    (figures::RESPONSE_P99, |seconds| &seconds.response_p99_ns),
];

/// Returns whether higher or lower values of the figure are better.
pub(super) fn better(figure: Figure) -> Better {
    if figure == figures::OPS_PER_S { Better::Higher } else { Better::Lower }
}

impl Difference {
    /// Returns a difference without a verdict.
    pub fn unjudged(operation: Option<&str>, figure: Figure, values: [Option<f64>; 2]) -> Self {
        let [first, second] = values;
        let change =
            first.zip(second).filter(|(first, _)| *first > 0.0 && figure.unit != FigureUnit::Trouble);
        Self {
            operation: operation.map(str::to_owned),
            figure,
            values,
            change: change.map(|(first, second)| second / first - 1.0),
            interval: None,
            verdict: None,
        }
    }

    /// Returns this difference with the confidence interval and the verdict of `comparison`.
    pub(super) fn judged(self, comparison: &Comparison) -> Self {
        Self { interval: comparison.interval, verdict: Some(comparison.verdict), ..self }
    }

    /// Returns the difference between two sides that were measured in pairs. `differences` has one number for each
    /// pair: the logarithm of the second value minus the logarithm of the first. `values` are the values of both sides
    /// over all pairs. `is_last` is true if no more pairs follow.
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

    /// Returns the difference between two segments (times with unchanged settings) of a session. `now_s` is
    /// the present time, in seconds of the session. The difference has a verdict if the figure has a value
    /// for each second.
    pub fn of_segments(baseline: &SegmentTotal, other: &SegmentTotal, figure: Figure, now_s: f64) -> Self {
        let values = [baseline, other].map(|segment| figure.value(&Row::of_segment(segment, now_s)));
        let unjudged = Self::unjudged(None, figure, values);
        match stretches(baseline, other, figure) {
            Some([base, other]) => {
                let comparison = seconds::compare(base, other, better(figure)).of_change(unjudged.change);
                unjudged.judged(&comparison)
            }
            None => unjudged,
        }
    }

    /// Returns the name of the figure: `ops/s`, `p99`, `GET p99`.
    pub fn name(&self) -> String {
        let heading = self.figure.heading;
        self.operation
            .as_ref()
            .map_or_else(|| heading.to_owned(), |operation| format!("{operation} {heading}"))
    }

    /// Returns the value of one side as text: 0 is the first side, 1 the second.
    pub fn written(&self, side: usize) -> String {
        let write = |value: f64| match self.figure.unit {
            FigureUnit::Latency => units::latency(value as u64),
            FigureUnit::Bytes => units::bytes(value as u64),
            FigureUnit::Ratio => units::percent(value),
            _ => units::count(value),
        };
        self.values[side].map_or_else(|| "-".to_owned(), write)
    }

    /// Returns the change with its confidence interval: `+12 % (+9.0 % to +15 %)`.
    pub fn difference(&self) -> String {
        match (self.change, self.range()) {
            (Some(change), Some(range)) => format!("{} ({range})", units::change(change)),
            (Some(change), None) => units::change(change),
            (None, _) => "-".to_owned(),
        }
    }

    /// Returns only the confidence interval: `+9.0 % to +15 %`.
    pub fn range(&self) -> Option<String> {
        let (low, high) = self.interval?;
        Some(format!("{} to {}", units::change(low), units::change(high)))
    }

    /// Returns the verdict with its reason, such as `better: more than noise`, or an empty text without a verdict.
    pub fn words(&self) -> String {
        self.verdict.map_or_else(String::new, |verdict| match verdict {
            Verdict::Same { .. } => format!("{} {}", verdict.word(), verdict.reason()),
            _ => format!("{}: {}", verdict.word(), verdict.reason()),
        })
    }

    /// Returns whether more pairs, runs or seconds might show that there is no difference.
    pub(super) fn may_be_noise(&self) -> bool {
        let is_measured = |reason| matches!(reason, Reason::Drift | Reason::SingleSeconds { .. });
        matches!(self.verdict, Some(Verdict::NotClear(reason)) if !is_measured(reason))
    }
}

/// Returns the values of the figure for each second of both segments; `None` if the figure has no value for each
/// second.
pub(super) fn stretches<'a>(
    baseline: &'a SegmentTotal,
    other: &'a SegmentTotal,
    figure: Figure,
) -> Option<[TimeSeries<'a>; 2]> {
    let (_, measure) = BY_SECONDS.iter().find(|(known, _)| *known == figure)?;
    Some([baseline, other].map(|segment| measure(&segment.seconds).stretch(segment.start.t_s)))
}
