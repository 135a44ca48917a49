//! The service times of the current segment as a distribution: a bar for each of some round steps.
//!
//! ```text
//!     200 µs ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇ 71 %
//!     500 µs ▇▇▇▇▇ 22 %
//! ```
//! Two humps are two kinds of requests, which no percentile shows.

use ratatui::layout::Rect;

use super::figures::decade;
use crate::{
    stats::{Band, Latency, spectrum},
    tui::{Ink, Paint, from_column, row},
    units,
};

/// `500 µs` and two blanks.
const LABEL: u16 = 9;
/// ` 0.05 %`.
const SHARE: u16 = 8;

/// The distribution in so many bars at the most.
pub fn bars(latency: &Latency, most: u16) -> Vec<Band> {
    spectrum(latency, most.into())
}

/// Draws the bars, the longest over the whole width.
pub fn draw(paint: &mut Paint, area: Rect, bands: &[Band]) {
    if bands.is_empty() {
        paint.text(row(area, 0), "nothing measured yet", Ink::Faint);
    }
    let highest = bands.iter().map(|band| band.share).fold(0.0, f64::max);
    for (n, band) in bands.iter().enumerate() {
        bar(paint, row(area, n as u16), band, highest);
    }
}

fn bar(paint: &mut Paint, line: Rect, band: &Band, highest: f64) {
    let label = Rect { width: LABEL.min(line.width), ..line };
    paint.right(Rect { width: label.width.saturating_sub(1), ..label }, &decade(band.up_to_ns), Ink::Text);
    let room = line.width.saturating_sub(LABEL + SHARE);
    let length = (band.share / highest * f64::from(room)).round() as u16;
    // What is there is never drawn as nothing.
    let length = if band.share > 0.0 { length.max(1) } else { 0 };
    let x = line.x + LABEL;
    let glyph = paint.glyphs().bars[6];
    (x..(x + length).min(line.right())).for_each(|x| paint.bar(x, line.y, glyph, Ink::Ping));
    let share = from_column(line, x + length + 1);
    let text = if band.share > 0.0 { units::percent(band.share) } else { String::new() };
    paint.text(share, &text, Ink::Faint);
}
