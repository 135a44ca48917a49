//! The help: how the screen is read, then the key table.

use ratatui::layout::Rect;

use super::{
    dialog::{centred, padded, text_width},
    scroll,
};
use crate::{
    app::{Context, bindings},
    tui::{
        paint::{Paint, row, wrapped},
        theme::Ink,
    },
};

/// Draws it, scrolled down by so many lines.
pub fn draw(paint: &mut Paint, area: Rect, scrolled: u16) {
    let lines = help_lines(text_width(area), |keys| paint.theme().keys(keys));
    let height = area.height.saturating_sub(2).min(lines.len() as u16 + 2);
    let place = centred(area, text_width(area) as u16 + 4, height);
    let title = format!("redyno {}: help", env!("CARGO_PKG_VERSION"));
    let inner = paint.frame(place, &title);
    let shown = scroll::from(scrolled.into(), lines.len(), inner.height);
    let below = lines.len() - shown.end;
    for (n, (text, ink)) in lines[shown].iter().enumerate() {
        paint.text(padded(row(inner, n as u16)), text, *ink);
    }
    let state = if below > 0 {
        format!(" {below} more lines below, scroll with {} ", paint.theme().keys("↓"))
    } else {
        " ? closes ".to_owned()
    };
    if place.height > 1 {
        let foot = Rect { width: place.width.saturating_sub(2), ..row(place, place.height - 1) };
        paint.right(foot, &state, Ink::Faint);
    }
}

/// How the screen is read, then the key table.
fn help_lines(width: usize, keys: impl Fn(&str) -> String) -> Vec<(String, Ink)> {
    /// Room for the longest keys.
    const KEYS_WIDTH: usize = 13;
    let mut lines = vec![("Reading the screen".to_owned(), Ink::Strong)];
    for text in READING {
        lines.extend(wrapped(text, width).into_iter().map(|line| (line, Ink::Text)));
    }
    for context in Context::all() {
        lines.push((String::new(), Ink::Text));
        lines.push((context.title().to_owned(), Ink::Strong));
        for binding in bindings().filter(|binding| binding.context == context) {
            let texts = wrapped(binding.help, width.saturating_sub(KEYS_WIDTH));
            let keys = wrapped(&keys(binding.written), KEYS_WIDTH - 1);
            for n in 0..texts.len().max(keys.len()) {
                let part = |list: &[String]| list.get(n).cloned().unwrap_or_default();
                lines.push((format!("{:<KEYS_WIDTH$}{}", part(&keys), part(&texts)), Ink::Text));
            }
        }
    }
    lines
}

/// How to read the screen, in a few sentences.
const READING: [&str; 9] = [
    "The charts share one time axis. A young session fills it, a quarter of a second a column; then columns become longer, \
     up to two seconds, and it shows the last minutes (zoomed out, the whole session). A border on it is a change of a \
     knob. A percentile with fewer than ten samples above it is not shown, and none mixes two settings: now is the last \
     second, 60 s the last minute, both since the last border.",
    "The throughput chart has a line for the mean, and around it a band from the slowest quarter of a second to the \
     fastest. Its axis fits the last segment in view, or that of the cursor, and seldom begins at 0; what lies beyond stands at the edge, with a \
     mark and its value. A dashed line is the rate that is due, or the baseline.",
    "The latency chart has a line for each percentile and the maximum, on a logarithmic scale from p50 to most p99.9 of \
     what is shown. What took longer stands at the top, and the longest of it has a mark and its value. The ground \
     behind the lines is the denser the more requests took so long; one alone in its place is drawn too. In an open \
     loop the time counts from when a request was due (response time), on the key v from its writing (service time).",
    "Without load the Overview is about the server. Its commands are everybody's, as INFO commandstats counts them; how long \
     they ran is LATENCY HISTOGRAM's, of the busiest: ≤16 µs is a bucket that ends there, and the true value is more \
     than half of it. The tall chart is that of PING, whose p90 and p99 need some seconds to have enough samples. Each of \
     the server's lanes has its own scale, which stands beside it.",
    "Below the charts stand segments and events; in a frozen view the cursor's line says what stands on it. The lanes of \
     the probes share one logarithmic scale, so that they can be compared by height.",
    "ping is a PING every 10 ms on a connection of its own; kernel is its part between the kernel's stamps of \
     departure and arrival: network and server alone. receive delay is how long the answer then lay unread. wake is how late a thread that sleeps 4 ms is \
     woken, intrinsic the longest gap in a busy loop: both are this machine's own share. srv cpu is the \
     server's main thread, as a share of one core.",
    "If ping rises with the load, the server is busy; if wake rises too, it is this machine.",
    "The mouse selects a knob, shows a screen by its tab, zooms by the wheel and puts the cursor where the charts are \
     clicked; all of it goes by keys too. To select text as usual, hold Shift while you drag.",
    "Yellow needs attention and red is wrong; a percentile is never either, however high it is.",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_names_every_binding() {
        let text: String = help_lines(72, str::to_owned).into_iter().map(|(line, _)| line + "\n").collect();
        for binding in bindings() {
            assert!(text.contains(binding.help.split(' ').next().unwrap()), "{}", binding.help);
        }
        assert!(help_lines(72, str::to_owned).iter().all(|(line, _)| line.chars().count() <= 72));
    }
}
