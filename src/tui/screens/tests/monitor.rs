//! The Overview without load: it is the server's.

use super::*;
use crate::app::Screen;

fn monitor(width: u16, height: u16) -> Model {
    let mut model = Model::new(Knobs::default(), TimelineOptions::default());
    deliver(&mut model, fixture::monitored());
    let columns = super::super::plan(Rect::new(0, 0, width, height), &model).chart_columns();
    update(&mut model, Msg::Columns(columns));
    model
}

#[test]
fn it_is_full_of_the_server_at_every_size() {
    for (width, height) in [(200, 60), (120, 36), (80, 24), (40, 12)] {
        let model = monitor(width, height);
        for (name, palette, glyphs) in THEMES {
            let buffer = drawn(&model, Theme::new(palette, glyphs), width, height);
            snapshot(&format!("monitor_{width}x{height}_{name}"), &buffer);
        }
    }
}

#[test]
fn its_latencies_are_those_of_ping_and_of_everybodys_commands() {
    for (width, height) in [(200, 60), (120, 36), (80, 24), (40, 12)] {
        let mut model = monitor(width, height);
        model.screen = Screen::Latency;
        let buffer = drawn(&model, Theme::new(Colours::Ansi16, GlyphSet::Unicode), width, height);
        snapshot(&format!("monitor_latency_{width}x{height}"), &buffer);
    }
}

#[test]
fn hardly_a_row_is_empty_and_no_chart_says_that_there_is_no_load() {
    let theme = Theme::new(Colours::Ansi16, GlyphSet::Unicode);
    for (width, height) in [(120, 36), (80, 24)] {
        let model = monitor(width, height);
        let buffer = drawn(&model, theme, width, height);
        let plan = super::super::plan(buffer.area, &model);
        // The line of an axis fills no row, nor does that of an event.
        let lines = [theme.glyphs().vertical, theme.glyphs().tick, theme.glyphs().event_line, ' '];
        let is_blank = |x: u16, y: u16| {
            let cell = &buffer[(x, y)];
            cell.symbol().starts_with(lines) && cell.bg == Cell::EMPTY.bg
        };
        let empty: Vec<_> = (0..height).filter(|y| (0..plan.panel.x).all(|x| is_blank(x, *y))).collect();
        assert!(empty.len() <= 4, "{width}x{height}: {empty:?}");
        let text = super::lines(&buffer).join("\n");
        assert!(!text.contains("no load") && !text.contains("no replies"), "{text}");
        assert!(text.contains("p99 over 12 s") && text.contains("get") && text.contains("≤4 µs"), "{text}");
    }
}
