//! Tests of every screen and every overlay at a sample of all terminal sizes.

use ratatui::layout::Rect;

use super::{deliver, press};
use crate::{
    app::{Delivery, KeyCode, Model, Msg, Notice, Screen, update},
    knobs::Knobs,
    session::{Record, TimelineOptions},
    tui::{
        fixture,
        screens::{picture, plan},
        theme::{Colours, GlyphSet, Theme},
    },
};

const THEMES: [(Colours, GlyphSet); 3] = [
    (Colours::Ansi16, GlyphSet::Unicode),
    (Colours::Ansi16, GlyphSet::Ascii),
    (Colours::Mono, GlyphSet::Unicode),
];
/// Every fifth small size is tried in each state. Each width and each height is tried, and each size is tried in four
/// states.
const SAMPLE: usize = 5;
/// The larger sizes that are tried.
const LARGE: [(u16, u16); 8] =
    [(80, 24), (120, 36), (200, 60), (400, 1), (1, 200), (400, 100), (76, 20), (75, 300)];

fn model_of(records: Vec<Record>) -> Model {
    let mut model = Model::new(Knobs::default(), TimelineOptions::default());
    deliver(&mut model, records);
    model
}

/// Returns every screen, the first screen under every overlay, and some screens with only one pane.
fn states() -> Vec<Model> {
    let model = model_of(fixture::recorded());
    let mut states: Vec<Model> = Screen::ALL
        .into_iter()
        .map(|screen| {
            let mut model = model.clone();
            model.screen = screen;
            model
        })
        .collect();
    for keys in ["?", "i", " ", "z", "zzz", "2z", "2zzz", "4b", "5/x", "6", "d"] {
        let mut model = model.clone();
        keys.chars().for_each(|c| press(&mut model, KeyCode::Char(c)));
        states.push(model);
    }
    let mut asked = model;
    let question = "This server holds 1204 other keys. Write to it?".to_owned();
    update(&mut asked, Msg::Delivery(Delivery::Notice(0, Notice::FirstWrite(question))));
    states.push(asked);
    states.push(model_of(fixture::outage()));
    states.push(Model::new(Knobs::default(), TimelineOptions::default()));
    states
}

fn try_size(model: &mut Model, number: usize, width: u16, height: u16) {
    let area = Rect::new(0, 0, width, height);
    let columns = plan(area, model).chart_columns();
    update(model, Msg::Columns(columns));
    // The themes alternate, so that each theme is tried with every width, every height and every screen.
    let (palette, glyphs) = THEMES[(number + usize::from(width) + usize::from(height)) % THEMES.len()];
    let buffer = picture(area, Theme::new(palette, glyphs), model);
    let is_ascii = buffer.content.iter().all(|cell| cell.symbol().is_ascii());
    assert!(glyphs == GlyphSet::Unicode || is_ascii, "{width}x{height} in ASCII is not all ASCII");
}

#[test]
fn every_size_draws_without_panic_on_every_screen_and_under_every_overlay() {
    for (number, mut model) in states().into_iter().enumerate() {
        for height in 0..=30 {
            let is_sampled = |width: &u16| (number + usize::from(width + height)).is_multiple_of(SAMPLE);
            (0..=60).filter(is_sampled).for_each(|width| try_size(&mut model, number, width, height));
        }
        for (width, height) in LARGE {
            try_size(&mut model, number, width, height);
        }
    }
}
