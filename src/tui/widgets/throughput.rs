//! Throughput over time: a line of braille dots, two to a column; in ASCII a point a column.
//!
//! Each dot spans the ticks it stands for, from the slowest to the fastest, so that no dip of a quarter of a
//! second is averaged away.

use ratatui::layout::Rect;

use super::{
    Lanes,
    figures::{NONE, figure, trimmed},
    ghost,
};
use crate::{
    session::timeline::LoadCell,
    tui::{
        dots::Dots,
        paint::{Paint, row},
        scale::linear_top,
        theme::Ink,
    },
    units,
};

/// Draws the heading, the chart and its axis.
pub fn draw(paint: &mut Paint, area: Rect, lanes: &Lanes) {
    if area.height < 2 {
        return;
    }
    lanes.heading(paint, row(area, 0), "throughput, replies/s");
    let chart = Rect { y: area.y + 1, height: area.height - 1, ..area };
    figures(paint, chart, lanes);
    let plot = lanes.plot(chart);
    let dots = Dots::of(paint, plot);
    let spans = read(lanes, dots);
    let highest = spans.iter().flatten().map(|(_, high)| *high).fold(0.0, f64::max);
    let asked = lanes.reading.segment().and_then(|segment| segment.start.knobs.rate);
    // A rate far above what is reached must not press the line to the floor.
    let top = linear_top(highest.max(f64::from(asked.unwrap_or(0)).min(highest * 2.0)));
    if highest == 0.0 && spans.iter().all(Option::is_none) {
        let middle = Rect { y: plot.y + plot.height / 2, height: 1, ..plot };
        paint.text(middle, "  no load in this stretch", Ink::Faint);
        return;
    }
    axis(paint, chart, lanes, top);
    line(paint, dots, &spans, top);
    lanes.outages(paint, plot);
    lanes.lines(paint, plot);
    rates(paint, plot, lanes, top);
    ghost::throughput(paint, plot, lanes.baseline, top);
}

/// The rates now, over 60 s and of the segment; and of an open loop what is due, how late it sends, and what it shed.
/// The most telling first.
fn figures(paint: &mut Paint, chart: Rect, lanes: &Lanes) {
    let reading = lanes.reading;
    let segment = reading.segment().map(|segment| &segment.total);
    let of_segment = segment.filter(|total| total.length_s > 0.0).map(|total| total.ops_per_s);
    let rate = |name, rate: Option<f64>| (name, rate.map_or_else(|| NONE.to_owned(), units::rate), Ink::Text);
    let mut figures = vec![rate("now", reading.ops_per_s())];
    if let Some(due) = lanes.rate_due() {
        let lag = lanes.load_shown().map(|load| load.behind_us.saturating_mul(1000));
        let shed = segment.map_or(0, |total| total.shed);
        figures.extend([
            rate("due", Some(due.into())),
            ("lag", figure(lag), Ink::Text),
            ("shed", units::count(shed as f64), if shed > 0 { Ink::Warn } else { Ink::Text }),
        ]);
    }
    figures.extend([rate("60 s", reading.ops_per_s_minute()), rate("seg.", of_segment)]);
    for (n, (name, text, ink)) in (0..chart.height).zip(&figures) {
        let (line, ink) = (row(chart, n), if n == 0 { Ink::Strong } else { *ink });
        lanes.name(paint, line, name, Ink::Faint);
        paint.right(lanes.value(line, 0), text, if text == NONE { Ink::Faint } else { ink });
    }
}

/// The slowest and the fastest tick, in good replies per second.
type Span = (f64, f64);

/// Those of each column of dots.
fn read(lanes: &Lanes, dots: Dots) -> Vec<Option<Span>> {
    let columns = lanes.shown * dots.in_a_column();
    let window = lanes.reading.timeline().window(lanes.axis.from_s(), lanes.to_s, columns);
    let load = window.until(lanes.ends_s).load();
    load.iter().map(|cell| cell.as_ref().and_then(LoadCell::extremes)).collect()
}

/// A span of rates as heights from 0 to `height`.
fn scaled((low, high): Span, top: f64, height: u16) -> (u16, u16) {
    let scaled = |v: f64| (v / top * f64::from(height)).round().clamp(0.0, f64::from(height)) as u16;
    (scaled(low), scaled(high))
}

/// Stretches a span so that it touches the one before it: a line, not a cloud.
fn joined(span: (u16, u16), before: Option<(u16, u16)>) -> (u16, u16) {
    match before {
        Some((_, high)) if high < span.0 => (high + 1, span.1),
        Some((low, _)) if low > span.1 => (span.0, low - 1),
        _ => span,
    }
}

fn line(paint: &mut Paint, dots: Dots, spans: &[Option<Span>], top: f64) {
    let glyphs = paint.glyphs();
    let mut before = None;
    for (x, span) in (0..dots.columns()).zip(spans) {
        let span = span.map(|span| scaled(span, top, dots.rows() - 1));
        if let Some(span) = span {
            let (low, high) = joined(span, before);
            // Two dots thick: a single row of dots is too faint a line for what matters most.
            let low = if dots.are_fine() { low.saturating_sub(1) } else { low };
            for up in low..=high {
                let mark = if (span.0..=span.1).contains(&up) { glyphs.point } else { glyphs.rise };
                dots.draw(paint, (x, up), mark, Ink::Throughput);
            }
        }
        before = span;
    }
}

fn axis(paint: &mut Paint, chart: Rect, lanes: &Lanes, top: f64) {
    let glyphs = paint.glyphs();
    let x = lanes.plot(chart).x.saturating_sub(1);
    let last = chart.height - 1;
    for n in 0..chart.height {
        paint.dot(x, chart.y + n, glyphs.vertical, Ink::Faint);
    }
    // Half the height has its label where it is exactly a row, or the chart so high that half a row is little.
    let middle = (last >= 12 || last >= 4 && last.is_multiple_of(2)).then_some((last / 2, top / 2.0));
    for (n, value) in [Some((0, top)), middle, Some((last, 0.0))].into_iter().flatten() {
        let label = Rect { width: x.saturating_sub(chart.x), ..row(chart, n) };
        paint.right(label, &trimmed(&units::count(value)), Ink::Faint);
        paint.dot(x, chart.y + n, if n == last { glyphs.origin } else { glyphs.tick }, Ink::Faint);
    }
}

/// Behind the line: the rate that each segment asked for, as far as the segment reaches.
fn rates(paint: &mut Paint, plot: Rect, lanes: &Lanes, top: f64) {
    let to_s = lanes.reading.known_s().min(lanes.to_s);
    for segment in lanes.reading.known_segments().iter() {
        let knobs = &segment.start.knobs;
        let share = knobs.rate.filter(|_| knobs.load).map(|rate| f64::from(rate) / top);
        let Some(share) = share.filter(|share| *share <= 1.0) else { continue };
        // In the cell in which the line would stand, so that a rate that is reached hides its target.
        let dots = Dots::of(paint, plot);
        let up = (share * f64::from(dots.rows() - 1)).round() as u16;
        let ended_s = segment.ended_s.map_or(to_s, |ended_s| ended_s.min(to_s));
        if segment.start.t_s >= to_s {
            continue;
        }
        let Some(last) = lanes.axis.column_ending(ended_s) else { continue };
        let first = lanes.axis.column(segment.start.t_s).unwrap_or(0);
        for column in (first..=last).take_while(|column| *column < plot.width) {
            paint.behind(plot.x + column, dots.cell(0, up).1, paint.glyphs().target_line, Ink::Faint);
        }
    }
}
