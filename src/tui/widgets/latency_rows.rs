//! The latency in a few rows, for screens without room for curves and bars.
//!
//! ```text
//!  service        now     60 s  segment
//!  p50         312 µs   298 µs   301 µs
//!  p99         910 µs   822 µs   850 µs
//!  ping p50     88 µs    90 µs
//!  ▸ clients 50 ◂ ▸  pipeline 1
//! ```
//! Where rows or columns run out, the least telling go.

use ratatui::layout::Rect;

use super::{
    figures::{clock, figure, ping_figure},
    knob_line,
    table::{Column, Table},
};
use crate::{
    app::{Model, Stretch, Subject},
    session::timeline::{Level, Measure, Reading},
    stats::Latency,
    tui::{
        paint::{Paint, row},
        scene::Scene,
        theme::Ink,
    },
};

/// `ping p50` and a blank on either side.
const NAME: u16 = 10;
/// `1.68 ms` and the blanks before it.
const FIGURE: u16 = 9;

/// A row: what it is called, and the level of what it shows.
type Line = (&'static str, Measure, Level);

/// All rows from the top to the bottom, each with its rank: of those that do not fit the last go first.
const OF_LOAD: [(u8, Line); 7] = [
    (0, ("p50", Measure::Service, Level::P50)),
    (4, ("p90", Measure::Service, Level::P90)),
    (1, ("p99", Measure::Service, Level::P99)),
    (3, ("p99.9", Measure::Service, Level::P999)),
    (2, ("max", Measure::Service, Level::Max)),
    (5, ("resp p99", Measure::Response, Level::P99)),
    (6, ("ping p50", Measure::Ping, Level::P50)),
];

/// The same without load.
const OF_PINGS: [(u8, Line); 7] = [
    (0, ("p50", Measure::Ping, Level::P50)),
    (4, ("p90", Measure::Ping, Level::P90)),
    (1, ("p99", Measure::Ping, Level::P99)),
    (3, ("p99.9", Measure::Ping, Level::P999)),
    (2, ("max", Measure::Ping, Level::Max)),
    (5, ("kernel", Measure::PingKernel, Level::P50)),
    (6, ("wake max", Measure::Wake, Level::Max)),
];

/// Draws the heading, the rows that fit, and the knob in hand.
pub fn draw(paint: &mut Paint, area: Rect, &Scene { model, reading, .. }: &Scene) {
    rows(paint, Rect { height: area.height.saturating_sub(1), ..area }, model, reading);
    knob_line::draw(paint, row(area, area.height.saturating_sub(1)), model);
}

fn rows(paint: &mut Paint, area: Rect, model: &Model, reading: &Reading) {
    let is_load = model.subject() == Subject::Load;
    // The name in the first column, then a stretch in each.
    let figures = stretches(area.width).iter().map(|stretch| Column::right(Some(*stretch), FIGURE));
    let table = Table::new(area, std::iter::once(Column::left(None, NAME, 1)).chain(figures));
    table.write(paint, 0, |key, _| match key {
        None => (if is_load { "service" } else { reading.words().ping }.to_owned(), Ink::Faint),
        Some(stretch) if stretch == model.stretch => (short_name(stretch, model, reading), Ink::Strong),
        Some(stretch) => (short_name(stretch, model, reading), Ink::Faint),
    });
    let lines = if is_load { OF_LOAD } else { OF_PINGS };
    for (n, (name, measure, level)) in fitting(reading, lines, area.height.saturating_sub(1)).enumerate() {
        table.write(paint, n as u16 + 1, |key, _| {
            let Some(stretch) = key else { return (name.to_owned(), Ink::Faint) };
            let text = match stretch_of(reading, measure, stretch) {
                Some(latency) if (measure, stretch) == (Measure::Ping, Stretch::Now) => {
                    ping_figure(level, latency, reading.pings_now())
                }
                Some(latency) => figure(level.of(latency)),
                // A probe is no part of a segment.
                None => String::new(),
            };
            (text, Ink::Text)
        });
    }
}

/// The stretches that there is room for, from left to right.
fn stretches(width: u16) -> &'static [Stretch] {
    match width.saturating_sub(NAME) / FIGURE {
        0 | 1 => &[Stretch::Now],
        2 => &[Stretch::Now, Stretch::Segment],
        _ => &[Stretch::Now, Stretch::Minute, Stretch::Segment],
    }
}

fn short_name(stretch: Stretch, model: &Model, reading: &Reading) -> String {
    match stretch {
        // A past moment is called by its time.
        Stretch::Now if model.cursor_s().is_some() => clock(reading.now_s()),
        Stretch::Now => "now".to_owned(),
        Stretch::Minute => "60 s".to_owned(),
        Stretch::Segment => "segment".to_owned(),
    }
}

/// The rows to show; the response time only where there is one.
fn fitting(reading: &Reading, of: [(u8, Line); 7], rows: u16) -> impl Iterator<Item = Line> {
    let is_open = stretch_of(reading, Measure::Response, Stretch::Segment).is_some_and(|l| !l.is_empty());
    let lines = move || of.into_iter().filter(move |(_, line)| is_open || line.1 != Measure::Response);
    let mut ranks: Vec<_> = lines().map(|(rank, _)| rank).collect();
    ranks.sort_unstable();
    ranks.truncate(rows.into());
    lines().filter(move |(rank, _)| ranks.contains(rank)).map(|(_, line)| line)
}

fn stretch_of<'a>(reading: &'a Reading, measure: Measure, stretch: Stretch) -> Option<&'a Latency> {
    match (stretch, measure) {
        (Stretch::Now, _) => Some(reading.recent(measure).now()),
        (Stretch::Minute, _) => Some(reading.recent(measure).minute()),
        (Stretch::Segment, Measure::Service) => reading.segment_service(),
        (Stretch::Segment, Measure::Response) => reading.segment()?.total.response.as_ref(),
        (Stretch::Segment, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Timeline;

    #[test]
    fn what_matters_least_goes_first_and_the_order_stays() {
        let timeline = Timeline::default();
        let names = |rows| -> Vec<&str> {
            fitting(&timeline.latest(), OF_LOAD, rows).map(|(name, ..)| name).collect()
        };
        assert_eq!(names(9), ["p50", "p90", "p99", "p99.9", "max", "ping p50"]);
        assert_eq!(names(4), ["p50", "p99", "p99.9", "max"]);
        assert_eq!(names(1), ["p50"]);
    }
}
