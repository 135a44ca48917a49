//! The baseline as a ghost: where its replies per second would stand, behind the throughput of the present.

use ratatui::layout::Rect;

use crate::tui::{paint::Paint, theme::Ink};

/// Draws a dashed line through what `plot`, whose top stands for `top` replies per second, leaves blank, with the
/// baseline's number at its end. `baseline` is that number and its replies per second. Nothing without one, or where it
/// lies above the chart.
pub fn throughput(paint: &mut Paint, plot: Rect, baseline: Option<(u32, f64)>, top: f64) {
    let Some((number, ops_per_s)) = baseline else { return };
    let share = ops_per_s / top;
    if plot.is_empty() || !(0.0..=1.0).contains(&share) {
        return;
    }
    let up = (share * f64::from(plot.height - 1)).round() as u16;
    let y = plot.bottom() - 1 - up;
    let label = format!("baseline {number}");
    let width = label.len() as u16;
    // As far right as there is room for it; the lines of events and borders go on above and below.
    let glyphs = paint.glyphs();
    let free = [' ', glyphs.border_line, glyphs.event_line];
    let is_blank = |x: u16| paint.at(x, y).is_some_and(|symbol| symbol.starts_with(free));
    let is_free = |x: &u16| (*x..x + width).all(is_blank);
    let place = (plot.x + 1..plot.right().saturating_sub(width)).rev().find(is_free);
    if let Some(x) = place {
        paint.text(Rect { x, y, width, height: 1 }, &label, Ink::Faint);
    }
    let is_label = |x: u16| place.is_some_and(|first| (first..first + width).contains(&x));
    for x in (plot.left()..plot.right()).step_by(2).filter(|x| !is_label(*x)) {
        paint.behind(x, y, paint.glyphs().target_line, Ink::Faint);
    }
}
