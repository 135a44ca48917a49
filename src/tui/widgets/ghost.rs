//! The baseline as a ghost: where its replies per second would stand, behind the throughput of the present.

use ratatui::layout::Rect;

use crate::{
    app::Model,
    tui::{paint::Paint, theme::Ink},
};

/// Draws a dashed line through what `plot`, whose top stands for `top` replies per second, leaves blank, with the
/// baseline's number at its end. Nothing without a baseline, or where it lies above the chart.
pub fn throughput(paint: &mut Paint, plot: Rect, model: &Model, top: f64) {
    let Some(baseline) = model.baseline().filter(|segment| segment.total.length_s > 0.0) else { return };
    let share = baseline.total.ops_per_s / top;
    if plot.is_empty() || !(0.0..=1.0).contains(&share) {
        return;
    }
    let up = (share * f64::from(plot.height - 1)).round() as u16;
    let y = plot.bottom() - 1 - up;
    let label = format!("baseline {}", baseline.start.segment);
    let label_x = plot.right().saturating_sub(label.len() as u16 + 1);
    let is_free = (label_x..plot.right()).all(|x| paint.at(x, y) == Some(" "));
    if is_free && label_x > plot.x {
        paint.text(Rect { x: label_x, y, width: plot.right() - label_x, height: 1 }, &label, Ink::Faint);
    }
    for x in (plot.left()..plot.right()).step_by(2) {
        paint.behind(x, y, paint.glyphs().target_line, Ink::Faint);
    }
}
