//! What is being typed, with its caret: one look for all that is typed.

use ratatui::layout::Rect;

use crate::{
    app::Entry,
    tui::{Glyphs, Ink, Paint},
};

/// The pieces of a line in which `entry` is typed and `room` characters have a place: where it is longer, what lies
/// around the caret.
pub fn pieces(entry: &Entry, glyphs: &Glyphs, room: u16) -> [(String, Ink); 3] {
    let (before, after) = entry.around_caret();
    let hidden = (before.chars().count() + 1).saturating_sub(room.into());
    let before = before.chars().skip(hidden).collect();
    [(before, Ink::Strong), (glyphs.caret.to_string(), Ink::Selected), (after.to_owned(), Ink::Strong)]
}

/// Draws `entry` from the left of `area`; the column after it.
pub fn draw(paint: &mut Paint, area: Rect, entry: &Entry) -> u16 {
    let pieces = pieces(entry, paint.glyphs(), area.width);
    paint.parts(area, &pieces.each_ref().map(|(text, ink)| (text.as_str(), *ink)))
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
