//! Tests that the throughput chart shows the effects of knobs.

use super::*;
use crate::{session::Segment, tui::theme::Ink};

/// Begins a segment with this `rate` at `began_s`.
fn begin(model: &mut Model, began_s: f64, segment: u32, rate: Option<u32>) {
    let knobs = Knobs { load: true, rate, ..Knobs::default() };
    let segment = Segment::new(began_s, segment, knobs);
    deliver(model, vec![Record::Segment(segment)]);
}

/// Adds a tick (a quarter of a second) to `segment` for each of these rates in replies per second, from
/// `began_s` on.
fn go_on(model: &mut Model, began_s: f64, segment: u32, rates: impl IntoIterator<Item = u64>) {
    for (tick, rate) in (1..).zip(rates) {
        let t_s = began_s + f64::from(tick) * 0.25;
        let ops = rate / 4;
        let interval = Interval { t_s, length_s: 0.25, segment, ops, ..Interval::default() };
        deliver(model, vec![Record::Interval(Box::new(interval))]);
        // The columns are sent again, as on a screen that is drawn after each tick.
        update(model, Msg::Columns(model.columns));
    }
}

/// Returns `ticks` values within two percent of `mean`.
fn around(mean: u64, ticks: u64) -> impl Iterator<Item = u64> {
    (0..ticks).map(move |n| mean * (98 + n % 5) / 100)
}

/// Returns a session with a last segment of twelve seconds at 160 k/s, and then twelve seconds at a rate that is a
/// tenth higher. `before` has the rates of the earlier segments.
fn a_tenth_more(before: &[u64], width: u16, height: u16) -> Model {
    let mut model = Model::new(Knobs::default(), TimelineOptions::default());
    model.columns = super::super::plan(Rect::new(0, 0, width, height), &model).chart_columns();
    let mut began_s = 0.0;
    for (segment, mean) in (1..).zip(before) {
        begin(&mut model, began_s, segment, None);
        go_on(&mut model, began_s, segment, around(*mean, 24));
        began_s += 6.0;
    }
    let last = before.len() as u32 + 1;
    begin(&mut model, began_s, last, None);
    go_on(&mut model, began_s, last, around(160_000, 48).chain(around(176_000, 48)));
    model
}

/// Returns the height of the mean's line in the column that ends at `t_s`, in dots.
fn mean_at(model: &Model, theme: Theme, (width, height): (u16, u16), t_s: f64) -> u16 {
    let plan = layout::plan(Rect::new(0, 0, width, height), Subject::Load, None);
    let buffer = drawn(model, theme, width, height);
    let column = model.axis(plan.columns.plot).column_ending(t_s).unwrap();
    let rows = (plan.throughput.y + 1..plan.throughput.bottom()).rev().enumerate();
    let dots = |(up, y): (usize, u16)| {
        let cell = &buffer[(plan.columns.gutter + column, y)];
        let symbol = cell.symbol().chars().next()?;
        if !theme.has_braille() {
            return (symbol == theme.glyphs().point).then_some(up as u16);
        }
        let is_mean = Some(cell.fg) == theme.style(Ink::Throughput).fg && Theme::dots(symbol) > 0;
        // The height is the height of the highest dot in the right half of the cell.
        let top = [0x08, 0x10, 0x20, 0x80].iter().position(|dot| Theme::dots(symbol) & dot > 0)?;
        is_mean.then_some(up as u16 * 4 + 3 - top as u16)
    };
    rows.filter_map(dots).max().expect("the line is there")
}

#[test]
fn a_tenth_more_within_a_segment_moves_the_mean_line_after_any_other_segments() {
    let unicode = Theme::new(Colours::Ansi16, GlyphSet::Unicode);
    let histories: [&[u64]; 5] = [&[], &[120_000], &[600_000], &[5_000, 900_000], &[1_000]];
    for before in histories {
        for (size, least) in [((80, 24), 1), ((120, 36), 2), ((200, 60), 3)] {
            let model = a_tenth_more(before, size.0, size.1);
            let began_s = before.len() as f64 * 6.0;
            for theme in [unicode, Theme::new(Colours::Dark, GlyphSet::Unicode)] {
                let [slow, fast] = [8.0, 20.0].map(|s| mean_at(&model, theme, size, began_s + s));
                assert!(fast >= slow + least, "{size:?} after {before:?}: {slow} {fast}");
            }
        }
        let ascii = Theme::new(Colours::Mono, GlyphSet::Ascii);
        let model = a_tenth_more(before, 200, 60);
        let began_s = before.len() as f64 * 6.0;
        let [slow, fast] = [8.0, 20.0].map(|s| mean_at(&model, ascii, (200, 60), began_s + s));
        assert!(fast > slow, "in ASCII after {before:?}: {slow} {fast}");
    }
}

#[test]
fn a_value_outside_the_axis_has_a_mark_and_its_text_and_a_log_axis_has_room_for_it() {
    let mut model = a_tenth_more(&[5_000, 900_000], 120, 36);
    for (_, palette, glyphs) in THEMES {
        let theme = Theme::new(palette, glyphs);
        let chart = |model: &Model| {
            let plan = layout::plan(Rect::new(0, 0, 120, 36), Subject::Load, None);
            let rows = lines(&drawn(model, theme, 120, 36));
            let rows = &rows[usize::from(plan.throughput.y)..usize::from(plan.throughput.bottom())];
            let width = usize::from(plan.columns.gutter + plan.columns.plot);
            let cut = |row: &String| row.chars().take(width).collect::<String>();
            rows.iter().map(cut).collect::<Vec<_>>().join("\n")
        };
        let (above, below) = (theme.glyphs().above, theme.glyphs().below);
        let linear = chart(&model);
        assert!(linear.contains(&format!("{above}914 k")), "{linear}");
        assert!(linear.contains(&format!("{below}4.92 k")), "{linear}");
        press(&mut model, KeyCode::Char('L'));
        let log = chart(&model);
        assert!(!log.contains(above) && !log.contains(below), "{log}");
        assert!(
            log.contains("log axis; L: linear") && log.contains(" 10 k") && log.contains("100 k"),
            "{log}"
        );
        press(&mut model, KeyCode::Char('L'));
    }
}

#[test]
fn the_requested_rate_is_a_line_with_its_name_or_a_mark_above_the_axis() {
    for (rate, reached, shown) in [(100_000, 88_000, "due 100 k/s"), (1_000_000, 88_000, "due 1 M/s")] {
        for (width, height) in [(80, 24), (120, 36), (200, 60)] {
            let mut model = Model::new(Knobs::default(), TimelineOptions::default());
            begin(&mut model, 0.0, 1, Some(rate));
            go_on(&mut model, 0.0, 1, around(reached, 80));
            for (_, palette, glyphs) in THEMES {
                let theme = Theme::new(palette, glyphs);
                let rows = lines(&drawn(&model, theme, width, height));
                let row = rows.iter().find(|row| row.contains(shown)).unwrap_or_else(|| panic!("{rows:#?}"));
                let dashed = row.matches(theme.glyphs().target_line).count() > 8;
                let marked = row.contains(&format!("{}{shown}", theme.glyphs().above));
                assert_eq!((dashed, marked), (rate == 100_000, rate == 1_000_000), "{row}");
            }
        }
    }
}

#[test]
fn a_stall_of_one_tick_is_visible_below_the_mean_in_another_colour() {
    let mut model = Model::new(Knobs::default(), TimelineOptions::default());
    begin(&mut model, 0.0, 1, None);
    go_on(&mut model, 0.0, 1, (0..400).map(|n| if n == 200 { 0 } else { 160_000 + n % 7 * 1000 }));
    let theme = Theme::new(Colours::Ansi16, GlyphSet::Unicode);
    let plan = layout::plan(Rect::new(0, 0, 120, 36), Subject::Load, None);
    let buffer = drawn(&model, theme, 120, 36);
    let x = plan.columns.gutter + model.axis(plan.columns.plot).column_ending(50.1).unwrap();
    let foot = &buffer[(x, plan.throughput.bottom() - 1)];
    assert!(Theme::dots(foot.symbol().chars().next().unwrap()) > 0, "down to 0: {foot:?}");
    assert_ne!(Some(foot.fg), theme.style(Ink::Throughput).fg, "no mean of a column was 0");
}
