//! The Curve screen's content: the knob on its horizontal axis, its points, and the result of an experiment.

use std::collections::BTreeSet;

use super::{Direction, Model, list::turned};
use crate::{
    events::{EventKind, Found},
    experiment::{Curve, Dimension, Drawn, Limit, Pairs, Points},
};

/// The bounds of a search: its result, or its present state.
#[derive(Debug, Clone, PartialEq)]
pub struct Bounds {
    /// The limit, such as `p99<1ms`.
    pub limit: String,
    /// The highest value that keeps the limit.
    pub lower: Option<u64>,
    /// The lowest value that does not keep the limit.
    pub upper: Option<u64>,
}

impl Model {
    fn drawn(&self) -> Drawn<'_> {
        self.experiment().map_or(Drawn::Segments, |experiment| experiment.drawn())
    }

    /// Returns the pairs of an A/B comparison, to show in place of a curve.
    pub fn pairs_shown(&self) -> Option<Pairs> {
        self.experiment().filter(|_| self.curve_over.is_none())?.pairs()
    }

    /// Returns the curve to show; `None` if no knob was changed.
    pub fn curve(&self) -> Option<Curve> {
        let dimension = self.curve_dimension()?;
        match self.points(dimension) {
            Some(points) => Some(points.curve.clone()),
            None => Some(Curve::of_segments(dimension, self.segments().iter())),
        }
    }

    /// Returns the points of a sweep over this dimension.
    fn points(&self, dimension: Dimension) -> Option<Points<'_>> {
        match self.drawn() {
            Drawn::Points(points) if points.curve.dimension == dimension => Some(points),
            _ => None,
        }
    }

    /// Returns the values at which a curve over this dimension will have points, if known.
    pub fn curve_values(&self, dimension: Dimension) -> &[u64] {
        self.points(dimension).map_or(&[], |points| points.values)
    }

    fn curve_dimension(&self) -> Option<Dimension> {
        let of_experiment = match self.drawn() {
            Drawn::Points(points) => Some(points.curve.dimension),
            Drawn::Bounds(bounds) => Some(bounds.dimension),
            Drawn::Segments => None,
        };
        self.curve_over.or(of_experiment).or_else(|| self.turned_most())
    }

    /// Returns the knob or parameter with the most values in the segments; `None` if none was changed.
    fn turned_most(&self) -> Option<Dimension> {
        let all = self.dimensions_turned();
        let most = all.iter().map(|(_, values)| *values).max()?;
        all.into_iter().find(|(_, values)| *values == most).map(|(dimension, _)| dimension)
    }

    /// Returns the dimensions with more than one value in the segments, and the number of values.
    fn dimensions_turned(&self) -> Vec<(Dimension, usize)> {
        let values = |dimension: Dimension| {
            let points = Curve::values_of(dimension, self.segments().iter());
            (dimension, points.collect::<BTreeSet<_>>().len())
        };
        Dimension::all().map(values).filter(|(_, values)| *values > 1).collect()
    }

    /// Draws the curve over the next dimension that was changed.
    pub(super) fn turn_dimension(&mut self, towards: Direction) {
        let all: Vec<_> = self.dimensions_turned().into_iter().map(|(dimension, _)| dimension).collect();
        let now = self.curve_dimension().and_then(|now| all.iter().position(|known| *known == now));
        let next = match now {
            Some(now) => turned(now, towards, all.len()),
            None => 0,
        };
        self.curve_over = all.get(next).copied();
    }

    /// Returns the limit of the present or last search over this dimension.
    pub fn curve_limit(&self, dimension: Dimension) -> Option<Limit> {
        match self.points(dimension) {
            Some(points) => points.limit.cloned(),
            None => self.curve_bounds(dimension)?.limit.parse().ok(),
        }
    }

    /// Returns the bounds of a search over this dimension: the running one, or the last one of the session.
    pub fn curve_bounds(&self, dimension: Dimension) -> Option<Bounds> {
        if let Drawn::Bounds(bounds) = self.drawn()
            && bounds.dimension == dimension
        {
            let (limit, lower, upper) = (bounds.limit.to_string(), bounds.lower, bounds.upper);
            return Some(Bounds { limit, lower, upper });
        }
        let until_s = self.known_s();
        let found = self.timeline().events().rev().filter(|event| event.t_s <= until_s).find_map(
            |event| match &event.what {
                EventKind::Found { found } if found.knob == dimension.word() => Some(found),
                _ => None,
            },
        )?;
        let Found { limit, lower, upper, .. } = found;
        Some(Bounds { limit: limit.clone(), lower: Some(*lower), upper: *upper })
    }
}
