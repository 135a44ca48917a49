//! The screen's line about the receivers of messages in the current segment. The line has the delivery times, and the
//! numbers of lost and late messages.
//!
//! ```text
//!  delivery  p50 163 µs  p99 20.7 ms  max 28.1 ms  3 lost  1 late  10 receivers, this segment
//! ```

use ratatui::layout::Rect;

use super::figures::figure;
use crate::{
    session::timeline::{Level, Reading},
    tui::{Ink, Paint},
    units,
};

/// Draws the line. Returns false, without drawing, if the segment has no receivers.
pub fn line(paint: &mut Paint, area: Rect, reading: &Reading) -> bool {
    let Some((name, got)) = reading.segment().and_then(|segment| segment.total.arrivals.iter().next()) else {
        return false;
    };
    let levels = [Level::P50, Level::P99, Level::Max].map(|level| (level.name(), level.of(&got.times)));
    let counts = [(got.lost.unwrap_or(0), "lost"), (got.late, "late")].into_iter().filter(|(n, _)| *n > 0);
    let is_short = got.receivers < got.ordered;
    let ink = if is_short { Ink::Warn } else { Ink::Faint };
    let all = units::count_with_noun(got.ordered.max(got.receivers).into(), "receiver");
    let of = if is_short { format!("{} of ", got.receivers) } else { String::new() };
    let mut parts = vec![(format!(" {name}"), Ink::Level(Level::P50))];
    parts.extend(levels.map(|(name, ns)| (format!("  {name} {}", figure(ns)), Ink::Text)));
    parts.extend(counts.map(|(n, what)| (format!("  {} {what}", units::count(n as f64)), Ink::Warn)));
    parts.push((format!("  {of}{all}, this segment"), ink));
    paint.parts(area, &parts);
    true
}
