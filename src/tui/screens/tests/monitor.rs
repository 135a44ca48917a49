//! The Overview without load, which shows the server.

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
    for size in [(200, 60), (80, 24), (40, 12)] {
        snapshot("monitor", &monitor(size.0, size.1), size);
    }
    snapshot_of_looks("monitor", &monitor(120, 36));
}

#[test]
fn its_latencies_are_those_of_ping_and_of_everybodys_commands() {
    let mut model = monitor(120, 36);
    model.screen = Screen::Latency;
    snapshot("monitor_latency", &model, (120, 36));
}

#[test]
fn hardly_a_row_is_empty_and_no_chart_says_that_there_is_no_load() {
    let theme = Theme::new(Colours::Ansi16, GlyphSet::Unicode);
    for (width, height) in [(120, 36), (80, 24)] {
        let model = monitor(width, height);
        let buffer = drawn(&model, theme, width, height);
        let plan = super::super::plan(buffer.area, &model);
        // An axis or an event draws only a line, so its row counts as empty.
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
