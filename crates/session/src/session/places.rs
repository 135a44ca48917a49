//! An index of a recording: file positions by time. With the index, redyno can read a part of the file again without
//! reading the whole file.
//!
//! ```text
//!   file     ┼──────────┼──────────┼──────────┼──────   at most some thousand places
//!            0 s        10 s       20 s       30 s      all records before a place are of its time or earlier
//! ```

use std::{collections::BTreeMap, sync::Arc};

use super::{Record, validate::ValidationState};

/// The largest number of positions in the index.
const MOST: usize = 4096;
/// The initial time between two positions, in seconds of the session.
const APART_S: f64 = 10.0;
/// The largest number of nodes with stored segments. redyno does not show more nodes.
const MOST_NODES: u16 = 128;

/// A position between two lines of a recording, and the state of the reader there.
#[derive(Debug, Clone, Default)]
pub(super) struct FilePosition {
    /// The position in bytes from the beginning of the file.
    pub(super) offset: u64,
    /// The number of lines before the position.
    pub(super) line: u64,
    /// The latest time of a record before the position, in seconds of the session.
    pub(super) t_s: f64,
    /// The state of the validation after the records before the position.
    pub(super) known: ValidationState,
    /// The current segment of each node. Positions between the same two segment records share this map.
    in_force: Arc<BTreeMap<u16, Record>>,
}

impl FilePosition {
    /// Updates the latest time and the current segments with a record before this position. `t_s` is the
    /// record's time.
    pub(super) fn pass(&mut self, record: &Record, t_s: f64) {
        self.t_s = self.t_s.max(t_s);
        if let Record::Segment(segment) = record
            && segment.node < MOST_NODES
        {
            Arc::make_mut(&mut self.in_force).insert(segment.node, record.clone());
        }
    }

    /// Returns the record of each node's current segment at this position.
    pub(super) fn segments(&self) -> impl Iterator<Item = &Record> {
        self.in_force.values()
    }
}

/// The index: positions in one file, in order.
#[derive(Debug)]
pub(super) struct PositionIndex {
    known: Vec<FilePosition>,
    apart_s: f64,
}

impl PositionIndex {
    /// Returns an index with the position `first`, the earliest position that will be needed.
    pub(super) fn new(first: FilePosition) -> Self {
        Self { known: vec![first], apart_s: APART_S }
    }

    /// Adds a position, unless its time is close to the time of the last position. If there are too many positions,
    /// every second position is removed.
    pub(super) fn note(&mut self, place: &FilePosition) {
        let is_near = |last: &FilePosition| place.t_s < last.t_s + self.apart_s;
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

    /// Returns the last position before which all records have the time `t_s` or an earlier time. If there is
    /// no such position, returns the first position.
    pub(super) fn before(&self, t_s: f64) -> FilePosition {
        let later = self.known.partition_point(|place| place.t_s <= t_s);
        self.known.get(later.max(1) - 1).cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_of_any_size_finds_a_position_shortly_before_a_moment() {
        let mut places = PositionIndex::new(FilePosition { offset: 7, ..FilePosition::default() });
        for second in 0..1_000_000_u32 {
            places.note(&FilePosition {
                t_s: second.into(),
                offset: 7 + u64::from(second),
                ..FilePosition::default()
            });
        }
        assert!(places.known.len() <= MOST);
        assert_eq!((places.before(-5.0).offset, places.before(3.0).offset), (7, 7));
        for t_s in [100_000.5, 999_999.0, 5e9] {
            let place = places.before(t_s);
            assert!(place.t_s <= t_s && place.t_s > t_s.min(999_999.0) - 2.0 * places.apart_s, "{place:?}");
        }
    }
}
