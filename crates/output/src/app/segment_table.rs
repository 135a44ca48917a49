//! The table of the segments: its columns, its sort order, the selected row, and the baseline.

use super::{Direction, Model, SortedTable, Tone, jump::inside_s, list::moved};
use crate::session::{
    figures::{self, FIGURES, Figure, OF_RECEIVERS, Row},
    timeline::SegmentTotal,
};

/// The columns of figures, the most important first. The table also has a column for the number of the segment, and
/// columns for the figures of the receivers.
pub const SEGMENT_COLUMNS: [Figure; 17] = [
    figures::OPS_PER_S,
    figures::SERVICE_P99,
    figures::SERVICE_P50,
    figures::RESPONSE_P99,
    figures::RESPONSE_P50,
    figures::ERRORS,
    figures::SERVICE_P999,
    figures::RESPONSE_P999,
    figures::SERVICE_MAX,
    figures::LENGTH,
    figures::RATE,
    figures::SHAPE,
    figures::SERVER_CPU,
    figures::SEND_LAG,
    figures::START,
    figures::SHED,
    figures::SERVICE_P90,
];

impl Default for SortedTable<Figure, u32> {
    /// Sorts with the newest segment first.
    fn default() -> Self {
        Self { sorted_by: figures::SEGMENT, is_descending: true, selected: None }
    }
}

impl Model {
    /// Returns all segments in the order of the table.
    pub fn segment_rows(&self) -> Vec<&SegmentTotal> {
        let mut rows: Vec<_> = self.segments().iter().collect();
        let now_s = self.known_s();
        self.segment_table.sort(&mut rows, |segment, figure| figure.value(&Row::of_segment(segment, now_s)));
        rows
    }

    /// Returns the number of the selected segment. If no segment is selected, returns the number of the segment
    /// shown.
    pub fn selected_segment(&self) -> Option<u32> {
        let chosen = self.segment_table.selected;
        let listed = chosen.filter(|number| self.segments().numbered(*number).is_some());
        listed.or_else(|| self.shown().segment().map(|segment| segment.start.segment))
    }

    /// Returns the baseline segment. Returns `None` if the user has pinned no baseline, or if the pinned segment is no
    /// longer listed.
    pub fn baseline(&self) -> Option<&SegmentTotal> {
        self.pinned.and_then(|number| self.segments().numbered(number))
    }

    /// Sorts by the next column to the left or right that has a value in at least one row.
    pub(super) fn sort_segments(&mut self, direction: Direction) {
        let (rows, now_s) = (self.segment_rows(), self.known_s());
        let is_column = |figure: &Figure| {
            let is_listed = SEGMENT_COLUMNS.contains(figure) || OF_RECEIVERS.contains(figure);
            let is_known = |row: &&SegmentTotal| figure.value(&Row::of_segment(row, now_s)).is_some();
            *figure == figures::SEGMENT || is_listed && rows.iter().any(is_known)
        };
        let columns: Vec<_> = FIGURES.iter().copied().filter(is_column).collect();
        self.segment_table.sort_by_next(direction, &columns);
    }

    /// Moves the selection by this many rows, at most to the first or last row.
    pub(super) fn select_segment(&mut self, rows: i16) {
        let selected = self.selected_segment();
        let listed = self.segment_rows();
        let at = listed.iter().position(|segment| Some(segment.start.segment) == selected).unwrap_or(0);
        let at = moved(at, rows, listed.len());
        self.segment_table.selected = listed.get(at).map(|segment| segment.start.segment);
    }

    /// Pins the selected segment as the baseline, or unpins the segment.
    pub(super) fn pin_baseline(&mut self) {
        let selected = self.selected_segment();
        if selected.is_some() && self.pinned == selected {
            self.pinned = None;
            self.show_message(Tone::Info, "the baseline is unpinned");
            return;
        }
        self.pinned = selected;
        let text = selected.map_or_else(
            || "there is no segment yet".to_owned(),
            |number| format!("segment {number} is the baseline; press b again to unpin the baseline"),
        );
        self.show_message(Tone::Info, text);
    }

    /// Moves the cursor into the selected segment.
    pub(super) fn go_to_segment(&mut self) {
        let known_s = self.known_s();
        let selected = self.selected_segment().and_then(|number| self.segments().numbered(number));
        let Some((number, at_s)) = selected.map(|s| (s.start.segment, inside_s(s, known_s))) else {
            return;
        };
        self.put_cursor(at_s);
        self.show_message(
            Tone::Info,
            format!("the cursor is in segment {number}; press 1 to see the Overview"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        knobs::Knobs,
        session::{Interval, Record, Segment, TimelineOptions, figures},
    };

    /// Returns a session with four segments of 10 s, the first without load.
    fn model() -> Model {
        let mut model = Model::new(Knobs::default(), TimelineOptions::default());
        for (segment, ops) in [(1, 0), (2, 500), (3, 900), (4, 700)] {
            let knobs = Knobs { load: segment > 1, ..Knobs::default() };
            let t_s = f64::from(segment - 1) * 10.0;
            model.push(&Record::Segment(Segment::new(t_s, segment, knobs.clone())));
            if knobs.load {
                let (t_s, length_s) = (t_s + 10.0, 10.0);
                let interval = Interval { t_s, length_s, segment, ops, ..Interval::default() };
                model.push(&Record::Interval(Box::new(interval)));
            }
        }
        model
    }

    fn numbers(model: &Model) -> Vec<u32> {
        model.segment_rows().iter().map(|segment| segment.start.segment).collect()
    }

    #[test]
    fn rows_are_sorted_by_any_column_and_rows_without_a_value_are_last() {
        let mut model = model();
        assert_eq!(numbers(&model), [4, 3, 2, 1]);
        while model.segment_table.sorted_by != figures::OPS_PER_S {
            model.sort_segments(Direction::Up);
        }
        assert_eq!(numbers(&model), [3, 4, 2, 1]);
        model.segment_table.reverse();
        assert_eq!(numbers(&model), [2, 4, 3, 1]);
        let columns = std::iter::from_fn(|| {
            model.sort_segments(Direction::Up);
            Some(model.segment_table.sorted_by.heading).filter(|heading| *heading != "no")
        });
        // No segment has enough replies for a percentile, a rate, or receivers.
        assert_eq!(columns.collect::<Vec<_>>(), ["errors"]);
        model.sort_segments(Direction::Up);
        assert_eq!(model.segment_table.sorted_by, figures::START);
        model.sort_segments(Direction::Down);
        model.sort_segments(Direction::Down);
        assert_eq!(model.segment_table.sorted_by, figures::ERRORS);
    }

    #[test]
    fn the_selection_stays_on_its_segment_and_stops_at_the_ends() {
        let mut model = model();
        assert_eq!(model.selected_segment(), Some(4));
        model.select_segment(1);
        assert_eq!(model.selected_segment(), Some(3));
        model.segment_table.reverse();
        assert_eq!(model.selected_segment(), Some(3));
        model.select_segment(-10);
        assert_eq!(model.selected_segment(), Some(1));
        model.select_segment(100);
        assert_eq!(model.selected_segment(), Some(4));
    }

    #[test]
    fn a_baseline_is_pinned_and_unpinned_and_enter_goes_to_the_segment() {
        let mut model = model();
        model.select_segment(2);
        model.pin_baseline();
        assert_eq!(model.baseline().map(|segment| segment.total.ops), Some(500));
        model.go_to_segment();
        assert_eq!(model.cursor_s(), Some(11.0));
        model.pin_baseline();
        assert_eq!(model.pinned, None);
    }
}
