//! Tests of a frozen view: its moments, the text at the cursor, and that the view does not change.

use super::{super::plan, *};

/// Interesting moments of the recording, and the text at the cursor for each.
const FINDS: [(&str, f64, &[&str]); 7] = [
    ("stall", 23.5, &["stall: a request took 1.0", "← DEBUG sleep 1.00 s from 127.0.0.1"]),
    ("slow", 63.01, &["slowlog: 38.1 ms EVAL", "EVAL 38.1 ms from 127.0.0.1"]),
    (
        "fork",
        31.0,
        &["fork: a fork paused the server for 570 µs", "near: a fork paused the server for 570 µs"],
    ),
    ("knob", 11.997, &["segment 2 begins: clients 100"]),
    ("turned", 43.0, &["segment 3: pipeline 16"]),
    ("outage", 25.75, &["load lost: 200 of 200"]),
    ("mark", 36.01, &["mark: noisy neighbour"]),
];
/// A moment with a long latency. The slow log reports the command after the interval with this latency.
const LONGEST: (&str, f64, &[&str]) = ("slow", 62.5, &["← EVAL 38.1 ms from 127.0.0.1"]);

/// Returns a session with an outage, which the recording does not contain.
fn with_outage() -> Model {
    let mut model = Model::new(Knobs::default(), TimelineOptions::default());
    deliver(&mut model, fixture::outage());
    model
}

/// Returns the session in which the moment `find` is.
fn session_with(find: &str) -> Model {
    if find == "outage" { with_outage() } else { model() }
}

/// Gives the model a screen of this size, and puts the cursor on the column of the moment `t_s`.
fn freeze_at(model: &mut Model, t_s: f64, (width, height): (u16, u16)) {
    // A frozen view may have another number of columns, so the second round has the columns that are drawn.
    for _ in 0..2 {
        let columns = plan(Rect::new(0, 0, width, height), model).chart_columns();
        update(model, Msg::Columns(columns));
        let axis = model.axis(columns);
        let column = axis.column_ending(t_s).unwrap();
        model.put_cursor(axis.start_s(column));
    }
}

#[test]
fn the_overview_matches_its_snapshots_at_each_interesting_moment() {
    for (find, t_s, _) in FINDS {
        let (name, mut model) = (format!("overview_{find}"), session_with(find));
        freeze_at(&mut model, t_s, (120, 36));
        // One snapshot of the cursor's colours is enough.
        if find == "stall" {
            snapshot_of_looks(&name, &model);
            freeze_at(&mut model, t_s, (80, 24));
            snapshot(&name, &model, (80, 24));
        } else {
            snapshot(&name, &model, (120, 36));
        }
    }
}

#[test]
fn the_text_at_the_cursor_names_the_event_there() {
    for (find, t_s, words) in FINDS.into_iter().chain([LONGEST]) {
        let mut model = session_with(find);
        for (width, height) in [(200, 60), (120, 36), (80, 24), (60, 15)] {
            freeze_at(&mut model, t_s, (width, height));
            let theme = Theme::new(Colours::Ansi16, GlyphSet::Unicode);
            let rows = lines(&drawn(&model, theme, width, height));
            let foot = rows[rows.len() - 3..].join("\n");
            let is_shown =
                |word: &&&str| foot.contains(&word.chars().take(usize::from(width) / 3).collect::<String>());
            let count = words.iter().filter(is_shown).count();
            // If not both words fit, at least one of them is shown.
            let least = if width >= 120 { words.len() } else { 1 };
            assert!(count >= least, "{find} at {width}x{height}:\n{foot}");
        }
    }
}

#[test]
fn the_server_screen_shows_the_moment_under_the_cursor() {
    let theme = Theme::new(Colours::Mono, GlyphSet::Ascii);
    let mut model = model();
    press(&mut model, KeyCode::Char('3'));
    let text = |model: &Model| lines(&drawn(model, theme, 120, 36)).join("\n");
    assert!(text(&model).contains("EVAL ") && text(&model).contains(" 102 "), "{}", text(&model));
    press(&mut model, KeyCode::Char(' '));
    press(&mut model, KeyCode::Home);
    (0..5).for_each(|_| press(&mut model, KeyCode::Right));
    // At that moment, the slow log had no entry and the load was off. In a frozen view, parameters cannot be changed.
    let past = text(&model);
    assert!(!past.contains("EVAL ") && past.contains(" 52 ") && !past.contains("> maxmemory "), "{past}");
}

#[test]
fn a_frozen_view_does_not_change_while_the_measurement_continues() {
    let knobs = Knobs { load: true, ..Knobs::default() };
    let (mut made, records) = GeneratedSession::new(knobs.clone());
    let mut model = Model::new(knobs, TimelineOptions::default());
    deliver(&mut model, records);
    (0..20).for_each(|_| deliver(&mut model, made.next_tick()));
    press(&mut model, KeyCode::Char(' '));
    let area = Rect::new(0, 0, 120, 36);
    let columns = layout::plan(area, Subject::Load, None).columns;
    let charts = |model: &Model| -> Vec<String> {
        let theme = Theme::new(Colours::Ansi16, GlyphSet::Unicode);
        let plot = |line: String| {
            line.chars().skip(columns.gutter.into()).take(columns.plot.into()).collect::<String>()
        };
        // Only the two lines on top and the row of the last event may change.
        lines(&drawn(model, theme, 120, 36)).into_iter().skip(2).take(30).map(plot).collect()
    };
    let frozen = charts(&model);
    (0..40).for_each(|_| deliver(&mut model, made.next_tick()));
    assert_eq!(charts(&model), frozen);
    press(&mut model, KeyCode::Char(' '));
    assert_ne!(charts(&model), frozen);
}
