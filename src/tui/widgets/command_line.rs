//! A command line for a person to take, where the terminal has no clipboard: without a frame, from the first column on, so
//! that what is selected is what a shell reads.
//!
//! ```text
//! ──── this segment again ────
//! redyno -h 10.0.0.5 -p 6380 -c 200 -P 16 --workload cache \
//! -d 32 -r 10000
//! ─── Shift-drag selects it ──
//! ```

use ratatui::layout::Rect;

use crate::tui::{
    paint::{Paint, row, wrapped},
    theme::Ink,
};

/// What continues a line.
const CONTINUED: &str = " \\";

/// Draws it over the rows above the last.
pub fn draw(paint: &mut Paint, area: Rect, text: &str) {
    let lines = wrapped(text, usize::from(area.width).saturating_sub(CONTINUED.len()));
    let height = (lines.len() as u16 + 2).min(area.height.saturating_sub(1));
    let place = Rect { y: area.bottom().saturating_sub(height + 1), height, ..area };
    paint.clear(place);
    paint.rule(row(place, 0), "this segment again");
    for (n, line) in lines.iter().enumerate().take(usize::from(height.saturating_sub(2))) {
        let is_last = n + 1 == lines.len();
        let line = if is_last { line.clone() } else { format!("{line}{CONTINUED}") };
        paint.text(row(place, n as u16 + 1), &line, Ink::Text);
    }
    paint.rule(row(place, height.saturating_sub(1)), "drag with Shift to select it; Esc closes");
}
