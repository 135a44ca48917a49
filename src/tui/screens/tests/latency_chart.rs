//! Tests that the latency chart shows the effects of knobs.

use super::*;
use crate::{
    app::{Pane, Screen},
    session::Segment,
    stats::{Latency, Recorder, fixture::latency_of},
    tui::theme::{Ink, colours::CellBackground},
};

/// Returns 25 000 requests around `median_us`. Some requests are up to eight times as long. `of_a_second` further
/// requests take one second each.
fn latency(median_us: u64, of_a_second: u64) -> Latency {
    let mut recorder = Recorder::new();
    for (tenths, n) in [(7, 6_000), (10, 12_500), (12, 4_000), (15, 2_000), (30, 450), (80, 50)] {
        recorder.record_n(median_us * 100 * tenths, n);
    }
    recorder.record_n(1_000_000_000, of_a_second);
    recorder.latency()
}

/// Returns a session with 50, 100 and 200 clients for twelve seconds each, and the medians of a real server. With
/// `stalls`, the fifth second has a stall of one second. With a `rate`, the response time is three times the service
/// time.
fn session(stalls: bool, rate: Option<u32>) -> Model {
    let mut model = Model::new(Knobs::default(), TimelineOptions::default());
    for (n, (clients, median_us)) in (0_u32..).zip([(50, 292), (100, 583), (200, 1100)]) {
        let began_s = f64::from(n) * 12.0;
        let knobs = Knobs { load: true, clients, rate, ..Knobs::default() };
        let segment = Segment::new(began_s, n + 1, knobs);
        deliver(&mut model, vec![Record::Segment(segment)]);
        for tick in 1..=48 {
            let service = latency(median_us, if stalls && n == 0 && tick == 20 { 50 } else { 0 });
            let t_s = began_s + f64::from(tick) * 0.25;
            let interval = Interval {
                t_s,
                length_s: 0.25,
                segment: n + 1,
                ops: 25_000,
                service,
                response: rate.map(|_| latency(median_us * 3, 0)),
                ..Interval::default()
            };
            deliver(&mut model, vec![Record::Interval(Box::new(interval))]);
        }
    }
    model
}

/// Returns the model, drawn on a screen of this size.
fn on(mut model: Model, width: u16, height: u16) -> Model {
    let columns = super::super::plan(Rect::new(0, 0, width, height), &model).chart_columns();
    update(&mut model, Msg::Columns(columns));
    model
}

/// Returns the height of the p50 line in each column, in dots. The p50 line is the lowest line. The function uses the
/// right half of a cell, because this half has no vertical dots.
fn p50_dots(model: &Model, theme: Theme, width: u16, height: u16) -> Vec<u16> {
    let plan = layout::plan(Rect::new(0, 0, width, height), Subject::Load, None);
    let buffer = drawn(model, theme, width, height);
    let ink = theme.style(Ink::Level(crate::session::timeline::Level::P50)).fg;
    let of_column = |column: u16| {
        (plan.latency.y + 1..plan.latency.bottom()).rev().enumerate().find_map(|(up, y)| {
            let cell = &buffer[(plan.columns.gutter + column, y)];
            let dots = cell.symbol().chars().next().map_or(0, Theme::dots);
            let lowest = [0x80, 0x20, 0x10, 0x08].iter().position(|dot| dots & dot > 0)?;
            (Some(cell.fg) == ink).then_some(up as u16 * 4 + lowest as u16)
        })
    };
    (0..plan.columns.plot).filter_map(of_column).collect()
}

#[test]
fn a_doubling_of_the_clients_is_clearly_visible_even_with_a_stall() {
    for stalls in [false, true] {
        for (width, height, least) in [(80, 24, 2), (120, 36, 4), (200, 60, 4)] {
            let model = on(session(stalls, None), width, height);
            for palette in [Colours::Ansi16, Colours::Dark, Colours::Light] {
                let dots = p50_dots(&model, Theme::new(palette, GlyphSet::Unicode), width, height);
                let steps: Vec<u16> = dots.chunk_by(|a, b| a == b).map(|run| run[0]).collect();
                assert_eq!(steps.len(), 3, "three levels at {width}x{height}: {dots:?}");
                for pair in steps.windows(2) {
                    assert!(pair[1] >= pair[0] + least, "{width}x{height}, a stall: {stalls}: {steps:?}");
                }
            }
        }
    }
}

#[test]
fn a_value_above_the_axis_has_a_mark_in_the_top_row_and_its_text() {
    for (_, palette, glyphs) in THEMES {
        let theme = Theme::new(palette, glyphs);
        for (width, height) in [(80, 24), (120, 36), (200, 60)] {
            let top = |stalls| {
                let y = layout::plan(Rect::new(0, 0, width, height), Subject::Load, None).latency.y + 1;
                lines(&drawn(&on(session(stalls, None), width, height), theme, width, height))
                    .remove(y.into())
            };
            let mark = theme.glyphs().above;
            let (stalled, calm) = (top(true), top(false));
            assert!(stalled.contains(&format!("{mark}1.00 s")), "{stalled}");
            assert!(!calm.contains(mark) && !calm.contains("1.00 s"), "{calm}");
        }
    }
}

#[test]
fn a_single_request_in_a_cell_gets_the_lightest_background() {
    for palette in [Colours::Ansi256, Colours::Neutral, Colours::Dark, Colours::Light] {
        let theme = Theme::new(palette, GlyphSet::Unicode);
        let mut model = session(false, None);
        // This latency is far longer than all others in the first segment, but not longer than the longest in the
        // last segment.
        let alone =
            Interval { t_s: 5.0, segment: 1, service: latency_of([6_000_000]), ..Interval::default() };
        deliver(&mut model, vec![Record::Interval(Box::new(alone))]);
        let model = on(model, 120, 36);
        let plan = layout::plan(Rect::new(0, 0, 120, 36), Subject::Load, None);
        let axis = model.axis(plan.columns.plot);
        let buffer = drawn(&model, theme, 120, 36);
        let border = axis.column(12.0).unwrap();
        let tone = |column: u16, y| CellBackground::Tone(buffer[(plan.columns.gutter + column, y)].bg);
        let filled = |y| (0..border).filter(|column| tone(*column, y) == theme.ground(0)).collect::<Vec<_>>();
        let rows = (plan.latency.y + 1..plan.latency.bottom()).map(filled);
        let alone: Vec<_> = rows.filter(|columns| columns.len() == 1).collect();
        assert_eq!(alone, [[axis.column_ending(5.0).unwrap()]], "{palette:?}");
    }
}

#[test]
fn an_open_loop_shows_its_response_time_and_on_a_key_its_service_time() {
    let theme = Theme::new(Colours::Ansi16, GlyphSet::Unicode);
    let mut model = on(session(false, Some(100_000)), 120, 36);
    let text = |model: &Model| lines(&drawn(model, theme, 120, 36)).join("\n");
    let row = |model: &Model| text(model).lines().find(|line| line.contains(" p50 ")).unwrap().to_owned();
    assert!(text(&model).contains("response time; v: service time") && row(&model).contains("3.30 ms"));
    press(&mut model, KeyCode::Char('v'));
    assert!(text(&model).contains("service time; v: response time") && row(&model).contains("1.10 ms"));
    press(&mut model, KeyCode::Char('v'));
    assert!(row(&model).contains("3.30 ms"));
    // In a closed loop, response and service time are equal.
    assert!(!text(&on(session(false, None), 120, 36)).contains("response"));
}

#[test]
fn each_line_has_its_name_and_value_at_its_end_and_without_colours_a_mark() {
    let model = on(session(false, None), 120, 36);
    for (name, palette, glyphs) in THEMES {
        let theme = Theme::new(palette, glyphs);
        let rows = lines(&drawn(&model, theme, 120, 36));
        let plan = layout::plan(Rect::new(0, 0, 120, 36), Subject::Load, None);
        let ends = ["max", "p99.9", "p99", "p90", "p50"].map(|level| {
            let is_it =
                |row: &&String| row.chars().skip(79).collect::<String>().starts_with(&format!("{level} "));
            let at = rows.iter().position(|row| is_it(&row)).unwrap_or_else(|| panic!("{level} in {name}"));
            let mark = rows[at].chars().nth(usize::from(plan.columns.gutter + plan.columns.plot));
            (at, mark.unwrap())
        });
        assert!(ends.is_sorted_by(|a, b| a.0 < b.0), "from the longest to the shortest: {ends:?}");
        let marks: BTreeSet<_> = ends.iter().map(|(_, mark)| *mark).collect();
        assert_eq!(marks.len(), if theme.marks_lines() { 5 } else { 1 }, "{name}: {marks:?}");
    }
}

#[test]
fn the_chart_has_ten_rows_at_120x36_six_at_80x24_and_more_if_shown_alone() {
    for (width, height, least) in [(80, 24, 6), (120, 36, 10)] {
        let rows =
            |alone| layout::plan(Rect::new(0, 0, width, height), Subject::Load, alone).latency.height - 1;
        assert!(rows(None) >= least && rows(Some(Pane::Latency)) > rows(None) + 5);
    }
    assert!(Screen::Overview.panes().contains(&Pane::Latency));
}

#[test]
fn after_the_load_the_latency_screen_shows_pings() {
    let mut model = session(false, None);
    deliver(&mut model, vec![Record::Segment(Segment::new(36.0, 4, Knobs::default()))]);
    model.screen = Screen::Latency;
    let screen = lines(&drawn(&model, Theme::new(Colours::Ansi16, GlyphSet::Unicode), 120, 36)).join("\n");
    assert!(screen.contains(" ping, the whole") && !screen.contains("service"), "{screen}");
}
