//! Tests of the screens Latency, Segments and Log, and of a part that fills the whole screen.

use super::*;
use crate::{
    app::{Context, Pane, Screen},
    events::EventKind,
    session::{Event, Interval, Mark, OperationInterval},
    stats::{Latency, Recorder},
    tui::fixture::slow_command,
};

/// Returns every `every`-th value of `latency`, multiplied by `times`.
fn longer(latency: &Latency, times: f64, every: usize) -> Latency {
    let mut recorder = Recorder::new();
    for (ns, n) in latency.cells().step_by(every) {
        recorder.record_n((ns as f64 * times) as u64, n);
    }
    recorder.latency()
}

/// Returns an interval with the latencies of each command, and in an open loop also with response times.
fn whole(interval: &Interval, is_open: bool) -> Interval {
    let part = |service: Latency| OperationInterval {
        ops: service.count(),
        service,
        ..OperationInterval::default()
    };
    let commands = [
        ("GET".to_owned(), part(longer(&interval.service, 0.95, 1))),
        ("SET".to_owned(), part(longer(&interval.service, 1.6, 11))),
    ];
    let response = is_open.then(|| longer(&interval.service, 1.9, 1));
    let behind_us = if is_open { 3_400 } else { 0 };
    Interval { commands: commands.into(), response, behind_us, ..interval.clone() }
}

/// Returns a session of 90 s with errors, events and marks. The session is idle first. The next segments have 50
/// clients, 200 clients, pipeline 4, an open loop, and 10 clients for three seconds.
fn session() -> Vec<Record> {
    let idle = Knobs::default();
    let on = Knobs { load: true, ..idle.clone() };
    let open = Knobs { rate: Some(40_000), ..on.clone() };
    let (mut made, mut records) = GeneratedSession::new(idle);
    let mut is_open = false;
    for tick in 1..=360 {
        let knobs = match tick {
            20 => Some(on.clone()),
            100 => Some(Knobs { clients: 200, ..on.clone() }),
            180 => Some(Knobs { clients: 200, pipeline: 4, ..on.clone() }),
            260 => Some(open.clone()),
            348 => Some(Knobs { clients: 10, ..on.clone() }),
            _ => None,
        };
        if let Some(knobs) = knobs {
            is_open = knobs.rate.is_some();
            records.push(made.turn(knobs));
        }
        records.extend(made.next_tick().into_iter().map(|record| match record {
            Record::Interval(interval) => Record::Interval(Box::new(whole(&interval, is_open))),
            record => record,
        }));
        let t_s = made.now_s();
        let event = |what| Record::Event(Event::new(t_s, what));
        let client = Some("127.0.0.1:50112");
        match tick {
            60 => records.push(Record::Mark(Mark { t_s, text: "the cache is warm".to_owned() })),
            110 => records.push(event(slow_command(14_200, "KEYS *", client))),
            140 => records.extend(made.errors("LOADING", 37, "LOADING Redis is loading the dataset in memory")),
            200 => records.push(event(EventKind::Forked { held_us: Some(38_100) })),
            230 => {
                let cause = "connection refused; is the server running?".to_owned();
                records.push(event(EventKind::Unreachable { cause }));
            }
            236 => records.push(event(EventKind::Reachable)),
            300 => records.push(event(slow_command(22_800, "SORT redyno:list", client))),
            330 => records.extend(made.errors(
                "OOM",
                1204,
                "OOM command not allowed when used memory > 'maxmemory'; the rest of this message is as long as some error messages of modules, which do not fit into one line of a terminal, even of a terminal with many columns",
            )),
            _ => {}
        }
    }
    records
}

static RECORDS: LazyLock<Vec<Record>> = LazyLock::new(session);

fn of_all() -> Model {
    let mut model = Model::new(Knobs::default(), TimelineOptions::default());
    deliver(&mut model, RECORDS.clone());
    model
}

fn type_text(model: &mut Model, text: &str) {
    text.chars().for_each(|c| press(model, if c == '\n' { KeyCode::Enter } else { KeyCode::Char(c) }));
}

/// Returns the model with the second segment as the baseline and the third segment selected.
fn with_baseline(mut model: Model) -> Model {
    press(&mut model, KeyCode::Char('4'));
    for code in [KeyCode::End, KeyCode::Up, KeyCode::Char('b'), KeyCode::Up] {
        press(&mut model, code);
    }
    model
}

fn text(model: &Model, width: u16, height: u16) -> String {
    lines(&drawn(model, Theme::new(Colours::Mono, GlyphSet::Unicode), width, height)).join("\n")
}

#[test]
fn the_latency_screen_matches_its_snapshots() {
    let mut model = with_baseline(model());
    press(&mut model, KeyCode::Char('2'));
    snapshots("latency", &model);
}

#[test]
fn the_segments_match_their_snapshots() {
    snapshots("segments", &with_baseline(model()));
}

#[test]
fn the_log_matches_its_snapshots() {
    let mut model = model();
    type_text(&mut model, "5/SLOW\n");
    snapshots("log", &model);
}

#[test]
fn a_search_freezes_the_view_and_shows_the_distributions_at_that_moment() {
    let mut model = of_all();
    type_text(&mut model, "5/sort\n\n\n2t");
    let screen = text(&model, 120, 36);
    assert_eq!(model.cursor_s(), Some(75.0));
    assert!(screen.contains("percentiles, now, the last second"), "{screen}");
    assert!(screen.contains("response"), "{screen}");
    // The last segment has no response times, and too few samples for p99.99.
    press(&mut model, KeyCode::Esc);
    let screen = text(&model, 120, 36);
    let row = screen.lines().find(|line| line.contains("p99.99")).unwrap();
    assert!(row.trim_end().ends_with('–') && !screen.contains("response"), "{screen}");
}

#[test]
fn each_verdict_is_shown_in_words_with_its_evidence() {
    let mut model = with_baseline(of_all());
    let screen = text(&model, 200, 60);
    for word in ["better", "worse", "not clear", "baseline", "better: more than noise, +"] {
        assert!(screen.contains(word), "{word} is not in\n{screen}");
    }
    press(&mut model, KeyCode::Home);
    let screen = text(&model, 200, 60);
    assert!(screen.contains("not clear: about 7 s more would decide"), "{screen}");
}

#[test]
fn the_baseline_is_shown_in_the_charts() {
    let mut model = with_baseline(of_all());
    press(&mut model, KeyCode::Char('1'));
    let screen = text(&model, 120, 36);
    assert!(screen.contains("baseline 2"), "{screen}");
    press(&mut model, KeyCode::Char('2'));
    assert!(text(&model, 120, 36).contains("base 2"));
}

#[test]
fn a_part_shown_alone_fills_the_screen_and_hides_the_other_parts() {
    let mut model = of_all();
    for part in Screen::Overview.panes() {
        press(&mut model, KeyCode::Char('z'));
        assert_eq!((model.maximised, model.contexts()[0]), (Some(*part), Context::Maximised));
        let screen = text(&model, 120, 36);
        let shown = ["throughput, replies/s", "response time; v", "probes", "knobs"]
            .map(|rule| screen.contains(rule));
        assert_eq!(shown.iter().filter(|shown| **shown).count(), 1, "{part:?}\n{screen}");
    }
    snapshot("throughput_alone", &with_part(Pane::Throughput), (120, 36));
    snapshot("latency_alone", &with_part(Pane::Latency), (120, 36));
    snapshot("probes_alone", &with_part(Pane::Probes), (80, 24));
    press(&mut model, KeyCode::Char('2'));
    for part in Screen::Latency.panes() {
        press(&mut model, KeyCode::Char('z'));
        assert_eq!(model.maximised, Some(*part));
        drawn(&model, Theme::new(Colours::Ansi16, GlyphSet::Unicode), 80, 24);
    }
}

fn with_part(part: Pane) -> Model {
    let mut model = model();
    model.maximised = Some(part);
    model
}
