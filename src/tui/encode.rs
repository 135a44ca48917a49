//! Encodes the changed character cells for the terminal in as few bytes as possible. On a slow connection, fewer bytes
//! show the effect of a key sooner.
//!
//! redyno sends only the differences from the previous cell. The sixteen basic colours have short codes. Within a row,
//! the cursor moves by relative commands.

use ratatui::{
    buffer::Cell,
    style::{Color, Modifier},
    text::Span,
};

use super::theme::colours::parameters_of;

/// The text attributes that redyno uses, each with its SGR number.
const ATTRIBUTES: [(Modifier, u8); 3] = [(Modifier::BOLD, 1), (Modifier::DIM, 2), (Modifier::REVERSED, 7)];

/// The first SGR numbers of foreground and background colours.
const FOREGROUND: u8 = 30;
const BACKGROUND: u8 = 40;

/// The colours and attributes of a cell.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct CellStyle {
    fg: Color,
    bg: Color,
    modifier: Modifier,
}

/// Appends the output for `cells`, row by row. When `out` has `most` bytes, the function finishes the current row and
/// stops. Returns the number of cells in the output. Before and after the output, the terminal has its default colours
/// and attributes.
pub fn encode(out: &mut Vec<u8>, cells: &[(u16, u16, &Cell)], most: usize) -> usize {
    let mut text = String::new();
    let (mut at, mut look, mut encoded) = (None, CellStyle::default(), 0);
    for (x, y, cell) in cells.iter().copied() {
        let begins = encoded > 0 && cells[encoded - 1].1 != y;
        if begins && out.len() + text.len() >= most {
            break;
        }
        encoded += 1;
        match at {
            Some((here, row)) if (here, row) == (x, y) => {}
            Some((here, row)) if row == y && here < x => push(&mut text, &number(x - here), 'C'),
            _ => push(&mut text, &format!("{};{}", y + 1, x + 1), 'H'),
        }
        let wanted = CellStyle { fg: cell.fg, bg: cell.bg, modifier: cell.modifier };
        if wanted != look {
            push(&mut text, &look.change_to(wanted), 'm');
            look = wanted;
        }
        text.push_str(cell.symbol());
        // The position of the cursor is known only after a character that is one column wide.
        at = (Span::raw(cell.symbol()).width() == 1).then_some((x + 1, y));
    }
    if look != CellStyle::default() {
        push(&mut text, "", 'm');
    }
    out.extend_from_slice(text.as_bytes());
    encoded
}

fn push(text: &mut String, parameters: &str, end: char) {
    text.push_str("\x1b[");
    text.push_str(parameters);
    text.push(end);
}

/// Returns a number as the parameter of an escape sequence. The default, 1, is left out.
fn number(n: u16) -> String {
    if n == 1 { String::new() } else { n.to_string() }
}

impl CellStyle {
    /// Returns the SGR parameters that change these colours and attributes to `wanted`.
    fn change_to(self, wanted: Self) -> String {
        if wanted == Self::default() {
            return String::new();
        }
        let mut parameters = Vec::new();
        let mut from = self;
        if !(from.modifier - wanted.modifier).is_empty() {
            // A reset is as short as switching off a single attribute.
            from = Self::default();
            parameters.push("0".to_owned());
        }
        let added =
            ATTRIBUTES.into_iter().filter(|(one, _)| (wanted.modifier - from.modifier).contains(*one));
        parameters.extend(added.map(|(_, number)| number.to_string()));
        parameters.extend((wanted.fg != from.fg).then(|| parameters_of(wanted.fg, FOREGROUND)));
        parameters.extend((wanted.bg != from.bg).then(|| parameters_of(wanted.bg, BACKGROUND)));
        parameters.join(";")
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU16;

    use ratatui::{buffer::Buffer, layout::Rect, style::Style};

    use super::*;

    #[test]
    fn only_differences_are_sent_and_the_default_look_is_restored() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 12, 2));
        buffer.set_string(0, 0, "ab", Style::new().bold().green());
        buffer.set_string(2, 0, "cd", Style::new().green().bg("237".parse().unwrap()));
        buffer.set_string(7, 0, "e", Style::new());
        buffer.set_string(1, 1, "漢x", Style::new().light_red());
        let mut out = Vec::new();
        let empty = Buffer::empty(buffer.area);
        let cells = empty.diff(&buffer);
        assert_eq!(encode(&mut out, &cells, usize::MAX), cells.len());
        let text = String::from_utf8(out.clone()).unwrap();
        let expected =
            "\x1b[1;1H\x1b[1;32mab\x1b[0;32;48;5;237mcd\x1b[3C\x1b[mE\x1b[2;2H\x1b[91m漢\x1b[2;4Hx\x1b[m";
        assert_eq!(text, expected.replace('E', "e"));
        let mut terminal = vt100::Parser::new(NonZeroU16::new(2).unwrap(), NonZeroU16::new(12).unwrap(), 0);
        terminal.process(&out);
        assert_eq!(terminal.screen().contents(), "abcd   e\n 漢x");
        let cell = terminal.screen().cell(0, 2).unwrap();
        let colours = format!("{:?} {:?}", cell.fgcolor(), cell.bgcolor());
        assert_eq!((cell.bold(), colours.as_str()), (false, "Idx(2) Idx(237)"));
        out.clear();
        assert_eq!(encode(&mut out, &cells, 1), 5, "the output always contains the first row");
    }
}
