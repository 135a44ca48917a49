//! Tests that a frozen view shows nothing later than the moment of freezing.

use ratatui::layout::Rect;

use super::{deliver, drawn, lines, press};
use crate::{
    app::{KeyCode, Model, Msg, update},
    knobs::Knobs,
    probe::Ping,
    session::{
        Mark, Record, Span, Timeline, TimelineOptions,
        timeline::{Measure, Reading},
    },
    stats::fixture::repeated,
    tui::{
        fixture::GeneratedSession,
        theme::{Colours, GlyphSet, Theme},
    },
};

const SIZES: [(u16, u16); 3] = [(120, 36), (80, 24), (40, 12)];

/// Returns 30.5 s under load in two segments, with errors and an intrinsic probe. The second segment continues.
fn under_load() -> (GeneratedSession, Model) {
    let knobs = Knobs { load: true, ..Knobs::default() };
    let (mut made, records) = GeneratedSession::new(knobs.clone());
    let mut model = Model::new(knobs.clone(), TimelineOptions::default());
    deliver(&mut model, records);
    (0..40).for_each(|_| deliver(&mut model, made.next_tick()));
    let turned = made.turn(Knobs { clients: 200, ..knobs });
    deliver(&mut model, vec![turned]);
    // After 82 ticks (20.5 s), the end of the session is within a column.
    (0..82).for_each(|_| go_on(&mut model, &mut made));
    (made, model)
}

/// Adds a tick with values of every measurement.
fn go_on(model: &mut Model, made: &mut GeneratedSession) {
    deliver(model, made.next_tick());
    deliver(model, made.errors("OOM", 3, "OOM command not allowed"));
    deliver(model, vec![made.intrinsic()]);
}

/// Returns the screen after this key. The line with the age of the view is left out.
fn shown(model: &mut Model, screen: char, (width, height): (u16, u16)) -> Vec<String> {
    press(model, KeyCode::Char(screen));
    let columns = super::super::plan(Rect::new(0, 0, width, height), model).chart_columns();
    update(model, Msg::Columns(columns));
    let theme = Theme::new(Colours::Ansi16, GlyphSet::Unicode);
    let mut lines = lines(&drawn(model, theme, width, height));
    lines.retain(|line| !line.contains("frozen"));
    lines
}

fn all(model: &mut Model) -> Vec<(char, (u16, u16), Vec<String>)> {
    let places = "12345".chars().flat_map(|screen| SIZES.map(|size| (screen, size)));
    places.map(|(screen, size)| (screen, size, shown(model, screen, size))).collect()
}

fn assert_same(before: &[(char, (u16, u16), Vec<String>)], after: &[(char, (u16, u16), Vec<String>)]) {
    for ((screen, size, before), (_, _, after)) in before.iter().zip(after) {
        let changed = before.iter().zip(after).find(|(before, after)| before != after);
        assert_eq!(changed, None, "screen {screen} at {size:?}");
        assert_eq!(before.len(), after.len());
    }
}

#[test]
fn no_frozen_screen_changes_while_the_measurement_continues() {
    for (zooms, left) in [("", 0), ("", 25), ("----", 3)] {
        let (mut made, mut model) = under_load();
        press(&mut model, KeyCode::Char(' '));
        zooms.chars().for_each(|c| press(&mut model, KeyCode::Char(c)));
        (0..left).for_each(|_| press(&mut model, KeyCode::Left));
        let frozen = all(&mut model);
        (0..70).for_each(|_| go_on(&mut model, &mut made));
        deliver(&mut model, vec![Record::Mark(Mark { t_s: made.now_s(), text: "later".to_owned() })]);
        assert_same(&frozen, &all(&mut model));
        press(&mut model, KeyCode::Char(' '));
        let live = all(&mut model);
        assert!(frozen.iter().zip(&live).all(|(frozen, live)| frozen.2 != live.2), "it was not empty");
    }
}

/// A time after which the history of the first minute is coarser.
const LATER_S: f64 = 99_000.0;

#[test]
fn no_frozen_screen_changes_when_the_older_history_becomes_coarser() {
    let (_, mut model) = under_load();
    press(&mut model, KeyCode::Char(' '));
    press(&mut model, KeyCode::Left);
    let frozen = all(&mut model);
    let ping = Ping { rtt: repeated(90_000_000, 10), ..Ping::default() };
    deliver(&mut model, vec![Record::Ping(Box::new(Span::new(LATER_S, 1.0, ping)))]);
    assert_same(&frozen, &all(&mut model));
}

#[test]
fn a_segment_that_begins_after_freezing_is_not_listed_and_the_last_one_does_not_end() {
    let (mut made, mut model) = under_load();
    press(&mut model, KeyCode::Char(' '));
    let frozen = shown(&mut model, '4', (120, 36));
    let turned = made.turn(Knobs { load: true, clients: 7, ..Knobs::default() });
    deliver(&mut model, vec![turned]);
    (0..40).for_each(|_| go_on(&mut model, &mut made));
    assert_eq!(shown(&mut model, '4', (120, 36)), frozen);
    assert_eq!(model.segments().iter().count(), 2);
    // When the cursor moves beyond the moment of freezing, the view shows everything up to the new moment.
    press(&mut model, KeyCode::Char('1'));
    press(&mut model, KeyCode::End);
    let moved = shown(&mut model, '4', (120, 36));
    assert!(moved.iter().any(|line| line.contains("3 segments")), "{moved:#?}");
    (0..40).for_each(|_| go_on(&mut model, &mut made));
    assert_eq!(shown(&mut model, '4', (120, 36)), moved);
}

/// Returns all figures and tables of a reading, as text.
fn figures(reading: &Reading) -> String {
    let windows = Measure::ALL.map(|measure| {
        let recent = reading.recent(measure);
        (recent.now.clone(), recent.minute.clone())
    });
    let segments: Vec<_> = reading.segments().map(|s| (s.total.clone(), s.ended_s, s.cpu())).collect();
    let lists = (reading.ping_windows().collect::<Vec<_>>(), reading.events().count(), reading.status());
    let rest = (reading.ops_per_s(), reading.ops_per_s_minute(), reading.ping_tcp(), reading.intrinsic_run());
    let counts = (reading.pings_now(), reading.pings_minute(), reading.commands_minute(), reading.errors());
    format!("{windows:?} {segments:?} {lists:?} {rest:?} {counts:?}")
}

fn push_more(timeline: &mut Timeline, made: &mut GeneratedSession) {
    let records = made.next_tick().into_iter().chain(made.errors("OOM", 2, "OOM no memory"));
    records.chain([made.intrinsic()]).for_each(|record| timeline.push(&record));
}

#[test]
fn a_kept_state_does_not_change_in_any_digit_while_the_session_continues() {
    let knobs = Knobs { load: true, ..Knobs::default() };
    let (mut made, records) = GeneratedSession::new(knobs.clone());
    let mut timeline = Timeline::default();
    records.iter().for_each(|record: &Record| timeline.push(record));
    (0..90).for_each(|_| push_more(&mut timeline, &mut made));
    let (held, latest) = (timeline.clone(), figures(&timeline.latest()));
    assert_eq!(figures(&held.at(f64::INFINITY)), latest);
    (0..50).for_each(|_| push_more(&mut timeline, &mut made));
    timeline.push(&made.turn(Knobs { clients: 7, ..knobs }));
    push_more(&mut timeline, &mut made);
    assert_eq!(figures(&held.at(held.now_s)), latest);
    assert_ne!(figures(&timeline.latest()), latest);
    // At an earlier moment of the segment, the reading still has the sums of the whole segment up to the moment of
    // freezing.
    let earlier = held.at(5.0);
    assert_eq!(earlier.segment().map(|s| s.total.ops), held.segments.current().map(|s| s.total.ops));
    assert_eq!((earlier.now_s(), earlier.known_s()), (5.0, held.now_s));
}
