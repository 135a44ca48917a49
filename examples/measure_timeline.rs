//! Reads a recording as `redyno replay` does, and prints what it costs: time to read, memory, time of each query.
//!
//! ```sh
//! cargo run --release --example measure_timeline -- /tmp/long.jsonl
//! ```

use std::{error::Error, hint::black_box, path::PathBuf, time::Instant};

use ratatui::layout::Rect;
use redyno::{
    app::{Model, Msg, Track, Zoom, update},
    knobs::Knobs,
    session::{
        Reader, Timeline, TimelineOptions,
        timeline::{Measure, Timed},
    },
    tui::{
        screens,
        theme::{Colours, GlyphSet, Theme},
    },
};

/// Columns of a wide screen.
const COLUMNS: usize = 200;
/// Each query is asked so often, and its mean is told.
const ROUNDS: u32 = 20;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: measure_timeline FILE")?;
    let begun = Instant::now();
    let mut reader = Reader::open(&PathBuf::from(path))?;
    let mut timeline = Timeline::default();
    while let Some(record) = reader.next_record()? {
        timeline.push(&record);
    }
    println!("read {:.0} s of session in {:.2} s", timeline.now_s, begun.elapsed().as_secs_f64());
    let now_s = timeline.now_s;
    let whole = || timeline.window(0.0, now_s, COLUMNS);
    time("levels of service, whole session", || drop(black_box(whole().levels(Measure::Service))));
    time("heat map, whole session", || drop(black_box(whole().heat(Timed::FromDue))));
    time("all lanes, load, errors, server, whole session", || {
        drop(black_box(Measure::ALL.map(|measure| whole().levels(measure))));
        drop(black_box((whole().load(), whole().errors(), whole().server())));
    });
    time("worst moment", || {
        black_box(timeline.worst(Measure::Service));
    });
    time("reading at half the session", || drop(black_box(timeline.at(now_s / 2.0))));
    draw_overview(timeline);
    if let Ok(status) = std::fs::read_to_string("/proc/self/status") {
        status.lines().filter(|line| line.starts_with("VmHWM") || line.starts_with("VmRSS")).for_each(
            |line| {
                println!("{line}");
            },
        );
    }
    Ok(())
}

/// A frame of the Overview over the whole session.
fn draw_overview(timeline: Timeline) {
    let mut model = Model::new(Knobs::default(), TimelineOptions::default());
    model.tracks = vec![Track::new(timeline)];
    model.zoom = Zoom::Whole;
    let area = Rect::new(0, 0, 200, 60);
    let theme = Theme::new(Colours::Ansi16, GlyphSet::Unicode);
    let columns = screens::plan(area, &model).chart_columns();
    update(&mut model, Msg::Columns(columns));
    time("a frame of the Overview at 200x60, whole session", || {
        drop(black_box(screens::picture(area, theme, &model)));
    });
    model.zoom = Zoom::default();
    time("a frame of the Overview at 200x60, a second a column", || {
        drop(black_box(screens::picture(area, theme, &model)));
    });
}

fn time(what: &str, mut query: impl FnMut()) {
    let begun = Instant::now();
    (0..ROUNDS).for_each(|_| query());
    println!("{what}: {:.2} ms", begun.elapsed().as_secs_f64() * 1e3 / f64::from(ROUNDS));
}
