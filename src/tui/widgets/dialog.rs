//! A box over a screen: how large it is, where it stands, and one with lines of text.

use ratatui::layout::Rect;

use crate::tui::{
    paint::{Paint, row},
    theme::Ink,
};

/// Wide enough to read at ease, narrow enough for 80 columns.
const WIDEST: u16 = 76;

/// How many characters a line of it holds.
pub fn text_width(area: Rect) -> usize {
    usize::from(area.width.min(WIDEST).saturating_sub(4))
}

/// Draws a box with these lines, the last of which says which keys work.
pub fn dialog(paint: &mut Paint, area: Rect, title: &str, lines: &[String]) {
    let size = (text_width(area) as u16 + 4, lines.len() as u16 + 2);
    // A blank column on either side keeps the box apart from what it lies over.
    paint.clear(centred(area, size.0 + 2, size.1));
    let inner = paint.frame(centred(area, size.0, size.1), title);
    for (n, text) in lines.iter().enumerate() {
        let ink = if n + 1 == lines.len() { Ink::Strong } else { Ink::Text };
        paint.text(padded(row(inner, n as u16)), text, ink);
    }
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
