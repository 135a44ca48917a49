//! What an experiment has to be drawn by, beside the segments of its session.

use super::{Curve, Dimension, Limit};
use crate::compare::Difference;

/// What it has to be drawn by.
#[derive(Debug, Clone, Copy)]
pub enum Drawn<'a> {
    /// Nothing of its own.
    Segments,
    /// Its own points.
    Points(Points<'a>),
    /// The bounds of a search.
    Bounds(Bounds<'a>),
}

/// The points of a sweep so far.
#[derive(Debug, Clone, Copy)]
pub struct Points<'a> {
    /// They themselves.
    pub curve: &'a Curve,
    /// The best of them holds it, if it is given.
    pub limit: Option<&'a Limit>,
    /// All values that there will be one at.
    pub values: &'a [u64],
}

/// The bounds of a search, as far as they are known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds<'a> {
    /// What is searched.
    pub dimension: Dimension,
    /// For what.
    pub limit: &'a Limit,
    /// It holds here.
    pub lower: Option<u64>,
    /// It does not hold here.
    pub upper: Option<u64>,
}

/// The pairs of two sides so far.
#[derive(Debug, Clone)]
pub struct Pairs {
    /// What is compared: `ops/s of B, pipeline 16, against A, as it is`.
    pub title: String,
    /// What they say of all figures, in lines.
    pub text: String,
    /// Each of them that counts.
    pub course: Vec<AfterPair>,
}

/// How B compares with A after a pair, by what decides.
#[derive(Debug, Clone)]
pub struct AfterPair {
    /// The number of the pair.
    pub pair: u32,
    /// How much more B was in this pair, as a difference of logarithms.
    pub of_pair: Option<f64>,
    /// The difference by all pairs until then.
    pub so_far: Difference,
}
