//! The last line: the keys that work now, and on the right the screens.

use ratatui::layout::Rect;

use crate::{
    app::{self, Model, Screen},
    tui::{
        paint::{Paint, from_column},
        theme::Ink,
    },
};

/// Draws the hints that fit.
pub fn draw(paint: &mut Paint, area: Rect, model: &Model) {
    let tabs = tabs(model.screen, area.width);
    let length: usize = tabs.iter().map(|(text, _)| text.chars().count()).sum();
    let tabs_x = area.right().saturating_sub(length as u16);
    let parts: Vec<_> = tabs.iter().map(|(text, ink)| (text.as_str(), *ink)).collect();
    paint.parts(from_column(area, tabs_x), &parts);
    let width = usize::from((tabs_x - area.x).saturating_sub(2));
    let mut rest = Rect { width: tabs_x.saturating_sub(area.x + 1), ..from_column(area, area.x + 1) };
    for (keys, word) in app::footer(&model.contexts(), width) {
        let x = paint
            .parts(rest, &[(keys, Ink::Strong), (" ", Ink::Text), (word, Ink::Faint), ("  ", Ink::Text)]);
        rest = Rect { width: tabs_x.saturating_sub(x), ..from_column(area, x) };
    }
}

/// The screen whose tab stands at column `x` of the footer.
pub fn tab_at(area: Rect, model: &Model, x: u16) -> Option<Screen> {
    let tabs = tabs(model.screen, area.width);
    let widths: Vec<_> = tabs.iter().map(|(text, _)| text.chars().count() as u16).collect();
    let mut left = area.right().saturating_sub(widths.iter().sum());
    for (width, screen) in widths.into_iter().zip(Screen::ALL) {
        if (left..left + width).contains(&x) {
            return Some(screen);
        }
        left += width;
    }
    None
}

/// From this width on all screens are named.
const ROOM_FOR_NAMES: u16 = 110;
/// Below this one the keys need the whole line.
const ROOM_FOR_TABS: u16 = 60;

/// The screens with their numbers, the present one by name.
fn tabs(shown: Screen, width: u16) -> Vec<(String, Ink)> {
    if width < ROOM_FOR_TABS {
        return Vec::new();
    }
    let tab = |(n, screen): (usize, Screen)| {
        let is_shown = screen == shown;
        let text = if is_shown || width >= ROOM_FOR_NAMES {
            format!(" {} {} ", n + 1, screen.name())
        } else {
            format!(" {} ", n + 1)
        };
        (text, if is_shown { Ink::Selected } else { Ink::Faint })
    };
    Screen::ALL.into_iter().enumerate().map(tab).collect()
}
