//! The last line: the keys that work now.

use ratatui::layout::Rect;

use crate::{
    app::{self, Model},
    tui::{
        paint::{Paint, from_column},
        theme::Ink,
    },
};

/// Draws the hints that fit.
pub fn draw(paint: &mut Paint, area: Rect, model: &Model) {
    let width = usize::from(area.width.saturating_sub(1));
    let mut rest = from_column(area, area.x + 1);
    for (keys, word) in app::footer(model.context(), width) {
        let x = paint
            .parts(rest, &[(keys, Ink::Strong), (" ", Ink::Text), (word, Ink::Faint), ("  ", Ink::Text)]);
        rest = from_column(area, x);
    }
}
