//! The knobs in one line, for screens without a panel: the selected one in full, its neighbours by name.

use ratatui::layout::Rect;

use super::input;
use crate::{
    app::{Model, Purpose},
    tui::{Ink, Paint, from_column},
};

/// Draws the line.
pub fn draw(paint: &mut Paint, area: Rect, model: &Model) {
    let glyphs = paint.glyphs();
    let selected = model.panel.selected();
    let name = format!(" {} {}", glyphs.pointer, selected.called(model.panel.wanted()));
    let rest = from_column(area, paint.text(area, &name, Ink::Selected) + 1);
    let x = match model.entry(Purpose::Knob) {
        Some(entry) => input::draw(paint, rest, entry),
        None => {
            let value = selected.value(model.panel.wanted());
            paint.text(rest, &format!("{value} {} {} ", glyphs.less, glyphs.more), Ink::Selected)
        }
    };
    let wanted = model.panel.wanted();
    let others = model.panel.knobs().into_iter().filter(|knob| *knob != selected);
    let others: Vec<_> =
        others.map(|knob| format!("  {} {}", knob.called(wanted), knob.value(wanted))).collect();
    let others: Vec<_> = others.iter().map(|text| (text.as_str(), Ink::Faint)).collect();
    paint.parts(from_column(rest, x), &others);
}
