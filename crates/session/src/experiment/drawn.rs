//! The data for a chart of an experiment, apart from the segments of its session.

use super::{Curve, Dimension, Limit};
use crate::compare::Difference;

/// The data for the chart of an experiment.
#[derive(Debug, Clone, Copy)]
pub enum Drawn<'a> {
    /// The experiment has no data of its own.
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
    /// The limit that the best point keeps, if there is one.
    pub limit: Option<&'a Limit>,
    /// All values that will have a point.
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
    /// The results for all figures, in lines.
    pub text: String,
    /// The counted pairs.
    pub course: Vec<AfterPair>,
}

/// B compared with A after a pair, by the deciding figure.
#[derive(Debug, Clone)]
pub struct AfterPair {
    /// The number of the pair.
    pub pair: u32,
    /// B's advantage in this pair, as a difference of logarithms.
    pub of_pair: Option<f64>,
    /// The difference from all pairs so far.
    pub so_far: Difference,
}
