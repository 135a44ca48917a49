//! A lane: a chart in one row or two, its name and its figures in the last of them.

use ratatui::layout::Rect;

use super::Lanes;
use crate::{
    session::timeline::{Level, Measure},
    tui::{Ink, LogScale, Paint, from_column, row},
};

/// One column of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cell {
    /// Nothing was measured.
    Gap,
    /// Something was, but too few samples for this level.
    Few,
    /// A value, as a share of the lane's height in steps from 1.
    Step(usize),
}

/// A lane ready to be drawn.
pub struct Lane {
    /// Its name.
    pub name: &'static str,
    /// How it is drawn.
    pub ink: Ink,
    /// One cell for each column of the plot.
    pub cells: Vec<Cell>,
    /// The figures: now and over 60 s; an empty text leaves the place blank.
    pub values: [String; 2],
    /// From where to where its scale goes, where that is its own.
    pub range: String,
}

impl Lane {
    /// One without a name yet, on the scale of all latencies.
    pub fn new(ink: Ink, cells: Vec<Cell>, values: [String; 2]) -> Self {
        Self { name: "", ink, cells, values, range: String::new() }
    }
}

/// Steps in a lane of `rows` rows: eight in each, less one that keeps it from touching the lane above.
pub fn steps(rows: u16) -> usize {
    (usize::from(rows) * 8).saturating_sub(1)
}

impl Lanes<'_> {
    /// The scale of the latencies in all lanes, so that heights can be compared across them.
    pub fn log_scale(&self) -> LogScale {
        let shown = [
            (Measure::Ping, Level::P50),
            (Measure::Ping, Level::Max),
            (Measure::PingKernel, Level::P50),
            (Measure::Wake, Level::Max),
        ];
        let values = shown.into_iter().flat_map(|(measure, level)| self.values(measure, level));
        LogScale::covering(values.flatten().flatten())
    }

    /// One level of a measurement for each column.
    pub fn cells(&self, measure: Measure, level: Level, scale: LogScale, rows: u16) -> Vec<Cell> {
        let cell = |value: Option<Option<u64>>| match value {
            None => Cell::Gap,
            Some(None) => Cell::Few,
            Some(Some(ns)) => Cell::Step(scale.step(ns, steps(rows))),
        };
        self.values(measure, level).map(cell).collect()
    }

    fn values(&self, measure: Measure, level: Level) -> impl Iterator<Item = Option<Option<u64>>> {
        self.levels(measure).iter().map(move |column| column.map(|quantiles| quantiles.get(level)))
    }

    /// Draws a lane over all of `area`, its name and figures in the last row.
    pub fn draw(&self, paint: &mut Paint, area: Rect, lane: &Lane) {
        let rows = area.height;
        if rows == 0 {
            return;
        }
        let foot = row(area, rows - 1);
        let name = Rect { x: foot.x + 1, width: self.columns.gutter.saturating_sub(1), ..foot };
        paint.text(name, lane.name, Ink::Text);
        self.figures(paint, foot, &lane.values);
        paint.text(from_column(self.names(foot), self.names(foot).x + 1), &lane.range, Ink::Faint);
        let plot = self.plot(area);
        for (x, cell) in (plot.left()..plot.right()).zip(&lane.cells) {
            column(paint, plot, x, *cell, lane.ink);
        }
        self.lines(paint, plot);
    }
}

fn column(paint: &mut Paint, plot: Rect, x: u16, cell: Cell, ink: Ink) {
    let glyphs = paint.glyphs();
    let bottom = plot.bottom() - 1;
    match cell {
        Cell::Gap => {}
        Cell::Few => paint.dot(x, bottom, glyphs.few, Ink::Faint),
        Cell::Step(step) => {
            let full = step / 8;
            for y in 0..full as u16 {
                paint.bar(x, bottom.saturating_sub(y), glyphs.bars[7], ink);
            }
            if !step.is_multiple_of(8) {
                paint.bar(x, bottom.saturating_sub(full as u16), glyphs.bars[step % 8 - 1], ink);
            }
        }
    }
}
