//! The data that all charts of a screen share: the columns, the time axis, and the measurements in each column.
//!
//! ```text
//!  ping   ▄▄▅▄▄▄▄▄▄▆▄▄▄▄▄▄▄▄▄▆▆▆▆▇▆█▆▆▆▆▆      88.0 µs   91.2 µs
//!  gutter plot: the time axis            names now       60 s
//! ```
//!
//! While a server hangs, the charts show how long requests have been waiting for their replies. The lines therefore
//! have no gap.
//!
//! The legend of a chart shows the name and the figures of each line, at the right of the line's end.
//!
//! ```text
//!  ⠤⠒⠒⠉⠉⠉⠒  p99.9 4.76 ms
//!           p99   1.94 ms
//!  ⠤⠤⠤⠤⠤⠤⠤  p50    583 µs
//! ```

use std::sync::Arc;

use ratatui::layout::Rect;

use super::figures::NONE;
use crate::{
    app::{AxisScale, Model, Occurrence, Subject, TimeAxis, ValueAxis},
    session::{
        Timeline,
        timeline::{
            CommandCell, Heat, Level, LoadCell, Measure, PingCell, Quantiles, Reading, ServerCell, Timed,
            Window,
        },
    },
    tui::{Ink, Paint, layout::Columns, row},
};

/// The data that all charts of a screen share.
pub struct ChartContext<'a> {
    /// All measured values at the moment shown.
    pub reading: &'a Reading<'a>,
    /// The columns of gutter, plot and figures.
    pub columns: Columns,
    /// The time axis. The time axis defines the time of each column.
    pub axis: TimeAxis,
    /// The measurements of the columns.
    pub window: Window<'a>,
    /// The number of columns with measurements. A frozen view shows no measurements after the moment of freezing.
    pub shown: usize,
    /// The end of the last column with measurements, in seconds of the session.
    pub to_s: f64,
    /// The time after which nothing is shown, in seconds of the session. This time may be infinite.
    pub ends_s: f64,
    /// The subject of the charts: the load, or the server.
    pub subject: Subject,
    /// Whether the chart shows response or service times.
    pub timed: Timed,
    /// The latency axis. `None` without measurements.
    pub latency_axis: Option<ValueAxis>,
    /// The throughput axis. `None` without measurements.
    pub throughput_axis: Option<ValueAxis>,
    /// Whether the throughput's axis is linear or logarithmic.
    pub throughput_scale: AxisScale,
    /// The number of the baseline segment and its good replies per second.
    pub baseline: Option<(u32, f64)>,
    /// The cursor of a frozen view, in seconds of the session.
    pub cursor_s: Option<f64>,
    pub(super) known_s: f64,
    /// The latencies in each column: response or service times of the load, or round trip times of the pings.
    pub latency: Vec<Option<Quantiles>>,
    /// The distribution of the latencies in each column.
    pub heat: Vec<Option<Heat>>,
    levels: [Vec<Option<Quantiles>>; Measure::ALL.len()],
    /// The measurements of the load in each column.
    pub load: Vec<Option<LoadCell>>,
    /// The counts of the pings in each column.
    pub pings: Vec<Option<PingCell>>,
    /// The server's figures in each column.
    pub server: Vec<Option<Arc<ServerCell>>>,
    /// The server's commands in the last minute.
    pub commands_minute: CommandCell,
    /// The nodes that answer parts of the load shown.
    pub(super) parts: Vec<&'a Timeline>,
    /// The events in the period shown, each with its column.
    pub occurrences: Vec<(u16, Occurrence)>,
}

impl<'a> ChartContext<'a> {
    /// Collects the data of the charts for these columns and the time that `model` shows.
    pub fn new(reading: &'a Reading<'a>, columns: Columns, model: &'a Model) -> Self {
        let axis = model.axis(columns.plot);
        // A frozen view shows nothing after the moment of freezing, even if the axis has room.
        let (to_s, shown) = axis.until(model.ends_s());
        let window = axis.window(reading.timeline, model.ends_s());
        let timed = model.charts.timed;
        let of = |measure| axis.window(reading.with(measure).timeline, model.ends_s());
        let mut levels = Measure::ALL.map(|measure| of(measure).levels(measure));
        let pings = window.pings();
        waits_of_pings(&mut levels[Measure::Ping as usize], &pings);
        without_parts(&mut levels, &pings);
        let subject = model.subject();
        let (latency, heat) = match subject {
            Subject::Load => (window.latency(timed), window.heat(timed)),
            Subject::Server => {
                let mut round_trips = window.levels_of_pings();
                waits_of_pings(&mut round_trips, &pings);
                (round_trips, window.heat_of_pings())
            }
        };
        let latency_axis = model.charts.latency_axis(&latency, &axis, reading.known_segments());
        let commands_minute = match subject {
            Subject::Load => CommandCell::default(),
            Subject::Server => reading.commands_minute(),
        };
        let baseline = model.baseline().filter(|segment| segment.total.length_s > 0.0);
        let baseline = baseline.map(|segment| (segment.start.segment, segment.total.ops_per_s));
        let load = window.load();
        let segments = reading.known_segments();
        let throughput_axis = model.charts.throughput_axis(&load, &axis, segments, model.figures_s());
        let mut lanes = Self {
            reading,
            columns,
            axis,
            window,
            shown,
            to_s,
            timed,
            latency_axis,
            throughput_axis,
            throughput_scale: model.charts.scale,
            baseline,
            ends_s: model.ends_s(),
            subject,
            cursor_s: model.cursor_s(),
            known_s: model.known_s(),
            latency,
            heat,
            levels,
            load,
            pings,
            server: window.server(),
            parts: if model.node == 0 { model.parts_of_load().collect() } else { Vec::new() },
            commands_minute,
            occurrences: Vec::new(),
        };
        lanes.occurrences = lanes.occurred();
        if subject == Subject::Load {
            lanes.add_waits_of_load();
        }
        lanes
    }

    /// Adds the waiting times of requests without a reply to the latencies. In an open loop, also adds the waiting
    /// times of requests that are due but not sent yet.
    fn add_waits_of_load(&mut self) {
        let (axis, timed, segments) = (self.axis, self.timed, self.reading.known_segments());
        let counts_lag = |column| {
            let start = segments.start_at(axis.start_s(column) + axis.step_s / 2.0);
            timed == Timed::FromDue && start.is_some_and(|start| start.rate_due().is_some())
        };
        waits_of_load(&mut self.latency, &self.load, counts_lag);
    }

    /// Returns the percentiles of `measure` in each column.
    pub fn levels(&self, measure: Measure) -> &[Option<Quantiles>] {
        &self.levels[measure as usize]
    }

    /// Returns whether any column has an open loop. In an open loop, response and service time differ.
    pub fn has_open_loop(&self) -> bool {
        self.levels(Measure::Response).iter().any(Option::is_some)
    }

    /// Returns the number of the column whose figures are shown. The result is the column of the cursor, or the present
    /// column.
    pub fn column_shown(&self) -> usize {
        let now = || self.axis.column_ending(self.reading.now_s());
        usize::from(self.cursor().or_else(now).unwrap_or_default())
    }

    /// Returns the load in the column whose figures are shown. With a cursor, this is the column of the cursor.
    /// Otherwise, it is the last column with measurements. This may be the column before the present column.
    pub fn load_shown(&self) -> Option<&LoadCell> {
        let shown = self.column_shown();
        let before = shown.checked_sub(1).filter(|_| self.cursor().is_none());
        let of = |column: usize| self.load.get(column)?.as_ref();
        of(shown).or_else(|| of(before?))
    }

    /// Returns a percentile of `measure` in the column whose figures are shown.
    pub fn level_shown(&self, measure: Measure, level: Level) -> Option<u64> {
        self.levels(measure).get(self.column_shown())?.as_ref()?.get(level)
    }

    /// Returns the counts of the pings, without their times, in the column whose figures are shown.
    pub fn pings_shown(&self) -> PingCell {
        self.pings.get(self.column_shown()).copied().flatten().unwrap_or_default()
    }

    /// Returns whether the charts show the part of the load that one node gets.
    pub fn is_part(&self) -> bool {
        self.reading.segment().is_some_and(|segment| segment.start.is_part)
    }

    /// Returns the requested rate of the segment shown, or `None` in a closed loop.
    pub fn rate_due(&self) -> Option<u32> {
        self.reading.segment()?.start.rate_due()
    }

    /// Returns whether the load of the displayed segment sends messages to receivers.
    pub fn has_receivers(&self) -> bool {
        self.reading.segment().is_some_and(|segment| segment.start.knobs.workload.receivers.is_some())
    }

    /// Returns the column of the cursor. Returns `None` in a live view, or if the axis does not contain the cursor.
    pub fn cursor(&self) -> Option<u16> {
        self.column(self.cursor_s?)
    }

    /// Returns the measurement whose latencies the chart shows.
    pub fn measure(&self) -> Measure {
        match self.subject {
            Subject::Server => Measure::Ping,
            Subject::Load if self.rate_due().is_some() && self.timed == Timed::FromDue => Measure::Response,
            Subject::Load => Measure::Service,
        }
    }

    /// Returns the plot's columns in `area`.
    pub fn plot(&self, area: Rect) -> Rect {
        let x = area.x + self.columns.gutter.min(area.width);
        Rect { x, width: self.columns.plot.min(area.right() - x), ..area }
    }

    /// Returns the columns for marks and names right of the plot in `area`.
    pub fn names(&self, area: Rect) -> Rect {
        let plot = self.plot(area);
        Rect { x: plot.right(), width: self.columns.name.min(area.right() - plot.right()), ..area }
    }

    /// Writes a name at the right of the plot, after the columns for the mark of the line.
    pub fn name(&self, paint: &mut Paint, line: Rect, name: &str, ink: Ink) {
        let place = self.names(line);
        paint.text(Rect { x: place.x + 2, width: place.width.saturating_sub(2), ..place }, name, ink);
    }

    /// Returns the area of figure `n` in `area`. The width is 0 if the screen has fewer figures.
    pub fn value(&self, area: Rect, n: u16) -> Rect {
        let Columns { values, value, .. } = self.columns;
        let x = (self.names(area).right() + value * n.min(values)).min(area.right());
        let width = if n < values { value.min(area.right() - x) } else { 0 };
        Rect { x, width, ..area }
    }

    /// Writes the figures right of the names. The first figure is bold. Unknown figures are faint.
    pub fn figures(&self, paint: &mut Paint, line: Rect, values: &[String]) {
        for (n, value) in (0..).zip(values) {
            let ink = match n {
                _ if value == NONE => Ink::Faint,
                0 => Ink::Strong,
                _ => Ink::Text,
            };
            paint.right(self.value(line, n), value, ink);
        }
    }

    /// Draws the heading of a chart, with the names of the figures.
    pub fn heading_of_figures(&self, paint: &mut Paint, area: Rect, title: &str) {
        let of_segment = if self.subject == Subject::Load { "segment" } else { "" };
        paint.rule(Rect { width: self.names(area).right() - area.x, ..area }, title);
        for (n, name) in (0..).zip([&self.now(), "60 s", of_segment]) {
            paint.right(self.value(area, n), name, Ink::Faint);
        }
    }

    /// Returns the name of the first column of figures. The name is `now` or, in a frozen view, the time at the cursor.
    pub fn now(&self) -> String {
        match self.cursor_s {
            Some(cursor_s) => self.reading.timeline.time_text(cursor_s),
            None => "now".to_owned(),
        }
    }
}

/// Adds the waiting times of unanswered PINGs to the round trip times.
pub fn waits_of_pings(round_trips: &mut [Option<Quantiles>], pings: &[Option<PingCell>]) {
    for (rtt, pings) in round_trips.iter_mut().zip(pings) {
        let (Some(rtt), Some(pings)) = (rtt, pings) else { continue };
        match pings.wait_beyond(rtt.get(Level::Max)) {
            Some(wait_ns) if pings.answered == 0 => *rtt = Quantiles::of_wait(wait_ns),
            Some(wait_ns) => rtt.lift_max(wait_ns),
            None => {}
        }
    }
}

/// Removes the parts of PINGs from columns in which the parts of most PINGs are unknown. The parts of a PING are the
/// delay of sending, the time between the kernel's timestamps, and the delay of reading the reply.
pub fn without_parts(levels: &mut [Vec<Option<Quantiles>>; Measure::ALL.len()], pings: &[Option<PingCell>]) {
    for part in [Measure::PingSend, Measure::PingKernel, Measure::PingPickup] {
        for (part, pings) in levels[part as usize].iter_mut().zip(pings) {
            if part.is_some() && pings.is_some_and(|pings| pings.lacks_parts()) {
                *part = Some(Quantiles::default());
            }
        }
    }
}

/// Adds the waiting times of requests without a reply to the load's latencies. In a column with replies, these times
/// are added only if the column is the newest, because a lost request has no latency. If `counts_lag` is true, the
/// waiting times of requests that are due but not sent are added, too.
pub fn waits_of_load(
    latency: &mut [Option<Quantiles>],
    load: &[Option<LoadCell>],
    counts_lag: impl Fn(u16) -> bool,
) {
    let newest = load.iter().rposition(Option::is_some).map(|n| n as u16);
    for ((n, latency), load) in (0..).zip(latency).zip(load) {
        let Some(load) = load else { continue };
        let longest_ns = latency.and_then(|latency| latency.get(Level::Max));
        let is_shown = longest_ns.is_none() || newest == Some(n);
        match (latency, load.wait_beyond(longest_ns).filter(|_| is_shown)) {
            (_, None) => {}
            (Some(latency), Some(wait_ns)) if longest_ns.is_some() => latency.lift_max(wait_ns),
            (latency, Some(wait_ns)) => {
                let lag_ns = if counts_lag(n) { load.behind_us.saturating_mul(1_000) } else { 0 };
                *latency = Some(Quantiles::of_wait(wait_ns.max(lag_ns)));
            }
        }
    }
}

/// An entry of the legend.
pub struct LegendEntry<'a> {
    /// The name of the line.
    pub name: &'a str,
    /// The mark of the line; `None` if the lines differ in colour.
    pub mark: Option<char>,
    /// The ink of the line.
    pub ink: Ink,
    /// The row of the line's end, from the top. `None` if the line is not drawn.
    pub row: Option<u16>,
    /// The three figures: now, 60 s and segment.
    pub values: [String; 3],
}

/// Draws the entries, from top to bottom, next to a chart with the height of `area`.
pub fn legend(paint: &mut Paint, area: Rect, lanes: &ChartContext, entries: &[LegendEntry]) {
    let wanted: Vec<_> = entries.iter().map(|entry| entry.row).collect();
    for (entry, n) in entries.iter().zip(places(area.height, &wanted)) {
        let line = row(area, n);
        if let Some(mark) = entry.mark {
            paint.dot(lanes.names(line).x, line.y, mark, entry.ink);
        }
        lanes.name(paint, line, entry.name, entry.ink);
        lanes.figures(paint, line, &entry.values);
    }
}

/// Returns a row for each entry of a legend, in order. The row is as near as possible to the row in `wanted`. An entry
/// without a wanted row is directly below the previous entry. If there are more entries than rows, some entries share a
/// row.
fn places(rows: u16, wanted: &[Option<u16>]) -> Vec<u16> {
    let mut places: Vec<u16> = Vec::new();
    for wish in wanted {
        let least = places.last().map_or(0, |above| above + 1);
        places.push(wish.map_or(least, |wish| wish.max(least)));
    }
    // Entries below the last row are moved up, together with the entries above them.
    let mut most = rows.saturating_sub(1);
    for place in places.iter_mut().rev() {
        *place = (*place).min(most);
        most = place.saturating_sub(1);
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_entry_is_in_the_row_of_its_line_or_in_the_nearest_free_row() {
        let of = |rows, wanted: &[u16]| places(rows, &wanted.iter().map(|n| Some(*n)).collect::<Vec<_>>());
        assert_eq!(of(11, &[0, 2, 4, 6, 9]), [0, 2, 4, 6, 9]);
        assert_eq!(of(11, &[0, 0, 0, 6, 6]), [0, 1, 2, 6, 7]);
        assert_eq!(of(7, &[5, 5, 6, 6, 6]), [2, 3, 4, 5, 6]);
        assert_eq!(of(2, &[0, 0, 0]), [0, 0, 1]);
        assert_eq!(places(9, &[Some(0), None, Some(3)]), [0, 1, 3]);
    }
}
