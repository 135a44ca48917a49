//! Tests of the screens with a workload of twenty operations: their knobs and latencies, and the choice of visible
//! operations if not all fit.

use super::*;
use crate::{
    app::{Gesture, Mouse, Screen, Spot},
    session::OperationInterval,
    stats::{Latency, Recorder},
    workload::{Settings, WorkloadChoice},
};

fn twenty() -> Knobs {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/twenty.toml");
    let workload = WorkloadChoice::find(file, &Settings::default()).unwrap().workload;
    Knobs { load: true, workload, ..Knobs::default() }
}

/// Returns the part of `latency` for an operation with this weight. Operations later in the workload take a little
/// longer.
fn share(latency: &Latency, weight: u32, place: usize) -> OperationInterval {
    let mut recorder = Recorder::new();
    for (ns, n) in latency.cells() {
        let longer = ns as f64 * (1.0 + place as f64 * 0.05);
        recorder.record_n(longer as u64, (n * u64::from(weight)).div_ceil(935));
    }
    let service = recorder.latency();
    OperationInterval { ops: service.count(), service, ..OperationInterval::default() }
}

fn model() -> Model {
    let knobs = twenty();
    let (mut made, mut records) = GeneratedSession::new(knobs.clone());
    let operations = knobs.workload.operations.clone();
    for _ in 0..60 {
        records.extend(made.next_tick().into_iter().map(|record| match record {
            Record::Interval(interval) => {
                let parts = operations.iter().enumerate();
                let parts =
                    parts.map(|(n, o)| (o.name.clone(), share(&interval.service, o.weight, n))).collect();
                Record::Interval(Box::new(Interval { commands: parts, ..*interval }))
            }
            record => record,
        }));
    }
    let mut model = Model::new(knobs, TimelineOptions::default());
    deliver(&mut model, records);
    model
}

fn shown(model: &Model, width: u16, height: u16) -> String {
    lines(&drawn(model, Theme::new(Colours::Mono, GlyphSet::Unicode), width, height)).join("\n")
}

#[test]
fn twenty_operations_match_their_snapshots() {
    for screen in [Screen::Overview, Screen::Latency] {
        let mut model = model();
        press(&mut model, KeyCode::Char(screen.key()));
        let name = format!("twenty_{}", screen.name().to_lowercase());
        for size in [(120, 36), (80, 24)] {
            snapshot(&name, &model, size);
        }
    }
}

#[test]
fn the_selected_knob_is_always_visible() {
    for (width, height) in [(200, 60), (120, 36), (80, 24), (76, 18), (60, 15)] {
        let mut model = model();
        for knob in model.panel.knobs() {
            assert_eq!(model.panel.selected(), knob);
            let text = shown(&model, width, height);
            let pointed = text
                .lines()
                .find_map(|line| line.split_once(GlyphSet::Unicode.glyphs().pointer))
                .map(|(_, rest)| rest);
            let name: String = knob.called(&model.panel.wanted).chars().take(6).collect();
            assert!(pointed.is_some_and(|rest| rest.trim_start().starts_with(&name)), "{name}: {text}");
            press(&mut model, KeyCode::Down);
        }
    }
}

#[test]
fn the_wheel_and_a_click_reach_every_weight() {
    let mut model = model();
    let last = *model.panel.knobs().last().unwrap();
    let spot = Spot::Knob(model.panel.selected());
    update(&mut model, Msg::Mouse(Mouse { gesture: Gesture::Wheel { up: true }, spot }));
    assert_eq!(model.panel.selected(), last, "round the end");
    assert!(shown(&model, 80, 24).contains("queue-take"));
}

#[test]
fn operations_can_be_scrolled_and_hidden_operations_are_summed() {
    let mut model = model();
    press(&mut model, KeyCode::Char('2'));
    let first = shown(&model, 80, 24);
    assert!(first.contains("operations 1 to 4 of 20 by ops/s") && first.contains("16 others"), "{first}");
    (0..3).for_each(|_| press(&mut model, KeyCode::Char('J')));
    let text = shown(&model, 80, 24);
    assert!(text.contains("operations 4 to 7 of 20 by ops/s") && text.contains("16 others"), "{text}");
    (0..40).for_each(|_| press(&mut model, KeyCode::Char('J')));
    assert!(shown(&model, 80, 24).contains("operations 17 to 20 of 20"));
}
