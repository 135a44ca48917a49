//! Tests of whole screens: their pictures, the bytes that they send, and all sizes.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    sync::{Arc, LazyLock},
};

use proptest::prelude::*;
use ratatui::{
    buffer::{Buffer, Cell},
    layout::Rect,
    style::Modifier,
};

mod bytes;
mod causes;
mod curve;
mod every_size;
mod frozen;
mod latency_chart;
mod lists;
mod many;
mod monitor;
mod nodes;
mod receivers;
mod reconnect;
mod stalled_pings;
mod standstill;
mod throughput_chart;

use super::draw;
use crate::{
    app::{Delivery, Key, KeyCode, Model, Msg, Notice, Spot, Subject, update},
    events::EventKind,
    knobs::Knobs,
    session::{Event, Interval, Record, TimelineOptions},
    tui::{
        canvas::Canvas,
        fixture::{self, GeneratedSession},
        layout,
        theme::{Colours, GlyphSet, Theme},
    },
};

fn deliver(model: &mut Model, records: Vec<Record>) {
    for record in records {
        update(model, Msg::Delivery(Delivery::Record(Arc::new(record))));
    }
}

static SESSION: LazyLock<Vec<Record>> = LazyLock::new(fixture::recorded);

/// Returns the model after this many records of the recording.
fn model_after(records: usize) -> Model {
    let mut model = Model::new(Knobs::default(), TimelineOptions::default());
    deliver(&mut model, SESSION.iter().take(records).cloned().collect());
    model
}

fn model() -> Model {
    model_after(usize::MAX)
}

fn press(model: &mut Model, code: KeyCode) {
    update(model, Msg::Key(Key::plain(code)));
}

fn drawn(model: &Model, theme: Theme, width: u16, height: u16) -> Buffer {
    super::picture(Rect::new(0, 0, width, height), theme, model)
}

const THEMES: [(&str, Colours, GlyphSet); 3] = [
    ("unicode", Colours::Ansi16, GlyphSet::Unicode),
    ("ascii", Colours::Ansi16, GlyphSet::Ascii),
    ("mono", Colours::Mono, GlyphSet::Unicode),
];

fn lines(buffer: &Buffer) -> Vec<String> {
    let rows = buffer.content.chunks(usize::from(buffer.area.width).max(1));
    rows.map(|row| row.iter().map(Cell::symbol).collect::<String>().trim_end().to_owned()).collect()
}

fn look(cell: &Cell) -> String {
    let colour = Some(cell.fg.to_string().to_lowercase()).filter(|colour| colour != "reset");
    let modifiers = [
        (Modifier::BOLD, "bold"),
        (Modifier::DIM, "dim"),
        (Modifier::REVERSED, "reversed"),
        (Modifier::UNDERLINED, "underlined"),
    ];
    let worn =
        modifiers.iter().filter(|(m, _)| cell.modifier.contains(*m)).map(|(_, name)| (*name).to_owned());
    colour.into_iter().chain(worn).collect::<Vec<_>>().join("+")
}

/// Returns the text of a screen, and below it the colours and attributes of the columns in each row.
fn picture(buffer: &Buffer) -> String {
    let mut text = text_of(buffer) + "\n";
    for (y, row) in buffer.content.chunks(usize::from(buffer.area.width)).enumerate() {
        let mut runs: BTreeMap<String, Vec<(usize, usize)>> = BTreeMap::new();
        for (x, cell) in row.iter().enumerate().filter(|(_, cell)| cell.symbol() != " ") {
            let columns = runs.entry(look(cell)).or_default();
            match columns.last_mut() {
                // A blank between two words with the same look does not end the run.
                Some((_, end)) if *end + 2 >= x => *end = x,
                _ => columns.push((x, x)),
            }
        }
        for (look, columns) in runs.iter().filter(|(look, _)| !look.is_empty()) {
            let columns: Vec<_> = columns.iter().map(|(from, to)| format!("{from}-{to}")).collect();
            writeln!(text, "{y} {look}: {}", columns.join(" ")).unwrap();
        }
    }
    text
}

fn text_of(buffer: &Buffer) -> String {
    lines(buffer).join("\n") + "\n"
}

fn keep(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/snapshots/tui"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

/// Returns the screen without its tabs. The tabs have their own snapshot. A new screen therefore changes only the
/// snapshot of the tabs.
fn without_tabs(model: &Model, theme: Theme, (width, height): (u16, u16)) -> Buffer {
    let area = Rect::new(0, 0, width, height);
    let mut buffer = Buffer::empty(area);
    let spots = draw(&mut buffer, theme, model, &super::plan(area, model));
    for x in (0..width).filter(|x| matches!(spots.at(*x, height - 1), Spot::Tab(_))) {
        buffer[(x, height - 1)].reset();
    }
    buffer
}

/// Checks a screen's text at one size.
fn snapshot(name: &str, model: &Model, (width, height): (u16, u16)) {
    let theme = Theme::new(Colours::Ansi16, GlyphSet::Unicode);
    keep(&format!("{name}_{width}x{height}"), &text_of(&without_tabs(model, theme, (width, height))));
}

/// Checks the text, colours and attributes of a screen at a common size.
fn snapshot_of_looks(name: &str, model: &Model) {
    let theme = Theme::new(Colours::Ansi16, GlyphSet::Unicode);
    keep(&format!("{name}_120x36"), &picture(&without_tabs(model, theme, (120, 36))));
}

/// Compares a screen with its snapshots: the text at four sizes, the colours at one size, and the themes ASCII and mono
/// at another size.
fn snapshots(name: &str, model: &Model) {
    for size in [(200, 60), (80, 24), (40, 12)] {
        snapshot(name, model, size);
    }
    snapshot_of_looks(name, model);
    let at_80x24 = |colours, glyphs| without_tabs(model, Theme::new(colours, glyphs), (80, 24));
    keep(&format!("{name}_80x24_ascii"), &text_of(&at_80x24(Colours::Ansi16, GlyphSet::Ascii)));
    keep(&format!("{name}_80x24_mono"), &picture(&at_80x24(Colours::Mono, GlyphSet::Unicode)));
}

#[test]
fn the_tabs_match_their_snapshot() {
    let mut model = model();
    let mut rows = String::new();
    for (screen, theme, width) in [('1', THEMES[0], 200), ('1', THEMES[0], 80), ('4', THEMES[1], 120)] {
        press(&mut model, KeyCode::Char(screen));
        let (_, colours, glyphs) = theme;
        let buffer = drawn(&model, Theme::new(colours, glyphs), width, 24);
        let picture = picture(&buffer);
        let of_tabs = picture.lines().filter(|line| line.contains("1 Overview") || line.starts_with("23 "));
        of_tabs.for_each(|line| writeln!(rows, "{line}").unwrap());
    }
    keep("tabs", &rows);
}

#[test]
fn the_overview_matches_its_snapshots() {
    snapshots("overview", &model());
}

#[test]
fn the_server_screen_matches_its_snapshots() {
    let mut model = model();
    press(&mut model, KeyCode::Char('3'));
    snapshots("server", &model);
    press(&mut model, KeyCode::Right);
    snapshot("server_question", &model, (80, 24));
}

#[test]
fn overlays_and_states_match_their_snapshots() {
    let mut model = Model::new(Knobs::default(), TimelineOptions::default());
    deliver(&mut model, GeneratedSession::new(Knobs::default()).1);
    snapshot("idle", &model, (80, 24));
    let cause = "connection refused".to_owned();
    deliver(&mut model, vec![Record::Event(Event::new(4.0, EventKind::Unreachable { cause }))]);
    snapshot("unreachable", &model, (80, 24));
    press(&mut model, KeyCode::Char('?'));
    snapshot("help", &model, (80, 24));
    press(&mut model, KeyCode::Esc);
    let question = "This server holds 1204 other keys. Write to it?".to_owned();
    update(&mut model, Msg::Delivery(Delivery::Notice(0, Notice::FirstWrite(question))));
    snapshot("first_write", &model, (80, 24));
}

#[test]
fn an_outage_is_shaded_in_the_charts_of_the_load_and_is_not_a_latency() {
    let knobs = Knobs { load: true, ..Knobs::default() };
    let (mut made, records) = GeneratedSession::new(knobs.clone());
    let mut model = Model::new(knobs, TimelineOptions::default());
    deliver(&mut model, records);
    for tick in 0..40 {
        let mut records = made.next_tick();
        for record in &mut records {
            if let (Record::Interval(interval), 20..) = (record, tick) {
                let (t_s, length_s, segment) = (interval.t_s, interval.length_s, interval.segment);
                **interval = Interval { t_s, length_s, segment, outage_s: length_s, ..Interval::default() };
            }
        }
        deliver(&mut model, records);
    }
    for (_, palette, glyphs) in THEMES {
        let theme = Theme::new(palette, glyphs);
        let buffer = drawn(&model, theme, 120, 36);
        let rows: Vec<String> =
            buffer.content.chunks(120).map(|row| row.iter().map(Cell::symbol).collect()).collect();
        assert!(rows[1].starts_with(" all load connections lost, reconnecting for 5.0 s"), "{}", rows[1]);
        let shades = |row: &String| row.chars().take(60).filter(|c| *c == theme.glyphs().outage).count();
        let plan = layout::plan(buffer.area, Subject::Load, None);
        // In the first of the twenty ticks, the line of the chart falls.
        let [throughput, latency] =
            [plan.throughput, plan.latency].map(|chart| &rows[usize::from(chart.bottom()) - 3]);
        assert_eq!(shades(throughput), 19, "throughput: {throughput}");
        assert_eq!(shades(latency), 20, "five seconds of latency: {latency}");
    }
}

#[test]
fn figures_are_in_fixed_columns_for_values_of_any_size() {
    let columns = layout::plan(Rect::new(0, 0, 120, 36), Subject::Load, None).columns;
    let theme = Theme::new(Colours::Mono, GlyphSet::Ascii);
    for (clients, pipeline) in [(1, 1), (50, 1), (10_000, 10), (10_000, 10_000)] {
        let (mut made, mut records) =
            GeneratedSession::new(Knobs { load: true, clients, pipeline, ..Knobs::default() });
        (0..8).for_each(|_| records.extend(made.next_tick()));
        let mut model = Model::new(Knobs::default(), TimelineOptions::default());
        deliver(&mut model, records);
        let buffer = drawn(&model, theme, 120, 36);
        let rows = lines(&buffer);
        let p50 = rows.iter().position(|row| row.contains("p50  ")).unwrap() as u16;
        for n in 1..=columns.values {
            let end = columns.gutter + columns.plot + columns.name + columns.value * n - 1;
            assert_eq!(buffer[(end, p50)].symbol(), "s", "{}", rows[usize::from(p50)]);
            assert_eq!(buffer[(end + 1, p50)].symbol(), " ");
        }
    }
}

#[test]
fn ascii_sends_only_ascii_and_mono_no_colour() {
    let model = model();
    let ascii = drawn(&model, Theme::new(Colours::Ansi16, GlyphSet::Ascii), 120, 36);
    assert!(ascii.content.iter().all(|cell| cell.symbol().is_ascii()));
    let mut wire = Vec::new();
    let mut canvas = Canvas::new(&mut wire, Rect::new(0, 0, 120, 36));
    let theme = Theme::new(Colours::Mono, GlyphSet::Unicode);
    let plan = super::plan(canvas.area(), &model);
    canvas.frame(usize::MAX, |buffer| drop(draw(buffer, theme, &model, &plan))).unwrap();
    drop(canvas);
    let text = String::from_utf8(wire).unwrap();
    assert!(text.contains("\x1b[1m"), "mono still has bold");
    // Only bold, faint and reverse are used, and the reset.
    let looks: BTreeSet<_> = text
        .split("\x1b[")
        .skip(1)
        .filter_map(|rest| rest.split_once('m'))
        .map(|(sgr, _)| sgr)
        .filter(|sgr| sgr.chars().all(|c| c.is_ascii_digit() || c == ';'))
        .flat_map(|sgr| sgr.split(';'))
        .collect();
    let known = BTreeSet::from(["", "0", "1", "2", "7"]);
    assert!(looks.is_subset(&known), "{looks:?}");
}

#[test]
fn even_a_screen_of_one_cell_shows_the_load_state() {
    let mut model = model();
    let theme = Theme::new(Colours::Mono, GlyphSet::Ascii);
    assert_eq!(lines(&drawn(&model, theme, 1, 1)), ["*"]);
    press(&mut model, KeyCode::Char(' '));
    let line = lines(&drawn(&model, theme, 44, 1)).remove(0);
    assert!(line.starts_with("* ") && line.contains("/s  p50"), "{line}");
    drawn(&model, theme, 0, 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn no_size_and_no_state_panics(
        width in 0_u16..250,
        height in 0_u16..80,
        moment in 0_usize..4,
        keys in "[?q 0-9lijkuIzbtRnN/]{0,8}",
        theme in 0_usize..3,
    ) {
        let (_, palette, glyphs) = THEMES[theme];
        static MOMENTS: LazyLock<[Model; 4]> = LazyLock::new(|| [0, 9, 150, usize::MAX].map(model_after));
        let mut model = MOMENTS[moment].clone();
        keys.chars().for_each(|c| press(&mut model, KeyCode::Char(c)));
        press(&mut model, KeyCode::PageDown);
        drawn(&model, Theme::new(palette, glyphs), width, height);
    }
}

#[test]
fn a_client_that_is_the_limit_is_reported_at_every_size() {
    let theme = Theme::new(Colours::Ansi16, GlyphSet::Unicode);
    let knobs = Knobs { load: true, ..Knobs::default() };
    let (mut made, records) = GeneratedSession::new(knobs.clone());
    let mut model = Model::new(knobs, TimelineOptions::default());
    deliver(&mut model, records);
    (0..8).for_each(|_| deliver(&mut model, made.next_tick_of_client(0.97)));
    snapshot("client_limit", &model, (80, 24));
    for (width, height) in [(200, 60), (120, 36), (80, 24), (60, 16), (40, 12), (40, 1)] {
        let text = lines(&drawn(&model, theme, width, height)).join(" ").to_lowercase();
        assert!(text.contains("client limit") || text.contains("client is the limit"), "{text}");
    }
    (0..16).for_each(|_| deliver(&mut model, made.next_tick_of_client(0.5)));
    let text = lines(&drawn(&model, theme, 80, 24)).join(" ").to_lowercase();
    assert!(!text.contains("client limit") && !text.contains("client is the limit"), "{text}");
}
