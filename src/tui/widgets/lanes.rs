//! What all charts share: the columns, the time axis, what was measured in it.
//!
//! ```text
//!  ping   ▄▄▅▄▄▄▄▄▄▆▄▄▄▄▄▄▄▄▄▆▆▆▆▇▆█▆▆▆▆▆      88.0 µs   91.2 µs
//!  gutter plot: the time axis            names now       60 s
//! ```
//!
//! Waits that have no end yet: while a server hangs they grow in the charts, instead of a gap that is filled afterwards.
//!
//! The legend of a chart: the name and the figures of each line, right of its end.
//!
//! ```text
//!  ⠤⠒⠒⠉⠉⠉⠒  p99.9 4.76 ms
//!           p99   1.94 ms
//!  ⠤⠤⠤⠤⠤⠤⠤  p50    583 µs
//! ```

use ratatui::layout::Rect;

use super::figures::{NONE, clock};
use crate::{
    app::{Model, Occurrence, Spread, Subject, TimeAxis, ValueAxis},
    session::timeline::{
        CommandCell, Heat, Level, LoadCell, Measure, PingCell, Quantiles, Reading, Timed, Window,
    },
    tui::{Ink, Paint, layout::Columns, row},
};

/// What all lanes of a screen share.
pub struct Lanes<'a> {
    /// The moment that figures show.
    pub reading: &'a Reading<'a>,
    /// Where gutter, plot and figures stand.
    pub columns: Columns,
    /// Which stretch of time each column of the plot shows.
    pub axis: TimeAxis,
    /// What the columns hold.
    pub window: Window<'a>,
    /// How many columns hold something: a frozen view goes no further than the session went when it was frozen.
    pub shown: usize,
    /// Where the last of them ends, in seconds of the session.
    pub to_s: f64,
    /// What is later is not shown, in seconds of the session.
    pub ends_s: f64,
    /// What the charts are about.
    pub subject: Subject,
    /// From when the latencies of the load count in the chart.
    pub timed: Timed,
    /// What of them the chart shows; none where nothing was measured.
    pub latency_axis: Option<ValueAxis>,
    /// What of the throughput the chart shows; none where nothing was measured.
    pub throughput_axis: Option<ValueAxis>,
    /// How that is spread.
    pub spread: Spread,
    /// The number of the baseline segment and its good replies per second.
    pub baseline: Option<(u32, f64)>,
    /// The moment that is shown while the view is frozen, in seconds of the session.
    pub cursor_s: Option<f64>,
    /// The latencies of the load in each column, as the chart counts them; or those of the pings.
    pub latency: Vec<Option<Quantiles>>,
    /// How many of them took how long in each column.
    pub heat: Vec<Option<Heat>>,
    levels: [Vec<Option<Quantiles>>; Measure::ALL.len()],
    /// What the load did in each column.
    pub load: Vec<Option<LoadCell>>,
    pings: Vec<Option<PingCell>>,
    /// What the server's commands did in each column; only while the charts are about the server.
    pub commands: Vec<Option<CommandCell>>,
    /// What they did in the last minute.
    pub commands_minute: CommandCell,
    /// What happened in the stretch that is shown, each with its column.
    pub occurrences: Vec<(u16, Occurrence)>,
}

impl<'a> Lanes<'a> {
    /// The lanes of a plot with these columns, over the stretch that `model` shows.
    pub fn new(reading: &'a Reading<'a>, columns: Columns, model: &Model) -> Self {
        let axis = model.axis(columns.plot);
        // What comes after a view was frozen is not in it, also where its axis has room left.
        let (to_s, shown) = axis.until(model.ends_s());
        let window = axis.window(reading.timeline(), model.ends_s());
        let timed = model.charts.timed;
        let mut levels = Measure::ALL.map(|measure| window.levels(measure));
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
        let (commands, commands_minute) = match subject {
            Subject::Load => (Vec::new(), CommandCell::default()),
            Subject::Server => {
                let cells = window.server().into_iter().map(|cell| cell.map(|cell| cell.commands));
                (cells.collect(), reading.commands_minute())
            }
        };
        let baseline = model.baseline().filter(|segment| segment.total.length_s > 0.0);
        let baseline = baseline.map(|segment| (segment.start.segment, segment.total.ops_per_s));
        let load = window.load();
        let segments = reading.known_segments();
        let throughput_axis = model.charts.throughput_axis(&load, &axis, segments, model.cursor_s());
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
            spread: model.charts.spread,
            baseline,
            ends_s: model.ends_s(),
            subject,
            cursor_s: model.cursor_s(),
            latency,
            heat,
            levels,
            load,
            pings,
            commands,
            commands_minute,
            occurrences: Vec::new(),
        };
        lanes.occurrences = lanes.occurred();
        if subject == Subject::Load {
            lanes.add_waits_of_load();
        }
        lanes
    }

    /// Shows in the chart what requests have been waiting so far, and in an open loop those that could not be sent.
    fn add_waits_of_load(&mut self) {
        let (axis, timed, segments) = (self.axis, self.timed, self.reading.known_segments());
        let counts_lag = |column| {
            let segment = segments.holding_at(axis.start_s(column) + axis.step_s / 2.0);
            timed == Timed::FromDue && segment.is_some_and(|segment| segment.start.knobs.rate.is_some())
        };
        waits_of_load(&mut self.latency, &self.load, counts_lag);
    }

    /// The levels of `measure` in each column.
    pub fn levels(&self, measure: Measure) -> &[Option<Quantiles>] {
        &self.levels[measure as usize]
    }

    /// Whether a rate was asked for in some column, so that response time is more than service time.
    pub fn has_open_loop(&self) -> bool {
        self.levels(Measure::Response).iter().any(Option::is_some)
    }

    /// The column whose figures are shown: that of the cursor, or of now.
    pub fn column_shown(&self) -> usize {
        let now = || self.axis.column_ending(self.reading.now_s());
        usize::from(self.cursor().or_else(now).unwrap_or_default())
    }

    /// What the load did in the column that is shown: at the cursor, or last. The tick that ended now may lie in the
    /// column before that of now.
    pub fn load_shown(&self) -> Option<&LoadCell> {
        let shown = self.column_shown();
        let before = shown.checked_sub(1).filter(|_| self.cursor().is_none());
        let of = |column: usize| self.load.get(column)?.as_ref();
        of(shown).or_else(|| of(before?))
    }

    /// A level of `measure` in the column that is shown.
    pub fn level_shown(&self, measure: Measure, level: Level) -> Option<u64> {
        self.levels(measure).get(self.column_shown())?.as_ref()?.get(level)
    }

    /// What the pings of the column that is shown were beside their times.
    pub fn pings_shown(&self) -> PingCell {
        self.pings.get(self.column_shown()).copied().flatten().unwrap_or_default()
    }

    /// The rate that the segment in force has due, if it is an open loop.
    pub fn rate_due(&self) -> Option<u32> {
        let knobs = &self.reading.segment()?.start.knobs;
        knobs.rate.filter(|_| knobs.load)
    }

    /// The column of the cursor, while the view is frozen and the axis shows it.
    pub fn cursor(&self) -> Option<u16> {
        self.cursor_s.and_then(|cursor_s| self.axis.column_ending(cursor_s))
    }

    /// Whose latency is shown.
    pub fn measure(&self) -> Measure {
        match self.subject {
            Subject::Server => Measure::Ping,
            Subject::Load if self.rate_due().is_some() && self.timed == Timed::FromDue => Measure::Response,
            Subject::Load => Measure::Service,
        }
    }

    /// Puts the cursor over what stands in the first row of `area`.
    pub fn cursor_mark(&self, paint: &mut Paint, area: Rect) {
        let plot = self.plot(area);
        if let Some(column) = self.cursor().filter(|column| *column < plot.width) {
            paint.dot(plot.x + column, plot.y, paint.glyphs().cursor_line, Ink::Selected);
        }
    }

    /// Where the plot stands in `area`.
    pub fn plot(&self, area: Rect) -> Rect {
        let x = area.x + self.columns.gutter.min(area.width);
        Rect { x, width: self.columns.plot.min(area.right() - x), ..area }
    }

    /// Where the marks and names right of the plot stand in `area`.
    pub fn names(&self, area: Rect) -> Rect {
        let plot = self.plot(area);
        Rect { x: plot.right(), width: self.columns.name.min(area.right() - plot.right()), ..area }
    }

    /// Writes a name right of the plot, behind the place of its mark.
    pub fn name(&self, paint: &mut Paint, line: Rect, name: &str, ink: Ink) {
        let place = self.names(line);
        paint.text(Rect { x: place.x + 2, width: place.width.saturating_sub(2), ..place }, name, ink);
    }

    /// Where figure `n` stands in `area`; without width when this screen has no such figure.
    pub fn value(&self, area: Rect, n: u16) -> Rect {
        let Columns { values, value, .. } = self.columns;
        let x = (self.names(area).right() + value * n.min(values)).min(area.right());
        let width = if n < values { value.min(area.right() - x) } else { 0 };
        Rect { x, width, ..area }
    }

    /// Writes figures to their places: that of now strong, and what is not known faint.
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

    /// A heading over a chart, with the names of the figures.
    pub fn heading_of_figures(&self, paint: &mut Paint, area: Rect, title: &str) {
        let of_segment = if self.subject == Subject::Load { "segment" } else { "" };
        self.heading_of(paint, area, title, [&self.now(), "60 s", of_segment]);
    }

    /// What the figures of the moment that is shown are called.
    pub fn now(&self) -> String {
        if self.cursor_s.is_some() { clock(self.reading.now_s()) } else { "now".to_owned() }
    }

    /// A heading with names of its own for the figures.
    pub fn heading_of(&self, paint: &mut Paint, area: Rect, title: &str, names: [&str; 3]) {
        paint.rule(Rect { width: self.names(area).right() - area.x, ..area }, title);
        for (n, name) in names.into_iter().enumerate() {
            paint.right(self.value(area, n as u16), name, Ink::Faint);
        }
    }
}

/// Shows in round trips what PINGs have been waiting so far.
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

/// Leaves the parts of pings out where most answers have none.
pub fn without_parts(levels: &mut [Vec<Option<Quantiles>>; Measure::ALL.len()], pings: &[Option<PingCell>]) {
    for part in [Measure::PingSend, Measure::PingKernel, Measure::PingPickup] {
        for (part, pings) in levels[part as usize].iter_mut().zip(pings) {
            if part.is_some() && pings.is_some_and(|pings| pings.lacks_parts()) {
                *part = Some(Quantiles::default());
            }
        }
    }
}

/// Shows in the latencies of the load what requests have been waiting so far, where `counts_lag` says so of a column also
/// those that were due and could not be sent.
pub fn waits_of_load(
    latency: &mut [Option<Quantiles>],
    load: &[Option<LoadCell>],
    counts_lag: impl Fn(u16) -> bool,
) {
    for ((n, latency), load) in (0..).zip(latency).zip(load) {
        let Some(load) = load else { continue };
        let longest_ns = latency.and_then(|latency| latency.get(Level::Max));
        match (latency, load.wait_beyond(longest_ns)) {
            (_, None) => {}
            (Some(latency), Some(wait_ns)) if longest_ns.is_some() => latency.lift_max(wait_ns),
            (latency, Some(wait_ns)) => {
                let lag_ns = if counts_lag(n) { load.behind_us.saturating_mul(1_000) } else { 0 };
                *latency = Some(Quantiles::of_wait(wait_ns.max(lag_ns)));
            }
        }
    }
}

/// A line's place in the legend.
pub struct Entry<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it draws with, where colours do not tell.
    pub mark: Option<char>,
    /// How it looks.
    pub ink: Ink,
    /// The row in which it ends, from the top; none for one that is not drawn.
    pub row: Option<u16>,
    /// Its figures: now, 60 s, segment.
    pub values: [String; 3],
}

/// Draws the entries, given from top to bottom, beside a chart of the height of `area`.
pub fn legend(paint: &mut Paint, area: Rect, lanes: &Lanes, entries: &[Entry]) {
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

/// A row for each entry, as near as can be to the one it wants, in their order. What has no wish stands below the one
/// before it. Of more entries than rows the last share the last.
fn places(rows: u16, wanted: &[Option<u16>]) -> Vec<u16> {
    let mut places: Vec<u16> = Vec::new();
    for wish in wanted {
        let least = places.last().map_or(0, |above| above + 1);
        places.push(wish.map_or(least, |wish| wish.max(least)));
    }
    // What was pushed below the last row pushes back.
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
    fn each_stands_where_its_line_ends_or_as_near_as_the_others_let_it() {
        let of = |rows, wanted: &[u16]| places(rows, &wanted.iter().map(|n| Some(*n)).collect::<Vec<_>>());
        assert_eq!(of(11, &[0, 2, 4, 6, 9]), [0, 2, 4, 6, 9]);
        assert_eq!(of(11, &[0, 0, 0, 6, 6]), [0, 1, 2, 6, 7]);
        assert_eq!(of(7, &[5, 5, 6, 6, 6]), [2, 3, 4, 5, 6]);
        assert_eq!(of(2, &[0, 0, 0]), [0, 0, 1]);
        assert_eq!(places(9, &[Some(0), None, Some(3)]), [0, 1, 3]);
    }
}
