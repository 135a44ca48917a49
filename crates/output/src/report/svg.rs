//! The static picture of a report's chart, for paper and for browsers without JavaScript.
//!
//! ```text
//!   y  ┤ 1     ┊ 2        number of a segment at its start; every second segment is shaded
//!      ┤───────┊─────     lines, with the colours of the style sheet
//!      ┤   ¦   ▴          a mark of the user (¦), an event (▴)
//!      └┬────┬────┬─ x
//! ```
//! The picture is always [`WIDTH`] units wide. In a narrow window, the reader can scroll the picture.

use std::fmt::Write as _;

use maud::{Markup, html};

use super::{
    chart::{Chart, ChartLine, Quantity},
    heat_map::{HeatMap, TONES},
    scale::Scale,
};

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 280.0;
/// The margins of the plot. The left margin has room for labels such as `1.20 ms`. The right margin has room for half a
/// label. The top margin has the numbers of segments. The bottom margin has the labels and the name of the axis.
const LEFT: f64 = 66.0;
const RIGHT: f64 = 42.0;
const TOP: f64 = 18.0;
const BOTTOM: f64 = 40.0;
/// The minimum width of a segment that shows its number, in units.
const LEAST_BAND: f64 = 22.0;

/// A segment on the time axis.
#[derive(Debug, Clone)]
pub(super) struct Band {
    pub(super) number: u32,
    pub(super) from_s: f64,
    pub(super) to_s: f64,
}

/// An event or a mark on the time axis.
#[derive(Debug, Clone)]
pub(super) struct AxisItem {
    pub(super) t_s: f64,
    pub(super) is_mark: bool,
    pub(super) words: String,
}

/// The approximate width of a letter, in units.
const LETTER: f64 = 7.0;
/// The maximum number of characters of a mark's text.
const SHORT: usize = 24;

impl AxisItem {
    /// Returns the text of the event or mark. A long text is cut.
    fn short(&self) -> String {
        let mut words = self.words.chars();
        let short: String = words.by_ref().take(SHORT).collect();
        if words.next().is_some() { short + "…" } else { short }
    }
}

/// The segments, events and marks on the time axis of every chart.
#[derive(Debug, Clone, Default)]
pub(super) struct SessionAxis {
    /// The start and the end of the session, in seconds.
    pub(super) ends_s: (f64, f64),
    pub(super) bands: Vec<Band>,
    pub(super) moments: Vec<AxisItem>,
}

/// The mapping of values to positions in the picture.
struct Plot {
    x: Scale,
    y: Scale,
}

impl Plot {
    fn x(&self, value: f64) -> f64 {
        LEFT + self.x.share(value) * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, value: f64) -> f64 {
        HEIGHT - BOTTOM - self.y.share(value) * (HEIGHT - BOTTOM - TOP)
    }
}

/// Returns the picture of a chart; empty without values.
pub(super) fn picture(chart: &Chart, stage: &SessionAxis) -> Markup {
    let Some((x, y)) = Scale::x(chart, stage.ends_s).zip(Scale::y(chart)) else { return html! {} };
    let plot = Plot { x, y };
    html! {
        svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label=(chart.title) {
            @if chart.x == Quantity::Time { (bands(&plot, stage)) }
            @if let Some(heat) = &chart.heat { (cells(&plot, heat)) }
            (axes(&plot, chart))
            @if chart.x == Quantity::Time { (moments(&plot, stage)) }
            @for line in chart.lines.iter().rev() { (drawn(&plot, &chart.xs, line)) }
        }
    }
}

/// Returns the legend: a sample and the name of each line.
pub(super) fn legend(chart: &Chart) -> Markup {
    html! {
        ul.legend {
            @for line in &chart.lines {
                li { svg.key viewBox="0 0 24 8" aria-hidden="true" { path.line.(line.ink.0) d="M0 4H24" {} } (line.name) }
            }
        }
    }
}

fn bands(plot: &Plot, stage: &SessionAxis) -> Markup {
    html! {
        @for (n, band) in stage.bands.iter().enumerate() {
            @let (from, to) = (plot.x(band.from_s), plot.x(band.to_s));
            @if n % 2 == 1 {
                rect.band x=(tenth(from)) y=(TOP) width=(tenth((to - from).max(0.0))) height=(HEIGHT - TOP - BOTTOM) {}
            }
            @if to - from >= LEAST_BAND { text.tick x=(tenth(from + 3.0)) y=(TOP - 5.0) { (band.number) } }
        }
    }
}

fn axes(plot: &Plot, chart: &Chart) -> Markup {
    let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
    html! {
        @for value in plot.y.ticks() {
            @let y = tenth(plot.y(value));
            path.grid d={ "M" (LEFT) " " (y) "H" (right) } {}
            text.tick.of-y x=(LEFT - 7.0) y={ (y) } dy="4" { (chart.y.written(value)) }
        }
        @for value in plot.x.ticks() {
            @let x = tenth(plot.x(value));
            path.grid d={ "M" (x) " " (TOP) "V" (bottom) } {}
            text.tick.of-x x={ (x) } y=(bottom + 16.0) { (chart.x.written(value)) }
        }
        text.tick.of-x x=((LEFT + right) / 2.0) y=(HEIGHT - 7.0) { (chart.x_name) }
    }
}

fn moments(plot: &Plot, stage: &SessionAxis) -> Markup {
    let bottom = HEIGHT - BOTTOM;
    // A mark has no text if it would overlap the previous text. The table of events has all texts.
    let mut free = 0.0;
    let mut has_room = |x: f64, words: &str| {
        let is_free = x >= free;
        if is_free {
            free = x + words.chars().count() as f64 * LETTER;
        }
        is_free
    };
    html! {
        @for moment in &stage.moments {
            @let x = plot.x(moment.t_s);
            @if moment.is_mark {
                path.mark d={ "M" (tenth(x)) " " (TOP) "V" (bottom) } { title { (moment.words) } }
                @let words = moment.short();
                @if has_room(x, &words) { text.marked x=(tenth(x + 4.0)) y=(TOP + 11.0) { (words) } }
            } @else {
                path.event d={ "M" (tenth(x - 4.0)) " " (bottom) "h8l-4 -8z" } { title { (moment.words) } }
            }
        }
    }
}

/// Returns the cells of a heat map, with one path for each tone. Neighbouring cells of a column share a box if they
/// have the same tone.
fn cells(plot: &Plot, heat: &HeatMap) -> Markup {
    let mut paths = vec![String::new(); TONES];
    for column in &heat.columns {
        let (from, to) = (tenth(plot.x(column.from_s)), tenth(plot.x(column.to_s)));
        let tone = |n: usize| column.counts.get(n).filter(|count| **count > 0).map(|count| heat.tone(*count));
        let mut start = 0;
        for n in 1..=column.counts.len() {
            if tone(n) == tone(start) && n < column.counts.len() {
                continue;
            }
            if let Some(tone) = tone(start) {
                let [low, high] = [start, n].map(|bin| tenth(plot.y(heat.borders[column.first + bin])));
                // Writing to a string cannot fail.
                let _ = write!(paths[tone - 1], "M{from} {low}H{to}V{high}H{from}z");
            }
            start = n;
        }
    }
    html! {
        @for (n, path) in paths.iter().enumerate().filter(|(_, path)| !path.is_empty()) {
            path class={ "h" (n + 1) } d=(path) {}
        }
    }
}

fn drawn(plot: &Plot, xs: &[f64], line: &ChartLine) -> Markup {
    let mut path = String::new();
    let mut dots = Vec::new();
    let mut is_begun = false;
    for (n, (x, value)) in xs.iter().zip(&line.values).enumerate() {
        let Some(value) = value.filter(|value| *value > 0.0 || !plot.y.quantity.is_log()) else {
            is_begun = false;
            continue;
        };
        let (x, y) = (tenth(plot.x(*x)), tenth(plot.y(value)));
        // Writing to a string cannot fail.
        let _ = write!(path, "{}{x} {y}", if is_begun { 'L' } else { 'M' });
        let goes_on = line.values.get(n + 1).is_some_and(Option::is_some);
        if line.is_dotted || !(is_begun || goes_on) {
            dots.push((x, y));
        }
        is_begun = true;
    }
    html! {
        path.line.(line.ink.0) d=(path) {}
        @for (x, y) in dots { circle.dot.(line.ink.0) cx=(x) cy=(y) r="3" {} }
    }
}

/// Returns a position rounded to a tenth of a unit, which keeps the file small.
fn tenth(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}
