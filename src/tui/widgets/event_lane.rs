//! What happened, below the charts: a sign for each occurrence at its moment, and its word where there is room.
//!
//! ```text
//!  ───┴seg 2 50×1───────────┴seg 3 clients 200──────
//!      ◆slow 14 ms    ▲fork   ✕load lost  ●back
//! ```
//! Where two want one place, the more pressing one has it: its sign first, then its word, then a shorter word.

use ratatui::layout::Rect;

use super::Lanes;
use crate::{
    app::{Kind, Occurrence},
    tui::{Glyphs, Ink, Paint},
};

/// Draws those of the lanes' occurrences that `shown` lets pass into one row.
pub fn draw(paint: &mut Paint, plot: Rect, lanes: &Lanes, shown: impl Fn(Kind) -> bool) {
    let placed: Vec<_> = lanes.occurrences.iter().filter(|(_, occurrence)| shown(occurrence.kind)).collect();
    let row = laid(plot.width.into(), &placed, paint.glyphs());
    for (x, cell) in (plot.left()..plot.right()).zip(row) {
        if let Some((character, ink)) = cell {
            paint.dot(x, plot.y, character, ink);
        }
    }
}

/// How an occurrence looks.
pub fn ink(kind: Kind) -> Ink {
    match kind {
        Kind::Lost | Kind::Error => Ink::Bad,
        Kind::Stall | Kind::Slow | Kind::Eviction => Ink::Warn,
        Kind::Back => Ink::Good,
        Kind::Mark | Kind::Segment => Ink::Strong,
        Kind::Fork | Kind::Other => Ink::Text,
    }
}

/// Its sign.
pub fn sign(kind: Kind, glyphs: &Glyphs) -> char {
    match kind {
        Kind::Lost | Kind::Error => glyphs.lost,
        Kind::Stall | Kind::Slow => glyphs.slow,
        Kind::Mark => glyphs.mark,
        Kind::Fork => glyphs.fork,
        Kind::Eviction => glyphs.eviction,
        Kind::Back => glyphs.back,
        Kind::Segment => glyphs.border,
        Kind::Other => glyphs.event,
    }
}

type LaneRow = Vec<Option<(char, Ink)>>;

fn laid(width: usize, placed: &[&(u16, Occurrence)], glyphs: &Glyphs) -> LaneRow {
    let mut row: LaneRow = vec![None; width];
    let mut order: Vec<_> = placed.to_vec();
    order.sort_by_key(|(_, occurrence)| occurrence.kind);
    let mut signed = Vec::new();
    for (column, occurrence) in order {
        let Some(cell) = row.get_mut(usize::from(*column)) else { continue };
        if cell.is_none() {
            *cell = Some((sign(occurrence.kind, glyphs), ink(occurrence.kind)));
            signed.push((usize::from(*column), occurrence));
        }
    }
    for (column, occurrence) in signed {
        let ink = if occurrence.kind == Kind::Segment { Ink::Text } else { ink(occurrence.kind) };
        let place = words(occurrence.kind, &occurrence.word)
            .into_iter()
            .find_map(|word| Some((room(&row, column, &word)?, word)));
        if let Some((first, word)) = place {
            word.chars().zip(first..).for_each(|(character, at)| row[at] = Some((character, ink)));
        }
    }
    row
}

/// Longer words say no more at a glance.
const LONGEST: usize = 24;

/// `word` whole, and shorter: without what stands behind a comma, and at last its first word; of a segment its number.
fn words(kind: Kind, word: &str) -> Vec<String> {
    let commas = word.rmatch_indices(", ").map(|(at, _)| &word[..at]);
    let blanks = word.match_indices(' ').map(|(at, _)| at);
    let last = blanks.take(if kind == Kind::Segment { 2 } else { 1 }).last();
    let words = std::iter::once(word).chain(commas).chain(last.map(|at| &word[..at]));
    words.filter(|word| word.chars().count() <= LONGEST).map(str::to_owned).collect()
}

/// Where `word` fits beside the sign at `column`: behind it, or else before it. A blank parts it
/// from what stands next.
fn room(row: &LaneRow, column: usize, word: &str) -> Option<usize> {
    let length = word.chars().count();
    let is_free = |from: usize, to: usize| row[from..to].iter().all(Option::is_none);
    let behind = column + 1;
    if behind + length <= row.len() && is_free(behind, (behind + length + 1).min(row.len())) {
        return Some(behind);
    }
    let before = column.checked_sub(length)?;
    is_free(before.saturating_sub(1), column).then_some(before)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::theme::{Colours, GlyphSet, Theme};

    fn text(width: usize, placed: &[(u16, Kind, &str)]) -> String {
        let placed: Vec<_> = placed
            .iter()
            .map(|(column, kind, word)| {
                let (word, sentence) = ((*word).to_owned(), String::new());
                (*column, Occurrence { t_s: 0.0, kind: *kind, word, sentence })
            })
            .collect();
        let glyphs = Theme::new(Colours::Mono, GlyphSet::Ascii).glyphs();
        let row = laid(width, &placed.iter().collect::<Vec<_>>(), glyphs);
        row.into_iter().map(|cell| cell.map_or(' ', |(c, _)| c)).collect::<String>().trim_end().to_owned()
    }

    #[test]
    fn words_give_way_by_what_presses_most() {
        let (slow, fork) = ((2, Kind::Slow, "slow 14.2 ms"), (9, Kind::Fork, "fork"));
        assert_eq!(text(30, &[slow]), "  !slow 14.2 ms");
        assert_eq!(text(30, &[fork, slow]), "  !slow  ^fork");
        assert_eq!(text(30, &[(2, Kind::Back, "back"), (2, Kind::Lost, "lost")]), "  Xlost");
        assert_eq!(text(30, &[slow, (4, Kind::Lost, "lost")]), "  ! Xlost");
    }

    #[test]
    fn where_there_is_no_room_behind_its_sign_the_word_stands_before_it() {
        let (stall, fork) = ((10, Kind::Stall, "stall 1.00 s"), (16, Kind::Fork, "fork"));
        assert_eq!(text(30, &[stall, fork]), "     stall!     ^fork");
        assert_eq!(text(20, &[(18, Kind::Slow, "slow 14.2 ms")]), "      slow 14.2 ms!");
        assert_eq!(text(4, &[(3, Kind::Fork, "fork")]), "   ^");
    }

    #[test]
    fn a_segment_is_told_by_its_number_at_least() {
        let segments =
            [(0, Kind::Segment, "seg 2 50×1"), (7, Kind::Segment, "seg 3 clients 200, reads 50 %")];
        assert_eq!(text(32, &segments), "|seg 2 |seg 3 clients 200");
        assert_eq!(text(14, &segments), "|seg 2 |seg 3");
    }
}
