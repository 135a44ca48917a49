//! The tour of the screen, with the built-in server. Each step shows a line that explains the screen and
//! names the next key. The line stays until the user presses this key.
//!
//! `redyno --tour` presses the keys itself until the user presses a key. The tour's pauses are measured in session
//! time.

use super::{InputMode, Key, KeyCode, Model, Purpose, Screen, Tour, View};

/// The time to read a line before the tour presses its first key, in seconds.
const READING_S: f64 = 9.0;
/// The time between two keys that belong together, in seconds.
const TYPING_S: f64 = 0.5;
/// The time between two keys that each have a visible effect, in seconds.
const LOOKING_S: f64 = 4.0;

/// One line of the tour.
struct TourStep {
    /// The explanation of the screen, and the keys to press.
    text: &'static str,
    /// The keys.
    keys: &'static [KeyCode],
    /// Returns whether the step is done. A step is done when the named keys, or other keys with the same result, have
    /// been pressed.
    is_done: fn(&Model) -> bool,
}

const STEPS: [TourStep; 9] = [
    TourStep {
        text: "This is the throughput and latency of 50 clients. Press → for 100 clients.",
        keys: &[KeyCode::Right],
        is_done: |model| model.panel.wanted.clients > model.initial.clients,
    },
    TourStep {
        text: "Throughput hardly changes, but latency doubles: clients wait. u: undo.",
        keys: &[KeyCode::Char('u')],
        is_done: |model| model.panel.wanted.clients == model.initial.clients,
    },
    TourStep {
        text: "↓ selects pipeline. Type Enter 16 Enter for 16 requests in flight per client.",
        keys: &[KeyCode::Down, KeyCode::Enter, KeyCode::Char('1'), KeyCode::Char('6'), KeyCode::Enter],
        is_done: |model| model.panel.wanted.pipeline > model.initial.pipeline,
    },
    TourStep {
        text: "Throughput rises: fewer syscalls. ↓ selects rate. Type Enter 5k Enter.",
        keys: &[KeyCode::Down, KeyCode::Enter, KeyCode::Char('5'), KeyCode::Char('k'), KeyCode::Enter],
        is_done: |model| model.panel.wanted.rate.is_some(),
    },
    TourStep {
        text: "In an open loop, latency begins at the due time. Press 2 for percentiles.",
        keys: &[KeyCode::Char('2')],
        is_done: |model| model.screen == Screen::Latency,
    },
    TourStep {
        text: "Here is the latency of each command and each percentile. Press 1 to return.",
        keys: &[KeyCode::Char('1')],
        is_done: |model| model.screen == Screen::Overview,
    },
    TourStep {
        text: "ping: latency of another client. wake: delay of this machine. Press Space.",
        keys: &[KeyCode::Char(' ')],
        is_done: |model| model.view != View::Live,
    },
    TourStep {
        text: "The view is frozen, but the load continues. w: worst moment. Space: live.",
        keys: &[KeyCode::Char('w'), KeyCode::Char(' ')],
        is_done: |model| model.view == View::Live,
    },
    TourStep {
        text: "The tour ends here. ? explains the screen and its keys. q quits.",
        keys: &[KeyCode::Char('q')],
        is_done: |model| matches!(&model.mode, InputMode::Typing(typing) if matches!(typing.purpose, Purpose::Help { .. })),
    },
];

impl Model {
    /// Returns the present text of the tour.
    pub fn tour_text(&self) -> Option<&'static str> {
        self.tour.as_ref().map(|tour| STEPS[tour.step].text)
    }

    /// Shows the next step that is not done yet. After the last step, the tour is over.
    pub(super) fn follow_tour(&mut self) {
        while let Some(tour) = self.tour.take() {
            let is_done = (STEPS[tour.step].is_done)(self);
            if !is_done {
                self.tour = Some(tour);
                return;
            }
            let step = tour.step + 1;
            let next = Tour { step, key: 0, since_s: self.timeline().now_s, ..tour };
            self.tour = Some(next).filter(|_| step < STEPS.len());
        }
    }

    /// Returns the key that the tour presses now. Returns `None` during a pause.
    pub(super) fn key_of_tour(&mut self) -> Option<Key> {
        let now_s = self.timeline().now_s;
        let is_under_load = self.in_force().load;
        let tour = self.tour.as_mut().filter(|tour| tour.plays && is_under_load)?;
        let code = *STEPS[tour.step].keys.get(tour.key)?;
        let pause_s = match code {
            _ if tour.key == 0 => READING_S,
            KeyCode::Char('0'..='9' | 'k') | KeyCode::Enter => TYPING_S,
            _ => LOOKING_S,
        };
        if now_s < tour.since_s + pause_s {
            return None;
        }
        (tour.key, tour.since_s) = (tour.key + 1, now_s);
        Some(Key::plain(code))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        app::{Effect, Msg, Order, update},
        knobs::Knobs,
        session::{Delivery, Record, Segment, TimelineOptions},
    };
    use std::sync::Arc;

    fn model(tour: Tour) -> Model {
        let knobs = Knobs { load: true, ..Knobs::default() };
        let mut model = Model { tour: Some(tour), ..Model::new(knobs.clone(), TimelineOptions::default()) };
        at(&mut model, 0.0, knobs);
        model
    }

    /// Begins a segment. Returns the effects that the model requests.
    fn at(model: &mut Model, t_s: f64, knobs: Knobs) -> Vec<Effect> {
        let segment = Record::Segment(Segment::new(t_s, 1, knobs));
        update(model, Msg::Delivery(Delivery::Record(Arc::new(segment))))
    }

    fn press(model: &mut Model, code: KeyCode) {
        update(model, Msg::Key(Key::plain(code)));
    }

    #[test]
    fn each_step_is_left_by_the_keys_that_it_names() {
        let mut model = model(Tour::default());
        for step in &STEPS[..STEPS.len() - 1] {
            assert_eq!(model.tour_text(), Some(step.text));
            step.keys.iter().for_each(|code| press(&mut model, *code));
        }
        assert_eq!(model.tour_text(), Some(STEPS[STEPS.len() - 1].text));
        press(&mut model, KeyCode::Char('?'));
        assert_eq!(model.tour_text(), None);
    }

    #[test]
    fn a_line_fits_the_narrowest_screen_that_has_one() {
        for step in &STEPS {
            assert!(step.text.chars().count() <= 78, "{}", step.text);
        }
    }

    #[test]
    fn the_tour_plays_to_its_end_and_quits() {
        let mut model = model(Tour::that_plays());
        let (mut t_s, mut orders) = (0.0, 0);
        loop {
            t_s += 0.25;
            let wanted = model.panel.wanted.clone();
            let effects = at(&mut model, t_s, wanted);
            orders +=
                effects.iter().filter(|effect| matches!(effect, Effect::Order(Order::SetKnobs(_)))).count();
            if effects.contains(&Effect::Quit) {
                break;
            }
            assert!(t_s < 200.0, "it stays at {:?}", model.tour_text());
        }
        assert_eq!(orders, 4);
    }

    #[test]
    fn a_key_of_a_person_ends_the_playing_and_keeps_the_hints() {
        let mut model = model(Tour::that_plays());
        press(&mut model, KeyCode::Down);
        let wanted = model.panel.wanted.clone();
        assert_eq!(at(&mut model, 60.0, wanted), []);
        assert_eq!(model.tour_text(), Some(STEPS[0].text));
    }
}
