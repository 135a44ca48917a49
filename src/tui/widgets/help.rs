//! The help: the keys of this screen, what its signs and lanes mean, how it is read, then all other keys; what was typed
//! keeps what it is found in.
//!
//! ```text
//! ┌─ redyno 0.1.0: help ────────┐
//! │ find: fork▏                 │
//! │ Signs                       │
//! │ ^            The server …   │
//! └──────────── ↑↓ scrolls ─────┘
//! ```

use ratatui::layout::Rect;

use super::{
    dialog::{centred, input, padded, text_width},
    figures::NONE,
    probes,
    table::from,
};
use crate::{
    app::{Binding, Context, Entry, Model, bindings},
    tui::{Glyphs, Ink, Paint, from_column, row, wrapped},
};

/// Room for the longest keys.
const KEYS_WIDTH: usize = 13;

/// Draws it, scrolled down by so many lines; `entry` is what was typed.
pub fn draw(paint: &mut Paint, area: Rect, model: &Model, entry: &Entry, scrolled: u16) {
    let all = sections(model, paint);
    let found: Vec<_> = all.iter().map(|section| section.found(&entry.text())).collect();
    let lines = lines(&found, text_width(area));
    let height = area.height.saturating_sub(2);
    let place = centred(area, text_width(area) as u16 + 4, height);
    let inner = paint.frame(place, &format!("redyno {}: help", env!("CARGO_PKG_VERSION")));
    let line = padded(row(inner, 0));
    let x = paint.text(line, "find: ", Ink::Faint);
    input(paint, from_column(line, x), entry);
    let list = Rect { y: inner.y + 1, height: inner.height.saturating_sub(1), ..inner };
    if lines.is_empty() {
        paint.text(padded(row(list, 0)), "no match", Ink::Warn);
    }
    let shown = from(scrolled.into(), lines.len(), list.height);
    let below = lines.len() - shown.end;
    for (n, (text, ink)) in lines[shown].iter().enumerate() {
        paint.text(padded(row(list, n as u16)), text, *ink);
    }
    let state = if below > 0 {
        format!(" {below} more lines, {} scrolls ", paint.theme().keys("↓"))
    } else {
        " Esc closes ".to_owned()
    };
    if place.height > 1 {
        let foot = Rect { width: place.width.saturating_sub(2), ..row(place, place.height - 1) };
        paint.right(foot, &state, Ink::Faint);
    }
}

/// A heading, and what stands below it.
struct Section {
    title: String,
    items: Vec<Item>,
}

/// A key, a sign or a lane, and what it means; without a name a paragraph.
struct Item {
    name: String,
    text: String,
}

impl Section {
    fn of(title: &str, items: impl IntoIterator<Item = (String, String)>) -> Self {
        let items = items.into_iter().map(|(name, text)| Item { name, text }).collect();
        Self { title: title.to_owned(), items }
    }

    /// The same with those items only that every word of `query` is found in.
    fn found(&self, query: &str) -> (&str, Vec<&Item>) {
        let holds = |item: &&Item| {
            let text = format!("{} {} {}", self.title, item.name, item.text).to_lowercase();
            query.to_lowercase().split_whitespace().all(|word| text.contains(word))
        };
        (&self.title, self.items.iter().filter(holds).collect())
    }
}

/// All of it, what is of use here first.
fn sections(model: &Model, paint: &Paint) -> Vec<Section> {
    let keys = |context: Context| {
        let here = bindings().filter(move |binding| binding.context == context);
        let item = |binding: &Binding| (paint.theme().keys(binding.written), binding.help.to_owned());
        Section::of(context.title(), here.map(item))
    };
    let here: Vec<_> =
        model.contexts_here().into_iter().filter(|context| *context != Context::Main).collect();
    let others = Context::all().filter(|context| !here.contains(context));
    let words = |(name, text): (&str, &str)| (name.to_owned(), text.to_owned());
    let legend = [
        Section::of("Signs", signs(paint.glyphs()).map(|(sign, text)| (sign, text.to_owned()))),
        Section::of("Lanes", probes::about().map(words)),
        Section::of("Reading the screen", READING.map(|text| (String::new(), text.to_owned()))),
    ];
    here.iter().copied().map(keys).chain(legend).chain(others.map(keys)).collect()
}

/// Each sign as it is drawn, and what it says.
fn signs(glyphs: &Glyphs) -> impl Iterator<Item = (String, &'static str)> {
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

/// As lines of so many columns, a blank one between two sections.
fn lines(sections: &[(&str, Vec<&Item>)], width: usize) -> Vec<(String, Ink)> {
    let mut lines: Vec<(String, Ink)> = Vec::new();
    for (title, items) in sections.iter().filter(|(_, items)| !items.is_empty()) {
        if !lines.is_empty() {
            lines.push((String::new(), Ink::Text));
        }
        lines.push(((*title).to_owned(), Ink::Strong));
        for Item { name, text } in items {
            let indent = if name.is_empty() { 0 } else { KEYS_WIDTH };
            let texts = wrapped(text, width.saturating_sub(indent));
            let names = if name.is_empty() { Vec::new() } else { wrapped(name, KEYS_WIDTH - 1) };
            for n in 0..texts.len().max(names.len()) {
                let part = |list: &[String]| list.get(n).cloned().unwrap_or_default();
                lines.push((format!("{:<indent$}{}", part(&names), part(&texts)), Ink::Text));
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
    "Without load the Overview is about the server. Its commands are everybody's, as it counts them itself; how long \
     they ran is as it tells of the busiest: ≤16 µs is a bucket that ends there, and the true value is more \
     than half of it. The tall chart is that of the pings, whose p90 and p99 need some seconds to have enough samples. Each of \
     the server's lanes has its own scale, which stands beside it.",
    "Below the charts stand segments and events; in a frozen view the cursor's line says what stands on it, and what made \
     the longest request so long: ← is its cause, near is what happened within two seconds of it and was too short for it. \
     The lanes of the probes share one logarithmic scale, so that they can be compared by height.",
    "The Curve has a point for each value of a knob, of all that was measured there under one setting; a hollow point means that \
     redyno itself was the limit. The knee and the dashed line are a model's, the universal scalability law; they are drawn where \
     five values or more show it. A search draws the rates between which it looks, an A/B a line for each pair: its difference \
     hollow, and the interval so far.",
    "If ping rises with the load, the server is busy; if wake rises too, it is this machine.",
    "The mouse selects a knob, shows a screen by its tab, zooms by the wheel and puts the cursor where the charts are \
     clicked; all of it goes by keys too. To select text as usual, hold Shift while you drag.",
    "Yellow needs attention and red is wrong; a percentile is never either, however high it is.",
];

#[cfg(test)]
mod tests {
    use ratatui::buffer::Buffer;

    use super::*;
    use crate::{
        app::Screen,
        knobs::Knobs,
        session::TimelineOptions,
        tui::theme::{Colours, GlyphSet, Theme},
    };

    fn text(screen: Screen, query: &str) -> String {
        let mut model = Model::new(Knobs::default(), TimelineOptions::default());
        model.screen = screen;
        let mut buffer = Buffer::empty(Rect::default());
        let paint = Paint::new(&mut buffer, Theme::new(Colours::Mono, GlyphSet::Unicode));
        let all = sections(&model, &paint);
        let found: Vec<_> = all.iter().map(|section| section.found(query)).collect();
        let lines = lines(&found, 72);
        assert!(lines.iter().all(|(line, _)| line.chars().count() <= 72), "{lines:?}");
        lines.into_iter().map(|(line, _)| line + "\n").collect()
    }

    /// The words of the column beside the names, or of whole lines, as one line.
    fn flowing(text: &str, indent: usize) -> String {
        let lines = text.lines().map(|line| line.chars().skip(indent).collect::<String>());
        lines.collect::<Vec<_>>().join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn it_has_every_binding_sign_and_lane_with_all_of_its_words() {
        let text = text(Screen::Segments, "");
        let (beside, whole) = (flowing(&text, KEYS_WIDTH), flowing(&text, 0));
        let theme = Theme::new(Colours::Mono, GlyphSet::Unicode);
        let keys = bindings().map(|binding| (theme.keys(binding.written), binding.help));
        let lanes = probes::about().map(|(name, about)| (name.to_owned(), about));
        let items: Vec<_> = keys.chain(signs(theme.glyphs())).chain(lanes).collect();
        for (name, help) in &items {
            let alike = items.iter().filter(|(_, other)| other.contains(help)).count();
            assert_eq!(beside.matches(help).count(), alike, "{name}: {help}");
            let first = |text: &str, width| wrapped(text, width).swap_remove(0);
            let line =
                format!("{:<KEYS_WIDTH$}{}", first(name, KEYS_WIDTH - 1), first(help, 72 - KEYS_WIDTH));
            assert!(text.lines().any(|shown| shown == line), "no '{line}' in {text}");
        }
        assert!(READING.iter().all(|paragraph| whole.contains(paragraph)), "{whole}");
    }

    #[test]
    fn what_this_screen_obeys_comes_first() {
        let text = text(Screen::Segments, "");
        let at = |words: &str| text.find(words).unwrap_or_else(|| panic!("no '{words}' in {text}"));
        assert!(text.starts_with("Segments\n"), "{text}");
        assert!(
            at("Sort by the next column") < at("\nSigns\n")
                && at("\nLanes\n") < at("Turn the load on or off")
        );
        assert!(at("Turn the load on or off") < at("Select a parameter"));
        assert_eq!(text.matches("Sort by the next column").count(), 1, "each stands there once");
    }

    #[test]
    fn what_is_typed_keeps_what_it_is_found_in_with_its_heading() {
        let text = |query| text(Screen::Overview, query);
        let found = text("forked");
        assert!(found.starts_with("Signs\n") && found.contains("  The server forked."), "{found}");
        let found = text("COMPARE others");
        assert!(found.starts_with("Segments\nb            Compare all others"), "{found}");
        assert_eq!(text("xyzzy"), "");
    }
}
