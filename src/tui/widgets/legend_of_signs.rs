//! What the signs of charts, lanes and the time axis mean, for the help.

use super::figures::NONE;
use crate::tui::theme::Glyphs;

/// Each sign as it is drawn, and what it says.
pub fn signs(glyphs: &Glyphs) -> impl Iterator<Item = (String, &'static str)> {
    let Glyphs { border, above, below, few, slow, fork, eviction, lost, back, event, mark, .. } = *glyphs;
    let of_time = [
        (border, "A segment begins: a knob was turned, or a parameter of the server set."),
        (slow, "Replies took long: a stall, or an entry of the slow log."),
        (fork, "The server forked."),
        (eviction, "The server evicts keys."),
        (lost, "The server, or connections to it, were lost."),
        (back, "They are back."),
        (event, "Another event; the Log has all of them in words."),
        (mark, "A note of yours."),
    ];
    let of_charts = [
        (above, "In a chart: higher than its top, with the value."),
        (below, "In a chart: lower than its foot."),
        (glyphs.outage, "No connection of the load: nothing is measured here."),
        (glyphs.target_line, "The rate that is asked for."),
        (glyphs.best, "On the Curve: the point with the most throughput."),
        (glyphs.best_held, "On the Curve: the best of those that hold the limit."),
        (few, "Measured, but too few samples for this percentile."),
        (glyphs.cursor_line, "The moment that is shown, in a frozen view or a recording."),
    ];
    let signs = of_time.into_iter().chain(of_charts).map(|(sign, text)| (sign.to_string(), text));
    let none = (NONE.to_owned(), "Nothing measured, or not told.");
    let lines = glyphs.lines.iter().map(char::to_string).collect::<Vec<_>>().join(" ");
    signs.chain([none, (lines, "Without colours: p50, p90, p99, p99.9 and the maximum.")])
}
