//! The list of commands: what was typed, what answers it, and what the chosen one does.
//!
//! ```text
//! ┌─ commands ──────────────────┐
//! │ : cl▏                       │
//! │ ▸ clients …                 │
//! │   close                 Esc │
//! │ 50 now; type a count        │
//! └─────────────────────── 2 ───┘
//! ```

use ratatui::layout::Rect;

use super::{
    dialog::{centred, input, padded, text_width},
    table::around,
};
use crate::{
    app::{Command, Model, Offer, Spot},
    tui::{Ink, Paint, from_column, row, wrapped},
};

/// Lines for what the chosen one does.
const HELP_ROWS: u16 = 3;
/// More offers than these are scrolled to.
const MOST_ROWS: u16 = 14;

/// Draws the list.
pub fn draw(paint: &mut Paint, area: Rect, model: &Model) {
    let Some((entry, offers, chosen)) = model.palette() else { return };
    let place = place(area);
    // A blank column on either side keeps the box apart from what it lies over.
    paint.clear(Rect { x: place.x.saturating_sub(1), width: place.width + 2, ..place });
    let inner = paint.frame(place, "commands");
    let line = padded(row(inner, 0));
    let x = paint.text(line, ": ", Ink::Faint);
    input(paint, from_column(line, x), entry);
    let list = list(inner);
    for (y, n) in around(chosen, offers.len(), list.height).enumerate() {
        let line = row(list, y as u16);
        draw_offer(paint, line, &offers[n], n == chosen);
        paint.spot(line, Spot::Offer(n));
    }
    let (help, ink) = match offers.get(chosen) {
        Some(Offer { command: Command::Refuse(_), help, .. }) => (help.as_str(), Ink::Warn),
        Some(offer) => (offer.help.as_str(), Ink::Faint),
        None => ("no match; fewer letters find more", Ink::Warn),
    };
    let rest = Rect { y: list.bottom(), height: inner.bottom() - list.bottom(), ..inner };
    for (n, line) in wrapped(help, text_width(area)).iter().enumerate() {
        paint.text(padded(row(rest, n as u16)), line, ink);
    }
    if place.height > 1 {
        let foot = Rect { width: place.width.saturating_sub(2), ..row(place, place.height - 1) };
        paint.right(foot, &format!(" {} of {} ", (chosen + 1).min(offers.len()), offers.len()), Ink::Faint);
    }
}

fn draw_offer(paint: &mut Paint, line: Rect, offer: &Offer, is_chosen: bool) {
    let line = padded(line);
    let ink = if is_chosen { Ink::Selected } else { Ink::Text };
    let pointer = if is_chosen { paint.glyphs().pointer } else { ' ' };
    let keys = offer.keys.chars().count() as u16;
    let keys = if keys + 20 <= line.width { keys } else { 0 };
    let title = Rect { width: line.width.saturating_sub(keys + 1), ..line };
    paint.text(title, &format!("{pointer} {}", offer.title), ink);
    if keys > 0 {
        paint.right(from_column(line, line.right() - keys), &offer.keys, Ink::Faint);
    }
}

/// The box: below header and status, where there is room, so that what they say stays to be seen.
fn place(area: Rect) -> Rect {
    let height = (MOST_ROWS + HELP_ROWS + 3).min(area.height);
    let place = centred(area, text_width(area) as u16 + 4, height);
    let below = area.y + 2;
    if area.bottom() >= below + height { Rect { y: below, ..place } } else { place }
}

fn list(inner: Rect) -> Rect {
    let height = inner.height.saturating_sub(1);
    let help = if height > 4 { HELP_ROWS } else { 0 };
    Rect { y: inner.y + (inner.height - height), height: height - help, ..inner }
}
