//! Tests of the number of bytes that screens send to the terminal.

use std::{
    cell::Cell,
    io::{self, Write},
    rc::Rc,
    sync::LazyLock,
};

use ratatui::layout::Rect;

use super::deliver;
use crate::{
    app::{Key, KeyCode, Model, Msg, Screen, update},
    knobs::Knobs,
    session::TimelineOptions,
    tui::{
        canvas::Canvas,
        fixture::GeneratedSession,
        screens::{draw, plan},
        theme::{Colours, GlyphSet, Theme},
    },
};

/// The limit in bytes a second for a screen of 120x36 under load.
const UNDER_LOAD: u64 = 20_000;
/// The limit in bytes a second for a frozen screen.
const FROZEN: u64 = 1_000;
/// The number of seconds in which bytes are counted.
const LENGTH: u64 = 5;

/// A session that is long enough for its charts to be full and to scroll.
static OLD: LazyLock<(GeneratedSession, Model)> = LazyLock::new(|| of_age(200));
/// A session that is short enough for its columns to grow.
static YOUNG: LazyLock<(GeneratedSession, Model)> = LazyLock::new(|| of_age(18));
const AREA: Rect = Rect { x: 0, y: 0, width: 120, height: 36 };

/// Returns a session that has been under load for this many seconds.
fn of_age(length_s: u32) -> (GeneratedSession, Model) {
    let knobs = Knobs { load: true, ..Knobs::default() };
    let (mut made, mut records) = GeneratedSession::new(knobs.clone());
    (0..length_s * 4).for_each(|_| records.extend(made.next_tick()));
    let mut model = Model::new(knobs, TimelineOptions::default());
    let columns = plan(AREA, &model).chart_columns();
    update(&mut model, Msg::Columns(columns));
    deliver(&mut model, records);
    (made, model)
}

/// A session on one screen.
struct Session {
    made: GeneratedSession,
    model: Model,
    canvas: Canvas<Counted>,
    /// The number of bytes sent.
    sent: Rc<Cell<u64>>,
    theme: Theme,
}

/// A terminal that accepts all output and counts its bytes.
struct Counted(Rc<Cell<u64>>);

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.set(self.0.get() + bytes.len() as u64);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Session {
    fn new((made, model): (GeneratedSession, Model), screen: Screen, theme: Theme) -> Self {
        let sent = Rc::default();
        let canvas = Canvas::new(Counted(Rc::clone(&sent)), AREA);
        let mut session = Self { made, model, canvas, sent, theme };
        session.model.screen = screen;
        session.frame();
        session
    }

    fn frame(&mut self) {
        let columns = plan(AREA, &self.model).chart_columns();
        update(&mut self.model, Msg::Columns(columns));
        let draw = |buffer: &mut _| drop(draw(buffer, self.theme, &self.model, &plan(AREA, &self.model)));
        self.canvas.frame(usize::MAX, draw).unwrap();
    }

    /// Returns the bytes per second during the next records. Each record causes a frame in this test, so there are more
    /// frames than the program's five frames per second.
    fn bytes_a_second(&mut self) -> u64 {
        let before = self.sent.get();
        for _ in 0..LENGTH * 4 {
            for record in self.made.next_tick() {
                deliver(&mut self.model, vec![record]);
                self.frame();
            }
        }
        (self.sent.get() - before) / LENGTH
    }
}

#[test]
fn seconds_of_load_cost_less_than_the_byte_budget_on_every_screen() {
    // The terminal's own colours, and the palettes with the longest escape sequences.
    for palette in [Colours::Ansi16, Colours::Neutral, Colours::Dark] {
        let old = Screen::ALL.map(|screen| (&OLD, screen));
        for (of, screen) in old.into_iter().chain([(&YOUNG, Screen::Overview)]) {
            let mut session =
                Session::new(LazyLock::force(of).clone(), screen, Theme::new(palette, GlyphSet::Unicode));
            let first = session.sent.get();
            let a_second = session.bytes_a_second();
            println!("{palette:?} {screen:?}: first frame {first} bytes, then {a_second} bytes/s");
            assert!(a_second < UNDER_LOAD, "{palette:?} {screen:?}: {a_second} bytes/s");
            assert!(screen != Screen::Overview || a_second > 100, "nothing moves");
        }
    }
}

#[test]
fn a_frozen_screen_sends_almost_no_bytes() {
    for screen in Screen::ALL {
        let theme = Theme::new(Colours::Ansi16, GlyphSet::Unicode);
        let mut session = Session::new(OLD.clone(), screen, theme);
        update(&mut session.model, Msg::Key(Key::plain(KeyCode::Char(' '))));
        session.frame();
        let a_second = session.bytes_a_second();
        println!("{screen:?}: {a_second} bytes/s");
        assert!(a_second < FROZEN, "{screen:?}: {a_second} bytes/s");
    }
}
