//! The characters with which the screen draws lines and signs, in two sets: Unicode and ASCII.

/// A set of drawing characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GlyphSet {
    /// Braille, blocks and lines.
    Unicode,
    /// Printable ASCII.
    Ascii,
}

impl GlyphSet {
    /// Returns the set's drawing characters.
    pub fn glyphs(self) -> &'static Glyphs {
        match self {
            Self::Unicode => &UNICODE,
            Self::Ascii => &ASCII,
        }
    }

    /// Returns the text `written`. If the set is ASCII, names replace the signs of arrow keys.
    pub fn keys(self, written: &str) -> String {
        match self {
            Self::Unicode => written.to_owned(),
            Self::Ascii => {
                ARROWS.iter().fold(written.to_owned(), |text, (arrow, name)| text.replace(arrow, name))
            }
        }
    }
}

/// The drawing characters of a glyph set.
pub struct Glyphs {
    /// The bars of eight heights within a cell, the lowest first.
    pub bars: [char; 8],
    /// The sign for a percentile that has too few samples.
    pub few: char,
    /// Horizontal rule.
    pub horizontal: char,
    /// Vertical rule.
    pub vertical: char,
    /// The junction where a horizontal rule begins at a vertical rule.
    pub branch_right: char,
    /// The junction where a vertical rule begins below a horizontal rule.
    pub branch_down: char,
    /// The mark of a label on a vertical axis.
    pub tick: char,
    /// The bottom of a vertical axis.
    pub origin: char,
    /// The border of a segment on the time axis.
    pub border: char,
    /// The border of a segment behind a chart.
    pub border_line: char,
    /// The line of an event behind a chart.
    pub event_line: char,
    /// redyno lost the server, or a connection to the server.
    pub lost: char,
    /// The server, or a connection to it, is back.
    pub back: char,
    /// A stall, or an entry of the slow log.
    pub slow: char,
    /// The server forked.
    pub fork: char,
    /// The server evicts keys.
    pub eviction: char,
    /// Any other event.
    pub event: char,
    /// The duration of an event that lasts.
    pub lasting: char,
    /// A mark on the time axis.
    pub mark: char,
    /// The line through all charts at the moment that a frozen view shows.
    pub cursor_line: char,
    /// The shade behind a chart for the time in which the load has no connection.
    pub outage: char,
    /// The line of the requested rate behind a chart.
    pub target_line: char,
    /// The pointer to the selected item.
    pub pointer: char,
    /// The sign for a change to a lower value.
    pub less: char,
    /// The sign for a change to a higher value.
    pub more: char,
    /// The sign for a state that is on.
    pub on: char,
    /// The sign for a state that is off.
    pub off: char,
    /// The corners of a box: top left, top right, bottom left, bottom right.
    pub corners: [char; 4],
    /// The caret of a text being typed.
    pub caret: char,
    /// A point of a chart that is drawn without braille.
    pub point: char,
    /// A rise or fall between two points of a chart that is drawn without braille.
    pub rise: char,
    /// The marks of a chart's lines on a screen without colours, the lowest line first.
    pub lines: [char; 5],
    /// The point of a curve with the most throughput.
    pub best: char,
    /// The point of a curve with the most throughput among the points that keep a limit.
    pub best_held: char,
    /// A value above the top of a chart.
    pub above: char,
    /// A value below the bottom of a chart.
    pub below: char,
}

impl Glyphs {
    /// Returns the characters of a set. In each pair of the table, the Unicode character comes first, and the ASCII
    /// character comes second.
    const fn of(set: GlyphSet) -> Self {
        let set = set as usize;
        Self {
            bars: [['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'], ['.', ':', '-', '=', '+', '*', '#', '@']][set],
            few: ['·', '~'][set],
            horizontal: ['─', '-'][set],
            vertical: ['│', '|'][set],
            branch_right: ['├', '|'][set],
            branch_down: ['┬', '+'][set],
            tick: ['┤', '+'][set],
            origin: ['┼', '+'][set],
            border: ['┴', '|'][set],
            border_line: ['│', ':'][set],
            event_line: ['┊', '\''][set],
            lost: ['✕', 'X'][set],
            back: ['●', 'o'][set],
            slow: ['◆', '!'][set],
            fork: ['△', 'Y'][set],
            eviction: ['▽', 'v'][set],
            event: ['◇', '?'][set],
            lasting: ['━', '='][set],
            mark: ['⚑', 'P'][set],
            cursor_line: ['┃', '|'][set],
            outage: ['▒', 'x'][set],
            target_line: ['┄', '.'][set],
            pointer: ['▸', '>'][set],
            less: ['◂', '<'][set],
            more: ['▸', '>'][set],
            on: ['●', '*'][set],
            off: ['○', 'o'][set],
            corners: [['┌', '┐', '└', '┘'], ['+', '+', '+', '+']][set],
            caret: ['▏', '_'][set],
            point: ['•', '*'][set],
            rise: ['│', '|'][set],
            lines: [['●', '◆', '■', '○', '◇'], ['*', '+', 'x', 'o', '.']][set],
            best: ['◆', '#'][set],
            best_held: ['★', '@'][set],
            above: ['▲', '^'][set],
            below: ['▼', 'v'][set],
        }
    }
}

static UNICODE: Glyphs = Glyphs::of(GlyphSet::Unicode);
static ASCII: Glyphs = Glyphs::of(GlyphSet::Ascii);

/// The names of arrow keys in ASCII. The characters `<` and `>` cannot be used, because they are keys themselves.
const ARROWS: [(&str, &str); 6] =
    [("←→", "Lt/Rt"), ("↑↓", "Up/Dn"), ("←", "Left"), ("→", "Right"), ("↑", "Up"), ("↓", "Down")];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ascii_set_is_ascii() {
        assert!(ASCII.bars.iter().chain(&ASCII.corners).all(char::is_ascii));
    }
}
