//! Tests of the Curve screen: after changes of a load setting, while an experiment runs, and without points.

use super::*;
use crate::{
    app::{Effect, Order, Screen},
    events::{EventKind, SearchResult},
    gauge::Gauge,
    session::Event,
    workload::{SearchNumber, preset},
};

/// Returns a session that runs twelve ticks with each of these knobs.
fn turned(knobs: impl IntoIterator<Item = Knobs>) -> Model {
    let (mut made, records) = GeneratedSession::new(Knobs::default());
    let mut model = Model::new(Knobs::default(), TimelineOptions::default());
    deliver(&mut model, records);
    for knobs in knobs {
        deliver(&mut model, vec![made.turn(knobs)]);
        (0..12).for_each(|_| deliver(&mut model, made.next_tick()));
    }
    press(&mut model, KeyCode::Char('6'));
    model
}

fn on(clients: u32) -> Knobs {
    Knobs { load: true, clients, ..Knobs::default() }
}

fn clients() -> Model {
    turned([1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].map(on))
}

/// Returns a session after the user has typed a command and this many ticks have passed. The session carries out the
/// orders of the experiment.
fn conducted(typed: &str, ticks: usize) -> Model {
    let (mut made, records) = GeneratedSession::new(on(50));
    let mut model = Model::new(on(50), TimelineOptions::default());
    deliver(&mut model, records);
    let mut now = on(50);
    let mut obey = |model: &mut Model, made: &mut GeneratedSession, effects: Vec<Effect>| {
        let mut waiting = effects;
        while let Some(effect) = waiting.pop() {
            if let Effect::Order(Order::SetKnobs(knobs)) = effect
                && knobs != now
            {
                now = knobs.clone();
                let turned = Delivery::Record(Arc::new(made.turn(knobs)));
                waiting.extend(update(model, Msg::Delivery(turned)));
            }
        }
    };
    for c in format!("6:{typed}\n").chars() {
        let code = if c == '\n' { KeyCode::Enter } else { KeyCode::Char(c) };
        let effects = update(&mut model, Msg::Key(Key::plain(code)));
        obey(&mut model, &mut made, effects);
    }
    for _ in 0..ticks {
        for record in made.next_tick() {
            let effects = update(&mut model, Msg::Delivery(Delivery::Record(Arc::new(record))));
            obey(&mut model, &mut made, effects);
        }
    }
    model
}

fn text(model: &Model, width: u16, height: u16) -> String {
    lines(&drawn(model, Theme::new(Colours::Ansi16, GlyphSet::Unicode), width, height)).join("\n")
}

#[test]
fn the_curve_matches_its_snapshots() {
    snapshots("curve", &clients());
    snapshot("curve_ab", &conducted("ab pipeline 16", 160), (120, 36));
    snapshot("curve_find", &conducted("find p99<2ms", 60), (120, 36));
    snapshot("curve_sweep", &conducted("sweep clients 1..1000", 100), (80, 24));
}

#[test]
fn the_progress_of_an_experiment_stays_visible_while_a_problem_is_in_the_status_line() {
    for typed in ["sweep clients 1..1000", "find p99<2ms", "ab pipeline 16"] {
        let mut model = conducted(typed, 40);
        let progress = model.experiment().unwrap().progress();
        let begun = progress.split([' ', ':']).next().unwrap();
        let lost = EventKind::Unreachable { cause: "reset".to_owned() };
        let lost = Record::Event(Event::new(model.timeline().now_s, lost));
        deliver(&mut model, vec![lost]);
        for (width, height) in [(120, 36), (80, 24)] {
            let shown = text(&model, width, height);
            let lines: Vec<_> = shown.lines().collect();
            assert!(lines[1].contains("server unreachable"), "{shown}");
            assert!(lines[lines.len() - 2].contains(begun), "{typed}, {progress}: {shown}");
        }
    }
}

#[test]
fn the_knob_with_the_most_values_is_shown_and_a_key_selects_another_knob() {
    let deep = |pipeline| Knobs { pipeline, ..on(200) };
    let mut model = turned([on(50), on(100), on(200), deep(4), deep(8)]);
    assert!(text(&model, 120, 36).contains("throughput over clients, replies/s"), "the first of equals");
    press(&mut model, KeyCode::Right);
    assert!(text(&model, 120, 36).contains("throughput over pipeline, replies/s"));
    press(&mut model, KeyCode::Right);
    assert!(text(&model, 120, 36).contains("throughput over clients"));
    assert_eq!(&model.panel.wanted, model.in_force(), "no knob was turned");
}

#[test]
fn each_line_has_a_label_for_its_difference_from_the_other_lines() {
    let both = [1, 8]
        .into_iter()
        .flat_map(|pipeline| [1, 10, 100].into_iter().map(move |clients| Knobs { pipeline, ..on(clients) }));
    let shown = text(&turned(both), 120, 36);
    let tick = GlyphSet::Unicode.glyphs().tick;
    for label in [" pipeline 1 ", " pipeline 8 "] {
        let charts = shown.lines().filter(|line| line.contains(tick) && line.contains(label)).count();
        assert_eq!(charts, 1, "{label}: {shown}");
    }
}

#[test]
fn the_recall_of_searches_has_a_chart_and_a_column() {
    let (mut made, records) = GeneratedSession::new(Knobs::default());
    let mut model = Model::new(Knobs::default(), TimelineOptions::default());
    deliver(&mut model, records);
    for (ef, recall) in [(10, 0.874), (50, 0.95), (200, 1.0)] {
        let workload = preset("vectors").unwrap().with_search_number(SearchNumber::Ef, ef).unwrap();
        deliver(&mut model, vec![made.turn(Knobs { workload: Arc::new(workload), ..on(10) })]);
        for _ in 0..12 {
            let mut records = made.next_tick();
            for record in &mut records {
                if let Record::Server(moment) = record {
                    moment.body.gauges.set(Gauge::Recall, Some(recall));
                }
            }
            deliver(&mut model, records);
        }
    }
    press(&mut model, KeyCode::Char('6'));
    snapshot("curve_recall", &model, (120, 36));
    let small = text(&model, 80, 24);
    assert!(
        small.contains("recall over ef") && small.contains(" 80 %") && small.contains(" 100 %"),
        "{small}"
    );
}

#[test]
fn without_two_values_a_text_explains_how_to_get_a_curve() {
    for model in [turned([]), turned([on(50)])] {
        for (width, height) in [(120, 36), (80, 24), (46, 14)] {
            let shown = text(&model, width, height);
            assert!(shown.contains("needs two values of a knob") && shown.contains(":sweep"), "{shown}");
        }
    }
}

#[test]
fn the_bounds_of_a_search_are_read_from_the_events_of_a_session() {
    let open = |rate| Knobs { rate: Some(rate), ..on(50) };
    let mut model = turned([10_000, 20_000, 40_000, 80_000].map(open));
    assert_eq!(model.screen, Screen::Curve);
    assert!(!text(&model, 120, 36).contains("met up to"));
    let (knob, limit) = ("rate".to_owned(), "p99<5ms".to_owned());
    let found = SearchResult { knob, value: 40_000, lower: 40_000, upper: Some(80_000), limit };
    deliver(&mut model, vec![Record::Event(Event::new(12.0, EventKind::Found { found }))]);
    let shown = text(&model, 120, 36);
    assert!(shown.contains("p99<5ms met up to 40 k/s, not at 80 k/s"), "{shown}");
    assert!(shown.contains("★ best within p99<5ms at rate "), "{shown}");
}

#[test]
fn a_sweep_has_its_whole_axis_from_the_first_step_on() {
    let marks = |ticks| {
        let shown = text(&conducted("sweep clients 1..1000", ticks), 120, 36);
        shown.lines().find(|line| line.starts_with(" clients ")).map(str::to_owned)
    };
    let first = marks(50).expect("a line of labels");
    assert!(first.contains("1000"), "{first}");
    assert_eq!(marks(100), Some(first));
}
