//! A box over a screen: how large it is, where it stands, and one with lines of text; and what is typed there, or elsewhere.

use ratatui::layout::Rect;

use crate::{
    app::Entry,
    tui::{Glyphs, Ink, Paint, row, wrapped},
};

/// Wide enough to read at ease, narrow enough for 80 columns.
const WIDEST: u16 = 76;

/// How many characters a line of it holds.
pub fn text_width(area: Rect) -> usize {
    usize::from(area.width.min(WIDEST).saturating_sub(4))
}

/// A box that says or asks something.
pub struct Dialog<'a> {
    /// Its heading.
    pub title: &'a str,
    /// What it says.
    pub text: &'a str,
    /// What is typed below that, if anything is.
    pub entry: Option<&'a Entry>,
    /// The keys that work.
    pub keys: &'a str,
}

/// Draws it in the middle of `area`.
pub fn draw(paint: &mut Paint, area: Rect, dialog: &Dialog) {
    let Dialog { title, text, entry, keys } = *dialog;
    let lines = wrapped(text, text_width(area));
    let typed = lines.len() as u16 + 1;
    let last = typed + if entry.is_some() { 2 } else { 0 };
    let (width, height) = (text_width(area) as u16 + 4, last + 3);
    // A blank column on either side keeps the box apart from what it lies over.
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

/// Without the columns beside the frame.
pub fn padded(area: Rect) -> Rect {
    Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area }
}

/// The middle of `area`, as wide and high as that or as `area` is.
pub fn centred(area: Rect, width: u16, height: u16) -> Rect {
    let (width, height) = (width.min(area.width), height.min(area.height));
    Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height }
}

/// The pieces of a line in which `entry` is typed and `room` characters have a place: where it is longer, what lies
/// around the caret.
fn pieces(entry: &Entry, glyphs: &Glyphs, room: u16) -> [(String, Ink); 3] {
    let (before, after) = entry.around_caret();
    let hidden = (before.chars().count() + 1).saturating_sub(room.into());
    let before = before.chars().skip(hidden).collect();
    [(before, Ink::Strong), (glyphs.caret.to_string(), Ink::Selected), (after.to_owned(), Ink::Strong)]
}

/// Draws `entry` with its caret from the left of `area`: one look for all that is typed. The column after it.
pub fn input(paint: &mut Paint, area: Rect, entry: &Entry) -> u16 {
    let pieces = pieces(entry, paint.glyphs(), area.width);
    paint.parts(area, &pieces)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::theme::GlyphSet;

    #[test]
    fn the_caret_is_always_in_sight() {
        let entry = Entry::sentence("a long text");
        let shown = |room| pieces(&entry, GlyphSet::Ascii.glyphs(), room).map(|(text, _)| text).concat();
        assert_eq!(
            (shown(20).as_str(), shown(5).as_str(), shown(0).as_str()),
            ("a long text_", "text_", "_")
        );
    }
}
