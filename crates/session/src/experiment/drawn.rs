//! The data for the chart of an experiment, without the segments of its session.

use super::{Curve, Dimension, Limit};
use crate::compare::Difference;

/// The data for the chart of an experiment.
#[derive(Debug, Clone, Copy)]
pub enum Drawn<'a> {
    /// The chart shows only the segments of the session.
    Segments,
    /// The points of a sweep.
    Points(Points<'a>),
    /// The bounds of a search.
    Bounds(Bounds<'a>),
}

/// The points of a sweep so far.
#[derive(Debug, Clone, Copy)]
pub struct Points<'a> {
    /// The points.
    pub curve: &'a Curve,
    /// The limit that the best point has to keep, if there is one.
    pub limit: Option<&'a Limit>,
    /// All values of the sweep, including values without a point so far.
    pub values: &'a [u64],
}

/// The bounds of a search, as far as they are known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds<'a> {
    /// The dimension.
    pub dimension: Dimension,
    /// The limit.
    pub limit: &'a Limit,
    /// The highest value that keeps the limit.
    pub lower: Option<u64>,
    /// The lowest value that does not keep the limit.
    pub upper: Option<u64>,
}

/// The pairs of two sides so far.
#[derive(Debug, Clone)]
pub struct Pairs {
    /// The comparison: `ops/s of B, pipeline 16, against A, as it is`.
    pub title: String,
    /// The results of all figures, as lines of text.
    pub text: String,
    /// The counted pairs.
    pub course: Vec<AfterPair>,
}

/// The comparison of B with A after a pair, in the figure that decides.
#[derive(Debug, Clone)]
pub struct AfterPair {
    /// The number of the pair.
    pub pair: u32,
    /// The logarithm of B's value minus the logarithm of A's value in this pair.
    pub of_pair: Option<f64>,
    /// The difference between A and B over all pairs so far.
    pub so_far: Difference,
}
