//! The content of the Curve screen: the dimension on the horizontal axis (a knob or a server parameter), the points,
//! and the result of an experiment.

use std::collections::BTreeSet;

use super::{Direction, Model, list::turned};
use crate::{
    events::{EventKind, SearchResult},
    experiment::{ChartData, Curve, Dimension, Limit, Pairs, Points, SearchBounds},
    knobs::Knob,
};

impl Model {
    fn drawn(&self) -> ChartData<'_> {
        self.experiment().map_or(ChartData::Segments, |experiment| experiment.drawn())
    }

    /// Returns the pairs of an A/B comparison. The screen shows these pairs instead of a curve.
    pub fn pairs_shown(&self) -> Option<Pairs> {
        self.experiment().filter(|_| self.curve_over.is_none())?.pairs()
    }

    /// Returns the curve to show. Returns `None` if no knob was changed.
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
            ChartData::Points(points) if points.curve.dimension == dimension => Some(points),
            _ => None,
        }
    }

    /// Returns all values of this dimension (a knob) that a sweep will measure. Empty if the values are unknown.
    pub fn curve_values(&self, dimension: Dimension) -> &[u64] {
        self.points(dimension).map_or(&[], |points| points.values)
    }

    fn curve_dimension(&self) -> Option<Dimension> {
        let of_experiment = match self.drawn() {
            ChartData::Points(points) => Some(points.curve.dimension),
            ChartData::Bounds(_) => Some(Dimension::Knob(Knob::Rate)),
            ChartData::Segments => None,
        };
        self.curve_over.or(of_experiment).or_else(|| self.most_changed())
    }

    /// Returns the knob or parameter with the most values in the segments. Returns `None` if nothing was changed.
    fn most_changed(&self) -> Option<Dimension> {
        let all = self.dimensions_turned();
        let most = all.iter().map(|(_, values)| *values).max()?;
        all.into_iter().find(|(_, values)| *values == most).map(|(dimension, _)| dimension)
    }

    /// Returns each dimension that has more than one value in the segments, with the number of its values.
    fn dimensions_turned(&self) -> Vec<(Dimension, usize)> {
        let values = |dimension: Dimension| {
            let points = Curve::values_of(dimension, self.segments().iter());
            (dimension, points.collect::<BTreeSet<_>>().len())
        };
        Dimension::all().map(values).filter(|(_, values)| *values > 1).collect()
    }

    /// Shows the curve over the next dimension that was changed in this session.
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

    /// Returns the bounds of the running search over this dimension, or of the last search in the session.
    pub fn curve_bounds(&self, dimension: Dimension) -> Option<SearchBounds> {
        if let ChartData::Bounds(bounds) = self.drawn()
            && dimension == Dimension::Knob(Knob::Rate)
        {
            return Some(bounds);
        }
        let until_s = self.known_s();
        let found = self.timeline().events().rev().filter(|event| event.t_s <= until_s).find_map(
            |event| match &event.what {
                EventKind::Found { found } if found.knob == dimension.word() => Some(found),
                _ => None,
            },
        )?;
        let SearchResult { limit, lower, upper, .. } = found;
        Some(SearchBounds { limit: limit.clone(), lower: Some(*lower), upper: *upper })
    }
}
