//! A stretch of the session in so many columns: what charts draw.

use super::{
    ErrorCell, Heat, History, LoadCell, Measure, Quantiles, ServerCell, Timeline, Worst, heat,
    history::{Cell, Merge},
    parts::{self, Parts},
};
use crate::stats::Blend;

/// Columns of equal length over a stretch of the session.
#[derive(Debug, Clone, Copy)]
pub struct Window<'a> {
    timeline: &'a Timeline,
    from_s: f64,
    step_s: f64,
    columns: usize,
}

impl Timeline {
    /// The stretch from `from_s` to `to_s` in `columns` columns. Either may lie outside of the session; nothing was
    /// measured there.
    pub fn window(&self, from_s: f64, to_s: f64, columns: usize) -> Window<'_> {
        let step_s = (to_s - from_s).max(0.0) / columns.max(1) as f64;
        Window { timeline: self, from_s, step_s, columns: if step_s > 0.0 { columns } else { 0 } }
    }

    /// The longest latency of `measure` between two moments, and when it was.
    pub fn worst(&self, measure: Measure, from_s: f64, to_s: f64) -> Option<Worst> {
        let cells = self.lane(measure).cells().between(from_s, to_s);
        // A record that ended a little late is in the cell before.
        let of_cell = |cell: Cell<'_, Parts>| {
            cell.value.worst().map(|worst| Worst { t_s: worst.t_s.min(cell.to_s), ..worst })
        };
        let inside = |worst: &Worst| worst.t_s > from_s && worst.t_s <= to_s;
        // Of equals the first.
        cells.filter_map(of_cell).filter(inside).rev().max_by_key(|worst| worst.ns)
    }
}

impl<'a> Window<'a> {
    /// What the load did in each column; `None` where nothing was measured.
    pub fn load(&self) -> Vec<Option<LoadCell>> {
        self.merged(&self.timeline.load)
    }

    /// The session that it is a part of.
    pub(super) fn timeline(&self) -> &'a Timeline {
        self.timeline
    }

    /// When `column` ends, in seconds of the session.
    pub(super) fn end_s(&self, column: usize) -> f64 {
        self.from_s + self.step_s * (column + 1) as f64
    }

    /// Percentiles and maximum of `measure` in each column. The percentiles are those of the segment that held
    /// longest in it, the maximum that of all.
    pub fn levels(&self, measure: Measure) -> Vec<Option<Quantiles>> {
        let mut blend = Blend::default();
        let columns = self.cells(self.timeline.lane(measure).cells());
        columns.iter().map(|cells| (!cells.is_empty()).then(|| parts::levels(cells, &mut blend))).collect()
    }

    /// How many requests of each column took how long: from when they were due in an open loop, from when they were
    /// written in a closed one, where that is the same.
    pub fn heat(&self) -> Vec<Option<Heat>> {
        let service = self.cells(self.timeline.lane(Measure::Service).cells());
        let response = self.cells(self.timeline.lane(Measure::Response).cells());
        let column = |(service, response): (&Vec<&Parts>, &Vec<&Parts>)| {
            (!service.is_empty() || !response.is_empty()).then(|| heat::of(service, response))
        };
        service.iter().zip(&response).map(column).collect()
    }

    /// Errors in each column, of load and PING; `None` where there was none.
    pub fn errors(&self) -> Vec<Option<ErrorCell>> {
        self.merged(&self.timeline.error_cells)
    }

    /// What the server said in each column, and its highest share of a core.
    pub fn server(&self) -> Vec<Option<ServerCell>> {
        self.merged(&self.timeline.server)
    }

    fn merged<T: Merge + Default + Clone>(&self, history: &'a History<T>) -> Vec<Option<T>> {
        let merge = |cells: &Vec<&T>| {
            let (first, rest) = cells.split_first()?;
            let mut all = (*first).clone();
            rest.iter().for_each(|cell| all.merge((*cell).clone()));
            Some(all)
        };
        self.cells(history).iter().map(merge).collect()
    }

    /// The cells that have a say in each column.
    fn cells<T: Merge + Default>(&self, history: &'a History<T>) -> Vec<Vec<&'a T>> {
        let mut columns = vec![Vec::new(); self.columns];
        let to_s = self.from_s + self.step_s * self.columns as f64;
        for cell in history.between(self.from_s, to_s) {
            for column in self.columns_of(&cell) {
                columns[column].push(cell.value);
            }
        }
        columns
    }

    /// A cell belongs to the column that holds its middle; one longer than a column to all whose middle it holds.
    fn columns_of<T>(&self, cell: &Cell<T>) -> std::ops::Range<usize> {
        let column = |t_s: f64| (t_s - self.from_s) / self.step_s;
        let (from, to) = (column(cell.from_s), column(cell.to_s));
        let (first, end) = if to - from > 1.000_001 {
            ((from - 0.5 - 1e-6).ceil(), (to - 0.5 - 1e-6).ceil())
        } else {
            let middle = f64::midpoint(from, to).floor();
            (middle, middle + 1.0)
        };
        let inside = |column: f64| column.clamp(0.0, self.columns as f64) as usize;
        inside(first)..inside(end)
    }
}
