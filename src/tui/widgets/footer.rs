//! The last line: the keys that work now, and on the right the screens.

use ratatui::layout::Rect;

use crate::{
    app::{self, Model, Screen, Spot},
    tui::{Ink, Paint, from_column},
};

/// Draws the hints that fit.
pub fn draw(paint: &mut Paint, area: Rect, model: &Model) {
    let tabs = tabs(model.screen, area.width);
    let length: usize = tabs.iter().map(|(_, text, _)| text.chars().count()).sum();
    let tabs_x = area.right().saturating_sub(length as u16);
    let mut rest = from_column(area, tabs_x);
    for (screen, text, ink) in tabs {
        let x = paint.text(rest, &text, ink);
        paint.spot(Rect { width: x - rest.x, ..rest }, Spot::Tab(screen));
        rest = from_column(area, x);
    }
    let width = usize::from((tabs_x - area.x).saturating_sub(2));
    let mut rest = Rect { width: tabs_x.saturating_sub(area.x + 1), ..from_column(area, area.x + 1) };
    for (keys, word) in app::footer(&model.contexts(), width, |keys| paint.theme().keys(keys)) {
        let x = paint.parts(
            rest,
            &[(keys.as_str(), Ink::Strong), (" ", Ink::Text), (word, Ink::Faint), ("  ", Ink::Text)],
        );
        rest = Rect { width: tabs_x.saturating_sub(x), ..from_column(area, x) };
    }
}

/// From this width on all screens are named.
const ROOM_FOR_NAMES: u16 = 110;
/// Below this one the keys need the whole line.
const ROOM_FOR_TABS: u16 = 60;

/// The screens with their keys, the present one by name.
fn tabs(shown: Screen, width: u16) -> Vec<(Screen, String, Ink)> {
    if width < ROOM_FOR_TABS {
        return Vec::new();
    }
    let tab = |screen: Screen| {
        let is_shown = screen == shown;
        let text = if is_shown || width >= ROOM_FOR_NAMES {
            format!(" {} {} ", screen.key(), screen.name())
        } else {
            format!(" {} ", screen.key())
        };
        (screen, text, if is_shown { Ink::Selected } else { Ink::Faint })
    };
    Screen::ALL.into_iter().map(tab).collect()
}
