//! Tests of the Overview without load, which shows the server.

use super::*;
use crate::{
    app::Screen,
    server::{Estimate, KeyAmount, KeyReport, PrefixEstimate, Status},
};

fn monitor(width: u16, height: u16) -> Model {
    let mut model = Model::new(Knobs::default(), TimelineOptions::default());
    deliver(&mut model, fixture::monitored());
    let columns = super::super::plan(Rect::new(0, 0, width, height), &model).chart_columns();
    update(&mut model, Msg::Columns(columns));
    model
}

#[test]
fn without_load_the_overview_shows_the_server_at_every_size() {
    for size in [(200, 60), (80, 24), (40, 12)] {
        snapshot("monitor", &monitor(size.0, size.1), size);
    }
    snapshot_of_looks("monitor", &monitor(120, 36));
}

#[test]
fn without_load_the_latency_screen_shows_ping_and_the_commands_of_all_clients() {
    let mut model = monitor(120, 36);
    model.screen = Screen::Latency;
    snapshot("monitor_latency", &model, (120, 36));
}

#[test]
fn a_server_without_figures_of_its_own_has_no_empty_panels() {
    let mut model = Model::new(Knobs::default(), TimelineOptions::default());
    let records = fixture::monitored().into_iter().map(|record| match record {
        Record::Session(mut session) => {
            session.target.server = "http 1.1".to_owned();
            Record::Session(session)
        }
        Record::Server(mut moment) => {
            moment.body = Status { name: "http".to_owned(), poll_s: Some(1.0), ..Status::default() };
            Record::Server(moment)
        }
        record => record,
    });
    deliver(&mut model, records.collect());
    for (width, height) in [(120, 36), (80, 24)] {
        let mut text = |screen| {
            model.screen = screen;
            let columns = super::super::plan(Rect::new(0, 0, width, height), &model).chart_columns();
            update(&mut model, Msg::Columns(columns));
            let theme = Theme::new(Colours::Ansi16, GlyphSet::Unicode);
            super::lines(&drawn(&model, theme, width, height)).join("\n")
        };
        let overview = text(Screen::Overview);
        let is_empty =
            |line: &str| [" in ", " mem ", " hits ", " cpu "].iter().any(|name| line.starts_with(name));
        assert!(!overview.lines().any(is_empty) && !overview.contains("\u{2500} clients"), "{overview}");
        assert!(overview.lines().any(|line| line.starts_with(" ping ")), "{overview}");
        assert_eq!(
            overview.matches("server  HTTP has no figures of the server itself").count(),
            1,
            "{overview}"
        );
        let latency = text(Screen::Latency);
        assert!(!latency.contains("\u{2500} commands"), "{latency}");
        let server = text(Screen::Server);
        assert_eq!(server.matches("HTTP has no figures of the server").count(), 2, "{server}");
    }
}

#[test]
fn few_rows_are_empty_and_no_chart_reports_that_there_is_no_load() {
    let theme = Theme::new(Colours::Ansi16, GlyphSet::Unicode);
    for (width, height) in [(120, 36), (80, 24)] {
        let model = monitor(width, height);
        let buffer = drawn(&model, theme, width, height);
        let plan = super::super::plan(buffer.area, &model);
        // A row with only the line of an axis or an event counts as empty.
        let lines = [theme.glyphs().vertical, theme.glyphs().tick, theme.glyphs().event_line, ' '];
        let is_blank = |x: u16, y: u16| {
            let cell = &buffer[(x, y)];
            cell.symbol().starts_with(lines) && cell.bg == Cell::EMPTY.bg
        };
        let empty: Vec<_> = (0..height).filter(|y| (0..plan.panel.x).all(|x| is_blank(x, *y))).collect();
        assert!(empty.len() <= 4, "{width}x{height}: {empty:?}");
        let text = super::lines(&buffer).join("\n");
        assert!(!text.contains("no load") && !text.contains("no replies"), "{text}");
        assert!(
            text.contains("p99 and max over 12 s") && text.contains("get") && text.contains("≤4 µs"),
            "{text}"
        );
    }
}

#[test]
fn the_view_of_the_keys_shows_its_cost_its_error_and_the_largest_keys() {
    let key = |key: &str, amount| KeyAmount { key: key.to_owned(), amount, kind: None };
    let estimate = |value, error| Estimate { value, error };
    let prefix = |prefix: &str, keys, memory, without_ttl| PrefixEstimate {
        prefix: prefix.to_owned(),
        keys,
        memory,
        without_ttl,
    };
    let seen = KeyReport {
        keys: 1_000_000,
        sampled: 14_500,
        took_s: 15.0,
        cost: 0.019,
        prefixes: vec![
            prefix("session:", estimate(603e3, 7920.0), estimate(6e7, 8e5), 0.92),
            prefix("", estimate(12.0, 0.0), estimate(4096.0, 0.0), 1.0),
        ],
        largest: (0..10).map(|n| key(&format!("cart:{n}"), 5 << 20)).collect(),
        hottest: (0..10).map(|n| key(&format!("user:{n}"), 255)).collect(),
        ..KeyReport::default()
    };
    for (width, height) in [(120, 36), (80, 24)] {
        let mut model = monitor(width, height);
        press(&mut model, KeyCode::Char('d'));
        let theme = Theme::new(Colours::Ansi16, GlyphSet::Unicode);
        let words = |model: &Model| {
            let lines =
                lines(&drawn(model, theme, width, height)).join(" ").replace(theme.glyphs().vertical, " ");
            lines.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let offer = words(&model);
        assert!(offer.contains("at most 2 % of the main") && offer.contains("HOTKEYS"), "{offer}");
        let seen = Notice::Keys(Box::new(seen.clone()));
        update(&mut model, Msg::Delivery(Delivery::Notice(0, seen)));
        let shown = words(&model);
        for text in
            ["14.5 k of 1.00 M keys", "1.9 %", "603 k ±7.92 k", "57.2 MiB ±781 KiB", "92 %", "(others)"]
        {
            assert!(shown.contains(text), "{width}x{height} lacks {text}: {shown}");
        }
        assert!(shown.contains("cart:2") && shown.contains("user:2"), "{width}x{height}: {shown}");
    }
}
