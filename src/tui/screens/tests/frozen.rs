//! A frozen view: what each moment shows, what the cursor says of it, and that it stands still.

use super::{super::plan, *};

/// Moments of the recording that a person looks for, and what the cursor calls each.
const FINDS: [(&str, f64, &[&str]); 7] = [
    ("stall", 23.0, &["stall: a request took 1.0", "slowlog: 1.00 s DEBUG sleep"]),
    ("slow", 63.0, &["slowlog: 38.1 ms EVAL"]),
    ("fork", 31.0, &["fork: a fork held the server for 570 µs"]),
    ("knob", 11.1, &["segment 2 begins: clients 100"]),
    ("turned", 45.0, &["segment 3: pipeline 16"]),
    ("outage", 26.0, &["load lost: 200 of 200", "unreachable: connection refused"]),
    ("mark", 36.0, &["mark: noisy neighbour"]),
];

/// The recorded server had none.
fn with_outage() -> Model {
    let mut model = Model::new(Knobs::default(), TimelineOptions::default());
    deliver(&mut model, fixture::outage());
    model
}

fn frozen_at(find: &str, t_s: f64) -> Model {
    let mut model = if find == "outage" { with_outage() } else { model() };
    update(&mut model, Msg::Columns(layout::plan(Rect::new(0, 0, 120, 36), None).chart_columns()));
    press(&mut model, KeyCode::Char(' '));
    let columns = ((model.timeline().now_s() - t_s) / 1.0).floor() as usize;
    (0..columns).for_each(|_| press(&mut model, KeyCode::Left));
    model
}

#[test]
fn the_overview_looks_as_it_did_at_each_find() {
    for (find, t_s, _) in FINDS {
        let mut model = frozen_at(find, t_s);
        for (width, height) in [(200, 60), (120, 36), (80, 24), (40, 12)] {
            let area = Rect::new(0, 0, width, height);
            let columns = plan(area, &model).chart_columns();
            update(&mut model, Msg::Columns(columns));
            for (name, palette, glyphs) in THEMES {
                // Once in each size is enough to see the glyphs.
                if find == "stall" || name == "unicode" {
                    let buffer = drawn(&model, Theme::new(palette, glyphs), width, height);
                    snapshot(&format!("overview_{find}_{width}x{height}_{name}"), &buffer);
                }
            }
        }
    }
}

#[test]
fn the_cursor_names_what_stands_on_it() {
    for (find, t_s, words) in FINDS {
        let mut model = frozen_at(find, t_s);
        for (width, height) in [(200, 60), (120, 36), (80, 24), (60, 15)] {
            let columns = plan(Rect::new(0, 0, width, height), &model).chart_columns();
            update(&mut model, Msg::Columns(columns));
            let theme = Theme::new(Colours::Ansi16, GlyphSet::Unicode);
            let rows = lines(&drawn(&model, theme, width, height));
            let foot = rows[rows.len() - 3..].join("\n");
            // The first of two on one moment, where only one fits.
            let expected = if width >= 120 { words } else { &words[..1] };
            for word in expected {
                let start: String = word.chars().take(usize::from(width) / 3).collect();
                assert!(foot.contains(&start), "{find} at {width}x{height}:\n{foot}");
            }
        }
    }
}

#[test]
fn the_server_screen_shows_the_moment_under_the_cursor() {
    let theme = Theme::new(Colours::Mono, GlyphSet::Ascii);
    let mut model = model();
    press(&mut model, KeyCode::Char('3'));
    let text = |model: &Model| lines(&drawn(model, theme, 120, 36)).join("\n");
    assert!(text(&model).contains("EVAL") && text(&model).contains(" 102 "), "{}", text(&model));
    press(&mut model, KeyCode::Char(' '));
    press(&mut model, KeyCode::Home);
    (0..5).for_each(|_| press(&mut model, KeyCode::Right));
    // The entry was not there yet, the load not on, and a past moment is not to be turned.
    let past = text(&model);
    assert!(!past.contains("EVAL") && past.contains(" 52 ") && !past.contains("> maxmemory "), "{past}");
}

#[test]
fn a_frozen_view_stands_still_while_the_measurement_goes_on() {
    let knobs = Knobs { load: true, ..Knobs::default() };
    let (mut made, records) = MadeUp::new(knobs.clone());
    let mut model = Model::new(knobs, TimelineOptions::default());
    deliver(&mut model, records);
    (0..20).for_each(|_| deliver(&mut model, made.next_tick()));
    press(&mut model, KeyCode::Char(' '));
    let area = Rect::new(0, 0, 120, 36);
    let columns = layout::plan(area, None).columns;
    let charts = |model: &Model| -> Vec<String> {
        let theme = Theme::new(Colours::Ansi16, GlyphSet::Unicode);
        let plot = |line: String| {
            line.chars().skip(columns.gutter.into()).take(columns.plot.into()).collect::<String>()
        };
        // Between the two lines on top and the row of the last event.
        lines(&drawn(model, theme, 120, 36)).into_iter().skip(2).take(30).map(plot).collect()
    };
    let frozen = charts(&model);
    (0..40).for_each(|_| deliver(&mut model, made.next_tick()));
    assert_eq!(charts(&model), frozen);
    press(&mut model, KeyCode::Char(' '));
    assert_ne!(charts(&model), frozen);
}
