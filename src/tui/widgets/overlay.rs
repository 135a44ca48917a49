//! What lies over a screen: the help, a question, something being asked for.

use ratatui::layout::Rect;

use super::{figures::clock, palette};
use crate::{
    app::{Context, Model, Overlay, Setting, bindings, value_words},
    tui::{
        paint::{Paint, row, wrapped},
        theme::Ink,
    },
};

/// Draws the overlay that is open, if any.
pub fn draw(paint: &mut Paint, area: Rect, model: &Model) {
    match &model.overlay {
        Overlay::None => {}
        Overlay::Help { scroll } => help(paint, area, *scroll),
        Overlay::FirstWrite { question } => {
            let mut lines = wrapped(question, text_width(area));
            lines.extend([String::new(), "y yes    n, Enter: no (default)".to_owned()]);
            dialog(paint, area, "write to this server?", &lines);
        }
        Overlay::SetConfig(Setting { parameter, from, to, harm }) => {
            let harm = harm.as_ref().map(|harm| format!("{harm}. ")).unwrap_or_default();
            let what = format!(
                "CONFIG SET {} {} ({}; now {}). {harm}A new segment begins. At the end of the session the old value \
                 comes back.",
                parameter.name,
                value_words(to),
                parameter.about,
                value_words(from),
            );
            let mut lines = wrapped(&what, text_width(area));
            lines.extend([String::new(), "y yes    n, Enter: no (default)".to_owned()]);
            dialog(paint, area, "change this server?", &lines);
        }
        Overlay::Danger { question, .. } => {
            let mut lines = wrapped(question, text_width(area));
            lines.extend([String::new(), "y yes    n, Enter: no (default)".to_owned()]);
            dialog(paint, area, "this may do harm", &lines);
        }
        Overlay::Mark { entry, t_s } => {
            let at = format!("A note on the time axis at {}:", clock(*t_s));
            let typed = format!("{}{}", entry.text(), paint.glyphs().caret);
            let mut lines = wrapped(&at, text_width(area));
            lines.extend([String::new(), typed, String::new(), "Enter set the mark    Esc none".to_owned()]);
            dialog(paint, area, "mark", &lines);
        }
        Overlay::Palette { .. } => palette::draw(paint, area, model),
        Overlay::Intrinsic { entry } => {
            let what = "How many seconds? A busy loop takes one core of this machine for as long, so the load \
                        has less of it.";
            let mut lines = wrapped(what, text_width(area));
            let typed = format!("{}{}", entry.text(), paint.glyphs().caret);
            lines.extend([String::new(), format!("{typed} s    Enter start    Esc not now")]);
            dialog(paint, area, "intrinsic latency", &lines);
        }
    }
}

/// Wide enough to read at ease, narrow enough for 80 columns.
const WIDEST: u16 = 76;

pub(super) fn text_width(area: Rect) -> usize {
    usize::from(area.width.min(WIDEST).saturating_sub(4))
}

fn dialog(paint: &mut Paint, area: Rect, title: &str, lines: &[String]) {
    let size = (text_width(area) as u16 + 4, lines.len() as u16 + 2);
    // A blank column on either side keeps the box apart from what it lies over.
    paint.clear(centred(area, size.0 + 2, size.1));
    let inner = paint.frame(centred(area, size.0, size.1), title);
    for (n, text) in lines.iter().enumerate() {
        let ink = if n + 1 == lines.len() { Ink::Strong } else { Ink::Text };
        paint.text(padded(row(inner, n as u16)), text, ink);
    }
}

fn help(paint: &mut Paint, area: Rect, scroll: u16) {
    let lines = help_lines(text_width(area));
    let height = area.height.saturating_sub(2).min(lines.len() as u16 + 2);
    let place = centred(area, text_width(area) as u16 + 4, height);
    let title = format!("redyno {}: help", env!("CARGO_PKG_VERSION"));
    let inner = paint.frame(place, &title);
    let first = scroll.min((lines.len() as u16).saturating_sub(inner.height));
    for (n, (text, ink)) in lines.iter().skip(first.into()).take(inner.height.into()).enumerate() {
        paint.text(padded(row(inner, n as u16)), text, *ink);
    }
    let below = lines.len().saturating_sub(usize::from(first + inner.height));
    let state = if below > 0 {
        format!(" {below} more lines below, scroll with ↓ ")
    } else {
        " ? closes ".to_owned()
    };
    if place.height > 1 {
        let foot = Rect { width: place.width.saturating_sub(2), ..row(place, place.height - 1) };
        paint.right(foot, &state, Ink::Faint);
    }
}

/// How the screen is read, then the key table.
fn help_lines(width: usize) -> Vec<(String, Ink)> {
    /// Room for the longest keys.
    const KEYS_WIDTH: usize = 13;
    let mut lines = vec![("Reading the screen".to_owned(), Ink::Strong)];
    for text in READING {
        lines.extend(wrapped(text, width).into_iter().map(|line| (line, Ink::Text)));
    }
    for context in Context::ALL {
        lines.push((String::new(), Ink::Text));
        lines.push((context.title().to_owned(), Ink::Strong));
        for binding in bindings().filter(|binding| binding.context == context) {
            let texts = wrapped(binding.help, width.saturating_sub(KEYS_WIDTH));
            let keys = wrapped(binding.written, KEYS_WIDTH - 1);
            for n in 0..texts.len().max(keys.len()) {
                let part = |list: &[String]| list.get(n).cloned().unwrap_or_default();
                lines.push((format!("{:<KEYS_WIDTH$}{}", part(&keys), part(&texts)), Ink::Text));
            }
        }
    }
    lines
}

/// How to read the screen, in a few sentences.
const READING: [&str; 6] = [
    "Every column of every chart is one second; a border on the time axis is a change of a knob. Latencies \
     share one logarithmic scale, so lanes can be compared by height. A percentile with fewer than ten samples \
     above it is not shown, and none mixes two settings: now is the last second, 60 s the last minute, both \
     since the last border.",
    "The heat map shows how many requests took how long, up a logarithmic scale; one alone in its place is drawn \
     too. In an open loop it counts from when a request was due. Below the charts stand segments and events; in a \
     frozen view the cursor's line says what stands on it.",
    "ping is a PING every 10 ms on a connection of its own; kernel is its part between the kernel's stamps of \
     departure and arrival: network and server alone. pickup is how long the answer then lay unread. wake is how late a thread that sleeps 1 ms is \
     woken, intrinsic the longest gap in a busy loop: both are this machine's own share. srv cpu is the \
     server's main thread, as a share of one core.",
    "If ping rises with the load, the server is busy; if wake rises too, it is this machine.",
    "The mouse selects a knob, shows a screen by its tab, zooms by the wheel and puts the cursor where the charts are \
     clicked; all of it goes by keys too. To select text as usual, hold Shift while you drag.",
    "Yellow needs attention and red is wrong; a percentile is never either, however high it is.",
];

pub(super) fn padded(area: Rect) -> Rect {
    Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area }
}

pub(super) fn centred(area: Rect, width: u16, height: u16) -> Rect {
    let (width, height) = (width.min(area.width), height.min(area.height));
    Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_names_every_binding() {
        let text: String = help_lines(72).into_iter().map(|(line, _)| line + "\n").collect();
        for binding in bindings() {
            assert!(text.contains(binding.help.split(' ').next().unwrap()), "{}", binding.help);
        }
        assert!(help_lines(72).iter().all(|(line, _)| line.chars().count() <= 72));
    }
}
