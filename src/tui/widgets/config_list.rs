//! The parameters of the server that can be turned, with their values as of the moment shown.

use ratatui::layout::Rect;

use super::{dialog::input, figures::NONE, table::around};
use crate::{
    app::{Model, Purpose, View, value_words},
    server::{PARAMETERS, Status},
    tui::{Ink, Paint, from_column, row},
    units,
};

/// Columns of the names, the pointer before them and a blank after them included.
const NAME: u16 = 28;

/// The rows that all parameters need.
pub const ROWS: u16 = PARAMETERS.len() as u16;

/// Draws the list; where it is too high, the part around the selected parameter.
pub fn draw(paint: &mut Paint, area: Rect, model: &Model, status: &Status) {
    if !status.dialect().has_config() {
        return settings(paint, area, status);
    }
    let glyphs = paint.glyphs();
    let can_turn = can_turn(model);
    let selected = model.config.selected();
    let at = PARAMETERS.iter().position(|parameter| parameter == selected).unwrap_or(0);
    for (y, n) in around(at, PARAMETERS.len(), area.height).enumerate() {
        let (line, parameter) = (row(area, y as u16), &PARAMETERS[n]);
        let is_selected = can_turn && n == at;
        let ink = if is_selected { Ink::Selected } else { Ink::Text };
        if is_selected {
            paint.dot(line.x, line.y, glyphs.pointer, Ink::Selected);
        }
        let names = Rect { x: line.x + 2, width: NAME.min(line.width).saturating_sub(2), ..line };
        paint.text(names, parameter.name, ink);
        let values = from_column(line, line.x + NAME);
        match model.entry(Purpose::Parameter).filter(|_| is_selected) {
            Some(entry) => drop(input(paint, values, entry)),
            None => {
                let value = value(status, parameter.name);
                let ink = if value == NONE { Ink::Faint } else { ink };
                paint.text(values, &value, ink);
            }
        }
    }
}

/// Draws what a memcached was started with, which cannot be turned.
fn settings(paint: &mut Paint, area: Rect, status: &Status) {
    if status.config.is_empty() {
        paint.text(row(area, 0), "stats settings was refused", Ink::Faint);
    }
    for (y, (name, value)) in (0..area.height).zip(&status.config) {
        let line = row(area, y);
        paint.text(Rect { width: NAME.min(line.width), ..line }, name, Ink::Text);
        let value = match (name.as_str(), value.parse::<u64>()) {
            ("maxbytes" | "item_size_max", Ok(bytes)) => units::bytes(bytes),
            _ => value.clone(),
        };
        paint.text(from_column(line, line.x + NAME), &value, Ink::Text);
    }
}

/// Draws the selected parameter in one line, of a server that has some: while it can be turned with the signs for that.
pub fn line(paint: &mut Paint, area: Rect, model: &Model, status: &Status) {
    if !status.dialect().has_config() {
        return;
    }
    let glyphs = paint.glyphs();
    let selected = model.config.selected();
    let value = value(status, selected.name);
    if !can_turn(model) {
        paint.parts(area, &[(selected.name, Ink::Faint), (" ", Ink::Text), (&value, Ink::Text)]);
        return;
    }
    let name = format!("{} {} ", glyphs.pointer, selected.name);
    let rest = from_column(area, paint.text(area, &name, Ink::Selected));
    match model.entry(Purpose::Parameter) {
        Some(entry) => input(paint, rest, entry),
        None => paint.text(rest, &format!("{value} {} {}", glyphs.less, glyphs.more), Ink::Selected),
    };
}

fn can_turn(model: &Model) -> bool {
    model.has_parameters() && model.view == View::Live
}

/// A parameter as the server told it, bytes in the units that a person thinks in.
fn value(status: &Status, name: &str) -> String {
    let Some(value) = status.config.get(name) else { return NONE.to_owned() };
    match value.parse::<u64>() {
        Ok(bytes) if name == "maxmemory" && bytes > 0 => units::bytes(bytes),
        _ => value_words(value).to_owned(),
    }
}
