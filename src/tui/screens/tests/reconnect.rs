//! Tests of the screens with a load that reconnects.

use super::*;
use crate::{
    app::Screen,
    knobs::{Backlog, Knob},
    session::Opening,
    stats::fixture::repeated,
};

fn reconnecting() -> Model {
    let knobs = Knobs { load: true, reconnect: Some(25), ..Knobs::default() };
    let (mut made, records) = GeneratedSession::new(knobs.clone());
    let mut model = Model::new(knobs, TimelineOptions::default());
    deliver(&mut model, records);
    for _ in 0..40 {
        let mut records = made.next_tick();
        for record in &mut records {
            if let Record::Interval(interval) = record {
                let (connect, greeting) = (repeated(45_000, 300), repeated(90_000, 300));
                interval.opening = Opening { connect, greeting, ..Opening::default() };
            }
        }
        deliver(&mut model, records);
    }
    model
}

#[test]
fn the_time_to_open_connections_is_shown_with_the_load() {
    let mut model = reconnecting();
    for (width, height) in [(120, 36), (200, 60)] {
        let theme = Theme::new(THEMES[0].1, THEMES[0].2);
        let overview = lines(&drawn(&model, theme, width, height)).join("\n");
        for expected in
            ["  reconnect       25", " reconnect 25 ", "1.20 k/s", "connect   45.0 µs", "greeting  90.0 µs"]
        {
            assert!(overview.contains(expected), "{expected}: {overview}");
        }
        assert!(!overview.contains("handshake"), "{overview}");
    }
    model.screen = Screen::Latency;
    let theme = Theme::new(THEMES[0].1, THEMES[0].2);
    let latency = lines(&drawn(&model, theme, 120, 36)).join("\n");
    assert!(latency.contains("connect") && latency.contains("greeting"), "{latency}");
}

/// Tests that each setting that changes the load is on the Overview, even if there are many settings and the screen is
/// small.
#[test]
fn settings_that_differ_from_their_defaults_are_shown_with_the_knobs() {
    let mut knobs = Knobs { load: true, ..Knobs::default() };
    for text in ["rhythm spread", "reconnect 1000", "think 5ms..50ms", "session-length 10s..60s"] {
        let (setting, value) = Knob::in_query(text).unwrap();
        knobs = setting.typed(&knobs, value).unwrap();
    }
    let shown = |knobs: &Knobs, (width, height)| {
        let (mut made, records) = GeneratedSession::new(knobs.clone());
        let mut model = Model::new(knobs.clone(), TimelineOptions::default());
        deliver(&mut model, records);
        deliver(&mut model, made.next_tick());
        text_of(&drawn(&model, Theme::new(Colours::Mono, GlyphSet::Ascii), width, height))
    };
    for size in [(80, 24), (120, 36), (200, 60)] {
        let text = shown(&knobs, size);
        for setting in ["rhythm", "spread", "reconnect", "1000", "5ms..50ms", "session-", "10s..60s"] {
            assert!(text.contains(setting), "{setting} at {size:?}:\n{text}");
        }
        let usual = shown(&Knobs { load: true, ..Knobs::default() }, size);
        assert!(!usual.contains("rhythm") && !usual.contains("think"), "{size:?}:\n{usual}");
        let open = Knobs { rate: Some(1000), think: None, backlog: Backlog::Shed, ..knobs.clone() };
        assert!(shown(&open, size).contains("backlog"), "{size:?}:\n{}", shown(&open, size));
    }
}
