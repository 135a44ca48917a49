//! The characters of drawings, in two sets: Unicode's and ASCII's.

/// Which characters may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GlyphSet {
    /// Braille, blocks and lines.
    Unicode,
    /// Printable ASCII.
    Ascii,
}

impl GlyphSet {
    /// Its drawing characters.
    pub fn glyphs(self) -> &'static Glyphs {
        match self {
            Self::Unicode => &UNICODE,
            Self::Ascii => &ASCII,
        }
    }

    /// Keys as this set writes them.
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
#[derive(Debug)]
pub struct Glyphs {
    /// Eight heights within a cell, lowest first.
    pub bars: [char; 8],
    /// Something was measured, but too few samples for this level.
    pub few: char,
    /// Horizontal rule.
    pub horizontal: char,
    /// Vertical rule.
    pub vertical: char,
    /// Where a rule leaves to the right of a vertical one.
    pub branch_right: char,
    /// Where a vertical rule begins below a horizontal one.
    pub branch_down: char,
    /// A label on a vertical axis.
    pub tick: char,
    /// The foot of a vertical axis.
    pub origin: char,
    /// A segment border on the time axis.
    pub border: char,
    /// A segment border behind a chart.
    pub border_line: char,
    /// An event behind a chart.
    pub event_line: char,
    /// Something was lost.
    pub lost: char,
    /// Something is back.
    pub back: char,
    /// Replies took long: a stall, an entry of the slow log.
    pub slow: char,
    /// The server forked.
    pub fork: char,
    /// The server evicts keys.
    pub eviction: char,
    /// Any other event.
    pub event: char,
    /// A note on the time axis.
    pub mark: char,
    /// The moment that a frozen view shows, through all charts.
    pub cursor_line: char,
    /// No connection, behind a chart.
    pub outage: char,
    /// The target of a rate, behind the chart.
    pub target_line: char,
    /// The selected one.
    pub pointer: char,
    /// Turn down.
    pub less: char,
    /// Turn up.
    pub more: char,
    /// On.
    pub on: char,
    /// Off.
    pub off: char,
    /// Corners of a box: top left, top right, bottom left, bottom right.
    pub corners: [char; 4],
    /// The end of a text being typed.
    pub caret: char,
    /// A point of a chart without braille.
    pub point: char,
    /// A rise or fall between two points of a chart without braille.
    pub rise: char,
    /// The lines of a chart where colours do not tell them apart, the lowest first.
    pub lines: [char; 5],
    /// The best of the points of a chart.
    pub best: char,
    /// The best of those that hold a limit.
    pub best_held: char,
    /// What lies above the top of a chart.
    pub above: char,
    /// What lies below its foot.
    pub below: char,
}

impl Glyphs {
    /// Those of a set: Unicode's stand left, ASCII's right.
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
            fork: ['▲', '^'][set],
            eviction: ['▽', 'v'][set],
            event: ['◇', '?'][set],
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

/// Keys as help and footer write them, and what they are called where there are no arrows: `<` and `>` are keys of their
/// own.
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
