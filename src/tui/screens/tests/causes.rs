//! Tests of the longest latencies and their causes, and of requests that still wait for a reply.

use super::*;
use crate::{
    events::EventKind,
    session::Event,
    stats::{
        Latency,
        fixture::{latency_of, repeated},
    },
};

/// Returns a session under load with this many ticks (quarters of a second). `interval` changes the record of
/// each tick.
fn under_load(ticks: u32, interval: impl Fn(u32, &mut Interval)) -> Model {
    let knobs = Knobs { load: true, ..Knobs::default() };
    let (mut made, records) = GeneratedSession::new(knobs.clone());
    let mut model = Model::new(knobs, TimelineOptions::default());
    deliver(&mut model, records);
    for tick in 1..=ticks {
        let change = |mut record: Record| {
            if let Record::Interval(of_load) = &mut record {
                interval(tick, of_load);
            }
            record
        };
        deliver(&mut model, made.next_tick().into_iter().map(change).collect());
    }
    model
}

fn shown(model: &mut Model, theme: Theme, (width, height): (u16, u16)) -> Vec<String> {
    let columns = super::super::plan(Rect::new(0, 0, width, height), model).chart_columns();
    update(model, Msg::Columns(columns));
    lines(&drawn(model, theme, width, height))
}

const SIZES: [(u16, u16); 3] = [(120, 36), (80, 24), (200, 60)];

#[test]
fn the_longest_latency_has_its_cause_in_the_chart_and_at_the_cursor() {
    let mut model = under_load(60, |tick, interval| {
        if tick == 30 {
            interval.service = latency_of((0..2000).map(|n| if n < 50 { 602_000_000 } else { 300_000 }));
        }
    });
    let slow = fixture::slow_command(600_000, "DEBUG sleep", Some("127.0.0.1:5000"));
    let save = Event::new(8.0, EventKind::SnapshotBegan);
    deliver(&mut model, vec![Record::Event(save), Record::Event(Event::new(8.4, slow))]);
    for (_, palette, glyphs) in THEMES {
        let theme = Theme::new(palette, glyphs);
        for size in SIZES {
            let mut model = model.clone();
            let arrow = if theme.has_braille() { "←" } else { "<" };
            let cause = format!("602 ms {arrow} DEBUG sleep 600 ms from 127.0.0.1:5000");
            let live = shown(&mut model, theme, size).join("\n");
            let above = theme.glyphs().above;
            let (short, _) = cause.split_once(" from ").unwrap();
            let at_sight = if size.0 >= 200 { cause.as_str() } else { short };
            let places = [format!("{above}{at_sight}"), format!("{at_sight}{above}")];
            assert!(size.0 < 120 || places.iter().any(|place| live.contains(place)), "{size:?}: {live}");
            press(&mut model, KeyCode::Char('w'));
            let frozen = shown(&mut model, theme, size);
            let line = frozen.iter().find(|line| line.contains("00:07"));
            assert!(frozen.iter().any(|line| line.contains(&cause)), "{size:?} {line:?}: {frozen:#?}");
        }
    }
    assert!(
        crate::print::summary(model.timeline(), &[], &[])
            .contains("  worst     602 ms at 00:07 ← DEBUG sleep 600 ms from 127.0.0.1:5000")
    );
}

#[test]
fn the_worst_moment_of_one_second_records_has_its_cause_in_columns_of_any_length() {
    let mut recorded = model();
    // The slow log entry of the recording has only text, and no duration.
    let slow = fixture::slow_command(1_000_000, "DEBUG sleep", Some("127.0.0.1:53254"));
    deliver(&mut recorded, vec![Record::Event(Event::new(23.1, slow))]);
    for (width, height) in (80..=200).step_by(15).zip(24..).chain(SIZES) {
        let mut model = recorded.clone();
        let theme = Theme::new(Colours::Ansi16, GlyphSet::Unicode);
        shown(&mut model, theme, (width, height));
        press(&mut model, KeyCode::Char('w'));
        let frozen = shown(&mut model, theme, (width, height));
        let at_cursor = frozen.iter().find(|line| line.starts_with(" 00:2"));
        assert!(at_cursor.is_some_and(|line| line.contains("1.00 s ← DEBUG sleep")), "{width}: {frozen:#?}");
    }
}

#[test]
fn an_event_that_is_far_too_short_is_near_but_not_a_cause() {
    let mut model = under_load(60, |tick, interval| {
        if tick == 30 {
            interval.service = latency_of((0..2000).map(|n| if n < 50 { 602_000_000 } else { 300_000 }));
        }
    });
    deliver(&mut model, vec![Record::Event(Event::new(8.0, EventKind::Forked { held_us: Some(412) }))]);
    let theme = Theme::new(Colours::Ansi16, GlyphSet::Unicode);
    assert!(!shown(&mut model, theme, (120, 36)).join("\n").contains("← a fork"));
    press(&mut model, KeyCode::Char('w'));
    let frozen = shown(&mut model, theme, (120, 36)).join("\n");
    assert!(frozen.contains("602 ms, near: a fork paused the server for 412 µs"), "{frozen}");
}

/// Returns a model of ten seconds under load, followed by `ticks` quarter seconds without a reply.
fn hanging(ticks: u32) -> Model {
    under_load(40 + ticks, |tick, interval| {
        if tick > 40 {
            let waiting_us = u64::from(tick - 40) * 250_000;
            let &mut Interval { t_s, length_s, segment, clients, .. } = interval;
            *interval = Interval { t_s, length_s, segment, clients, waiting_us, ..Interval::default() };
        }
    })
}

#[test]
fn a_wait_of_the_load_grows_in_the_chart_while_the_server_hangs() {
    for (_, palette, glyphs) in THEMES {
        let theme = Theme::new(palette, glyphs);
        for size in SIZES {
            for (ticks, wait) in [(2, "500 ms"), (5, "1.25 s")] {
                let mut model = hanging(ticks);
                let screen = shown(&mut model, theme, size);
                let plan = layout::plan(Rect::new(0, 0, size.0, size.1), Subject::Load, None);
                let top = &screen[usize::from(plan.latency.y + 1)];
                let above = theme.glyphs().above;
                let wait = format!(">{wait}");
                let places = [format!("{above}{wait}"), format!("{wait}{above}")];
                assert!(places.iter().any(|place| top.contains(place)), "{size:?}: {screen:#?}");
                let times = screen.join("\n").matches(&wait).count();
                assert!(times > 1, "in the chart and in the figures: {screen:#?}");
            }
        }
    }
    let mut model = hanging(5);
    press(&mut model, KeyCode::Char(' '));
    let theme = Theme::new(Colours::Ansi16, GlyphSet::Unicode);
    let frozen = shown(&mut model, theme, (120, 36)).join("\n");
    assert!(frozen.contains("a request has waited 1.25 s so far"), "{frozen}");
}

#[test]
fn a_wait_that_is_over_is_shown_as_a_latency() {
    let mut model = under_load(60, |tick, interval| {
        if (41..46).contains(&tick) {
            interval.waiting_us = u64::from(tick - 40) * 250_000;
            interval.service = Latency::default();
        }
        if tick == 46 {
            interval.service = repeated(1_400_000_000, 50);
        }
    });
    let theme = Theme::new(Colours::Ansi16, GlyphSet::Unicode);
    let screen = shown(&mut model, theme, (120, 36)).join("\n");
    assert!(screen.contains("1.40 s") && !screen.contains(">1.25 s"), "{screen}");
}
