//! Where the moments of a recording lie in its file, so that a stretch of it is found without reading the rest.
//!
//! ```text
//!   file     ┼──────────┼──────────┼──────────┼──────   some thousand places at the most
//!            0 s        10 s       20 s       30 s      all records before one are of its time or earlier
//! ```

use std::{collections::BTreeMap, sync::Arc};

use super::{Record, validate::Known};

/// So many places are remembered.
const MOST: usize = 4096;
/// So far they are apart at first, in seconds of the session.
const APART_S: f64 = 10.0;
/// The segments in force are known of so many nodes: as many as are shown beside each other.
const MOST_NODES: u16 = 16;

/// A place between two lines of a recording, and what is known there of all before it.
#[derive(Debug, Clone, Default)]
pub(super) struct Place {
    /// In bytes from the beginning of the file.
    pub(super) offset: u64,
    /// How many lines are before it.
    pub(super) line: u64,
    /// The latest moment of a record before it, in seconds of the session.
    pub(super) t_s: f64,
    /// What is known of the records before it.
    pub(super) known: Known,
    /// The segment of each node that holds there; shared by all places without another between them.
    in_force: Arc<BTreeMap<u16, Record>>,
}

impl Place {
    /// Takes in a record of `t_s`.
    pub(super) fn pass(&mut self, record: &Record, t_s: f64) {
        self.t_s = self.t_s.max(t_s);
        if let Record::Segment(segment) = record
            && segment.node < MOST_NODES
        {
            Arc::make_mut(&mut self.in_force).insert(segment.node, record.clone());
        }
    }

    /// The record of the segment of each node that holds here.
    pub(super) fn segments(&self) -> impl Iterator<Item = &Record> {
        self.in_force.values()
    }
}

/// Places of one file, in order.
#[derive(Debug)]
pub(super) struct Places {
    known: Vec<Place>,
    apart_s: f64,
}

impl Places {
    /// `first` is the earliest that will be needed.
    pub(super) fn new(first: Place) -> Self {
        Self { known: vec![first], apart_s: APART_S }
    }

    /// Remembers `place`, unless it is near another. Of very many every other one is forgotten.
    pub(super) fn note(&mut self, place: &Place) {
        let is_near = |last: &Place| place.t_s < last.t_s + self.apart_s;
        if self.known.last().is_some_and(is_near) {
            return;
        }
        self.known.push(place.clone());
        if self.known.len() > MOST {
            let mut number = 0;
            self.known.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            self.apart_s *= 2.0;
        }
    }

    /// The last one before which all records are of `t_s` or earlier, and else the first.
    pub(super) fn before(&self, t_s: f64) -> Place {
        let later = self.known.partition_point(|place| place.t_s <= t_s);
        self.known.get(later.max(1) - 1).cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_found_close_before_it_however_many_places_there_were() {
        let mut places = Places::new(Place { offset: 7, ..Place::default() });
        for second in 0..1_000_000_u32 {
            places.note(&Place { t_s: second.into(), offset: 7 + u64::from(second), ..Place::default() });
        }
        assert!(places.known.len() <= MOST);
        assert_eq!((places.before(-5.0).offset, places.before(3.0).offset), (7, 7));
        for t_s in [100_000.5, 999_999.0, 5e9] {
            let place = places.before(t_s);
            assert!(place.t_s <= t_s && place.t_s > t_s.min(999_999.0) - 2.0 * places.apart_s, "{place:?}");
        }
    }
}
