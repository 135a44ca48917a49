//! Service time: a lane for each level, all on one logarithmic scale.

use ratatui::layout::Rect;

use super::{
    figures::{decade, figure},
    lanes::{Lanes, Row},
};
use crate::{
    session::timeline::{Level, Measure},
    tui::{
        paint::{Paint, row},
        scale::LogScale,
        theme::Ink,
    },
};

/// Draws the heading and the lanes, each `rows` high.
pub fn draw(paint: &mut Paint, area: Rect, lanes: &Lanes, scale: LogScale, rows: u16) {
    let title = format!("latency, log scale {} to {}", decade(scale.lowest_ns), decade(scale.highest_ns));
    let is_open = lanes.rate_due().is_some();
    // In a closed loop, service and response time are one and the same.
    let response = if lanes.columns.value > 8 { "response" } else { "resp." };
    let headings = is_open.then_some(["service", response, "60 s"]);
    lanes.heading(paint, row(area, 0), &title, headings);
    let reading = lanes.reading;
    let (service, response) = (reading.service(), reading.recent(Measure::Response));
    for (n, level) in Level::ALL.into_iter().enumerate() {
        let in_segment = reading.segment_service().and_then(|latency| level.of(latency));
        let lane = Row {
            name: level.name(),
            ink: Ink::Level(level),
            cells: lanes.without_outages(lanes.cells(Measure::Service, level, scale, rows)),
            values: if is_open {
                [service.now(), response.now(), response.minute()].map(|latency| figure(level.of(latency)))
            } else {
                [level.of(service.now()), level.of(service.minute()), in_segment].map(figure)
            },
        };
        let place = Rect { y: area.y + 1 + n as u16 * rows, height: rows, ..area };
        lanes.draw(paint, place, &lane);
        lanes.outages(paint, lanes.plot(place));
    }
}
