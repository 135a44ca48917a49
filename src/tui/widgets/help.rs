//! The help on the screen. The help first shows the keys of the present screen, the signs, and the lanes (charts of the
//! probes and the server). A guide to the screen, all other keys, and the words of tables and figures follow. If the
//! user types text, the help shows only matching lines.
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
    app::{
        Binding, Context, InputMode, Key, KeyPattern, Model, Purpose, SEGMENT_COLUMNS, TextEntry, Typing,
        action, bindings,
    },
    gauge::{Gauge, GaugeGroup},
    session::figures::{OF_RECEIVERS, SEGMENT},
    tui::{Glyphs, Ink, Paint, from_column, row, theme::Theme, wrapped},
};

/// The width of the column of keys.
const KEYS_WIDTH: usize = 14;

/// The rows of the area that are no lines of the help: one row above and one below the frame, the frame and the search.
const OTHER_ROWS: u16 = 5;

/// Draws the help, scrolled down by this many lines. `entry` is the search.
pub fn draw(paint: &mut Paint, area: Rect, model: &Model, entry: &TextEntry, scrolled: u16) {
    let lines = matching_lines(area, paint.theme, model, entry);
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
        format!(" {below} more, {} scrolls ", paint.theme.keys("↓"))
    } else {
        " Esc closes ".to_owned()
    };
    if place.height > 1 {
        let foot = Rect { width: place.width.saturating_sub(2), ..row(place, place.height - 1) };
        paint.right(foot, &state, Ink::Faint);
    }
}

/// Returns the largest scroll position of the help, in lines. Returns `None` while the help is closed.
pub fn last_scroll(area: Rect, theme: Theme, model: &Model) -> Option<u16> {
    let InputMode::Typing(Typing { purpose: Purpose::Help { .. }, entry }) = &model.mode else { return None };
    let lines = matching_lines(area, theme, model, entry).len() as u16;
    Some(lines.saturating_sub(area.height.saturating_sub(OTHER_ROWS)))
}

/// Returns the lines that match the search `entry`.
fn matching_lines(area: Rect, theme: Theme, model: &Model, entry: &TextEntry) -> Vec<(String, Ink)> {
    let all = sections(model, theme);
    let found: Vec<_> = all.iter().map(|section| section.found(&entry.text())).collect();
    lines(&found, text_width(area))
}

/// A heading, and the items below it.
struct HelpSection {
    title: String,
    items: Vec<HelpItem>,
}

/// A key, a sign or a lane with its meaning. A paragraph of text is an item without a name.
struct HelpItem {
    name: String,
    text: String,
}

impl HelpSection {
    fn of(title: &str, items: impl IntoIterator<Item = (String, String)>) -> Self {
        let items = items.into_iter().map(|(name, text)| HelpItem { name, text }).collect();
        Self { title: title.to_owned(), items }
    }

    /// Returns the section with only the items that contain every word of `query`.
    fn found(&self, query: &str) -> (&str, Vec<&HelpItem>) {
        let holds = |item: &&HelpItem| {
            let text = format!("{} {} {}", self.title, item.name, item.text).to_lowercase();
            query.to_lowercase().split_whitespace().all(|word| text.contains(word))
        };
        (&self.title, self.items.iter().filter(holds).collect())
    }
}

/// Returns all sections. The sections for the present screen are first.
fn sections(model: &Model, theme: Theme) -> Vec<HelpSection> {
    let here: Vec<_> =
        model.contexts_here().into_iter().filter(|context| *context != Context::Main).collect();
    // On some screens, keys of the screen replace keys of a frozen view or a recording.
    let works = |binding: &Binding| {
        let key = |pattern: &KeyPattern| match pattern {
            KeyPattern::Key(code) => Some(Key::plain(*code)),
            KeyPattern::Ctrl(_) | KeyPattern::Character => None,
        };
        let keys =
            binding.actions.iter().flat_map(|of| of.keys.iter().map(move |pattern| (of, key(pattern))));
        let mut first = keys.map(|(of, key)| key.is_none_or(|key| action(&here, key) == Some(*of)));
        !here.contains(&binding.context) || first.any(|is_first| is_first)
    };
    let listed = |title: &str, context: Context, working: bool| {
        let of = bindings().filter(|binding| binding.context == context && works(binding) == working);
        HelpSection::of(title, of.map(|binding| (theme.keys(binding.written), binding.help.to_owned())))
    };
    let keys = |context: Context| listed(context.title(), context, true);
    let elsewhere = |context: &Context| listed(&format!("{context}, on other screens"), *context, false);
    let others = Context::all().filter(|context| !here.contains(context));
    let legend = [
        HelpSection::of("Signs", signs(theme.glyphs()).map(|(sign, text)| (sign, text.to_owned()))),
        HelpSection::of("Lanes", probes::about().map(|(name, text)| (name, text.to_owned()))),
        HelpSection::of(
            "Reading the screen",
            READING.split("\n\n").map(|text| (String::new(), text.trim_end().replace('\n', " "))),
        ),
    ];
    let replaced = here.iter().map(elsewhere);
    let first = here.iter().copied().map(keys).chain(legend);
    first.chain(replaced).chain(others.map(keys)).chain(tables()).collect()
}

/// Returns the sections about the short words of the screens: words of lines, of tables, and of the server's figures.
fn tables() -> [HelpSection; 3] {
    let words = |(name, text): (&str, &str)| (name.to_owned(), text.to_owned());
    let columns = [SEGMENT].into_iter().chain(SEGMENT_COLUMNS).chain(OF_RECEIVERS);
    let columns = columns.map(|figure| (figure.heading, figure.about.trim()));
    let gauges = GaugeGroup::OF_SERVER.into_iter().flat_map(GaugeGroup::gauges).map(Gauge::about);
    let gauges = gauges.map(|about| (about.label, about.help)).filter(|(label, _)| !label.is_empty());
    [
        HelpSection::of("Words", WORDS.map(words)),
        HelpSection::of("Columns", columns.map(words)),
        HelpSection::of("Figures of the server", gauges.map(words)),
    ]
}

/// Short words of the screens, with their meanings.
const WORDS: [(&str, &str); 9] = [
    (
        "50×1 +2",
        "In lists of segments: 50 clients, each with a pipeline of 1. Two more settings differ from the defaults.",
    ),
    (
        "clients 9 +1",
        "In lists of segments: the number of clients was changed to 9, and one more setting was changed.",
    ),
    ("seg.", "Segment: a period in which no knob and no server parameter changed. 'seg 2' is segment 2."),
    ("now, then", "The figures of the last second. In a frozen view: the figures at the cursor."),
    ("due", "The requested rate, in requests per second."),
    ("shed", "In an open loop: requests that redyno dropped, because they were too late."),
    ("base 2", "Segment 2 is the baseline."),
    ("n, until", "In the list of PINGs: n PINGs were sent in the period that ends at this time."),
    ("aof", "The append-only file of the server."),
];

/// Returns each sign as it is drawn, with its meaning.
fn signs(glyphs: &Glyphs) -> impl Iterator<Item = (String, &'static str)> {
    let Glyphs { border, above, below, few, slow, fork, eviction, lost, back, event, mark, .. } = *glyphs;
    let of_time = [
        (border, "A segment begins: a knob or a server parameter was changed."),
        (slow, "A stall, or an entry of the slow log."),
        (fork, "The server forked."),
        (eviction, "The server evicts keys."),
        (lost, "redyno lost the server, or a connection to the server."),
        (back, "The server or a connection is back. In the Log also: a finding has ended."),
        (event, "Another event; the Log lists all events."),
        (mark, "Your mark."),
    ];
    let of_charts = [
        (above, "In a chart: a value above the top."),
        (below, "In a chart: a value below the bottom."),
        (glyphs.outage, "The load had no connection, so there is no measurement."),
        (glyphs.target_line, "The requested rate."),
        (glyphs.best, "On the Curve: the point with the most throughput."),
        (glyphs.best_held, "On the Curve: the point with the most throughput within the limit."),
        (few, "Too few samples for this percentile."),
        (glyphs.cursor_line, "The cursor, in a frozen view or a recording."),
    ];
    let signs = of_time.into_iter().chain(of_charts).map(|(sign, text)| (sign.to_string(), text));
    let none = (NONE.to_owned(), "The figure was not measured, or the server did not report it.");
    let lines = glyphs.lines.iter().map(char::to_string).collect::<Vec<_>>().join(" ");
    signs.chain([
        none,
        (lines, "On a screen without colours: the lines of p50, p90, p99, p99.9 and the maximum."),
    ])
}

/// Returns the sections as lines of at most `width` columns, with a blank line between two sections.
fn lines(sections: &[(&str, Vec<&HelpItem>)], width: usize) -> Vec<(String, Ink)> {
    let mut lines: Vec<(String, Ink)> = Vec::new();
    for (title, items) in sections.iter().filter(|(_, items)| !items.is_empty()) {
        if !lines.is_empty() {
            lines.push((String::new(), Ink::Text));
        }
        lines.push(((*title).to_owned(), Ink::Strong));
        for HelpItem { name, text } in items {
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

/// A short guide to reading the screen.
const READING: &str = include_str!("reading.txt");

#[cfg(test)]
mod tests {

    use super::*;
    use crate::{
        app::{Playback, Screen},
        knobs::Knobs,
        session::TimelineOptions,
        tui::theme::{Colours, GlyphSet, Theme},
    };

    fn text(screen: Screen, query: &str) -> String {
        let mut model = Model::new(Knobs::default(), TimelineOptions::default());
        model.screen = screen;
        text_of(&model, query)
    }

    fn text_of(model: &Model, query: &str) -> String {
        let theme = Theme::new(Colours::Mono, GlyphSet::Unicode);
        let lines = matching_lines(Rect::new(0, 0, 76, 24), theme, model, &TextEntry::sentence(query));
        assert!(lines.iter().all(|(line, _)| line.chars().count() <= 72), "{lines:?}");
        lines.into_iter().map(|(line, _)| line + "\n").collect()
    }

    /// Returns text as one line. The text comes from the column next to the names, or from whole lines.
    fn flowing(text: &str, indent: usize) -> String {
        let lines = text.lines().map(|line| line.chars().skip(indent).collect::<String>());
        lines.collect::<Vec<_>>().join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_help_contains_the_full_text_of_every_binding_sign_and_lane() {
        let text = text(Screen::Segments, "");
        let (beside, whole) = (flowing(&text, KEYS_WIDTH), flowing(&text, 0));
        let theme = Theme::new(Colours::Mono, GlyphSet::Unicode);
        let keys = bindings().map(|binding| (theme.keys(binding.written), binding.help));
        let lanes = probes::about();
        let items =
            keys.chain(signs(theme.glyphs())).chain(lanes).map(|(name, help)| (name, help.to_owned()));
        let tables = tables().into_iter().flat_map(|section| section.items);
        let items: Vec<_> = items.chain(tables.map(|item| (item.name, item.text))).collect();
        for (name, help) in &items {
            let alike = items.iter().filter(|(_, other)| other.contains(help.as_str())).count();
            assert_eq!(beside.matches(help.as_str()).count(), alike, "{name}: {help}");
            let first = |text: &str, width| wrapped(text, width).swap_remove(0);
            let line =
                format!("{:<KEYS_WIDTH$}{}", first(name, KEYS_WIDTH - 1), first(help, 72 - KEYS_WIDTH));
            assert!(text.lines().any(|shown| shown == line), "no '{line}' in {text}");
        }
        assert!(READING.split("\n\n").all(|text| whole.contains(&flowing(text, 0))), "{whole}");
    }

    #[test]
    fn the_keys_of_the_present_screen_come_first() {
        let text = text(Screen::Segments, "");
        let at = |words: &str| text.find(words).unwrap_or_else(|| panic!("no '{words}' in {text}"));
        assert!(text.starts_with("Segments\n"), "{text}");
        assert!(
            at("Sort by the next column") < at("\nSigns\n")
                && at("\nLanes\n") < at("Turn the load on or off")
        );
        assert!(at("Turn the load on or off") < at("Select a parameter"));
        assert_eq!(text.matches("Sort by the next column").count(), 1, "each item occurs once");
    }

    #[test]
    fn keys_that_the_present_screen_replaces_are_listed_for_other_screens() {
        let playback = Playback::new("a.jsonl".to_owned());
        let mut model = Model::replaying(playback, TimelineOptions::default());
        let mut title = |screen| {
            model.screen = screen;
            let text = text_of(&model, "cursor by one column");
            text.lines().next().unwrap_or_default().to_owned()
        };
        assert_eq!(title(Screen::Overview), "Frozen or replayed");
        assert_eq!(title(Screen::Log), "Frozen or replayed, on other screens");
    }

    #[test]
    fn a_search_keeps_the_items_that_contain_the_text_and_their_headings() {
        let text = |query| text(Screen::Overview, query);
        let found = text("forked");
        assert!(found.starts_with("Signs\n") && found.contains("  The server forked."), "{found}");
        let found = text("MAKE baseline");
        assert!(found.starts_with("Segments\nb             Make the selected"), "{found}");
        assert_eq!(text("xyzzy"), "");
    }

    #[test]
    fn every_short_word_of_the_screens_is_found() {
        let words =
            ["errs", "kern.", "intr.", "seg.", "recv", "conns", "due", "shed", "resp p99", "base", "aof"];
        for word in words.into_iter().chain(["50×1 +2", "rss", "evict", "srv ops", "last fork", "no"]) {
            let found = text(Screen::Overview, word);
            assert!(found.contains(word), "{word}: {found}");
        }
    }
}
