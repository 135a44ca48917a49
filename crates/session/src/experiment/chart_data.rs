//! The data for the chart of an experiment, in addition to the segments of the session.

use super::{Curve, Limit};
use crate::compare::Difference;

/// The data for the chart of an experiment.
pub enum ChartData<'a> {
    /// No further data. The chart shows only the segments of the session (the times with unchanged settings).
    Segments,
    /// The points of a sweep.
    Points(Points<'a>),
    /// The bounds of a search.
    Bounds(SearchBounds),
}

/// The points of a sweep so far.
#[derive(Debug, Clone, Copy)]
pub struct Points<'a> {
    /// The points.
    pub curve: &'a Curve,
    /// The limit that the best point must keep; `None` without a limit.
    pub limit: Option<&'a Limit>,
    /// All values of the sweep, including values without a point so far.
    pub values: &'a [u64],
}

/// The bounds of a search for the highest rate. While the search runs, these are the bounds found so far. An unknown
/// bound is `None`.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchBounds {
    /// The limit, such as `p99<1ms`.
    pub limit: String,
    /// Lower end: the highest rate that keeps the limit.
    pub lower: Option<u64>,
    /// Upper end: the lowest rate that does not keep the limit.
    pub upper: Option<u64>,
}

/// The pairs of an A/B so far.
#[derive(Debug, Clone)]
pub struct Pairs {
    /// The title of the comparison: `ops/s of B, pipeline 16, against A, as it is`.
    pub title: String,
    /// The results of all figures, as lines of text.
    pub text: String,
    /// The counted pairs.
    pub course: Vec<AfterPair>,
}

/// The comparison of B with A after each pair, in the figure that decides the A/B.
#[derive(Debug, Clone)]
pub struct AfterPair {
    /// The number of the pair.
    pub pair: u32,
    /// The logarithm of B's value minus the logarithm of A's value in this pair.
    pub of_pair: Option<f64>,
    /// The difference between A and B over all pairs so far.
    pub so_far: Difference,
}
