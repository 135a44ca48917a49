//! [`Paint`] draws text and horizontal rules into a frame of the screen, in the theme's colours. Drawing outside of the
//! frame has no effect.
//!
//! [`Spots`] maps positions of the mouse to meanings. The drawing code registers each area with its meaning. If areas
//! overlap, the topmost area counts.

use ratatui::{buffer::Buffer, layout::Rect, text::Span};

use super::theme::{Glyphs, Ink, Theme, colours::CellBackground};
use crate::app::Spot;

/// The minimum width at which a sign marks text that was cut. A narrower text needs all columns for itself.
const SHOWN_CUT: u16 = 4;

/// A frame that is being drawn.
pub struct Paint<'a> {
    buffer: &'a mut Buffer,
    /// The theme.
    pub theme: Theme,
    spots: Spots,
}

impl<'a> Paint<'a> {
    /// Begins to draw into `buffer`.
    pub fn new(buffer: &'a mut Buffer, theme: Theme) -> Self {
        Self { buffer, theme, spots: Spots::default() }
    }

    /// Registers `spot` as the meaning of mouse clicks in `area`.
    pub fn spot(&mut self, area: Rect, spot: Spot) {
        self.spots.put(area, spot);
    }

    /// Finishes the frame. Returns the map for the mouse.
    pub fn finish(self) -> Spots {
        self.theme.finish(self.buffer);
        self.spots
    }

    /// Returns the theme's drawing characters.
    pub fn glyphs(&self) -> &'static Glyphs {
        self.theme.glyphs()
    }

    /// Writes `text` from the left of `area`'s first row. Returns the column after the text. Text that does
    /// not fit is cut, and a sign marks the cut if there is room.
    pub fn text(&mut self, area: Rect, text: &str, ink: Ink) -> u16 {
        let area = area.intersection(self.buffer.area);
        if area.is_empty() {
            return area.x;
        }
        let style = self.theme.style(ink);
        let is_cut = Span::raw(text).width() > area.width.into() && area.width >= SHOWN_CUT;
        let room = usize::from(area.width) - usize::from(is_cut);
        let x = self.buffer.set_stringn(area.x, area.y, text, room, style).0;
        if is_cut { self.buffer.set_stringn(x, area.y, "…", 1, style).0 } else { x }
    }

    /// Writes `parts` one after another, and cuts the text at the end of `area`. Returns the column after the last
    /// part.
    pub fn parts<S: AsRef<str>>(&mut self, area: Rect, parts: &[(S, Ink)]) -> u16 {
        let mut rest = area;
        for (text, ink) in parts {
            let x = self.text(rest, text.as_ref(), *ink);
            rest = from_column(area, x);
        }
        rest.x
    }

    /// Writes `text` right-aligned in `area`'s first row. A text that does not fit is not written, because a
    /// cut number would be a wrong number.
    pub fn right(&mut self, area: Rect, text: &str, ink: Ink) {
        let length = text.chars().count() as u16;
        if length <= area.width {
            self.text(from_column(area, area.right() - length), text, ink);
        }
    }

    /// Writes one character.
    pub fn dot(&mut self, x: u16, y: u16, character: char, ink: Ink) {
        if let Some(cell) = self.buffer.cell_mut((x, y)) {
            cell.set_char(character).set_style(self.theme.style(ink));
        }
    }

    /// Writes one character of a lane's bar.
    pub fn bar(&mut self, x: u16, y: u16, character: char, ink: Ink) {
        if let Some(cell) = self.buffer.cell_mut((x, y)) {
            cell.set_char(character).set_style(self.theme.bar(ink));
        }
    }

    /// Draws the background of a cell in the shade `step` of [`Theme::ground`].
    pub fn ground(&mut self, x: u16, y: u16, step: usize) {
        let Some(cell) = self.buffer.cell_mut((x, y)) else { return };
        match self.theme.ground(step) {
            CellBackground::None => {}
            CellBackground::Tone(colour) => drop(cell.set_bg(colour)),
            CellBackground::Character(character, style) if cell.symbol() == " " => {
                cell.set_char(character).set_style(style);
            }
            CellBackground::Character(..) => {}
        }
    }

    /// Writes `text` over a chart from the left of `area`, and keeps the background of the cells.
    pub fn text_over(&mut self, area: Rect, text: &str, ink: Ink) {
        let style = self.theme.style(ink);
        for (x, character) in (area.left()..area.right()).zip(text.chars()) {
            if let Some(cell) = self.buffer.cell_mut((x, area.y)) {
                let ground = cell.bg;
                cell.set_char(character).set_style(style).set_bg(ground);
            }
        }
    }

    /// Changes the ink of a cell, unless the cell contains a letter or digit.
    pub fn restyle(&mut self, x: u16, y: u16, ink: Ink) {
        let style = self.theme.style(ink);
        let is_word = |cell: &ratatui::buffer::Cell| cell.symbol().starts_with(char::is_alphanumeric);
        if let Some(cell) = self.buffer.cell_mut((x, y)).filter(|cell| !is_word(cell)) {
            cell.set_style(style);
        }
    }

    /// Writes one character into a cell if the cell is blank.
    pub fn dot_if_blank(&mut self, x: u16, y: u16, character: char, ink: Ink) {
        if self.at(x, y) == Some(" ") {
            self.dot(x, y, character, ink);
        }
    }

    /// Returns the character at a place.
    pub fn at(&self, x: u16, y: u16) -> Option<&str> {
        self.buffer.cell((x, y)).map(ratatui::buffer::Cell::symbol)
    }

    /// Draws a horizontal rule over `area`'s first row. The rule contains a heading.
    pub fn rule(&mut self, area: Rect, title: &str) {
        let line = self.glyphs().horizontal;
        for x in area.left()..area.right() {
            self.dot(x, area.y, line, Ink::Faint);
        }
        if area.width > 4 && !title.is_empty() {
            let inner = Rect { x: area.x + 1, width: area.width - 2, ..area };
            let title = format!(" {title} ");
            self.text(inner, &title, Ink::Strong);
        }
    }

    /// Blanks `area`.
    pub fn clear(&mut self, area: Rect) {
        for position in area.intersection(self.buffer.area).positions() {
            self.buffer[position].reset();
        }
    }

    /// Draws a box with a heading. Returns the area inside the box.
    pub fn frame(&mut self, area: Rect, title: &str) -> Rect {
        self.clear(area);
        if area.width < 2 || area.height < 2 {
            return area;
        }
        let glyphs = self.glyphs();
        let (right, bottom) = (area.right() - 1, area.bottom() - 1);
        self.rule(Rect { height: 1, ..area }, title);
        self.rule(Rect { y: bottom, height: 1, ..area }, "");
        for y in area.top()..area.bottom() {
            self.dot(area.x, y, glyphs.vertical, Ink::Faint);
            self.dot(right, y, glyphs.vertical, Ink::Faint);
        }
        let places = [(area.x, area.y), (right, area.y), (area.x, bottom), (right, bottom)];
        for ((x, y), corner) in places.into_iter().zip(glyphs.corners) {
            self.dot(x, y, corner, Ink::Faint);
        }
        Rect { x: area.x + 1, y: area.y + 1, width: area.width - 2, height: area.height - 2 }
    }
}

/// Returns `area` without the columns left of `x`.
pub fn from_column(area: Rect, x: u16) -> Rect {
    let x = x.clamp(area.x, area.right());
    Rect { x, width: area.right() - x, ..area }
}

/// Returns `text` in lines of at most `width` columns, broken at blanks. A word that is longer than a line is divided.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines: Vec<String> = Vec::new();
    let mut current = String::new();
    for word in text.split_whitespace() {
        let mut rest: Vec<char> = word.chars().collect();
        let used = current.chars().count();
        if used > 0 && used + 1 + rest.len() > width {
            lines.push(std::mem::take(&mut current));
        }
        while rest.len() > width {
            lines.push(rest.drain(..width).collect());
        }
        if !current.is_empty() {
            current.push(' ');
        }
        current.extend(rest);
    }
    lines.push(current);
    lines
}

/// Returns `text`, cut to at most `width` columns.
pub fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).take(width).collect()
}

/// Returns row `n` of `area`, one row high. The result is empty below the end of `area`.
pub fn row(area: Rect, n: u16) -> Rect {
    let height = u16::from(n < area.height);
    Rect { y: area.y.saturating_add(n.min(area.height)), height, ..area }
}

/// The areas of the last frame in which mouse clicks have a meaning.
#[derive(Debug, Clone, Default)]
pub struct Spots(Vec<(Rect, Spot)>);

impl Spots {
    /// Registers `spot` in `area`, above all areas registered earlier. If the area is a chart, `spot` names
    /// the chart's first column.
    pub fn put(&mut self, area: Rect, spot: Spot) {
        self.0.push((area, spot));
    }

    /// Returns the meaning of a mouse click at column `x` of row `y`.
    pub fn at(&self, x: u16, y: u16) -> Spot {
        let here = self.0.iter().rev().find(|(area, _)| area.contains((x, y).into()));
        match here {
            Some((area, Spot::Chart { column })) => Spot::Chart { column: column + (x - area.x) },
            Some((_, spot)) => *spot,
            None => Spot::Elsewhere,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ratatui::buffer::Cell;

    use super::*;
    use crate::{
        app::{Delivery, Model, Msg, update},
        knobs::Knobs,
        session::TimelineOptions,
        tui::{
            fixture::GeneratedSession,
            screens,
            theme::{Colours, GlyphSet},
        },
    };

    #[test]
    fn text_wraps_at_blanks_and_is_complete() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("abcdefgh ij", 3), ["abc", "def", "gh", "ij"]);
        assert_eq!(wrapped("", 5), [""]);
        assert_eq!([9, 4, 3, 1, 0].map(|width| cut("four", width)), ["four", "four", "fo…", "…", ""]);
    }

    #[test]
    fn nothing_is_drawn_outside_the_frame_and_no_number_is_cut() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 6, 2));
        let mut paint = Paint::new(&mut buffer, Theme::new(Colours::Mono, GlyphSet::Ascii));
        paint.text(Rect::new(4, 1, 20, 1), "abcdef", Ink::Text);
        paint.text(Rect::new(0, 9, 5, 1), "below", Ink::Text);
        paint.right(Rect::new(0, 0, 3, 1), "1234", Ink::Text);
        paint.right(Rect::new(0, 0, 5, 1), "1234", Ink::Text);
        paint.dot(9, 9, 'x', Ink::Text);
        assert_eq!(
            buffer.content.iter().map(ratatui::buffer::Cell::symbol).collect::<String>(),
            " 1234     ab"
        );
    }

    const AREA: Rect = Rect { x: 0, y: 0, width: 120, height: 36 };

    fn drawn(model: &Model) -> (Vec<Vec<String>>, Spots) {
        let theme = Theme::new(Colours::Mono, GlyphSet::Unicode);
        let mut buffer = Buffer::empty(AREA);
        let spots = screens::draw(&mut buffer, theme, model, &screens::plan(AREA, model));
        let rows = buffer.content.chunks(AREA.width.into());
        (rows.map(|row| row.iter().map(Cell::symbol).map(str::to_owned).collect()).collect(), spots)
    }

    /// Returns the position of `text` on the screen. If a row contains it several times, returns the
    /// rightmost position.
    fn find(rows: &[Vec<String>], text: &str) -> (u16, u16) {
        for (y, row) in rows.iter().enumerate() {
            let starts = (0..row.len()).rev();
            if let Some(x) = starts.into_iter().find(|x| row[*x..].concat().starts_with(text)) {
                return (x as u16, y as u16);
            }
        }
        panic!("'{text}' is not on the screen")
    }

    #[test]
    fn a_click_finds_the_part_that_is_drawn_there() {
        let model = Model::new(Knobs::default(), TimelineOptions::default());
        let (rows, spots) = drawn(&model);
        // Without load, the knobs are in a line, as many as fit.
        for knob in model.panel.knobs().into_iter().take(3) {
            let (x, y) = find(&rows[30..], knob.name());
            assert_eq!(spots.at(x, y + 30), Spot::Knob(knob));
        }
        let knobs = Knobs { load: true, ..Knobs::default() };
        let mut model = Model::new(knobs.clone(), TimelineOptions::default());
        for record in GeneratedSession::new(knobs).1 {
            update(&mut model, Msg::Delivery(Delivery::Record(Arc::new(record))));
        }
        let (rows, spots) = drawn(&model);
        // The status line also contains the names of some knobs, so the search begins below it.
        for knob in model.panel.knobs() {
            let (x, y) = find(&rows[2..], knob.name());
            assert_eq!(spots.at(x, y + 2), Spot::Knob(knob));
        }
        for screen in model.screens() {
            let (x, y) = find(&rows, &format!("{} {}", screen.key(), screen.name()));
            assert_eq!(spots.at(x, y), Spot::Tab(screen));
        }
        let plan = screens::plan(AREA, &model);
        let left = plan.columns.gutter;
        assert_eq!(spots.at(left, plan.axis.y), Spot::Chart { column: 0 });
        assert_eq!(spots.at(left + 7, plan.throughput.y), Spot::Chart { column: 7 });
        assert_eq!(spots.at(left - 1, plan.axis.y), Spot::Elsewhere);
        assert_eq!(spots.at(0, 0), Spot::Elsewhere);
    }

    #[test]
    fn a_click_finds_the_offer_that_is_drawn_there() {
        let mut model = Model::new(Knobs::default(), TimelineOptions::default());
        for c in [':', 'z', 'o', 'o', 'm'] {
            let key = crate::app::Key::plain(crate::app::KeyCode::Char(c));
            update(&mut model, Msg::Key(key));
        }
        let (rows, spots) = drawn(&model);
        for (n, title) in ["zoom in", "zoom out"].into_iter().enumerate() {
            let (x, y) = find(&rows, title);
            assert_eq!(spots.at(x, y), Spot::Offer(n));
        }
    }
}
