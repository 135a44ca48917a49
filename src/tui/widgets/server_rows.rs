//! The server in a few rows, for screens without room for tables: figures, the last slow commands, one parameter.
//!
//! ```text
//!  cpu 97 %  ops 110 k/s  memory 1.53 MiB
//!  clients 52  hits 91 %  keys 10 k
//!  ─ slow log ──────────────────────────
//!  00:27 14 ms KEYS *
//!  ▸ maxmemory 100 MiB ◂ ▸
//! ```

use ratatui::layout::Rect;

use super::{config_list, server_figures, server_tables};
use crate::tui::{
    paint::{Paint, row},
    scene::Scene,
    theme::Ink,
};

/// Draws the rows.
pub fn draw(paint: &mut Paint, area: Rect, &Scene { model, reading, .. }: &Scene) {
    let Some(moment) = reading.status() else {
        paint.text(row(area, 0), " the server has not said anything yet", Ink::Faint);
        return;
    };
    let status = &moment.body;
    let inside = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
    // The parameter stands in the last row, a slow command above it.
    let figures = Rect { height: area.height.saturating_sub(3), ..inside };
    let used = server_figures::few(paint, figures, status);
    let rest = Rect { y: area.y + used, height: area.height.saturating_sub(used + 1), ..inside };
    if rest.height > 0 {
        paint.rule(Rect { y: rest.y, ..row(area, 0) }, "slow log");
        let below = Rect { y: rest.y + 1, height: rest.height - 1, ..rest };
        server_tables::slow_log(paint, below, reading);
    }
    config_list::line(paint, row(inside, area.height.saturating_sub(1)), model, status);
}
