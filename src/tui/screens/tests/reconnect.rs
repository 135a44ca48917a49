//! Tests of a load that reconnects.

use super::*;
use crate::{app::Screen, session::Opening, stats::fixture::repeated};

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
        assert_eq!(overview.matches("reconnect 25").count(), 2, "in the header and the panel: {overview}");
        for expected in ["1.20 k/s", "connect   45.0 µs", "greeting  90.0 µs"] {
            assert!(overview.contains(expected), "{expected}: {overview}");
        }
        assert!(!overview.contains("handshake"), "{overview}");
    }
    model.screen = Screen::Latency;
    let theme = Theme::new(THEMES[0].1, THEMES[0].2);
    let latency = lines(&drawn(&model, theme, 120, 36)).join("\n");
    assert!(latency.contains("connect") && latency.contains("greeting"), "{latency}");
}
