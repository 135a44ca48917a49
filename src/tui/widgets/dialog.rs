//! The boxes over a screen: the help, the palette, a question, or an input line.
//!
//! This file also draws input lines outside of boxes.
//!
//! The palette shows the typed text, the matching offers, and the description of the selected offer.
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

use super::{command_line, help, key_panel, table::around};
use crate::{
    app::{
        InputMode, Model, Offer, PaletteCommand, ParameterChange, Purpose, Spot, TextEntry, Typing,
        UserQuestion, value_words,
    },
    tui::{Glyphs, Ink, Paint, from_column, layout::COMPACT_MIN, row, wrapped},
};

/// The maximum width of a box. Such a box fits into 80 columns.
const WIDEST: u16 = 76;

/// Returns the number of characters in a line of a box.
pub fn text_width(area: Rect) -> usize {
    usize::from(area.width.min(WIDEST).saturating_sub(4))
}

/// A box with a message or a question.
pub struct DialogBox<'a> {
    /// The heading of the box.
    pub title: &'a str,
    /// The text in the box.
    pub text: &'a str,
    /// The entry below the text, if there is one.
    pub entry: Option<&'a TextEntry>,
    /// The available keys.
    pub keys: &'a str,
}

/// Draws the box in the middle of `area`.
pub fn draw(paint: &mut Paint, area: Rect, dialog: &DialogBox) {
    let DialogBox { title, text, entry, keys } = *dialog;
    let lines: Vec<_> = text.lines().flat_map(|line| wrapped(line, text_width(area))).collect();
    let typed = lines.len() as u16 + 1;
    let last = typed + if entry.is_some() { 2 } else { 0 };
    let (width, height) = (text_width(area) as u16 + 4, last + 3);
    // A blank column on each side separates the box from what is below it.
    paint.clear(centred(area, width + 2, height));
    let inner = paint.frame(centred(area, width, height), title);
    for (n, text) in lines.iter().enumerate() {
        paint.text(padded(row(inner, n as u16)), text, Ink::Text);
    }
    if let Some(entry) = entry {
        input(paint, padded(row(inner, typed)), entry);
    }
    paint.text(padded(row(inner, last)), keys, Ink::Strong);
}

/// Returns `area` without its first and last column, which stay blank.
pub fn padded(area: Rect) -> Rect {
    Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area }
}

/// Returns a box in the middle of `area` with this width and height. The box is smaller if `area` is too small.
pub fn centred(area: Rect, width: u16, height: u16) -> Rect {
    let (width, height) = (width.min(area.width), height.min(area.height));
    Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height }
}

/// Returns the text before the caret, the caret, and the text after the caret. If the text before the caret exceeds
/// `room` characters, the beginning of the text is left out.
fn pieces(entry: &TextEntry, glyphs: &Glyphs, room: u16) -> [(String, Ink); 3] {
    let (before, after) = entry.around_caret();
    let hidden = (before.chars().count() + 1).saturating_sub(room.into());
    let before = before.chars().skip(hidden).collect();
    [(before, Ink::Strong), (glyphs.caret.to_string(), Ink::Selected), (after.to_owned(), Ink::Strong)]
}

/// Draws the input line `entry` with its caret from the left of `area`. Returns the column after its text.
pub fn input(paint: &mut Paint, area: Rect, entry: &TextEntry) -> u16 {
    let pieces = pieces(entry, paint.glyphs(), area.width);
    paint.parts(area, &pieces)
}

/// Draws the overlay of the screen, if there is one.
pub fn overlay(paint: &mut Paint, area: Rect, model: &Model) {
    if model.mode != InputMode::Screen {
        // Clicks have no effect on the parts below the overlay.
        paint.spot(area, Spot::Elsewhere);
    }
    match &model.mode {
        InputMode::Screen => {}
        InputMode::Asking(question) => ask(paint, area, model, question),
        InputMode::CommandLine { text, note } => command_line::draw(paint, area, text, note),
        InputMode::InFull { title, text } => {
            draw(paint, area, &DialogBox { title, text, entry: None, keys: "Esc close" });
        }
        InputMode::Keys => key_panel::draw(paint, area, model),
        InputMode::Typing(typing) => type_in(paint, area, model, typing),
    }
}

fn ask(paint: &mut Paint, area: Rect, model: &Model, question: &UserQuestion) {
    let (title, text) = match question {
        UserQuestion::FirstWrite(question) => ("write to this server?", question.clone()),
        UserQuestion::Danger(question) => ("this may do harm", question.clone()),
        UserQuestion::Monitor(question) => ("sample commands by MONITOR?", question.clone()),
        UserQuestion::Experiment { question, .. } => ("begin this experiment?", question.clone()),
        UserQuestion::SetConfig(setting) => {
            ("change this server?", change(&model.timeline().address_of(0), setting))
        }
    };
    let keys = "y yes    n, Enter: no (default)";
    draw(paint, area, &DialogBox { title, text: &text, entry: None, keys });
}

fn change(servers: &str, ParameterChange { parameter, from, to, harm }: &ParameterChange) -> String {
    let harm = harm.as_ref().map(|harm| format!("{harm}. ")).unwrap_or_default();
    format!(
        "{servers}: CONFIG SET {} {} ({}; now {}). {harm}A new segment begins. The old value is restored at the end of the \
         session.",
        parameter.name,
        value_words(to),
        parameter.about,
        value_words(from),
    )
}

/// Draws the box of an input line, unless the screen itself shows this line.
fn type_in(paint: &mut Paint, area: Rect, model: &Model, Typing { purpose, entry }: &Typing) {
    let (title, text, keys) = match purpose {
        Purpose::Parameter if area.width < COMPACT_MIN.0 || area.height < COMPACT_MIN.1 => {
            ("parameter", "The new value:".to_owned(), "Enter set    Esc cancel")
        }
        Purpose::Knob | Purpose::Parameter | Purpose::Search => return,
        Purpose::Help { scroll } => return help::draw(paint, area, model, entry, *scroll),
        Purpose::Command { .. } => return palette(paint, area, model),
        Purpose::Mark { t_s } => {
            let text = format!("Text of the mark at {}:", model.timeline().time_text(*t_s));
            ("mark", text, "Enter set the mark    Esc cancel")
        }
        Purpose::Intrinsic => {
            let text = "For how many seconds? A busy loop uses one core of this machine during that time, so \
                        the load has less CPU.";
            ("intrinsic latency", text.to_owned(), "Enter start    Esc cancel")
        }
    };
    draw(paint, area, &DialogBox { title, text: &text, entry: Some(entry), keys });
}

/// The number of lines for the description of the selected offer.
const HELP_ROWS: u16 = 3;
/// The maximum number of offers that are shown at once. A longer list is scrolled.
const MOST_ROWS: u16 = 14;

/// Draws the list of offers.
pub fn palette(paint: &mut Paint, area: Rect, model: &Model) {
    let Some((entry, offers, chosen)) = model.palette() else { return };
    let place = place(area);
    // A blank column on each side separates the box from what is below it.
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
        Some(Offer { command: PaletteCommand::Refuse(_), help, .. }) => (help.as_str(), Ink::Warn),
        Some(offer) => (offer.help.as_str(), Ink::Faint),
        None => ("no match; type fewer letters", Ink::Warn),
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

/// Returns the area of the palette's box. If there is room, header and status line stay visible above the box.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::theme::GlyphSet;

    #[test]
    fn the_caret_is_always_visible() {
        let entry = TextEntry::sentence("a long text");
        let shown = |room| pieces(&entry, GlyphSet::Ascii.glyphs(), room).map(|(text, _)| text).concat();
        assert_eq!(
            (shown(20).as_str(), shown(5).as_str(), shown(0).as_str()),
            ("a long text_", "text_", "_")
        );
    }
}
