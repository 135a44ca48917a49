//! Tests of PINGs on the screens while a server stalls, and after the server has answered all PINGs at once.

use super::{deliver, drawn, lines, press};
use crate::{
    app::{KeyCode, Model},
    knobs::Knobs,
    probe::{Ping, Timing},
    session::{Record, TimelineOptions},
    stats::fixture::{latency_of, repeated},
    tui::{
        fixture::GeneratedSession,
        theme::{Colours, GlyphSet, Theme},
    },
};

/// Returns ten seconds without load, with answered pings.
fn idle() -> (GeneratedSession, Model) {
    let knobs = Knobs { load: false, ..Knobs::default() };
    let (mut made, records) = GeneratedSession::new(knobs.clone());
    let mut model = Model::new(knobs, TimelineOptions::default());
    deliver(&mut model, records);
    (0..40).for_each(|_| deliver(&mut model, made.next_tick()));
    (made, model)
}

/// Adds a tick with these pings.
fn tick(model: &mut Model, made: &mut GeneratedSession, body: &Ping) {
    let with_body = |record| match record {
        Record::Ping(mut span) => {
            span.body = body.clone();
            Record::Ping(span)
        }
        other => other,
    };
    deliver(model, made.next_tick().into_iter().map(with_body).collect());
}

/// Adds five ticks without an answer.
fn stall(model: &mut Model, made: &mut GeneratedSession) {
    for n in 1..=5 {
        tick(model, made, &Ping { waiting_us: n * 250_000, timing: Some(Timing::Kernel), ..Ping::default() });
    }
}

/// Returns the pings of a stalled second. All are answered at once. The parts of a round trip were measured only for a
/// few fast pings.
fn answers() -> Ping {
    let waits = (1..=100).map(|n| n * 10_000_000);
    Ping {
        rtt: latency_of(waits.chain((0..30).map(|_| 90_000))),
        timing: Some(Timing::Kernel),
        send: Some(repeated(2_000, 30)),
        kernel: Some(repeated(53_000, 30)),
        pickup: Some(repeated(30_000, 30)),
        left_out: [("shared read".to_owned(), 100)].into(),
        ..Ping::default()
    }
}

fn shown(model: &Model, width: u16, height: u16) -> Vec<String> {
    lines(&drawn(model, Theme::new(Colours::Ansi16, GlyphSet::Unicode), width, height))
}

fn line_with<'a>(screen: &'a [String], what: &str) -> &'a str {
    screen.iter().find(|line| line.contains(what)).unwrap_or_else(|| panic!("no {what:?} in {screen:#?}"))
}

#[test]
fn a_wait_is_shown_while_it_grows() {
    let (mut made, mut model) = idle();
    stall(&mut model, &mut made);
    let screen = shown(&model, 120, 36);
    assert!(line_with(&screen, " max  ").contains(">1.25 s"), "{screen:#?}");
    assert!(shown(&model, 40, 12).iter().any(|line| line.contains("ping") && line.contains(">1.25 s")));
    press(&mut model, KeyCode::Char(' '));
    let screen = shown(&model, 120, 36);
    assert!(screen.iter().any(|line| line.contains("ping >1.25 s so far")), "{screen:#?}");
}

#[test]
fn no_part_is_shown_as_fast_if_the_parts_of_most_pings_are_unknown() {
    let (mut made, mut model) = idle();
    stall(&mut model, &mut made);
    tick(&mut model, &mut made, &answers());
    let screen = shown(&model, 120, 36);
    assert!(!screen.iter().any(|line| line.contains("53.0 µs")), "{screen:#?}");
    line_with(&screen, "100 of 130 left out");
    line_with(&shown(&model, 140, 36), "100 of 130 answers left out");
    press(&mut model, KeyCode::Char(' '));
    let screen = shown(&model, 160, 36);
    line_with(&screen, "(kernel –, 100 left out)");
    assert!(!screen.iter().any(|line| line.contains("53.0 µs")), "{screen:#?}");
}
