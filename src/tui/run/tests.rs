//! Tests of the screen's main loop with scripted keys, records and signals. A simulated terminal reads the
//! frames.

use std::{
    collections::VecDeque,
    io,
    num::NonZeroU16,
    sync::{Arc, mpsc},
};

use super::*;
use crate::{
    app::{Key, KeyCode, Order, Tour},
    knobs::Knobs,
    session::{Record, Segment},
    tui::theme::{Colours, GlyphSet, Theme},
};

/// Scripted events. `None` is a pause.
struct Script(VecDeque<Option<TerminalEvent>>);

impl EventSource for Script {
    fn next(&mut self, _: Duration) -> io::Result<Option<TerminalEvent>> {
        self.0.pop_front().ok_or_else(|| io::Error::other("the script is over"))
    }
}

fn script(keys: &str) -> Script {
    let key = |c| Some(TerminalEvent::Key(Key::plain(KeyCode::Char(c))));
    Script(keys.chars().flat_map(|c| [None, key(c), None]).collect())
}

#[derive(Default)]
struct Fake {
    deliveries: Vec<Delivery>,
    orders: Vec<Order>,
    refuses: bool,
}

impl Source for Fake {
    fn poll(&mut self) -> Vec<Delivery> {
        std::mem::take(&mut self.deliveries)
    }

    fn order(&mut self, order: Order) {
        if self.refuses {
            self.deliveries.push(Delivery::Refused(order.clone(), "a recording has no knobs".to_owned()));
        }
        self.orders.push(order);
    }
}

/// The bytes written so far, and the text on the screen after each write.
#[derive(Default)]
struct Frames(Vec<u8>, Vec<String>);

impl Write for Frames {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.extend(bytes);
        let (rows, columns) = (NonZeroU16::new(30).unwrap(), NonZeroU16::new(100).unwrap());
        let mut terminal = vt100::Parser::new(rows, columns, 0);
        terminal.process(&self.0);
        self.1.push(terminal.screen().contents());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Frames {
    fn any_shows(&self, text: &str) -> bool {
        self.1.iter().any(|frame| frame.contains(text))
    }
}

fn run(keys: &str, source: &mut Fake, signals: &[Signal]) -> (anyhow::Result<ScreenResult>, Frames) {
    run_on_tour(script(keys), source, signals, None)
}

fn run_on_tour(
    events: Script,
    source: &mut dyn Source,
    signals: &[Signal],
    tour: Option<Tour>,
) -> (anyhow::Result<ScreenResult>, Frames) {
    let theme = Theme::new(Colours::Mono, GlyphSet::Ascii);
    let size = || Rect::new(0, 0, 100, 30);
    let mut frames = Frames::default();
    let options = ScreenSetup { tour, ..ScreenSetup::new(theme, true) };
    let canvas = Canvas::new(&mut frames, size());
    let (sender, receiver) = mpsc::channel();
    signals.iter().for_each(|signal| sender.send(*signal).unwrap());
    let (spots, files) = (Spots::default(), Files::of(None));
    let finished =
        ScreenLoop { canvas, events, size, options, spots, files, is_quick: true }.run(source, &receiver);
    (finished, frames)
}

#[test]
fn keys_become_effects_and_the_loop_ends_at_q() {
    let mut source = Fake::default();
    let record = Record::Segment(Segment::new(3.0, 1, Knobs::default()));
    source.deliveries.push(Delivery::Record(Arc::new(record)));
    let (finished, frames) = run("lq", &mut source, &[]);
    let finished = finished.unwrap();
    assert_eq!(finished.outcome, ScreenOutcome::Quit);
    assert_eq!(finished.timeline.now_s, 3.0);
    assert_eq!(source.orders, [Order::SetKnobs(Knobs { load: true, ..Knobs::default() })]);
    assert!(frames.any_shows("commands on the server"));
}

#[test]
fn a_key_is_drawn_at_once() {
    let (_, frames) = run("?qq", &mut Fake::default(), &[]);
    assert!(frames.any_shows("find: "));
}

#[test]
fn a_refusal_is_shown() {
    let mut source = Fake { refuses: true, ..Fake::default() };
    let (_, frames) = run("lq", &mut source, &[]);
    assert!(frames.any_shows("a recording has no knobs"));
}

#[test]
fn signals_and_the_end_of_the_session_end_the_loop() {
    let (finished, _) = run("", &mut Fake::default(), &[Signal::Terminate]);
    assert_eq!(finished.unwrap().outcome, ScreenOutcome::Signal(Signal::Terminate));
    let mut source = Fake { deliveries: vec![Delivery::Notice(0, Notice::Leave)], ..Fake::default() };
    assert_eq!(run("", &mut source, &[]).0.unwrap().outcome, ScreenOutcome::Ended);
}

#[test]
fn a_terminal_that_is_gone_ends_the_loop_with_an_error() {
    let (finished, _) = run("", &mut Fake::default(), &[]);
    assert!(finished.unwrap_err().to_string().contains("the terminal is gone"));
}

/// A simulated session under load that applies changes of knobs at once. Each poll advances its time by half a
/// second.
struct SimulatedSource(f64, Knobs);

impl Source for SimulatedSource {
    fn poll(&mut self) -> Vec<Delivery> {
        self.0 += 0.5;
        vec![Delivery::Record(Arc::new(Record::Segment(Segment::new(self.0, 1, self.1.clone()))))]
    }

    fn order(&mut self, order: Order) {
        if let Order::SetKnobs(knobs) = order {
            self.1 = knobs;
        }
    }
}

#[test]
fn a_tour_that_plays_ends_the_loop() {
    let mut source = SimulatedSource(0.0, Knobs { load: true, ..Knobs::default() });
    let events = Script(vec![None; 1000].into());
    let (finished, _) = run_on_tour(events, &mut source, &[], Some(Tour::that_plays()));
    assert_eq!(finished.unwrap().outcome, ScreenOutcome::Quit);
    assert_eq!((source.1.clients, source.1.pipeline, source.1.rate), (50, 16, Some(5000)));
}
