//! The table of the segments: what it is sorted by, which row is selected, which segment is the baseline.

use std::cmp::Ordering;

use super::{
    Direction, Model, Tone,
    list::{moved, turned},
    view::inside_s,
};
use crate::session::timeline::{Level, SegmentTotal};

/// A column of the table of segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// The number of the segment.
    Number,
    /// When it began.
    Start,
    /// How long it lasted.
    Length,
    /// Connections × pipeline.
    Shape,
    /// The rate that was asked for.
    Rate,
    /// Good replies per second.
    Ops,
    /// A level of the service time.
    Service(Level),
    /// The 99th percentile of the response time.
    Response,
    /// How late the oldest due, unsent request was at most.
    SendLag,
    /// Requests that were due and never sent.
    Shed,
    /// Errors of all kinds.
    Errors,
    /// The server's share of a core.
    Cpu,
}

impl Column {
    /// All of them, from left to right.
    pub const ALL: [Self; 16] = [
        Self::Number,
        Self::Start,
        Self::Length,
        Self::Shape,
        Self::Rate,
        Self::Ops,
        Self::Service(Level::P50),
        Self::Service(Level::P90),
        Self::Service(Level::P99),
        Self::Service(Level::P999),
        Self::Service(Level::Max),
        Self::Response,
        Self::SendLag,
        Self::Shed,
        Self::Errors,
        Self::Cpu,
    ];

    /// Its heading.
    pub fn name(self) -> &'static str {
        match self {
            Self::Number => "no",
            Self::Start => "start",
            Self::Length => "length",
            Self::Shape => "load",
            Self::Rate => "rate",
            Self::Ops => "ops/s",
            Self::Service(level) => level.name(),
            Self::Response => "resp p99",
            Self::SendLag => "send lag",
            Self::Shed => "shed",
            Self::Errors => "errors",
            Self::Cpu => "srv cpu",
        }
    }

    /// What it holds for `segment`, as a number to sort by, at the moment `now_s` of the session; `None` where
    /// nothing, or too little, was measured. Latencies are in nanoseconds.
    pub fn value(self, segment: &SegmentTotal, now_s: f64) -> Option<f64> {
        let (start, total) = (&segment.start, &segment.total);
        let open = start.knobs.load && start.knobs.rate.is_some();
        match self {
            Self::Number => Some(start.segment.into()),
            Self::Start => Some(start.t_s),
            Self::Length => Some(segment.length_s(now_s)),
            Self::Shape => {
                start.knobs.load.then(|| f64::from(start.knobs.clients) * f64::from(start.knobs.pipeline))
            }
            Self::Rate => start.knobs.rate.filter(|_| open).map(f64::from),
            Self::Ops => (total.length_s > 0.0 && start.knobs.load).then_some(total.ops_per_s),
            Self::Service(level) => level.of(&total.service).map(|ns| ns as f64),
            Self::Response => total.response.as_ref().and_then(|r| Level::P99.of(r)).map(|ns| ns as f64),
            Self::SendLag => open.then_some(total.behind_us as f64 * 1e3),
            Self::Shed => open.then_some(total.shed as f64),
            Self::Errors => Some(total.errors.values().sum::<u64>() as f64),
            Self::Cpu => segment.cpu(),
        }
    }
}

/// The state of the table.
#[derive(Debug, Clone)]
pub struct SegmentTable {
    sorted_by: usize,
    descending: bool,
    selected: Option<u32>,
    baseline: Option<u32>,
}

impl Default for SegmentTable {
    /// The newest first.
    fn default() -> Self {
        Self { sorted_by: 0, descending: true, selected: None, baseline: None }
    }
}

impl SegmentTable {
    /// Which column it is sorted by.
    pub fn sorted_by(&self) -> Column {
        Column::ALL[self.sorted_by]
    }

    /// Whether the highest value stands first.
    pub fn is_descending(&self) -> bool {
        self.descending
    }

    /// Sorts by the next column to the left or right, round the ends.
    pub(super) fn sort_by_next(&mut self, direction: Direction) {
        self.sorted_by = turned(self.sorted_by, direction, Column::ALL.len());
    }

    pub(super) fn reverse(&mut self) {
        self.descending = !self.descending;
    }

    /// Puts segments into the order of the table. What has no value stands last either way; equals stand by number.
    fn sort(&self, segments: &mut [&SegmentTotal], now_s: f64) {
        let column = self.sorted_by();
        segments.sort_by(|a, b| match (column.value(a, now_s), column.value(b, now_s)) {
            (Some(a), Some(b)) if self.descending => b.total_cmp(&a),
            (Some(a), Some(b)) => a.total_cmp(&b),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => Ordering::Equal,
        });
    }
}

impl Model {
    /// All segments in the order of the table.
    pub fn segment_rows(&self) -> Vec<&SegmentTotal> {
        let mut rows: Vec<_> = self.segments().iter().collect();
        self.segment_table.sort(&mut rows, self.known_s());
        rows
    }

    /// The number of the segment that is selected in the table; while none was chosen, that of the one shown.
    pub fn selected_segment(&self) -> Option<u32> {
        let chosen = self.segment_table.selected;
        let listed = chosen.filter(|number| self.segments().numbered(*number).is_some());
        listed.or_else(|| self.shown().segment().map(|segment| segment.start.segment))
    }

    /// The number of the segment that others are compared with.
    pub fn baseline_number(&self) -> Option<u32> {
        self.segment_table.baseline
    }

    /// The segment that others are compared with; `None` when none is pinned, or it is no longer listed.
    pub fn baseline(&self) -> Option<&SegmentTotal> {
        self.segment_table.baseline.and_then(|number| self.segments().numbered(number))
    }

    /// Moves the selection by so many rows, no further than to the ends.
    pub(super) fn select_segment(&mut self, rows: i16) {
        let selected = self.selected_segment();
        let listed = self.segment_rows();
        let at = listed.iter().position(|segment| Some(segment.start.segment) == selected).unwrap_or(0);
        let at = moved(at, rows, listed.len());
        self.segment_table.selected = listed.get(at).map(|segment| segment.start.segment);
    }

    /// Pins the selected segment as the baseline, or lets it go.
    pub(super) fn pin_baseline(&mut self) {
        let selected = self.selected_segment();
        let table = &mut self.segment_table;
        if selected.is_some() && table.baseline == selected {
            table.baseline = None;
            self.say(Tone::Info, "no baseline");
            return;
        }
        table.baseline = selected;
        let text = selected.map_or_else(
            || "there is no segment yet".to_owned(),
            |number| format!("segment {number} is the baseline; b again lets it go"),
        );
        self.say(Tone::Info, text);
    }

    /// Puts the cursor into the selected segment.
    pub(super) fn go_to_segment(&mut self) {
        let known_s = self.known_s();
        let selected = self.selected_segment().and_then(|number| self.segments().numbered(number));
        let Some((number, at_s)) = selected.map(|s| (s.start.segment, inside_s(s, known_s))) else {
            return;
        };
        self.put_cursor(at_s);
        self.say(Tone::Info, format!("the cursor stands in segment {number}; 1 shows the Overview there"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        load::Knobs,
        session::{Interval, Record, Segment, TimelineOptions},
    };

    /// Four segments of 10 s; the first without load.
    fn model() -> Model {
        let mut model = Model::new(Knobs::default(), TimelineOptions::default());
        for (segment, ops) in [(1, 0), (2, 500), (3, 900), (4, 700)] {
            let knobs = Knobs { load: segment > 1, ..Knobs::default() };
            let t_s = f64::from(segment - 1) * 10.0;
            model.push(&Record::Segment(Segment {
                t_s,
                segment,
                knobs: knobs.clone(),
                warmup: false,
                config: None,
            }));
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
    fn rows_are_sorted_by_any_column_and_what_was_not_measured_stands_last() {
        let mut model = model();
        assert_eq!(numbers(&model), [4, 3, 2, 1]);
        while model.segment_table.sorted_by() != Column::Ops {
            model.segment_table.sort_by_next(Direction::Up);
        }
        assert_eq!(numbers(&model), [3, 4, 2, 1]);
        model.segment_table.reverse();
        assert_eq!(numbers(&model), [2, 4, 3, 1]);
        let mut table = SegmentTable::default();
        table.sort_by_next(Direction::Down);
        assert_eq!(table.sorted_by(), Column::Cpu);
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
    fn a_baseline_is_pinned_and_let_go_and_enter_goes_to_the_segment() {
        let mut model = model();
        model.select_segment(2);
        model.pin_baseline();
        assert_eq!(model.baseline().map(|segment| segment.total.ops), Some(500));
        model.go_to_segment();
        assert_eq!(model.cursor_s(), Some(11.0));
        model.pin_baseline();
        assert_eq!(model.baseline_number(), None);
    }
}
