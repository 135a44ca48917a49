//! The knobs in one line, for screens without a panel: the selected one in full, its neighbours by name.

use ratatui::layout::Rect;

use crate::{
    app::{Knob, Model},
    tui::{paint::Paint, theme::Ink},
};

/// Draws the line.
pub fn draw(paint: &mut Paint, area: Rect, model: &Model) {
    let glyphs = paint.glyphs();
    let (pointer, turn) = (format!(" {} ", glyphs.pointer), format!(" {} {} ", glyphs.less, glyphs.more));
    let caret = glyphs.caret.to_string();
    let selected = model.panel.selected();
    let value = selected.value(model.panel.wanted());
    let mut parts =
        vec![(pointer.as_str(), Ink::Selected), (selected.name(), Ink::Selected), (" ", Ink::Text)];
    match model.panel.entry() {
        Some(entry) => parts.extend([(entry.text(), Ink::Strong), (caret.as_str(), Ink::Selected)]),
        None => parts.extend([(value.as_str(), Ink::Selected), (turn.as_str(), Ink::Selected)]),
    }
    let others = Knob::ALL.into_iter().filter(|knob| *knob != selected);
    let others: Vec<_> =
        others.map(|knob| format!("  {} {}", knob.name(), knob.value(model.panel.wanted()))).collect();
    parts.extend(others.iter().map(|text| (text.as_str(), Ink::Faint)));
    paint.parts(area, &parts);
}
