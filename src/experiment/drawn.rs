//! What an experiment has to be drawn by, beside the segments of its session.

use super::{Ab, Curve, Dimension, Limit};

/// What it has to be drawn by.
#[derive(Debug, Clone, Copy)]
pub enum Drawn<'a> {
    /// Nothing of its own.
    Segments,
    /// Its own points.
    Points(Points<'a>),
    /// The bounds of a search.
    Bounds(Bounds<'a>),
    /// Pairs.
    Pairs(&'a Ab),
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
