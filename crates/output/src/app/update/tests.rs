//! Tests of the effects of keys and records on the screen's state.

use std::sync::Arc;

use super::*;
use crate::{
    app::{LoadState, Notice, Playback, Screen, TextEntry},
    events::EventKind,
    gauge::Gauge,
    session::{Event, TimelineOptions},
};

fn model() -> Model {
    Model::new(Knobs::default(), TimelineOptions::default())
}

/// Presses the keys of these characters. A line break is Enter, a vertical tab is the arrow key down, and
/// `<`, `>` and `^` are the other arrow keys.
pub(in crate::app) fn press(model: &mut Model, keys: &str) -> Vec<Effect> {
    let code = |c| match c {
        '\n' => KeyCode::Enter,
        '\x1b' => KeyCode::Esc,
        '\x08' => KeyCode::Backspace,
        '\x0b' => KeyCode::Down,
        '^' => KeyCode::Up,
        '<' => KeyCode::Left,
        '>' => KeyCode::Right,
        c => KeyCode::Char(c),
    };
    keys.chars().flat_map(|c| update(model, Msg::Key(Key::plain(code(c))))).collect()
}

fn deliver(model: &mut Model, notice: Notice) {
    update(model, Msg::Delivery(Delivery::Notice(0, notice)));
}

fn segment(model: &mut Model, t_s: f64, knobs: Knobs) {
    let record = Record::Segment(Segment::new(t_s, 1, knobs));
    update(model, Msg::Delivery(Delivery::Record(Arc::new(record))));
}

#[test]
fn a_changed_knob_is_sent_at_once_and_undone() {
    let mut model = model();
    let knobs = Knobs::default();
    assert_eq!(
        press(&mut model, ">"),
        [Effect::Order(Order::SetKnobs(Knobs { clients: 100, ..knobs.clone() }))]
    );
    assert_eq!(press(&mut model, "u"), [Effect::Order(Order::SetKnobs(knobs))]);
    assert_eq!(press(&mut model, "u"), []);
    assert_eq!(model.message().unwrap().text, "no change to undo");
}

#[test]
fn a_typed_number_is_accepted_cancelled_or_refused() {
    let mut model = model();
    assert_eq!(press(&mut model, "\n250"), []);
    assert_eq!(model.contexts()[0], Context::Typing);
    assert_eq!(
        press(&mut model, "\n"),
        [Effect::Order(Order::SetKnobs(Knobs { clients: 250, ..Knobs::default() }))]
    );
    assert_eq!(press(&mut model, "\n99\x1b"), []);
    assert_eq!(model.panel.wanted.clients, 250);
    assert_eq!(press(&mut model, "\n20k\n"), []);
    assert_eq!(model.message().unwrap().text, "clients must be between 1 and 18000, not 20000");
    assert_eq!(press(&mut model, "jj\n5k\n").len(), 1);
    assert_eq!(model.panel.wanted.rate, Some(5000));
}

#[test]
fn the_caret_moves_in_the_typed_text_and_pasted_text_triggers_no_keys() {
    let mut model = model();
    let paste = |model: &mut Model, text: &str| update(model, Msg::Paste(text.to_owned()));
    assert_eq!(paste(&mut model, "ql\n"), [], "not on the screen");
    assert!(model.message().unwrap().text.starts_with("redyno ignored the pasted text"));
    press(&mut model, "\n25<");
    paste(&mut model, "00\n");
    assert_eq!(model.entry(Purpose::Knob).map(TextEntry::text), Some("2005".to_owned()));
    update(&mut model, Msg::Key(Key::plain(KeyCode::End)));
    update(&mut model, Msg::Key(Key::plain(KeyCode::Backspace)));
    update(&mut model, Msg::Key(Key::plain(KeyCode::Home)));
    update(&mut model, Msg::Key(Key::plain(KeyCode::Delete)));
    assert_eq!(
        press(&mut model, "1\n"),
        [Effect::Order(Order::SetKnobs(Knobs { clients: 100, ..Knobs::default() }))]
    );
    deliver(&mut model, Notice::FirstWrite("Write?".to_owned()));
    assert_eq!(paste(&mut model, "y"), [], "and no answer");
}

#[test]
fn no_is_the_default_answer_to_the_first_write_and_turns_the_load_off() {
    let mut model = model();
    let on = Knobs { load: true, ..Knobs::default() };
    assert_eq!(press(&mut model, "l"), [Effect::Order(Order::SetKnobs(on))]);
    deliver(&mut model, Notice::FirstWrite("There are keys. Write?".to_owned()));
    assert_eq!(press(&mut model, "lx"), [], "only the answers count");
    let answer = press(&mut model, "\n");
    assert_eq!(
        answer,
        [Effect::Order(Order::AllowWrites(false)), Effect::Order(Order::SetKnobs(Knobs::default()))]
    );
    deliver(&mut model, Notice::FirstWrite("There are keys. Write?".to_owned()));
    assert_eq!(press(&mut model, "y"), [Effect::Order(Order::AllowWrites(true))]);
    assert_eq!(model.mode, InputMode::Screen);
}

#[test]
fn the_segment_of_a_change_that_was_undone_meanwhile_does_not_restore_the_change() {
    let mut model = model();
    let clients = |n| Knobs { clients: n, ..Knobs::default() };
    segment(&mut model, 0.0, clients(50));
    press(&mut model, "><");
    segment(&mut model, 1.0, clients(100));
    assert_eq!(press(&mut model, "<"), [Effect::Order(Order::SetKnobs(clients(20)))]);
    segment(&mut model, 2.0, clients(20));
    segment(&mut model, 3.0, clients(70));
    assert_eq!(model.panel.wanted, clients(70), "another source changed the knob");
}

#[test]
fn a_load_from_the_command_line_is_not_shown_as_on_before_it_is_allowed() {
    let knobs = Knobs { load: true, ..Knobs::default() };
    let mut model = Model::new(knobs, TimelineOptions::default());
    assert_eq!(model.load_state(), LoadState::Settling);
    deliver(&mut model, Notice::Danger("It may do harm. Continue?".to_owned()));
    assert_eq!(model.load_state(), LoadState::Asking);
    press(&mut model, "n");
    assert_eq!((model.load_state(), model.panel.wanted.load), (LoadState::Off, false));
}

#[test]
fn a_server_parameter_is_set_only_after_a_yes() {
    let mut model = model();
    press(&mut model, "3>");
    assert!(model.message().unwrap().text.contains("does not report maxmemory"));
    let config = std::sync::Arc::new([("maxmemory".to_owned(), "0".to_owned())].into());
    let status = crate::server::Status {
        config,
        gauges: [(Gauge::UsedMemory, f64::from(1 << 20))].into(),
        ..Default::default()
    };
    let record = Record::Server(Box::new(crate::session::Moment::new(1.0, status)));
    update(&mut model, Msg::Delivery(Delivery::Record(Arc::new(record))));
    assert_eq!(press(&mut model, ">"), []);
    assert!(matches!(model.mode, InputMode::Asking(UserQuestion::SetConfig(_))));
    assert_eq!(press(&mut model, "\n"), [], "no is the default");
    assert_eq!(press(&mut model, "\n100mb\n"), []);
    let effects = press(&mut model, "y");
    assert!(
        matches!(&effects[..], [Effect::Order(Order::SetConfig { to, .. })] if to == "104857600"),
        "{effects:?}"
    );
    assert_eq!(model.mode, InputMode::Screen);
    assert_eq!(press(&mut model, "1>").len(), 1, "on another screen the knobs turn");
}

#[test]
fn freezing_holds_the_view_while_the_measurement_goes_on() {
    let mut model = model();
    segment(&mut model, 1.0, Knobs::default());
    press(&mut model, " ");
    segment(&mut model, 3.0, Knobs::default());
    assert_eq!((model.shown().now_s(), model.timeline().now_s), (1.0, 3.0));
    assert_eq!(model.behind_s(), Some(2.0));
    press(&mut model, " ");
    assert_eq!((model.shown().now_s(), model.behind_s()), (3.0, None));
}

#[test]
fn arrows_travel_in_time_while_frozen_and_turn_knobs_again_when_live() {
    let mut model = model();
    (0..40).for_each(|s| segment(&mut model, f64::from(s), Knobs::default()));
    assert_eq!(press(&mut model, " <<<"), []);
    let axis = model.axis(model.columns);
    let three_back = axis.column_ending(39.0).map(|column| axis.start_s(column - 3));
    assert_eq!((model.cursor_s(), model.contexts()[1]), (three_back, Context::Frozen));
    assert_eq!(press(&mut model, "\x1b>").len(), 1);
    assert_eq!((model.cursor_s(), model.contexts()[1]), (None, Context::Main));
}

#[test]
fn a_recording_plays_from_the_cursor_and_stops_at_its_end() {
    let mut model = Model::replaying(Playback::new("x".to_owned()), TimelineOptions::default());
    (0..40).for_each(|s| segment(&mut model, f64::from(s), Knobs { clients: 1 + s, ..Knobs::default() }));
    assert_eq!(press(&mut model, "p"), [], "not before all of it has been read");
    deliver(&mut model, Notice::Ended);
    assert_eq!((model.cursor_s(), model.contexts()[1]), (Some(39.0), Context::Replay));
    assert_eq!(press(&mut model, "p"), [Effect::Order(Order::Play { from_s: 0.0, speed: 1.0 })]);
    deliver(&mut model, Notice::Played(2.5));
    // The knobs are those of the second that begins at the cursor, at its end.
    assert_eq!((model.cursor_s(), model.panel.wanted.clients), (Some(2.5), 4));
    let faster = Key::plain(KeyCode::Char('>'));
    assert_eq!(
        update(&mut model, Msg::Key(faster)),
        [Effect::Order(Order::Play { from_s: 2.5, speed: 2.0 })]
    );
    deliver(&mut model, Notice::Played(50.0));
    assert!(model.playback.as_ref().is_some_and(|playback| !playback.is_playing));
    assert_eq!(model.cursor_s(), Some(39.0));
}

#[test]
fn the_panel_follows_the_knobs_in_force_unless_a_change_is_pending() {
    let mut model = model();
    let recorded = Knobs { clients: 7, ..Knobs::default() };
    segment(&mut model, 1.0, recorded.clone());
    assert_eq!(model.panel.wanted, recorded);
    press(&mut model, ">>");
    segment(&mut model, 2.0, Knobs { clients: 10, ..recorded });
    assert_eq!(model.panel.wanted.clients, 20);
}

#[test]
fn a_load_that_waits_at_the_start_stays_wanted_until_it_is_refused() {
    let wanted = Knobs { load: true, ..Knobs::default() };
    let mut model = Model::new(wanted.clone(), TimelineOptions::default());
    segment(&mut model, 0.0, Knobs { load: false, ..wanted });
    assert!(model.panel.wanted.load && !model.in_force().load);
    let notice = Notice::LoadStaysOff("a replica".to_owned());
    update(&mut model, Msg::Delivery(Delivery::Notice(0, notice)));
    assert!(!model.panel.wanted.load);
    assert_eq!(model.message().unwrap().text, "the load stays off: a replica");
}

#[test]
fn a_load_that_the_server_refuses_is_also_off_in_the_panel_and_can_be_retried() {
    let on = Knobs { load: true, ..Knobs::default() };
    let mut model = Model::new(on.clone(), TimelineOptions::default());
    segment(&mut model, 0.0, on.clone());
    deliver(&mut model, Notice::LoadStopped("NOPERM".to_owned()));
    assert!(!model.panel.wanted.load);
    assert_eq!(model.message().unwrap().text, "the load is off: NOPERM");
    segment(&mut model, 0.5, Knobs::default());
    assert_eq!(press(&mut model, "l"), [Effect::Order(Order::SetKnobs(on))]);
}

#[test]
fn a_refused_change_is_reported_and_the_knob_returns_to_its_value() {
    let mut model = model();
    let Effect::Order(order) = press(&mut model, ">").remove(0) else { panic!("an order") };
    let why = "a recording has no knobs to change".to_owned();
    update(&mut model, Msg::Delivery(Delivery::Refused(order, why)));
    assert_eq!(model.panel.wanted, Knobs::default());
    assert_eq!(model.message().unwrap().text, "a recording has no knobs to change");
}

#[test]
fn the_intrinsic_run_asks_for_its_length() {
    let mut model = model();
    assert_eq!(press(&mut model, "i\n"), [Effect::Order(Order::RunIntrinsic(Duration::from_secs(10)))]);
    assert_eq!(press(&mut model, "i5x\n"), []);
    assert!(model.message().unwrap().text.contains("'105x' is not a number of seconds"));
    assert_eq!(
        press(&mut model, "II"),
        [Effect::Order(Order::GentleIntrinsic(true)), Effect::Order(Order::GentleIntrinsic(false))]
    );
}

#[test]
fn ctrl_c_quits_from_anywhere_and_q_closes_the_help_first() {
    let ctrl_c = Msg::Key(Key { code: KeyCode::Char('c'), ctrl: true });
    for keys in ["", "?", "12", "i"] {
        let mut model = model();
        press(&mut model, keys);
        assert_eq!(update(&mut model, ctrl_c.clone()), [Effect::Quit], "{keys:?}");
    }
    let mut model = model();
    assert_eq!(press(&mut model, "?q"), []);
    assert_eq!((press(&mut model, "q"), model.screen), (vec![Effect::Quit], Screen::Overview));
}

#[test]
fn an_outage_lasts_until_the_target_answers() {
    let mut model = model();
    let cause = "connection refused".to_owned();
    model.push(&Record::Event(Event::new(4.0, EventKind::Unreachable { cause })));
    assert_eq!(model.shown().outage(), Some((4.0, "connection refused")));
    model.push(&Record::Event(Event::new(5.0, EventKind::Reachable)));
    assert_eq!(model.shown().outage(), None);
}
